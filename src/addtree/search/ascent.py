"""Local maximisation of many points at once: projected BFGS on the unit box, all points in one batch.

symbol  shape       meaning
x       B x d       the free coordinates of each point, packed to the left
H       B x d x d   inverse Hessian estimates of -f
t       B           step sizes

Every evaluation tries one step of every point, so that a dozen starts cost hardly more than one. A step that does not
gain is not taken, but what it shows of the curvature is used, and the next one is shorter.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from addtree._types import Array, Index, Mask

_FIRST_STEP = 0.05  # of the unit interval, along the steepest coordinate
_LONGEST_STEP = 0.5
_TINY = 1e-300
_PATIENCE = 4  # steps over which a rival's gain is judged,
_OUTLOOK = 3.0  # and how many times that it may still gain


def ascend(
    function: Callable[[Array], tuple[Array, Array]],
    X: Array,
    free: Mask,
    row: Index | None = None,
    *,
    steps: int = 40,
    tolerance: float = 1e-9,
    enough: float | None = None,
) -> tuple[Array, Array]:
    """Maximise `function`, X -> value (B), gradient by X, over the free entries of X, each in [0, 1].

    Point b owns the entries of X[row[b]] (of X[b], where no `row` is given) that `free[b]` (B x D) marks; no two
    points own the same. Returns the best X found in so many steps and the values, none worse than at the start.
    Points of which only the best matters are rivals: given `enough`, the ascend ends as soon as none that can still win
    has lately gained that much.
    """
    value, gradient = function(X)
    d = int(free.sum(axis=1).max(initial=0))
    if d == 0:
        return X, value
    row = (np.arange(len(X)) if row is None else row)[:, None]
    B = len(row)
    columns = np.argsort(~free, axis=1, kind="stable")[:, :d]
    valid = free[np.arange(B)[:, None], columns]
    X = X.copy()
    at = (np.broadcast_to(row, columns.shape)[valid], columns[valid])
    rest = X[row, columns]
    x, g = np.where(valid, rest, 0.5), np.where(valid, gradient[row, columns], 0.0)
    H = np.zeros((B, d, d))
    curved = np.zeros(B, dtype=bool)  # whether H knows anything
    t = np.ones(B)
    history = [value]
    for _ in range(steps):
        inside = np.where(g > 0.0, 1.0 - x, x) > 0.0  # the box leaves room uphill
        uphill = g * inside
        step = _apply(H, uphill) * inside
        poor = _dot(step, uphill) <= 0.0  # as it is while H is zero
        first = uphill * (_FIRST_STEP / np.maximum(_largest(uphill), _TINY))[:, None]
        step = np.where(poor[:, None], first, step)
        step *= (t * np.minimum(1.0, _LONGEST_STEP / np.maximum(_largest(step), _TINY)))[:, None]
        tried = np.minimum(np.maximum(x + step, 0.0), 1.0)
        s = tried - x
        if _largest(s).max() < tolerance:
            break
        X[at] = tried[valid]
        new_value, gradient = function(X)
        new_g = np.where(valid, gradient[row, columns], 0.0)
        y = g - new_g  # of the minimised function -f
        sy, yy = _dot(s, y), _dot(y, y)
        learns = (sy > 1e-12 * yy) & (yy > _TINY)
        new = learns & ~curved
        if new.any():
            H[new] = np.eye(d) * (sy[new] / yy[new])[:, None, None]
            curved |= learns
        # BFGS: H + ρ (1 + ρ yᵀHy) ssᵀ - ρ (Hy sᵀ + s yᵀH), where ρ is 1 / sᵀy, or 0 where nothing is learned
        rho = learns / np.where(learns, sy, 1.0)
        Hy = _apply(H, y)
        half = (0.5 * rho * (1.0 + rho * _dot(y, Hy)))[:, None] * s - rho[:, None] * Hy
        rank_two = half[:, :, None] * s[:, None, :]
        H += rank_two + rank_two.transpose(0, 2, 1)
        gained = new_value > value
        x, g = np.where(gained[:, None], tried, x), np.where(gained[:, None], new_g, g)
        value = np.where(gained, new_value, value)
        t = np.where(gained, np.minimum(1.0, 2.0 * t), 0.3 * t)
        history.append(value)
        if enough is not None and len(history) > _PATIENCE:
            gain = value - history[-1 - _PATIENCE]
            if not np.any((gain > enough) & (value + _OUTLOOK * gain >= value.max())):
                break
    X[at] = x[valid]
    return X, value


def _apply(H: Array, v: Array) -> Array:
    """H v of every point."""
    return np.asarray((H @ v[:, :, None])[:, :, 0])


def _dot(u: Array, v: Array) -> Array:
    """uᵀv of every point."""
    return np.asarray((u[:, None, :] @ v[:, :, None])[:, 0, 0])


def _largest(v: Array) -> Array:
    """The largest size of an entry, of every point."""
    return np.asarray(np.maximum.reduce(np.abs(v), axis=1))
