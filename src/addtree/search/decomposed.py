"""Maximising an acquisition that adds up over vertices: the paper's Algorithm 2, for several choices in a node.

With u_v the best value of vertex v's own low-dimensional problem,

    U(S) = sum of u_v over the vertices at S + sum over choices c at S of max over options o of U(S_{c,o})

is the best sum over the whole space, in time linear in the vertices. The combination is exact; each vertex problem is
solved by ascents from several starting points, which may miss its optimum. The sum of the vertices' upper confidence
bounds is maximised, which is not the upper confidence bound of the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from addtree._types import Array, Index
from addtree.model.gp import Moments
from addtree.model.kernel import Kernel, TermPoints
from addtree.search.acquisition import Acquisition
from addtree.search.ascent import ascend
from addtree.search.view import View, acquisition_at
from addtree.space.encoding import Encoding


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
) -> tuple[Array, float]:
    """The row that maximises the sum of every active vertex's and option's own acquisition, and that sum.

    `acquisition` takes the dimension of each point's problem (B) and returns the acquisition to use there. Terms other
    than the vertices' own (see `_vertex_terms`) and the options' offsets are left out.
    """
    kernel = view.kernel
    solved, u = _solve_vertices(view, encoding, acquisition, rng, search or VertexSearch())
    offset = _solve_offsets(view, encoding, acquisition)
    # A vertex may have its parameters in several nodes of a path; it counts at the node that holds its first one.
    worth = {kernel.terms[t].columns[0]: u[v] for v, t in enumerate(kernel.of_kind("main"))}
    picks: dict[tuple[int, int], int] = {}  # (node, choice column): the best option

    def best_sum(i: int, below: list[list[float]]) -> float:
        total = float(sum(worth.get(j, 0.0) for j in encoding.node_columns[i]))
        for (j, _), sums in zip(encoding.node_choices[i], below, strict=True):
            values = np.array([offset.get((j, o), 0.0) + value for o, value in enumerate(sums)])
            ties = (values == values.max()).nonzero()[0]  # options that were never seen are equal
            picks[i, j] = best = int(ties[0] if len(ties) == 1 else rng.choice(ties))
            total += float(values[best])
        return total

    total = encoding.space.tree.fold(best_sum)[0]
    row = np.full(encoding.n_columns, np.nan)
    for i, _ in encoding.walk(row):
        for j in encoding.node_columns[i]:
            row[j] = solved[j]
        for j, _ in encoding.node_choices[i]:
            row[j] = picks[i, j]
    return row, total


def _vertex_of_column(kernel: Kernel) -> Index:
    """Per column, the number of the vertex among the main terms that reads it; -1 for a choice."""
    vertex = np.full(len(kernel.n_codes), -1, dtype=np.intp)
    for v, t in enumerate(kernel.of_kind("main")):
        vertex[list(kernel.terms[t].columns)] = v
    return vertex


def _points(kernel: Kernel, groups: Sequence[Sequence[int]], k: int) -> TermPoints:
    """k points per group of terms, at each of which the terms of that group alone count."""
    pairs = [(t, g * k + i) for g, group in enumerate(groups) for t in group for i in range(k)]
    term, point = np.array(sorted(pairs), dtype=np.intp).reshape(len(pairs), 2).T
    return TermPoints(term, point, len(kernel.terms))


def _vertex_terms(kernel: Kernel) -> list[list[int]]:
    """The terms of each vertex's own function: its main term and the trends of its numbers."""
    trends: dict[int, list[int]] = {}
    for t in kernel.of_kind("trend"):
        trends.setdefault(kernel.terms[t].columns[0], []).append(t)
    return [[t, *(s for j in kernel.terms[t].columns for s in trends.get(j, []))] for t in kernel.of_kind("main")]


def _solve_offsets(
    view: View, encoding: Encoding, acquisition: Callable[[Array], Acquisition]
) -> dict[tuple[int, int], float]:
    """The acquisition of each option's offset, by (column, option)."""
    offsets = view.kernel.of_kind("offset")
    nowhere = np.full((1, encoding.n_columns), np.nan)
    row = np.zeros(len(offsets), dtype=np.intp)
    mean, variance, _ = view.moments(nowhere, _points(view.kernel, [[t] for t in offsets], 1), row)(nowhere)
    values = acquisition(np.ones(len(offsets)))(mean, variance)[0]
    return {view.kernel.terms[t].gate[0]: float(value) for t, value in zip(offsets, values, strict=True)}


def _solve_vertices(
    view: View,
    encoding: Encoding,
    acquisition: Callable[[Array], Acquisition],
    rng: np.random.Generator,
    search: VertexSearch,
) -> tuple[Array, Array]:
    """The best values of every vertex's own parameters, in one row (D), and their acquisition (V), as one batch.

    Vertices have no column in common, so row s of X holds the s-th start of every one of them.
    """
    kernel = view.kernel
    mains, vertex = kernel.of_kind("main"), _vertex_of_column(kernel)
    own_terms = _vertex_terms(kernel)
    V, D, own = len(mains), encoding.n_columns, np.flatnonzero(vertex >= 0)
    sizes = np.array([len(kernel.terms[t].columns) for t in mains], dtype=float)

    def worth(X: Array) -> tuple[Array, Moments]:
        """The acquisition of every vertex in every row (V x rows), and the moments behind it."""
        k = len(X)
        moments = view.moments(X, _points(kernel, own_terms, k), np.tile(np.arange(k), V))
        mean, variance, _ = moments(X)
        return acquisition(np.repeat(sizes, k))(mean, variance)[0].reshape(V, k), moments

    X = _random_starts(encoding, own, search.samples, rng)
    value, _ = worth(X)
    if search.ascents:
        best = np.argsort(-value, axis=1)[:, : search.ascents]  # V x ascents
        starts = np.full((best.shape[1], D), np.nan)
        starts[:, own] = X[best[vertex[own]].T, own]
        _, moments = worth(starts)
        k = len(starts)
        free = np.repeat((vertex == np.arange(V)[:, None]) & encoding.is_numeric, k, axis=0)
        function = acquisition_at(moments, acquisition(np.repeat(sizes, k)))
        improved = encoding.snap(ascend(function, starts, free, np.tile(np.arange(k), V))[0])
        X = np.concatenate([starts, improved])  # an optimum between two integers may round to less than its start
        value, _ = worth(X)
    best_row = np.argmax(value, axis=1)
    solved = np.full(D, np.nan)
    solved[own] = X[best_row[vertex[own]], own]
    return solved, value[np.arange(V), best_row]


def _random_starts(encoding: Encoding, own: Index, k: int, rng: np.random.Generator) -> Array:
    """k rows with random values in the columns `own`, nothing elsewhere."""
    X, U = np.full((k, encoding.n_columns), np.nan), rng.random((k, len(own)))
    for j, u in zip(own.tolist(), U.T, strict=True):
        X[:, j] = encoding.from_uniform(j, u) if encoding.is_numeric[j] else np.floor(u * encoding.n_codes[j])
    return X
