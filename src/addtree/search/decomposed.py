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
    kernel = view.kernel
    codes = np.full(encoding.n_columns, np.nan) if restriction is None else restriction.codes
    solved, u = _solve_vertices(view, encoding, acquisition, rng, search or VertexSearch(), codes)
    offset = _solve_offsets(view, encoding, acquisition)
    # A vertex may have its parameters in several nodes of a path; it counts at the node that holds its first one.
    worth = {kernel.terms[t].columns[0]: u[v] for v, t in enumerate(kernel.of_kind("main"))}
    picks: dict[tuple[int, int], int] = {}  # (node, choice column): the best option

    def best_sum(i: int, below: list[list[float]]) -> float:
        total = float(sum(worth.get(j, 0.0) for j in encoding.node_columns[i]))
        for (j, children), sums in zip(encoding.node_choices[i], below, strict=True):
            values = np.array([offset.get((j, o), 0.0) + value for o, value in enumerate(sums)])
            if restriction is not None:
                values[~restriction.possible[list(children)]] = -np.inf
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


def _one_term_each(kernel: Kernel, terms: Sequence[int], k: int) -> TermPoints:
    """k points per term, at each of which that term alone counts; terms in ascending order."""
    repeated = np.repeat(np.array(terms, dtype=np.intp), k)
    return TermPoints(repeated, np.arange(len(repeated)), len(kernel.terms))


def _solve_offsets(
    view: View, encoding: Encoding, acquisition: Callable[[Array], Acquisition]
) -> dict[tuple[int, int], float]:
    """The acquisition of each option's offset, by (column, option)."""
    offsets = view.kernel.of_kind("offset")
    nowhere = np.full((1, encoding.n_columns), np.nan)
    row = np.zeros(len(offsets), dtype=np.intp)
    mean, variance, _ = view.moments(nowhere, _one_term_each(view.kernel, offsets, 1), row)(nowhere)
    values = acquisition(np.ones(len(offsets)))(mean, variance)[0]
    return {view.kernel.terms[t].gate[0]: float(value) for t, value in zip(offsets, values, strict=True)}


def _solve_vertices(
    view: View,
    encoding: Encoding,
    acquisition: Callable[[Array], Acquisition],
    rng: np.random.Generator,
    search: VertexSearch,
    codes: Array,
) -> tuple[Array, Array]:
    """The best values of every vertex's own parameters, in one row (D), and their acquisition (V), as one batch.

    Vertices have no column in common, so row s of X holds the s-th start of every one of them. A column whose code in
    `codes` (D) is not NaN keeps that code.
    """
    kernel = view.kernel
    mains, vertex = kernel.of_kind("main"), _vertex_of_column(kernel)
    V, D, own = len(mains), encoding.n_columns, np.flatnonzero(vertex >= 0)
    sizes = np.array([len(kernel.terms[t].columns) for t in mains], dtype=float)

    def worth(X: Array) -> tuple[Array, Moments]:
        """The acquisition of every vertex in every row (V x rows), and the moments behind it."""
        k = len(X)
        moments = view.moments(X, _one_term_each(kernel, mains, k), np.tile(np.arange(k), V))
        mean, variance, _ = moments(X)
        return acquisition(np.repeat(sizes, k))(mean, variance)[0].reshape(V, k), moments

    X = _random_starts(encoding, own, search.samples, rng)
    X = np.where(np.isnan(X) | np.isnan(codes), X, codes)
    value, _ = worth(X)
    if search.ascents:
        best = np.argsort(-value, axis=1)[:, : search.ascents]  # V x ascents
        starts = np.full((best.shape[1], D), np.nan)
        starts[:, own] = X[best[vertex[own]].T, own]
        _, moments = worth(starts)
        k = len(starts)
        free = np.repeat((vertex == np.arange(V)[:, None]) & encoding.is_numeric & np.isnan(codes), k, axis=0)
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
