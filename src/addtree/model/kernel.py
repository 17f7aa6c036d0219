"""The kernel: a sum of gated terms, and what it derives from encoded rows.

symbol  shape       meaning
X       n x D       encoded rows, NaN where inactive
a       T           amplitude (variance) of each term
ℓ       S           lengthscales; a term says which of them each of its columns uses
φ       n x T       basis: 0 where a term is inactive, else 1, or the polynomial of a linear term (there are L of those)
r²      a pair      sum over a term's d columns of Δ² / ℓ², over d; Δ is 1 between different categories
κ(r²)   a pair      squared-exponential where the term is smooth, Matérn-5/2 where it is not, 1 where it is linear

    k(x, x') = sum over terms of a φ(x) φ(x') κ(r²)

`kernel_matrices` computes its values for many rows at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from addtree._types import Array, Index, Mask
from addtree.model.cholesky import connected_blocks
from addtree.model.terms import Kind, Term

_ALWAYS = (0, math.nan, math.nan)  # A condition that holds in every row; it is the first of all conditions.


def squared_exponential(r2: Array) -> Array:
    """κ = exp(-r²/2)."""
    return np.exp(-0.5 * r2)


def matern52(r2: Array) -> Array:
    """κ = (1 + s + s²/3) exp(-s) with s = √5 r."""
    s = np.sqrt(5.0 * r2)
    return (1.0 + s + (5.0 / 3.0) * r2) * np.exp(-s)


def with_slope(r2: Array, n_smooth: int) -> tuple[Array, Array]:
    """κ and dκ/dr² of pairs; the first `n_smooth` belong to smooth terms."""
    k, dk = np.empty_like(r2), np.empty_like(r2)
    k[:n_smooth] = squared_exponential(r2[:n_smooth])
    np.multiply(k[:n_smooth], -0.5, out=dk[:n_smooth])
    s = np.sqrt(5.0 * r2[n_smooth:])
    e, line = np.exp(-s), 1.0 + s
    np.multiply(line + s * s / 3.0, e, out=k[n_smooth:])
    np.multiply((-5.0 / 6.0) * line, e, out=dk[n_smooth:])
    return k, dk


# Legendre polynomials of degree 0, 1 and 2 in t = 2 u - 1, of unit mean square on [0, 1]: the coefficients of 1, t, t².
_LEGENDRE = np.array([[1.0, 0.0, 0.0], [0.0, np.sqrt(3.0), 0.0], [-0.5 * np.sqrt(5.0), 0.0, 1.5 * np.sqrt(5.0)]])


def legendre(u: Array, degree: Index) -> tuple[Array, Array]:
    """Legendre polynomials of degree 0, 1 or 2 on [0, 1], of unit mean square, and their derivatives by u."""
    t, (constant, line, square) = 2.0 * u - 1.0, _LEGENDRE[degree].T
    curved = square * t
    return constant + t * (line + curved), 2.0 * (line + 2.0 * curved)


@dataclass(frozen=True)
class TermPoints:
    """Which of T terms count for which points, as pairs of a term and a point, sorted by term."""

    term: Index
    point: Index
    n_terms: int

    @classmethod
    def from_mask(cls, counted: Mask) -> TermPoints:
        """The pairs that a B x T mask marks."""
        term, point = counted.T.nonzero()
        return cls(term, point, counted.shape[1])

    @cached_property
    def sizes(self) -> Index:
        """Per term, the number of points."""
        return np.bincount(self.term, minlength=self.n_terms)

    @cached_property
    def starts(self) -> Index:
        """Per term, where its points begin."""
        return np.cumsum(self.sizes) - self.sizes

    def points_of(self, t: int) -> Index:
        """The points for which term t counts."""
        return self.point[self.starts[t] : self.starts[t] + self.sizes[t]]


@dataclass(frozen=True)
class Rows:
    """Encoded rows, imputed, with what the kernel derives from them: activity and basis (n x T), features (n x F)."""

    X: Array
    active: Mask
    basis: Array
    features: Array

    def __len__(self) -> int:
        return len(self.X)

    @cached_property
    def by_term(self) -> TermPoints:
        """The rows in which each term is active."""
        return TermPoints.from_mask(self.active)

    @cached_property
    def blocks(self) -> tuple[Index, ...]:
        """The rows of each block of their covariance matrix (see `connected_blocks`)."""
        return connected_blocks(self.active)

    def __getitem__(self, index: slice | Index | Mask) -> Rows:
        return Rows(self.X[index], self.active[index], self.basis[index], self.features[index])

    def only(self, terms: Mask) -> Rows:
        """The same rows with only these terms active (T, or n x T)."""
        return Rows(self.X, self.active & terms, self.basis * terms, self.features)


def stack(first: Rows, second: Rows) -> Rows:
    """The rows of both, in order."""
    return Rows(
        np.concatenate([first.X, second.X]),
        np.concatenate([first.active, second.active]),
        np.concatenate([first.basis, second.basis]),
        np.concatenate([first.features, second.features]),
    )


@dataclass(frozen=True)
class Hyperparameters:
    """Amplitudes (T), lengthscales (S) and the noise variance, all positive."""

    amplitudes: Array
    lengthscales: Array
    noise: float


@dataclass(frozen=True)
class Kernel:
    """Terms over columns; `n_codes` is the number of categories of each column, 0 for a number."""

    terms: tuple[Term, ...]
    n_codes: tuple[int, ...]

    # ------------------------------------------------------------------ structure

    @cached_property
    def n_scales(self) -> int:
        """S, the number of lengthscales."""
        return 1 + max((s for term in self.terms for s in term.scales), default=-1)

    @cached_property
    def is_linear(self) -> Mask:
        """Which terms are linear."""
        return np.array([term.degree is not None for term in self.terms], dtype=bool)

    @cached_property
    def linear(self) -> Index:
        """The L linear terms."""
        return np.flatnonzero(self.is_linear)

    @cached_property
    def linear_position(self) -> Index:
        """Per term, its position among the linear terms, if it is one."""
        return np.cumsum(self.is_linear) - 1

    @cached_property
    def polynomials(self) -> tuple[Index, Index]:
        """Column and degree of each linear term (L); a term of degree 0 does not depend on its column."""
        terms = [self.terms[t] for t in self.linear]
        columns = np.array([term.columns[0] if term.columns else 0 for term in terms], dtype=np.intp)
        return columns, np.array([term.degree for term in terms], dtype=np.intp)

    @cached_property
    def smooth(self) -> Mask:
        """Which terms are smooth."""
        return np.array([term.smooth for term in self.terms], dtype=bool)

    @cached_property
    def stationary(self) -> tuple[int, ...]:
        """The terms that are not linear, smooth ones first."""
        return tuple(sorted(np.flatnonzero(~self.is_linear).tolist(), key=lambda t: not self.terms[t].smooth))

    def of_kind(self, kind: Kind) -> list[int]:
        """The numbers of the terms of one kind."""
        return [t for t, term in enumerate(self.terms) if term.kind == kind]

    @cached_property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """The terms that belong together: a main term and the trends of its numbers; each other term is alone."""
        trends: dict[int, list[int]] = {}
        for t in self.of_kind("trend"):
            trends.setdefault(self.terms[t].columns[0], []).append(t)
        groups = []
        for t, term in enumerate(self.terms):
            if term.kind == "main":
                groups.append((t, *(s for j in term.columns for s in trends.get(j, ()))))
            elif term.kind != "trend":
                groups.append((t,))
        return tuple(groups)

    @cached_property
    def categorical(self) -> Mask:
        """Which columns hold categories."""
        return np.array(self.n_codes) > 0

    @cached_property
    def _indicators(self) -> tuple[Index, Index]:
        """The indicator features, which follow the columns: column and code of each.

        A column of k categories that a term reads has k + 1 of them; the first is that of inactive, which counts as a
        category.
        """
        read = sorted({column for term in self.terms for column in term.columns if self.n_codes[column]})
        pairs = [(column, code) for column in read for code in range(-1, self.n_codes[column])]
        columns, codes = np.array(pairs, dtype=np.intp).reshape(len(pairs), 2).T
        return columns, codes

    @cached_property
    def _feature_columns(self) -> list[list[int]]:
        """Per column, its features: the number itself, or the indicators of the categories."""
        features: list[list[int]] = [[] if k else [j] for j, k in enumerate(self.n_codes)]
        for f, column in enumerate(self._indicators[0].tolist(), start=len(self.n_codes)):
            features[column].append(f)
        return features

    @cached_property
    def term_features(self) -> dict[int, tuple[Index, Index]]:
        """Per stationary term, its features and the number of each one's lengthscale."""
        out = {}
        for t in self.stationary:
            pairs = [(f, s) for c, s in self.terms[t].reads for f in self._feature_columns[c]]
            out[t] = (np.array([f for f, _ in pairs]), np.array([s for _, s in pairs]))
        return out

    @cached_property
    def _gates(self) -> tuple[Index, Array, Array, Index]:
        """The conditions in gates (column, lowest and highest code), and the numbers of each term's own (T x width).

        Gates shorter than the longest are padded with the first condition, which always holds.
        """
        width = max([1, *(len(term.gate) for term in self.terms)])
        conditions = [_ALWAYS, *dict.fromkeys(condition for term in self.terms for condition in term.gate)]
        number = {condition: i for i, condition in enumerate(conditions)}
        numbers = np.zeros((len(self.terms), width), dtype=np.intp)
        for t, term in enumerate(self.terms):
            numbers[t, : len(term.gate)] = [number[condition] for condition in term.gate]
        columns, low, high = (np.array(part) for part in zip(*conditions, strict=True))
        return columns, low, high, numbers

    @cached_property
    def term_columns(self) -> tuple[TermPoints, Index]:
        """The columns that κ of each term reads, as its points, and the number of each one's lengthscale."""
        term = np.repeat(np.arange(len(self.terms)), [len(term.reads) for term in self.terms])
        columns = np.array([column for term in self.terms for column, _ in term.reads], dtype=np.intp)
        scales = np.array([scale for term in self.terms for _, scale in term.reads], dtype=np.intp)
        return TermPoints(term, columns, len(self.terms)), scales

    @cached_property
    def order(self) -> Index:
        """The terms: smooth ones, rough ones, linear ones."""
        return np.array([*self.stationary, *self.linear], dtype=np.intp)

    def term_weights(self, hyper: Hyperparameters, t: int) -> Array:
        """The weights of term t's features, with which r² is a plain squared distance."""
        weights = 1.0 / (hyper.lengthscales[self.term_features[t][1]] * np.sqrt(len(self.terms[t].columns)))
        return np.asarray(weights)

    def by_columns(self, by_features: Array) -> Array:
        """A derivative by features as a derivative by columns; zero for categories, which do not move."""
        return np.where(self.categorical, 0.0, by_features[:, : len(self.n_codes)])

    def rows(self, X: Array) -> Rows:
        """Encoded rows, with what the kernel derives from them."""
        active, imputed = self.active(X), self.impute(X)
        basis = active.astype(float)
        basis[:, self.linear] *= self.basis_functions(imputed)[0]
        return Rows(imputed, active, basis, self.features(imputed))

    def active(self, X: Array) -> Mask:
        """Which terms are active in encoded rows (n x T)."""
        columns, low, high, gates = self._gates
        values = X[:, columns] if X.shape[1] else np.full((len(X), len(columns)), np.nan)
        held = (low <= values) & (values <= high)
        held[:, 0] = True
        return np.asarray(np.all(held[:, gates], axis=2))

    def features(self, imputed: Array) -> Array:
        """The features of imputed rows (n x F): the columns, zero for categories, and the indicators.

        Indicators are 1/√2, so that two categories are at squared distance 1.
        """
        read, code = self._indicators
        numbers, indicators = np.where(self.categorical, 0.0, imputed), (imputed[:, read] == code) * np.sqrt(0.5)
        return np.concatenate([numbers, indicators], axis=1)

    def basis_functions(self, imputed: Array, linear: Index | slice = slice(None)) -> tuple[Array, Array]:
        """The polynomials of the linear terms at imputed rows (n x L), and their derivatives by their columns.

        linear  positions of the ones that are wanted among the linear terms; all by default
        """
        columns, degrees = (part[linear] for part in self.polynomials)
        if not imputed.shape[1]:
            return np.ones((len(imputed), len(columns))), np.zeros((len(imputed), len(columns)))
        return legendre(imputed[:, columns], degrees)

    def impute(self, X: Array) -> Array:
        """Inactive numbers at the middle of their range, inactive categories as a category of their own.

        Only a term that reads columns that its gate does not make active (across independent choices) sees these.
        """
        return np.where(np.isnan(X), np.where(self.categorical, -1.0, 0.5), X)

    # ------------------------------------------------------------------ values

    def variance(self, hyper: Hyperparameters, basis: Array) -> Array:
        """k(x, x) for rows with this basis."""
        return np.asarray(basis**2 @ hyper.amplitudes)

    def squared_distance(self, columns: Index, U: Array, V: Array) -> Array:
        """Δ² between U and V, which are values of these columns."""
        delta = U - V
        return np.where(self.categorical[columns], delta != 0.0, delta * delta)
