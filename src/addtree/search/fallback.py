"""Rows to evaluate where neither the design nor the search has one to offer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from addtree._types import Array
from addtree.space.encoding import Encoding
from addtree.space.restriction import Restriction

_RANDOM_ROWS = 256  # Random rows that are tried in a space that is too large to be listed.


def any_row(encoding: Encoding, restriction: Restriction | None, rng: np.random.Generator) -> Array:
    """A random row, whether it is taken or not."""
    X = encoding.sample(1, rng)
    return np.asarray((X if restriction is None else restriction.complete(X, rng))[0])


def new_row(
    encoding: Encoding, taken: set[bytes], restriction: Restriction | None, rng: np.random.Generator
) -> Array | None:
    """A random row that is not taken and agrees with the restriction; None if no such row was found."""
    for X in _random_rows(encoding, taken, rng):
        found = X if restriction is None else restriction.complete(X, rng)
        for row, key in zip(found, encoding.keys(found), strict=True):
            if key not in taken:
                return np.asarray(row)
    return None


def _random_rows(encoding: Encoding, taken: set[bytes], rng: np.random.Generator) -> Iterator[Array]:
    """Rows that satisfy the rules, in several attempts: all of them if they can be listed."""
    if encoding.is_enumerable and len(taken) < encoding.space.n_configs:
        yield rng.permutation(encoding.enumerate())
        return
    yield encoding.sample(_RANDOM_ROWS, rng)
    if encoding.feasibility.rules:  # Where a rule admits little, a sample may have few different rows.
        yield encoding.feasibility.complete(encoding.sample_freely(_RANDOM_ROWS, rng), rng)
