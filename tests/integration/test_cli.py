"""The command line: what it prints, what it refuses, and that an interrupted run loses nothing."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from addtree import cli
from addtree.study.storage import storage_at
from addtree.study.studies import is_lost

SPACE = """
import addtree as at
space = at.Space(x=at.Real(-1, 1), model=at.Choice(a=at.Space(), b=at.Space(k=at.Integer(1, 1000))))
"""
GOOD = SPACE + "def objective(config): return config['x'] ** 2 + config.get('k', 0) / 1000\n"
SLOW = "import time\n" + SPACE + "def objective(config):\n    time.sleep(0.05)\n    return config['x'] ** 2\n"
BY_RUN = "def objective(trial): return trial.suggest_float('x', -1, 1) ** 2\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def addtree(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the command line in this process; its exit code."""
    monkeypatch.setattr(sys, "argv", ["addtree", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def write(text: str, name: str = "task.py") -> str:
    Path(name).write_text(text)
    return name


def trials(name: str = "task", storage: str = "addtree.db") -> list[optuna.trial.FrozenTrial]:
    with storage_at(storage) as opened:
        return optuna.load_study(study_name=name, storage=opened).trials


def finished(name: str = "task", storage: str = "addtree.db") -> list[optuna.trial.FrozenTrial]:
    return [t for t in trials(name, storage) if t.state.is_finished() and not is_lost(t)]


def test_run_status_best_export(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(GOOD)
    assert addtree("run", file, "--trials", "12", "--seed", "0", monkeypatch=monkeypatch) == 0
    assert "task: 12 trials finished (0 failed)" in capsys.readouterr().out
    assert addtree("run", file, "--trials", "15", monkeypatch=monkeypatch) == 0  # 15 in all, not 15 more
    assert len(finished()) == 15
    assert addtree("status", monkeypatch=monkeypatch) == 0
    assert "15" in capsys.readouterr().out
    assert addtree("best", "--json", monkeypatch=monkeypatch) == 0
    best = json.loads(capsys.readouterr().out)
    assert best["value"] == min(t.value for t in finished() if t.value is not None)
    assert addtree("best", "task", monkeypatch=monkeypatch) == 0
    assert "model" in capsys.readouterr().out
    assert addtree("export", "-o", "out.csv", monkeypatch=monkeypatch) == 0
    with Path("out.csv").open() as file_:
        rows = list(csv.DictReader(file_))
    assert [float(row["value"]) for row in rows] == [t.value for t in finished()]
    assert addtree("export", "--output", "out.json", monkeypatch=monkeypatch) == 0
    assert [row["config"] for row in json.loads(Path("out.json").read_text())] == [t.params for t in finished()]


def test_define_by_run_and_maximize(monkeypatch: pytest.MonkeyPatch) -> None:
    assert addtree("run", write(BY_RUN), "--trials", "6", "--maximize", monkeypatch=monkeypatch) == 0
    assert len(finished()) == 6


def test_a_seed_decides_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for study in ("one", "two"):
        arguments = ["run", write(GOOD), "--trials", "11", "--seed", "7", "--study", study]
        assert addtree(*arguments, monkeypatch=monkeypatch) == 0
    assert [t.params for t in trials("one")] == [t.params for t in trials("two")]


def test_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    assert addtree("run", write(SLOW), "--trials", "1000", "--timeout", "1", monkeypatch=monkeypatch) == 0
    assert 0 < len(finished()) < 100


def test_suggest_and_tell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    space = {"x": {"type": "real", "low": 0, "high": 1}}
    Path("space.json").write_text(json.dumps(space))
    ids = []
    for turn in range(3):
        extra = ["--space", "space.json"] if turn == 0 else []
        assert addtree("suggest", "lab", *extra, monkeypatch=monkeypatch) == 0
        asked = json.loads(capsys.readouterr().out)
        assert 0 <= asked["config"]["x"] <= 1
        ids.append(asked["id"])
    assert addtree("tell", "lab", str(ids[0]), "-0.5", monkeypatch=monkeypatch) == 0
    assert addtree("tell", "lab", str(ids[1]), "--failed", monkeypatch=monkeypatch) == 0
    assert [t.state for t in trials("lab")] == [TrialState.COMPLETE, TrialState.FAIL, TrialState.RUNNING]
    assert trials("lab")[0].value == -0.5
    for wrong in (["0", "1.0"], ["99", "1.0"], ["2", "high"], ["2", "nan"], ["2"], ["2", "1.0", "--failed"]):
        assert addtree("tell", "lab", *wrong, monkeypatch=monkeypatch) == 4
        said = capsys.readouterr().err
        assert said.startswith("addtree: ")
        assert said.count("\n") == 1


BAD_FILES = [
    ("no such file", None, 2, "is not a file"),
    ("no space", "def objective(config): return 1.0\n", 2, "has no `space`"),
    ("no objective", SPACE, 2, "has no function `objective`"),
    ("wrong space", "space = 3\ndef objective(config): return 1.0\n", 2, "make it an addtree.Space"),
    ("broken file", "import nothing_of_that_name\n", 2, "cannot be imported: ModuleNotFoundError"),
    ("raises", SPACE + "def objective(config): raise OSError('disk on fire')\n", 1, "OSError: disk on fire"),
    ("returns None", SPACE + "def objective(config): pass\n", 1, "the objective returned None; return a number"),
    ("returns NaN", SPACE + "def objective(config): return float('nan')\n", 1, "the objective returned nan"),
    ("returns a string", SPACE + "def objective(config): return 'low'\n", 1, "the objective returned 'low'"),
]


@pytest.mark.parametrize(("text", "code", "message"), [case[1:] for case in BAD_FILES], ids=[c[0] for c in BAD_FILES])
def test_bad_files(
    text: str | None, code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = "nowhere.py" if text is None else write(text)
    assert addtree("run", file, "--trials", "20", monkeypatch=monkeypatch) == code
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("addtree: ")]
    assert len(said) == 1
    assert message in said[0]


BAD_STORAGES = [
    ("unreachable", "postgresql://nobody@127.0.0.1:1/none", "refused"),
    ("corrupt", "sqlite:///corrupt.db", "file is not a database"),
    ("no URL", "nosuch://x/y", "is no storage URL"),
    ("folder missing", "sqlite:///no/such/folder/x.db", "unable to open database file"),
    ("not writable", "sqlite:////proc/x.db", "unable to open database file"),
]


@pytest.mark.parametrize("command", ["run", "status", "best"])
@pytest.mark.parametrize(("url", "message"), [case[1:] for case in BAD_STORAGES], ids=[c[0] for c in BAD_STORAGES])
def test_bad_storages(
    command: str, url: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("corrupt.db").write_bytes(b"this is no database" * 100)
    arguments = ["run", write(GOOD)] if command == "run" else [command]
    assert addtree(*arguments, "--storage", url, monkeypatch=monkeypatch) == 3
    said = [line for line in capsys.readouterr().err.splitlines() if line.strip()]
    said = [line for line in said if line.startswith("addtree: ")]
    assert len(said) == 1
    assert message in said[0]
    assert Path("corrupt.db").read_bytes() == b"this is no database" * 100


def test_a_password_is_not_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    url = "postgresql://me:secret@127.0.0.1:1/none"
    assert addtree("status", "--storage", url, monkeypatch=monkeypatch) == 3
    assert "secret" not in capsys.readouterr().err


def test_a_study_of_another_space_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert addtree("run", write(GOOD), "--trials", "5", monkeypatch=monkeypatch) == 0
    before = [t.params for t in trials()]
    write(GOOD.replace("at.Real(-1, 1)", "at.Real(-2, 1)"))
    assert addtree("run", "task.py", "--trials", "9", monkeypatch=monkeypatch) == 4
    said = capsys.readouterr().err
    assert "study 'task' belongs to another space" in said
    assert "-x: real [-1, 1]" in said
    assert "+x: real [-2, 1]" in said
    write(GOOD)
    assert addtree("run", "task.py", "--trials", "9", "--maximize", monkeypatch=monkeypatch) == 4
    assert "leave out --maximize" in capsys.readouterr().err
    assert [t.params for t in trials()] == before
    assert addtree("best", "nothing", monkeypatch=monkeypatch) == 4
    assert "there is no study 'nothing'; the storage has 'task'" in capsys.readouterr().err


def test_a_foreign_study_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    foreign = optuna.create_study(study_name="task", storage="sqlite:///addtree.db")
    foreign.optimize(lambda trial: trial.suggest_float("z", 0, 1), n_trials=2)
    assert addtree("run", write(GOOD), "--trials", "9", monkeypatch=monkeypatch) == 4
    assert "not made by addtree" in capsys.readouterr().err


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "addtree.cli", "run", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))


def wait_for(n: int, seconds: float = 60) -> None:
    """Until n trials are finished."""
    end = time.monotonic() + seconds
    study = None
    while time.monotonic() < end:
        time.sleep(0.1)
        try:
            study = study or optuna.load_study(study_name="task", storage="sqlite:///addtree.db")
        except KeyError:  # not made yet
            continue
        if sum(t.state == TrialState.COMPLETE for t in study.get_trials(deepcopy=False)) >= n:
            return
    raise AssertionError(f"fewer than {n} trials after {seconds} s")


def same(configs: list[dict[str, Any]]) -> int:
    """How many configurations are there twice."""
    return len(configs) - len({json.dumps(config, sort_keys=True) for config in configs})


def test_killed_at_20_of_40_and_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    process = start(write(SLOW), "--trials", "40", "--seed", "0")
    wait_for(20)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    running = [t for t in trials() if t.state == TrialState.RUNNING]
    assert len(finished()) < 40
    assert addtree("run", "task.py", "--trials", "40", monkeypatch=monkeypatch) == 0
    assert len(finished()) == 40
    assert all(t.state == TrialState.COMPLETE for t in finished())
    assert same([t.params for t in finished()]) == 0
    for lost in running:  # what was in hand when it was killed is run again, once
        again = [t for t in finished() if t.system_attrs.get("addtree:retry_of") == lost.number]
        assert len(again) == 1
        assert {**again[0].params, **lost.params} == again[0].params


@pytest.mark.parametrize("workers", [1, 2])
def test_interrupted_ends_cleanly(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    process = start(write(SLOW), "--trials", "500", "--workers", str(workers))
    wait_for(5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted; the same command goes on from here" in errors
    assert "Traceback" not in errors
    assert not [t for t in trials() if t.state == TrialState.RUNNING]
    done = len(finished())
    assert addtree("run", "task.py", "--trials", str(done + 3), monkeypatch=monkeypatch) == 0
    assert len(finished()) == done + 3


def test_two_workers_on_sqlite_one_killed() -> None:
    process = start(write(SLOW), "--trials", "60", "--workers", "2")
    wait_for(20)
    end = time.monotonic() + 20
    pids: set[int] = set()
    while not pids and time.monotonic() < end:
        running = [t for t in trials() if t.state == TrialState.RUNNING]
        pids = {t.system_attrs["addtree:owner"]["pid"] for t in running if "addtree:owner" in t.system_attrs}
    os.kill(pids.pop(), signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert len(finished()) == 60
    assert all(t.state == TrialState.COMPLETE for t in finished())
    assert same([t.params for t in finished()]) == 0
    assert not [t for t in trials() if t.state == TrialState.RUNNING]
    assert sum(map(is_lost, trials())) <= 1


def test_two_runs_of_one_study_at_once_share_the_total() -> None:
    """As two machines on one storage would."""
    file = write(SLOW)
    both = [start(file, "--trials", "24") for _ in range(2)]
    for process in both:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert len(finished()) == 24
    assert same([t.params for t in finished()]) == 0
    assert len({t.system_attrs["addtree:owner"]["pid"] for t in finished()}) == 2
