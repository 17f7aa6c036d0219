"""Running a study: progress, giving up, and errors of worker processes.

Runs that are killed or interrupted are in tests/integration/test_cli.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from addtree.errors import NoSuccessError, TaskError
from addtree.study.studies import Progress
from addtree.study.supervisor import Job, run

SPACE = "import addtree as at\nspace = at.Space(x=at.Real(-1, 1))\n"


def job(folder: Path, text: str, *, trials: int, workers: int = 1) -> Job:
    file = folder / "supervised_task.py"
    file.write_text(SPACE + text)
    return Job(file, str(folder / "study.db"), "s", trials, workers, seed=0)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_reports_its_progress(workers: int, tmp_path: Path) -> None:
    steps: list[Progress] = []
    result = run(job(tmp_path, "def objective(config): return config['x']\n", trials=6, workers=workers), steps.append)
    assert result.complete == 6
    finished = [step.finished for step in steps]
    assert finished == sorted(finished)
    assert finished[0] == 0
    assert finished[-1] == 6


@pytest.mark.parametrize(("trials", "expected"), [(3, 3), (50, 5)])
def test_a_broken_objective_ends_the_run(trials: int, expected: int, tmp_path: Path) -> None:
    message = f"s: all {expected} trials failed, the last with: ZeroDivisionError: division by zero"
    with pytest.raises(NoSuccessError, match=message):
        run(job(tmp_path, "def objective(config): return 1 / 0\n", trials=trials))


def test_one_success_is_enough_to_go_on(tmp_path: Path) -> None:
    text = "calls = []\ndef objective(config):\n    calls.append(1)\n    return 1 / (len(calls) == 1)\n"
    result = run(job(tmp_path, text, trials=12))
    assert (result.complete, result.failed) == (1, 11)


def test_an_error_of_a_worker_process_reaches_the_caller(tmp_path: Path) -> None:
    text = (
        "import multiprocessing\n"
        "if multiprocessing.parent_process() is not None: raise OSError('no licence')\n"
        "def objective(config): return 0.0\n"
    )
    with pytest.raises(TaskError, match="cannot be imported: OSError: no licence"):
        run(job(tmp_path, text, trials=4, workers=2))
