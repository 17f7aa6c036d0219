"""Several objectives and constraints on the command line: run, status, best, export, suggest, tell, report, explain."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest

from tests.cli.commands import SPACE, addtree, error_lines, write_task

TWO = (
    SPACE
    + """
objectives = {"error": "min", "speed": "max"}
constraints = {"memory": 1.5}
def objective(config):
    x, k = config["x"], config.get("k", 500) / 1000
    if x > 0.9: raise MemoryError("too large")
    return {"error": x**2 + k, "speed": x + k, "memory": x + 2 * k}
"""
)


@pytest.fixture
def _study(finished_run: Callable[[str, int], None], capsys: pytest.CaptureFixture[str]) -> None:
    """Fourteen trials of a study called `task`."""
    finished_run(TWO, 14)
    capsys.readouterr()


@pytest.mark.usefixtures("_study")
def test_run_says_how_large_the_front_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert addtree("run", "task.py", "--trials", "14", monkeypatch=monkeypatch) == 0
    said = capsys.readouterr().out
    assert "task: 14 trials finished" in said
    assert re.search(r"front of \d+ trials? \(error, speed\):", said)


@pytest.mark.usefixtures("_study")
def test_status_and_best_show_the_front(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert addtree("best", "--json", monkeypatch=monkeypatch) == 0
    front = json.loads(capsys.readouterr().out)
    assert len(front) > 1
    assert all(trial["values"].keys() == {"error", "speed", "memory"} for trial in front)
    assert all(trial["values"]["memory"] <= 1.5 for trial in front)
    errors, speeds = ([trial["values"][name] for trial in front] for name in ("error", "speed"))
    assert errors == sorted(errors)
    assert speeds == sorted(speeds)
    assert addtree("status", monkeypatch=monkeypatch) == 0
    assert f"front of {len(front)}" in capsys.readouterr().out
    assert addtree("best", monkeypatch=monkeypatch) == 0
    text = capsys.readouterr().out
    assert text.count("(trial ") == len(front)
    assert text.splitlines()[0] == f"error   {errors[0]:.10g}  (trial {front[0]['id']})"
    assert addtree("best", "--recommended", monkeypatch=monkeypatch) == 2


@pytest.mark.usefixtures("_study")
def test_export_has_a_column_for_each_value(monkeypatch: pytest.MonkeyPatch) -> None:
    for file in ("out.csv", "out.json"):
        assert addtree("export", "-o", file, monkeypatch=monkeypatch) == 0
    with Path("out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    forms = json.loads(Path("out.json").read_text())
    assert list(rows[0])[:6] == ["id", "state", "error", "speed", "memory", "failure"]
    for row, form in zip(rows, forms, strict=True):
        shown = {name: float(row[name]) for name in ("error", "speed", "memory") if row[name]}
        assert shown == form["values"]
        assert row["failure"] == (form["error"] or "")


@pytest.mark.usefixtures("_study")
def test_report_and_explain(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert addtree("report", "-o", "out.html", monkeypatch=monkeypatch) == 0
    page = Path("out.html").read_text(encoding="utf-8")
    for key in ("front", "attainment", "tradeoffs", "constraints", "table"):
        assert f'<section id="{key}">' in page
    capsys.readouterr()
    assert addtree("explain", monkeypatch=monkeypatch) == 0
    said = capsys.readouterr().out
    assert "memory ≤ 1.5: kept by" in said
    assert "the trade-off within each branch" in said


def test_a_reference_point_goes_from_the_file_to_the_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_task(TWO + "reference_point = {'error': 0.75, 'speed': 0.125}\n")
    assert addtree("run", file, "--trials", "14", "--seed", "0", monkeypatch=monkeypatch) == 0
    assert "not read" not in capsys.readouterr().err
    assert addtree("suggest", "task", monkeypatch=monkeypatch) == 0
    assert addtree("report", "-o", "out.html", monkeypatch=monkeypatch) == 0
    page = Path("out.html").read_text(encoding="utf-8")
    assert "It is measured from the reference point error 0.75, speed 0.125." in page


@pytest.mark.usefixtures("_study")
def test_a_study_continues_only_with_its_goals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert addtree("run", "task.py", "--trials", "15", monkeypatch=monkeypatch) == 0
    write_task(TWO.replace("1.5", "1.6"))
    assert addtree("run", "task.py", "--trials", "16", monkeypatch=monkeypatch) == 4
    assert "has other goals" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--maximize"], ["--noise", "0.1"]])
def test_options_for_one_value_are_refused(
    option: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert addtree("run", write_task(TWO), "--trials", "2", *option, monkeypatch=monkeypatch) == 2
    (line,) = error_lines(capsys.readouterr().err)
    assert option[0] in line


@pytest.mark.usefixtures("_study")
def test_a_study_learns_from_one_with_the_same_objectives(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The names count, not the order in which a file declares the objectives."""
    write_task(TWO.replace('"error": "min", "speed": "max"', '"speed": "max", "error": "min"'))
    history = ("--history", "task")
    assert addtree("run", "task.py", "--study", "new", "--trials", "8", *history, monkeypatch=monkeypatch) == 0
    new, old = (optuna.load_study(storage="sqlite:///addtree.db", study_name=name) for name in ("new", "task"))
    assert new.metric_names == old.metric_names[::-1]
    assert new.trials[0].params in [trial.params for trial in old.trials]
    capsys.readouterr()
    assert addtree("explain", "new", *history, monkeypatch=monkeypatch) == 0
    said = capsys.readouterr().out
    assert "what became of earlier studies about speed" in said
    assert re.search(r"task: \d+ trials, agreement", said)


def test_a_history_is_refused_before_anything_is_stored(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for study, text in (("one", SPACE + "def objective(config): return config['x'] ** 2\n"), ("two", TWO)):
        Path(f"{study}.py").write_text(text)
        assert addtree("run", f"{study}.py", "--trials", "4", "--seed", "0", monkeypatch=monkeypatch) == 0
    known = Path("addtree.db").read_bytes()
    for command, said in (
        (
            ("run", "two.py", "--study", "new", "--history", "one"),
            "--history one is a study with 1 objective, and the new one has 2 ('error', 'speed')",
        ),
        (
            ("run", "one.py", "--study", "new", "--history", "one", "--history", "two"),
            "--history two is a study with 2 objectives ('error', 'speed'), and the new one has 1 ('value')",
        ),
        (("explain", "two", "--history", "one"), "--history one is a study with 1 objective"),
        (("report", "two", "--history", "one"), "--history one is a study with 1 objective"),
        (("explain", "one", "--history", "two"), "--history two is a study with 2 objectives"),
    ):
        capsys.readouterr()
        assert addtree(*command, monkeypatch=monkeypatch) == 2
        (line,) = error_lines(capsys.readouterr().err)
        assert said in line
    assert Path("addtree.db").read_bytes() == known
    assert not Path("report.html").exists()


def test_suggest_and_tell_several_values(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert addtree("suggest", "lab", "--space", write_task(TWO), "-n", "3", monkeypatch=monkeypatch) == 0
    assert addtree("best", "lab", monkeypatch=monkeypatch) == 4
    values = ["error=0.1", "speed=-2", "memory=1"]
    assert addtree("tell", "lab", "0", *values, monkeypatch=monkeypatch) == 0
    assert addtree("tell", "1", "error=0.1", "speed=-2", "memory=7", monkeypatch=monkeypatch) == 0  # the only study
    config = json.dumps({"x": 0.0, "model": "a"})
    assert addtree("tell", "--config", config, *values, monkeypatch=monkeypatch) == 0
    capsys.readouterr()
    assert addtree("best", "--json", monkeypatch=monkeypatch) == 0
    front = json.loads(capsys.readouterr().out)
    assert [trial["values"] for trial in front] == [{"error": 0.1, "speed": -2.0, "memory": 1.0}] * 2  # ties included
    for wrong in (["0.1"], ["error=0.1"], [*values, "error=0.2"], ["error=low", *values[1:]], [*values, "time=1"]):
        assert addtree("tell", "lab", "2", *wrong, monkeypatch=monkeypatch) == 2, wrong
    assert addtree("tell", "lab", "2", "--failed", monkeypatch=monkeypatch) == 0


def test_one_objective_with_a_constraint(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    task = SPACE + (
        "constraints = {'cost': (0.2, None)}\n"
        "def objective(config): return {'value': config['x'] ** 2, 'cost': abs(config['x'])}\n"
    )
    assert addtree("run", write_task(task), "--trials", "12", "--seed", "0", monkeypatch=monkeypatch) == 0
    capsys.readouterr()
    assert addtree("best", "--json", monkeypatch=monkeypatch) == 0
    best = json.loads(capsys.readouterr().out)
    assert best["values"]["cost"] >= 0.2
    assert addtree("best", "--recommended", monkeypatch=monkeypatch) == 0
    assert "cost" in capsys.readouterr().out
    assert addtree("explain", monkeypatch=monkeypatch) == 0
    assert "cost ≥ 0.2: kept by" in capsys.readouterr().out


def test_a_study_without_a_feasible_trial(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    task = write_task(TWO.replace("1.5", "-9"))
    assert addtree("run", task, "--trials", "6", "--seed", "0", monkeypatch=monkeypatch) == 0
    capsys.readouterr()
    assert addtree("best", monkeypatch=monkeypatch) == 4
    assert "keeps the constraints yet" in capsys.readouterr().err
    assert addtree("explain", monkeypatch=monkeypatch) == 0
    assert "no trial keeps the constraints yet; trial " in capsys.readouterr().out
