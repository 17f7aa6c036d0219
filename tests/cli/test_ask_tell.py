"""The commands `suggest` and `tell`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from addtree.study.storage import storage_at
from addtree.study.studies import load_study
from addtree.study.tickets import claim
from tests.cli.commands import DEFINE_BY_RUN, addtree, trials, write_task


@pytest.fixture(autouse=True)
def _space_file() -> None:
    Path("space.json").write_text(json.dumps({"x": {"type": "real", "low": 0, "high": 1}}))


def test_suggest_and_tell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for i in range(3):
        options = ["--space", "space.json"] if i == 0 else []
        assert addtree("suggest", "lab", *options, monkeypatch=monkeypatch) == 0
        suggested = json.loads(capsys.readouterr().out)
        assert suggested["id"] == i
        assert 0 <= suggested["config"]["x"] <= 1
    assert addtree("tell", "lab", "0", "-0.5", monkeypatch=monkeypatch) == 0
    assert addtree("tell", "lab", "1", "--failed", monkeypatch=monkeypatch) == 0
    assert [t.state for t in trials("lab")] == [TrialState.COMPLETE, TrialState.FAIL, TrialState.RUNNING]
    assert trials("lab")[0].value == -0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["0", "1.0"], "trial 0 of study 'lab' is complete; tell each suggested trial once"),
        (["99", "1.0"], "trial 99 of study 'lab' is unknown"),
        (["1", "high"], "value 'high' is not a finite number; give a number, or --failed"),
        (["1", "nan"], "value 'nan' is not a finite number"),
        (["1"], "tell lab 1: give either a value or --failed"),
        (["1", "1.0", "--failed"], "tell lab 1: give either a value or --failed"),
    ],
)
def test_a_wrong_tell_is_refused(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert addtree("suggest", "lab", "--space", "space.json", monkeypatch=monkeypatch) == 0
    assert addtree("tell", "lab", "0", "0.5", monkeypatch=monkeypatch) == 0
    capsys.readouterr()
    assert addtree("tell", "lab", *arguments, monkeypatch=monkeypatch) == 4
    error = capsys.readouterr().err
    assert error.startswith(f"addtree: {message}")
    assert error.count("\n") == 1
    assert [t.state for t in trials("lab")] == [TrialState.COMPLETE, TrialState.RUNNING]


def test_a_study_without_a_declared_space_has_no_suggestions(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert addtree("run", write_task(DEFINE_BY_RUN), "--trials", "2", monkeypatch=monkeypatch) == 0
    assert addtree("suggest", "task", monkeypatch=monkeypatch) == 4
    assert "study 'task' has no declared space to suggest from" in capsys.readouterr().err
    assert len(trials()) == 2


def test_a_trial_that_a_worker_runs_is_not_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert addtree("suggest", "lab", "--space", "space.json", monkeypatch=monkeypatch) == 0
    with storage_at("addtree.db") as storage:
        study = load_study(storage, "lab")
        assert claim(study, 2) is not None
        capsys.readouterr()
        for value in ("0.5", "--failed"):
            assert addtree("tell", "lab", "1", value, monkeypatch=monkeypatch) == 4
            (line,) = capsys.readouterr().err.splitlines()
            assert f"trial 1 of study 'lab' is being run by process {os.getpid()} on" in line
        assert study.trials[1].state == TrialState.RUNNING
        owner = study.trials[1].system_attrs["addtree:owner"]
        storage.set_trial_system_attr(study.trials[1]._trial_id, "addtree:owner", {**owner, "since": "1"})
    assert addtree("tell", "lab", "1", "0.5", monkeypatch=monkeypatch) == 0  # its worker is dead
    assert addtree("tell", "lab", "0", "0.5", monkeypatch=monkeypatch) == 0


def test_initial_configurations_are_suggested_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_task("import addtree as at\nspace = at.Space(x=at.Real(0, 1))\ninitial = [{'x': 0.25}, {'x': 0.75}]\n")
    for expected, options in ((0.25, ["--space", file]), (0.75, [])):
        assert addtree("suggest", "lab", *options, monkeypatch=monkeypatch) == 0
        assert json.loads(capsys.readouterr().out)["config"] == {"x": expected}


def test_noise_and_standard_errors(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The first value is lucky, and its standard error says so."""
    create = ["suggest", "lab", "--space", "space.json", "--seed", "0", "--noise", "0"]
    assert addtree(*create, monkeypatch=monkeypatch) == 0
    assert addtree("tell", "lab", "0", "-1.0", "--std", "3.0", monkeypatch=monkeypatch) == 0
    for number in range(1, 12):
        assert addtree("suggest", "lab", monkeypatch=monkeypatch) == 0
        assert addtree("tell", "lab", str(number), str(0.1 * number), monkeypatch=monkeypatch) == 0
    assert trials("lab")[0].user_attrs["addtree:std"] == 3.0
    capsys.readouterr()
    for options, expected in (([], 0), (["--recommended"], 1)):
        assert addtree("best", "lab", "--json", *options, monkeypatch=monkeypatch) == 0
        assert json.loads(capsys.readouterr().out)["id"] == expected
    assert addtree("suggest", "lab", "--noise", "0.5", monkeypatch=monkeypatch) == 0
    with storage_at("addtree.db") as storage:
        assert optuna.load_study(study_name="lab", storage=storage).user_attrs["addtree:noise"] == 0.5


@pytest.mark.parametrize("std", ["-1", "nan", "inf", "much"])
def test_an_impossible_standard_error_is_refused(
    std: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert addtree("suggest", "lab", "--space", "space.json", monkeypatch=monkeypatch) == 0
    capsys.readouterr()
    assert addtree("tell", "lab", "0", "0.5", "--std", std, monkeypatch=monkeypatch) == 2
    assert capsys.readouterr().err.startswith("addtree: ")
    assert trials("lab")[0].state == TrialState.RUNNING
