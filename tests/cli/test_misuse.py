"""Misuses of the command line, as a table: each gets its exit code and one line that says what is wrong and what to do.

`tests/test_misuse.py` is the same for the library.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.commands import DEFINE_BY_RUN, FAST, SPACE, addtree, error_lines, trials

FILES = {
    "task.py": FAST,
    "by_run.py": DEFINE_BY_RUN,
    "other.py": FAST.replace("at.Real(-1, 1)", "at.Real(-2, 1)"),
    "broken.py": "\nimport no_module_of_this_name\n",
    "unclosed.py": "import addtree as at\nspace = at.Space(\n",
    "swapped.py": "import addtree as at\nspace = at.Space(x=at.Real(1, 0))\n",
    "exits.py": "import sys\nsys.exit(3)\n",
    "no_space.py": "def objective(config): return 1.0\n",
    "no_objective.py": SPACE,
    "two_arguments.py": SPACE + "def objective(config, data): return 1.0\n",
    "wrong_space.py": "space = 3\ndef objective(config): return 1.0\n",
    "wrong_initial.py": FAST + "initial = [{'y': 1}]\n",
    "raises.py": SPACE + "def objective(config):\n    return 1 / 0\n",
    "quits.py": SPACE + "import sys\ndef objective(config):\n    sys.exit('stop\\n[/b]')\n",
    "none.py": SPACE + "def objective(config): pass\n",
    "nan.py": SPACE + "def objective(config): return float('nan')\n",
    "space.json": '{"x": {"type": "real", "low": 0, "high": 1}}',
    "wrong.json": '{"x": {"type": "complex"}}',
    "notes.txt": "this is not a database\n" * 100,
}

# The command, its exit code, what is wrong, and what to do about it.
MISUSES = [
    ("frobnicate", 2, "No such command 'frobnicate'", "see `addtree --help`"),
    ("stauts", 2, "No such command 'stauts'", "Did you mean 'status'?"),
    ("--verson", 2, "No such option: --verson", "--version"),
    ("run", 2, "Missing argument", "see `addtree run --help`"),
    ("run task.py --trial 3", 2, "No such option: --trial", "--trials"),
    ("run task.py --trials 0", 2, "'--trials'", "see `addtree run --help`"),
    ("run task.py --trials many", 2, "'--trials'", "integer"),
    ("run task.py --workers 0", 2, "'--workers'", "see `addtree run --help`"),
    ("run task.py --seed -1", 2, "'--seed'", "see `addtree run --help`"),
    ("run task.py --timeout -1", 2, "'--timeout'", "see `addtree run --help`"),
    ("run task.py --noise -1", 2, "'--noise'", "see `addtree run --help`"),
    ("run by_run.py --pruner best", 2, "--pruner best is unknown", "use one of median"),
    ("run task.py --pruner none", 2, "--pruner none cannot prune objective(config)", "write objective(trial)"),
    ("run missing.py", 2, "missing.py is not a file", "give the path of a Python file"),
    ("run space.json", 2, "space.json is not a Python file", "give one that ends in .py"),
    ("run broken.py", 2, "broken.py cannot be imported: ModuleNotFoundError", "broken.py, line 2"),
    ("run unclosed.py", 2, "unclosed.py cannot be imported: SyntaxError", "unclosed.py, line 2"),
    ("run swapped.py", 2, "low must not exceed high; swap them", "swapped.py, line 2"),
    ("run exits.py", 2, "exits.py calls sys.exit(3)", "line 2, in <module>); move that below `if __name__"),
    ("run no_space.py", 2, "no_space.py has no `space`", "define space = addtree.Space(...)"),
    ("run no_objective.py", 2, "no_objective.py has no function `objective`", "define objective(config)"),
    ("run two_arguments.py", 2, "two_arguments.py: `objective`", "missing a required argument: 'data'"),
    ("run wrong_space.py", 2, "`space` is 3", "make it an addtree.Space"),
    ("run wrong_initial.py", 2, "wrong_initial.py: initial[0]", "'y'"),
    (
        "run raises.py",
        1,
        "all 5 trials failed, the last with: ZeroDivisionError: division by zero",
        "line 5, in objective",
    ),
    ("run quits.py", 1, "the objective called sys.exit('stop\\n[/b]')", "line 6, in objective); raise an exception"),
    ("run none.py", 1, "the objective returned None", "line 4, in objective); return a number"),
    (
        "run nan.py --trials 2",
        1,
        "all 2 trials failed, the last with: the objective returned nan",
        "return a finite number",
    ),
    ("run other.py --study lab", 4, "the study has x: real [-1, 1], the file has x: real [-2, 1]", "another name"),
    ("run by_run.py --study lab", 4, "study 'lab' belongs to another space", "another name"),
    ("run task.py --study ''", 2, "the name '' is empty", "give another"),
    ("suggest '' --space task.py", 2, "the name '' is empty", "give another"),
    ("run task.py --history nobody", 4, "there is no study 'nobody'", "the storage has 'by_run', 'lab'"),
    ("explain lab --history x --history-storage typo.db", 3, "typo.db does not exist", "check --storage"),
    ("run task.py --study lab --maximize", 4, "study 'lab' looks for the smallest value", "leave out --maximize"),
    ("status --storage missing.db", 3, "missing.db does not exist", "check --storage, or create a study"),
    ("status --storage missing.journal", 3, "missing.journal does not exist", "check --storage"),
    ("status --storage nosuch://x/y", 3, "'nosuch://x/y' is not a storage URL", "use sqlite:///FILE.db"),
    ("status --storage grpc://", 3, "'grpc://' is not the URL of a gRPC proxy", "use grpc://HOST:PORT"),
    ("status --storage postgresql://me@127.0.0.1:1/none", 3, "refused", "check that its server runs there"),
    ("status --storage notes.txt", 3, "file is not a database", "give the path of another file"),
    ("run task.py --storage no/folder/x.db", 3, "unable to open database file", "check that its folder exists"),
    ("status nobody", 4, "there is no study 'nobody'", "the storage has 'by_run', 'lab'"),
    ("best", 4, "name a study", "the storage has 'by_run', 'lab'"),
    ("best by_run", 4, "study 'by_run' has no value yet", "run more trials"),
    ("explain nobody", 4, "there is no study 'nobody'", "the storage has"),
    ("explain lab --noise -1", 2, "'--noise'", "see `addtree explain --help`"),
    ("export lab -o t.parquet", 2, "--output t.parquet", "must end in .csv or .json"),
    ("export lab -o no/folder/t.csv", 2, "no/folder/t.csv cannot be written: No such file", "give another path"),
    ("report lab -o no/folder/r.html", 2, "no/folder/r.html cannot be written: No such file", "give another path"),
    ("suggest", 2, "Missing argument", "see `addtree suggest --help`"),
    ("suggest new", 4, "there is no study 'new'", "create it with --space FILE"),
    ("suggest lab --seed 0", 2, "--seed 0 is for a new study", "give --space FILE as well"),
    ("suggest lab --maximize", 2, "--maximize is for a new study", "give --space FILE as well"),
    ("suggest lab -n 0", 2, "'-n'", "see `addtree suggest --help`"),
    ("suggest by_run", 4, "study 'by_run' has no declared space", "create one with --space FILE"),
    ("suggest new --space missing.json", 2, "missing.json is not a file", "give a Python file"),
    ("suggest new --space wrong.json", 2, "wrong.json does not describe a space", "'complex'"),
    ("suggest lab --space space.json", 4, "study 'lab' belongs to another space", "another name"),
    ("tell", 2, "TRIAL VALUE is missing", "give [STUDY] TRIAL VALUE"),
    ("tell lab 0 abc", 2, "value 'abc' is not a finite number", "give a number, or --failed"),
    ("tell lab 0 nan", 2, "value 'nan' is not a finite number", "give a number, or --failed"),
    ("tell lab 0 --fialed", 2, "value '--fialed' is not a finite number", "or --failed"),
    ("tell lab 0", 2, "trial 'lab' is not an id", "the id that `addtree suggest` printed"),
    ("tell lab 0 1.0 --failed", 2, "'1.0' is too much", "give [STUDY] TRIAL"),
    ("tell lab first 1.0", 2, "trial 'first' is not an id", "the id that `addtree suggest` printed"),
    ("tell 0 1.0", 4, "name a study", "the storage has 'by_run', 'lab'"),
    ("tell lab 99 1.0", 4, "trial 99 of study 'lab' is unknown", "see `addtree status`"),
    ("tell lab 1 1.0", 4, "trial 1 of study 'lab' already has the value 0.5", "see `addtree status`"),
    ("tell lab 2 1.0", 4, "trial 2 of study 'lab' was forgotten", "see `addtree status`"),
    ("tell lab 0 1.0 --std -1", 2, "std=-1.0", "zero or more"),
    ("tell lab 1.0 --config '{x: 1}'", 2, "--config '{x: 1}' is not JSON", """an object such as '{"x": 0.5}'"""),
    ("tell lab 1.0 --config '[1]'", 2, "--config '[1]' is not a configuration", """an object such as '{"x": 0.5}'"""),
    ("tell lab 1.0 --config '{\"x\": 0.5}'", 2, "parameter 'model' is missing", "add one of 'a', 'b'"),
    ("tell lab 1.0 --config '{\"y\": 0.5}'", 2, "'y'", "'x'"),
    ('tell lab 1.0 --config \'{"x": 7, "model": "a"}\'', 2, "'x': 7", "use a value inside"),
    ("tell by_run 1.0 --config '{\"x\": 0.5}'", 4, "study 'by_run' has no declared space", "study.add_trial"),
    ("forget", 2, "Missing argument '[STUDY] TRIAL'", "see `addtree forget --help`"),
    ("forget lab", 2, "trial 'lab' is not an id", "the id that `addtree suggest` printed"),
    ("forget lab 99", 4, "trial 99 of study 'lab' is unknown", "see `addtree status`"),
    ("forget lab 1", 4, "trial 1 of study 'lab' already has the value 0.5", "see `addtree status`"),
    ("forget lab 2", 4, "trial 2 of study 'lab' was forgotten", "see `addtree status`"),
    ("paper nothing", 2, "experiment 'nothing' is unknown", "synthetic"),
    ("proxy --storage s.journal", 3, "s.journal is not a database", "such as PostgreSQL"),
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files and two studies.

    Trial 0 of `lab` waits for a value, trial 1 has one, and trial 2 was forgotten. The study `by_run` has no declared
    space, and its only trial has failed.
    """
    folder = tmp_path_factory.mktemp("misuse")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, text in FILES.items():
            Path(name).write_text(text)
        Path("by_run.py").write_text("def objective(trial): return 'none'\n")
        assert addtree("run", "by_run.py", "--trials", "1", monkeypatch=patch) == 1
        Path("by_run.py").write_text(DEFINE_BY_RUN)
        assert addtree("suggest", "lab", "--space", "task.py", "--seed", "0", "-n", "3", monkeypatch=patch) == 0
        assert addtree("tell", "lab", "1", "0.5", monkeypatch=patch) == 0
        assert addtree("forget", "lab", "2", monkeypatch=patch) == 0
    return folder


@pytest.mark.parametrize(("command", "code", "wrong", "remedy"), MISUSES, ids=[case[0] for case in MISUSES])
def test_a_misuse_gets_one_line_that_says_what_is_wrong_and_what_to_do(
    command: str,
    code: int,
    wrong: str,
    remedy: str,
    prepared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    assert addtree(*shlex.split(command), monkeypatch=monkeypatch) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = error_lines(shown.err)
    assert wrong in line
    assert remedy in line
    others = [other for other in shown.err.splitlines() if other.strip() and other != line]
    assert all(" failed " in other and "%" in other for other in others), others  # the progress bar
    if not command.startswith("run"):
        created = {path.name for path in Path().iterdir()} - {"__pycache__", *FILES, "addtree.db", "s.journal"}
        assert created == set()
    assert [t.state.name for t in trials("lab")] == ["RUNNING", "COMPLETE", "FAIL"]
