"""Regions: the values of a parent that a condition allows, as disjoint closed intervals in ascending order.

The values of a categorical are counted by their positions. Whole numbers next to each other, and neighbouring
floats, belong to one interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeAlias

Region: TypeAlias = tuple[tuple[float, float], ...]


def region(intervals: Iterable[tuple[float, float]]) -> Region:
    """The union of closed intervals, as few as possible; empty ones do not count.

    >>> region([(4, 6), (1, 2), (3, 3), (9, 8)])
    ((1, 6),)
    """
    merged: list[tuple[float, float]] = []
    for low, high in sorted(interval for interval in intervals if interval[0] <= interval[1]):
        if merged and low <= after(merged[-1][1]):
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def intersection(one: Region, other: Region) -> Region:
    """The values in both regions.

    >>> intersection(((1, 6),), ((0, 2), (5, 9)))
    ((1, 2), (5, 6))
    """
    return region((max(a, c), min(b, d)) for a, b in one for c, d in other)


def is_within(one: Region, other: Region) -> bool:
    """Whether every value of one region is in the other."""
    return intersection(one, other) == one


def after(value: float) -> float:
    """The next value: the next whole number, or the next float."""
    return value + 1 if isinstance(value, int) else math.nextafter(value, math.inf)


def before(value: float) -> float:
    """The previous value: the previous whole number, or the previous float."""
    return value - 1 if isinstance(value, int) else math.nextafter(value, -math.inf)
