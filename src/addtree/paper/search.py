"""What the hand-written baselines share: expected improvement and the search for its maximum in a box."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import norm

Float = NDArray[np.float64]

CANDIDATES = 512
STARTS = 3


def expected_improvement(mean: Float, std: Float, best: float) -> Float:
    """E max(best - f, 0) for f ~ N(mean, std²).

    >>> round(float(expected_improvement(np.array([0.0]), np.array([1.0]), 0.0)[0]), 6)
    0.398942
    """
    gap = best - mean
    z = gap / std
    return np.asarray(gap * norm.cdf(z) + std * norm.pdf(z), dtype=np.float64)


def maximize_in_box(score: Callable[[Float], Float], dimension: int, rng: np.random.Generator, *, near: Float) -> Float:
    """The best point of the unit cube found from random candidates and small steps from `near`, then L-BFGS-B.

    `score` maps (n x dimension) to n numbers.
    """
    if dimension == 0:
        return np.zeros(0)
    points = rng.random((CANDIDATES, dimension))
    if len(near):
        steps = near[rng.integers(len(near), size=CANDIDATES // 4)]
        points = np.vstack([points, np.clip(steps + 0.05 * rng.standard_normal(steps.shape), 0, 1)])
    values = score(points)
    order = np.argsort(-values)[:STARTS]
    best, best_value = points[order[0]], float(values[order[0]])
    scale = max(abs(best_value), 1e-300)  # EI may be 1e-12: L-BFGS-B's tolerances are absolute
    for start in points[order]:
        found = minimize(
            lambda x: -float(score(x[None])[0]) / scale, start, method="L-BFGS-B", bounds=[(0, 1)] * dimension
        )
        value = -float(found.fun) * scale
        if np.isfinite(value) and value > best_value:
            best, best_value = np.clip(found.x, 0, 1), value
    return np.asarray(best, dtype=np.float64)
