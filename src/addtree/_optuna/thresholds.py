"""Where a number opens parameters, by the values that were observed.

Between an observed value with a parameter and the next one without it lies a threshold that no trial shows. People
write round thresholds, so the roundest number between two real values is taken. It is likely to be right, and it stays
the same while further values narrow the gap. Between whole numbers, the middle is taken.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TypeAlias

import numpy as np

from addtree._types import Array, Mask
from addtree.space.assembly import Interval
from addtree.space.parameters import Integer, Real

Number: TypeAlias = Real | Integer

_MAX_DIGITS = 17
"""Floats have no more significant digits than this."""


def open_intervals(domain: Number, values: Array, closed: Mask) -> list[Interval]:
    """The widest closed intervals that hold no closed value but at least one other.

    values  the observed values in ascending order, each once
    closed  which of them lie outside of every interval

    The ends of the range are infinite, so that a value outside of the present range belongs to an interval too.

    >>> open_intervals(Integer(1, 9), np.array([1.0, 2.0, 5.0, 9.0]), np.array([True, False, False, True]))
    [(2, 7)]
    >>> open_intervals(Real(0, 1), np.array([0.08, 0.13]), np.array([True, False]))
    [(0.10000000000000002, inf)]
    """
    edges = np.flatnonzero(closed[1:] != closed[:-1]) + 1
    starts = [0, *edges.tolist()]
    ends = [*edges.tolist(), len(values)]
    found = []
    for start, end in zip(starts, ends, strict=True):
        if not closed[start]:
            low = -math.inf if start == 0 else _after(domain, threshold(domain, values[start - 1], values[start]))
            high = math.inf if end == len(values) else threshold(domain, values[end - 1], values[end])
            found.append((low, high))
    return found


def threshold(domain: Number, below: float, above: float) -> float:
    """The largest value that counts as being on the side of `below`."""
    below, above = float(below), float(above)
    middle = math.sqrt(below) * math.sqrt(above) if domain.log and below > 0 else below / 2 + above / 2
    if isinstance(domain, Integer):
        return min(max(math.floor(middle), below), above - 1)
    return _roundest(below, above, middle)


def within(domain: Number, interval: Interval) -> Interval | None:
    """The part of an interval within the range of a number; None if there is none."""
    low, high = max(interval[0], domain.low), min(interval[1], domain.high)
    if low > high:
        return None
    return (int(low), int(high)) if isinstance(domain, Integer) else (low, high)


def _roundest(below: float, above: float, middle: float) -> float:
    """The number in [below, above) with the largest power of ten as its last digit; of several, the middle one.

    Zero between two values is rounder than any other number.
    """
    if below < 0 < above:
        return 0.0
    largest = math.floor(math.log10(max(abs(below), abs(above), 1e-300)))
    for exponent in range(largest, largest - _MAX_DIGITS, -1):
        with suppress(OverflowError):  # The nearest round number may exceed a float.
            nearest = round(middle, -exponent)
            for candidate in (nearest, nearest - 10.0**exponent, nearest + 10.0**exponent):
                rounded = round(candidate, -exponent)
                if below <= rounded < above:
                    return rounded
    return below


def _after(domain: Number, value: float) -> float:
    """The value after another one."""
    return value + 1 if isinstance(domain, Integer) else math.nextafter(value, math.inf)
