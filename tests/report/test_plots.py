"""Figures for notebooks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from addtree.problems import synthetic
from addtree.report import build, plots
from addtree.report.importance import Share
from addtree.report.progress import progress
from tests.report.cases import interaction_report, paper_report, paper_trials


def test_figures_show_the_numbers_of_the_report() -> None:
    report = paper_report(20)
    assert report.learned is not None
    curve = report.learned.curves["r8"]
    figure = plots.effect(curve)
    assert list(figure.data[-1].y) == pytest.approx(curve.mean, rel=1e-5)
    assert list(figure.data[1].y) == pytest.approx(curve.mean + curve.margin, rel=1e-4)
    bars = plots.shares(report.learned.shares)
    assert sum(x for trace in bars.data for x in trace.x) == pytest.approx(1, abs=1e-3)
    steps = plots.contributions(report.learned.best).data[0]
    assert report.learned.best.expectation + sum(steps.x) == pytest.approx(report.learned.best.observed)


def test_optima_show_the_belief_and_the_best_seen() -> None:
    report = paper_report(20)
    assert report.learned is not None
    choice = report.learned.optima[0]
    seen, belief = plots.optima(choice).data
    assert list(seen.x) == pytest.approx([option.best for option in choice.options], rel=1e-5)
    assert list(belief.x) == pytest.approx([option.median for option in choice.options], rel=1e-5)
    ends = [x + d for x, d in zip(belief.x, belief.error_x.array, strict=True)]
    assert ends == pytest.approx([option.high for option in choice.options], rel=1e-4, abs=1e-6)
    untried = replace(choice, options=(replace(choice.options[0], best=None), *choice.options[1:]))
    assert len(plots.optima(untried).data[0].x) == len(choice.options) - 1


def test_cross_validation_shows_every_trial() -> None:
    report = paper_report(20)
    assert report.learned is not None
    points = plots.cross_validation(report.learned.trust).data[1]
    assert list(points.y) == pytest.approx([trial.value for trial in report.trials], rel=1e-5)
    assert list(points.error_x.array) == pytest.approx(report.learned.trust.margin, rel=1e-5)


def test_small_shares_are_summed_up() -> None:
    parts = [Share(f"p{i}", "vertex", 0.0009) for i in range(100)]
    figure = plots.shares([Share("large", "choice", 0.9), *parts, Share("unexplained", "unexplained", 0.01)])
    shown = {name: x for trace in figure.data for name, x in zip(trace.y, trace.x, strict=True)}
    assert shown == {"large": 0.9, "unexplained": 0.01, "all others": 0.09}


def test_the_joint_effect_of_an_interaction() -> None:
    report = interaction_report()
    assert report.learned is not None
    pair = report.learned.interactions[0]
    (heatmap,) = plots.interaction(pair).data
    assert (len(heatmap.z), len(heatmap.z[0])) == pair.mean.T.shape
    assert heatmap.z[0][1] == pytest.approx(pair.mean[1, 0], rel=1e-5)


@pytest.mark.parametrize(("values", "kind"), [((1.0, 900.0), None), ((1.0, 2000.0), "log"), ((-1.0, 2000.0), None)])
def test_positive_values_over_three_decades_are_on_a_log_scale(values: tuple[float, float], kind: str | None) -> None:
    report = build(synthetic().space, [replace(t, value=v) for t, v in zip(paper_trials(2), values, strict=True)])
    assert progress(report).layout.yaxis.type == kind


@pytest.mark.parametrize("sign", [1, -1])
def test_values_far_from_the_best_are_triangles_at_the_edge(sign: int) -> None:
    values = [sign * v for v in (3.0, 50.0, 1.0, 2.0, 5.0, 4.0)]  # four times (median - best) beyond the best is 11
    trials = [replace(t, value=v) for t, v in zip(paper_trials(6), values, strict=True)]
    *branches, best = progress(build(synthetic().space, trials, maximize=sign < 0)).data
    assert {x: y for branch in branches for x, y in zip(branch.x, branch.y, strict=True)} == {
        **dict(enumerate(values)),
        1: sign * 11.0,
    }
    (far,) = [branch for branch in branches if 1 in branch.x]
    assert far.marker.symbol[far.x.index(1)] == ("triangle-up" if sign > 0 else "triangle-down")
    assert list(best.y) == [sign * 3.0, sign * 1.0, sign * 1.0]


def test_failures_are_sorted_and_complete() -> None:
    figure = plots.failures([("a", 1, 10), ("b", 5, 10), ("c", 0, 10)])
    assert list(figure.data[0].y) == ["b", "a"]
    assert list(figure.data[0].text) == ["5 of 10", "1 of 10"]
