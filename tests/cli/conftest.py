from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.cli.commands import addtree, write_task


@pytest.fixture(autouse=True)
def _work_in_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], None]:
    """A function that puts a task and the database of its finished run into the working directory.

    Each run is done once and then copied, so a test may change its copy.
    """

    @cache
    def folder(task: str, n_trials: int) -> Path:
        path = tmp_path_factory.mktemp("finished-run")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(path)
            arguments = ["run", write_task(task), "--trials", str(n_trials), "--seed", "0"]
            assert addtree(*arguments, monkeypatch=patch) == 0
        return path

    def copy(task: str, n_trials: int) -> None:
        for name in ("task.py", "addtree.db"):
            shutil.copyfile(folder(task, n_trials) / name, name)

    return copy
