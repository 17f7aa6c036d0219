"""Gaussian-process inference over arrays: the likelihood and the posterior.

symbol  shape   meaning
z       n       observed values, on the scale of the model (see `transform`)
N       n       noise variance of each observation: σ², and the variance that was told with it
K       n x n   covariance of the observations, noise included: k(X, X) + diag(N)
L       n x n   its lower Cholesky factor, by blocks
m       n       prior mean, 0 unless something is known beforehand (see `prior_mean`)
α       n       K⁻¹ (z - m)
k*      m x n   covariance of m queries with the observations

    mean = m* + k* α     variance = k(x*, x*) - k* K⁻¹ k*ᵀ        (the paper's section 4.1)

An observation that shares no active term with a query has k* = 0. If it lies in another block of L, it costs the query
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from addtree._types import Array, Index
from addtree.model.cholesky import BlockCholesky
from addtree.model.kernel import Hyperparameters, Kernel, Rows, stack
from addtree.model.kernel_matrices import Counted, CrossCovariance, GramMatrix, MovingPoints, scatter
from addtree.model.prior_mean import PriorMean

_LOG_2PI = float(np.log(2.0 * np.pi))

# From positions of moving points to mean (B), variance (B), and the function that pulls derivatives by these two back
# to derivatives by the positions.
Moments: TypeAlias = Callable[[Array], tuple[Array, Array, Callable[[Array, Array], Array]]]


class Likelihood:
    """log p(z | X, θ) of fixed rows, with its gradient by log amplitudes, log lengthscales, log noise, and z.

    The blocks of K, and later those of its derivative, lie one after another in one vector, column by column, as LAPACK
    wants them. Only their lower triangles are filled.
    """

    def __init__(self, gram: GramMatrix) -> None:
        self._gram = gram
        self._blocks = gram.rows.blocks
        sizes = np.array([len(rows) for rows in self._blocks], dtype=np.intp)
        self._ends = np.cumsum(sizes * sizes).tolist()
        # Entry (i, j) of K is at corner[i] + place[i] + stride[i] · place[j]; i and j belong to one block.
        place, stride, corner = np.zeros((3, len(gram.rows)), dtype=np.intp)
        for rows, end in zip(self._blocks, self._ends, strict=True):
            place[rows], stride[rows], corner[rows] = np.arange(len(rows)), len(rows), end - len(rows) ** 2
        self._pairs = corner[gram.i] + place[gram.i] + stride[gram.i] * place[gram.j]
        self._diagonal = corner + (1 + stride) * place

    def value_and_gradient(
        self, hyper: Hyperparameters, z: Array, noise: Array
    ) -> tuple[float, Array, Array, Array, Array]:
        """The log likelihood and its derivatives: log amplitudes (T), log lengthscales (S), noise (n), z (n)."""
        pairs, diagonal, pull_back = self._gram.pairs(hyper)
        packed = scatter(self._pairs, pairs, self._ends[-1] if self._ends else 0)
        packed[self._diagonal] = diagonal + noise
        squares = [
            packed[end - len(rows) ** 2 : end].reshape(len(rows), len(rows))
            for rows, end in zip(self._blocks, self._ends, strict=True)
        ]
        linear = hyper.amplitudes[self._gram.kernel.linear]
        for rows, square in zip(self._blocks, squares, strict=True):
            scaled = self._gram.basis[rows] * np.sqrt(linear)
            square += scaled @ scaled.T
        factor = BlockCholesky.factorize_blocks(self._blocks, [square.T for square in squares])
        alpha = factor.solve(z)
        value = -0.5 * float(z @ alpha) - 0.5 * factor.log_determinant() - 0.5 * len(z) * _LOG_2PI
        # d value / dK = (α αᵀ - K⁻¹) / 2, and a pair occurs twice in K
        for rows, square, inverse in zip(self._blocks, squares, factor.inverses(), strict=True):
            np.subtract(np.multiply.outer(alpha[rows], alpha[rows]), inverse.T, out=square)
        by_diagonal = 0.5 * packed[self._diagonal]
        by_amplitude, by_scale = pull_back(packed[self._pairs], by_diagonal)
        # For a linear term with basis φ, d value / da = φᵀ (α αᵀ - K⁻¹) φ / 2 = ((αᵀ φ)² - |L⁻¹ φ|²) / 2
        half = factor.half_solve(self._gram.basis)
        by_linear = (alpha @ self._gram.basis) ** 2 - np.einsum("il,il->l", half, half)
        by_amplitude[self._gram.kernel.linear] = 0.5 * linear * by_linear
        return value, by_amplitude, by_scale, by_diagonal, -alpha


@dataclass(frozen=True)
class Posterior:
    """The Gaussian process given observations z at rows. Immutable: `condition` returns a new one.

    noise       N
    cholesky    L
    alpha       α
    cross       k* of any other rows
    prior_mean  m as a function; None for zero
    """

    kernel: Kernel
    hyper: Hyperparameters
    rows: Rows
    z: Array
    noise: Array
    cholesky: BlockCholesky
    alpha: Array
    cross: CrossCovariance
    prior_mean: PriorMean | None = None

    @classmethod
    def from_data(
        cls,
        kernel: Kernel,
        hyper: Hyperparameters,
        rows: Rows,
        z: Array,
        *,
        noise: Array | None = None,
        gram: GramMatrix | None = None,
        prior_mean: PriorMean | None = None,
    ) -> Posterior:
        """Condition on observations z at rows, from scratch; faster with their Gram matrix.

        noise  N; by default, every observation has the noise variance of the hyperparameters
        """
        noise = np.full(len(z), hyper.noise) if noise is None else noise
        cross = CrossCovariance(kernel, hyper, rows)
        K = cross.value(rows) if gram is None else gram.value(hyper)
        K[np.diag_indices(len(K))] = kernel.variance(hyper, rows.basis) + noise
        factor = BlockCholesky.factorize(K, rows.blocks)
        alpha = factor.solve(_residuals(prior_mean, rows, z))
        return cls(kernel, hyper, rows, z, noise, factor, alpha, cross, prior_mean)

    def condition(self, rows: Rows, z: Array, noise: Array | None = None) -> Posterior:
        """Condition on further observations, appending to the factor where rounding allows it."""
        noise = np.full(len(z), self.hyper.noise) if noise is None else noise
        n, both, values = len(self.rows), stack(self.rows, rows), np.concatenate([self.z, z])
        kernel, hyper, prior_mean, noises = self.kernel, self.hyper, self.prior_mean, np.append(self.noise, noise)
        cross = CrossCovariance(kernel, hyper, both)
        K = cross.value(rows)
        corner = K[:, n:].copy()
        corner[np.diag_indices(len(rows))] = kernel.variance(hyper, rows.basis) + noise
        factor = self.cholesky.append(K[:, :n].T, corner)
        if factor is None:
            return self.from_data(kernel, hyper, both, values, noise=noises, prior_mean=prior_mean)
        alpha = factor.solve(_residuals(prior_mean, both, values))
        return Posterior(kernel, hyper, both, values, noises, factor, alpha, cross, prior_mean)

    def with_pending(self, X: Array) -> Posterior:
        """Condition on rows X that are still being evaluated, each at its present mean."""
        if not len(X):
            return self
        rows = self.kernel.rows(X)
        return self.condition(rows, self.mean(rows))

    def residuals(self) -> Array:
        """z - m at the observations."""
        return _residuals(self.prior_mean, self.rows, self.z)

    def prior_at(self, queries: Rows) -> Array | float:
        """m at queries."""
        return 0.0 if self.prior_mean is None else self.prior_mean.value(queries)

    def moving_prior(
        self, X: Array, counted: Counted, row: Index | None
    ) -> Callable[[Array], tuple[Array | float, Callable[[Array], Array | float]]]:
        """m at moving points, and the function that turns derivatives by m into d/dX."""
        if self.prior_mean is None:
            return lambda X: (0.0, lambda by_mean: 0.0)
        return self.prior_mean.moving(X, counted, row)

    def means(self) -> Array:
        """The mean at the observations themselves: m + k(X, X) α = z - N α."""
        return self.z - self.noise * self.alpha

    def mean(self, queries: Rows) -> Array:
        """Mean of the function at m queries; much faster than with the variance."""
        return np.asarray(self.prior_at(queries) + self.cross.value(queries) @ self.alpha)

    def predict(self, queries: Rows) -> tuple[Array, Array]:
        """Mean and variance of the function, without noise, at m queries."""
        cross = self.cross.value(queries)
        reduction = np.sum(self.cholesky.half_solve(cross.T) ** 2, axis=0)
        variance = self.kernel.variance(self.hyper, queries.basis) - reduction
        return self.prior_at(queries) + cross @ self.alpha, np.maximum(variance, 0.0)

    def joint(self, queries: Rows) -> tuple[Array, Array]:
        """Mean (m) and covariance (m x m) of the function at m queries."""
        cross = self.cross.value(queries)
        half = self.cholesky.half_solve(cross.T)
        prior = CrossCovariance(self.kernel, self.hyper, queries).value(queries)
        return self.prior_at(queries) + cross @ self.alpha, prior - half.T @ half

    def component(self, terms: Sequence[int], queries: Rows) -> tuple[Array, Array]:
        """Mean and variance of the sum of some terms; the means of all components add up to the prediction."""
        return self.predict(queries.only(np.isin(np.arange(len(self.kernel.terms)), terms)))

    def sums(self, weights: Array, queries: Rows) -> tuple[Array, Array]:
        """Mean (g) and covariance (g x g) of weighted sums, weights g x m, of the function at m queries.

        Averages, curves and differences are such sums. Only terms active in the queries count, so that queries whose
        `active` is restricted to some terms give sums of those components alone.
        """
        cross = weights @ self.cross.value(queries)
        prior = weights @ CrossCovariance(self.kernel, self.hyper, queries).value(queries) @ weights.T
        half = self.cholesky.half_solve(np.ascontiguousarray(cross.T))
        mean = cross @ self.alpha
        if self.prior_mean is not None:
            mean = mean + weights @ self.prior_mean.value(queries)
        return mean, prior - half.T @ half

    def leave_one_out(self) -> tuple[Array, Array]:
        """Mean and variance of each observation, noise included, as predicted from all the others.

        With Q = K⁻¹: mean_i = z_i - α_i / Q_ii, variance_i = 1 / Q_ii (Rasmussen and Williams 2006, eq. 5.12).
        """
        diagonal = np.diagonal(self.cholesky.inverse())
        return self.z - self.alpha / diagonal, 1.0 / diagonal

    def moments(self, X: Array, counted: Counted, row: Index | None = None) -> Moments:
        """The moments of B moving points as a function of their positions (see `MovingPoints`).

        The function returns mean (B), variance (B), and the function that pulls derivatives by these two back to X.
        """
        points = MovingPoints(self.kernel, self.hyper, self.rows, X, counted, row)
        prior_mean = self.moving_prior(X, points.counted, row)

        def function(X: Array) -> tuple[Array, Array, Callable[[Array, Array], Array]]:
            cross, prior, pull_back = points.value(X)
            half = self.cholesky.solve(cross.T).T
            variance = np.maximum(prior - np.sum(cross * half, axis=1), 0.0)
            mean, by_X = prior_mean(X)

            def gradient(by_mean: Array, by_variance: Array) -> Array:
                own = pull_back(by_mean[:, None] * self.alpha - 2.0 * by_variance[:, None] * half, by_variance)
                return own + by_X(by_mean)

            return mean + cross @ self.alpha, variance, gradient

        return function


def _residuals(prior_mean: PriorMean | None, rows: Rows, z: Array) -> Array:
    """z - m at rows."""
    return z if prior_mean is None else z - prior_mean.value(rows)
