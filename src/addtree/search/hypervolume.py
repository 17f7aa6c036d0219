"""Several objectives: the Pareto front, its hypervolume, and how much hypervolume an evaluation is expected to add.

symbol  shape   meaning
K               the number of objectives, all of them minimised
F       n x K   values; the front are those that no other dominates
r       K       the reference point: only what is better than r in every objective counts
l, u    J x K   disjoint boxes l <= y < u, whose union is what is better than r and dominated by no value

A value y dominates a part of each box. Together these parts are the hypervolume that y adds:

    Σ_j Π_k ((u_jk - y_k)⁺ - (l_jk - y_k)⁺)

For independent normal y_k and ψ_k(t) = E (t - y_k)⁺, its expectation is

    Σ_j Π_k (ψ_k(u_jk) - ψ_k(l_jk))

This is exact for every K. With two objectives the boxes are strips. Every term is positive, so that the logarithm is
computed from those of the terms, also where the expectation underflows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from addtree._types import Array, Index, Mask
from addtree.search.acquisition import Acquisition, log_cdf, log_h, standard_deviation

MAX_OBJECTIVES = 4
"""With more objectives than this, pictures and reports leave hypervolumes out: the time to compute them explodes."""

_MAX_BOXES = 2000  # Values that would take more boxes are left out; four objectives have as many for a front of 70.
_BLOCK = 256  # This many values at once are compared with all others, so that the comparison takes little memory.
_NARROW = 1e-5  # Below this width, in standard deviations, the difference of two ψ is computed as width times slope.


def domination_counts(F: Array) -> Index:
    """By how many others each of the values (n x K) is dominated. Equal values do not dominate each other.

    >>> domination_counts(np.array([[0.0, 2.0], [1.0, 1.0], [1.0, 2.0], [1.0, 1.0]])).tolist()
    [0, 0, 3, 0]
    """
    counts = np.zeros(len(F), dtype=np.intp)
    for start in range(0, len(F), _BLOCK):
        block = F[start : start + _BLOCK]
        no_worse = np.logical_and.reduce([f[:, None] <= g for f, g in zip(F.T, block.T, strict=True)])
        better = np.logical_or.reduce([f[:, None] < g for f, g in zip(F.T, block.T, strict=True)])
        counts[start : start + _BLOCK] = np.sum(no_worse & better, axis=0)
    return counts


def is_nondominated(F: Array) -> Mask:
    """Which of the values (n x K) no other dominates."""
    return np.asarray(domination_counts(F) == 0)


@dataclass(frozen=True)
class Boxes:
    """The disjoint boxes between `low` and `high` (J x K each); a bound in `low` may be -inf."""

    low: Array
    high: Array

    @classmethod
    def below(cls, reference: Array) -> Boxes:
        """One box: all that is better than the reference point."""
        return cls(np.full((1, len(reference)), -np.inf), np.array(reference, dtype=float)[None])

    def __len__(self) -> int:
        return len(self.low)

    def dominated(self, y: Array) -> float:
        """The volume of what a value dominates."""
        sides = self.high - np.maximum(self.low, y)
        return float(np.sum(np.prod(sides[np.all(sides > 0.0, axis=1)], axis=1)))

    def without(self, y: Array) -> Boxes:
        """What a value does not dominate.

        The rest of a box is cut off objective by objective: below y in the first; not below y in the first, but in the
        second; and so on.
        """
        hit = np.all(self.high > y, axis=1)
        parts = [(self.low[~hit], self.high[~hit])]
        low, high = self.low[hit], self.high[hit]
        for k in range(len(y)):
            below = low[:, k] < y[k]
            top = high[below]
            top[:, k] = y[k]
            parts.append((low[below], top))
            low = low.copy()
            low[:, k] = np.maximum(low[:, k], y[k])
        lows, highs = zip(*parts, strict=True)
        return Boxes(np.concatenate(lows), np.concatenate(highs))


def hypervolumes(F: Array, reference: Array) -> Array:
    """The hypervolume of the first value, of the first two, and so on (n); infinite beyond the range of floats.

    >>> hypervolumes(np.array([[1.0, 1.0], [0.0, 1.5], [3.0, 3.0]]), np.array([2.0, 2.0])).tolist()
    [1.0, 1.5, 1.5]
    """
    boxes, gains = Boxes.below(reference), np.zeros(len(F))
    with np.errstate(over="ignore"):
        for i, y in enumerate(F):
            gains[i] = boxes.dominated(y)
            if gains[i] > 0.0:
                boxes = boxes.without(y)
        return np.cumsum(gains)


def reference_point(front: Array, *, margin: float, unit: Array | float = 1.0) -> Array:
    """A point that is slightly worse than a front (n x K) in every objective: by a share of its range.

    unit  what counts as the range of an objective in which all values of the front are equal
    """
    worst = np.max(front, axis=0)
    with np.errstate(over="ignore"):
        span = worst - np.min(front, axis=0)
        point = worst + margin * np.where(span > 0.0, span, unit)
    return np.asarray(np.minimum(point, np.finfo(float).max))


def log_expected_hypervolume_improvement(front: Array, reference: Array) -> Acquisition:
    """log of the expected gain of hypervolume over a front (n x K); means and variances have shape K x m.

    Of a front that takes too many boxes, the last values are left out.
    """
    boxes = Boxes.below(reference)
    for y in front:
        boxes = boxes.without(y)
        if len(boxes) > _MAX_BOXES:
            break
    axes = [_Axis.of(low, high) for low, high in zip(boxes.low.T, boxes.high.T, strict=True)]

    def value(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        lengths = [axis.log_lengths(m, v) for axis, m, v in zip(axes, mean, variance, strict=True)]
        terms = np.sum([length[0][axis.side] for axis, length in zip(axes, lengths, strict=True)], axis=0)  # J x m
        top = np.max(terms, axis=0)
        weights = np.exp(terms - top)
        total = np.sum(weights, axis=0)
        weights /= total
        by_mean, by_variance = (
            np.array(
                [np.sum(weights * length[i][axis.side], axis=0) for axis, length in zip(axes, lengths, strict=True)]
            )
            for i in (1, 2)
        )
        return top + np.log(total), by_mean, by_variance

    return value


@dataclass(frozen=True)
class _Axis:
    """The sides of the boxes along one objective. Many boxes have a side in common, and many sides an end.

    ends  E  the ends of the sides
    high  P  the upper end of each side
    low   P  the lower end of each side; -1 for -inf
    side  J  the side of each box
    """

    ends: Array
    high: Index
    low: Index
    side: Index

    @classmethod
    def of(cls, low: Array, high: Array) -> _Axis:
        ends = np.unique(np.concatenate([low[low > -np.inf], high]))
        lows = np.where(low > -np.inf, np.searchsorted(ends, low), -1)
        pairs, side = np.unique(np.stack([lows, np.searchsorted(ends, high)]), axis=1, return_inverse=True)
        return cls(ends, pairs[1], pairs[0], side.reshape(-1))

    def log_lengths(self, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """log (ψ(high) - ψ(low)) of every side (P x m), and its derivatives by mean and variance.

        With u = (t - mean)/σ, ψ(t) = σ h(u), of which `log_h` gives the logarithm and its derivatives.
        """
        sigma = standard_deviation(variance)
        u = (self.ends[:, None] - mean) / sigma
        log_value, cdf, pdf = log_h(u)
        low, high = self.low, self.high
        width = (self.ends[high] - self.ends[low])[:, None] / sigma
        share = np.where((low < 0)[:, None], 0.0, np.exp(np.minimum(log_value[low] - log_value[high], 0.0)))
        # Far above the mean, a wide side is narrow as well if it is a small part of the way to the mean.
        narrow = (low >= 0)[:, None] & ((width * np.maximum(1.0, np.abs(u[high])) < _NARROW) | (share == 1.0))
        share = np.where(narrow, 0.0, share)
        length = np.log(sigma) + log_value[high] + np.log1p(-share)
        by_u, by_scale = (part[high] - share * part[low] for part in (cdf, pdf))
        by_mean, by_variance = (by_u / (share - 1.0) / sigma, 0.5 * by_scale / (1.0 - share) / sigma**2)
        if narrow.any():
            middle = 0.5 * (u[high] + u[low])
            log_slope, ratio = log_cdf(middle)
            with np.errstate(divide="ignore", invalid="ignore"):
                length = np.where(narrow, np.log(width * sigma) + log_slope, length)
            by_mean = np.where(narrow, -ratio / sigma, by_mean)
            by_variance = np.where(narrow, -0.5 * middle * ratio / sigma**2, by_variance)
        return length, by_mean, by_variance
