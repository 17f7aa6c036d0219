"""A worker: one process that claims trials, evaluates them and stores the results."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import optuna
from optuna.trial import TrialState

from addtree.errors import ObjectiveError
from addtree.evaluation.outcome import located
from addtree.run.goals import Goals
from addtree.study.goals import objective_values, store_constraints
from addtree.study.heartbeats import HeartbeatSettings, Watch, beating
from addtree.study.storage import is_unavailable
from addtree.study.task import Task
from addtree.study.tickets import ERROR, any_claimed, claim, release, release_abandoned
from addtree.support.interrupts import Interrupt

_log = logging.getLogger(__name__)
_FIRST_PAUSE = 0.2  # seconds before the second attempt to claim a trial while other workers run the last ones
_LONGEST_PAUSE = 5.0  # seconds between later attempts at most; each pause is twice as long as the one before
_MAX_ERROR_LENGTH = 2000  # characters of an error message that are stored; every storage can hold that many


def work(
    study: optuna.Study,
    task: Task,
    *,
    total: int,
    deadline: float | None = None,
    should_stop: Callable[[optuna.Study], bool] = lambda study: False,
    interrupt: Interrupt | None = None,
    heartbeats: HeartbeatSettings | None = None,
) -> None:
    """Run trials until the study has `total` finished ones, including those of other workers.

    An objective that raises, or returns something other than a finite number, fails its trial, and the work goes on. An
    interrupt releases the running trial, so that it is run again, and raises KeyboardInterrupt.

    deadline     value of `time.monotonic()` after which no trial starts
    should_stop  asked after every trial whether to stop early
    heartbeats   how often this worker gives signs of life, and when others count as dead
    """
    interrupt, watch, pause = interrupt or Interrupt(), Watch(heartbeats), _FIRST_PAUSE
    look = partial(release_abandoned, study, watch)
    while deadline is None or time.monotonic() < deadline:
        interrupt.check()
        trial = claim(study, total, watch)
        if trial is None:
            if not any_claimed(study) or should_stop(study):
                return
            time.sleep(pause)  # another worker may still die, and its trial is then run here
            pause = min(2 * pause, _LONGEST_PAUSE)
            continue
        pause = _FIRST_PAUSE
        try:
            with beating(study._storage, trial._trial_id, watch.settings.interval, meanwhile=look):
                run_trial(study, trial, task, interrupt)
        except BaseException:
            with contextlib.suppress(Exception):  # if the storage fails, the next worker releases the trial
                frozen = study._storage.get_trial(trial._trial_id)
                if not frozen.state.is_finished():
                    release(study, frozen)
            raise
        if should_stop(study):
            return


@dataclass(frozen=True)
class _Result:
    """How a trial ended: its state, with its values by name or the reason why it failed."""

    state: TrialState
    values: Mapping[str, float] | None = None
    error: str | None = None


def run_trial(study: optuna.Study, trial: optuna.Trial, task: Task, interrupt: Interrupt) -> None:
    """Evaluate a trial and store its value, or why it failed.

    If somebody else finishes the trial meanwhile, a log line says so, and the result of this evaluation is dropped.
    """
    try:
        values = task.evaluate(trial, interrupt)
    except optuna.TrialPruned:
        result = _Result(TrialState.PRUNED)
    except optuna.exceptions.UpdateFinishedTrialError:
        result = _Result(TrialState.FAIL)
    except Exception as error:
        if is_unavailable(error):
            raise
        message = str(error) if isinstance(error, ObjectiveError) else located(error)
        result = _Result(TrialState.FAIL, error=message[:_MAX_ERROR_LENGTH])
    else:
        result = _Result(TrialState.COMPLETE, values)
    if not _store(study, trial, task.goals, result):
        told = result.values or {}
        what = next(iter(told.values())) if len(told) == 1 else told
        dropped = f"the value {what!r}" if told else "the result"
        _log.error(
            "trial %d was finished by somebody else while it ran here; %s of this worker is dropped",
            trial.number,
            dropped,
        )


def _store(study: optuna.Study, trial: optuna.Trial, goals: Goals, result: _Result) -> bool:
    """Store how a trial ended; False if it has already finished."""
    if study._storage.get_trial(trial._trial_id).state.is_finished():
        return False
    try:
        if result.error is not None:
            trial.set_user_attr(ERROR, result.error)
        values = None
        if result.values is not None:
            values = objective_values(goals, result.values)
            store_constraints(study, trial._trial_id, goals, result.values)
        study.tell(trial, values, state=result.state, skip_if_finished=True)
    except optuna.exceptions.UpdateFinishedTrialError:
        return False
    return True
