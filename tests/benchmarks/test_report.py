"""The report: its tables, its numbers and its plots."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from benchmarks import report
from benchmarks.support import regret

MakeRuns: TypeAlias = Callable[..., regret.Runs]
BUDGET = 4  # the number of evaluations of the fixture `results`


def test_the_report_is_written_from_the_runs_on_disk(results: regret.Results, tmp_path: Path) -> None:
    for task, each in results.runs.items():
        for method, own in each.items():
            for seed, values in enumerate(own.values.tolist()):
                path = tmp_path / task.replace("/", "__") / method / f"{seed}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                run = {"task": task, "method": method, "seed": seed, "values": values, "seconds": [0.002] * BUDGET}
                path.write_text(json.dumps(run))
    again = regret.Results(regret.read(tmp_path, BUDGET), results.known)
    text = report.write(again, tmp_path, subject="good", marks=[BUDGET], plots=False)
    assert text == (tmp_path / "report.md").read_text()
    assert "| good | 0.38 (0.25–0.50) |" in text
    assert "| random | 0 | 2 | 0 | – |" in text  # good against random: there are too few seeds for a verdict
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["complete"]["methods"]["random"]["regret"]["4"] == 1.0


def test_the_command_needs_runs_of_random_search(tmp_path: Path) -> None:
    path = tmp_path / "function__synthetic" / "good" / "0.json"
    path.parent.mkdir(parents=True)
    run = {"task": "function/synthetic", "method": "good", "seed": 0, "values": [1.0] * BUDGET, "seconds": [0] * BUDGET}
    path.write_text(json.dumps(run))
    with pytest.raises(SystemExit, match="no runs with 5 evaluations"):
        report.main(["--results", str(tmp_path), "--budget", "5", "--no-plots"])
    with pytest.raises(SystemExit, match="add --methods random"):
        report.main(["--results", str(tmp_path), "--budget", str(BUDGET), "--no-plots"])


def test_a_method_with_fewer_tasks_is_compared_on_those(results: regret.Results) -> None:
    partial = {**results.runs, "a/1": {**results.runs["a/1"], "late": results.runs["a/1"]["good"]}}
    text, numbers = report.markdown(regret.Results(partial, results.known), "good", [BUDGET])
    assert numbers["complete"]["tasks"] == ["a/1", "a/2"]
    assert numbers["partial"]["late"]["tasks"] == ["a/1"]
    assert "## late, on the 1 tasks it was run on" in text


def test_precision_is_the_median_distance_in_decades(runs: MakeRuns) -> None:
    both = {"function/f": {"x": runs([2, 1.01, 3, 1], [11, 1.1, 3, 1], [3, 1.001, 3, 1])}}
    results = regret.Results(both, {"function/f": 1.0})
    *_, row = report.precision_table(results, ["x"], [1, 2, BUDGET]).splitlines()
    assert row == "| function/f | x | 0.3 | -2.0 | -16.0 |"


def test_the_plots_are_written(results: regret.Results, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib, from the extra bench")
    report.plot(results, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rank.png", "rank.svg", "regret.png", "regret.svg"]
