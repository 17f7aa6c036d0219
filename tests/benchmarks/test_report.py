import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import report, tasks

BUDGET = 4


def runs(*values: list[float]) -> report.Runs:
    array = np.array(values, dtype=float)
    return report.Runs(tuple(range(len(values))), array, np.full_like(array, 0.002))


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> report.Results:
    """Task a/1 has its best value at 1, found by `good`; a/2 has 0 on record, which nobody found."""
    monkeypatch.setattr(tasks, "reference", {"a/1": None, "a/2": 0.0}.get)
    return {
        "a/1": {"random": runs([5, 3, 4, 3], [9, 9, 9, 7]), "good": runs([3, 2, 2, 1], [3, 3, 3, 3])},
        "a/2": {"random": runs([2, 2, 2, 2], [2, 2, 2, 2]), "good": runs([4, 1, 1, 1], [4, 4, 4, 1])},
    }


def test_regret_is_normalised_by_random_search_at_the_end(results: report.Results) -> None:
    best = report.references(results)
    assert best == {"a/1": 1.0, "a/2": 0.0}
    curves = report.normalised(results, best)
    # random on a/1 ends at 3 and 7: regrets 2 and 6, mean 4
    np.testing.assert_allclose(curves["a/1"]["random"], [[1, 0.5, 0.5, 0.5], [2, 2, 2, 1.5]])
    np.testing.assert_allclose(curves["a/1"]["good"], [[0.5, 0.25, 0.25, 0], [0.5, 0.5, 0.5, 0.5]])
    np.testing.assert_allclose(curves["a/2"]["good"][:, -1], [0.5, 0.5])


def test_a_task_that_random_search_solves_is_left_out(results: report.Results) -> None:
    solved = {**results, "a/2": {"random": runs([0, 0, 0, 0]), "good": runs([1, 0, 0, 0])}}
    assert list(report.normalised(solved, report.references(solved))) == ["a/1"]


def test_the_summary(results: report.Results) -> None:
    summary = report.summarise(results, ["random", "good"], [2, BUDGET])
    random, good = summary["methods"]["random"], summary["methods"]["good"]
    assert random["regret"][BUDGET] == 1.0
    assert good["regret"][BUDGET] == pytest.approx((0.25 + 0.5) / 2)
    assert good["family"]["a"][BUDGET] == good["regret"][BUDGET]
    low, high = good["seeds"][BUDGET]
    assert low == pytest.approx((0 + 0.5) / 2)  # both seeds of a/1 the better one
    assert high == pytest.approx((0.5 + 0.5) / 2)
    assert good["rank"] == {2: pytest.approx((1 + 1 + 1 + 2) / 4), BUDGET: 1.0}
    assert good["milliseconds"] == pytest.approx(2.0)
    assert good["runs"] == 4


def test_ties_share_a_rank(results: report.Results) -> None:
    same = {"a/1": {"x": results["a/1"]["good"].values, "y": results["a/1"]["good"].values}}
    np.testing.assert_allclose(report.ranks(same, ["x", "y"]), 1.5)


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(40):
        curves = [rng.normal(3, 1, size=(30, 1)) for _ in range(3)]
        low, high = report.interval(curves, resample_tasks=False, seed=seed)[:, 0]
        hits += low <= 3 <= high
    assert 33 <= hits <= 40


def test_resampling_tasks_widens_the_interval() -> None:
    curves = [np.full((5, 1), level) for level in (0.0, 1.0, 2.0)]
    assert np.ptp(report.interval(curves, resample_tasks=False)) == 0
    assert np.ptp(report.interval(curves, resample_tasks=True)) > 1


def test_wilcoxon_says_better_worse_or_neither() -> None:
    low, high = (runs(*[[base + 0.01 * seed] * BUDGET for seed in range(8)]) for base in (0, 1))
    same: report.Results = {"a/1": {"x": low, "y": high}, "a/2": {"x": high, "y": low}, "a/3": {"x": low, "y": low}}
    assert report.compare(same, "x", ["x", "y"]) == {"y": {"better": ["a/1"], "worse": ["a/2"], "neither": ["a/3"]}}


def test_the_report_is_written(results: report.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "matching", lambda patterns: ["a/1", "a/2"])
    for task, each in results.items():
        for method, own in each.items():
            for seed, values in enumerate(own.values.tolist()):
                path = tmp_path / task.replace("/", "__") / method / f"{seed}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                run = {"task": task, "method": method, "seed": seed, "values": values, "seconds": [0.002] * BUDGET}
                path.write_text(json.dumps(run))
    report.main(["--results", str(tmp_path), "--budget", str(BUDGET), "--subject", "good", "--no-plots"])
    text = (tmp_path / "report.md").read_text()
    assert "| good | 0.38 (0.25–0.50) |" in text
    assert "| random | 0 | 2 | 0 | – |" in text  # good against random: too few seeds to say more than neither
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["complete"]["methods"]["random"]["regret"]["4"] == 1.0


def test_a_method_with_fewer_tasks_is_compared_on_those(results: report.Results) -> None:
    partial = {**results, "a/1": {**results["a/1"], "late": results["a/1"]["good"]}}
    text, numbers = report.markdown(partial, ["random", "good", "late"], "good", [BUDGET])
    assert numbers["complete"]["tasks"] == ["a/1", "a/2"]
    assert numbers["partial"]["late"]["tasks"] == ["a/1"]
    assert "## late, on the 1 tasks it was run on" in text


def test_precision_is_the_median_distance_in_decades(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "reference", {"function/f": 1.0}.get)
    both = {"function/f": {"x": runs([2, 1.01, 3, 1], [11, 1.1, 3, 1], [3, 1.001, 3, 1])}}
    *_, row = report.precision_table(both, ["x"], [1, 2, BUDGET]).splitlines()
    assert row == "| function/f | x | 0.3 | -2.0 | -16.0 |"


def test_the_plots_are_written(results: report.Results, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib, from the extra bench")
    report.plot(results, ["random", "good"], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rank.png", "rank.svg", "regret.png", "regret.svg"]
