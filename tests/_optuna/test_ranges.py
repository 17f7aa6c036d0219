"""Ranges that differ between trials: which ones are dynamic, and positions within them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from addtree._optuna.ranges import (
    NumberDistribution,
    as_suggestion,
    decodes_to,
    is_dynamic,
    position_in,
    suggested_position,
    union,
    value_at,
    values_near,
)

RANGES: list[NumberDistribution] = [
    FloatDistribution(-1, 3),
    FloatDistribution(1e-6, 10, log=True),
    FloatDistribution(0, 1, step=0.1),
    FloatDistribution(-1.7e308, 1.7e308),
    IntDistribution(-3, 9),
    IntDistribution(1, 1000, log=True),
    IntDistribution(8, 64, step=8),
]


@pytest.mark.parametrize("d", RANGES, ids=str)
@given(u=st.floats(0, 1))
def test_every_position_has_a_value_and_every_value_a_position(d: NumberDistribution, u: float) -> None:
    value = value_at(d, u)
    assert d._contains(d.to_internal_repr(value))
    assert value_at(d, position_in(d, value)) == pytest.approx(value)
    assert decodes_to(d, u, value)
    assert value_at(d, 0.0) == d.low
    assert value_at(d, 1.0) == d.high


@pytest.mark.parametrize("d", [IntDistribution(-3, 9), IntDistribution(8, 64, step=8)], ids=str)
def test_the_values_of_a_grid_have_equal_shares(d: IntDistribution) -> None:
    n = (d.high - d.low) // d.step + 1
    found = [value_at(d, (i + 0.5) / n) for i in range(n)]
    assert found == list(range(d.low, d.high + 1, d.step))
    assert [position_in(d, value) for value in found] == pytest.approx([(i + 0.5) / n for i in range(n)])


def test_a_single_value_is_in_the_middle() -> None:
    assert position_in(FloatDistribution(2, 2), 2) == 0.5
    assert value_at(IntDistribution(3, 3), 0.9) == 3


def test_the_values_nearest_to_one() -> None:
    assert list(values_near(IntDistribution(1, 4), 2)) == [2, 1, 3, 4]
    assert list(values_near(FloatDistribution(0, 1), 0.3)) == [0.3]
    assert list(values_near(FloatDistribution(0, 1, step=0.5), 1.0)) == [1.0, 0.5, 0.0]


def test_a_position_is_not_a_value() -> None:
    assert suggested_position(as_suggestion(0.25)) == 0.25
    assert [suggested_position(value) for value in (0.25, "position", None, {"a": 1})] == [None] * 4


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([(0, 10), (0, 10), (0, 5)], False),  # The user narrowed the range.
        ([(0, 10), (20, 30)], False),
        ([(0, 3), (0, 7), (0, 3)], True),  # An earlier range returns.
        ([(0, 3), (0, 4), (0, 5), (0, 6)], True),
    ],
)
def test_which_ranges_are_dynamic(ranges: list[tuple[int, int]], expected: bool) -> None:
    assert is_dynamic([FloatDistribution(*ends) for ends in ranges]) == expected
    assert is_dynamic([IntDistribution(*ends) for ends in ranges]) == expected


def test_categories_are_never_dynamic() -> None:
    few, many = CategoricalDistribution(["a"]), CategoricalDistribution(["a", "b"])
    assert not is_dynamic([few, many, few])


def test_the_union_covers_all_ranges() -> None:
    assert union([IntDistribution(2, 4), IntDistribution(1, 3)]) == IntDistribution(1, 4)
    logs: list[BaseDistribution] = [FloatDistribution(0.1, 1, log=True), FloatDistribution(0.01, 0.5, log=True)]
    assert union(logs) == FloatDistribution(0.01, 1, log=True)
    assert union([FloatDistribution(0, 1), FloatDistribution(1, 2, log=True)]) == FloatDistribution(0, 2)
