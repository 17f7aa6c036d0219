"""The runner: what is done is not done again, what is broken does not spread, and the quick form gives a page."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from addtree.paper import command, runs
from addtree.paper.__main__ import main
from addtree.paper.experiments import Job
from addtree.paper.methods import METHODS
from addtree.problems import synthetic


@pytest.fixture
def jobs(tmp_path):
    return [Job("synthetic", "random", seed, 6, tmp_path) for seed in range(3)]


def test_resume_runs_only_what_is_missing_and_gives_the_same(tmp_path, jobs):
    lines = []
    assert runs.run_all(jobs, out=tmp_path, workers=0, report=lines.append) == {}
    first = [runs.path_of(tmp_path, job).read_text() for job in jobs]
    runs.path_of(tmp_path, jobs[1]).unlink()
    lines.clear()
    runs.run_all(jobs, out=tmp_path, workers=0, report=lines.append)
    assert lines[0] == "2 of 3 jobs are done already"
    assert len(lines) == 2
    for job, text in zip(jobs, first, strict=True):
        again, before = json.loads(runs.path_of(tmp_path, job).read_text()), json.loads(text)
        assert (again["values"], again["configs"]) == (before["values"], before["configs"])


def test_interrupted_write_leaves_no_record(tmp_path, jobs, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        runs.run_all(jobs[:1], out=tmp_path, workers=0, report=lambda _: None)
    assert runs.load(tmp_path, jobs[0]) is None


@pytest.mark.skipif(sys.platform == "win32", reason="signals and sessions are POSIX's")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_stopped_run_leaves_no_process_and_goes_on(tmp_path, jobs, how):
    code = (
        "from pathlib import Path; from addtree.paper import runs; from addtree.paper.experiments import Job\n"
        f"out = Path({str(tmp_path)!r})\n"
        "jobs = [Job('synthetic', 'random', s, 6, out) for s in range(3)] + [Job('synthetic', 'tree', 0, 500, out)]\n"
        "if __name__ == '__main__': runs.run_all(jobs, out=out, workers=1, report=lambda line: print(line, flush=True))"
    )
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("[1/4] synthetic random seed 0")
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # a terminal interrupts the whole group
    else:
        process.kill()
    process.communicate(timeout=20)  # to the end of the pipe: the worker holds it as long as it lives
    assert process.returncode != 0
    again = []
    runs.run_all(jobs, out=tmp_path, workers=0, report=again.append)
    assert "of 3 jobs are done already" in again[0]
    assert all(runs.load(tmp_path, job)["seed"] == job.seed for job in jobs)


def test_one_failure_does_not_stop_the_others(tmp_path, jobs):
    broken = Job("synthetic", "nobody", 0, 6, tmp_path)
    failed = runs.run_all([broken, *jobs], out=tmp_path, workers=0, report=lambda _: None)
    assert list(failed) == [broken]
    assert all(runs.load(tmp_path, job) for job in jobs)


def test_processes_give_what_one_process_gives(tmp_path, jobs):
    runs.run_all(jobs, out=tmp_path / "one", workers=0, report=lambda _: None)
    runs.run_all(jobs, out=tmp_path / "two", workers=2, report=lambda _: None)
    for job in jobs:
        one, two = (runs.load(tmp_path / name, job) for name in ("one", "two"))
        assert one["values"] == two["values"]


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("smac", "gpyopt")])
def test_every_method_asks_valid_configurations(name):
    if reason := METHODS[name].missing():
        pytest.skip(reason)
    problem = synthetic()
    method = METHODS[name].make(problem.space, 0, 12)
    values = []
    for _ in range(12):
        config = problem.space.validate(method.ask())
        values.append(problem.objective(config))
        method.tell(config, values[-1])
    assert len(set(values)) > 6


@pytest.mark.filterwarnings("ignore")  # SMAC's and its dependencies' own
def test_quick_form_writes_the_page(tmp_path):
    pytest.importorskip("matplotlib", reason="the figures need addtree[paper]")
    for experiment in ("synthetic", "regression"):
        page = command.run(experiment, quick=True, out=tmp_path, jobs=2)
    text = page.read_text()
    for name in ("add-tree", "addtree", "independent", "tree", "random"):
        assert f"| `{name}` |" in text
    assert "## Synthetic optimization" in text
    assert "## Regression" in text
    assert "`compression-tree` was not run" in text
    for name in ("synthetic", "regression"):
        assert (tmp_path / "paper" / f"{name}.svg").stat().st_size > 1000
        assert (tmp_path / "paper" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    record = json.loads(next((tmp_path / "raw" / "synthetic" / "random").glob("*.json")).read_text())
    assert np.isfinite(record["values"]).all()
    assert record["versions"]["python"]


def test_unknown_method_is_said(capsys, tmp_path):
    with pytest.raises(SystemExit):
        main(["synthetic", "--methods", "nobody", "--out", str(tmp_path)])
    assert "nobody" in capsys.readouterr().err
