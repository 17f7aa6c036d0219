"""What the pages on Optuna and the command line say, done."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import optuna
import pytest

from addtree import cli

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def test_the_example_for_optuna(capsys: pytest.CaptureFixture[str]) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    (code,) = blocks("optuna.md", "python")
    scope: dict[str, object] = {}
    exec(code, scope)
    study = scope["study"]
    assert isinstance(study, optuna.Study)
    assert study.best_params["model"] == "curve"
    assert study.best_value < 1e-3
    assert "bend" in capsys.readouterr().out


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (task,) = blocks("command-line.md", "python")
    Path("task.py").write_text(task)
    lines = [line for block in blocks("command-line.md", "console") for line in block.splitlines()]
    commands = [shlex.split(line[2:]) for line in lines if line.startswith("$ ")]
    assert len(commands) == 7
    for command in [*commands, ["addtree", "tell", "lab", "1", "--failed"]]:
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code, command
    assert "lr" in capsys.readouterr().out
    assert len(Path("trials.csv").read_text().splitlines()) == 31


@pytest.mark.parametrize("page", ["optuna.md", "distributed.md", "command-line.md"])
def test_files_that_are_named_exist(page: str) -> None:
    named = re.findall(r"(?:examples|benchmarks)/[\w.]+", (DOCS / page).read_text())
    assert all((DOCS.parent / name).is_file() for name in named)
