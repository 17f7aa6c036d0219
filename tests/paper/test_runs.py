"""The runner: a finished job is not repeated, a failed job does not stop the others, and a quick run gives a page."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from addtree.paper import command, fc3, mnist, runs
from addtree.paper.__main__ import main
from addtree.paper.experiments import Job
from addtree.paper.methods import METHODS
from addtree.problems import synthetic


def load(out, job):
    return json.loads(runs.path_of(out, job).read_text())


@pytest.fixture
def jobs(tmp_path):
    return [Job("synthetic", "random", seed, 6, tmp_path) for seed in range(3)]


def test_resuming_runs_only_the_missing_jobs_with_the_same_results(tmp_path, jobs):
    lines = []
    assert runs.run_all(jobs, out=tmp_path, workers=0, report=lines.append) == {}
    first = [runs.path_of(tmp_path, job).read_text() for job in jobs]
    runs.path_of(tmp_path, jobs[1]).unlink()
    lines.clear()
    runs.run_all(jobs, out=tmp_path, workers=0, report=lines.append)
    assert lines[0] == "2 of 3 jobs are done already"
    assert len(lines) == 2
    for job, text in zip(jobs, first, strict=True):
        again, before = load(tmp_path, job), json.loads(text)
        assert (again["values"], again["configs"]) == (before["values"], before["configs"])


class Interrupted(Job):
    """A job that the user interrupts."""

    def run(self):
        raise KeyboardInterrupt


def test_an_interrupted_job_leaves_no_record(tmp_path):
    job = Interrupted("synthetic", "random", 0, 6, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        runs.run_all([job], out=tmp_path, workers=0, report=lambda _: None)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_record_that_cannot_be_written_leaves_the_old_one(tmp_path, jobs):
    path = runs.path_of(tmp_path, jobs[0])
    runs.save(path, {"seed": 0})
    with pytest.raises(TypeError):
        runs.save(path, {"seed": object()})
    assert load(tmp_path, jobs[0]) == {"seed": 0}
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="signals and sessions are POSIX's")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_stopped_run_leaves_no_process_and_continues(tmp_path, jobs, how):
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
    process.communicate(timeout=20)  # until the end of the pipe, which the worker keeps open as long as it lives
    assert process.returncode != 0
    again = []
    runs.run_all(jobs, out=tmp_path, workers=0, report=again.append)
    assert "of 3 jobs are done already" in again[0]
    assert all(load(tmp_path, job)["seed"] == job.seed for job in jobs)


def test_one_failure_does_not_stop_the_others(tmp_path, jobs):
    broken = Job("synthetic", "nobody", 0, 6, tmp_path)
    failed = runs.run_all([broken, *jobs], out=tmp_path, workers=0, report=lambda _: None)
    assert list(failed) == [broken]
    assert all(load(tmp_path, job) for job in jobs)


def test_processes_give_what_one_process_gives(tmp_path, jobs):
    runs.run_all(jobs, out=tmp_path / "one", workers=0, report=lambda _: None)
    runs.run_all(jobs, out=tmp_path / "two", workers=2, report=lambda _: None)
    for job in jobs:
        one, two = (load(tmp_path / name, job) for name in ("one", "two"))
        assert one["values"] == two["values"]


@pytest.mark.parametrize("name", [name for name in METHODS if name != "smac"])
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


@pytest.fixture
def data(tmp_path):
    """A folder in the form of MNIST's with images of noise, and an untrained network where the trained one is kept."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "data" / "mnist"
    folder.mkdir(parents=True)
    for name, shape, top in zip(
        mnist.FILES, ((60, 28, 28), (60,), (10, 28, 28), (10,)), (256, 10, 256, 10), strict=True
    ):
        header = bytes([0, 0, 8, len(shape)]) + np.array(shape, ">u4").tobytes()
        (folder / name).write_bytes(header + rng.integers(top, size=shape, dtype=np.uint8).tobytes())
    net = fc3.initial(fc3.SIZES, rng)
    np.savez(tmp_path / "fc3.npz", **{f"{k}{i}": a for k in ("W", "b") for i, a in enumerate(getattr(net, k))})
    return folder.parent


def check_page(folder, text):
    for title in ("Synthetic", "Regression", "Model compression, the", "Model compression, two", "Complexity"):
        assert f"## {title}" in text
    assert "of the test images right" in text
    assert "failed" not in text
    for name in ("synthetic", "regression", "compression-tree", "compression-choices", "complexity-inference"):
        assert (folder / "paper" / f"{name}.svg").stat().st_size > 1000
        assert (folder / "paper" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    for path in (folder / "raw").rglob("*.json"):
        assert json.loads(path.read_text())["versions"].keys() >= {"python", "numpy", "commit"}
    record = json.loads(next((folder / "raw" / "synthetic" / "random").glob("*.json")).read_text())
    assert np.isfinite(record["values"]).all()


def test_a_quick_run_of_two_methods_writes_the_page(tmp_path, data):
    pytest.importorskip("matplotlib", reason="the figures need addtree[paper]")
    chosen = ["add-tree", "random"]  # one with a model, which the regression needs, and one without
    text = command.run("all", quick=True, out=tmp_path, data=data, jobs=0, seeds=1, methods=chosen).read_text()
    assert [name for name in METHODS if f"| `{name}` |" in text] == [name for name in METHODS if name in chosen]
    check_page(tmp_path, text)


@pytest.mark.slow  # two seeds of every method on every experiment
@pytest.mark.filterwarnings("ignore")  # SMAC's and its dependencies' own
def test_a_quick_run_of_all_methods_writes_the_page(tmp_path, data):
    pytest.importorskip("matplotlib", reason="the figures need addtree[paper]")
    text = command.run("all", quick=True, out=tmp_path, data=data, jobs=2).read_text()
    for name in ("add-tree", "addtree", "independent", "tree", "random"):
        assert f"| `{name}` |" in text
    check_page(tmp_path, text)


def test_without_data_the_page_gives_the_remedy(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the figures need addtree[paper]")
    page = command.run("compression", quick=True, out=tmp_path, data=tmp_path / "nowhere", methods=["random"])
    for said in (page.read_text(), capsys.readouterr().err):
        assert "put the four MNIST files there, or leave --data out" in said
    assert "`compression-tree` was not run" in page.read_text()


def test_a_page_does_not_make_its_own_commit_dirty(tmp_path):
    def git(*command):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", *command], check=True)

    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "code.py").write_text("1")
    (tmp_path / "page.md").write_text("old")
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "one")
    (tmp_path / "page.md").write_text("new")
    clean = runs.commit(tmp_path / "package")
    assert len(clean) == 10
    (tmp_path / "package" / "code.py").write_text("2")
    assert runs.commit(tmp_path / "package") == f"{clean}-dirty"


def test_an_unknown_method_is_named(capsys, tmp_path):
    with pytest.raises(SystemExit):
        main(["synthetic", "--methods", "nobody", "--out", str(tmp_path)])
    assert "nobody" in capsys.readouterr().err
