"""Observations: encoded rows, their values, and how exactly these are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from addtree._types import Array, Index


@dataclass(frozen=True)
class Observations:
    """Values of some rows.

    X    n x D  encoded rows
    y    n      values, in the units of the objective; lower is better
    std  n      the standard error of each value that is known beforehand; it adds to the noise of all values
    """

    X: Array
    y: Array
    std: Array

    @classmethod
    def exact(cls, X: Array, y: Array) -> Observations:
        """Observations without standard errors."""
        return cls(X, y, np.zeros(len(y)))

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: slice | Index) -> Observations:
        return Observations(self.X[index], self.y[index], self.std[index])
