"""Heartbeats: how workers on other machines notice that the worker of a trial has died.

While a worker runs a trial, it stores the time in a system attribute of that trial, again and again. Every storage can
hold an attribute, also a journal and a gRPC proxy, which lack Optuna's own heartbeats. The clocks of two machines may
disagree, so nobody compares them: a worker is dead if its heartbeat has not *changed* for long enough while another
worker was watching.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial

from addtree.support.numbers import is_number

_HEARTBEAT = "addtree:heartbeat"  # system attribute of a trial: seconds since 1970 by the clock of its worker


@dataclass(frozen=True)
class HeartbeatSettings:
    """When workers give signs of life, and when their absence means that a worker is dead.

    interval      seconds between two heartbeats; a shorter trial has none
    grace_period  seconds without a new heartbeat after which a worker counts as dead
    """

    interval: float = 30.0
    grace_period: float = 150.0

    @property
    def longest_gap(self) -> float:
        """The largest number of seconds that the time between two looks counts for.

        The storage may have been out of reach for longer, and then no worker could store a heartbeat.
        """
        return 2 * self.interval


@dataclass(frozen=True)
class _Sighting:
    """The last heartbeat of a trial, and the seconds for which it has been watched without a change."""

    heartbeat: object
    silence: float


class Watch:
    """What one process has seen of the heartbeats of all workers.

    clock  returns seconds; the default keeps its pace when somebody sets the time of the system
    """

    def __init__(self, settings: HeartbeatSettings | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings or HeartbeatSettings()
        self._clock = clock
        self._sightings: dict[int, _Sighting] = {}
        self._last_look: float | None = None

    def silent(self, running: Sequence[FrozenTrial]) -> set[int]:
        """Look at the running trials, and return the ids of those whose workers are dead."""
        now = self._clock()
        elapsed = 0.0 if self._last_look is None else min(now - self._last_look, self.settings.longest_gap)
        self._last_look = now
        self._sightings = {trial._trial_id: self._sighting(trial, elapsed) for trial in running}
        return {key for key, seen in self._sightings.items() if seen.silence >= self.settings.grace_period}

    def _sighting(self, trial: FrozenTrial, elapsed: float) -> _Sighting:
        heartbeat, before = trial.system_attrs.get(_HEARTBEAT), self._sightings.get(trial._trial_id)
        if before is None or before.heartbeat != heartbeat:
            return _Sighting(heartbeat, 0.0)
        return _Sighting(heartbeat, before.silence + elapsed)


@contextlib.contextmanager
def beating(storage: BaseStorage, trial_id: int, interval: float, meanwhile: Callable[[], object]) -> Iterator[None]:
    """Store heartbeats of a trial, in a thread, while the block runs.

    interval   seconds before each heartbeat
    meanwhile  called in the thread after each heartbeat
    """
    finished = threading.Event()

    def beat() -> None:
        while not finished.wait(interval):
            with contextlib.suppress(Exception):  # the next heartbeat makes up for one that fails
                storage.set_trial_system_attr(trial_id, _HEARTBEAT, time.time())
                meanwhile()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()


def is_old(trial: FrozenTrial) -> bool:
    """Whether a running trial has had a heartbeat, but none within the grace period by the clock of this machine.

    It answers at once, for a person, and may be wrong if clocks disagree. `Watch` is certain, but has to wait.
    """
    heartbeat: Any = trial.system_attrs.get(_HEARTBEAT)
    return is_number(heartbeat) and time.time() - heartbeat >= HeartbeatSettings().grace_period
