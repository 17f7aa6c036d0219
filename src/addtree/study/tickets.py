"""Tickets: how any number of workers on any number of machines together run a fixed number of trials.

A *ticket* is a waiting trial of an Optuna study. A worker claims one by setting it running; the storage lets only one
worker do that. The *rank* of a ticket is its number minus the number of lost trials before it. Only tickets with a rank
below the total are claimed, so the workers together run exactly that many trials.

A trial is *lost* if its worker died or was interrupted. A lost trial does not count towards the total. A new ticket
with the same configuration replaces it, once: a trial that loses its worker a second time counts as failed.
"""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.trials import LOST, published
from addtree.study.heartbeats import Watch, is_old
from addtree.support.numbers import is_whole

ERROR = "addtree:error"  # user attribute of a failed trial that tells why it failed
_OWNER = "addtree:owner"  # system attribute that identifies who created a ticket or, once it is claimed, its worker
_FORGOTTEN = "forgotten"  # what the attribute LOST of a trial says if somebody dropped it, and nothing replaces it
_RETRY_OF = "addtree:retry_of"  # system attribute of a ticket that replaces a lost trial: the number of that trial


# ---------------------------------------------------------------------- claiming


def claim(study: optuna.Study, total: int, watch: Watch | None = None) -> optuna.Trial | None:
    """Claim a trial to run; None if every trial of the total is finished or claimed by a live worker.

    The trials of dead workers are released first, as `release_abandoned` does.
    """
    storage, study_id = study._storage, study._study_id
    while True:
        trials = study.get_trials(deepcopy=False)
        if _release_abandoned_of(study, trials, watch):
            continue
        n_lost = 0
        for trial in trials:
            if is_lost(trial):
                n_lost += 1
            elif trial.number - n_lost >= total:
                break
            elif trial.state == TrialState.WAITING and _set_running(storage, trial):
                _free_if_taken(storage, trial, trials)
                return optuna.Trial(study, trial._trial_id)
        if len(trials) - sum(map(is_lost, trials)) >= total:
            return None
        trial = storage.get_trial(storage.create_new_trial(study_id, template_trial=_ticket({})))
        # Trials that were lost meanwhile can only lower the rank.
        if trial.number - n_lost < total and _set_running(storage, trial):
            return optuna.Trial(study, trial._trial_id)


def _ticket(attrs: dict[str, Any]) -> FrozenTrial:
    """A ticket with these system attributes.

    It has an owner from the beginning. Otherwise, a worker that dies between setting it running and storing itself as
    the owner would leave a trial that looks like one that a person asked for, and nobody would run it again.
    """
    return optuna.create_trial(state=TrialState.WAITING, system_attrs={_OWNER: asdict(Owner.current()), **attrs})


def _set_running(storage: BaseStorage, trial: FrozenTrial) -> bool:
    """Set a waiting trial running, with this process as its owner; False if another worker was faster."""
    try:
        if not storage.set_trial_state_values(trial._trial_id, state=TrialState.RUNNING):
            return False
        if _owner_of(trial) != Owner.current():
            storage.set_trial_system_attr(trial._trial_id, _OWNER, asdict(Owner.current()))
    except optuna.exceptions.UpdateFinishedTrialError:
        return False
    return True


def _free_if_taken(storage: BaseStorage, trial: FrozenTrial, trials: list[FrozenTrial]) -> None:
    """Let a ticket that replaces a lost trial get a new configuration if another trial has taken the old one.

    Between the end of a lost trial and the creation of its ticket, a worker may suggest its configuration again.
    """
    if _RETRY_OF not in trial.system_attrs:
        return
    fixed = trial.system_attrs.get("fixed_params")
    others = (t for t in trials if t.number != trial.number and not is_lost(t))
    if fixed and any({**published(other), **other.params} == fixed for other in others):
        storage.set_trial_system_attr(trial._trial_id, "fixed_params", {})


def any_claimed(study: optuna.Study) -> bool:
    """Whether a worker is running a trial, which it may yet lose.

    Trials without an owner do not count: a person asked for them, and may never tell their values.
    """
    return any(map(has_owner, study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))))


# ---------------------------------------------------------------------- releasing


def release(study: optuna.Study, trial: FrozenTrial) -> bool:
    """End a running trial that no worker will finish; False if it has already finished.

    The trial becomes lost, and a new ticket with its configuration replaces it. A trial that is itself such a
    replacement counts as failed instead.
    """
    storage, replaceable = study._storage, _RETRY_OF not in trial.system_attrs
    try:
        if replaceable:
            storage.set_trial_system_attr(trial._trial_id, LOST, True)
        else:
            storage.set_trial_user_attr(trial._trial_id, ERROR, "its worker died or was interrupted twice")
        if not storage.set_trial_state_values(trial._trial_id, state=TrialState.FAIL):
            return False
    except optuna.exceptions.UpdateFinishedTrialError:  # another worker was faster
        return False
    if replaceable:
        attrs = {"fixed_params": {**published(trial), **trial.params}, _RETRY_OF: trial.number}
        storage.create_new_trial(study._study_id, template_trial=_ticket(attrs))
    return True


def release_abandoned(study: optuna.Study, watch: Watch | None = None) -> int:
    """Release the running trials whose workers are dead, and return how many this call released.

    A worker on this machine is dead if its process has ended. A worker elsewhere is dead if `watch` sees no heartbeat
    of it any more; without a watch, it counts as alive.
    """
    return _release_abandoned_of(study, study.get_trials(deepcopy=False), watch)


def _release_abandoned_of(study: optuna.Study, trials: list[FrozenTrial], watch: Watch | None) -> int:
    running = [trial for trial in trials if trial.state == TrialState.RUNNING]
    claimed = [(trial, owner) for trial in running if (owner := _owner_of(trial)) is not None]
    silent = watch.silent([trial for trial, _ in claimed]) if watch is not None else set()
    return sum(release(study, trial) for trial, owner in claimed if trial._trial_id in silent or owner.is_dead())


def withdraw(study: optuna.Study, trial_id: int) -> None:
    """End a running trial that nobody will evaluate; it does not count, and nothing replaces it."""
    study._storage.set_trial_system_attr(trial_id, LOST, _FORGOTTEN)
    study._storage.set_trial_state_values(trial_id, state=TrialState.FAIL)


def is_lost(trial: FrozenTrial) -> bool:
    """Whether a trial does not count: its worker died or was interrupted, or somebody dropped it."""
    return trial.state == TrialState.FAIL and bool(trial.system_attrs.get(LOST))


def is_forgotten(trial: FrozenTrial) -> bool:
    """Whether a trial does not count because somebody dropped it; no other trial replaces it."""
    return is_lost(trial) and trial.system_attrs[LOST] == _FORGOTTEN


# ---------------------------------------------------------------------- owners


@dataclass(frozen=True)
class Owner:
    """The process that claimed a trial.

    host    name of the machine
    system  what distinguishes machines and containers of the same name; None if it is unknown
    pid     process id
    since   start time of the process as the system counts it, because process ids are reused; None if it is unknown
    """

    host: str
    system: str | None
    pid: int
    since: str | None

    @classmethod
    def current(cls) -> Owner:
        """This process as an owner."""
        return cls(socket.gethostname(), _system(), os.getpid(), _start_time(os.getpid()))

    def is_dead(self) -> bool:
        """Whether the process is known to have ended; False if it runs on another machine or system that hides it."""
        here = self.host == socket.gethostname() and self.system == _system()
        if not here or os.name == "nt":  # on Windows, os.kill(pid, 0) ends the process
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except (PermissionError, OverflowError):
            return False
        return self.since is not None and _start_time(self.pid) != self.since


def live_owner(trial: FrozenTrial) -> Owner | None:
    """The worker that runs a trial; None if nobody does, or if it seems to be dead."""
    owner = _owner_of(trial)
    if trial.state != TrialState.RUNNING or owner is None or owner.is_dead() or is_old(trial):
        return None
    return owner


def has_owner(trial: FrozenTrial) -> bool:
    """Whether a worker has claimed a trial."""
    return _owner_of(trial) is not None


def _owner_of(trial: FrozenTrial) -> Owner | None:
    """The owner of a claimed trial; None if there is none, or if what is stored is not an owner."""
    stored = trial.system_attrs.get(_OWNER)
    if not isinstance(stored, dict) or stored.keys() != Owner.__dataclass_fields__.keys():
        return None
    owner = Owner(**stored)
    return owner if isinstance(owner.host, str) and is_whole(owner.pid) and owner.pid > 0 else None


def _start_time(pid: int) -> str | None:
    """When a process started, in clock ticks since boot; None if the system does not say (only Linux does).

    A process that has ended, but whose parent has not noticed yet, has no start time.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return None if fields[0] == "Z" else fields[19]
    except (OSError, IndexError):
        return None


def _system() -> str | None:
    """An identifier of this boot of the kernel and of the container; None if there is none (only Linux has one)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None
