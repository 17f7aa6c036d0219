"""What a joint search maximises: an acquisition of one view or of several views, or a sum of several criteria.

Log expected improvement, the log probabilities of feasibility and success and the negative log cost are such summands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from addtree._types import Array
from addtree.search.acquisition import Acquisition
from addtree.search.view import View, acquisition_at


class Criterion(Protocol):
    """A function of whole configurations, to be maximised."""

    def values(self, X: Array) -> Array:
        """The values (m) at rows X (m x D)."""

    def function(self, X: Array) -> Callable[[Array], tuple[Array, Array]]:
        """The values of points that start at X as a function of their numbers, with its gradient."""


@dataclass(frozen=True)
class Single:
    """An acquisition of one view."""

    view: View
    acquisition: Acquisition

    def values(self, X: Array) -> Array:
        """The acquisition at rows X."""
        return self.acquisition(*self.view.predict(self.view.kernel.rows(X)))[0]

    def function(self, X: Array) -> Callable[[Array], tuple[Array, Array]]:
        """The acquisition of points that start at X, with its gradient."""
        return acquisition_at(self.view.moments(X, self.view.kernel.rows(X).active), self.acquisition)


@dataclass(frozen=True)
class Joint:
    """An acquisition of several views of one kernel, which takes means and variances with one row for each."""

    views: tuple[View, ...]
    acquisition: Acquisition

    def values(self, X: Array) -> Array:
        """The acquisition at rows X."""
        rows = self.views[0].kernel.rows(X)
        means, variances = zip(*(view.predict(rows) for view in self.views), strict=True)
        return self.acquisition(np.array(means), np.array(variances))[0]

    def function(self, X: Array) -> Callable[[Array], tuple[Array, Array]]:
        """The acquisition of points that start at X, with its gradient."""
        active = self.views[0].kernel.rows(X).active
        parts = [view.moments(X, active) for view in self.views]

        def joint(X: Array) -> tuple[Array, Array]:
            means, variances, pull_backs = zip(*(part(X) for part in parts), strict=True)
            value, by_mean, by_variance = self.acquisition(np.array(means), np.array(variances))
            gradients = [pull(m, v) for pull, m, v in zip(pull_backs, by_mean, by_variance, strict=True)]
            return value, np.sum(gradients, axis=0)

        return joint


@dataclass(frozen=True)
class Sum:
    """The sum of several criteria."""

    parts: tuple[Criterion, ...]

    def values(self, X: Array) -> Array:
        """The sum at rows X."""
        return np.asarray(sum(part.values(X) for part in self.parts))

    def function(self, X: Array) -> Callable[[Array], tuple[Array, Array]]:
        """The sum of points that start at X, with its gradient."""
        functions = [part.function(X) for part in self.parts]

        def total(X: Array) -> tuple[Array, Array]:
            values, gradients = zip(*(function(X) for function in functions), strict=True)
            return np.sum(values, axis=0), np.sum(gradients, axis=0)

        return total


def plus(criterion: Criterion, bonus: Criterion | None) -> Criterion:
    """The sum of a criterion and another one, if there is another one."""
    return criterion if bonus is None else Sum((criterion, bonus))
