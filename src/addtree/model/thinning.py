"""Choosing the observations to learn from: the best ones and a fair sample of the rest, or the first ones."""

from __future__ import annotations

import numpy as np

from addtree._types import Array, Index

_BEST_SHARE = 4  # One in this many is kept for its good value; the others are drawn, so that no branch is misjudged.


def thin(y: Array, size: int | None) -> Index:
    """Positions of at most `size` of the values y (all if None), in order; the same for the same values.

    >>> thin(np.array([5.0, 1.0, 4.0, 2.0, 3.0]), 9)
    array([0, 1, 2, 3, 4])
    """
    n = len(y)
    if size is None or n <= size:
        return np.arange(n)
    order = np.argsort(y, kind="stable")
    best = order[: size // _BEST_SHARE]
    rest = np.random.default_rng(n).choice(order[len(best) :], size=size - len(best), replace=False)
    return np.sort(np.concatenate([best, rest]))


def round_to_step(n: int, growth: int) -> int:
    """A number up to n that grows in steps of about one in `growth`, so that what depends on it seldom changes.

    >>> [round_to_step(n, 10) for n in (9, 19, 20, 21, 22)]
    [9, 19, 20, 20, 22]
    """
    return n - n % max(1, n // growth)
