"""A worker: one process that claims trials, evaluates them and stores the results."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import optuna
import sqlalchemy.exc
from optuna.storages import BaseStorage
from optuna.storages._heartbeat import BaseHeartbeat
from optuna.trial import TrialState

from addtree._interrupts import Interrupt
from addtree.errors import AddTreeError
from addtree.study.storage import comes_from_storage
from addtree.study.task import Task
from addtree.study.tickets import ERROR, any_claimed, claim, release, release_abandoned

_log = logging.getLogger(__name__)
# These errors are not the objective's fault if they come from the storage.
_STORAGE_FAILURES = (optuna.exceptions.StorageInternalError, sqlalchemy.exc.SQLAlchemyError, OSError)
_POLL_INTERVAL = 0.2  # seconds between two attempts to claim a trial while other workers run the last ones
_MAX_ERROR_LENGTH = 2000  # characters of an error message that are stored; every storage can hold that many


def work(
    study: optuna.Study,
    task: Task,
    *,
    total: int,
    deadline: float | None = None,
    should_stop: Callable[[optuna.Study], bool] = lambda study: False,
    interrupt: Interrupt | None = None,
) -> None:
    """Run trials until the study has `total` finished ones, including those of other workers.

    An objective that raises, or returns something other than a finite number, fails its trial, and the work goes on. An
    interrupt releases the running trial, so that it is run again, and raises KeyboardInterrupt.

    deadline     value of `time.monotonic()` after which no trial starts
    should_stop  asked after every trial whether to stop early
    """
    interrupt = interrupt or Interrupt()
    while deadline is None or time.monotonic() < deadline:
        interrupt.check()
        release_abandoned(study)
        trial = claim(study, total)
        if trial is None:
            if not any_claimed(study) or should_stop(study):
                return
            time.sleep(_POLL_INTERVAL)  # another worker may still die, and its trial is then run here
            continue
        try:
            with _heartbeat(study._storage, trial._trial_id):
                run_trial(study, trial, task, interrupt)
        except BaseException:
            with contextlib.suppress(Exception):  # if the storage fails, the next worker releases the trial
                frozen = study._storage.get_trial(trial._trial_id)
                if not frozen.state.is_finished():
                    release(study, frozen)
            raise
        if should_stop(study):
            return


def run_trial(study: optuna.Study, trial: optuna.Trial, task: Task, interrupt: Interrupt) -> None:
    """Evaluate a trial and store its value, or why it failed.

    If somebody else finishes the trial meanwhile, a log line says so, and the result of this evaluation is dropped.
    """
    try:
        value = task.evaluate(trial, interrupt)
    except optuna.TrialPruned:
        outcome = Outcome(TrialState.PRUNED)
    except optuna.exceptions.UpdateFinishedTrialError:
        outcome = Outcome(TrialState.FAIL)
    except Exception as error:
        if isinstance(error, _STORAGE_FAILURES) and comes_from_storage(error):
            raise
        message = str(error) if isinstance(error, AddTreeError) else f"{type(error).__name__}: {error}"
        outcome = Outcome(TrialState.FAIL, error=message[:_MAX_ERROR_LENGTH])
    else:
        outcome = Outcome(TrialState.COMPLETE, value)
    if not _store(study, trial, outcome):
        result = f"the value {outcome.value!r}" if outcome.value is not None else "the result"
        _log.error(
            "trial %d was finished by somebody else while it ran here; %s of this worker is dropped",
            trial.number,
            result,
        )


@dataclass(frozen=True)
class Outcome:
    """How a trial ended: its state, with its value or the reason why it failed."""

    state: TrialState
    value: float | None = None
    error: str | None = None


def _store(study: optuna.Study, trial: optuna.Trial, outcome: Outcome) -> bool:
    """Store how a trial ended; False if it has already finished."""
    if study._storage.get_trial(trial._trial_id).state.is_finished():
        return False
    try:
        if outcome.error is not None:
            trial.set_user_attr(ERROR, outcome.error)
        study.tell(trial, outcome.value, state=outcome.state, skip_if_finished=True)
    except optuna.exceptions.UpdateFinishedTrialError:
        return False
    return True


@contextlib.contextmanager
def _heartbeat(storage: BaseStorage, trial_id: int) -> Iterator[None]:
    """Record signs of life of a trial in the storage, in a thread, while the block runs."""
    if not isinstance(storage, BaseHeartbeat) or storage.get_heartbeat_interval() is None:
        yield
        return
    finished = threading.Event()

    def beat() -> None:
        while True:
            with contextlib.suppress(Exception):  # the next heartbeat makes up for one that fails
                storage.record_heartbeat(trial_id)
            if finished.wait(storage.get_heartbeat_interval()):
                return

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
