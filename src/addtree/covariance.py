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
from scipy.sparse import csc_array, csr_array

from addtree.encoding import Array
from addtree.terms import ACTIVE, Kind, Term

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Counted: TypeAlias = Mask | csc_array  # B x T: which terms count for which moving point

_SQRT5 = np.sqrt(5.0)
_ALWAYS = -2  # the code of a condition that holds in every row


def squared_exponential(r2: Array) -> tuple[Array, Array]:
    """κ = exp(-r²/2) and its derivative by r²."""
    k = np.exp(-0.5 * r2)
    return k, -0.5 * k


def matern52(r2: Array) -> tuple[Array, Array]:
    """κ = (1 + s + s²/3) exp(-s) with s = √5 r, and its derivative by r²."""
    s = _SQRT5 * np.sqrt(r2)
    e = np.exp(-s)
    return (1.0 + s + s * s / 3.0) * e, (-5.0 / 6.0) * (1.0 + s) * e


@dataclass(frozen=True)
class Rows:
    """Encoded rows, imputed, with what the covariance derives from them: activity (n x T) and features (n x F)."""

    X: Array
    active: Mask
    features: Array

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, index: slice | Index | Mask) -> Rows:
        return Rows(self.X[index], self.active[index], self.features[index])


def stack(first: Rows, second: Rows) -> Rows:
    """The rows of both, in order."""
    return Rows(
        np.concatenate([first.X, second.X]),
        np.concatenate([first.active, second.active]),
        np.concatenate([first.features, second.features]),
    )


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
    def varying(self) -> tuple[int, ...]:
        """The terms that do, smooth ones first."""
        return tuple(sorted(np.flatnonzero(~self.constant).tolist(), key=lambda t: not self.terms[t].smooth))

    def of_kind(self, kind: Kind) -> list[int]:
        """The numbers of the terms of one kind."""
        return [t for t, term in enumerate(self.terms) if term.kind == kind]

    @cached_property
    def _categorical(self) -> Mask:
        return np.array(self.n_codes) > 0

    @cached_property
    def _feature_columns(self) -> list[list[int]]:
        """Per column, its features: a number is itself; behind all the columns, k categories are k + 1 indicators.

        The first of them is for inactive, a category of its own.
        """
        sizes = [k + 1 if k else 0 for k in self.n_codes]
        ends = len(sizes) + np.cumsum(sizes)
        return [list(range(end - k, end)) if k else [j] for j, (end, k) in enumerate(zip(ends, sizes, strict=True))]

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

    def term_features(self, t: int) -> tuple[Index, Index]:
        """The features that term t reads, and the number of each one's lengthscale."""
        return self._term_features[t]

    def term_weights(self, hyper: Hyperparameters, t: int) -> Array:
        """What term t multiplies its features with, so that r² is a plain squared distance."""
        weights = 1.0 / (hyper.lengthscales[self._term_features[t][1]] * np.sqrt(len(self.terms[t].columns)))
        return np.asarray(weights)

    def by_columns(self, by_features: Array) -> Array:
        """A derivative by features as one by the numeric columns (zero for categories, which do not move)."""
        return np.where(self._categorical, 0.0, by_features[:, : len(self.n_codes)])

    def rows(self, X: Array) -> Rows:
        """Encoded rows, made ready. Indicators are 1/√2, so that two categories are at squared distance 1."""
        columns, codes, gates = self._gates
        values = X[:, columns] if X.shape[1] else np.full((len(X), len(columns)), np.nan)
        held = np.where(codes == ACTIVE, ~np.isnan(values), (values == codes) | (codes == _ALWAYS))
        active = np.asarray(np.all(held[:, gates], axis=2))
        imputed = self.impute(X)
        features = [np.where(self._categorical, 0.0, imputed)]
        features += [(imputed[:, j, None] == np.arange(-1, k)) / np.sqrt(2.0) for j, k in enumerate(self.n_codes) if k]
        return Rows(imputed, active, np.concatenate(features, axis=1))

    def impute(self, X: Array) -> Array:
        """Inactive numbers at the middle of their range, inactive categories as one of their own.

        Only a term that reads more than its gate makes active (across independent choices) ever sees these.
        """
        return np.where(np.isnan(X), np.where(self._categorical, -1.0, 0.5), X)

    # ------------------------------------------------------------------ values

    def variance(self, hyper: Hyperparameters, active: Mask) -> Array:
        """k(x, x) for rows with these activities."""
        return np.asarray(active @ hyper.amplitudes)

    def cross(self, hyper: Hyperparameters, A: Rows, B: Rows) -> Array:
        """k(A, B), m x n."""
        a = np.where(self.constant, hyper.amplitudes, 0.0)
        K = np.asarray((A.active * a) @ B.active.T.astype(float))
        met = np.asarray(np.any(A.active, axis=0) & np.any(B.active, axis=0))
        for t in self.varying:
            if met[t]:
                rows, columns = np.flatnonzero(A.active[:, t]), np.flatnonzero(B.active[:, t])
                K[np.ix_(rows, columns)] += self._block(hyper, t, A.features[rows], B.features[columns])
        return K

    def component(self, hyper: Hyperparameters, t: int, A: Rows, B: Rows) -> Array:
        """The part of k(A, B) that is term t."""
        both = np.outer(A.active[:, t], B.active[:, t]).astype(np.float64)
        if self.constant[t]:
            return np.asarray(both * hyper.amplitudes[t])
        return both * self._block(hyper, t, A.features, B.features)

    def _block(self, hyper: Hyperparameters, t: int, F: Array, G: Array) -> Array:
        features, weight = self._term_features[t][0], self.term_weights(hyper, t)
        F, G = F[:, features] * weight, G[:, features] * weight
        r2 = np.sum(F * F, axis=1)[:, None] + np.sum(G * G, axis=1) - 2.0 * (F @ G.T)
        kernel = squared_exponential if self.terms[t].smooth else matern52
        return np.asarray(hyper.amplitudes[t] * kernel(np.maximum(r2, 0.0))[0])

    def gram(self, rows: Rows) -> Gram:
        """The Gram matrix of rows as a function of the hyperparameters."""
        return Gram(self, rows)

    def points(
        self, hyper: Hyperparameters, rows: Rows, X: Array, counted: Counted, row: Index | None = None
    ) -> Points:
        """The cross-covariance of moving points with rows, as a function of where the points are."""
        row = np.arange(len(X)) if row is None else row
        return Points(self, hyper, rows, X, csc_array(counted), row)

    def squared_distance(self, column: int, u: Array, v: Array) -> Array:
        """Δ² in one column."""
        return (u != v).astype(float) if self.n_codes[column] else (u - v) ** 2


def _split(smooth: Sequence[bool], sizes: Sequence[int]) -> int:
    """How many of the concatenated pairs belong to smooth terms, which come first."""
    return sum(size for is_smooth, size in zip(smooth, sizes, strict=True) if is_smooth)


def _kernel(r2: Array, n_smooth: int) -> tuple[Array, Array]:
    """κ and dκ/dr² of pairs, the first `n_smooth` of which belong to smooth terms."""
    if n_smooth == len(r2):
        return squared_exponential(r2)
    if n_smooth == 0:
        return matern52(r2)
    parts = squared_exponential(r2[:n_smooth]), matern52(r2[n_smooth:])
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _scatter(index: Index, values: Array, size: int) -> Array:
    """A vector of this size with each value added at its index."""
    return np.bincount(index, values, minlength=size).astype(np.float64, copy=False)


class Gram:
    """K(θ) of fixed rows, without noise: `value` computes it, `gradient` pulls a weight matrix back to θ.

    The pairs are those below the diagonal, where κ < 1; on the diagonal a term is its amplitude.
    """

    def __init__(self, covariance: Covariance, rows: Rows) -> None:
        self.covariance, self.rows, self._n = covariance, rows, len(rows)
        self._active = rows.active.astype(float)
        flat, terms, sizes, entries = [], [], [], []
        offset = 0
        for t in covariance.varying:
            term = covariance.terms[t]
            on = np.flatnonzero(rows.active[:, t])
            if len(on) < 2:
                continue
            i, j = np.tril_indices(len(on), -1)
            i, j = on[i], on[j]
            flat.append(i * self._n + j)
            terms.append(t)
            sizes.append(len(i))
            for column, scale in zip(term.columns, term.scales, strict=True):
                delta2 = covariance.squared_distance(column, rows.X[i, column], rows.X[j, column])
                entries.append((np.arange(offset, offset + len(i)), scale, delta2 / len(term.columns)))
            offset += len(i)
        self._flat = np.concatenate(flat) if flat else np.empty(0, dtype=np.intp)
        self._terms, self._sizes = np.array(terms, dtype=np.intp), np.array(sizes, dtype=np.intp)
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._n_smooth = _split([covariance.terms[t].smooth for t in terms], sizes)
        self._delta2 = _sparse(entries, (offset, covariance.n_scales))
        self._delta2_t = csr_array(self._delta2.T)

    def value(self, hyper: Hyperparameters) -> Array:
        """K, n x n; keeps what `gradient` needs."""
        n = self._n
        self._inverse2 = hyper.lengthscales**-2
        self._k, self._dk = _kernel(self._delta2 @ self._inverse2, self._n_smooth)
        self._a = np.repeat(hyper.amplitudes[self._terms], self._sizes)
        below = _scatter(self._flat, self._a * self._k, n * n).reshape(n, n)
        K = np.asarray(below + below.T)
        K[np.diag_indices(n)] = self._active @ np.where(self.covariance.constant, 0.0, hyper.amplitudes)
        Z = self._active[:, self.covariance.constant]
        if Z.size:
            K += (Z * hyper.amplitudes[self.covariance.constant]) @ Z.T
        return K

    def gradient(self, hyper: Hyperparameters, W: Array) -> tuple[Array, Array]:
        """The derivative of sum(W * K), W symmetric, by log amplitudes (T) and log lengthscales (S)."""
        by_amplitude = self._active.T @ np.diagonal(W)
        w = 2.0 * W.ravel()[self._flat]  # a pair stands twice in K
        if len(w):
            by_amplitude[self._terms] += np.add.reduceat(w * self._k, self._starts)
        constant = self.covariance.constant
        Z = self._active[:, constant]
        by_amplitude[constant] = np.sum((W @ Z) * Z, axis=0)
        by_scale = self._delta2_t @ (w * self._a * self._dk)
        return by_amplitude * hyper.amplitudes, -2.0 * by_scale * self._inverse2


def _sparse(entries: list[tuple[Index, int, Array]], shape: tuple[int, int]) -> csr_array:
    """Rows of pairs, columns of lengthscales."""
    if not entries:
        return csr_array(shape)
    rows = np.concatenate([r for r, _, _ in entries])
    columns = np.repeat([c for _, c, _ in entries], [len(r) for r, _, _ in entries])
    return csr_array((np.concatenate([v for _, _, v in entries]), (rows, columns)), shape=shape)


class Points:
    """k(x_b, rows) of B moving points: `value` at given positions, `gradient` pulls weights back to the positions.

    Only numeric columns move; activity and categories stay as they are in the X given first. `counted` (B x T, sparse)
    says which terms count for which point: all the active ones for a whole configuration, one for a vertex's own
    problem. `row` (B) says which row of X a point lies in: the problems of different vertices, which have no column in
    common, share rows.
    """

    def __init__(
        self, covariance: Covariance, hyper: Hyperparameters, rows: Rows, X: Array, counted: csc_array, row: Index
    ) -> None:
        self._shape = (len(row), len(rows))
        imputed = covariance.impute(X)
        a = np.where(covariance.constant, hyper.amplitudes, 0.0)
        constants = np.flatnonzero(covariance.constant)
        self._fixed: Array = counted[:, constants] @ (rows.active.astype(float) * a)[:, constants].T
        self.variance = counted @ hyper.amplitudes
        flat, amplitude, base, smooth, sizes = [], [], [], [], []
        pair, variable, seen, weight = [], [], [], []
        offset = 0
        met = np.asarray((np.diff(counted.indptr) > 0) & np.any(rows.active, axis=0))
        for t in (t for t in covariance.varying if met[t]):
            term = covariance.terms[t]
            points, on = counted.indices[counted.indptr[t] : counted.indptr[t + 1]], np.flatnonzero(rows.active[:, t])
            size = len(points) * len(on)
            b, i = np.repeat(points, len(on)), np.tile(on, len(points))
            r2 = np.zeros(size)
            for column, scale in zip(term.columns, term.scales, strict=True):
                inverse2 = 1.0 / (hyper.lengthscales[scale] ** 2 * len(term.columns))
                moves = np.repeat(~np.isnan(X[row[points], column]) & (covariance.n_codes[column] == 0), len(on))
                still = inverse2 * covariance.squared_distance(column, imputed[row[b], column], rows.X[i, column])
                r2 += np.where(moves, 0.0, still)
                if (k := int(moves.sum())) > 0:
                    pair.append(offset + np.flatnonzero(moves))
                    variable.append(row[b[moves]] * X.shape[1] + column)
                    seen.append(rows.X[i[moves], column])
                    weight.append(np.full(k, inverse2))
            flat.append(b * len(rows) + i)
            amplitude.append(np.full(size, hyper.amplitudes[t]))
            base.append(r2)
            smooth.append(term.smooth)
            sizes.append(size)
            offset += size
        empty = np.empty(0, dtype=np.intp)
        self._flat, self._pair = (np.concatenate(x) if x else empty for x in (flat, pair))
        self._variable = np.concatenate(variable) if variable else empty
        self._amplitude, self._base = (np.concatenate(x) if x else np.empty(0) for x in (amplitude, base))
        self._seen, self._weight = (np.concatenate(x) if x else np.empty(0) for x in (seen, weight))
        self._n_smooth = _split(smooth, sizes)

    def value(self, X: Array) -> tuple[Array, Callable[[Array], Array]]:
        """k (B x n) at X, and the function that turns d/dk (B x n) into d/dX."""
        B, n = self._shape
        delta = X.ravel()[self._variable] - self._seen
        scaled = self._weight * delta
        r2 = self._base + _scatter(self._pair, scaled * delta, len(self._base))
        k, dk = _kernel(r2, self._n_smooth)
        K = self._fixed + _scatter(self._flat, self._amplitude * k, B * n).reshape(B, n)

        def gradient(W: Array) -> Array:
            by_r2 = W.ravel()[self._flat] * self._amplitude * dk
            by_x = 2.0 * by_r2[self._pair] * scaled
            return _scatter(self._variable, by_x, X.size).reshape(X.shape)

        return K, gradient
