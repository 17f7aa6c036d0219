"""What the hand-written baselines share: expected improvement and the search for its maximum in a box."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

from addtree._types import Array

CANDIDATES = 512  # The number of random points that a search scores first.
NEAR = CANDIDATES // 4  # The number of further candidates, which lie close to good points.
STEP = 0.05  # The standard deviation of their distance from a good point, in the unit cube.
STARTS = 3  # The number of candidates, the best ones, from which L-BFGS-B starts.


def expected_improvement(mean: Array, std: Array, best: float) -> Array:
    """E max(best - f, 0) for f ~ N(mean, std²).

    >>> round(float(expected_improvement(np.array([0.0]), np.array([1.0]), 0.0)[0]), 6)
    0.398942
    """
    gap = best - mean
    z = gap / std
    return np.asarray(gap * norm.cdf(z) + std * norm.pdf(z), dtype=np.float64)


def maximize_in_box(score: Callable[[Array], Array], dimension: int, rng: np.random.Generator, *, near: Array) -> Array:
    """The best point of the unit cube that was found: random candidates and small steps from `near`, then L-BFGS-B.

    `score` maps (n x dimension) to n numbers; `near` holds good points, one a row.
    """
    if dimension == 0:
        return np.zeros(0)
    points = rng.random((CANDIDATES, dimension))
    if len(near):
        good = near[rng.integers(len(near), size=NEAR)]
        points = np.vstack([points, np.clip(good + STEP * rng.standard_normal(good.shape), 0, 1)])
    values = score(points)
    order = np.argsort(-values)[:STARTS]
    best, best_value = points[order[0]], float(values[order[0]])
    # Expected improvement may be 1e-12, and L-BFGS-B's tolerances are absolute.
    scale = max(abs(best_value), 1e-300)
    for start in points[order]:
        found = minimize(
            lambda x: -float(score(x[None])[0]) / scale, start, method="L-BFGS-B", bounds=[(0, 1)] * dimension
        )
        value = -float(found.fun) * scale
        if np.isfinite(value) and value > best_value:
            best, best_value = np.clip(found.x, 0, 1), value
    return np.asarray(best, dtype=np.float64)
