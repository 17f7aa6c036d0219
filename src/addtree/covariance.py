"""The covariance: a sum of gated terms, its Gram matrix, cross-covariances and gradients.

symbol  shape       meaning
X       n x D       encoded rows, NaN where inactive
a       T           amplitude (variance) of each term
ℓ       S           lengthscales; a term says which of them each of its columns uses
r²      a pair      sum over a term's d columns of Δ² / ℓ², over d; Δ is 1 between different categories
κ(r²)   a pair      squared-exponential where the term is smooth, Matérn-5/2 where it is not

Nothing is computed for rows in which a term is inactive. What a likelihood needs again and again is one flat list of
(term, row, row) pairs, so that a whole Gram matrix is a dozen vectorised operations, however many terms there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from addtree.encoding import Array
from addtree.terms import ACTIVE, Kind, Term

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]

_ALWAYS = -2  # the code of a condition that holds in every row


def squared_exponential(r2: Array) -> Array:
    """κ = exp(-r²/2)."""
    return np.exp(-0.5 * r2)


def matern52(r2: Array) -> Array:
    """κ = (1 + s + s²/3) exp(-s) with s = √5 r."""
    s = np.sqrt(5.0 * r2)
    return (1.0 + s + (5.0 / 3.0) * r2) * np.exp(-s)


def with_slope(r2: Array, n_smooth: int) -> tuple[Array, Array]:
    """κ and dκ/dr² of pairs, the first `n_smooth` of which belong to smooth terms."""
    k, dk = np.empty_like(r2), np.empty_like(r2)
    k[:n_smooth] = squared_exponential(r2[:n_smooth])
    np.multiply(k[:n_smooth], -0.5, out=dk[:n_smooth])
    s = np.sqrt(5.0 * r2[n_smooth:])
    e, line = np.exp(-s), 1.0 + s
    np.multiply(line + s * s / 3.0, e, out=k[n_smooth:])
    np.multiply((-5.0 / 6.0) * line, e, out=dk[n_smooth:])
    return k, dk


@dataclass(frozen=True)
class TermPoints:
    """Which of T terms count for which points: pairs of a term and a point, sorted by term."""

    term: Index
    point: Index
    n_terms: int

    @classmethod
    def of_mask(cls, counted: Mask) -> TermPoints:
        """Those that a B x T matrix marks."""
        term, point = counted.T.nonzero()
        return cls(term, point, counted.shape[1])

    @cached_property
    def sizes(self) -> Index:
        """Per term, how many points."""
        return np.bincount(self.term, minlength=self.n_terms)

    @cached_property
    def starts(self) -> Index:
        """Per term, where its points begin."""
        return np.cumsum(self.sizes) - self.sizes

    def of(self, t: int) -> Index:
        """The points for which term t counts."""
        return self.point[self.starts[t] : self.starts[t] + self.sizes[t]]


@dataclass(frozen=True)
class Rows:
    """Encoded rows, imputed, with what the covariance derives from them: activity (n x T) and features (n x F)."""

    X: Array
    active: Mask
    features: Array

    def __len__(self) -> int:
        return len(self.X)

    @cached_property
    def on(self) -> TermPoints:
        """The rows in which each term is active."""
        return TermPoints.of_mask(self.active)

    def __getitem__(self, index: slice | Index | Mask) -> Rows:
        return Rows(self.X[index], self.active[index], self.features[index])


def stack(first: Rows, second: Rows) -> Rows:
    """The rows of both, in order."""
    return Rows(
        np.concatenate([first.X, second.X]),
        np.concatenate([first.active, second.active]),
        np.concatenate([first.features, second.features]),
    )


Counted: TypeAlias = Mask | TermPoints


@dataclass(frozen=True)
class Hyperparameters:
    """Amplitudes (T), lengthscales (S) and the noise variance, all positive."""

    amplitudes: Array
    lengthscales: Array
    noise: float


@dataclass(frozen=True)
class Covariance:
    """Terms over columns of which `n_codes` says how many categories each has (0: a number)."""

    terms: tuple[Term, ...]
    n_codes: tuple[int, ...]

    # ------------------------------------------------------------------ structure

    @cached_property
    def n_scales(self) -> int:
        """S, the number of lengthscales."""
        return 1 + max((s for term in self.terms for s in term.scales), default=-1)

    @cached_property
    def constant(self) -> Mask:
        """Which terms read no column."""
        return np.array([not term.columns for term in self.terms], dtype=bool)

    @cached_property
    def smooth(self) -> Mask:
        """Which terms are smooth."""
        return np.array([term.smooth for term in self.terms], dtype=bool)

    @cached_property
    def varying(self) -> tuple[int, ...]:
        """The terms that do, smooth ones first."""
        return tuple(sorted(np.flatnonzero(~self.constant).tolist(), key=lambda t: not self.terms[t].smooth))

    def of_kind(self, kind: Kind) -> list[int]:
        """The numbers of the terms of one kind."""
        return [t for t, term in enumerate(self.terms) if term.kind == kind]

    @cached_property
    def categorical(self) -> Mask:
        """Which columns hold categories."""
        return np.array(self.n_codes) > 0

    @cached_property
    def _indicators(self) -> tuple[Index, Index]:
        """The features behind all the columns: column and code of each.

        k categories that any term reads are k + 1 of them; the first is for inactive, a category of its own.
        """
        read = sorted({column for term in self.terms for column in term.columns if self.n_codes[column]})
        pairs = [(column, code) for column in read for code in range(-1, self.n_codes[column])]
        columns, codes = np.array(pairs, dtype=np.intp).reshape(len(pairs), 2).T
        return columns, codes

    @cached_property
    def _feature_columns(self) -> list[list[int]]:
        """Per column, its features: a number is itself, categories are their indicators."""
        features: list[list[int]] = [[] if k else [j] for j, k in enumerate(self.n_codes)]
        for f, column in enumerate(self._indicators[0].tolist(), start=len(self.n_codes)):
            features[column].append(f)
        return features

    @cached_property
    def _term_features(self) -> dict[int, tuple[Index, Index]]:
        """Per varying term, its features and the number of each one's lengthscale."""
        out = {}
        for t in self.varying:
            term = self.terms[t]
            pairs = [(f, s) for c, s in zip(term.columns, term.scales, strict=True) for f in self._feature_columns[c]]
            out[t] = (np.array([f for f, _ in pairs]), np.array([s for _, s in pairs]))
        return out

    @cached_property
    def _gates(self) -> tuple[Index, Index, Index]:
        """The conditions that occur in gates (column and code of each) and per term those of its gate (T x width).

        Gates shorter than the longest are filled with the first condition, which always holds.
        """
        always = (0, _ALWAYS)
        width = max([1, *(len(term.gate) for term in self.terms)])
        gates = [(*term.gate, *[always] * (width - len(term.gate))) for term in self.terms]
        conditions = list(dict.fromkeys([always, *(pair for gate in gates for pair in gate)]))
        number = {pair: i for i, pair in enumerate(conditions)}
        columns, codes = np.array(conditions, dtype=np.intp).T
        numbers = np.array([[number[pair] for pair in gate] for gate in gates], dtype=np.intp)
        return columns, codes, numbers.reshape(len(gates), width)

    @cached_property
    def read(self) -> tuple[TermPoints, Index]:
        """The columns that each term reads, and the number of each one's lengthscale."""
        term = np.repeat(np.arange(len(self.terms)), [len(term.columns) for term in self.terms])
        columns = np.array([column for term in self.terms for column in term.columns], dtype=np.intp)
        scales = np.array([scale for term in self.terms for scale in term.scales], dtype=np.intp)
        return TermPoints(term, columns, len(self.terms)), scales

    def reads(self, t: int) -> tuple[Index, Index]:
        """The columns that term t reads, and the number of each one's lengthscale."""
        columns, scales = self.read
        first = columns.starts[t]
        return columns.of(t), scales[first : first + columns.sizes[t]]

    @cached_property
    def order(self) -> Index:
        """The terms: smooth ones, rough ones, constant ones."""
        return np.array([*self.varying, *self.constant.nonzero()[0]], dtype=np.intp)

    def term_features(self, t: int) -> tuple[Index, Index]:
        """The features that term t reads, and the number of each one's lengthscale."""
        return self._term_features[t]

    def term_weights(self, hyper: Hyperparameters, t: int) -> Array:
        """What term t multiplies its features with, so that r² is a plain squared distance."""
        weights = 1.0 / (hyper.lengthscales[self._term_features[t][1]] * np.sqrt(len(self.terms[t].columns)))
        return np.asarray(weights)

    def by_columns(self, by_features: Array) -> Array:
        """A derivative by features as one by the numeric columns (zero for categories, which do not move)."""
        return np.where(self.categorical, 0.0, by_features[:, : len(self.n_codes)])

    def rows(self, X: Array) -> Rows:
        """Encoded rows, made ready. Indicators are 1/√2, so that two categories are at squared distance 1."""
        columns, codes, gates = self._gates
        values = X[:, columns] if X.shape[1] else np.full((len(X), len(columns)), np.nan)
        held = np.where(codes == ACTIVE, ~np.isnan(values), (values == codes) | (codes == _ALWAYS))
        active = np.asarray(np.all(held[:, gates], axis=2))
        imputed = self.impute(X)
        read, code = self._indicators
        features = [np.where(self.categorical, 0.0, imputed), (imputed[:, read] == code) * np.sqrt(0.5)]
        return Rows(imputed, active, np.concatenate(features, axis=1))

    def impute(self, X: Array) -> Array:
        """Inactive numbers at the middle of their range, inactive categories as one of their own.

        Only a term that reads more than its gate makes active (across independent choices) ever sees these.
        """
        return np.where(np.isnan(X), np.where(self.categorical, -1.0, 0.5), X)

    # ------------------------------------------------------------------ values

    def variance(self, hyper: Hyperparameters, active: Mask) -> Array:
        """k(x, x) for rows with these activities."""
        return np.asarray(active @ hyper.amplitudes)

    def cross(self, hyper: Hyperparameters, A: Rows, B: Rows) -> Array:
        """k(A, B), m x n."""
        return Cross(self, hyper, B).value(A)

    def component(self, hyper: Hyperparameters, t: int, A: Rows, B: Rows) -> Array:
        """The part of k(A, B) that is term t."""
        only = np.arange(len(self.terms)) == t
        return self.cross(hyper, Rows(A.X, A.active & only, A.features), B)

    def gram(self, rows: Rows) -> Gram:
        """The Gram matrix of rows as a function of the hyperparameters."""
        return Gram(self, rows)

    def points(
        self, hyper: Hyperparameters, rows: Rows, X: Array, counted: Counted, row: Index | None = None
    ) -> Points:
        """The cross-covariance of moving points with rows, as a function of where the points are."""
        row = np.arange(len(X)) if row is None else row
        counted = counted if isinstance(counted, TermPoints) else TermPoints.of_mask(counted)
        return Points(self, hyper, rows, X, counted, row)

    def squared_distance(self, columns: Index, U: Array, V: Array) -> Array:
        """Δ² between U and V, which are values of these columns."""
        delta = U - V
        return np.where(self.categorical[columns], delta != 0.0, delta * delta)


def scatter(index: Index, values: Array, size: int) -> Array:
    """A vector of this size with each value added at its index."""
    return np.bincount(index, values, minlength=size).astype(np.float64, copy=False)


def _ragged(sizes: Index) -> tuple[Index, Index]:
    """For groups of these sizes, one after another: the group of each member, and its place in the group."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, np.arange(len(group)) - (np.cumsum(sizes) - sizes)[group]


def _joined(parts: Sequence[Index]) -> Index:
    """The concatenation, also of nothing."""
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.intp)


class Cross:
    """k(A, rows) of fixed rows and hyperparameters, for any A: what a term needs of the rows is worked out once."""

    def __init__(self, covariance: Covariance, hyper: Hyperparameters, rows: Rows) -> None:
        self._covariance, self._hyper, self._rows = covariance, hyper, rows
        self._met = rows.on.sizes > 0
        constant = covariance.constant
        self._offsets = (rows.active[:, constant] * hyper.amplitudes[constant]).T
        self._sides: dict[int, tuple[Index, Array, Array]] = {}

    def _side(self, t: int) -> tuple[Index, Array, Array]:
        """The rows in which term t is active, its weights, and what [F, |F|², 1] is multiplied with to give r² to them.

        F are the weighted features of others. A single number needs no squares: its weighted values are enough.
        """
        if t not in self._sides:
            on, weights = self._rows.on.of(t), self._covariance.term_weights(self._hyper, t)
            G = self._rows.features[on[:, None], self._covariance.term_features(t)[0]] * weights
            squares = np.sum(G * G, axis=1, keepdims=True)
            side = G[:, 0] if G.shape[1] == 1 else np.concatenate([-2.0 * G, np.ones_like(squares), squares], axis=1).T
            self._sides[t] = (on, weights, side)
        return self._sides[t]

    def value(self, A: Rows) -> Array:
        """k(A, rows), m x n."""
        K = np.asarray(A.active[:, self._covariance.constant].astype(float) @ self._offsets)
        met = self._met & (A.on.sizes > 0)
        for t in self._covariance.varying:
            if not met[t]:
                continue
            rows, (on, weights, side) = A.on.of(t), self._side(t)
            F = A.features[rows[:, None], self._covariance.term_features(t)[0]] * weights
            if side.ndim == 1:
                r2 = np.subtract.outer(F[:, 0], side) ** 2
            else:
                squares = np.sum(F * F, axis=1, keepdims=True)
                r2 = np.maximum(np.concatenate([F, squares, np.ones_like(squares)], axis=1) @ side, 0.0)
            kernel = squared_exponential if self._covariance.terms[t].smooth else matern52
            block = self._hyper.amplitudes[t] * kernel(r2)
            if block.shape == K.shape:
                K += block
            else:
                K[rows[:, None], on] += block
        return K


class Gram:
    """K(θ) of fixed rows, without noise, by pairs of rows.

    The pairs (`i`, `j`) are those of rows i > j in which a term is active, term after term: the smooth ones, the rough
    ones, and at last the constant ones, whose κ is 1. On the diagonal a term is its amplitude.
    """

    def __init__(self, covariance: Covariance, rows: Rows) -> None:
        self.covariance, self.rows = covariance, rows
        self._active = rows.active.astype(float)
        below = np.tril_indices(len(rows), -1)  # row after row, so that fewer rows are the beginning of it
        terms, first, second = [], [], []
        self._delta2: list[tuple[slice, slice, Array]] = []  # per varying term: its pairs, its reads, Δ²/d (d x pairs)
        reads: list[Index] = []  # the lengthscales
        self._n_varying = self._n_smooth = n_reads = 0
        for t in covariance.order.tolist():
            on = rows.on.of(t)
            size = len(on) * (len(on) - 1) // 2
            if size == 0:
                continue
            i, j = below[0][:size], below[1][:size]
            terms.append(t)
            first.append(on[i])
            second.append(on[j])
            if not covariance.constant[t]:
                columns, scales = covariance.reads(t)
                values = rows.X[on, columns[:, None]]
                delta2 = covariance.squared_distance(columns[:, None], values[:, i], values[:, j]) / len(columns)
                pairs, read = slice(self._n_varying, self._n_varying + size), slice(n_reads, n_reads + len(columns))
                self._delta2.append((pairs, read, delta2))
                reads.append(scales)
                self._n_varying, n_reads = pairs.stop, read.stop
                self._n_smooth += size * covariance.terms[t].smooth
        self.i, self.j, self._reads = _joined(first), _joined(second), _joined(reads)
        self._terms, self._sizes = np.array(terms, dtype=np.intp), np.array([len(x) for x in first], dtype=np.intp)
        self._starts = np.cumsum(self._sizes) - self._sizes

    def pairs(self, hyper: Hyperparameters) -> tuple[Array, Array, Callable[[Array, Array], tuple[Array, Array]]]:
        """What each pair adds to K, the diagonal of K (n), and the function that turns derivatives by these two into

        ones by log amplitudes (T) and log lengthscales (S).
        """
        inverse2 = hyper.lengthscales**-2
        r2, weights = np.empty(self._n_varying), inverse2[self._reads]
        for pairs, read, delta2 in self._delta2:
            np.dot(weights[read], delta2, out=r2[pairs])
        k, dk = with_slope(r2, self._n_smooth)
        values = np.repeat(hyper.amplitudes[self._terms], self._sizes)
        by_r2 = values[: self._n_varying] * dk
        values[: self._n_varying] *= k

        def pull_back(by_values: Array, by_diagonal: Array) -> tuple[Array, Array]:
            by_amplitude = (by_diagonal @ self._active) * hyper.amplitudes
            if len(values):
                by_amplitude[self._terms] += np.add.reduceat(by_values * values, self._starts)
            by_pairs, by_weights = by_values[: self._n_varying] * by_r2, np.empty_like(weights)
            for pairs, read, delta2 in self._delta2:
                np.dot(delta2, by_pairs[pairs], out=by_weights[read])
            by_inverse2 = scatter(self._reads, by_weights, len(inverse2))
            return by_amplitude, -2.0 * by_inverse2 * inverse2

        return values, self._active @ hyper.amplitudes, pull_back

    def value(self, hyper: Hyperparameters) -> Array:
        """K, n x n."""
        n = len(self.rows)
        values, diagonal, _ = self.pairs(hyper)
        below = scatter(self.i * n + self.j, values, n * n).reshape(n, n)
        return np.asarray(below + below.T + np.diag(diagonal))


class Points:
    """k(x_b, rows) of B moving points: `value` at given positions, `gradient` pulls weights back to the positions.

    Only numeric columns move; activity and categories stay as they are in the X given first. `counted` says which terms
    count for which point: all the active ones for a whole configuration, one for a vertex's own problem. `row` (B) says
    which row of X a point lies in: the problems of different vertices, which have no column in common, share rows.
    """

    def __init__(
        self, covariance: Covariance, hyper: Hyperparameters, rows: Rows, X: Array, counted: TermPoints, row: Index
    ) -> None:
        n, D, on, (reads, scales) = len(rows), X.shape[1], rows.on, covariance.read
        self._shape = (len(row), n)
        self.variance = scatter(counted.point, hyper.amplitudes[counted.term], len(row))
        # Pairs of a point and a row, term after term.
        first = np.argsort(np.argsort(covariance.order)[counted.term], kind="stable")
        term, point = counted.term[first], counted.point[first]
        owner, within = _ragged(on.sizes[term])
        term, point = term[owner], point[owner]
        seen_row = on.point[on.starts[term] + within]
        varying = int(np.searchsorted(covariance.constant[term], True))
        flat, amplitude = point * n + seen_row, hyper.amplitudes[term]
        self._flat, self._amplitude = flat[:varying], amplitude[:varying]
        self._fixed = scatter(flat[varying:], amplitude[varying:], len(row) * n).reshape(self._shape)
        self._n_smooth = int(np.count_nonzero(covariance.smooth[term[:varying]]))
        # For each of them, the columns of the term: those that move, and what the others add to r² for good.
        pair, within = _ragged(reads.sizes[term[:varying]])
        read = reads.starts[term[pair]] + within
        column = reads.point[read]
        variable = row[point[pair]] * D + column
        weight = 1.0 / (hyper.lengthscales[scales] ** 2 * reads.sizes[reads.term])[read]
        seen = rows.X[seen_row[pair], column]
        moves = (~np.isnan(X) & ~covariance.categorical).ravel()[variable]
        still = ~moves
        delta2 = covariance.squared_distance(column[still], covariance.impute(X).ravel()[variable[still]], seen[still])
        self._base = scatter(pair[still], weight[still] * delta2, varying)
        self._pair, self._variable, self._seen, self._weight = pair[moves], variable[moves], seen[moves], weight[moves]

    def value(self, X: Array) -> tuple[Array, Callable[[Array], Array]]:
        """k (B x n) at X, and the function that turns d/dk (B x n) into d/dX."""
        B, n = self._shape
        delta = X.ravel()[self._variable] - self._seen
        scaled = self._weight * delta
        r2 = self._base + scatter(self._pair, scaled * delta, len(self._base))
        k, dk = with_slope(r2, self._n_smooth)
        K = self._fixed + scatter(self._flat, self._amplitude * k, B * n).reshape(B, n)

        def gradient(W: Array) -> Array:
            by_r2 = W.ravel()[self._flat] * self._amplitude * dk
            by_x = 2.0 * by_r2[self._pair] * scaled
            return scatter(self._variable, by_x, X.size).reshape(X.shape)

        return K, gradient
