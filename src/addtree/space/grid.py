"""Numbers with finitely many values: the conversion between the positions of values and their codes.

symbol  meaning
n       number of values
k       position of a value, from 0 to n - 1
u       number in [0, 1] that draws a value; uniform u make every value equally likely on its scale
code    position on the unit interval: k / (n - 1), or its logarithmic form
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from addtree._types import Array


@dataclass(frozen=True)
class Grid:
    """n values at equal distances, on a linear scale, or on the log scale of the whole numbers from `low` on.

    All methods take and return arrays of any shape. Positions are floats that hold whole numbers.
    """

    n: int
    low: float | None = None

    @property
    def is_log(self) -> bool:
        """Whether the scale is logarithmic."""
        return self.low is not None

    def codes(self, k: Array | float) -> Array:
        """The codes of positions."""
        if self.low is None:
            return np.asarray(k / np.float64(self.n - 1))
        return np.asarray(np.log1p(k / np.float64(self.low)) / np.log1p((self.n - 1) / self.low))

    def positions(self, codes: Array | float) -> Array:
        """The nearest positions."""
        if self.low is None:
            k = np.round(codes * np.float64(self.n - 1))
        else:
            k = np.round(self.low * np.expm1(codes * np.log1p((self.n - 1) / self.low)))
        return np.asarray(np.clip(k, 0, self.n - 1))

    def from_uniform(self, u: Array) -> Array:
        """Codes from uniform numbers, such that on its scale every value has a cell of its own, the ends too."""
        if self.low is None:
            return self.codes(np.minimum(np.floor(u * self.n), self.n - 1))
        first, last = self._edges
        k = np.round(self.low * np.expm1(first + u * (last - first)))
        return self.codes(np.clip(k, 0, self.n - 1))

    def to_uniform(self, codes: Array) -> Array:
        """A uniform number in the cell of each code."""
        k = self.positions(codes)
        if self.low is None:
            return np.asarray((k + 0.5) / self.n)
        first, last = self._edges
        return np.asarray((np.log1p(k / self.low) - first) / (last - first))

    @property
    def _edges(self) -> tuple[float, float]:
        """Where the cell of the first value begins and that of the last one ends, as logarithms relative to `low`."""
        assert self.low is not None
        return float(np.log1p(-0.5 / self.low)), float(np.log1p((self.n - 0.5) / self.low))
