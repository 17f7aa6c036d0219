"""Runs of the command line in processes of their own: killed, interrupted, and several at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from addtree.study.tickets import is_lost
from tests.cli.commands import SLOW, addtree, finished, trials, write_task


@pytest.fixture(autouse=True)
def _work_in_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def start(*arguments: str) -> subprocess.Popen[str]:
    """Start `addtree run` in a process of its own."""
    command = [sys.executable, "-m", "addtree", "run", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))


def wait_for(n: int, seconds: float = 60) -> None:
    """Wait until n trials are complete."""
    end = time.monotonic() + seconds
    study = None
    while time.monotonic() < end:
        time.sleep(0.1)
        try:
            study = study or optuna.load_study(study_name="task", storage="sqlite:///addtree.db")
        except KeyError:  # the study does not exist yet
            continue
        if sum(t.state == TrialState.COMPLETE for t in study.get_trials(deepcopy=False)) >= n:
            return
    raise AssertionError(f"fewer than {n} trials after {seconds} s")


def n_repeated(configs: list[dict[str, Any]]) -> int:
    """Count the configurations that repeat an earlier one."""
    return len(configs) - len({json.dumps(config, sort_keys=True) for config in configs})


def test_killed_in_the_middle_and_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    process = start(write_task(SLOW), "--trials", "24", "--seed", "0")
    wait_for(12)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    running = [t for t in trials() if t.state == TrialState.RUNNING]
    assert len(finished()) < 24
    assert addtree("run", "task.py", "--trials", "24", monkeypatch=monkeypatch) == 0
    assert len(finished()) == 24
    assert all(t.state == TrialState.COMPLETE for t in finished())
    assert n_repeated([t.params for t in finished()]) == 0
    for lost in running:  # the trial that was running at the kill is run again, once
        again = [t for t in finished() if t.system_attrs.get("addtree:retry_of") == lost.number]
        assert len(again) == 1
        assert {**again[0].params, **lost.params} == again[0].params


@pytest.mark.parametrize("workers", [1, 2])
def test_interrupted_ends_cleanly(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    process = start(write_task(SLOW), "--trials", "500", "--workers", str(workers))
    wait_for(5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted; the same command continues from here" in errors
    assert "Traceback" not in errors
    assert not [t for t in trials() if t.state == TrialState.RUNNING]
    n_finished = len(finished())
    assert addtree("run", "task.py", "--trials", str(n_finished + 3), monkeypatch=monkeypatch) == 0
    assert len(finished()) == n_finished + 3


def test_two_workers_on_sqlite_one_killed() -> None:
    process = start(write_task(SLOW), "--trials", "30", "--workers", "2")
    wait_for(12)
    end = time.monotonic() + 20
    pids: set[int] = set()
    while not pids and time.monotonic() < end:
        running = [t for t in trials() if t.state == TrialState.RUNNING]
        pids = {t.system_attrs["addtree:owner"]["pid"] for t in running if "addtree:owner" in t.system_attrs}
    os.kill(pids.pop(), signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert len(finished()) == 30
    assert all(t.state == TrialState.COMPLETE for t in finished())
    assert n_repeated([t.params for t in finished()]) == 0
    assert not [t for t in trials() if t.state == TrialState.RUNNING]
    assert sum(map(is_lost, trials())) <= 1


def test_two_runs_of_one_study_at_once_share_the_total() -> None:
    """Two machines that use one storage would do the same."""
    file = write_task(SLOW)
    both = [start(file, "--trials", "24") for _ in range(2)]
    for process in both:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert len(finished()) == 24
    assert n_repeated([t.params for t in finished()]) == 0
    assert len({t.system_attrs["addtree:owner"]["pid"] for t in finished()}) == 2
