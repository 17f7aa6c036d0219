"""Maximising an acquisition over a conditional space.

Two searches. The *decomposed* one is the paper's Algorithm 2, generalised to several choices in a node: with u_v the
best value of vertex v's own low-dimensional problem,

    U(S) = sum of u_v over the vertices at S + sum over choices c at S of max over options o of U(S_{c,o}),

which solves the whole space in time linear in the vertices. The *joint* one is for acquisitions that do not add up over
vertices (expected improvement): many candidates are scored at once and the best of different branches ascend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from addtree._types import Array, Index
from addtree.model.gp import Moments
from addtree.model.kernel import Kernel, Rows, TermPoints
from addtree.model.kernel_matrices import Counted
from addtree.search.acquisition import Acquisition
from addtree.search.ascent import ascend
from addtree.space.encoding import Encoding
from addtree.space.parameters import Integer

_VERTEX_SAMPLES = 32  # random starting values per vertex problem
_VERTEX_CLIMBS = 3  # of which the best so many ascend
_CLIMBS = 8  # configurations that ascend in the joint search
_CLIMB_STEPS = 16  # evaluations of all of them, at most
_POLISH_ROUNDS = 3  # passes over single-step changes of integers and categories


class View(Protocol):
    """What is searched: the posterior, or one draw from it."""

    def predict(self, queries: Rows) -> tuple[Array, Array]:
        """Mean and variance at rows."""

    def at(self, X: Array, counted: Counted, row: Index | None = None) -> Moments:
        """Mean, variance and pull-back at moving points in which only the counted terms count."""


def _ascent(moments: Moments, acquisition: Acquisition) -> Callable[[Array], tuple[Array, Array]]:
    """The acquisition of moving points, with its gradient by their positions."""

    def function(X: Array) -> tuple[Array, Array]:
        mean, variance, pull_back = moments(X)
        value, by_mean, by_variance = acquisition(mean, variance)
        return value, pull_back(by_mean, by_variance)

    return function


# ---------------------------------------------------------------------- decomposed


def decomposed(
    view: View,
    covariance: Kernel,
    encoding: Encoding,
    acquisition: Callable[[Array], Acquisition],
    rng: np.random.Generator,
    *,
    exact: bool = True,
) -> tuple[Array, float]:
    """The row that maximises the sum of every active vertex's and option's own acquisition, and that sum.

    Not `exact`, the vertex problems are solved only as far as sampling goes: good enough to start a joint search from.

    `acquisition` takes the dimension of each point's problem (B) and returns the acquisition to use there. Terms other
    than the vertices' own and the options' offsets are left out.
    """
    solved, u = _solve_vertices(view, covariance, encoding, acquisition, rng, exact)
    offset = _solve_offsets(view, covariance, encoding, acquisition)
    # A vertex may have its parameters in several nodes of a path; it counts at the one that holds its first.
    worth = {covariance.terms[t].columns[0]: u[v] for v, t in enumerate(covariance.of_kind("main"))}
    nodes = encoding.space.nodes
    U = np.zeros(len(nodes))
    picks: list[list[tuple[int, int, int]]] = [[] for _ in nodes]  # per node: (choice column, option, child)
    for i in range(len(nodes) - 1, -1, -1):
        U[i] = sum(worth.get(j, 0.0) for j in encoding.node_columns[i])
        for j, options in encoding.node_choices[i]:
            values = np.array([offset.get((j, o), 0.0) + U[child] for o, child in enumerate(options)])
            alike = (values == values.max()).nonzero()[0]  # as options never seen are
            best = int(alike[0] if len(alike) == 1 else rng.choice(alike))
            U[i] += values[best]
            picks[i].append((j, best, options[best]))
    row = np.full(encoding.n_columns, np.nan)
    queue = [0]
    for i in queue:
        for j in encoding.node_columns[i]:
            row[j] = solved[j]
        for j, option, child in picks[i]:
            row[j] = option
            queue.append(child)
    return row, float(U[0])


def _vertex_of_column(covariance: Kernel) -> Index:
    """Per column, the number of the vertex among the main terms that reads it; -1 for a choice."""
    vertex = np.full(len(covariance.n_codes), -1, dtype=np.intp)
    for v, t in enumerate(covariance.of_kind("main")):
        vertex[list(covariance.terms[t].columns)] = v
    return vertex


def _one_term_each(covariance: Kernel, terms: Sequence[int], k: int) -> TermPoints:
    """k points per term, in which that term alone counts; terms in ascending order."""
    repeated = np.repeat(np.array(terms, dtype=np.intp), k)
    return TermPoints(repeated, np.arange(len(repeated)), len(covariance.terms))


def _solve_offsets(
    view: View, covariance: Kernel, encoding: Encoding, acquisition: Callable[[Array], Acquisition]
) -> dict[tuple[int, int], float]:
    """What each option's offset is worth, by (column, option)."""
    offsets = covariance.of_kind("offset")
    nowhere = np.full((1, encoding.n_columns), np.nan)
    row = np.zeros(len(offsets), dtype=np.intp)
    mean, variance, _ = view.at(nowhere, _one_term_each(covariance, offsets, 1), row)(nowhere)
    gains = acquisition(np.ones(len(offsets)))(mean, variance)[0]
    return {covariance.terms[t].gate[0]: float(gain) for t, gain in zip(offsets, gains, strict=True)}


def _solve_vertices(
    view: View,
    covariance: Kernel,
    encoding: Encoding,
    acquisition: Callable[[Array], Acquisition],
    rng: np.random.Generator,
    exact: bool,
) -> tuple[Array, Array]:
    """The best values of every vertex's own parameters, in one row (D), and their worth (V): all problems as one batch.

    Vertices have no column in common, so row s of X holds the s-th start of every one of them.
    """
    mains, vertex = covariance.of_kind("main"), _vertex_of_column(covariance)
    V, D = len(mains), encoding.n_columns
    own = np.flatnonzero(vertex >= 0)
    sizes = np.array([len(covariance.terms[t].columns) for t in mains], dtype=float)

    def worth(X: Array) -> tuple[Array, Moments]:
        """Acquisition of every vertex in every row (V x rows)."""
        k = len(X)
        moments = view.at(X, _one_term_each(covariance, mains, k), np.tile(np.arange(k), V))
        mean, variance, _ = moments(X)
        return acquisition(np.repeat(sizes, k))(mean, variance)[0].reshape(V, k), moments

    k = _VERTEX_SAMPLES if exact else _VERTEX_SAMPLES // 2
    X = np.full((k, D), np.nan)
    X[:, own] = np.where(encoding.is_numeric[own], 1.0, encoding.n_codes[own]) * rng.random((k, len(own)))
    X = encoding.snap(np.where(encoding.is_numeric, X, np.floor(X)))
    value, _ = worth(X)
    if exact:
        best = np.argsort(-value, axis=1)[:, :_VERTEX_CLIMBS]  # V x climbs
        climbs = np.full((best.shape[1], D), np.nan)
        climbs[:, own] = X[best[vertex[own]].T, own]
        _, moments = worth(climbs)
        k = len(climbs)
        free = np.repeat((vertex == np.arange(V)[:, None]) & encoding.is_numeric, k, axis=0)
        ascent = _ascent(moments, acquisition(np.repeat(sizes, k)))
        climbed = encoding.snap(ascend(ascent, climbs, free, np.tile(np.arange(k), V))[0])
        X = np.concatenate([climbs, climbed])  # a top between two integers may round to less than its start
        value, _ = worth(X)
    best_of = np.argmax(value, axis=1)
    solved = np.full(D, np.nan)
    solved[own] = X[best_of[vertex[own]], own]
    return solved, value[np.arange(V), best_of]


# ---------------------------------------------------------------------- joint


def joint(
    view: View,
    covariance: Kernel,
    encoding: Encoding,
    acquisition: Acquisition,
    candidates: Array,
    taken: set[bytes],
    *,
    enough: float | None = None,
) -> Array | None:
    """The best row that is not taken, found from the candidates; None where every one of them is taken.

    Given `enough`, the ascend ends early once the acquisition no longer gains that much (see `climb`).
    """

    def score(X: Array) -> tuple[Array, Array]:
        """The rows that are new, and their acquisition."""
        keys = encoding.keys(X)
        first = {key: i for i, key in reversed(list(enumerate(keys))) if key not in taken}
        X = X[sorted(first.values())]
        return X, acquisition(*view.predict(covariance.rows(X)))[0]

    X, value = score(encoding.snap(candidates))
    if not len(X):
        return None
    starts = X[_different_branches(encoding, X, value)]
    free = encoding.is_numeric & ~np.isnan(starts)
    moments = view.at(starts, covariance.rows(starts).active)
    climbed, _ = ascend(_ascent(moments, acquisition), starts, free, steps=_CLIMB_STEPS, enough=enough)
    refined, refined_value = score(encoding.snap(climbed))
    X, value = np.concatenate([X, refined]), np.concatenate([value, refined_value])
    best, best_value = np.asarray(X[np.argmax(value)]), float(np.max(value))
    for _ in range(_POLISH_ROUNDS):
        steps = _single_steps(encoding, best)
        X, value = score(steps) if len(steps) else (steps, np.empty(0))
        if not np.max(value, initial=-np.inf) > best_value:
            break
        best, best_value = X[np.argmax(value)], float(np.max(value))
    return best


def _different_branches(encoding: Encoding, X: Array, value: Array) -> Index:
    """Where to ascend from: the best two overall, then the best of each further path, best first."""
    order = np.argsort(-value, kind="stable")
    paths = [path.tobytes() for path in np.where(np.isnan(X), -1.0, X)[:, encoding.is_choice][order]]
    best_of = {path: i for i, path in reversed(list(enumerate(paths)))}
    chosen = [0, 1, *(i for i in sorted(best_of.values()) if paths[i] not in paths[:2])]
    rest = sorted(set(range(len(order))) - set(chosen))
    return np.asarray(order[[i for i in (chosen + rest)[:_CLIMBS] if i < len(order)]])


def _single_steps(encoding: Encoding, row: Array) -> Array:
    """The rows one step away in one integer (either way) or one plain categorical (every other value)."""
    steps = []
    for j in np.flatnonzero(~np.isnan(row)):
        domain = encoding.space.variables[encoding.names[j]]
        codes: list[float] = []
        if isinstance(domain, Integer):
            here = domain.decode(float(row[j]))
            codes = [domain.encode(value) for value in (here - 1, here + 1) if domain.low <= value <= domain.high]
        elif not encoding.is_numeric[j] and not encoding.is_choice[j]:
            codes = [float(c) for c in range(encoding.n_codes[j]) if c != row[j]]
        for code in codes:
            steps.append(row.copy())
            steps[-1][j] = code
    return np.array(steps) if steps else np.empty((0, len(row)))
