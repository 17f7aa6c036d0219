"""Local maximisation of many points at once: projected BFGS on the unit box, all points in one batch.

symbol  shape       meaning
x       B x d       the free coordinates of each point, packed to the left
H       B x d x d   inverse Hessian estimates

One evaluation serves all points, so that a dozen starts cost hardly more than one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from addtree.covariance import Mask
from addtree.encoding import Array

_FIRST_STEP = 0.05  # of the unit interval, along the steepest coordinate
_LONGEST_STEP = 0.5
_ARMIJO = 1e-4
_BACKTRACKS = 6


def climb(
    function: Callable[[Array], tuple[Array, Array]],
    X: Array,
    free: Mask,
    *,
    iterations: int = 30,
    tolerance: float = 1e-9,
) -> tuple[Array, Array]:
    """Maximise `function`, X (B x D) -> value (B), gradient (B x D), over the free entries of X, each in [0, 1].

    Returns the best X found and its values, never worse than the start.
    """
    value, gradient = function(X)
    d = int(free.sum(axis=1).max(initial=0))
    if d == 0:
        return X, value
    B = len(X)
    columns = np.argsort(~free, axis=1, kind="stable")[:, :d]
    row = np.arange(B)[:, None]
    valid = free[row, columns]
    X = X.copy()
    x, g = np.where(valid, X[row, columns], 0.5), np.where(valid, gradient[row, columns], 0.0)
    H = np.zeros((B, d, d))
    fresh = np.ones(B, dtype=bool)  # no curvature known
    eye = np.eye(d)
    for _ in range(iterations):
        blocked = ((x <= 0.0) & (g < 0.0)) | ((x >= 1.0) & (g > 0.0)) | ~valid
        uphill = np.where(blocked, 0.0, g)
        step = np.where(blocked, 0.0, np.einsum("bij,bj->bi", H, uphill))
        steepest = np.max(np.abs(uphill), axis=1)
        poor = fresh | (np.sum(step * uphill, axis=1) <= 0.0)
        step[poor] = uphill[poor] * (_FIRST_STEP / np.maximum(steepest[poor], 1e-300))[:, None]
        step *= np.minimum(1.0, _LONGEST_STEP / np.maximum(np.max(np.abs(step), axis=1), 1e-300))[:, None]
        new_x, new_value, new_g = x, value, g
        t = np.where(steepest > 0.0, 1.0, 0.0)
        moved = np.zeros(B, dtype=bool)
        for _ in range(_BACKTRACKS):
            tried = np.clip(x + t[:, None] * step, 0.0, 1.0)
            tried = np.where(moved[:, None], new_x, tried)
            X[row, columns] = np.where(valid, tried, X[row, columns])
            f, gradient = function(X)
            gain = _ARMIJO * np.sum(g * (tried - x), axis=1)
            better = ~moved & (f >= value + gain) & (f > value)
            new_x = np.where(better[:, None], tried, new_x)
            new_value = np.where(better, f, new_value)
            new_g = np.where(better[:, None] & valid, gradient[row, columns], new_g)
            moved |= better
            if np.all(moved | (t == 0.0)):
                break
            t = np.where(moved, t, 0.3 * t)
        s, y = new_x - x, g - new_g  # y of the minimised function -f
        sy = np.sum(s * y, axis=1)
        curved = moved & (sy > 1e-12 * np.sum(y * y, axis=1))
        scale = np.where(curved, sy / np.where(curved, np.sum(y * y, axis=1), 1.0), 1.0)
        H[curved & fresh] = scale[curved & fresh, None, None] * eye
        rho = np.where(curved, 1.0 / np.where(curved, sy, 1.0), 0.0)
        V = eye - rho[:, None, None] * s[:, :, None] * y[:, None, :]
        update = V @ H @ V.transpose(0, 2, 1) + rho[:, None, None] * s[:, :, None] * s[:, None, :]
        H = np.where(curved[:, None, None], update, H)
        fresh = (fresh & ~curved) | ~moved  # a point that could not move forgets its curvature
        done = np.max(np.abs(s)) < tolerance
        x, value, g = new_x, new_value, new_g
        if done:
            break
    X[row, columns] = np.where(valid, x, X[row, columns])
    return X, value
