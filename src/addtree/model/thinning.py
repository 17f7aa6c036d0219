"""Which observations a model is given when there are too many: the best ones, and a fair sample of the rest."""

from __future__ import annotations

import numpy as np

from addtree._types import Array, Index

_BEST = 4  # one in so many is kept for being good; the rest is drawn, so that no branch is left out or misjudged


def thin(y: Array, size: int) -> Index:
    """Positions of at most `size` of the values y, in order; the same ones whenever it is asked.

    >>> thin(np.array([5.0, 1.0, 4.0, 2.0, 3.0]), 9)
    array([0, 1, 2, 3, 4])
    """
    n = len(y)
    if n <= size:
        return np.arange(n)
    order = np.argsort(y, kind="stable")
    best = order[: size // _BEST]
    rest = np.random.default_rng(n).choice(order[len(best) :], size=size - len(best), replace=False)
    return np.sort(np.concatenate([best, rest]))
