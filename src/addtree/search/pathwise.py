"""Draws from the posterior, as functions that can be evaluated and differentiated anywhere.

Matheron's rule: a prior draw f plus a correction through the observations is a posterior draw,

    f(x) + k(x, X) K⁻¹ (z - f(X) - ε),        ε ~ N(0, σ² I),

and it holds term by term: each term's own draw is a function of its own columns, so that a draw of an additive model
decomposes over the tree exactly. Prior draws are sums of M random cosines per term; the correction is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from addtree._types import Array, Index
from addtree.model.gp import Moments, Posterior
from addtree.model.kernel import Rows, TermPoints
from addtree.model.kernel_matrices import Counted, MovingPoints, scatter

_FEATURES = 512  # M, cosines per term


class SamplePath:
    """One draw of the function; it has a value and no variance."""

    def __init__(self, posterior: Posterior, rng: np.random.Generator) -> None:
        self._posterior = posterior
        covariance, hyper = posterior.covariance, posterior.hyper
        self._constants = np.where(
            covariance.constant, np.sqrt(hyper.amplitudes) * rng.normal(size=len(covariance.terms)), 0.0
        )
        self._cosines: dict[int, tuple[Array, Array, Array]] = {}
        for t in covariance.varying:
            features, _ = covariance.term_features(t)
            frequencies = rng.normal(size=(len(features), _FEATURES)) * covariance.term_weights(hyper, t)[:, None]
            if not covariance.terms[t].smooth:  # the spectrum of Matérn-5/2 is a Student t with 5 degrees of freedom
                frequencies /= np.sqrt(rng.chisquare(5.0, size=_FEATURES) / 5.0)
            phases = rng.uniform(0.0, 2.0 * np.pi, size=_FEATURES)
            weights = rng.normal(size=_FEATURES) * np.sqrt(2.0 * hyper.amplitudes[t] / _FEATURES)
            self._cosines[t] = (frequencies, phases, weights)
        rows = posterior.rows
        noise = rng.normal(size=len(rows)) * np.sqrt(hyper.noise)
        prior = self._prior(rows.features, TermPoints.from_mask(rows.active), np.arange(len(rows)))[0]
        self._correction = posterior.factor.solve(posterior.z - prior - noise)

    def _prior(self, features: Array, counted: TermPoints, row: Index) -> tuple[Array, Callable[[Array], Array]]:
        """The prior draw at points (B), and what turns derivatives by it into one by the features."""
        covariance = self._posterior.covariance
        value = scatter(counted.point, self._constants[counted.term], len(row))
        slopes: list[tuple[Index, Index, Array]] = []
        for t, (frequencies, phases, weights) in self._cosines.items():
            on = counted.points_of(t)
            if len(on):
                columns, _ = covariance.term_features(t)
                angle = features[np.ix_(row[on], columns)] @ frequencies + phases
                value[on] += np.cos(angle) @ weights
                slopes.append((on, columns, -(np.sin(angle) * weights) @ frequencies.T))

        def gradient(by_value: Array) -> Array:
            out = np.zeros_like(features)
            for on, columns, slope in slopes:
                np.add.at(out, (row[on][:, None], columns), by_value[on][:, None] * slope)
            return out

        return value, gradient

    def predict(self, queries: Rows) -> tuple[Array, Array]:
        """The draw at m queries, and zeros for its variance."""
        cross = self._posterior.cross.value(queries)
        prior = self._prior(queries.features, TermPoints.from_mask(queries.active), np.arange(len(queries)))[0]
        value = prior + cross @ self._correction
        return value, np.zeros_like(value)

    def at(self, X: Array, counted: Counted, row: Index | None = None) -> Moments:
        """The draw at moving points; the same form as `Posterior.at`."""
        posterior = self._posterior
        covariance = posterior.covariance
        points = MovingPoints(covariance, posterior.hyper, posterior.rows, X, counted, row)

        def moments(X: Array) -> tuple[Array, Array, Callable[[Array, Array], Array]]:
            cross, pull_back = points.value(X)
            prior, by_features = self._prior(covariance.rows(X).features, points.counted, points.row)

            def gradient(by_mean: Array, by_variance: Array) -> Array:
                direct = covariance.by_columns(by_features(by_mean))
                return direct + pull_back(by_mean[:, None] * self._correction)

            value = prior + cross @ self._correction
            return value, np.zeros_like(value), gradient

        return moments
