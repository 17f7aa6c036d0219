import json
import os
import signal
from pathlib import Path

import pytest

from benchmarks import peers, report, run, tasks, yahpo


def make(
    out: Path, *, task: str = "function/synthetic", method: str = "random", seed: int = 0, budget: int = 5
) -> run.Run:
    return run.Run(task, method, seed, budget, out)


def test_a_run_is_kept_and_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "plot", lambda *arguments: None)
    options = ["--tasks", "function/synthetic", "--methods", "random", "--seeds", "2", "--budget", "5", "--jobs", "1"]
    assert run.main([*options, "--out", str(tmp_path)]) == 0
    files = sorted(tmp_path.glob("*/*/*"))
    assert [path.name for path in files] == ["0.json", "1.json"]
    result = json.loads(files[0].read_text())
    assert len(result["values"]) == len(result["seconds"]) == len(result["configs"]) == 5
    assert result["seed"] == 0
    assert result["versions"]["numpy"]

    files[1].unlink()
    before = files[0].stat().st_mtime_ns
    assert [left.seed for left in run.plan(["function/synthetic"], ["random"], range(2), 5, tmp_path)] == [1]
    assert [left.seed for left in run.plan(["function/synthetic"], ["random"], range(2), 6, tmp_path)] == [0, 1]
    assert run.main([*options, "--out", str(tmp_path)]) == 0
    assert files[0].stat().st_mtime_ns == before
    assert files[1].exists()
    assert "1 tasks, 2 seeds, 5 evaluations" in (tmp_path / "report.md").read_text()


def test_a_seed_means_one_run(tmp_path: Path) -> None:
    first, second, other = (run.evaluate(make(tmp_path, seed=seed))["values"] for seed in (3, 3, 4))
    assert first == second != other


def fail(space: object, seed: int) -> None:
    raise RuntimeError("no luck")


def test_a_failure_leaves_its_traceback_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = make(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(peers, "start", lambda method, space, seed: fail(space, seed))
        assert run.work(failing)[2] == "RuntimeError: no luck"
    assert "no luck" in failing.path.with_suffix(".error.txt").read_text()
    assert not failing.finished
    assert run.work(failing)[2] is None
    assert [path.name for path in failing.path.parent.iterdir()] == ["0.json"]


def test_a_run_that_kills_its_process_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "work", _work_or_die)
    outcomes = {done.seed: error for done, _, _, error in run.execute([make(tmp_path, seed=s) for s in range(3)], 1)}
    assert outcomes == {0: None, 1: "the process died", 2: None}


_real_work = run.work


def _work_or_die(one: run.Run) -> tuple[float, float, str | None]:
    if one.seed == 1:
        one.path.parent.mkdir(parents=True, exist_ok=True)
        one.marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return _real_work(one)


def test_absent_data_and_libraries_are_skipped_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ADDTREE_DATA", raising=False)
    monkeypatch.setattr(run, "_task", tasks.load)
    monkeypatch.setattr(yahpo, "find_spec", lambda name: name)
    monkeypatch.setitem(peers.METHODS, "absent", ("absent", "Absent", ("no_such_library",)))
    names = ["function/synthetic", "yahpo/rbv2_svm-1220-mmce"]
    left = run.plan(names, ["random", "absent"], range(1), 5, tmp_path)
    assert [(one.task, one.method) for one in left] == [("function/synthetic", "random")]
    said = capsys.readouterr().out
    assert "ADDTREE_DATA is not set" in said
    assert "skipping method absent: no_such_library not installed" in said


@pytest.mark.parametrize("task", ["function/synthetic", "function/goldstein"])
@pytest.mark.parametrize(
    ("method", "library"),
    [
        ("addtree", "addtree"),
        ("addtree-paper", "addtree"),
        ("optuna-tpe", "optuna"),
        ("optuna-tpe-group", "optuna"),
        ("hyperopt", "hyperopt"),
    ],
)
def test_a_method_suggests_valid_configurations(tmp_path: Path, task: str, method: str, library: str) -> None:
    pytest.importorskip(library, reason=f"{method} needs {library}, from the extra bench")
    result = run.evaluate(make(tmp_path, task=task, method=method, budget=13))
    assert len(result["values"]) == 13
    assert result["values"] == run.evaluate(make(tmp_path, task=task, method=method, budget=13))["values"]
