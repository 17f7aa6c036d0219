"""Workers: they stop at the total, survive failures, and give trials back when they are interrupted."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from addtree import Real, Space
from addtree.study.heartbeats import HeartbeatSettings
from addtree.study.storage import open_storage
from addtree.study.studies import open_study, progress
from addtree.study.task import Task
from addtree.study.tickets import claim
from addtree.study.worker import run_trial, work
from addtree.support.interrupts import Interrupt

SPACE = Space(x=Real(-1, 1))
TASK = Task(lambda config: config["x"] ** 2, SPACE)


@pytest.fixture
def study(tmp_path: Path) -> optuna.Study:
    return open_study(open_storage(str(tmp_path / "study.db")), "s", SPACE, seed=0)


def test_an_interrupt_gives_the_trial_back(study: optuna.Study) -> None:
    interrupt = Interrupt()
    n_calls = 0

    def objective(config: dict[str, Any]) -> float:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 3:
            interrupt.request()
        return float(config["x"])

    with pytest.raises(KeyboardInterrupt):
        work(study, Task(objective, SPACE), total=10, interrupt=interrupt)
    assert progress(study).complete == 2
    assert progress(study).running == 0
    work(study, Task(objective, SPACE), total=10)
    assert progress(study).complete == 10
    assert len({t.params["x"] for t in study.get_trials() if t.state == TrialState.COMPLETE}) == 10


def test_a_worker_does_not_wait_for_a_person(study: optuna.Study) -> None:
    study._storage.create_new_trial(study._study_id)  # a person asked for it and has not told its value
    work(study, TASK, total=3)
    assert progress(study).complete == 2


def test_no_trial_starts_after_the_deadline(study: optuna.Study) -> None:
    work(study, TASK, total=3, deadline=time.monotonic() - 1)
    assert study.get_trials() == []


def test_a_worker_stops_early_when_it_is_told_to(study: optuna.Study) -> None:
    work(study, TASK, total=10, should_stop=lambda study: progress(study).finished == 4)
    assert progress(study).finished == 4


def test_a_failed_trial_says_why(study: optuna.Study) -> None:
    trial = claim(study, 1)
    assert trial is not None
    run_trial(study, trial, Task(lambda config: 1 / 0, SPACE), Interrupt())
    assert progress(study).failed == 1
    error = progress(study).error
    assert error is not None
    assert error.startswith(f"ZeroDivisionError: division by zero ({__file__}, line ")
    assert error.endswith(", in <lambda>)")


def test_a_pruned_trial_counts(study: optuna.Study) -> None:
    def objective(config: dict[str, Any]) -> float:
        raise optuna.TrialPruned

    work(study, Task(objective, SPACE), total=2)
    assert progress(study).pruned == 2
    assert progress(study).failed == 0


def test_a_journal_works_as_well(tmp_path: Path) -> None:
    study = open_study(open_storage(str(tmp_path / "study.journal")), "s", SPACE, seed=0)
    work(study, TASK, total=12)
    assert progress(study).complete == 12


@pytest.mark.parametrize("file", ["study.db", "study.journal"])
def test_a_worker_that_died_on_another_machine_is_noticed_while_the_objective_runs(file: str, tmp_path: Path) -> None:
    study = open_study(open_storage(str(tmp_path / file)), "s", SPACE, seed=0)
    lost = claim(study, 3)
    assert lost is not None
    x = lost.suggest_float("x", -1, 1)
    owner = {**study.trials[0].system_attrs["addtree:owner"], "host": "another-machine"}
    study._storage.set_trial_system_attr(lost._trial_id, "addtree:owner", owner)

    def objective(config: dict[str, Any]) -> float:
        deadline = time.monotonic() + 20
        while study.trials[0].state == TrialState.RUNNING and time.monotonic() < deadline:
            time.sleep(0.05)
        return float(config["x"])

    work(study, Task(objective, SPACE), total=3, heartbeats=HeartbeatSettings(interval=0.05, grace_period=0.5))
    assert progress(study).complete == 3
    assert progress(study).lost == 1
    assert [t.value for t in study.trials if t.system_attrs.get("addtree:retry_of") == 0] == [x]
    assert "addtree:heartbeat" in study.trials[1].system_attrs  # it ran meanwhile, long enough for a heartbeat


@pytest.mark.parametrize("ending", ["value", "failure", "pruned", "told before the objective asks"])
@pytest.mark.parametrize("file", ["study.db", "study.journal"])
def test_a_worker_goes_on_if_somebody_else_finishes_its_trial(
    ending: str, file: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = str(tmp_path / file)
    study = open_study(open_storage(url), "s", None, seed=0)
    n_calls = 0

    def objective(trial: optuna.Trial) -> float:
        nonlocal n_calls
        n_calls += 1
        if ending.startswith("value"):
            trial.suggest_float("x", 0, 1)
        if n_calls == 2:
            other = optuna.load_study(study_name="s", storage=open_storage(url))
            other.tell(trial.number, 0.125)
        if ending == "failure":
            raise ValueError("bad")
        if ending == "pruned":
            raise optuna.TrialPruned
        return trial.suggest_float("x", 0, 1)

    work(study, Task(objective, None), total=3)
    assert progress(study).finished == 3
    assert study.trials[1].value == 0.125
    assert "trial 1 was finished by somebody else while it ran here" in caplog.text


def test_an_error_of_the_storage_is_not_the_objectives(tmp_path: Path) -> None:
    """A trial during which the disk fills up has not failed."""
    study = open_study(open_storage(str(tmp_path / "study.journal")), "s", None, seed=0)
    journal = tmp_path / "study.journal"

    def objective(trial: optuna.Trial) -> float:
        journal.rename(tmp_path / "elsewhere")
        try:
            return trial.suggest_float("x", 0, 1)
        finally:
            (tmp_path / "elsewhere").rename(journal)

    with pytest.raises(FileNotFoundError):
        work(study, Task(objective, None), total=2)
    assert progress(study).failed == 0
    assert progress(study).lost == 1
