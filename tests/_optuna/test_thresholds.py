"""Where a number opens parameters, by the values that were observed."""

from __future__ import annotations

import pytest

from addtree import Real
from addtree._optuna.thresholds import threshold


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [(0.31, 0.68, 0.5), (-0.15, 0.02, 0.0), (-4.94, 2.01, 0.0), (0.0, 0.3, 0.1)],
)
def test_the_roundest_number_between_two_values_is_the_threshold(below: float, above: float, expected: float) -> None:
    assert threshold(Real(-5, 5), below, above) == expected
