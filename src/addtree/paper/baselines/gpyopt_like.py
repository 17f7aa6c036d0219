"""The method of `gpyopt.py` written anew, for machines without GPyOpt.

| symbol | meaning | shape |
|---|---|---|
| C | flat points as codes: the unit interval for numbers, the position for choices and categories | n x variables |
| X | the same points with one-hot columns for choices and categories | n x D |
| y | values, standardised | n |
| θ | log of amplitude, lengthscale, noise variance | 3 |
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize

from addtree._types import Array, Config
from addtree.paper.baselines.flat import active_part, flattened
from addtree.paper.baselines.gpyopt import INITIAL
from addtree.paper.baselines.search import CANDIDATES, STARTS, expected_improvement
from addtree.space.encoding import Encoding
from addtree.space.space import Space

JITTER = 0.01  # The least improvement sought, in units of standardised y; the default of GPyOpt's `acquisition_jitter`.
BOUNDS = ((-7.0, 7.0), (-4.0, 4.0), (-16.0, 0.0))  # The optimizer keeps θ within these bounds.
START = (0.0, 0.0, -9.0)  # The first start of the fit: unit amplitude and lengthscale, a small noise.
RANDOM_STARTS = 2  # The fit also starts from this many random amplitudes and lengthscales.
DIAGONAL = 1e-10  # This is added to the noise variance, so that equal rows of X leave the covariance invertible.


class GPyOptLike:
    """A Gaussian process on the one-hot flattened space, with expected improvement."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._encoding = Encoding(flattened(space))
        self._rng = np.random.default_rng(seed)
        self._X: list[Array] = []
        self._y: list[float] = []

    def ask(self) -> dict[str, Any]:
        """The point with the largest expected improvement, or a random one while there are fewer than five."""
        codes = self._encoding.sample(1, self._rng)[0] if len(self._y) < INITIAL else self._best()
        self._X.append(self._one_hot(codes[None])[0])
        return active_part(self._space, self._encoding.decode(codes))

    def tell(self, config: Config, value: float) -> None:
        """The value of the configuration that was just asked for."""
        self._y.append(value)

    def _best(self) -> Array:
        """The best of random candidates, after L-BFGS-B has improved the numbers of the best few."""
        y = np.array(self._y)
        y = (y - y.mean()) / (y.std() or 1.0)
        X = np.array(self._X)
        theta = fit_flat(X, y, self._rng)

        def score(codes: Array) -> Array:
            return expected_improvement(*predict_flat(theta, X, y, self._one_hot(codes)), float(y.min()) - JITTER)

        points = self._encoding.sample(CANDIDATES, self._rng)
        values = score(points)
        numeric = self._encoding.is_numeric
        found: list[tuple[float, Array]] = []
        for i in np.argsort(-values)[:STARTS]:
            scale = max(abs(float(values[i])), 1e-300)
            point = points[i].copy()

            def loss(z: Array, point: Array = point, scale: float = scale) -> float:
                moved = point.copy()
                moved[numeric] = z
                return -float(score(moved[None])[0]) / scale

            box = [(0, 1)] * int(numeric.sum())
            end = minimize(loss, point[numeric], method="L-BFGS-B", bounds=box, options={"maxiter": 30})
            point[numeric] = np.clip(end.x, 0, 1)
            found.append((-float(end.fun) * scale, point))
        return max(found, key=lambda pair: pair[0])[1]

    def _one_hot(self, codes: Array) -> Array:
        """X from C; integers are rounded, so that points that mean the same configuration have the same row."""
        columns = []
        for column, n_codes in zip(self._encoding.snap(codes).T, self._encoding.n_codes, strict=True):
            columns.append(np.eye(n_codes)[column.astype(int)] if n_codes else column[:, None])
        return np.hstack(columns)


def _squared_distance(A: Array, B: Array) -> Array:
    return np.asarray(np.maximum((A**2).sum(1)[:, None] + (B**2).sum(1) - 2 * A @ B.T, 0), dtype=np.float64)


def negative_log_likelihood(theta: Array, D: Array, y: Array) -> tuple[float, Array]:
    """-log N(y; 0, K) and its gradient; K = a exp(-D / 2ℓ²) + s I, D the squared distances (n x n)."""
    amplitude, length, noise = np.exp(theta)
    S = amplitude * np.exp(-D / (2 * length**2))
    L = cho_factor(S + (noise + DIAGONAL) * np.eye(len(y)), lower=True)
    alpha = cho_solve(L, y)
    G = np.outer(alpha, alpha) - cho_solve(L, np.eye(len(y)))  # 2 d log N / dK
    value = 0.5 * y @ alpha + np.log(np.diag(L[0])).sum() + 0.5 * len(y) * np.log(2 * np.pi)
    gradient = -0.5 * np.array([(G * S).sum(), (G * S * D).sum() / length**2, noise * np.trace(G)])
    return float(value), gradient


def fit_flat(X: Array, y: Array, rng: np.random.Generator) -> Array:
    """The θ of largest likelihood that was found from a fixed start and a few random ones."""
    D = _squared_distance(X, X)
    starts = [np.array(START)]
    starts += [np.array([rng.normal(0, 1), rng.normal(0, 1), START[2]]) for _ in range(RANDOM_STARTS)]
    ends = [
        minimize(negative_log_likelihood, start, args=(D, y), jac=True, method="L-BFGS-B", bounds=BOUNDS)
        for start in starts
    ]
    return np.asarray(min(ends, key=lambda end: float(end.fun)).x, dtype=np.float64)


def predict_flat(theta: Array, X: Array, y: Array, at: Array) -> tuple[Array, Array]:
    """Posterior mean and standard deviation of the flat process at the rows of `at`."""
    amplitude, length, noise = np.exp(theta)
    K = amplitude * np.exp(-_squared_distance(X, X) / (2 * length**2)) + (noise + DIAGONAL) * np.eye(len(y))
    L = np.linalg.cholesky(K)
    k = amplitude * np.exp(-_squared_distance(X, at) / (2 * length**2))
    v = solve_triangular(L, k, lower=True)
    mean = v.T @ solve_triangular(L, y, lower=True)
    return mean, np.sqrt(np.maximum(amplitude - (v**2).sum(axis=0), 1e-16))
