"""Local maximisation of many points at once: projected BFGS on a box, all points in one batch.

symbol  shape       meaning
x       B x d       the free coordinates of each point, packed to the left
H       B x d x d   inverse Hessian estimates of -f
t       B           step sizes

Every evaluation tries one step of every point, so that a dozen starts cost little more than one. A step that does not
gain is not taken, but its curvature is used, and the next step is shorter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from addtree._types import Array, Index, Mask

_FIRST_STEP = 0.05  # Length of the first step along its steepest coordinate, in units of the unit interval.
_LONGEST_STEP = 0.5  # Longest step along any coordinate.
_SHRINK = 0.3  # A step that does not gain is followed by one of this share of its length.
_SHORTEST_STEP = 1e-9  # The ascent ends when no coordinate of any point moves by this much.
_TINY = 1e-300  # Keeps quotients finite.
_WINDOW = 4  # The gain of a point is judged over this many steps.
_OUTLOOK = 3.0  # A point is assumed to gain at most this many times its gain in the window.


@dataclass(frozen=True)
class Box:
    """What the points may change, and how far.

    free  the entries that point b may change (B x D)
    low   the least value of each entry (B x D), or of all
    high  the largest value of each entry (B x D), or of all
    """

    free: Mask
    low: Array | float = 0.0
    high: Array | float = 1.0

    def packed(self, d: int) -> tuple[Index, Mask, Array | float, Array | float]:
        """Per point d columns, the free ones first, which of them are free, and their bounds (B x d each)."""
        columns = np.argsort(~self.free, axis=1, kind="stable")[:, :d]
        valid = np.take_along_axis(self.free, columns, axis=1)
        if not isinstance(self.low, np.ndarray) or not isinstance(self.high, np.ndarray):
            return columns, valid, self.low, self.high
        low, high = (np.take_along_axis(bound, columns, axis=1) for bound in (self.low, self.high))
        return columns, valid, np.where(valid, low, 0.0), np.where(valid, high, 1.0)


def ascend(
    function: Callable[[Array], tuple[Array, Array]],
    X: Array,
    box: Box,
    row: Index | None = None,
    *,
    steps: int = 40,
    tolerance: float | None = None,
) -> tuple[Array, Array]:
    """Maximise `function`, X -> value (B), gradient by X, over the free entries of X, each within its bounds.

    Point b owns the entries of X[row[b]] (of X[b] without `row`) that `box.free[b]` marks; no two points own the same
    entry. Returns the best X found and the values, none of them worse than at the start.

    steps      largest number of evaluations of the function after the first
    tolerance  the ascent ends when no point that may still become the best has lately gained this much; None if all
               points matter, not only the best
    """
    value, gradient = function(X)
    d = int(box.free.sum(axis=1).max(initial=0))
    if d == 0:
        return X, value
    row = (np.arange(len(X)) if row is None else row)[:, None]
    B = len(row)
    columns, valid, low, high = box.packed(d)
    X = X.copy()
    entries = (np.broadcast_to(row, columns.shape)[valid], columns[valid])
    x, g = np.where(valid, X[row, columns], 0.5), np.where(valid, gradient[row, columns], 0.0)
    curvature, t, history = _Curvature(B, d), np.ones(B), [value]
    for _ in range(steps):
        room = np.where(g > 0.0, high - x, x - low) > 0.0  # the box leaves room uphill
        tried = np.minimum(np.maximum(x + _step(curvature.H, g, room, t), low), high)
        s = tried - x
        if _largest(s).max() < _SHORTEST_STEP:
            break
        X[entries] = tried[valid]
        new_value, gradient = function(X)
        new_g = np.where(valid, gradient[row, columns], 0.0)
        curvature.update(s, g - new_g)  # of the minimised function -f
        gained = new_value > value
        x, g = np.where(gained[:, None], tried, x), np.where(gained[:, None], new_g, g)
        value = np.where(gained, new_value, value)
        t = np.where(gained, np.minimum(1.0, 2.0 * t), _SHRINK * t)
        history.append(value)
        if tolerance is not None and _is_decided(history, tolerance):
            break
    X[entries] = x[valid]
    return X, value


def _step(H: Array, g: Array, room: Mask, t: Array) -> Array:
    """The step of every point: quasi-Newton if H gives an ascent, else along the gradient; only where there is room."""
    uphill = g * room
    step = _apply(H, uphill) * room
    poor = _dot(step, uphill) <= 0.0  # as it is while H is zero
    first = uphill * (_FIRST_STEP / np.maximum(_largest(uphill), _TINY))[:, None]
    step = np.where(poor[:, None], first, step)
    step *= (t * np.minimum(1.0, _LONGEST_STEP / np.maximum(_largest(step), _TINY)))[:, None]
    return step


def _is_decided(history: list[Array], tolerance: float) -> bool:
    """Whether no point that can still become the best has lately gained more than the tolerance."""
    if len(history) <= _WINDOW:
        return False
    value = history[-1]
    gain = value - history[-1 - _WINDOW]
    return not np.any((gain > tolerance) & (value + _OUTLOOK * gain >= value.max()))


class _Curvature:
    """The inverse Hessian estimates H of -f, zero until something is learned; updated in place for speed."""

    def __init__(self, B: int, d: int) -> None:
        self.H = np.zeros((B, d, d))
        self._known = np.zeros(B, dtype=bool)

    def update(self, s: Array, y: Array) -> None:
        """Learn from steps s and the changes y of the gradient of -f.

        BFGS: H + ρ (1 + ρ yᵀHy) ssᵀ - ρ (Hy sᵀ + s yᵀH), where ρ is 1 / sᵀy, or 0 where nothing is learned.
        """
        H, d = self.H, s.shape[1]
        sy, yy = _dot(s, y), _dot(y, y)
        learns = (sy > 1e-12 * yy) & (yy > _TINY)
        new = learns & ~self._known
        if new.any():
            H[new] = np.eye(d) * (sy[new] / yy[new])[:, None, None]
            self._known |= learns
        rho = learns / np.where(learns, sy, 1.0)
        Hy = _apply(H, y)
        half = (0.5 * rho * (1.0 + rho * _dot(y, Hy)))[:, None] * s - rho[:, None] * Hy
        rank_two = half[:, :, None] * s[:, None, :]
        H += rank_two + rank_two.transpose(0, 2, 1)


def _apply(H: Array, v: Array) -> Array:
    """H v of every point."""
    return np.asarray((H @ v[:, :, None])[:, :, 0])


def _dot(u: Array, v: Array) -> Array:
    """uᵀv of every point."""
    return np.asarray((u[:, None, :] @ v[:, :, None])[:, 0, 0])


def _largest(v: Array) -> Array:
    """The largest size of an entry, of every point."""
    return np.asarray(np.maximum.reduce(np.abs(v), axis=1))
