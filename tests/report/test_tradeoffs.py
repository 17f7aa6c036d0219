"""The page of several objectives and of constraints: its sections, little data, hostile names, and the pictures."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import addtree as at
from addtree.report import Limits, Report, build, front_plots
from addtree.report.html import render
from addtree.report.text import explain
from tests.report.hostile import HOSTILE
from tests.report.test_html import TAGS, Page
from tests.strategies import sample

SPACE = at.Space(
    lr=at.Real(1e-3, 1, log=True), m=at.Choice(a=at.Space(x=at.Real(0, 1)), b=at.Space(k=at.Integer(1, 9)))
)
QUICK = Limits(fit=30, refit=20, condition=30, draws=2)


def values(config: dict[str, Any]) -> dict[str, float]:
    t = config.get("x", config.get("k", 0) / 9)
    return {"error": (1 - t) ** 2 + 0.1 * config["lr"], "speed": 2.0 - t, "memory": t + config["lr"]}


def report(
    n: int, objectives: tuple[str, ...], constraints: dict[str, Any] | None = None, *, crash: bool = False
) -> Report:
    names = (*objectives, *(constraints or {}))
    known: list[dict[str, Any]] = []
    for i, config in enumerate(sample(SPACE, n, 0)):
        told = {name: value for name, value in values(config).items() if name in names}
        known.append(
            {"config": config, "state": "failed"} if crash and i % 4 == 0 else {"config": config, "value": told}
        )
    directions = {name: "max" if name == "speed" else "min" for name in objectives}
    return build(SPACE, known, objectives=directions, constraints=constraints, title="some", limits=QUICK)


@pytest.fixture(scope="module")
def two() -> Report:
    return report(24, ("error", "speed"), {"memory": 1.0}, crash=True)


def test_every_section_is_there(two: Report) -> None:
    page = Page(render(two))
    shown = {"front", "attainment", "tradeoffs", "branches", "constraints", "trust", "variance", "effects", "options"}
    assert page.ids >= shown | {"interactions", "failures", "table", "picked", "details"}
    assert not page.ids & {"best", "progress", "why", "optima"}  # these need one objective
    assert set(page.tags) <= set(TAGS.split())
    details = json.loads(page.scripts[1])
    assert two.front is not None
    assert {str(trial.id) for trial in two.front.trials} <= details.keys()
    best = two.front.trials[0]
    assert [name for name, _ in details[str(best.id)]["config"]] == list(best.config)
    assert [name for name, _ in details[str(best.id)]["values"]] == ["error", "speed", "memory"]


def test_each_value_has_a_model(two: Report) -> None:
    assert list(two.models) == ["error", "speed", "memory"]
    assert two.learned is None
    assert all(learned.best is None and learned.optima == () for learned in two.models.values())
    assert all(abs(sum(s.share for s in learned.shares) - 1.0) < 1e-6 for learned in two.models.values())


def test_the_line_of_the_front_bounds_what_it_dominates(two: Report) -> None:
    assert two.front is not None
    figure = front_plots.front(two)
    (line,) = [trace for trace in figure.data if trace.mode == "lines"]
    assert line.line.shape == "hv"  # error is to be small
    assert list(line.x) == [trial.values["error"] for trial in two.front.trials]
    x, y = two.goals.objectives
    (turned,) = [trace for trace in front_plots.front(two, (y, x)).data if trace.mode == "lines"]
    assert turned.line.shape == "vh"  # speed is to be large
    points = [i for trace in figure.data if trace.customdata is not None for i in trace.customdata]
    assert sorted(points) == [trial.id for trial in two.trials if trial.state == "done"]


def test_later_fronts_are_drawn_darker(two: Report) -> None:
    assert two.front is not None
    figure = front_plots.front_moments(two)
    assert [trace.name for trace in figure.data] == [f"after {moment.finished} trials" for moment in two.front.moments]
    assert list(figure.data[-1].x) == [trial.values["error"] for trial in two.front.trials]
    assert [trace.opacity for trace in figure.data] == sorted(trace.opacity for trace in figure.data)
    assert "The front while the run went on" in Page(render(two)).text


def test_the_text_lists_the_front_the_branches_and_the_constraints(two: Report) -> None:
    text = explain(two)
    assert two.front is not None
    feasible = sum(map(two.is_feasible, two.trials))
    assert text.startswith(f"some: 24 trials, 6 failed, {feasible} feasible\nfront: {len(two.front.trials)} trials\n")
    assert f"  trial {two.front.trials[0].id}: error " in text
    assert "memory ≤ 1: kept by" in text
    for name in two.goals.names:
        assert f"what explains the differences between trials in {name}\n" in text


def test_three_objectives_are_shown_in_pairs() -> None:
    three = report(12, ("error", "speed", "memory"))
    page = Page(render(three))
    for pair in ("error and speed", "error and memory", "speed and memory"):
        assert pair in page.text
    assert "The front while the run went on" not in page.text  # its lines are for two objectives
    figure = front_plots.fronts(three)
    assert len({trace.xaxis for trace in figure.data}) == 3
    assert all(trace.mode == "markers" for trace in figure.data)  # a line has no meaning in a pair of three
    assert three.front is not None
    assert three.front.attainment[-1] == 1.0


@pytest.mark.parametrize("n", [0, 1, 3])
def test_little_data(n: int) -> None:
    little = report(n, ("error", "speed"), {"memory": 9.0})
    page = Page(render(little))
    assert {"front", "branches", "table"} <= page.ids
    assert ("No trial has values yet." in page.text) == (n == 0)
    assert f"some: {n} trial" in explain(little)


@pytest.mark.parametrize("objectives", [("error",), ("error", "speed")])
def test_nothing_feasible(objectives: tuple[str, ...]) -> None:
    none = report(8, objectives, {"memory": -1.0})
    page = Page(render(none))
    assert none.best is None
    assert {"constraints", "effects", "table"} <= page.ids
    assert not page.ids & {"attainment", "tradeoffs", "why"}
    assert "no trial keeps the constraints yet; trial" in explain(none)
    if len(objectives) == 1:
        assert "No trial keeps memory ≤ −1 yet. Trial" in page.text


def test_one_objective_with_a_constraint() -> None:
    one = report(20, ("error",), {"memory": (0.2, 0.9)})
    page = Page(render(one))
    assert {"best", "progress", "constraints", "why", "effects"} <= page.ids
    assert not page.ids & {"front", "optima", "details"}
    assert one.best is not None
    assert 0.2 <= one.best.values["memory"] <= 0.9
    assert "0.2 ≤ memory ≤ 0.9" in page.text
    assert one.learned is not None
    assert one.learned.best is not None
    assert all(0.2 <= values(one.trials[i].config)["memory"] <= 0.9 for i, _ in one.best_so_far)


def test_hostile_names_of_values_are_text() -> None:
    names = dict.fromkeys(HOSTILE[:2], "min")
    known = [
        {"config": c, "value": {n: float(i + k) for k, n in enumerate(names)}}
        for i, c in enumerate(sample(SPACE, 5, 0))
    ]
    html = render(build(SPACE, known, objectives=names, constraints=None, limits=QUICK))
    page = Page(html)
    assert set(page.tags) <= set(TAGS.split())
    assert all(name in page.text for name in names)


def test_equal_values_of_one_objective_are_noted() -> None:
    known = [{"config": c, "value": {"error": float(i), "speed": 1.0}} for i, c in enumerate(sample(SPACE, 6, 0))]
    same = build(SPACE, known, objectives={"error": "min", "speed": "max"}, limits=QUICK)
    assert list(same.models) == ["error"]
    assert "speed: All values are the same, so there is nothing to explain." in same.notes
    assert np.isfinite(same.front.attainment).all() if same.front else False
    assert "effects" in Page(render(same)).ids


def test_a_trial_far_from_the_front_does_not_flatten_the_picture() -> None:
    told = [(0.0, 1.0), (0.5, 0.4), (1.0, 0.0), (1.2, 1.1)]

    def ranges(far: float) -> list[tuple[float, float] | None]:
        known = [
            {"config": c, "value": {"f": f, "g": g}}
            for c, (f, g) in zip(sample(SPACE, 5, 0), [*told, (far, far)], strict=True)
        ]
        layout = front_plots.front(build(SPACE, known, objectives={"f": "min", "g": "min"}, limits=QUICK)).layout
        return [layout.xaxis.range, layout.yaxis.range]

    assert ranges(1.5) == [None, None]
    for low, high in filter(None, ranges(1e6)):
        assert low < 0.0
        assert 1.2 < high < 2.5
    assert all(ranges(1e6))


def test_the_fronts_of_options_have_the_axes_of_the_front() -> None:
    told = [(0.1, 9.0), (0.5, 3.0), (0.9, 1.0), (1.0, 900.0)]  # the last is not on the front of its option
    configs = [config for config in sample(SPACE, 60, 0) if "x" in config]
    known = [{"config": c, "value": {"f": f, "g": g}} for c, (f, g) in zip(configs, told, strict=False)]
    report = build(SPACE, known, objectives={"f": "min", "g": "min"}, limits=QUICK)
    assert report.front is not None
    own = front_plots.option_fronts(report, report.front.choices[0], report.goals.objectives)
    whole = front_plots.front(report)
    assert whole.layout.yaxis.type == "log"
    assert (own.layout.xaxis, own.layout.yaxis) == (whole.layout.xaxis, whole.layout.yaxis)
