"""The command `run`: totals, seeds, time limits, and files and studies that are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from addtree.study.storage import storage_at
from addtree.study.studies import load_study
from tests.cli.commands import (
    DEFINE_BY_RUN,
    FAST,
    LIMITED,
    SLOW,
    SPACE,
    addtree,
    error_lines,
    finished,
    trials,
    write_task,
)


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


def test_timeout(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert addtree("run", write_task(SLOW), "--trials", "1000", "--timeout", "3", monkeypatch=monkeypatch) == 0
    assert 0 < len(finished()) < 100
    said = "the timeout of 3 s was reached before 1000 trials; the same command continues"
    assert said in capsys.readouterr().out


def test_no_trial_starts_after_a_timeout_that_has_passed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", write_task(FAST), "--trials", "1", "--timeout"]
    assert addtree(*arguments, "0.001", monkeypatch=monkeypatch) == 0
    said = capsys.readouterr().out
    assert said.startswith("task: 0 trials finished")
    assert "0.001 s was reached before 1 trial;" in said
    assert addtree(*arguments, "600", monkeypatch=monkeypatch) == 0
    said = capsys.readouterr().out
    assert said.startswith("task: 1 trial finished")
    assert "timeout" not in said


def test_the_only_trial_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_task(SPACE + "def objective(config): return 1 / 0\n")
    assert addtree("run", file, "--trials", "1", monkeypatch=monkeypatch) == 1
    assert "task: the only trial failed with: ZeroDivisionError" in capsys.readouterr().err


def test_a_file_may_maximize_and_look_for_improvement_per_second(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", write_task(FAST + "maximize = True\ncost_aware = True\n"), "--trials"]
    assert addtree(*arguments, "4", monkeypatch=monkeypatch) == 0
    assert addtree(*arguments, "5", "--maximize", monkeypatch=monkeypatch) == 0
    with storage_at("addtree.db") as storage:
        study = load_study(storage, "task")
        assert study.direction == optuna.study.StudyDirection.MAXIMIZE
        assert study.sampler._settings.cost_aware  # type: ignore[attr-defined]
    write_task(FAST)
    assert addtree(*arguments, "6", monkeypatch=monkeypatch) == 4
    assert "looks for the largest value; add --maximize or `maximize = True`" in capsys.readouterr().err
    assert addtree(*arguments, "6", "--maximize", monkeypatch=monkeypatch) == 0
    with storage_at("addtree.db") as storage:
        study = load_study(storage, "task")
        assert not study.sampler._settings.cost_aware  # type: ignore[attr-defined]


def test_a_file_is_told_which_of_its_options_are_not_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = write_task(FAST + "seed = 0\nhistory = []\ncallback = print\nimport math as timeout\n")
    arguments = ["run", file, "--trials", "1"]
    assert addtree(*arguments, monkeypatch=monkeypatch) == 0
    (line,) = caplog.messages
    assert line == (
        "task.py: not read from this file: `seed` (give --seed S), `history` (give --history STUDY to `addtree run`), "
        "`callback` (only addtree.minimize has this option); rename what is not meant as an option"
    )
    caplog.clear()
    assert addtree(*arguments, "--seed", "0", monkeypatch=monkeypatch) == 0
    assert "`seed`" not in caplog.text
    assert "`history`" in caplog.text
    caplog.clear()
    assert addtree("suggest", "lab", "--space", file, monkeypatch=monkeypatch) == 0
    (line,) = caplog.messages
    assert "`seed`" in line
    assert "`callback`" not in line


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("run task.py --history wrong", 3),
        ("run task.py --history wrong --history-storage other.db", 3),
        ("run task.py --study=", 2),
        ("run task.py --noise inf", 2),
        ("suggest lab --space task.py --noise inf", 2),
        ("suggest x\ny --space named.py --maximize", 2),
    ],
)
@pytest.mark.parametrize("storage", ["new.db", "new.journal"])
def test_a_refused_command_creates_no_storage(
    command: str, code: int, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_task(FAST)
    Path("named.py").write_text(FAST + "objectives = {'f': 'max'}\n")
    assert addtree(*command.split(" "), "--storage", storage, monkeypatch=monkeypatch) == code
    assert sorted(path.name for path in Path().iterdir() if path.is_file()) == ["named.py", "task.py"]


BAD_FILES = [
    ("no such file", None, 2, "is not a file"),
    ("no space", "def objective(config): return 1.0\n", 2, "has no `space`"),
    ("no trial", "def objective(t): return t.suggest_float('x', 0, 1)\n", 2, "an argument of the name `trial`"),
    ("no objective", SPACE, 2, "has no function `objective`"),
    ("wrong space", "space = 3\ndef objective(config): return 1.0\n", 2, "make it an addtree.Space"),
    ("broken file", "import no_module_of_this_name\n", 2, "cannot be imported: ModuleNotFoundError"),
    ("raises", SPACE + "def objective(config): raise OSError('disk on fire')\n", 1, "OSError: disk on fire"),
    ("returns None", SPACE + "def objective(config): pass\n", 1, "in objective); return a number"),
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
    assert "study 'task' belongs to another space: the study has x: real [-1, 1], the file has x: real [-2, 1]" in error
    write_task(FAST)
    assert addtree("run", "task.py", "--trials", "9", "--maximize", monkeypatch=monkeypatch) == 4
    assert "leave out --maximize" in capsys.readouterr().err
    assert [t.params for t in trials()] == before


def test_a_foreign_study_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    foreign = optuna.create_study(study_name="task", storage="sqlite:///addtree.db")
    foreign.optimize(lambda trial: trial.suggest_float("z", 0, 1), n_trials=2)
    assert addtree("run", write_task(FAST), "--trials", "9", monkeypatch=monkeypatch) == 4
    assert "not made by addtree" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option",
    [
        ["--seed", "-1"],
        ["--noise", "-1"],
        ["--noise", "nan"],
        ["--seed", "0.5"],
        ["--timeout", "-1"],
        ["--timeout", "nan"],
        ["--workers", "0"],
        ["--study", "\0"],
    ],
)
def test_a_bad_option_stores_nothing(
    option: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_task(FAST)
    assert addtree("run", file, "--trials", "3", *option, monkeypatch=monkeypatch) == 2
    assert len(error_lines(capsys.readouterr().err)) == 1
    with storage_at("addtree.db") as storage:
        assert optuna.get_all_study_names(storage) == []
    assert addtree("run", file, "--trials", "3", monkeypatch=monkeypatch) == 0
    assert len(finished()) == 3


def test_a_bad_stored_seed_is_repaired_by_a_good_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Earlier versions stored the seed before they noticed that it was bad."""
    file = write_task(FAST)
    assert addtree("run", file, "--trials", "2", monkeypatch=monkeypatch) == 0
    with storage_at("addtree.db") as storage:
        optuna.load_study(study_name="task", storage=storage).set_user_attr("addtree:seed", -1)
    capsys.readouterr()
    for arguments in (["run", file, "--trials", "3"], ["suggest", "task"]):
        assert addtree(*arguments, monkeypatch=monkeypatch) == 4
        assert "study 'task' has the stored seed -1" in capsys.readouterr().err
    for command in ("status", "best", "export", "explain"):
        assert addtree(command, "task", monkeypatch=monkeypatch) == 0
    assert len(trials()) == 2  # no running trial is left behind
    assert addtree("run", file, "--trials", "3", "--seed", "0", monkeypatch=monkeypatch) == 0
    assert addtree("run", file, "--trials", "4", monkeypatch=monkeypatch) == 0
    assert addtree("suggest", "task", monkeypatch=monkeypatch) == 0


@pytest.mark.parametrize(("storage", "limit"), [("s.journal", 9_000), ("s.db", 120_000)])
def test_a_full_disk_loses_nothing(storage: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resource", reason="a limit on the size of files needs POSIX")
    write_task(FAST)
    command = [sys.executable, "-c", LIMITED, str(limit), "run", "task.py", "--storage", storage]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 3, result.stderr
    (line,) = error_lines(result.stderr)
    assert f"storage {storage}: " in line
    assert "Traceback" not in result.stderr
    with storage_at(storage) as opened:
        before = [t.params for t in optuna.load_study(study_name="task", storage=opened).trials if t.values]
    assert before
    total = str(len(before) + 3)
    assert addtree("run", "task.py", "--storage", storage, "--trials", total, monkeypatch=monkeypatch) == 0
    with storage_at(storage) as opened:
        after = [t.params for t in optuna.load_study(study_name="task", storage=opened).trials if t.values]
    assert after[: len(before)] == before
    assert len(after) == len(before) + 3


def test_labels_are_shown_literally(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Rich would read the label as markup, and UTF-8 has no lone surrogates."""
    file = write_task(
        "import addtree as at\n"
        "space = at.Space(x=at.Real(0, 1), model=at.Choice({'[/b]\\ud800': at.Space(), 'b': at.Space()}))\n"
        "def objective(config):\n"
        "    if config['model'] == 'b': raise ValueError('[/b] \\udcff')\n"
        "    return config['x']\n"
    )
    arguments = ["run", file, "--trials", "8", "--seed", "0", "--study", "[/study]"]
    assert addtree(*arguments, monkeypatch=monkeypatch) == 0
    shown = capsys.readouterr()
    assert "the last failure: ValueError: [/b] \\udcff (" in shown.out
    assert "task.py, line 4, in objective)" in shown.out
    assert "[/b]\\ud800" in shown.err
    for arguments in (
        ["status"],
        ["best"],
        ["explain"],
        ["export"],
        ["export", "-o", "t.csv"],
        ["report", "-o", "r.html"],
    ):
        assert addtree(*arguments, monkeypatch=monkeypatch) == 0
        capsys.readouterr()
    assert "[/b]\\ud800" in Path("t.csv").read_text(encoding="utf-8")
    assert "[/b]\\ud800" in Path("r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["x\ud800", "x\0"])
def test_names_that_no_storage_can_hold_are_refused(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_task(f"import addtree as at\nspace = at.Space({{{name!r}: at.Real(0, 1)}})\nobjective = len\n")
    assert addtree("run", file, monkeypatch=monkeypatch) == 2
    (line,) = error_lines(capsys.readouterr().err)
    assert "rename it" in line
    with storage_at("addtree.db") as storage:
        assert optuna.get_all_study_names(storage) == []


@pytest.mark.parametrize(("workers", "totals"), [("1", ("4", "6")), ("2", ("6",))])
def test_initial_configurations_are_run_once(
    workers: str, totals: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_task(FAST + "initial = [{'x': 0.5, 'model': 'a'}, {'k': 7}, {'x': 0.25, 'model': 'a'}]\n")
    for total in totals:
        assert addtree("run", file, "--trials", total, "--workers", workers, monkeypatch=monkeypatch) == 0
    params = [t.params for t in finished()]
    assert [sum(p.get("x") == x and p["model"] == "a" for p in params) for x in (0.5, 0.25)] == [1, 1]
    assert sum(p.get("k") == 7 for p in params) == 1


QUITS = """
import sys
import addtree as at
space = at.Space(x=at.Real(0, 1), m=at.Categorical(["[/INST]", "[red]"]))
def objective(config):
    if config["m"] == "[red]":
        sys.exit("[/b]")
    return config["x"]
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_objective_that_exits_fails_its_trial(
    workers: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_task(QUITS)
    arguments = ["run", file, "--trials", "8", "--seed", "0", "--workers", workers]
    assert addtree(*arguments, monkeypatch=monkeypatch) == 0
    where = f"({Path(file).resolve()}, line 7, in objective)"
    message = f"the objective called sys.exit('[/b]') {where}; raise an exception instead"
    assert f"the last failure: {message}" in capsys.readouterr().out
    assert len(finished()) == 8
    failed = {t.params["m"]: t.user_attrs.get("addtree:error") for t in finished()}
    assert failed == {"[red]": message, "[/INST]": None}


PRUNABLE = """
import optuna
def objective(trial):
    x = trial.suggest_float("x", 0, 1)
    for step in range(4):
        trial.report(x, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return x
"""


def test_the_pruner_is_chosen_and_kept(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pruned = {}
    run = ["run", write_task(PRUNABLE), "--storage", "s.journal", "--seed", "0"]
    for name in ("none", "median", "hyperband", "successive-halving"):
        arguments = [*run, "--study", name, "--trials"]
        assert addtree(*arguments, "10", "--pruner", name, monkeypatch=monkeypatch) == 0
        assert addtree(*arguments, "20", monkeypatch=monkeypatch) == 0
        pruned[name] = [t.number for t in finished(name, "s.journal") if t.state == TrialState.PRUNED]
    assert pruned["none"] == []
    assert all(max(numbers) >= 10 for name, numbers in pruned.items() if name != "none")  # in the second run as well
    assert len({tuple(numbers) for numbers in pruned.values()}) == 4
    assert addtree(*run, "--study", "default", "--trials", "20", monkeypatch=monkeypatch) == 0
    assert [t.number for t in finished("default", "s.journal") if t.state == TrialState.PRUNED] == pruned["median"]
    with storage_at("s.journal") as storage:
        optuna.load_study(study_name="none", storage=storage).set_user_attr("addtree:pruner", "best")
    assert addtree(*run, "--study", "none", "--trials", "21", monkeypatch=monkeypatch) == 4
    assert "has the stored pruner 'best', which is unknown; choose one with --pruner" in capsys.readouterr().err


NOISY = """
import random
import addtree as at
space = at.Space(arm=at.Categorical([0, 1, 2, 3]))
rng = random.Random(0)
def objective(config): return 0.5 * config["arm"] + rng.gauss(0, 0.3)
"""


@pytest.mark.parametrize(("text", "option"), [(NOISY, ["--noise", "0.3"]), (NOISY + "noise = 0.3\n", [])])
def test_declared_noise_is_kept_and_repeats_the_best(
    text: str, option: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_task(text)
    assert addtree("run", file, "--trials", "10", "--seed", "0", *option, monkeypatch=monkeypatch) == 0
    assert addtree("run", file, "--trials", "18", monkeypatch=monkeypatch) == 0
    arms = [trial.params["arm"] for trial in finished()]
    assert max(range(4), key=arms.count) == 0
    with storage_at("addtree.db") as storage:
        assert optuna.load_study(study_name="task", storage=storage).user_attrs["addtree:noise"] == 0.3
    capsys.readouterr()
    assert addtree("best", "--recommended", "--json", monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["config"] == {"arm": 0}


def test_the_option_overrides_the_noise_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_task(NOISY + "noise = 0.3\n")
    assert addtree("run", file, "--trials", "4", "--noise", "0", monkeypatch=monkeypatch) == 0
    assert sorted(trial.params["arm"] for trial in finished()) == [0, 1, 2, 3]


def test_a_run_learns_from_earlier_studies(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file, elsewhere = write_task(FAST), str(tmp_path / "old.db")
    for study, storage in (("old", None), ("older", elsewhere)):
        where = [] if storage is None else ["--storage", storage]
        assert (
            addtree("run", file, "--trials", "10", "--seed", "1", "--study", study, *where, monkeypatch=monkeypatch)
            == 0
        )
    earlier = [t.params for t in trials("old")]
    command = ["run", file, "--trials", "3", "--seed", "0", "--history", "old"]
    assert addtree(*command, "--study", "new", "--workers", "2", monkeypatch=monkeypatch) == 0
    repeated = [t for t in trials("new") if any(t.params == pytest.approx(params, abs=1e-12) for params in earlier)]
    assert len(repeated) >= 2  # the portfolio comes first: the best configuration, and that of the other option
    both = [*command, "--history", "older", "--history-storage", "sqlite:///addtree.db", "--history-storage", elsewhere]
    assert addtree(*both, "--study", "newer", monkeypatch=monkeypatch) == 0
    capsys.readouterr()
    assert addtree(*command, "--history", "nowhere", "--study", "a", monkeypatch=monkeypatch) != 0
    assert "there is no study 'nowhere'" in capsys.readouterr().err
    assert addtree(*both, "--history", "old", "--study", "b", monkeypatch=monkeypatch) != 0
    assert "2 times --history-storage for 3 --history; give one, or one for each" in capsys.readouterr().err
    assert addtree("run", file, "--history-storage", elsewhere, monkeypatch=monkeypatch) != 0
    assert "add --history STUDY" in capsys.readouterr().err
    assert addtree(*command, "--study", "old", monkeypatch=monkeypatch) == 2
    assert "--history old is the study itself" in capsys.readouterr().err
