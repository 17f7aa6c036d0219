"""Regret, ranks, intervals and tests on small numbers that can be checked by hand."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest

from benchmarks.support import regret

MakeRuns: TypeAlias = Callable[..., regret.Runs]
BUDGET = 4  # the number of evaluations of the fixture `results`


def test_regret_is_normalised_by_random_search_at_the_end(results: regret.Results) -> None:
    assert results.best == {"a/1": 1.0, "a/2": 0.0}
    curves = regret.normalised(results.runs, results.best)
    # random on a/1 ends at 3 and 7: regrets 2 and 6, mean 4
    np.testing.assert_allclose(curves["a/1"]["random"], [[1, 0.5, 0.5, 0.5], [2, 2, 2, 1.5]])
    np.testing.assert_allclose(curves["a/1"]["good"], [[0.5, 0.25, 0.25, 0], [0.5, 0.5, 0.5, 0.5]])
    np.testing.assert_allclose(curves["a/2"]["good"][:, -1], [0.5, 0.5])


def test_a_task_that_random_search_solves_is_left_out(results: regret.Results, runs: MakeRuns) -> None:
    solved = {**results.runs, "a/2": {"random": runs([0, 0, 0, 0]), "good": runs([1, 0, 0, 0])}}
    assert list(regret.normalised(solved, results.best)) == ["a/1"]


def test_the_summary(results: regret.Results) -> None:
    summary = regret.summarise(results, ["random", "good"], [2, BUDGET])
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


def test_ties_share_a_rank(results: regret.Results) -> None:
    values = results.runs["a/1"]["good"].values
    same = {"a/1": {"x": values, "y": values}}
    np.testing.assert_allclose(regret.ranks(same, ["x", "y"]), 1.5)


def test_the_interval_covers_the_mean_in_95_of_100_cases() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(40):
        curves = [rng.normal(3, 1, size=(30, 1)) for _ in range(3)]
        low, high = regret.interval(curves, resample_tasks=False, seed=seed)[:, 0]
        hits += low <= 3 <= high
    assert 33 <= hits <= 40


def test_resampling_tasks_widens_the_interval() -> None:
    curves = [np.full((5, 1), level) for level in (0.0, 1.0, 2.0)]
    assert np.ptp(regret.interval(curves, resample_tasks=False)) == 0
    assert np.ptp(regret.interval(curves, resample_tasks=True)) > 1


def test_wilcoxon_tells_better_worse_and_neither(runs: MakeRuns) -> None:
    low, high = (runs(*[[base + 0.01 * seed] * BUDGET for seed in range(8)]) for base in (0, 1))
    same: regret.ByTask = {"a/1": {"x": low, "y": high}, "a/2": {"x": high, "y": low}, "a/3": {"x": low, "y": low}}
    assert regret.compare(same, "x", ["x", "y"]) == {"y": {"better": ["a/1"], "worse": ["a/2"], "neither": ["a/3"]}}


def test_a_result_knows_its_methods_and_references(runs: MakeRuns) -> None:
    by_task = {"a/1": {"x": runs([1.0]), "y": runs([2.0])}, "a/2": {"x": runs([3.0])}}
    results = regret.Results.from_runs(by_task, {"a/1": 0.5}.get)
    assert results.best == {"a/1": 0.5, "a/2": 3.0}
    assert results.methods == ["x", "y"]
    assert results.complete == ["x"]
    assert list(results.with_runs_of(["x", "y"])) == ["a/1"]


def test_a_ratio_lies_inside_its_interval_and_is_one_for_equal_methods(results: regret.Results) -> None:
    curves = [each["good"] + 0.1 for each in regret.normalised(results.runs, results.best).values()]
    doubled = regret.ratio([2 * curve for curve in curves], curves)
    np.testing.assert_allclose(doubled[0], 2.0)
    assert np.all((doubled[1] <= 2.0) & (doubled[2] >= 2.0))
    np.testing.assert_allclose(regret.ratio(curves[1:], curves[1:])[1:, -1], 1.0)  # both seeds end at the same value
