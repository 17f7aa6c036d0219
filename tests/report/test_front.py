"""The front of several objectives: which trials, how it grew, and the trade-offs within each option."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import addtree as at
from addtree.report import build
from addtree.report.front import best_of, find_front, nearest
from addtree.report.html import render
from addtree.report.records import make_records
from addtree.report.text import explain
from addtree.run.goals import Goals
from tests.strategies import sample

SPACE = at.Space(
    m=at.Choice(a=at.Space(x=at.Real(0, 1)), b=at.Space(y=at.Real(0, 1), k=at.Choice(u=at.Space(), v=at.Space())))
)
GOALS = Goals.read({"error": "min", "speed": "max"}, {"size": 1.2})


def values(config: dict[str, Any]) -> dict[str, float]:
    t = config.get("x", config.get("y", 0.0))
    shift = 0.1 * (config["m"] == "b")
    return {"error": t + shift, "speed": t**2 - shift, "size": t + 0.5}


def optimizer(n: int = 30) -> at.Optimizer:
    found = at.Optimizer(SPACE, seed=0, objectives={"error": "min", "speed": "max"}, constraints={"size": 1.2})
    for i, config in enumerate(sample(SPACE, n, 0)):
        if i % 7 == 3:
            found.tell(config, failed=True)
        else:
            found.tell(config, values(config))
    return found


def test_the_front_is_that_of_the_optimizer() -> None:
    run = optimizer()
    front = find_front(SPACE, run.goals, make_records(SPACE, run.trials, run.goals))
    assert {trial.id for trial in run.pareto} == front.ids
    np.testing.assert_allclose(front.hypervolumes, run.hypervolumes())
    assert front.attainment[-1] == 1.0
    errors = [trial.values["error"] for trial in front.trials]
    assert errors == sorted(errors)


def test_earlier_fronts_are_those_of_the_trials_that_had_ended() -> None:
    run = optimizer()
    records = make_records(SPACE, run.trials, run.goals)
    front = find_front(SPACE, run.goals, records)
    assert [moment.finished for moment in front.moments] == [8, 15, 30]
    for moment in front.moments:
        assert moment.trials == find_front(SPACE, run.goals, records[: moment.finished]).trials
    assert front.moments[-1].trials == front.trials
    assert front.moments[0].trials != front.trials


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_shares_of_the_hypervolume_do_not_depend_on_the_units(size: float) -> None:
    goals = Goals.read({"error": "min", "speed": "max"}, None, reference_point={"error": 3.0 * size, "speed": 0.0})
    plain = Goals.read({"error": "min", "speed": "max"}, None, reference_point={"error": 3.0, "speed": 0.0})
    fronts = []
    for unit, sought in ((1.0, plain), (size, goals)):
        run = at.Optimizer(SPACE, seed=0, objectives={"error": "min", "speed": "max"})
        for config in sample(SPACE, 20, 0):
            run.tell(config, {name: unit * (1.0 + values(config)[name]) for name in ("error", "speed")})
        fronts.append(find_front(SPACE, sought, make_records(SPACE, run.trials, sought)))
    np.testing.assert_allclose(fronts[1].attainment, fronts[0].attainment)
    expected, found = ([o.share for c in front.choices for o in c.options] for front in fronts)
    assert found == pytest.approx(expected)


def test_the_front_of_an_option_is_that_of_its_trials_alone() -> None:
    run = optimizer()
    records = make_records(SPACE, run.trials, run.goals)
    front = find_front(SPACE, run.goals, records)
    (m, k) = front.choices
    assert (m.choice, m.condition, k.choice, k.condition) == ("m", "", "k", "when m='b'")
    for option in m.options:
        inside = [record for record in records if record.config["m"] == option.option]
        assert {t.id for t in option.trials} == find_front(SPACE, run.goals, inside).ids
        assert option.tried == len(inside)
        assert option.on_front == len(front.ids & {t.id for t in inside})
        assert option.share is not None
        assert 0.0 < option.share <= 1.0
    a, b = m.options
    assert a.share == pytest.approx(1.0)  # a is better in both objectives everywhere
    assert b.share is not None
    assert b.share < 0.9
    assert sum(option.tried for option in k.options) == m.options[1].tried


def test_nothing_feasible() -> None:
    goals = Goals.read({"error": "min", "speed": "max"}, {"size": -1.0})
    known = [{"config": c, "value": values(c)} for c in sample(SPACE, 9, 0)]
    records = make_records(SPACE, known, goals)
    front = find_front(SPACE, goals, records)
    assert (front.trials, front.attainment, front.hypervolumes) == ((), [], ())
    assert best_of(goals, records, "error") is None
    closest = nearest(goals, records)
    assert closest is not None
    assert closest.values["size"] == min(record.values["size"] for record in records)
    assert nearest(goals, ()) is None


def test_many_objectives_have_no_hypervolume() -> None:
    goals = Goals.read({f"f{k}": "min" for k in range(5)}, None)
    known = [
        {"config": c, "value": {f"f{k}": float(i * k) for k in range(5)}} for i, c in enumerate(sample(SPACE, 4, 0))
    ]
    front = find_front(SPACE, goals, make_records(SPACE, known, goals))
    assert [trial.id for trial in front.trials] == [0]
    assert front.hypervolumes == ()
    assert all(option.share is None for option in front.choices[0].options)


@pytest.mark.parametrize(("limit", "is_said"), [(0.1, True), (9.0, False)])
def test_the_report_says_that_no_trial_reaches_the_reference_point(limit: float, is_said: bool) -> None:
    trials = [{"config": {"x": x}, "value": {"error": 1.0 + x, "speed": x}} for x in (0.0, 0.5, 1.0)]
    objectives = {"error": "min", "speed": "max"}
    point = {"error": limit, "speed": -1.0}
    built = build(at.Space(x=at.Real(0, 1)), trials, objectives=objectives, reference_point=point)
    said = "No feasible trial is better than the reference point error 0.1, speed −1 in every objective"
    assert (said in explain(built)) == (said in render(built)) == is_said
    assert ('id="attainment"' in render(built)) != is_said


def test_a_declared_reference_point_counts() -> None:
    goals = Goals.read({"error": "min", "speed": "max"}, None, reference_point={"error": 1.0, "speed": -1.0})
    known = [{"config": {"m": "a", "x": 0.5}, "value": {"error": 0.5, "speed": 0.0}}]
    front = find_front(SPACE, goals, make_records(SPACE, known, goals))
    assert front.hypervolumes == (0.5,)
    assert front.reference == {"error": 1.0, "speed": -1.0}
