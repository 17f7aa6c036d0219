"""A prior mean: what is known about the function before its first observation.

symbol  shape   meaning
R       N       support rows
w       N       their weights

    m(x) = c + k(x, R) w

It has the form of the posterior mean of another Gaussian process with the same terms and hyperparameters of its own. So
it adds up over terms as the covariance does, and the search can decompose and differentiate it in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from addtree._types import Array, Index
from addtree.model.kernel import Hyperparameters, Kernel, Rows
from addtree.model.kernel_matrices import Counted, CrossCovariance, MovingPoints


@dataclass(frozen=True)
class PriorMean:
    """m, on the scale of the model.

    hyper    hyperparameters of k, which are not those of the model that has this prior mean
    rows     R
    weights  w
    shift    c
    """

    kernel: Kernel
    hyper: Hyperparameters
    rows: Rows
    weights: Array
    shift: float = 0.0

    @cached_property
    def _cross(self) -> CrossCovariance:
        return CrossCovariance(self.kernel, self.hyper, self.rows)

    def value(self, queries: Rows) -> Array:
        """m at queries; of queries with some terms only, the part of these terms."""
        return self.shift + self._cross.value(queries) @ self.weights

    def moving(
        self, X: Array, counted: Counted, row: Index | None
    ) -> Callable[[Array], tuple[Array, Callable[[Array], Array]]]:
        """m at moving points (see `MovingPoints`), with the function that turns derivatives by m into d/dX."""
        points = MovingPoints(self.kernel, self.hyper, self.rows, X, counted, row)

        def function(X: Array) -> tuple[Array, Callable[[Array], Array]]:
            cross, _, pull_back = points.value(X)
            return self.shift + cross @ self.weights, lambda by_mean: pull_back(
                by_mean[:, None] * self.weights, np.zeros(len(by_mean))
            )

        return function
