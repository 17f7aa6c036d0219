"""What the tests of the command line share: tasks, running a command in this process, and reading a study."""

from __future__ import annotations

import sys
from pathlib import Path

import optuna
import pytest

from addtree.cli import main
from addtree.study.storage import storage_at
from addtree.study.tickets import is_lost

SPACE = """
import addtree as at
space = at.Space(x=at.Real(-1, 1), model=at.Choice(a=at.Space(), b=at.Space(k=at.Integer(1, 1000))))
"""
FAST = SPACE + "def objective(config): return config['x'] ** 2 + config.get('k', 0) / 1000\n"
SLOW = "import time\n" + SPACE + "def objective(config):\n    time.sleep(0.05)\n    return config['x'] ** 2\n"
DEFINE_BY_RUN = "def objective(trial): return trial.suggest_float('x', -1, 1) ** 2\n"

READ_ONLY = ("status", "best", "best --recommended", "export", "explain", "report")
NEED_A_STUDY = (*READ_ONLY, "suggest lab", "tell 0 1", "forget 0")  # These never create a database either.

# Runs a command in a process that cannot write files larger than its first argument says: a full disk, on every system.
LIMITED = """
import resource, sys
from addtree.cli import main
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
main()
"""


def addtree(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the command line in this process; returns its exit code."""
    monkeypatch.setattr(sys, "argv", ["addtree", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def write_task(text: str) -> str:
    """Write a task into the working directory; returns the name of the file."""
    Path("task.py").write_text(text)
    return "task.py"


def trials(name: str = "task", storage: str = "addtree.db") -> list[optuna.trial.FrozenTrial]:
    """All trials of a study, by default in the default storage."""
    with storage_at(storage) as opened:
        return optuna.load_study(study_name=name, storage=opened).trials


def finished(name: str = "task", storage: str = "addtree.db") -> list[optuna.trial.FrozenTrial]:
    """The finished trials that count towards the total."""
    return [t for t in trials(name, storage) if t.state.is_finished() and not is_lost(t)]


def error_lines(text: str) -> list[str]:
    """The lines of stderr that report an error."""
    return [line for line in text.splitlines() if line.startswith("addtree: ")]
