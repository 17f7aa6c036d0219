"""Maximising an acquisition that adds up over vertices: the paper's Algorithm 2, for several choices in a node.

With u_v the best value of vertex v's own low-dimensional problem,

    U(S) = sum of u_v over the vertices at S + sum over choices c at S of max over options o of U(S_{c,o})

is the best sum over the whole space, in time linear in the vertices. The combination is exact; each vertex problem is
solved by ascents from several starting points, which may miss its optimum. The sum of the vertices' upper confidence
bounds is maximised, which is not the upper confidence bound of the sum.

A number that opens parameters belongs to a vertex. The value of each candidate for that vertex includes the sums of the
nodes that the candidate opens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from addtree._types import Array, Index
from addtree.model.gp import Moments
from addtree.model.kernel import Kernel, TermPoints
from addtree.search.acquisition import Acquisition
from addtree.search.ascent import Box, ascend
from addtree.search.view import View, acquisition_at
from addtree.space.encoding import Encoding
from addtree.space.restriction import Restriction


@dataclass(frozen=True)
class VertexSearch:
    """How each vertex problem is solved.

    samples  random starting values
    ascents  how many of them, the best, are improved by gradient ascent; 0 takes the best sample as it is
    """

    samples: int = 32
    ascents: int = 3


def maximize_sum(
    view: View,
    encoding: Encoding,
    acquisition: Callable[[Array], Acquisition],
    rng: np.random.Generator,
    *,
    search: VertexSearch | None = None,
    restriction: Restriction | None = None,
) -> tuple[Array, float]:
    """The row that maximises the sum of every active vertex's and option's own acquisition, and that sum.

    `acquisition` takes the dimension of each point's problem (B) and returns the acquisition to use there. Terms other
    than the vertices' own and the options' offsets are left out. Only rows that agree with the restriction count.
    """
    solutions = _solve_vertices(view, encoding, acquisition, rng, search or VertexSearch(), restriction)
    offsets = _solve_offsets(view, encoding, acquisition)
    combination = _Combination(encoding, solutions, offsets, rng, restriction)
    total = encoding.space.tree.fold(combination.best_sum)[0]
    row = np.full(encoding.n_columns, np.nan)
    for i, _ in encoding.walk(row):
        for j in encoding.node_columns[i]:
            row[j] = combination.row[j]
        for j, _ in encoding.node_choices[i]:
            row[j] = combination.picks[i, j]
    return row, total


@dataclass(frozen=True)
class _Solutions:
    """Solutions of the V vertex problems.

    columns     the columns of each vertex
    row         the best values of every vertex, in one row (D)
    values      their acquisition (V)
    candidates  M further rows
    scores      the acquisition of every vertex in each of them (V x M)
    """

    columns: tuple[tuple[int, ...], ...]
    row: Array
    values: Array
    candidates: Array
    scores: Array


class _Combination:
    """The combination of vertex solutions: the best option of each choice, and the best values of each vertex.

    row    the values of the vertices; those of a vertex that opens nodes are known after its node was visited
    picks  the best option, by node and column of the choice
    """

    def __init__(
        self,
        encoding: Encoding,
        solutions: _Solutions,
        offsets: dict[tuple[int, int], float],
        rng: np.random.Generator,
        restriction: Restriction | None,
    ) -> None:
        self.row = solutions.row.copy()
        self.picks: dict[tuple[int, int], int] = {}
        self._encoding, self._solutions, self._offsets, self._rng = encoding, solutions, offsets, rng
        self._restriction = restriction
        self._opened: dict[tuple[int, int], float] = {}  # the best sum below each interval, by column and interval
        first_node = {j: i for i in reversed(range(len(encoding.node_columns))) for j in encoding.node_columns[i]}
        # A vertex may have its parameters in several nodes of a path. It counts at the node that holds its first one,
        # or where all that it opens is known.
        self._vertex_at: dict[int, int] = {}
        for v, columns in enumerate(solutions.columns):
            openers = [j for j in columns if j in encoding.cells]
            self._vertex_at[min(openers, key=lambda j: first_node[j]) if openers else columns[0]] = v

    def best_sum(self, i: int, below: list[list[float]]) -> float:
        """The best sum at and below a node, given those of the nodes directly below it."""
        encoding, choices = self._encoding, self._encoding.node_choices[i]
        for (j, _), sums in zip(encoding.node_openers[i], below[len(choices) :], strict=True):
            self._opened.update({(j, o): value for o, value in enumerate(sums)})
        here = (self._vertex_at[j] for j in encoding.node_columns[i] if j in self._vertex_at)
        total = float(sum(map(self._worth, here)))
        for (j, _), sums in zip(choices, below, strict=False):
            values = np.array([self._offsets.get((j, o), 0.0) + value for o, value in enumerate(sums)])
            if self._restriction is not None:
                values[~self._restriction.allowed(i, j)] = -np.inf
            ties = (values == values.max()).nonzero()[0]  # options that were never seen are equal
            self.picks[i, j] = best = int(ties[0] if len(ties) == 1 else self._rng.choice(ties))
            total += float(values[best])
        return total

    def _worth(self, v: int) -> float:
        """The best value of a vertex, with the sums of the nodes that it opens.

        A vertex may have openers in several nodes, so a cell counts if it is allowed at one of them.
        """
        encoding, solutions = self._encoding, self._solutions
        columns = list(solutions.columns[v])
        openers = [j for j in columns if j in encoding.cells]
        if not openers:
            return float(solutions.values[v])
        total = solutions.scores[v].copy()
        for j in openers:
            cells = encoding.cells[j]
            worth = [sum(self._opened.get((j, o), 0.0) for o in opened) for opened in cells.open]
            if self._restriction is not None:
                worth = np.where(self._restriction.allowed_anywhere(j), worth, -np.inf).tolist()
            total += np.array(worth)[cells.of_codes(solutions.candidates[:, j])]
        best = int(np.argmax(total))
        self.row[columns] = solutions.candidates[best, columns]
        return float(total[best])


def _points(kernel: Kernel, groups: Sequence[Sequence[int]], k: int) -> TermPoints:
    """k points per group of terms, at each of which the terms of that group alone count."""
    pairs = [(t, g * k + i) for g, group in enumerate(groups) for t in group for i in range(k)]
    term, point = np.array(sorted(pairs), dtype=np.intp).reshape(len(pairs), 2).T
    return TermPoints(term, point, len(kernel.terms))


def _solve_offsets(
    view: View, encoding: Encoding, acquisition: Callable[[Array], Acquisition]
) -> dict[tuple[int, int], float]:
    """The acquisition of each option's offset, by (column, option)."""
    offsets = view.kernel.of_kind("offset")
    nowhere = np.full((1, encoding.n_columns), np.nan)
    row = np.zeros(len(offsets), dtype=np.intp)
    mean, variance, _ = view.moments(nowhere, _points(view.kernel, [[t] for t in offsets], 1), row)(nowhere)
    values = acquisition(np.ones(len(offsets)))(mean, variance)[0]
    gates = [view.kernel.terms[t].gate[0] for t in offsets]
    return {(j, int(option)): float(value) for (j, option, _), value in zip(gates, values, strict=True)}


def _solve_vertices(
    view: View,
    encoding: Encoding,
    acquisition: Callable[[Array], Acquisition],
    rng: np.random.Generator,
    search: VertexSearch,
    restriction: Restriction | None,
) -> _Solutions:
    """The best values of every vertex's own parameters, and candidates for those that open nodes, as one batch.

    Vertices have no column in common, so row s of X holds the s-th start of every one of them.
    """
    problems = _VertexProblems(view, acquisition)
    own = np.flatnonzero(problems.vertex >= 0)
    X = _random_starts(encoding, own, search.samples, rng)
    X = X if restriction is None else restriction.overwrite(X)
    value = problems.values(X)
    candidates, scores = X, value
    if search.ascents:
        best = _best_starts(encoding, problems.vertex, X, value, search.ascents)  # V x starts
        starts = np.full((best.shape[1], encoding.n_columns), np.nan)
        starts[:, own] = X[best[problems.vertex[own]].T, own]
        # An optimum between two integers may be worse than its start once it is snapped, so the starts are kept.
        X = np.concatenate([starts, problems.improved(starts, encoding, restriction)])
        value = problems.values(X)
        candidates, scores = np.concatenate([candidates, X]), np.concatenate([scores, value], axis=1)
    best_row = np.argmax(value, axis=1)
    solved = np.full(encoding.n_columns, np.nan)
    solved[own] = X[best_row[problems.vertex[own]], own]
    return _Solutions(problems.columns, solved, value[np.arange(len(value)), best_row], candidates, scores)


class _VertexProblems:
    """The V problems of maximising the acquisition of one vertex each, which are solved as one batch.

    columns  the columns of each vertex
    vertex   per column, the number of its vertex; -1 for a choice
    """

    def __init__(self, view: View, acquisition: Callable[[Array], Acquisition]) -> None:
        self._view, self._acquisition, kernel = view, acquisition, view.kernel
        self._terms = [group for group in kernel.components if kernel.terms[group[0]].kind == "main"]
        self.columns = tuple(kernel.terms[t].columns for t in kernel.of_kind("main"))
        self.vertex: Index = np.full(len(kernel.n_codes), -1, dtype=np.intp)
        for v, columns in enumerate(self.columns):
            self.vertex[list(columns)] = v

    def acquisition(self, k: int) -> Acquisition:
        """The acquisition of k points per vertex."""
        sizes = np.array([len(columns) for columns in self.columns], dtype=float)
        return self._acquisition(np.repeat(sizes, k))

    def moments(self, X: Array) -> Moments:
        """The moments of every vertex in every row of X."""
        k = len(X)
        row = np.tile(np.arange(k), len(self.columns))
        return self._view.moments(X, _points(self._view.kernel, self._terms, k), row)

    def values(self, X: Array) -> Array:
        """The acquisition of every vertex in every row of X (V x rows)."""
        mean, variance, _ = self.moments(X)(X)
        return self.acquisition(len(X))(mean, variance)[0].reshape(len(self.columns), len(X))

    def improved(self, starts: Array, encoding: Encoding, restriction: Restriction | None) -> Array:
        """The rows that gradient ascent reaches from these, snapped."""
        V, k = len(self.columns), len(starts)
        free = np.repeat((self.vertex == np.arange(V)[:, None]) & encoding.is_numeric, k, axis=0)
        if restriction is not None:
            free &= ~restriction.fixed
        row = np.tile(np.arange(k), V)
        function = acquisition_at(self.moments(starts), self.acquisition(k))
        return encoding.snap(ascend(function, starts, Box(free, *encoding.bounds(starts[row])), row)[0])


def _best_starts(encoding: Encoding, vertex: Index, X: Array, value: Array, ascents: int) -> Array:
    """Per vertex, the rows to start from: the best ones; for a vertex that opens nodes, the best of each cell first."""
    order = np.argsort(-value, axis=1)
    most = max([ascents, *map(len, encoding.cells.values())])
    for j, cells in encoding.cells.items():
        ranked = order[vertex[j]]
        _, first = np.unique(cells.of_codes(X[ranked, j]), return_index=True)
        order[vertex[j]] = np.concatenate([ranked[np.sort(first)], np.delete(ranked, first)])
    return np.asarray(order[:, :most])


def _random_starts(encoding: Encoding, own: Index, k: int, rng: np.random.Generator) -> Array:
    """k rows with random values in the columns `own`; openers have a value in each of their cells."""
    X, U = np.full((k, encoding.n_columns), np.nan), rng.random((k, len(own)))
    for j, u in zip(own.tolist(), U.T, strict=True):
        X[:, j] = encoding.from_uniform(j, u) if encoding.is_numeric[j] else np.floor(u * encoding.n_codes[j])
        if j in encoding.cells:
            for cell in range(min(len(encoding.cells[j]), k)):
                X[cell, j] = encoding.draw_in_cells(j, (cell, cell), u[[cell]])[0]
    return X
