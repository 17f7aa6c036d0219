"""The application: its commands, and that every error is one line and an exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import FAST, addtree, error_lines, write_task

COMMANDS = ["run", "status", "best", "export", "suggest", "tell", "report", "explain", "paper"]


def test_help_lists_every_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert addtree("--help", monkeypatch=monkeypatch) == 0
    text = capsys.readouterr().out
    assert [name for name in COMMANDS if f" {name} " not in text] == []


def test_the_package_runs_as_a_module() -> None:
    result = subprocess.run([sys.executable, "-m", "addtree.cli", "status"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "best value" in result.stdout


def test_a_wrong_option_has_code_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert addtree("run", write_task(FAST), "--trials", "0", monkeypatch=monkeypatch) == 2
    assert addtree("paper", "nothing", monkeypatch=monkeypatch) == 2
    assert "experiment 'nothing' is unknown" in capsys.readouterr().err


BAD_STORAGES = [
    ("unreachable", "postgresql://nobody@127.0.0.1:1/none", "refused"),
    ("corrupt", "sqlite:///corrupt.db", "file is not a database"),
    ("not a URL", "nosuch://x/y", "is not a storage URL"),
    ("folder missing", "sqlite:///no/such/folder/x.db", "unable to open database file"),
    ("not writable", "sqlite:////proc/x.db", "unable to open database file"),
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
    assert message in line
    assert Path("corrupt.db").read_bytes() == b"this is not a database" * 100


def test_a_password_is_not_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    url = "postgresql://me:secret@127.0.0.1:1/none"
    assert addtree("status", "--storage", url, monkeypatch=monkeypatch) == 3
    assert "secret" not in capsys.readouterr().err
