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


def test_several_suggestions_at_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    create = ["suggest", "lab", "--space", "space.json", "--seed", "0"]
    assert addtree(*create, "-n", "4", "--json", monkeypatch=monkeypatch) == 0
    suggested = json.loads(capsys.readouterr().out)
    assert addtree("suggest", "lab", "--number", "3", monkeypatch=monkeypatch) == 0
    suggested += [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["id"] for each in suggested] == list(range(7))
    assert len({each["config"]["x"] for each in suggested}) == 7
    assert [t.params for t in trials("lab")] == [each["config"] for each in suggested]
    assert addtree("suggest", "lab", "--json", monkeypatch=monkeypatch) == 0
    (only,) = json.loads(capsys.readouterr().out)
    assert only["id"] == 7


def test_a_configuration_from_elsewhere_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert addtree("suggest", "lab", "--space", "space.json", monkeypatch=monkeypatch) == 0
    assert addtree("tell", "lab", "--config", '{"x": 0.5}', "0.3", "--std", "0.1", monkeypatch=monkeypatch) == 0
    assert addtree("tell", "--config", '{"x": 0.25}', "-0.3", monkeypatch=monkeypatch) == 0  # the only study
    assert addtree("tell", "--config", '{"x": 0.75}', "--failed", monkeypatch=monkeypatch) == 0
    waiting, *told = trials("lab")
    assert waiting.state == TrialState.RUNNING
    assert [(t.params, t.value, t.state.name) for t in told] == [
        ({"x": 0.5}, 0.3, "COMPLETE"),
        ({"x": 0.25}, -0.3, "COMPLETE"),
        ({"x": 0.75}, None, "FAIL"),
    ]
    assert [t.user_attrs for t in told] == [{"addtree:std": 0.1}, {}, {}]
    capsys.readouterr()
    assert addtree("best", "--json", monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out) == {"id": 2, "value": -0.3, "config": {"x": 0.25}}


def test_what_nobody_told_is_listed_until_it_is_told_or_forgotten(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert addtree("suggest", "[/lab]", "--space", "space.json", "-n", "3", monkeypatch=monkeypatch) == 0
    configs = [json.loads(line)["config"] for line in capsys.readouterr().out.splitlines()]
    assert addtree("tell", "[/lab]", "1", "0.5", monkeypatch=monkeypatch) == 0
    assert addtree("status", monkeypatch=monkeypatch) == 0
    listed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  [/lab] ")]
    assert [int(line.split()[1]) for line in listed] == [0, 2]
    assert [json.loads(line[line.index("{") :]) for line in listed] == [configs[0], configs[2]]
    assert addtree("forget", "[/lab]", "0", monkeypatch=monkeypatch) == 0
    assert addtree("forget", "2", monkeypatch=monkeypatch) == 0
    assert addtree("status", monkeypatch=monkeypatch) == 0
    shown = capsys.readouterr().out
    assert "Suggested" not in shown
    (row,) = [line for line in shown.splitlines() if "[/lab]" in line]
    assert row.replace("│", " ").split() == ["[/lab]", "1", "0", "0", "0", "0.5"]  # forgotten trials do not count
    assert addtree("export", monkeypatch=monkeypatch) == 0
    assert [line.split(",")[1] for line in capsys.readouterr().out.splitlines()[1:]] == [
        "forgotten",
        "complete",
        "forgotten",
    ]
    assert addtree("tell", "0", "1.0", monkeypatch=monkeypatch) == 4
    assert addtree("suggest", "[/lab]", monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["id"] == 3  # an id is never used again


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
