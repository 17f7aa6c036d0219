"""What a search sees of the model: the posterior itself, or one draw from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from addtree._types import Array, Index
from addtree.model.gp import Moments
from addtree.model.kernel import Kernel, Rows
from addtree.model.kernel_matrices import Counted
from addtree.search.acquisition import Acquisition


class View(Protocol):
    """Mean and variance anywhere, at fixed rows and at moving points."""

    @property
    def kernel(self) -> Kernel:
        """The kernel."""

    def predict(self, queries: Rows) -> tuple[Array, Array]:
        """Mean and variance at rows."""

    def moments(self, X: Array, counted: Counted, row: Index | None = None) -> Moments:
        """Mean, variance and pull-back at moving points in which only the counted terms count."""


def acquisition_at(moments: Moments, acquisition: Acquisition) -> Callable[[Array], tuple[Array, Array]]:
    """The acquisition of moving points as a function of their positions, with its gradient."""

    def function(X: Array) -> tuple[Array, Array]:
        mean, variance, pull_back = moments(X)
        value, by_mean, by_variance = acquisition(mean, variance)
        return value, pull_back(by_mean, by_variance)

    return function
