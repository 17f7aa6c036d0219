"""Studies: an Optuna study with a space, a fixed number of trials, and workers that may die.

Each trial starts as a *ticket*, a waiting trial. A worker takes one by setting it running, which a storage lets only
one worker do. The rank of a ticket is its number less the lost trials before it; only ranks below the total are ever
taken, so that any number of workers, on any number of machines, together run exactly that many. A trial whose worker
died is marked lost, does not count, and a new ticket with its configuration takes its place, once.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.storages import BaseStorage
from optuna.storages._heartbeat import BaseHeartbeat
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.sampler import LOST, published
from addtree.errors import AddTreeError, StudyError
from addtree.optuna import AddTreeSampler
from addtree.space.space import Space
from addtree.study.task import Task

_SPACE, _SEED = "addtree:space", "addtree:seed"  # user attributes of a study
ERROR = "addtree:error"  # user attribute of a failed trial: why
_OWNER, _RETRY = "addtree:owner", "addtree:retry_of"  # system attributes of a trial
_POLL = 0.2  # seconds between two looks while other workers hold the last tickets


# ---------------------------------------------------------------------- opening


def open_study(
    storage: BaseStorage, name: str, target: Task, *, seed: int | None = None, maximize: bool = False
) -> optuna.Study:
    """The study of that name, made where there is none; a StudyError where it belongs to another space or direction."""
    direction = StudyDirection.MAXIMIZE if maximize else StudyDirection.MINIMIZE
    study = optuna.create_study(storage=storage, study_name=name, direction=direction, load_if_exists=True)
    attrs = study.user_attrs
    if _SPACE not in attrs and not study.get_trials(deepcopy=False):
        study.set_user_attr(_SPACE, _form(target.space))
        study.set_user_attr(_SEED, int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed)
        attrs = study.user_attrs
    _check_same(study, attrs.get(_SPACE), target.space)
    if study.direction != direction:
        raise StudyError(
            f"study {name!r} looks for the {'largest' if not maximize else 'least'} value; "
            f"{'add' if not maximize else 'leave out'} --maximize, or give the new study another name"
        )
    study.sampler = AddTreeSampler(target.space, seed=attrs.get(_SEED, seed) if seed is None else seed)
    return study


def load_study(storage: BaseStorage, name: str | None) -> optuna.Study:
    """A study that exists; without a name, the only one."""
    known = sorted(optuna.get_all_study_names(storage))
    if name is None and len(known) == 1:
        name = known[0]
    if name is None or name not in known:
        there = ", ".join(map(repr, known)) if known else "none"
        raise StudyError(
            f"{'name a study' if name is None else f'there is no study {name!r}'}; the storage has {there}"
        )
    study = optuna.load_study(study_name=name, storage=storage)
    study.sampler = AddTreeSampler(space_of(study), seed=study.user_attrs.get(_SEED))
    return study


def space_of(study: optuna.Study) -> Space | None:
    """The space that a study was made with; None for define-by-run."""
    form = study.user_attrs.get(_SPACE)
    return None if form in (None, _form(None)) else Space.from_dict(json.loads(form))


def _form(space: Space | None) -> str:
    return "define-by-run" if space is None else json.dumps(space.to_dict())


def _check_same(study: optuna.Study, before: str | None, space: Space | None) -> None:
    if before == _form(space) or (before is None and space is None):
        return
    name = study.study_name
    if before is None:
        raise StudyError(f"study {name!r} was not made by addtree for this space; give the new study another name")
    old = "define-by-run" if before == _form(None) else str(Space.from_dict(json.loads(before)))
    new = "define-by-run" if space is None else str(space)
    names = "the study's space", "the file's space"
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), *names, n=1, lineterm="")
    raise StudyError("\n".join([f"study {name!r} belongs to another space; give the new study another name", *lines]))


# ---------------------------------------------------------------------- counting


@dataclass(frozen=True)
class Progress:
    """How far a study is. `finished` counts what counts towards the total: complete, pruned and failed, not lost.

    error  why the last failed trial failed, where one did
    """

    complete: int
    pruned: int
    failed: int
    lost: int
    running: int
    best: FrozenTrial | None
    error: str | None

    @property
    def finished(self) -> int:
        """Trials that count."""
        return self.complete + self.pruned + self.failed


def progress(study: optuna.Study) -> Progress:
    """Count the trials of a study."""
    trials = study.get_trials(deepcopy=False)
    state = [t.state for t in trials]
    lost = sum(map(is_lost, trials))
    try:
        best = study.best_trial
    except ValueError:  # none is complete, or none feasible
        best = None
    return Progress(
        state.count(TrialState.COMPLETE),
        state.count(TrialState.PRUNED),
        state.count(TrialState.FAIL) - lost,
        lost,
        state.count(TrialState.RUNNING),
        best,
        next((t.user_attrs[ERROR] for t in reversed(trials) if ERROR in t.user_attrs), None),
    )


def is_lost(trial: FrozenTrial) -> bool:
    """Whether a trial does not count because its worker died or was stopped."""
    return trial.state == TrialState.FAIL and bool(trial.system_attrs.get(LOST))


# ---------------------------------------------------------------------- tickets


def claim(study: optuna.Study, total: int) -> optuna.Trial | None:
    """A trial to run, or None where all of the total are finished or in other hands."""
    storage, study_id = study._storage, study._study_id
    while True:
        trials = study.get_trials(deepcopy=False)
        lost = 0
        for trial in trials:
            if is_lost(trial):
                lost += 1
            elif trial.number - lost >= total:
                break
            elif trial.state == TrialState.WAITING and _take(storage, trial):
                storage.set_trial_system_attr(trial._trial_id, _OWNER, _myself())
                return optuna.Trial(study, trial._trial_id)
        lost = sum(map(is_lost, trials))
        if len(trials) - lost >= total:
            return None
        storage.create_new_trial(study_id, template_trial=optuna.create_trial(state=TrialState.WAITING))


def _take(storage: BaseStorage, trial: FrozenTrial) -> bool:
    try:
        return bool(storage.set_trial_state_values(trial._trial_id, state=TrialState.RUNNING))
    except optuna.exceptions.UpdateFinishedTrialError:
        return False


def release(study: optuna.Study, trial: FrozenTrial) -> bool:
    """Give up a running trial that nobody works on; its configuration gets a new ticket, unless it was a second try."""
    storage, again = study._storage, _RETRY not in trial.system_attrs
    try:
        if again:
            storage.set_trial_system_attr(trial._trial_id, LOST, True)
        else:
            storage.set_trial_user_attr(trial._trial_id, ERROR, "its worker died, twice")
        if not storage.set_trial_state_values(trial._trial_id, state=TrialState.FAIL):
            return False
    except optuna.exceptions.UpdateFinishedTrialError:  # another worker was faster
        return False
    if again:
        attrs = {"fixed_params": {**published(trial), **trial.params}, _RETRY: trial.number}
        ticket = optuna.create_trial(state=TrialState.WAITING, system_attrs=attrs)
        storage.create_new_trial(study._study_id, template_trial=ticket)
    return True


def release_dead(study: optuna.Study) -> int:
    """Release the running trials of workers that are no more; how many there were."""
    storage = study._storage
    stale: set[int] = set()
    if isinstance(storage, BaseHeartbeat) and storage.get_heartbeat_interval() is not None:
        stale = set(storage._get_stale_trial_ids(study._study_id))
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    dead = [t for t in running if t._trial_id in stale or _is_dead(t.system_attrs.get(_OWNER))]
    return sum(release(study, trial) for trial in dead)


def _in_hands(study: optuna.Study) -> bool:
    """Whether some worker still has a trial, which may come back; one that a person asked for may take for ever."""
    return any(_OWNER in t.system_attrs for t in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)))


def _myself() -> dict[str, Any]:
    return {"host": socket.gethostname(), "pid": os.getpid(), "since": _started(os.getpid())}


def _started(pid: int) -> str | None:
    """When a process began, so that a reused process id is not mistaken for it; None where the system does not say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return None


def _is_dead(owner: dict[str, Any] | None) -> bool:
    if owner is None or owner["host"] != socket.gethostname() or os.name == "nt":  # there, a signal 0 would kill
        return False
    try:
        os.kill(owner["pid"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return owner["since"] is not None and _started(owner["pid"]) != owner["since"]


# ---------------------------------------------------------------------- working


class Interrupt:
    """A request to stop. It breaks into the user's objective, but never into the storage: work looks out for it."""

    def __init__(self) -> None:
        self.requested = False
        self._breakable = False

    def request(self) -> None:
        """Ask to stop; raises KeyboardInterrupt where the objective is running."""
        self.requested = True
        if self._breakable:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise KeyboardInterrupt where somebody asked to stop."""
        if self.requested:
            raise KeyboardInterrupt

    def __enter__(self) -> None:
        self._breakable = True
        self.check()

    def __exit__(self, *error: object) -> None:
        self._breakable = False


def work(
    study: optuna.Study,
    target: Task,
    *,
    total: int,
    until: float | None = None,
    stop: Callable[[optuna.Study], bool] = lambda study: False,
    interrupt: Interrupt | None = None,
) -> None:
    """Run trials until `total` are finished, by whomever; or the time is `until`, or `stop(study)` says so.

    An objective that raises or returns no number fails its trial, and the work goes on. An interrupt gives the trial in
    hand back, to be run again, and comes out as a KeyboardInterrupt.
    """
    interrupt = interrupt or Interrupt()
    while until is None or time.monotonic() < until:
        interrupt.check()
        release_dead(study)
        trial = claim(study, total)
        if trial is None:
            if not _in_hands(study) or stop(study):
                return
            time.sleep(_POLL)
            continue
        try:
            with _heartbeat(study._storage, trial._trial_id):
                run_trial(study, trial, target, interrupt)
        except BaseException:
            frozen = study._storage.get_trial(trial._trial_id)
            if not frozen.state.is_finished():
                release(study, frozen)
            raise
        if stop(study):
            return


def run_trial(study: optuna.Study, trial: optuna.Trial, target: Task, interrupt: Interrupt) -> None:
    """Evaluate a trial and store what came out."""
    try:
        value = target.evaluate(trial, interrupt)
    except optuna.TrialPruned:
        study.tell(trial, state=TrialState.PRUNED)
    except optuna.exceptions.StorageInternalError:
        raise
    except Exception as error:
        text = str(error) if isinstance(error, AddTreeError) else f"{type(error).__name__}: {error}"
        trial.set_user_attr(ERROR, text[:2000])
        study.tell(trial, state=TrialState.FAIL)
    else:
        study.tell(trial, value)


@contextlib.contextmanager
def _heartbeat(storage: BaseStorage, trial_id: int) -> Iterator[None]:
    """Show the storage every now and then that the trial is being worked on."""
    if not isinstance(storage, BaseHeartbeat) or storage.get_heartbeat_interval() is None:
        yield
        return
    over = threading.Event()

    def beat() -> None:
        while True:
            with contextlib.suppress(Exception):  # a lost beat is made up for by the next
                storage.record_heartbeat(trial_id)
            if over.wait(storage.get_heartbeat_interval()):
                return

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
