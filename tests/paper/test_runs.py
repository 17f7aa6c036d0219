"""The runner: what is done is not done again, what is broken does not spread, and the quick form gives a page."""

import json

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
