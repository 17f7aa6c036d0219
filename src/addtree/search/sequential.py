"""An initial design that grows one configuration at a time, for spaces that are still being discovered.

Options that were seen least come first, in proportion to what lies below them; each number goes to an empty stratum of
its range. With c values seen there are 2^k > c strata, so one is always empty.
"""

from __future__ import annotations

import numpy as np

from addtree._types import Array
from addtree.search.design import visits_needed
from addtree.space.encoding import Encoding


def next_row(encoding: Encoding, X: Array, rng: np.random.Generator) -> Array:
    """The next row of the design, given the rows X so far.

    >>> from addtree import Categorical, Space
    >>> encoding = Encoding(Space(c=Categorical(["a", "b"])))
    >>> next_row(encoding, np.array([[0.0]]), np.random.default_rng(0))
    array([1.])
    """
    row = np.full(encoding.n_columns, np.nan)
    needed = np.array(visits_needed(encoding), dtype=float)
    queue = [0]
    for i in queue:
        for j in encoding.node_columns[i]:
            codes = X[~np.isnan(X[:, j]), j]
            row[j] = (
                _empty_stratum(codes, rng)
                if encoding.is_numeric[j]
                else _rarest(codes, np.ones(encoding.n_codes[j]), rng)
            )
        for j, options in encoding.node_choices[i]:
            row[j] = _rarest(X[~np.isnan(X[:, j]), j], needed[list(options)], rng)
            queue.append(options[int(row[j])])
    snapped: Array = encoding.snap(row[None])[0]
    return snapped


def has_unseen_option(encoding: Encoding, X: Array) -> bool:
    """Whether some option of some choice is in none of the rows X."""
    return any(
        len(np.unique(X[~np.isnan(X[:, j]), j])) < len(options)
        for choices in encoding.node_choices
        for j, options in choices
    )


def _rarest(codes: Array, weights: Array, rng: np.random.Generator) -> float:
    """A position nobody has taken, else the one furthest below its share."""
    counts = np.bincount(codes.astype(int), minlength=len(weights))
    quotient = np.where(counts == 0, 0.0, (counts + 0.5) / weights)
    return float(rng.choice(np.flatnonzero(quotient == quotient.min())))


def _empty_stratum(codes: Array, rng: np.random.Generator) -> float:
    """A number drawn from a stratum of the unit interval that holds none of the codes."""
    strata = 1 << len(codes).bit_length()
    taken = np.minimum((codes * strata).astype(int), strata - 1)
    empty = np.setdiff1d(np.arange(strata), taken)
    return float((rng.choice(empty) + rng.random()) / strata)
