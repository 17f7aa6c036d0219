"""The cells of a number that opens parameters: the parts of its range in which the same intervals are open.

A number is compared with the ends of an interval twice: as a value in configurations, and as a code in arrays. Both
must always agree. So every cell has its own values and its own codes, and a conversion that would leave the cell by
rounding is corrected to its end.

A *key* is what the values of a number are compared by: the position of a value on a grid, or a real value itself.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from addtree._types import Array, Index


@dataclass(frozen=True)
class Cells:
    """C cells in ascending order.

    first  the lowest key of each cell
    last   the highest key of each cell
    low    the code of the lowest key of each cell
    high   the code of the highest key of each cell
    open   the intervals that are open in each cell
    """

    first: tuple[Any, ...]
    last: tuple[Any, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    open: tuple[tuple[int, ...], ...]

    @classmethod
    def from_intervals(
        cls,
        intervals: Sequence[tuple[Any, Any]],
        bounds: tuple[Any, Any],
        *,
        next_key: Callable[[Any, int], Any],
        code: Callable[[Any], float],
    ) -> Cells:
        """The cells of closed intervals of keys within the bounds.

        `next_key(key, direction)` is the key after another one, or before it if the direction is -1.
        """
        ends = {next_key(last, 1) for _, last in intervals if last < bounds[1]}
        first = sorted({bounds[0], *(low for low, _ in intervals), *ends})
        last = [*(next_key(key, -1) for key in first[1:]), bounds[1]]
        low: list[float] = []
        high: list[float] = []
        for a, b in zip(first, last, strict=True):
            low.append(max(code(a), math.nextafter(high[-1], math.inf)) if high else code(a))
            high.append(max(code(b), low[-1]))
        opened = tuple(tuple(i for i, (a, b) in enumerate(intervals) if a <= key <= b) for key in first)
        return cls(tuple(first), tuple(last), tuple(low), tuple(high), opened)

    def __len__(self) -> int:
        return len(self.open)

    @cached_property
    def starts(self) -> Array:
        """Where the codes of each cell but the first begin (C - 1)."""
        pairs = zip(self.high[:-1], self.low[1:], strict=True)
        return np.array([max(0.5 * (a + b), math.nextafter(a, math.inf)) for a, b in pairs], dtype=float)

    def of_key(self, key: Any) -> int:
        """The cell of a key."""
        return bisect_right(self.first, key) - 1

    def of_codes(self, codes: Array | float) -> Index:
        """The cell of each code."""
        return np.asarray(np.searchsorted(self.starts, codes, side="right"))

    def clip_code(self, key: Any, code: float) -> float:
        """The code of a key, corrected to the codes of its cell."""
        cell = self.of_key(key)
        return min(max(code, self.low[cell]), self.high[cell])

    def clip_key(self, code: float, key: Any) -> Any:
        """The key of a code, corrected to the keys of its cell; the ends of a cell come out exactly."""
        cell = int(self.of_codes(code))
        if code == self.low[cell]:
            return self.first[cell]
        if code == self.high[cell]:
            return self.last[cell]
        return min(max(key, self.first[cell]), self.last[cell])

    def gate(self, interval: int) -> tuple[float, float]:
        """The lowest and the highest code at which an interval is open."""
        cells = [cell for cell, opened in enumerate(self.open) if interval in opened]
        return self.code_range(cells[0], cells[-1])

    def code_range(self, first: int, last: int) -> tuple[float, float]:
        """The lowest and the highest code that belong to the cells from one to another."""
        ends = [-math.inf, *self.starts.tolist(), math.inf]
        end = ends[last + 1]
        return ends[first], end if math.isinf(end) else math.nextafter(end, -math.inf)
