"""The application: its commands, and that every error is one line and an exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from optuna.trial import TrialState

from addtree import __version__
from tests.cli.commands import FAST, NEED_A_STUDY, READ_ONLY, addtree, error_lines, finished, trials, write_task

COMMANDS = ["run", "status", "best", "export", "suggest", "tell", "forget", "report", "explain", "proxy", "paper"]


def test_help_lists_every_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert addtree("--help", monkeypatch=monkeypatch) == 0
    text = capsys.readouterr().out
    assert [name for name in COMMANDS if f" {name} " not in text] == []


def test_the_package_runs_as_a_module() -> None:
    result = subprocess.run([sys.executable, "-m", "addtree", "--version"], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"addtree {__version__}\n", "")


@pytest.mark.parametrize("package", ["typer", "optuna", "rich", "sqlalchemy"])
def test_without_the_packages_of_the_extra_one_line_names_it(package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from addtree.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code, "status"], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"addtree: {package}")
    assert line.endswith(
        "is not installed; install the packages of the command line: pip install --upgrade 'addtree[cli]'"
    )


@pytest.mark.parametrize("storage", ["missing.db", "sqlite:///missing.db", "missing.journal", "empty.db", "foreign.db"])
@pytest.mark.parametrize("command", NEED_A_STUDY)
def test_commands_that_need_a_study_never_create_a_database(
    command: str, storage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty.db").touch()
    with contextlib.closing(sqlite3.connect("foreign.db")) as database:
        database.execute("CREATE TABLE notes (text TEXT)")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert addtree(*command.split(), "--storage", storage, monkeypatch=monkeypatch) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert ("does not exist" if "missing" in storage else "has no studies") in line
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.parametrize("storage", ["s.db", "s.journal"])
def test_commands_that_only_read_write_nothing(
    storage: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The storage may be somebody else's, who is writing to it at this moment."""
    arguments = ["--storage", storage, "--trials", "6", "--seed", "0"]
    assert addtree("run", write_task(FAST), *arguments, monkeypatch=monkeypatch) == 0
    before = Path(storage).read_bytes()
    Path(storage).chmod(0o444)
    with contextlib.closing(sqlite3.connect("s.db" if storage == "s.db" else ":memory:")) as other:
        other.execute("BEGIN IMMEDIATE")  # another process is writing; whoever only reads does not wait for it
        for command in READ_ONLY:
            assert addtree(*command.split(), "--storage", storage, monkeypatch=monkeypatch) == 0
    assert Path(storage).read_bytes() == before
    assert {path.name for path in Path().iterdir()} - {"__pycache__"} == {"task.py", "report.html", storage}


BAD_STORAGES = [
    ("unreachable", "postgresql://nobody@127.0.0.1:1/none", "refused"),
    ("corrupt", "sqlite:///corrupt.db", "file is not a database"),
    ("not a URL", "nosuch://x/y", "is not a storage URL"),
    ("bad port", "postgresql://nobody@127.0.0.1:port/none", "is not a storage URL"),
    ("port out of range", "postgresql://nobody@127.0.0.1:99999/none", "invalid port number"),
    ("folder missing", "sqlite:///no/such/folder/x.db", "unable to open database file; check that its folder exists"),
    ("not writable", "sqlite:////proc/x.db", "unable to open database file; check that its folder exists"),
]


@pytest.mark.parametrize("command", ["run", "status", "best"])
@pytest.mark.parametrize(("url", "message"), [case[1:] for case in BAD_STORAGES], ids=[c[0] for c in BAD_STORAGES])
def test_bad_storages(
    command: str, url: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("corrupt.db").write_bytes(b"this is not a database" * 100)
    arguments = ["run", write_task(FAST)] if command == "run" else [command]
    assert addtree(*arguments, "--storage", url, monkeypatch=monkeypatch) == 3
    (line,) = error_lines(capsys.readouterr().err)
    assert (message in line) or (command != "run" and "does not exist" in line)
    assert Path("corrupt.db").read_bytes() == b"this is not a database" * 100


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", "--storage", "postgresql://me:s3cret@127.0.0.1:1/none"],
        ["status", "postgresql://me:s3cret@127.0.0.1:1/none"],  # the option was forgotten
        ["status", "lab", "postgresql://me:s3cret@127.0.0.1:1/none"],
        ["status", "--storag=postgresql://me:s3cret@127.0.0.1:1/none"],
        ["postgresql://me:s3cret@127.0.0.1:1/none"],
    ],
)
def test_a_password_is_not_shown(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert addtree(*arguments, monkeypatch=monkeypatch) in (2, 3, 4)
    shown = capsys.readouterr()
    assert len(error_lines(shown.err)) == 1
    assert "s3cret" not in shown.err + shown.out


# ---------------------------------------------------------------------- damaged data

DAMAGE = [
    "UPDATE trial_params SET distribution_json = 'garbage'",
    "UPDATE trial_params SET distribution_json = '{}'",
    "UPDATE trial_params SET param_value = 'many'",
    "UPDATE trials SET state = 'nonsense'",
    "UPDATE trials SET number = NULL",
    "UPDATE trials SET datetime_start = 'yesterday'",
    "UPDATE trial_values SET value_type = 'nonsense'",
    "UPDATE trial_values SET value = 'much'",
    "UPDATE studies SET study_name = x'ff'",
    "UPDATE study_directions SET direction = 'sideways'",
    "UPDATE study_user_attributes SET value_json = '{'",
    "UPDATE study_user_attributes SET value_json = '[1]'",
    "UPDATE trial_system_attributes SET value_json = 'nonsense'",
    "UPDATE trial_system_attributes SET value_json = '3'",
    "UPDATE version_info SET schema_version = 99",
    "UPDATE alembic_version SET version_num = 'v99'",
    "DELETE FROM study_directions",
    "DELETE FROM studies",
    "DROP TABLE trials",
]


@pytest.mark.parametrize("statement", DAMAGE)
def test_a_damaged_database_is_one_line(
    statement: str,
    finished_run: Callable[[str, int], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    finished_run(FAST, 5)
    with contextlib.closing(sqlite3.connect("addtree.db")) as database:
        database.execute(statement)
        database.commit()
    capsys.readouterr()
    for arguments in (["status"], ["best", "task"], ["export"], ["suggest", "task"], ["explain", "task"]):
        code = addtree(*arguments, monkeypatch=monkeypatch)
        errors = capsys.readouterr().err
        assert code in (0, 3, 4), errors
        assert len(error_lines(errors)) == (code != 0), errors


def test_a_suggestion_does_not_wait_for_a_table_that_is_missing(
    finished_run: Callable[[str, int], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Optuna tries five times to add a trial, and waits up to two seconds before each."""
    finished_run(FAST, 3)
    with contextlib.closing(sqlite3.connect("addtree.db")) as database:
        database.execute("DROP TABLE trials")
        database.commit()
    failures: list[sqlalchemy.engine.ExceptionContext] = []
    record = failures.append
    sqlalchemy.event.listen(sqlalchemy.Engine, "handle_error", record)
    try:
        assert addtree("suggest", "task", monkeypatch=monkeypatch) == 3
    finally:
        sqlalchemy.event.remove(sqlalchemy.Engine, "handle_error", record)
    assert "no such table: trials" in capsys.readouterr().err
    assert len(failures) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE trial_params SET distribution_json = 'garbage' WHERE trial_id = 3",
        "UPDATE trial_params SET param_value = 'many' WHERE trial_id = 3",
        "UPDATE trial_values SET value = 'much' WHERE trial_id = 3",
        "DELETE FROM trial_values WHERE trial_id = 3",
        "UPDATE trial_system_attributes SET value_json = '{' WHERE trial_id = 3",
    ],
)
def test_a_damaged_trial_costs_only_itself(
    statement: str,
    finished_run: Callable[[str, int], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    finished_run(FAST, 5)
    before = trials()
    with contextlib.closing(sqlite3.connect("addtree.db")) as database:
        database.execute(statement)
        database.commit()
    capsys.readouterr()
    assert addtree("export", monkeypatch=monkeypatch) == 0
    assert "trial 2 is damaged and left out" in caplog.text
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split(",")[1] for line in lines] == ["complete"] * 2 + ["lost"] + ["complete"] * 2
    for arguments in (["status"], ["best"], ["explain"], ["run", "task.py", "--trials", "6"]):
        assert addtree(*arguments, monkeypatch=monkeypatch) == 0
    after = trials()
    assert [t.params for t in after if t.number in (0, 1, 3, 4)] == [before[i].params for i in (0, 1, 3, 4)]
    assert len(finished()) == 6


def test_the_trials_of_a_study_with_a_damaged_space_can_be_exported(
    finished_run: Callable[[str, int], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    finished_run(FAST, 5)
    with contextlib.closing(sqlite3.connect("addtree.db")) as database:
        database.execute("""UPDATE study_user_attributes SET value_json = '"{}]"' WHERE key = 'addtree:space'""")
        database.commit()
    capsys.readouterr()
    assert addtree("export", monkeypatch=monkeypatch) == 0
    assert len(capsys.readouterr().out.splitlines()) == 6
    assert addtree("run", "task.py", monkeypatch=monkeypatch) == 4
    assert "the stored space of study 'task' is damaged" in capsys.readouterr().err


# ---------------------------------------------------------------------- output, interrupts, unexpected errors


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "addtree", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which Linux has")
def test_a_full_output_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Path("space.json").write_text('{"x": {"type": "real", "low": 0, "high": 1}}')
    assert addtree("suggest", "lab", "--space", "space.json", monkeypatch=monkeypatch) == 0
    for arguments in (["status"], ["export", "lab"], ["suggest", "lab", "-n", "2"], ["--help"]):
        with open("/dev/full", "w") as full:
            process = start(*arguments, stdout=full)
            _, errors = process.communicate(timeout=60)
        assert process.returncode == 2
        assert errors == "addtree: the output cannot be written: No space left on device\n"
    running = [t.number for t in trials("lab") if t.state == TrialState.RUNNING]
    assert running == [0]  # a suggestion that nobody saw is withdrawn
    assert addtree("export", "lab", "-o", "/dev/full", monkeypatch=monkeypatch) == 2  # neither .csv nor .json
    assert addtree("report", "lab", "-o", "/dev/full", monkeypatch=monkeypatch) == 2
    assert "/dev/full cannot be written: No space left on device" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="closes a file descriptor before the command starts")
@pytest.mark.parametrize("command", ["suggest lab", "--help"])
def test_an_output_that_was_closed_is_one_line(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("space.json").write_text('{"x": {"type": "real", "low": 0, "high": 1}}')
    assert addtree("suggest", "lab", "--space", "space.json", monkeypatch=monkeypatch) == 0
    process = start(*command.split(), preexec_fn=lambda: os.close(1))
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (2, "addtree: the output cannot be written: Bad file descriptor\n")
    assert [t.number for t in trials("lab") if t.state == TrialState.RUNNING] == [0]


@pytest.mark.parametrize("command", ["export", "--help"])
def test_a_closed_pipe_is_silent(command: str, finished_run: Callable[[str, int], None]) -> None:
    finished_run(FAST, 5)
    reading, writing = os.pipe()
    process = start(command, stdout=writing)
    os.close(reading)
    os.close(writing)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (141, "")


def test_an_interrupt_is_one_line() -> None:
    Path("slow.py").write_text("import sys, time\nprint('here', file=sys.stderr, flush=True)\ntime.sleep(60)\n")
    process = start("suggest", "lab", "--space", "slow.py")
    assert process.stderr is not None
    assert process.stderr.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "addtree: interrupted\n")


def test_an_unexpected_error_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Path("odd.py").write_text(
        "import addtree as at\n"
        "class Odd(at.Space):\n"
        "    def to_dict(self): raise TypeError('odd\\nspace')\n"
        "space = Odd(x=at.Real(0, 1))\n"
        "def objective(config): return 0.0\n"
    )
    assert addtree("suggest", "lab", "--space", "odd.py", monkeypatch=monkeypatch) == 70
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("addtree: unexpected error: TypeError: odd space (odd.py, line 3)")
