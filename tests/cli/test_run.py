"""The command `run`: totals, seeds, time limits, and files and studies that are refused."""

from __future__ import annotations

import optuna
import pytest

from tests.cli.commands import DEFINE_BY_RUN, FAST, SLOW, SPACE, addtree, error_lines, finished, trials, write_task


def test_the_number_of_trials_is_a_total(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_task(FAST)
    assert addtree("run", file, "--trials", "12", "--seed", "0", monkeypatch=monkeypatch) == 0
    assert "task: 12 trials finished (0 failed)\nbest " in capsys.readouterr().out
    assert addtree("run", file, "--trials", "15", monkeypatch=monkeypatch) == 0
    assert len(finished()) == 15


def test_define_by_run_and_maximize(monkeypatch: pytest.MonkeyPatch) -> None:
    assert addtree("run", write_task(DEFINE_BY_RUN), "--trials", "6", "--maximize", monkeypatch=monkeypatch) == 0
    assert len(finished()) == 6


def test_a_seed_decides_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for study in ("one", "two"):
        arguments = ["run", write_task(FAST), "--trials", "11", "--seed", "7", "--study", study]
        assert addtree(*arguments, monkeypatch=monkeypatch) == 0
    assert [t.params for t in trials("one")] == [t.params for t in trials("two")]


def test_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    assert addtree("run", write_task(SLOW), "--trials", "1000", "--timeout", "1", monkeypatch=monkeypatch) == 0
    assert 0 < len(finished()) < 100


BAD_FILES = [
    ("no such file", None, 2, "is not a file"),
    ("no space", "def objective(config): return 1.0\n", 2, "has no `space`"),
    ("no objective", SPACE, 2, "has no function `objective`"),
    ("wrong space", "space = 3\ndef objective(config): return 1.0\n", 2, "make it an addtree.Space"),
    ("broken file", "import no_module_of_this_name\n", 2, "cannot be imported: ModuleNotFoundError"),
    ("raises", SPACE + "def objective(config): raise OSError('disk on fire')\n", 1, "OSError: disk on fire"),
    ("returns None", SPACE + "def objective(config): pass\n", 1, "the objective returned None; return a number"),
    ("returns NaN", SPACE + "def objective(config): return float('nan')\n", 1, "the objective returned nan"),
    ("returns a string", SPACE + "def objective(config): return 'low'\n", 1, "the objective returned 'low'"),
]


@pytest.mark.parametrize(("text", "code", "message"), [case[1:] for case in BAD_FILES], ids=[c[0] for c in BAD_FILES])
def test_bad_files(
    text: str | None, code: int, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = "missing.py" if text is None else write_task(text)
    assert addtree("run", file, "--trials", "20", monkeypatch=monkeypatch) == code
    (line,) = error_lines(capsys.readouterr().err)
    assert message in line


def test_a_study_of_another_space_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert addtree("run", write_task(FAST), "--trials", "5", monkeypatch=monkeypatch) == 0
    before = [t.params for t in trials()]
    write_task(FAST.replace("at.Real(-1, 1)", "at.Real(-2, 1)"))
    assert addtree("run", "task.py", "--trials", "9", monkeypatch=monkeypatch) == 4
    error = capsys.readouterr().err
    assert "study 'task' belongs to another space" in error
    assert "-x: real [-1, 1]" in error
    assert "+x: real [-2, 1]" in error
    write_task(FAST)
    assert addtree("run", "task.py", "--trials", "9", "--maximize", monkeypatch=monkeypatch) == 4
    assert "leave out --maximize" in capsys.readouterr().err
    assert [t.params for t in trials()] == before


def test_a_foreign_study_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    foreign = optuna.create_study(study_name="task", storage="sqlite:///addtree.db")
    foreign.optimize(lambda trial: trial.suggest_float("z", 0, 1), n_trials=2)
    assert addtree("run", write_task(FAST), "--trials", "9", monkeypatch=monkeypatch) == 4
    assert "not made by addtree" in capsys.readouterr().err


@pytest.mark.parametrize("workers", ["1", "2"])
def test_initial_configurations_are_run_once(workers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_task(FAST + "initial = [{'x': 0.5, 'model': 'a'}, {'k': 7}, {'x': 0.25, 'model': 'a'}]\n")
    for total in ("4", "6"):
        assert addtree("run", file, "--trials", total, "--workers", workers, monkeypatch=monkeypatch) == 0
    params = [t.params for t in finished()]
    assert [sum(p.get("x") == x and p["model"] == "a" for p in params) for x in (0.5, 0.25)] == [1, 1]
    assert sum(p.get("k") == 7 for p in params) == 1
