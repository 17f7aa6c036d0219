"""Where constraints are kept and evaluations succeed: probabilities that agree with what was observed."""

from __future__ import annotations

from typing import Any

import numpy as np

import addtree as at
from addtree.report.feasibility import constraint_requirements, success_requirement
from addtree.report.model import DEFAULT_LIMITS
from addtree.report.records import Record, make_records
from addtree.run.goals import Goals
from tests.strategies import sample

SPACE = at.Space(
    m=at.Choice(
        small=at.Space(z=at.Real(0, 1)),
        large=at.Space(units=at.Integer(1, 400), depth=at.Integer(1, 8), free=at.Real(0, 1)),
    )
)


def memory(config: dict[str, Any]) -> float:
    return 0.1 if config["m"] == "small" else config["units"] * config["depth"] / 100.0


def records(goals: Goals, n: int = 60) -> tuple[Record, ...]:
    known = [{"config": c, "value": {"value": 1.0, "memory": memory(c)}} for c in sample(SPACE, n, 0)]
    return make_records(SPACE, known, goals)


def test_a_constraint_is_mapped_by_the_parameters_that_matter() -> None:
    goals = Goals.read(None, {"memory": 10.0})
    (found,) = constraint_requirements(SPACE, goals, records(goals), DEFAULT_LIMITS)
    assert found.text == "memory ≤ 10"
    assert found.good == sum(memory(c) <= 10.0 for c in sample(SPACE, 60, 0))
    assert found.tried == 60
    small, large = found.options
    assert (small.option, small.good, small.tried) == ("small", small.tried, small.tried)
    assert small.probability > 0.95 > 0.8 > large.probability
    (shown,) = found.maps
    assert shown.b is not None
    assert {shown.a.name, shown.b.name} == {"units", "depth"}
    a, b = np.array(shown.a.values, dtype=float), np.array(shown.b.values, dtype=float)
    truth = a[:, None] * b / 100.0
    assert np.mean(shown.mean[truth < 8.0]) > 0.95  # away from the bound the map is right
    assert np.mean(shown.mean[truth > 12.0]) < 0.05
    assert len(shown.points) == large.tried
    assert sum(good for *_, good in shown.points) == large.good
    assert found.rule is not None
    assert "units >" in str(found.rule)


def test_bounds_on_the_other_side() -> None:
    goals = Goals.read(None, {"memory": (10.0, None)})
    (found,) = constraint_requirements(SPACE, goals, records(goals), DEFAULT_LIMITS)
    small, large = found.options
    assert small.probability < 0.05 < large.probability
    assert found.text == "memory ≥ 10"


def test_success_is_mapped_like_a_constraint() -> None:
    known = [
        Record(i, c, "failed" if memory(c) > 10.0 else "done", value=1.0, values={"value": 1.0})
        for i, c in enumerate(sample(SPACE, 60, 0))
    ]
    known.append(Record(60, {"m": "large"}, "failed"))  # it failed before it was complete
    found = success_requirement(SPACE, known)
    assert found is not None
    assert (found.name, found.tried) == (None, 60)
    small, large = found.options
    assert small.probability > 0.9 > large.probability
    assert {found.maps[0].a.name, getattr(found.maps[0].b, "name", None)} == {"units", "depth"}
    assert success_requirement(SPACE, [trial for trial in known if trial.state == "done"]) is None


def test_few_or_equal_values_give_counts_only() -> None:
    goals = Goals.read(None, {"memory": 10.0})
    (few,) = constraint_requirements(SPACE, goals, records(goals, 3), DEFAULT_LIMITS)
    assert (few.tried, few.options, few.maps) == (3, (), ())
    same = [{"config": c, "value": {"value": 1.0, "memory": 1.0}} for c in sample(SPACE, 9, 0)]
    (constant,) = constraint_requirements(SPACE, goals, make_records(SPACE, same, goals), DEFAULT_LIMITS)
    assert (constant.good, constant.options, constant.maps) == (9, (), ())


def test_one_parameter_is_a_curve() -> None:
    space, goals = at.Space(x=at.Real(0, 1)), Goals.read(None, {"memory": 0.5})
    known = [{"config": {"x": x}, "value": {"value": 0.0, "memory": x}} for x in np.linspace(0, 1, 12)]
    (found,) = constraint_requirements(space, goals, make_records(space, known, goals), DEFAULT_LIMITS)
    (shown,) = found.maps
    assert shown.b is None
    assert shown.mean[0] > 0.95
    assert shown.mean[-1] < 0.05
