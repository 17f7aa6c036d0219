"""Encoded rows that nobody evaluated: stratified samples of a space, and rows moved to another value or option.

The same arguments always give the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from addtree._types import Array, Index
from addtree.space.encoding import Encoding

_SEED = 0  # Every draw of the report starts from this seed, so that a report can be reproduced.


def stratified_sample(encoding: Encoding, size: int) -> Array:
    """Random rows (size x D) that cover each parameter and each option evenly."""
    X = np.full((size, encoding.n_columns), np.nan)
    _fill_stratified(encoding, X, 0, np.arange(size), np.random.default_rng(_SEED))
    return X


def move_to(encoding: Encoding, X: Array, column: int, code: float) -> Array:
    """The rows X with one column set to a code.

    For a choice, rows in which it is active take that option, and everything below the option is a stratified draw.
    What a number opens, and was not open before, is drawn at random.
    """
    X = X.copy()
    if not encoding.is_choice[column]:
        X[:, column] = code
        return encoding.repair(X, np.random.default_rng([_SEED, column])) if column in encoding.cells else X
    rng = np.random.default_rng([_SEED, column, int(code)])
    for node, options in _occurrences(encoding, column):
        rows = np.flatnonzero(encoding.inside(X, node))
        if len(rows):
            encoding.clear(X, options, rows)
            X[rows, column] = code
            _fill_stratified(encoding, X, options[int(code)], rows, rng)
    return X


def columns_below(encoding: Encoding, column: int) -> set[int]:
    """The column itself and every column below its options or intervals."""
    nodes = [child for _, options in _occurrences(encoding, column) for child in options]
    return {column}.union(*(encoding.below[node].tolist() for node in nodes))


def evenly_spaced(positions: Index, size: int) -> Index:
    """At most `size` of these, evenly spaced, including the first and the last.

    >>> evenly_spaced(np.arange(10), 4)
    array([0, 3, 6, 9])
    """
    if len(positions) <= size:
        return positions
    return np.asarray(positions[np.unique(np.linspace(0, len(positions) - 1, size).round().astype(int))])


def _occurrences(encoding: Encoding, column: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The nodes that hold a choice or an opener, each with the nodes that its options or intervals open."""
    for node in range(len(encoding.space.nodes)):
        for branch, children in (*encoding.node_choices[node], *encoding.node_openers[node]):
            if branch == column:
                yield node, children


def _fill_stratified(encoding: Encoding, X: Array, node: int, rows: Index, rng: np.random.Generator) -> None:
    """Write a stratified draw of everything at and below a node into `X[rows]`.

    Of k rows, each lies in the middle of another one of k equal intervals of a number; categories and options occur
    equally often, up to rounding.
    """
    for i, reached in encoding.walk_rows(X, node, rows):
        k = len(reached)
        for j in encoding.node_columns[i]:
            order = rng.permutation(k)
            n_codes = encoding.n_codes[j]
            X[reached, j] = order % n_codes if n_codes else encoding.from_uniform(j, (order + 0.5) / k)
        for j, options in encoding.node_choices[i]:
            X[reached, j] = rng.permutation(k) % len(options)
