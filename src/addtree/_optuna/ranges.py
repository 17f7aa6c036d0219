"""Ranges that differ between the trials of a study.

A range that depends on another parameter, as in `suggest_float("x", 0, n)`, is *dynamic*. Its values are modelled by
their positions in [0, 1] within the range of their own trial. A range that the user edited between two runs is not
dynamic: its values keep their meaning.

A suggestion for a dynamic range is a position until the objective asks for the parameter and thereby shows the range.
It is stored as {"position": u}, which no parameter has as a value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

_MAX_CHANGES = 2
"""A range that changed at most this often, never back to an earlier one, was edited by the user. Any other range that
changes depends on another parameter."""

_KEY = "position"

NumberDistribution = FloatDistribution | IntDistribution


def as_suggestion(position: float) -> dict[str, float]:
    """A position as a suggestion."""
    return {_KEY: float(position)}


def suggested_position(value: Any) -> float | None:
    """The position that a suggestion holds; None if it holds a value.

    >>> suggested_position(as_suggestion(0.25)), suggested_position(0.25)
    (0.25, None)
    """
    return float(value[_KEY]) if isinstance(value, dict) and value.keys() == {_KEY} else None


def is_dynamic(seen: Sequence[BaseDistribution]) -> bool:
    """Whether the distributions that a parameter had, the oldest first, show that its range depends on another one."""
    runs = [distribution for distribution, _ in groupby(seen)]
    if any(isinstance(distribution, CategoricalDistribution) for distribution in runs):
        return False
    repeated = any(distribution in runs[:i] for i, distribution in enumerate(runs))
    return len(runs) - 1 > _MAX_CHANGES or repeated


def union(seen: Sequence[BaseDistribution]) -> NumberDistribution:
    """The narrowest distribution that covers all of these ranges."""
    ranges = [d for d in seen if isinstance(d, (FloatDistribution, IntDistribution))]
    last = ranges[-1]
    low, high = min(d.low for d in ranges), max(d.high for d in ranges)
    log = last.log and low > 0
    if all(isinstance(d, IntDistribution) for d in ranges):
        return IntDistribution(int(low), int(high), log=log)
    return FloatDistribution(low, high, log=log)


def extended(d: NumberDistribution, values: Sequence[float]) -> NumberDistribution:
    """The range, widened to hold values of earlier trials, on either side by at most its own width.

    >>> extended(FloatDistribution(0, 1), [0.5, -0.3, 7.0])
    FloatDistribution(high=2.0, log=False, low=-0.3, step=None)
    >>> extended(IntDistribution(10, 20, step=5), [3])
    IntDistribution(high=20, log=False, low=0, step=5)
    """
    if d.single():
        return d
    if d.step is None or d.log:
        start, end = _ends(d)
        width = (end - start) if math.isfinite(end - start) else 0.0
        low, high = (math.exp(x) if d.log else x for x in (start - width, end + width))
        least = min(max(min(values, default=d.low), low), d.low)
        largest = max(min(max(values, default=d.high), high), d.high)
        if isinstance(d, IntDistribution):
            return IntDistribution(max(math.ceil(least), 1), math.floor(largest), log=True)
        return FloatDistribution(least, largest, log=d.log)
    n = _last_step(d)
    below = min(math.ceil(max(d.low - min(values, default=d.low), 0) / d.step), n)
    above = min(math.ceil(max(max(values, default=d.high) - d.high, 0) / d.step), n)
    if isinstance(d, IntDistribution):
        return IntDistribution(d.low - below * d.step, d.high + above * d.step, step=d.step)
    return FloatDistribution(d.low - below * d.step, d.high + above * d.step, step=d.step)


def position_in(d: NumberDistribution, value: float) -> float:
    """The position of a value within a range, in [0, 1]; the middle if the range has a single value.

    A value on a grid has the middle of its share of the range.

    >>> position_in(FloatDistribution(1, 100, log=True), 10.0), position_in(IntDistribution(1, 2), 2)
    (0.5, 0.75)
    """
    low, high = _ends(d)
    if d.single() or not low < high:
        return 0.5
    x = math.log(value) if d.log else float(value)
    return min(max((x / 2 - low / 2) / (high / 2 - low / 2), 0.0), 1.0)  # Halves, because a range may exceed a float.


def value_at(d: NumberDistribution, position: float) -> float | int:
    """The value at a position within a range."""
    low, high = _ends(d)
    raw = (1 - position) * low + position * high
    raw = math.exp(raw) if d.log else raw
    if d.step is None:
        return d.low if position <= 0 else d.high if position >= 1 else min(max(float(raw), d.low), d.high)
    n = _last_step(d)
    i = min(max(round((raw - d.low) / d.step), 0), n)
    return d.high if i == n else d.low + i * d.step


def decodes_to(d: BaseDistribution, position: float, value: Any) -> bool:
    """Whether a position within a range stands for this value."""
    return isinstance(d, (FloatDistribution, IntDistribution)) and value_at(d, position) == value


def moved_position(before: BaseDistribution | None, now: BaseDistribution, value: Any) -> float | None:
    """The position of a value in the range that it was suggested for, if it is outside of the present one.

    >>> moved_position(FloatDistribution(0, 4), FloatDistribution(0, 1), 3.0)
    0.75
    """
    if not isinstance(before, (FloatDistribution, IntDistribution)) or not isinstance(value, (int, float)):
        return None
    if not isinstance(now, (FloatDistribution, IntDistribution)) or now.low <= value <= now.high:
        return None
    return position_in(before, value)


def values_near(d: NumberDistribution, value: float) -> Iterator[float | int]:
    """The values of a grid by their distance from a value, which comes first; a continuous range has only this one."""
    yield value
    if d.step is None:
        return
    n = _last_step(d)
    first = round((value - d.low) / d.step)
    for distance in range(1, n + 1):
        for i in (first - distance, first + distance):
            if 0 <= i <= n:
                yield d.high if i == n else d.low + i * d.step


def _last_step(d: NumberDistribution) -> int:
    """The number of steps between the ends of a grid."""
    return round((d.high - d.low) / (d.step or 1))


def _ends(d: NumberDistribution) -> tuple[float, float]:
    """The ends of the range on its scale. Each value on a grid owns half a step on either side."""
    edge = 0.0 if d.step is None else d.step / 2
    low, high = d.low - edge, d.high + edge
    return (math.log(low), math.log(high)) if d.log else (float(low), float(high))
