"""The initial design: a few configurations that see every option and cover the range of every parameter.

`initial_design` makes all rows at once. `next_row` extends a design one row at a time, for spaces that are still being
discovered. Both give an option a share of the design in proportion to the rows needed to see every option below it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from addtree._types import Array, Index
from addtree.space.encoding import Encoding
from addtree.space.restriction import Restriction


@dataclass(frozen=True)
class DesignSettings:
    """The size of the default design. `benchmarks.variants` compares fewer visits.

    least       rows of the smallest design
    most        rows of the largest design; a space with more options is seen as far as it goes
    visits      visits to every option
    mle_visits  visits under maximum likelihood; without a prior, two leave every other run in a wrong branch
    """

    least: int = 8
    most: int = 24
    visits: int = 2
    mle_visits: int = 3

    def size(self, encoding: Encoding, inference: str = "map") -> int:
        """The number of rows of the design for a space."""
        visits = self.mle_visits if inference == "mle" else self.visits
        return min(max(self.least, visits * rows_needed(encoding)[0]), self.most)


def rows_needed(encoding: Encoding) -> list[int]:
    """Per node, the number of rows that it takes to see every option at and below it once."""
    return encoding.space.tree.fold(lambda i, below: max([1, *map(sum, below)]))


def node_shares(encoding: Encoding) -> Array:
    """Per node, its share of a balanced design."""
    needed = rows_needed(encoding)
    share = np.ones(len(needed))
    for i, choices in enumerate(encoding.node_choices):  # parents come before their children
        for _, options in choices:
            total = sum(needed[o] for o in options)
            for o in options:
                share[o] = share[i] * needed[o] / total
    return share


def initial_design(encoding: Encoding, n: int, rng: np.random.Generator) -> Array:
    """n rows: options dealt by their share, numbers in a Latin hypercube per parameter."""
    X = np.full((n, encoding.n_columns), np.nan)
    needed = np.array(rows_needed(encoding), dtype=float)
    for i, rows in encoding.walk_rows(X, 0, np.arange(n)):
        for j in encoding.node_columns[i]:
            strata = rng.permutation(len(rows))
            if encoding.is_numeric[j]:
                X[rows, j] = encoding.from_uniform(j, (strata + rng.random(len(rows))) / len(rows))
            else:
                X[rows, j] = strata % encoding.n_codes[j]
        for j, options in encoding.node_choices[i]:
            X[rows, j] = _deal(needed[list(options)], len(rows), rng)
    return X


def next_row(encoding: Encoding, X: Array, rng: np.random.Generator, restriction: Restriction | None = None) -> Array:
    """The next row of the design after the rows X: the rarest options, and numbers from the rarest strata.

    The row agrees with the restriction, if there is one.

    >>> from addtree import Categorical, Space
    >>> encoding = Encoding(Space(c=Categorical(["a", "b"])))
    >>> next_row(encoding, np.array([[0.0]]), np.random.default_rng(0))
    array([1.])
    """
    row = np.full(encoding.n_columns, np.nan)
    needed = np.array(rows_needed(encoding), dtype=float)
    for i, _ in encoding.walk(row):
        for j in encoding.node_columns[i]:
            seen = X[~np.isnan(X[:, j]), j]
            if restriction is not None and restriction.fixed[j]:
                row[j] = restriction.codes[j]
            elif encoding.is_numeric[j]:
                u = _from_rarest_stratum(encoding.to_uniform(j, seen), encoding.size(j), rng)
                row[j] = encoding.from_uniform(j, np.array([u]))[0]
            else:
                row[j] = _rarest(seen, np.ones(encoding.n_codes[j]), rng)
        for j, options in encoding.node_choices[i]:
            weights = needed[list(options)]
            if restriction is not None:
                weights = weights * restriction.possible[list(options)]
            row[j] = _rarest(X[~np.isnan(X[:, j]), j], weights, rng)
    return row


def has_unseen_option(encoding: Encoding, X: Array) -> bool:
    """Whether the rows X leave out some option of some choice."""
    return any(
        len(np.unique(X[~np.isnan(X[:, j]), j])) < len(options)
        for choices in encoding.node_choices
        for j, options in choices
    )


def _deal(weights: Array, n: int, rng: np.random.Generator) -> Array:
    """n options in random order: each gets its share by weight, and none gets two before every option has one."""
    counts = np.zeros(len(weights), dtype=np.intp)
    order = rng.permutation(len(weights))  # chance decides which options a short deal leaves out
    for _ in range(n):
        counts[order[np.argmin(_quotients(counts, weights)[order])]] += 1
    return rng.permutation(np.repeat(np.arange(len(weights)), counts)).astype(float)


def _rarest(codes: Array, weights: Array, rng: np.random.Generator) -> float:
    """An option that occurs in none of the codes, else the option furthest below its share; none of weight zero."""
    counts = np.bincount(codes.astype(int), minlength=len(weights))
    quotients = np.where(weights > 0, _quotients(counts, np.where(weights > 0, weights, 1.0)), np.inf)
    return float(rng.choice(np.flatnonzero(quotients == quotients.min())))


def _quotients(counts: Index, weights: Array) -> Array:
    """How far each option is above its share; zero if it was never taken."""
    return np.where(counts == 0, 0.0, (counts + 0.5) / weights)


def _from_rarest_stratum(seen: Array, size: float, rng: np.random.Generator) -> float:
    """A number from the stratum of the unit interval that holds the fewest of c numbers.

    There are 2^k > c strata, so that one is empty, or as many as the variable has values if these are fewer.
    """
    strata = int(min(1 << len(seen).bit_length(), size))
    counts = np.bincount(np.minimum((seen * strata).astype(int), strata - 1), minlength=strata)
    return float((rng.choice(np.flatnonzero(counts == counts.min())) + rng.random()) / strata)
