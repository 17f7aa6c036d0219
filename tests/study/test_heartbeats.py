"""Heartbeats: silence means death only if somebody was watching."""

from __future__ import annotations

import time
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from addtree.study.heartbeats import HeartbeatSettings, Watch, beating, is_old


def running(heartbeat: float | None, trial_id: int = 7) -> FrozenTrial:
    attrs = {} if heartbeat is None else {"addtree:heartbeat": heartbeat}
    trial = optuna.create_trial(state=TrialState.RUNNING, system_attrs=attrs)
    trial._trial_id = trial_id
    return trial


class Clock:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize("heartbeat", [None, 5.0, 1e18])  # whatever the other machine's clock says
def test_a_worker_without_a_new_heartbeat_is_dead_after_the_grace_period(heartbeat: float | None, clock: Clock) -> None:
    watch = Watch(clock=clock)
    for _ in range(15):
        assert watch.silent([running(heartbeat)]) == set()
        clock.now += 10
    assert watch.silent([running(heartbeat)]) == {7}


def test_a_new_heartbeat_begins_a_new_grace_period(clock: Clock) -> None:
    watch = Watch(clock=clock)
    for step in range(100):
        assert watch.silent([running(float(step // 10))]) == set()
        clock.now += 14
    assert watch.silent([running(-1.0, trial_id=8)]) == set()  # another trial


def test_an_outage_of_the_storage_does_not_kill_live_workers(clock: Clock) -> None:
    watch = Watch(clock=clock)
    assert watch.silent([running(1.0)]) == set()
    clock.now += 3600  # nobody could read or write
    assert watch.silent([running(1.0)]) == set()
    clock.now += 30
    assert watch.silent([running(2.0)]) == set()


def test_heartbeats_are_stored_while_the_block_runs_and_survive_errors() -> None:
    stored: list[Any] = []
    looks: list[int] = []

    class Storage(optuna.storages.InMemoryStorage):
        def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
            stored.append(value)
            if len(stored) == 1:
                raise OSError("the network is down for a moment")

    with beating(Storage(), 0, 0.01, meanwhile=lambda: looks.append(1)):
        deadline = time.monotonic() + 20
        while len(looks) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    n_stored = len(stored)
    assert n_stored >= 4
    assert stored == sorted(set(stored))
    time.sleep(0.05)
    assert len(stored) == n_stored


def test_a_person_need_not_wait_for_a_watch() -> None:
    grace = HeartbeatSettings().grace_period
    assert is_old(running(time.time() - grace - 1))
    assert not is_old(running(time.time()))
    assert not is_old(running(None))
