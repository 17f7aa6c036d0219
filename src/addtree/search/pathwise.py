"""Draws from the posterior, as functions that can be evaluated and differentiated anywhere.

Matheron's rule: a prior draw f plus a correction through the observations is a posterior draw,

    f(x) + k(x, X) K⁻¹ (z - f(X) - ε),        ε ~ N(0, diag(N)),

and it holds term by term: each term's own draw is a function of its own columns, so that a draw of an additive model
decomposes over the tree exactly. Prior draws are sums of M random cosines per term; the correction is exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from addtree._types import Array, Index
from addtree.model.gp import Moments, Posterior
from addtree.model.kernel import Kernel, Rows, TermPoints
from addtree.model.kernel_matrices import Counted, MovingPoints, scatter

_FEATURES = 512  # M, the number of cosines per term.


def _draw_cosines(posterior: Posterior, t: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Random frequencies (F x M) over the F features of term t, and phases (M)."""
    kernel = posterior.kernel
    features, _ = kernel.term_features[t]
    frequencies = rng.normal(size=(len(features), _FEATURES)) * kernel.term_weights(posterior.hyper, t)[:, None]
    if not kernel.terms[t].smooth:  # the spectrum of Matérn-5/2 is a Student t with 5 degrees of freedom
        frequencies /= np.sqrt(rng.chisquare(5.0, size=_FEATURES) / 5.0)
    return frequencies, rng.uniform(0.0, 2.0 * np.pi, size=_FEATURES)


class SamplePath:
    """One draw of the function; its variance is zero."""

    def __init__(self, posterior: Posterior, rng: np.random.Generator) -> None:
        self._posterior = posterior
        kernel, hyper = posterior.kernel, posterior.hyper
        draws = np.sqrt(hyper.amplitudes) * rng.normal(size=len(kernel.terms))
        self._coefficients = draws[kernel.linear]  # of the basis functions of the linear terms
        self._cosines: dict[int, tuple[Array, Array, Array]] = {}
        for t in kernel.stationary:
            frequencies, phases = _draw_cosines(posterior, t, rng)
            weights = rng.normal(size=_FEATURES) * np.sqrt(2.0 * hyper.amplitudes[t] / _FEATURES)
            self._cosines[t] = (frequencies, phases, weights)
        rows = posterior.rows
        noise = rng.normal(size=len(rows)) * np.sqrt(posterior.noise)
        prior = self._prior(rows, TermPoints.from_mask(rows.active), np.arange(len(rows)))[0]
        self._correction = posterior.cholesky.solve(posterior.residuals() - prior - noise)

    @property
    def kernel(self) -> Kernel:
        """The kernel of the posterior."""
        return self._posterior.kernel

    def _prior(self, rows: Rows, counted: TermPoints, row: Index) -> tuple[Array, Callable[[Array], Array]]:
        """The prior draw at points (B), which lie in these rows, and what turns derivatives by it into one by X."""
        kernel, features = self._posterior.kernel, rows.features
        linear = kernel.is_linear[counted.term]
        point, term = counted.point[linear], kernel.linear_position[counted.term[linear]]
        basis, basis_slope = kernel.basis_functions(rows.X)
        value = scatter(point, self._coefficients[term] * basis[row[point], term], len(row))
        slopes: list[tuple[Index, Index, Array]] = []
        for t, (frequencies, phases, weights) in self._cosines.items():
            on = counted.points_of(t)
            if len(on):
                columns, _ = kernel.term_features[t]
                angle = features[np.ix_(row[on], columns)] @ frequencies + phases
                value[on] += np.cos(angle) @ weights
                slopes.append((on, columns, -(np.sin(angle) * weights) @ frequencies.T))

        def gradient(by_value: Array) -> Array:
            by_features = np.zeros_like(features)
            for on, columns, slope in slopes:
                np.add.at(by_features, (row[on][:, None], columns), by_value[on][:, None] * slope)
            out = kernel.by_columns(by_features)
            by_basis = by_value[point] * self._coefficients[term] * basis_slope[row[point], term]
            moves = kernel.polynomials[1][term] > 0
            np.add.at(out, (row[point[moves]], kernel.polynomials[0][term[moves]]), by_basis[moves])
            return out

        return value, gradient

    def predict(self, queries: Rows) -> tuple[Array, Array]:
        """The draw at m queries, and zeros for its variance."""
        cross = self._posterior.cross.value(queries)
        prior = self._prior(queries, TermPoints.from_mask(queries.active), np.arange(len(queries)))[0]
        value = self._posterior.prior_at(queries) + prior + cross @ self._correction
        return value, np.zeros_like(value)

    def moments(self, X: Array, counted: Counted, row: Index | None = None) -> Moments:
        """The draw at moving points, in the form of `Posterior.moments`."""
        posterior = self._posterior
        kernel = posterior.kernel
        points = MovingPoints(kernel, posterior.hyper, posterior.rows, X, counted, row)
        prior_mean = posterior.moving_prior(X, points.counted, row)

        def function(X: Array) -> tuple[Array, Array, Callable[[Array, Array], Array]]:
            cross, _, pull_back = points.value(X)
            prior, by_X = self._prior(kernel.rows(X), points.counted, points.row)
            mean, by_mean_X = prior_mean(X)

            def gradient(by_mean: Array, by_variance: Array) -> Array:
                own = by_X(by_mean) + pull_back(by_mean[:, None] * self._correction, np.zeros_like(by_mean))
                return own + by_mean_X(by_mean)

            value = mean + prior + cross @ self._correction
            return value, np.zeros_like(value), gradient

        return function


class SamplePaths:
    """S draws of the function that share their cosines: at fixed rows they cost little more than one draw.

    The posterior must not have a prior mean.

    freedom  ν: the variance of each draw is that of the posterior times an own factor w, with ν / w ~ χ²(ν), so that
             the draws have a Student t distribution; None for the normal one
    """

    def __init__(
        self, posterior: Posterior, size: int, rng: np.random.Generator, *, freedom: float | None = None
    ) -> None:
        self.size, self._posterior = size, posterior
        kernel, hyper, rows = posterior.kernel, posterior.hyper, posterior.rows
        factor = 1.0 if freedom is None else np.sqrt(freedom / rng.chisquare(freedom, size=size))  # √w
        roots = np.sqrt(hyper.amplitudes[kernel.linear])
        self._coefficients = roots[:, None] * rng.normal(size=(len(roots), size)) * factor  # of the linear terms, L x S
        self._cosines: dict[int, tuple[Array, Array, Array]] = {}
        for t in kernel.stationary:
            weights = rng.normal(size=(_FEATURES, size)) * np.sqrt(2.0 * hyper.amplitudes[t] / _FEATURES) * factor
            self._cosines[t] = (*_draw_cosines(posterior, t, rng), weights)
        noise = rng.normal(size=(len(rows), size)) * np.sqrt(posterior.noise)[:, None] * factor
        self._correction = posterior.cholesky.solve(posterior.z[:, None] - self._prior(rows) - noise)  # n x S

    @property
    def kernel(self) -> Kernel:
        """The kernel of the posterior."""
        return self._posterior.kernel

    def _prior(self, queries: Rows) -> Array:
        """The prior draws at m queries (m x S)."""
        value = queries.basis[:, self.kernel.linear] @ self._coefficients
        for t, (frequencies, phases, weights) in self._cosines.items():
            on = np.flatnonzero(queries.active[:, t])
            if not len(on):
                continue
            columns, _ = self.kernel.term_features[t]
            value[on] += np.cos(queries.features[np.ix_(on, columns)] @ frequencies + phases) @ weights
        return np.asarray(value)

    def values(self, queries: Rows) -> Array:
        """Every draw at m queries (m x S)."""
        return np.asarray(self._prior(queries) + self._posterior.cross.value(queries) @ self._correction)

    def functions(self, X: Array, draw: Index) -> Callable[[Array], tuple[Array, Callable[[], Array]]]:
        """Draw `draw[b]` at moving points X[b], as a function of X: its values (B), and what computes their gradients.

        The gradients (B x D) take half of the time, so they are computed only when they are asked for.
        """
        kernel, active, correction = self.kernel, self.kernel.active(X), self._correction[:, draw].T
        points = MovingPoints(kernel, self._posterior.hyper, self._posterior.rows, X, active)
        counts = np.any(active, axis=0)
        linear = np.flatnonzero(counts[kernel.linear])  # among the linear terms
        coefficients = self._coefficients[np.ix_(linear, draw)].T * active[:, kernel.linear[linear]]
        read, degrees = (part[linear] for part in kernel.polynomials)
        trends = np.flatnonzero(degrees > 0)
        cosines = []  # For each term that is active somewhere: where it is active, what it reads, and its cosines.
        for t, (frequencies, phases, weights) in self._cosines.items():
            if counts[t]:
                on = np.flatnonzero(active[:, t])
                own = np.ascontiguousarray(weights[:, draw[on]].T)
                cosines.append((on, np.ix_(on, kernel.term_features[t][0]), frequencies, phases, own))

        def function(X: Array) -> tuple[Array, Callable[[], Array]]:
            cross, _, pull_back = points.value(X)
            imputed = kernel.impute(X)
            features, (basis, basis_slope) = kernel.features(imputed), kernel.basis_functions(imputed, linear)
            value = np.sum(cross * correction, axis=1) + np.sum(coefficients * basis, axis=1)
            angles = []
            for on, entries, frequencies, phases, own in cosines:
                distinct, which = _distinct_rows(features[entries])
                angles.append((distinct @ frequencies + phases, which))
                value[on] += np.einsum("bm,bm->b", np.cos(angles[-1][0])[which], own)

            def gradient() -> Array:
                by_features = np.zeros_like(features)
                for (_, entries, frequencies, _, own), (angle, which) in zip(cosines, angles, strict=True):
                    by_features[entries] -= (np.sin(angle)[which] * own) @ frequencies.T
                out = kernel.by_columns(by_features) + pull_back(correction, np.zeros(len(X)))
                every = np.arange(len(X))[:, None]
                np.add.at(out, (every, read[trends]), (coefficients * basis_slope)[:, trends])
                return out

            return value, gradient

        return function


def _distinct_rows(values: Array) -> tuple[Array, Index | slice]:
    """The distinct rows, and the number of each row among them. Points that start at one place share their cosines."""
    distinct, which = np.unique(values, axis=0, return_inverse=True)
    return (values, slice(None)) if len(distinct) == len(values) else (distinct, which.reshape(-1))
