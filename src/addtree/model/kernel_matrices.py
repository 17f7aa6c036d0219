"""Kernel matrices of many rows at once.

class            value       fixed                       varies
GramMatrix       K, n x n    the rows                    the hyperparameters, with gradients: for the likelihood
CrossCovariance  k*, m x n   the rows, hyperparameters   the m other rows: for predictions
MovingPoints     k*, B x n   the rows, hyperparameters   the positions of B points, with gradients: for the search

symbol  shape       meaning
θ                   the hyperparameters: amplitudes (T), lengthscales (S)
Δ²      d x pairs   squared differences in the d columns that a term reads
r²      a pair      sum over a term's columns of Δ² / ℓ², over d
κ(r²)   a pair      the kernel of a stationary term; it adds amplitude times κ where it is active in both rows
Φ       n x L       the basis of the linear terms; together they add Φ diag(a) Φᵀ, one matrix product

The three classes compute the same sum, and tests check that they agree. They are three because each computes once what
is fixed for it, which is most of the work. GramMatrix keeps Δ² per column, so that a new θ costs one product per term,
and so does its gradient. CrossCovariance weights the features of its rows once and gets r² to any other rows as one
matrix product, which has no gradient by lengthscale or position. MovingPoints keeps what the fixed columns of a point
add to r², and updates only those that move. All of them use the kernel functions and the imputation of `kernel`.

Nothing is computed for rows in which a stationary term is inactive. GramMatrix and MovingPoints keep one flat list of
(term, row, row) triples, so that a whole matrix takes a dozen vectorised operations, whatever the number of terms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from addtree._types import Array, Index, Mask
from addtree.model.kernel import (
    Hyperparameters,
    Kernel,
    Rows,
    TermPoints,
    legendre,
    matern52,
    squared_exponential,
    with_slope,
)

# Which terms count for which points: a B x T mask, or pairs of a term and a point.
Counted: TypeAlias = Mask | TermPoints


def scatter(index: Index, values: Array, size: int) -> Array:
    """A vector of this size with each value added at its index."""
    return np.bincount(index, values, minlength=size).astype(np.float64, copy=False)


def _ragged(sizes: Index) -> tuple[Index, Index]:
    """For consecutive groups of these sizes: the group of each member, and its place in the group."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, np.arange(len(group)) - (np.cumsum(sizes) - sizes)[group]


def _joined(parts: Sequence[Index]) -> Index:
    """The concatenation; empty if there are no parts."""
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.intp)


class CrossCovariance:
    """k(A, rows) for fixed rows and hyperparameters and any A; what a term needs of the rows is computed once."""

    def __init__(self, kernel: Kernel, hyper: Hyperparameters, rows: Rows) -> None:
        self._kernel, self._hyper, self._rows = kernel, hyper, rows
        self._met = rows.by_term.sizes > 0
        self._linear = (rows.basis[:, kernel.linear] * hyper.amplitudes[kernel.linear]).T
        self._sides: dict[int, tuple[Index, Array, Array]] = {}

    def _side(self, t: int) -> tuple[Index, Array, Array]:
        """The rows in which term t is active, its weights, and the matrix that maps [F, |F|², 1] to r² to these rows.

        F are the weighted features of other rows. A single number needs no matrix: its weighted values are enough.
        """
        if t not in self._sides:
            on, weights = self._rows.by_term.points_of(t), self._kernel.term_weights(self._hyper, t)
            G = self._rows.features[on[:, None], self._kernel.term_features[t][0]] * weights
            squares = np.sum(G * G, axis=1, keepdims=True)
            side = G[:, 0] if G.shape[1] == 1 else np.concatenate([-2.0 * G, np.ones_like(squares), squares], axis=1).T
            self._sides[t] = (on, weights, side)
        return self._sides[t]

    def value(self, A: Rows) -> Array:
        """k(A, rows), m x n."""
        K = np.asarray(A.basis[:, self._kernel.linear] @ self._linear)
        met = self._met & (A.by_term.sizes > 0)
        for t in self._kernel.stationary:
            if not met[t]:
                continue
            rows, (on, weights, side) = A.by_term.points_of(t), self._side(t)
            F = A.features[rows[:, None], self._kernel.term_features[t][0]] * weights
            if side.ndim == 1:
                r2 = np.subtract.outer(F[:, 0], side) ** 2
            else:
                squares = np.sum(F * F, axis=1, keepdims=True)
                r2 = np.maximum(np.concatenate([F, squares, np.ones_like(squares)], axis=1) @ side, 0.0)
            kernel = squared_exponential if self._kernel.terms[t].smooth else matern52
            block = self._hyper.amplitudes[t] * kernel(r2)
            if block.shape == K.shape:
                K += block
            else:
                K[rows[:, None], on] += block
        return K


class GramMatrix:
    """K(θ) of fixed rows, without noise: the stationary terms by pairs of rows, the linear ones as Φ diag(a) Φᵀ.

    The pairs (`i`, `j`) are those of rows i > j in which a stationary term is active, ordered by term, smooth ones
    first. On the diagonal such a term adds its amplitude.
    """

    def __init__(self, kernel: Kernel, rows: Rows) -> None:
        self.kernel, self.rows = kernel, rows
        self._active = rows.active * ~kernel.is_linear * 1.0
        self.basis = rows.basis[:, kernel.linear]
        below = np.tril_indices(len(rows), -1)  # ordered by row, so that the pairs of fewer rows come first
        terms, first, second = [], [], []
        self._delta2: list[tuple[slice, slice, Array]] = []  # per term: pairs, columns, Δ²/d (d x pairs)
        reads: list[Index] = []  # the lengthscales
        self._n_smooth = n_pairs = n_reads = 0
        for t in kernel.stationary:
            on = rows.by_term.points_of(t)
            size = len(on) * (len(on) - 1) // 2
            if size == 0:
                continue
            i, j = below[0][:size], below[1][:size]
            terms.append(t)
            first.append(on[i])
            second.append(on[j])
            columns, scales = np.array(kernel.terms[t].reads).T
            values = rows.X[on, columns[:, None]]
            delta2 = kernel.squared_distance(columns[:, None], values[:, i], values[:, j]) / len(columns)
            pairs, read = slice(n_pairs, n_pairs + size), slice(n_reads, n_reads + len(columns))
            self._delta2.append((pairs, read, delta2))
            reads.append(scales)
            n_pairs, n_reads = pairs.stop, read.stop
            self._n_smooth += size * kernel.terms[t].smooth
        self.i, self.j, self._reads = _joined(first), _joined(second), _joined(reads)
        self._terms, self._sizes = np.array(terms, dtype=np.intp), np.array([len(x) for x in first], dtype=np.intp)
        self._starts = np.cumsum(self._sizes) - self._sizes

    def pairs(self, hyper: Hyperparameters) -> tuple[Array, Array, Callable[[Array, Array], tuple[Array, Array]]]:
        """What each pair adds to K, what the diagonal gets (n), and the function that pulls derivatives back.

        It turns derivatives by the first two into derivatives by log amplitudes (T) and log lengthscales (S). The
        linear terms are left out: their derivatives are zero here.
        """
        inverse2 = hyper.lengthscales**-2
        r2, weights = np.empty(len(self.i)), inverse2[self._reads]
        for pairs, read, delta2 in self._delta2:
            np.dot(weights[read], delta2, out=r2[pairs])
        k, dk = with_slope(r2, self._n_smooth)
        values = np.repeat(hyper.amplitudes[self._terms], self._sizes)
        by_r2 = values * dk
        values *= k

        def pull_back(by_values: Array, by_diagonal: Array) -> tuple[Array, Array]:
            by_amplitude = (by_diagonal @ self._active) * hyper.amplitudes
            if len(values):
                by_amplitude[self._terms] += np.add.reduceat(by_values * values, self._starts)
            by_pairs, by_weights = by_values * by_r2, np.empty_like(weights)
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
        scaled = self.basis * np.sqrt(hyper.amplitudes[self.kernel.linear])
        return np.asarray(below + below.T + np.diag(diagonal) + scaled @ scaled.T)


class MovingPoints:
    """k(x_b, rows) of B points whose numeric columns move; activity and categories stay as in the first X.

    counted  which terms count for which point: all active ones for a whole configuration, one for a vertex's problem
    row      (B) the row of X that a point lies in; points of different vertices, which share no column, may share rows
    """

    def __init__(
        self,
        kernel: Kernel,
        hyper: Hyperparameters,
        rows: Rows,
        X: Array,
        counted: Counted,
        row: Index | None = None,
    ) -> None:
        self.row = np.arange(len(X)) if row is None else row
        self.counted = counted if isinstance(counted, TermPoints) else TermPoints.from_mask(counted)
        self._shape = (len(self.row), len(rows))
        self._set_linear(kernel, hyper, rows, X.shape[1])
        self._set_stationary(kernel, hyper, rows, X)

    def _set_linear(self, kernel: Kernel, hyper: Hyperparameters, rows: Rows, D: int) -> None:
        """Linear terms: those of degree 0 do not move. The variance also has what the stationary terms always add."""
        row, counted = self.row, self.counted
        linear = kernel.is_linear[counted.term]
        columns, degrees = kernel.polynomials
        counts = np.zeros((len(row), len(degrees)), dtype=bool)
        counts[counted.point[linear], kernel.linear_position[counted.term[linear]]] = True
        amplitudes, basis = hyper.amplitudes[kernel.linear], rows.basis[:, kernel.linear]
        still, moves = (np.any(counts, axis=0) & which for which in (degrees == 0, degrees > 0))
        self._fixed = (counts[:, still] * amplitudes[still]) @ basis[:, still].T
        self._variance = counts[:, still] @ amplitudes[still] + scatter(
            counted.point[~linear], hyper.amplitudes[counted.term[~linear]], len(row)
        )
        self._counts, self._degrees = counts[:, moves], degrees[moves]
        self._amplitudes, self._basis = amplitudes[moves], basis[:, moves]
        self._trend_variable = row[:, None] * D + columns[moves]

    def _set_stationary(self, kernel: Kernel, hyper: Hyperparameters, rows: Rows, X: Array) -> None:
        """Stationary terms: pairs of a point and a row, ordered by term, and for each pair the columns of its term."""
        counted, on, (columns, scales), n, D = self.counted, rows.by_term, kernel.term_columns, len(rows), X.shape[1]
        first = np.argsort(np.argsort(kernel.order)[counted.term], kind="stable")
        first = first[: np.count_nonzero(~kernel.is_linear[counted.term])]
        term, point = counted.term[first], counted.point[first]
        owner, within = _ragged(on.sizes[term])
        term, point = term[owner], point[owner]
        seen_row = on.point[on.starts[term] + within]
        self._flat, self._amplitude = point * n + seen_row, hyper.amplitudes[term]
        self._n_smooth = int(np.count_nonzero(kernel.smooth[term]))
        # The columns of a pair: those that move, and what the others always add to r².
        pair, within = _ragged(columns.sizes[term])
        read = columns.starts[term[pair]] + within
        column = columns.point[read]
        variable = self.row[point[pair]] * D + column
        weight = 1.0 / (hyper.lengthscales[scales] ** 2 * columns.sizes[columns.term])[read]
        seen = rows.X[seen_row[pair], column]
        moves = (~np.isnan(X) & ~kernel.categorical).ravel()[variable]
        still = ~moves
        delta2 = kernel.squared_distance(column[still], kernel.impute(X).ravel()[variable[still]], seen[still])
        self._base = scatter(pair[still], weight[still] * delta2, len(term))
        self._pair, self._variable, self._seen, self._weight = pair[moves], variable[moves], seen[moves], weight[moves]

    def value(self, X: Array) -> tuple[Array, Array, Callable[[Array, Array], Array]]:
        """k (B x n) and the prior variance (B) at X, and the function that turns derivatives by both into d/dX."""
        B, n = self._shape
        delta = X.ravel()[self._variable] - self._seen
        scaled = self._weight * delta
        r2 = self._base + scatter(self._pair, scaled * delta, len(self._base))
        k, dk = with_slope(r2, self._n_smooth)
        K = self._fixed + scatter(self._flat, self._amplitude * k, B * n).reshape(B, n)
        value, slope = legendre(np.where(self._counts, X.ravel()[self._trend_variable], 0.0), self._degrees)
        basis, slope = value * self._counts, slope * self._counts
        weighted = basis * self._amplitudes
        K += weighted @ self._basis.T
        variance = self._variance + np.sum(weighted * basis, axis=1)

        def gradient(by_k: Array, by_variance: Array) -> Array:
            by_r2 = by_k.ravel()[self._flat] * self._amplitude * dk
            by_x = 2.0 * by_r2[self._pair] * scaled
            out = scatter(self._variable, by_x, X.size).reshape(X.shape)
            by_basis = (by_k @ self._basis) * self._amplitudes + 2.0 * by_variance[:, None] * weighted
            return out + scatter(self._trend_variable.ravel(), (by_basis * slope).ravel(), X.size).reshape(X.shape)

        return K, variance, gradient
