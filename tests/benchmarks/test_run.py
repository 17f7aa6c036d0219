"""The runner: finished runs are kept, failures stay alone, and what is missing is skipped."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from benchmarks import peers, run, tasks


def make(
    out: Path, *, task: str = "function/synthetic", method: str = "random", seed: int = 0, budget: int = 5
) -> run.Run:
    return run.Run(task, method, seed, budget, out)


def test_a_run_is_kept_and_not_repeated(tmp_path: Path) -> None:
    options = ["--tasks", "function/synthetic", "--methods", "random", "--seeds", "2", "--budget", "5", "--jobs", "1"]
    options.append("--no-plots")
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


def fail(method: str, task: tasks.Task, seed: int) -> peers.Method:
    raise RuntimeError("no luck")


def test_a_failure_leaves_its_traceback_and_is_tried_again(tmp_path: Path) -> None:
    failing = make(tmp_path)
    assert run.work(failing, fail)[2] == "RuntimeError: no luck"
    assert "no luck" in failing.path.with_suffix(".error.txt").read_text()
    assert not failing.finished
    assert run.work(failing)[2] is None
    assert [path.name for path in failing.path.parent.iterdir()] == ["0.json"]


def work_or_die(one: run.Run) -> run.Outcome:
    if one.seed == 1:
        one.path.parent.mkdir(parents=True, exist_ok=True)
        one.marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return run.work(one)


def test_a_run_that_kills_its_process_stops_no_other(tmp_path: Path) -> None:
    runs = [make(tmp_path, seed=seed) for seed in range(3)]
    outcomes = {done.seed: error for done, _, _, error in run.execute(runs, 1, work_or_die)}
    assert outcomes == {0: None, 1: "the process died", 2: None}


def test_tasks_without_data_are_skipped_with_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    def load(name: str) -> tasks.Task:
        if name.startswith("yahpo"):
            raise tasks.MissingDataError(f"{name}: ADDTREE_DATA is not set")
        return tasks.load(name)

    assert run.with_data(["function/synthetic", "yahpo/rbv2_svm-1220-mmce"], load) == ["function/synthetic"]
    assert "skipping task yahpo/rbv2_svm-1220-mmce: ADDTREE_DATA is not set" in capsys.readouterr().out


def test_methods_without_their_library_are_skipped_with_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    absent = peers.Peer(peers.METHODS["random"].begin, ("numpy", "no_such_library"))
    assert run.installed({"random": peers.METHODS["random"], "absent": absent}) == ["random"]
    assert "skipping method absent: no_such_library not installed" in capsys.readouterr().out


@pytest.mark.parametrize("task", ["function/synthetic", "function/goldstein"])
@pytest.mark.parametrize(
    ("method", "library"),
    [
        ("addtree", "addtree"),
        ("addtree-paper", "addtree"),
        ("optuna-tpe", "optuna"),
        ("optuna-tpe-group", "optuna"),
        ("hyperopt", "hyperopt"),
        ("smac", "smac"),
    ],
)
@pytest.mark.filterwarnings("ignore")  # SMAC's dependencies warn when they are imported
def test_a_method_suggests_valid_configurations(tmp_path: Path, task: str, method: str, library: str) -> None:
    pytest.importorskip(library, reason=f"{method} needs {library}, from the extra bench")
    first, second = (run.evaluate(make(tmp_path, task=task, method=method, budget=13))["values"] for _ in range(2))
    assert len(first) == 13
    assert first == second


def test_a_noisy_run_records_what_was_told_and_the_true_value_of_what_is_returned(tmp_path: Path) -> None:
    result = run.evaluate(make(tmp_path, task="noisy/synthetic", budget=8))
    true, told = np.array(result["values"]), np.array(result["told"])
    assert 0.01 < np.std(told - true) < 0.5
    least = [int(np.argmin(told[: t + 1])) for t in range(8)]
    assert result["returned"] == [true[i] for i in least]  # random search returns what it was told to be least
    assert "told" not in run.evaluate(make(tmp_path))


def test_a_method_that_recommends_is_asked_what_it_returns(tmp_path: Path) -> None:
    class Last(peers.RandomSearch):
        def tell(self, config, value):
            self.config = dict(config)

        def recommend(self):
            return self.config

    result = run.evaluate(
        make(tmp_path, task="noisy/synthetic", budget=4), lambda method, task, seed: Last(task.space, seed)
    )
    assert result["returned"] == result["values"]


@pytest.mark.parametrize("method", ["optuna-tpe", "addtree-define-by-run"])
def test_define_by_run_methods_get_dynamic_ranges_as_they_are(tmp_path: Path, method: str) -> None:
    pytest.importorskip("optuna", reason=f"{method} needs optuna")
    begun = peers.start(method, tasks.load("dynamic/stages"), 0)
    config = begun.ask()
    assert set(begun._trial.params) == set(config)
    assert begun._trial.params["x"] == pytest.approx(config["x"] * config["n"])


def test_a_method_that_needs_another_release_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    other = peers.Peer(peers.METHODS["random"].begin, ("numpy",), {"numpy": "0.1"})
    assert run.installed({"other": other}) == []
    assert "skipping method other: numpy 0.1 not installed" in capsys.readouterr().out
