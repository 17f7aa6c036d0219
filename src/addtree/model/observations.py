"""Observations: encoded rows, their values, the standard errors of these, and what was known before them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from addtree._types import Array, Index
from addtree.model.prior_mean import PriorMean


@dataclass(frozen=True)
class Observations:
    """Values of some rows.

    X    n x D  encoded rows
    y    n      values, in the units of the objective; lower is better
    std  n      the standard error that was told with each value, or 0; it adds to the noise of all values

    prior_mean  what is known about the function without these values, on the scale of the model; None if nothing is
    """

    X: Array
    y: Array
    std: Array
    prior_mean: PriorMean | None = None

    @classmethod
    def exact(cls, X: Array, y: Array) -> Observations:
        """Observations without standard errors."""
        return cls(X, y, np.zeros(len(y)))

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: slice | Index) -> Observations:
        return Observations(self.X[index], self.y[index], self.std[index], self.prior_mean)
