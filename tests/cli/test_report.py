"""The commands `report` and `explain`; tests/report checks what they show."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.commands import FAST, SPACE, addtree, write_task


def test_report_and_explain(
    finished_run: Callable[[str, int], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    finished_run(FAST, 12)
    capsys.readouterr()
    assert addtree("explain", monkeypatch=monkeypatch) == 0
    assert "model" in capsys.readouterr().out
    assert addtree("report", "task", "-o", "out.html", monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out == "out.html\n"
    assert "<html" in Path("out.html").read_text(encoding="utf-8")
    assert addtree("report", "-o", "no/such/folder/out.html", monkeypatch=monkeypatch) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_study_is_compared_with_earlier_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task = write_task(FAST)
    for name, options in (("spring", ()), ("task", ("--history", "spring"))):
        command = ("run", task, "--trials", "12", "--seed", "0", "--study", name, *options)
        assert addtree(*command, monkeypatch=monkeypatch) == 0
    capsys.readouterr()
    assert addtree("explain", "task", "--history", "spring", monkeypatch=monkeypatch) == 0
    assert "spring: 12 trials, agreement" in capsys.readouterr().out
    assert addtree("report", "task", "-o", "out.html", "--history", "spring", monkeypatch=monkeypatch) == 0
    assert "What became of earlier studies" in Path("out.html").read_text(encoding="utf-8")
    assert addtree("explain", "task", "--history", "autumn", monkeypatch=monkeypatch) == 4
    assert "autumn" in capsys.readouterr().err


def test_a_terminal_without_unicode_shows_similar_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    task = SPACE + "def objective(config): return config['x'] ** 2 + config.get('k', 0)\n"
    assert addtree("run", write_task(task), "--trials", "12", "--seed", "0", monkeypatch=monkeypatch) == 0
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "addtree", "explain"]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert "##" in result.stdout
    assert "+/-" in result.stdout
    assert "\\" not in result.stdout
