"""The commands `status`, `best` and `export`."""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest

from addtree import Real, Space
from addtree.study.manual import Result, add_trial
from addtree.study.storage import storage_at
from addtree.study.studies import open_study
from addtree.study.tickets import claim, release
from tests.cli.commands import FAST, LIMITED, SPACE, addtree, error_lines, finished, write_task

FAILS_IN_B = SPACE + "def objective(config): return config['x'] if config['model'] == 'a' else 1 / 0\n"


@pytest.fixture
def _study(finished_run: Callable[[str, int], None], capsys: pytest.CaptureFixture[str]) -> None:
    """Twelve trials of a study called `task`."""
    finished_run(FAST, 12)
    capsys.readouterr()


@pytest.mark.usefixtures("_study")
def test_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert addtree("status", monkeypatch=monkeypatch) == 0
    table = capsys.readouterr().out
    best = min(t.value for t in finished() if t.value is not None)
    (line,) = [line for line in table.splitlines() if "task" in line]
    assert line.replace("│", " ").split() == ["task", "12", "0", "0", "0", f"{best:.6g}"]


@pytest.mark.usefixtures("_study")
@pytest.mark.parametrize("width", ["45", "20", "1"])
def test_a_narrow_terminal_shows_every_letter(
    width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert addtree("status", monkeypatch=monkeypatch) == 0
    cells = [line.split("│")[1:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    best = min(t.value for t in finished() if t.value is not None)
    whole = ["".join(cell.strip() for cell in column) for column in zip(*cells, strict=True)]
    assert whole == ["task", "12", "0", "0", "0", f"{best:.6g}"]


@pytest.mark.usefixtures("_study")
def test_best(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    expected = min(finished(), key=lambda t: t.value or 0.0)
    assert addtree("best", "--json", monkeypatch=monkeypatch) == 0
    best = json.loads(capsys.readouterr().out)
    assert best == {"id": expected.number, "value": expected.value, "config": expected.params}
    assert addtree("best", "task", monkeypatch=monkeypatch) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"value  {expected.value:.10g}  (trial {expected.number})"
    assert [line.split()[0] for line in lines[1:]] == list(expected.params)
    Path("long.py").write_text(FAST.replace("x=", "learning_rate=").replace("'x'", "'learning_rate'"))
    assert addtree("run", "long.py", "--trials", "1", monkeypatch=monkeypatch) == 0
    capsys.readouterr()
    assert addtree("best", "long", monkeypatch=monkeypatch) == 0
    for line in capsys.readouterr().out.splitlines():  # the values are in one column
        assert line[13:15] == "  "
        assert line[15] != " "


@pytest.mark.usefixtures("_study")
def test_export(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert addtree("export", "-o", "out.csv", monkeypatch=monkeypatch) == 0
    with Path("out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value"]) for row in rows] == [t.value for t in finished()]
    assert [row["k"] for row in rows] == [str(t.params.get("k", "")) for t in finished()]
    assert addtree("export", monkeypatch=monkeypatch) == 0
    assert list(csv.DictReader(io.StringIO(capsys.readouterr().out))) == rows
    assert addtree("export", "--output", "out.json", monkeypatch=monkeypatch) == 0
    assert [row["config"] for row in json.loads(Path("out.json").read_text())] == [t.params for t in finished()]


def test_json_has_null_for_the_infinite_values_of_another_study(monkeypatch: pytest.MonkeyPatch) -> None:
    study = optuna.create_study(storage="sqlite:///addtree.db")
    for value in (math.inf, 1.0, -math.inf):
        study.tell(study.ask(), value)
    assert addtree("export", "-o", "out.json", monkeypatch=monkeypatch) == 0
    rows = json.loads(Path("out.json").read_text(), parse_constant=pytest.fail)
    assert [row["value"] for row in rows] == [None, 1.0, None]


@pytest.mark.usefixtures("_study")
def test_export_refuses_other_files(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert addtree("export", "-o", "out.xlsx", monkeypatch=monkeypatch) == 2
    assert "must end in .csv or .json" in capsys.readouterr().err
    assert addtree("export", "-o", "no/such/folder/out.csv", monkeypatch=monkeypatch) == 2
    assert "cannot be written: No such file or directory" in capsys.readouterr().err


@pytest.mark.usefixtures("_study")
@pytest.mark.parametrize("file", ["out.csv", "out.html"])
def test_a_full_disk_leaves_the_old_file_alone(file: str) -> None:
    pytest.importorskip("resource", reason="a limit on the size of files needs POSIX")
    Path(file).write_text("old")
    command = [sys.executable, "-c", LIMITED, "500", "report" if file.endswith("html") else "export", "-o", file]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"addtree: {file} cannot be written: File too large")
    assert Path(file).read_text() == "old"
    assert {path.name for path in Path().iterdir()} - {"__pycache__"} == {"task.py", "addtree.db", file}


def test_failures_are_exported_with_their_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    assert addtree("run", write_task(FAILS_IN_B), "--trials", "10", "--seed", "0", monkeypatch=monkeypatch) == 0
    assert addtree("export", "-o", "out.json", monkeypatch=monkeypatch) == 0
    rows = json.loads(Path("out.json").read_text())
    reasons = {(row["config"]["model"], row["state"], row["error"]) for row in rows}
    where = f"({Path('task.py').resolve()}, line 4, in objective)"
    assert reasons == {("a", "complete", None), ("b", "fail", f"ZeroDivisionError: division by zero {where}")}


def test_columns_of_a_table_have_different_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with storage_at("addtree.db") as storage:
        study = open_study(storage, "s", Space({name: Real(0, 1) for name in ("id", "state", "error", "x")}))
        add_trial(study, {"id": 0.1, "state": 0.2, "error": 0.3, "x": 0.4}, Result(1.0))
    assert addtree("export", monkeypatch=monkeypatch) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head == "id,state,value,error,params_id,params_state,params_error,x"
    assert row == "0,complete,1.0,,0.1,0.2,0.3,0.4"


def test_waiting_trials_are_not_exported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with storage_at("addtree.db") as storage:
        study = open_study(storage, "s", Space(x=Real(0, 1)))
        assert claim(study, 1) is not None
        assert release(study, study.trials[0])
        assert len(study.trials) == 2  # the second waits to replace the first
    assert addtree("export", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out.splitlines() == ["id,state,value,error", "0,lost,,"]


def test_a_study_must_exist_and_have_a_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("space.json").write_text(json.dumps({"x": {"type": "real", "low": 0, "high": 1}}))
    assert addtree("suggest", "lab", "--space", "space.json", monkeypatch=monkeypatch) == 0
    capsys.readouterr()
    assert addtree("best", "lab", monkeypatch=monkeypatch) == 4
    assert error_lines(capsys.readouterr().err) == [
        "addtree: study 'lab' has no value yet; run more trials, or tell the value of a suggested one"
    ]
    assert addtree("best", "other", monkeypatch=monkeypatch) == 4
    assert "there is no study 'other'; the storage has 'lab'" in capsys.readouterr().err
