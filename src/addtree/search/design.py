"""The initial design: a few configurations that see different options and cover the range of every parameter.

`initial_design` makes all rows at once. `next_row` extends a design one row at a time, for spaces that are still being
discovered. Both give an option a share of the design in proportion to the rows needed to see every option below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from addtree._types import Array, Index
from addtree.space.cells import Cells
from addtree.space.encoding import Encoding
from addtree.space.restriction import Restriction

_INTERVAL_VISITS = 2  # The design moves a number into an interval until the interval was open in this many rows.


@dataclass(frozen=True)
class DesignSettings:
    """The size of the default design. `benchmarks.variants` compares longer ones.

    rows        rows of the design, however many options there are: the model finds out about the others, and the turns
                for neglected branches see to it that none is left out
    mle_least   rows of the smallest design under maximum likelihood
    mle_most    rows of the largest design under maximum likelihood
    mle_visits  visits to every option under maximum likelihood; without a prior, two leave every other run in a wrong
                branch
    """

    rows: int = 6
    mle_least: int = 8
    mle_most: int = 24
    mle_visits: int = 3

    def size(self, encoding: Encoding, inference: str = "map") -> int:
        """The number of rows of the design for a space."""
        if inference == "map":
            return self.rows
        return min(max(self.mle_least, self.mle_visits * rows_needed(encoding)[0]), self.mle_most)


def rows_needed(encoding: Encoding) -> list[int]:
    """Per node, the number of rows that it takes to see every option and interval at and below it once."""
    nodes, tree = encoding.space.nodes, encoding.space.tree

    def needed(i: int, below: list[list[int]]) -> int:
        n_choices = len(nodes[i].choices)
        covers = [
            sum(rows for _, rows in _cover(tree.cells[name], values))
            for (name, _), values in zip(nodes[i].openers, below[n_choices:], strict=True)
        ]
        return max([1, *map(sum, below[:n_choices]), *covers])

    return tree.fold(needed)


def _cover(cells: tuple[tuple[int, ...], ...], needed: Sequence[float]) -> list[tuple[int, int]]:
    """Cells that together open every interval, each with the rows that it takes to see what no earlier one opens."""
    unseen, cover = set(range(len(needed))), []
    while unseen:
        cell = max(range(len(cells)), key=lambda c: len(unseen.intersection(cells[c])))
        cover.append((cell, int(max(needed[o] for o in unseen.intersection(cells[cell])))))
        unseen -= set(cells[cell])
    return cover


def node_shares(encoding: Encoding) -> Array:
    """Per node, its share of a balanced design.

    An interval of a number counts by its width, but at least as half of the share that equal intervals would have.
    """
    needed = rows_needed(encoding)
    share = np.ones(len(needed))
    for i, choices in enumerate(encoding.node_choices):  # parents come before their children
        for _, options in choices:
            total = sum(needed[o] for o in options)
            for o in options:
                share[o] = share[i] * needed[o] / total
        for j, children in encoding.node_openers[i]:
            for child in children:
                share[child] = share[i] * max(_width(encoding, j, child), 0.5 / len(children))
    return share


def _width(encoding: Encoding, column: int, child: int) -> float:
    """The share of the range of an opener in which a node is open."""
    ends = np.clip(encoding.gates[child][-1][1:], 0.0, 1.0)
    low, high = encoding.to_uniform(column, ends)
    return float(high - low)


def initial_design(encoding: Encoding, n: int, rng: np.random.Generator) -> Array:
    """n rows: options dealt by their share, numbers in a Latin hypercube per parameter."""
    X = np.full((n, encoding.n_columns), np.nan)
    needed = np.array(rows_needed(encoding), dtype=float)
    for i, rows in encoding.walk_rows(X):
        for j in encoding.node_columns[i]:
            strata = rng.permutation(len(rows))
            if encoding.is_numeric[j]:
                X[rows, j] = encoding.from_uniform(j, (strata + rng.random(len(rows))) / len(rows))
            else:
                X[rows, j] = strata % encoding.n_codes[j]
        for j, children in encoding.node_openers[i]:
            X[rows, j] = _see_intervals(encoding, j, X[rows, j], needed[list(children)], int(needed[i]), rng)
        for j, options in encoding.node_choices[i]:
            X[rows, j] = _deal(needed[list(options)], len(rows), rng)
    return encoding.feasibility.complete(X, rng)


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
            if encoding.is_numeric[j]:
                u = from_rarest_stratum(encoding.to_uniform(j, seen), encoding.size(j), rng)
                row[j] = encoding.from_uniform(j, np.array([u]))[0]
            else:
                row[j] = _rarest(seen, np.ones(encoding.n_codes[j]), rng)
        for j, children in encoding.node_openers[i]:
            cells = encoding.cells[j]
            lacking = _neglected_intervals(cells, X[~np.isnan(X[:, j]), j], needed[list(children)])
            if lacking and not lacking.intersection(cells.open[int(cells.of_codes(row[j]))]):
                cell = max(range(len(cells)), key=lambda c: len(lacking.intersection(cells.open[c])))
                row[j] = encoding.draw_in_cells(j, (cell, cell), rng.random(1))[0]
        if restriction is not None:
            for j in encoding.node_columns[i]:
                row[[j]] = restriction.adjust(i, j, row[[j]], rng)
        for j, options in encoding.node_choices[i]:
            weights = needed[list(options)]
            if restriction is not None:
                weights = weights * restriction.allowed(i, j)
            row[j] = _rarest(X[~np.isnan(X[:, j]), j], weights, rng)
    if restriction is not None:
        return np.asarray(restriction.complete(row[None], rng)[0])
    return np.asarray(encoding.feasibility.complete(row[None], rng)[0])


def _neglected_intervals(cells: Cells, codes: Array, needed: Array) -> set[int]:
    """The intervals that are open at fewer of the codes than each of them needs."""
    counts = Counter(o for cell in cells.of_codes(codes).tolist() for o in cells.open[cell])
    return {o for o, rows in enumerate(needed.tolist()) if counts[o] < rows}


def _see_intervals(
    encoding: Encoding, column: int, codes: Array, below: Array, needed: int, rng: np.random.Generator
) -> Array:
    """The codes of an opener, some of them moved, so that every interval is open in enough rows.

    below   rows needed to see everything below each interval
    needed  rows needed to see everything at and below the node of the opener
    """
    cells, codes = encoding.cells[column], codes.copy()
    visits = max(1, min(_INTERVAL_VISITS, len(codes) // needed))
    movable = np.ones(len(codes), dtype=bool)
    for cell, rows in _cover(cells.open, below.tolist()):
        wanted = set(cells.open[cell])
        there = np.array([wanted <= set(cells.open[c]) for c in cells.of_codes(codes).tolist()], dtype=bool)
        kept = np.flatnonzero(there & movable)[: visits * rows]
        movable[kept] = False
        lacking = min(visits * rows - len(kept), int(np.sum(movable)))
        chosen = rng.permutation(np.flatnonzero(movable))[:lacking]
        codes[chosen] = encoding.draw_in_cells(column, (cell, cell), rng.random(lacking))
        movable[chosen] = False
    return codes


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


def from_rarest_stratum(seen: Array, size: float, rng: np.random.Generator) -> float:
    """A number from the stratum of the unit interval that holds the fewest of c numbers.

    There are 2^k > c strata, so that one is empty, or as many as the variable has values if these are fewer.
    """
    strata = int(min(1 << len(seen).bit_length(), size))
    counts = np.bincount(np.minimum((seen * strata).astype(int), strata - 1), minlength=strata)
    return float((rng.choice(np.flatnonzero(counts == counts.min())) + rng.random()) / strata)
