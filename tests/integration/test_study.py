"""Tickets and lost trials."""

from __future__ import annotations

import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from addtree import Real, Space
from addtree.optuna import AddTreeSampler
from addtree.study.storage import open_storage
from addtree.study.studies import (
    Interrupt,
    claim,
    is_lost,
    open_study,
    progress,
    release,
    release_dead,
    run_trial,
    work,
)
from addtree.study.task import Task

SPACE = Space(x=Real(-1, 1))
TARGET = Task(lambda config: config["x"] ** 2, SPACE)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'study.db'}"


def study_at(url: str) -> optuna.Study:
    return open_study(open_storage(url), "s", TARGET, seed=0)


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")  # filters are shared by threads
def test_each_ticket_is_taken_once_and_never_more_than_the_total(url: str) -> None:
    study_at(url)
    taken: list[int] = []

    def take() -> None:
        study = study_at(url)
        while (trial := claim(study, 40)) is not None:
            taken.append(trial.number)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(40))


def test_a_released_trial_gets_one_new_ticket(url: str) -> None:
    study = study_at(url)
    trial = claim(study, 1)
    assert trial is not None
    x = trial.suggest_float("x", -1, 1)
    assert claim(study, 1) is None
    assert release(study, study.get_trials()[0])
    again = claim(study, 1)
    assert again is not None
    assert again.suggest_float("x", -1, 1) == x
    assert not release(study, study.get_trials()[0])  # it is finished by now
    assert release(study, study.get_trials()[1])
    assert claim(study, 1) is None  # a second death is a failure
    assert [is_lost(t) for t in study.get_trials()] == [True, False]
    assert progress(study).finished == 1


def test_a_lost_trial_says_nothing_about_its_configuration(url: str) -> None:
    study = study_at(url)
    trial = claim(study, 2)
    assert trial is not None
    trial.suggest_float("x", -1, 1)
    release(study, study.get_trials()[0])
    assert isinstance(study.sampler, AddTreeSampler)
    memory = study.sampler._remember(study, study.get_trials()[1])
    assert memory.optimizer is not None
    assert memory.optimizer.trials == []  # it is not told as a failure


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")  # filters are shared by threads
def test_several_workers_make_the_tables_at_once(url: str) -> None:
    errors: list[Exception] = []

    def make() -> None:
        try:
            study_at(url)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_only_dead_owners_lose_their_trials(url: str) -> None:
    study = study_at(url)
    for _ in range(3):
        assert claim(study, 10) is not None
    owners: list[dict[str, Any]] = [t.system_attrs["addtree:owner"] for t in study.get_trials()]
    storage = study._storage
    gone = {**owners[1], "pid": _unused_pid()}
    elsewhere = {**owners[2], "pid": gone["pid"], "host": "another-machine"}
    reused = {**owners[0], "since": "1"}
    ids = [t._trial_id for t in study.get_trials()]
    storage.set_trial_system_attr(ids[1], "addtree:owner", gone)
    storage.set_trial_system_attr(ids[2], "addtree:owner", elsewhere)
    assert release_dead(study) == 1
    assert [t.state for t in study.get_trials()][:3] == [TrialState.RUNNING, TrialState.FAIL, TrialState.RUNNING]
    if owners[0]["since"] is not None:  # Linux: the number of a dead process may belong to another one by now
        storage.set_trial_system_attr(ids[0], "addtree:owner", reused)
        assert release_dead(study) == 1


def _unused_pid() -> int:
    for pid in range(4_000_000, 2**31):
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError):
            return pid
        except PermissionError:
            continue
    raise AssertionError("every process id is in use")


def test_an_interrupt_gives_the_trial_back(url: str) -> None:
    study, interrupt = study_at(url), Interrupt()
    calls = Counter[str]()

    def objective(config: dict[str, Any]) -> float:
        calls["all"] += 1
        if calls["all"] == 3:
            interrupt.request()
        return float(config["x"])

    with pytest.raises(KeyboardInterrupt):
        work(study, Task(objective, SPACE), total=10, interrupt=interrupt)
    assert progress(study).complete == 2
    assert progress(study).running == 0
    work(study, Task(objective, SPACE), total=10)
    assert progress(study).complete == 10
    configs = [t.params["x"] for t in study.get_trials() if t.state == TrialState.COMPLETE]
    assert len(set(configs)) == 10


def test_waiting_for_a_person_is_not_waited_for(url: str) -> None:
    study = study_at(url)
    study._storage.create_new_trial(study._study_id)  # somebody asked by hand and has not told yet
    work(study, TARGET, total=3)
    assert progress(study).complete == 2


def test_a_failed_trial_says_why(url: str) -> None:
    study = study_at(url)
    trial = claim(study, 1)
    assert trial is not None
    run_trial(study, trial, Task(lambda config: 1 / 0, SPACE), Interrupt())
    assert progress(study).error == "ZeroDivisionError: division by zero"


def test_a_journal_works_as_well(tmp_path: Path) -> None:
    study = study_at(str(tmp_path / "study.journal"))
    work(study, TARGET, total=12)
    assert progress(study).complete == 12
