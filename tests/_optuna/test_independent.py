"""Values of single parameters without a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from addtree._optuna.independent import draw_value, nearest_value
from addtree.errors import ConfigError


@pytest.mark.parametrize(
    ("distribution", "value", "nearest"),
    [
        (FloatDistribution(0, 1), 2.0, 1.0),
        (FloatDistribution(0, 1), 0.3, 0.3),
        (FloatDistribution(0, 1, step=0.25), 0.3, 0.25),
        (IntDistribution(2, 9), 0, 2),
        (IntDistribution(0, 9, step=3), 5, 6),
        (IntDistribution(10**17, 10**17 + 5), 10**17 + 3, 10**17 + 3),
        (IntDistribution(2**60, 2**60 + 64, step=8), 2**60 + 21, 2**60 + 24),
        (CategoricalDistribution(["a", "b"]), "b", "b"),
        (CategoricalDistribution(["a", None]), None, None),
    ],
)
def test_the_nearest_value(distribution: BaseDistribution, value: Any, nearest: Any) -> None:
    assert nearest_value(distribution, value) == nearest


@pytest.mark.parametrize(
    ("distribution", "value"),
    [
        (IntDistribution(0, 9), "x"),
        (IntDistribution(0, 9), True),
        (FloatDistribution(0, 1), None),
        (CategoricalDistribution(["a", "b"]), "c"),
    ],
)
def test_a_value_of_another_kind_has_no_nearest_value(distribution: BaseDistribution, value: Any) -> None:
    with pytest.raises(ConfigError, match="is not a value of"):
        nearest_value(distribution, value)


@pytest.mark.parametrize(
    "distribution",
    [
        FloatDistribution(-1, 3),
        FloatDistribution(-1e308, 1e308),  # The difference of its ends is not a float.
        FloatDistribution(1e-3, 10, log=True),
        FloatDistribution(0, 1, step=0.125),
        IntDistribution(0, 20, step=4),
        IntDistribution(2**62, 2**62 + 2**20, step=2**18),
        IntDistribution(1, 20, log=True),
        CategoricalDistribution(["a", None, 3]),
    ],
)
def test_drawn_values_belong_to_the_distribution_and_reach_its_ends(distribution: BaseDistribution) -> None:
    rng = np.random.default_rng(0)
    drawn = [distribution.to_internal_repr(draw_value(distribution, {}, rng)) for _ in range(400)]
    assert all(distribution._contains(value) for value in drawn)
    if isinstance(distribution, IntDistribution):
        assert {distribution.low, distribution.high} <= set(drawn)


def test_the_rarest_category_is_drawn() -> None:
    distribution, rng = CategoricalDistribution(["a", "b", "c"]), np.random.default_rng(0)
    assert {draw_value(distribution, {0.0: 2, 1.0: 1, 2.0: 1}, rng) for _ in range(40)} == {"b", "c"}
