"""Tickets: each is claimed once, and a lost trial is run again once."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from addtree import Real, Space
from addtree.optuna import AddTreeSampler
from addtree.study.storage import open_storage
from addtree.study.studies import open_study, progress
from addtree.study.tickets import (
    Owner,
    _start_time,
    any_claimed,
    claim,
    is_lost,
    live_owner,
    release,
    release_abandoned,
)

SPACE = Space(x=Real(-1, 1))


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'study.db'}"


def open_at(url: str) -> optuna.Study:
    return open_study(open_storage(url), "s", SPACE, seed=0)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")  # threads share the warning filters
def test_each_ticket_is_claimed_once_and_never_more_than_the_total(url: str) -> None:
    open_at(url)
    claimed: list[int] = []

    def claim_all() -> None:
        study = open_at(url)
        while (trial := claim(study, 40)) is not None:
            claimed.append(trial.number)

    threads = [threading.Thread(target=claim_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == list(range(40))


def test_a_released_trial_gets_one_new_ticket(url: str) -> None:
    study = open_at(url)
    first, second = claim(study, 2), claim(study, 2)
    assert first is not None
    assert second is not None
    x = first.suggest_float("x", -1, 1)
    assert second.suggest_float("x", -1, 1) != x
    assert claim(study, 2) is None
    assert release(study, study.get_trials()[0])
    again = claim(study, 2)
    assert again is not None
    assert again.suggest_float("x", -1, 1) == x
    assert not release(study, study.get_trials()[0])  # it has finished
    assert release(study, study.get_trials()[2])
    assert claim(study, 2) is None  # a second loss is a failure
    assert [is_lost(t) for t in study.get_trials()] == [True, False, False]
    assert progress(study).finished == 1
    assert progress(study).error == "its worker died or was interrupted twice"


def test_a_lost_configuration_that_another_trial_has_taken_is_not_run_twice(url: str) -> None:
    study = open_at(url)
    first = claim(study, 3)
    assert first is not None
    x = first.suggest_float("x", -1, 1)
    assert release(study, study.get_trials()[0])
    distributions = {"x": optuna.distributions.FloatDistribution(-1, 1)}
    study.add_trial(optuna.create_trial(value=0.0, params={"x": x}, distributions=distributions))  # somebody was faster
    again = claim(study, 3)
    assert again is not None
    assert again.suggest_float("x", -1, 1) != x


def test_a_process_that_its_parent_has_not_waited_for_is_dead() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        owner = replace(Owner.current(), pid=process.pid, since=_start_time(process.pid))
        assert not owner.is_dead()
        process.kill()
        deadline = time.monotonic() + 20
        while not owner.is_dead() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert owner.is_dead()


def test_a_lost_trial_says_nothing_about_its_configuration(url: str) -> None:
    """The sampler treats it as a trial without parameters; it would learn from one that failed."""

    def next_after(name: str, params: dict[str, float], attrs: dict[str, bool]) -> float:
        study = optuna.create_study(study_name=name, storage=storage, sampler=AddTreeSampler(SPACE, seed=0))
        study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=12)
        distributions = {name: optuna.distributions.FloatDistribution(-1, 1) for name in params}
        study.add_trial(
            optuna.create_trial(state=TrialState.FAIL, params=params, distributions=distributions, system_attrs=attrs)
        )
        return study.ask().suggest_float("x", -1, 1)

    storage = optuna.storages.InMemoryStorage()
    suggested = next_after("empty", {}, {})
    assert next_after("lost", {"x": suggested}, {"addtree:lost": True}) == suggested
    assert next_after("failed", {"x": suggested}, {}) != suggested


def test_only_trials_of_dead_workers_are_released(url: str) -> None:
    study = open_at(url)
    for _ in range(4):
        assert claim(study, 10) is not None
    owner = study.get_trials()[0].system_attrs["addtree:owner"]
    dead = {**owner, "pid": _unused_pid()}
    elsewhere = {**dead, "host": "another-machine"}
    in_a_container = {**dead, "system": "another container with the same host name"}
    ids = [t._trial_id for t in study.get_trials()]
    for trial_id, stored in zip(ids[1:], [dead, elsewhere, in_a_container], strict=True):
        study._storage.set_trial_system_attr(trial_id, "addtree:owner", stored)
    assert release_abandoned(study) == 1
    running = [t.state == TrialState.RUNNING for t in study.get_trials()]
    assert running[:4] == [True, False, True, True]
    if owner["since"] is not None:  # Linux tells when a process started, so a reused process id is recognized
        study._storage.set_trial_system_attr(ids[0], "addtree:owner", {**owner, "since": "1"})
        assert release_abandoned(study) == 1


def _unused_pid() -> int:
    for pid in range(4_000_000, 2**31):
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError):
            return pid
        except PermissionError:
            continue
    raise AssertionError("every process id is in use")


def test_a_trial_that_a_person_asked_for_is_not_claimed(url: str) -> None:
    study = open_at(url)
    study._storage.create_new_trial(study._study_id)
    assert not any_claimed(study)
    assert claim(study, 2) is not None
    assert any_claimed(study)


def test_a_worker_that_dies_while_it_claims_a_ticket_leaves_an_owner(url: str) -> None:
    study = open_at(url)
    assert claim(study, 1) is not None
    assert release(study, study.trials[0])
    (waiting,) = study.get_trials(states=(TrialState.WAITING,))
    assert study._storage.set_trial_state_values(waiting._trial_id, TrialState.RUNNING)  # and then it is killed
    assert any_claimed(study)
    dead = {**waiting.system_attrs["addtree:owner"], "pid": _unused_pid()}
    study._storage.set_trial_system_attr(waiting._trial_id, "addtree:owner", dead)
    assert release_abandoned(study) == 1


@pytest.mark.parametrize("stored", [3, "me", {}, {"host": 1, "system": None, "pid": "2", "since": None}, {"host": "h"}])
def test_an_owner_that_is_damaged_is_nobody(url: str, stored: object) -> None:
    study = open_at(url)
    assert claim(study, 1) is not None
    study._storage.set_trial_system_attr(study.trials[0]._trial_id, "addtree:owner", stored)
    assert live_owner(study.trials[0]) is None
    assert not any_claimed(study)  # nobody waits for it
    assert release_abandoned(study) == 0
