"""What the model believes about parameters and options, as plain arrays.

Everything here is a weighted sum of the function at made-up configurations, and its posterior is exact
(`Posterior.sums`). To see the effect of a parameter, m configurations that were tried are each moved along its axis:

symbol  shape        meaning
g       G            positions on the axis, with weights w that add up to 1
f(g)    G            average over the m configurations of the terms that read the axis, at position g
effect  G            f(g) - Σ w f: the curve, its weighted mean zero, so that no constant is left to guess

The effect of a choice is the same with the options as positions: what hangs below the choice is then drawn at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from addtree._types import Array, Mask
from addtree.model.kernel import Rows
from addtree.model.kernel_matrices import CrossCovariance
from addtree.regression import AddTreeGP
from addtree.space.encoding import Encoding
from addtree.space.parameters import Categorical, Integer
from addtree.space.space import Choice, Config

_POSITIONS = 25  # on a numeric axis
_CONFIGS = 16  # moved along an axis, to average over
_FILLS = 32  # moved between options, whose subspaces are drawn at random
_POINTS = 100  # observations shown with a curve
_COARSE = 5  # positions that centre a single observation
_ROWS = 400  # of one sum: its prior covariance has the square of it


@dataclass(frozen=True)
class Axis:
    """A parameter or choice as something to move along: codes, what they stand for, and weights."""

    name: str
    column: int
    kind: Literal["number", "category", "choice"]
    codes: Array
    weights: Array
    values: tuple[Any, ...]
    log: bool = False

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers on a scale."""
        return self.kind == "number"


def make_axis(encoding: Encoding, name: str, *, positions: int = _POSITIONS) -> Axis:
    """The axis of a parameter or choice.

    >>> from addtree import Integer, Real, Space
    >>> make_axis(Encoding(Space(k=Integer(1, 3))), "k").values
    (1, 2, 3)
    """
    domain, column = encoding.space.variables[name], encoding.index[name]
    if isinstance(domain, (Choice, Categorical)):
        labels = domain.labels if isinstance(domain, Choice) else domain.values
        codes = np.arange(len(labels), dtype=float)
        kind: Literal["choice", "category"] = "choice" if isinstance(domain, Choice) else "category"
        return Axis(name, column, kind, codes, np.full(len(codes), 1.0 / len(codes)), labels)
    if isinstance(domain, Integer):
        steps = np.linspace(0.0, 1.0, positions) if domain.size > positions else np.linspace(0, 1, int(domain.size))
        if domain.log and domain.size <= positions:
            steps = np.array([domain.encode(value) for value in range(domain.low, domain.high + 1)])
        values: tuple[Any, ...] = tuple(dict.fromkeys(domain.decode(float(code)) for code in steps))
        codes = np.array([domain.encode(value) for value in values])
        return Axis(name, column, "number", codes, np.full(len(codes), 1.0 / len(codes)), values, domain.log)
    if positions <= _COARSE:  # too few to draw: to average over, by Gauss's quadrature
        nodes, weights = np.polynomial.legendre.leggauss(positions)
        codes, weights = 0.5 + 0.5 * nodes, 0.5 * weights
    else:
        codes, weights = np.linspace(0.0, 1.0, positions), np.full(positions, 1.0 / (positions - 1))
        weights[[0, -1]] /= 2.0
    return Axis(name, column, "number", codes, weights, tuple(domain.decode(float(c)) for c in codes), domain.log)


@dataclass(frozen=True)
class Curve:
    """The effect of one axis, in the units of y: mean and std (G); and what single trials say (partial residuals).

    points  per trial shown: its number among the observations, its position's value, its value less what the model
            expects of it on average over the axis
    tried   how many observations had it active
    """

    axis: Axis
    mean: Array
    std: Array
    tried: int
    points: tuple[tuple[int, Any, float], ...] = ()

    @property
    def swing(self) -> float:
        """How far the mean moves."""
        return float(np.max(self.mean) - np.min(self.mean))


@dataclass(frozen=True)
class Joint:
    """The effect of two axes together (G_a x G_b, weighted mean zero), and the variance share of their interaction."""

    a: Axis
    b: Axis
    mean: Array
    share: float


@dataclass(frozen=True)
class Contribution:
    """What fixing one parameter or option adds to what is expected."""

    name: str
    value: Any
    mean: float
    std: float


class Effects:
    """The beliefs of a fitted model about the observations X (encoded, n x D) that it was conditioned on."""

    def __init__(self, gp: AddTreeGP, X: Array, *, seed: int = 0) -> None:
        self.gp, self.X, self._seed = gp, X, seed
        self.encoding, self.posterior = gp.encoding, gp.posterior
        self.space, self.terms = gp.space, gp.posterior.kernel.terms

    # ------------------------------------------------------------------ sums of components

    def _rows(self, X: Array, counted: Mask) -> Rows:
        return self.posterior.kernel.rows(X).only(counted)

    def mean(self, X: Array, counted: Mask) -> Array:
        """The posterior mean of the counted terms together, on the scale of the model."""
        return np.asarray(self.posterior.cross.value(self._rows(X, counted)) @ self.posterior.alpha)

    @cached_property
    def term_means(self) -> Array:
        """The mean of every term at the observations (T x n), zero where it is inactive."""
        posterior, rows, out = self.posterior, self.posterior.rows, np.zeros((len(self.terms), len(self.X)))
        for t in range(len(self.terms)):
            on = np.flatnonzero(rows.active[:, t])
            cross = CrossCovariance(posterior.kernel, posterior.hyper, rows[on])
            out[t, on] = cross.value(rows[on].only(np.arange(len(self.terms)) == t)) @ posterior.alpha[on]
        return out

    def depends(self, axis: Axis) -> Mask:
        """Which terms change along an axis."""
        moved = self.below(axis) if axis.kind == "choice" else {axis.column}
        if axis.kind != "choice":
            return np.array([axis.column in term.columns for term in self.terms])
        return np.array([bool(moved & ({*term.columns} | {j for j, _ in term.gate})) for term in self.terms])

    def below(self, axis: Axis) -> set[int]:
        """The columns of a choice and of all that hangs under it."""
        columns = {axis.column}
        for choices in self.encoding.node_choices:
            for j, options in choices:
                if j == axis.column:
                    columns.update(*(self.encoding.below[o].tolist() for o in options))
        return columns

    # ------------------------------------------------------------------ moving configurations

    def at_node(self, X: Array, node: int) -> Mask:
        """Which rows activate a node."""
        on = np.ones(len(X), dtype=bool)
        for choice, option in self.space.nodes[node].location:
            on &= X[:, self.encoding.index[choice]] == option
        return on

    def place(self, X: Array, axis: Axis, code: float) -> Array:
        """The rows moved to a position; a choice draws what its option opens at random, always alike."""
        X, rng = X.copy(), np.random.default_rng([self._seed, axis.column, int(code)])
        if axis.kind != "choice":
            X[:, axis.column] = code
            return X
        for node, choices in enumerate(self.encoding.node_choices):
            for column, options in choices:
                rows = np.flatnonzero((column == axis.column) & self.at_node(X, node))
                if len(rows):
                    for child in options:
                        self.encoding.clear(X, child, rows)
                    X[rows, column] = code
                    self.fill(X, options[int(code)], rows, rng)
        return self.encoding.snap(X)

    def fill(self, X: Array, node: int, rows: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Draw everything at and below a node evenly: each number once in each of its strata, each option as often."""
        queue = [(node, rows)]
        for i, at in queue:
            k, n_codes = len(at), self.encoding.n_codes
            for j in self.encoding.node_columns[i]:
                even = rng.permutation(k)
                X[at, j] = even % n_codes[j] if n_codes[j] else (even + 0.5) / k
            for j, options in self.encoding.node_choices[i]:
                X[at, j] = picks = rng.permutation(k) % len(options)
                queue += [(child, at[picks == o]) for o, child in enumerate(options) if (picks == o).any()]

    def spread(self, size: int) -> Array:
        """Random configurations, spread evenly over the space."""
        X = np.full((size, self.encoding.n_columns), np.nan)
        self.fill(X, 0, np.arange(size), np.random.default_rng(self._seed))
        return self.encoding.snap(X)

    def base(self, columns: Sequence[int], size: int) -> Array:
        """Observed rows in which these columns are active, evenly spread in time; random ones where there are none."""
        found = np.flatnonzero(~np.isnan(self.X[:, columns]).any(axis=1))
        if len(found):
            return np.asarray(self.X[_spread(found, size)])
        X = self.spread(size)
        for column in columns:
            for choice, option in self.space.conditions[self.encoding.names[column]][0]:
                X = self.place(X, make_axis(self.encoding, choice), float(option))
        return X

    # ------------------------------------------------------------------ effects

    def curve(self, name: str) -> Curve:
        """The effect of a parameter or a choice."""
        axis = make_axis(self.encoding, name)
        counted, G = self.depends(axis), len(axis.codes)
        base = self.base([axis.column], min(_FILLS if axis.kind == "choice" else _CONFIGS, max(_ROWS // G, 1)))
        m = len(base)
        if axis.kind == "choice":  # few observations still need many draws of what the options open
            base = np.tile(base, (max(_FILLS // m, 1), 1))[: max(_ROWS // G, 1)]
            m = len(base)
        queries = self._rows(np.concatenate([self.place(base, axis, code) for code in axis.codes]), counted)
        mean, covariance = self.posterior.sums(np.kron(np.eye(G), np.full((1, m), 1.0 / m)), queries)
        centring = np.eye(G) - axis.weights
        variance = np.einsum("ij,jk,ik->i", centring, covariance, centring)
        scale, tried = self.gp.scale, int(np.sum(~np.isnan(self.X[:, axis.column])))
        points = () if axis.kind == "choice" else self._points(axis, counted)
        return Curve(axis, scale * (centring @ mean), scale * np.sqrt(np.maximum(variance, 0.0)), tried, points)

    def _points(self, axis: Axis, counted: Mask) -> tuple[tuple[int, Any, float], ...]:
        """Per observation: residual + terms that read the axis, less their average over the axis with all else kept."""
        found = np.flatnonzero(~np.isnan(self.X[:, axis.column]))
        if not len(found):
            return ()
        shown = _spread(found, _POINTS)
        coarse = make_axis(self.encoding, axis.name, positions=_COARSE) if axis.is_number else axis
        moved = np.concatenate([self.place(self.X[shown], coarse, code) for code in coarse.codes])
        average = coarse.weights @ self.mean(moved, counted).reshape(len(coarse.codes), len(shown))
        residual = (self.posterior.z - self.posterior.means())[shown]
        own = self.term_means[counted][:, shown].sum(axis=0)
        y = self.gp.scale * (residual + own - average)
        domain = self.space.variables[axis.name]
        values = [domain.decode(float(code)) for code in self.X[shown, axis.column]]
        return tuple((int(i), value, float(v)) for i, value, v in zip(shown, values, y, strict=True))

    def joint(self, a: Axis, b: Axis, *, size: int, both: bool) -> tuple[Array, Array] | None:
        """Means on the grid of two axes (G_a x G_b) of the terms that read either, or `both`; and their interaction."""
        columns = [a.column, b.column]
        if np.isnan(self.X[:, columns]).any(axis=1).all():
            return None
        counted = self.depends(a) & self.depends(b) if both else self.depends(a) | self.depends(b)
        base = self.base(columns, size)
        X = np.concatenate([self.place(self.place(base, a, u), b, v) for u in a.codes for v in b.codes])
        mean = self.mean(X, counted).reshape(len(a.codes), len(b.codes), len(base)).mean(axis=2)
        mean -= a.weights @ mean @ b.weights
        pure = mean - (mean @ b.weights)[:, None] - a.weights @ mean
        return mean, pure

    def contributions(self, config: Config) -> tuple[float, list[Contribution]]:
        """What a random configuration is expected to give, and what each value of `config` adds, from the root down.

        The expectation and the contributions add up to the prediction for `config`, exactly.
        """
        values = self.space.validate(config)
        size = max(8, min(64, _ROWS // (len(values) + 1)))
        X = self.spread(size)
        stages, names = [X], list(values)
        for name in names:
            axis = make_axis(self.encoding, name, positions=1)
            X = self.place(X, axis, self.space.variables[name].encode(values[name]))
            stages.append(X)
        S = len(stages)
        every = np.ones(len(self.terms), dtype=bool)
        average = np.kron(np.eye(S), np.full((1, size), 1.0 / size))
        steps = np.vstack([np.eye(1, S), np.diff(np.eye(S), axis=0)])
        mean, covariance = self.posterior.sums(steps @ average, self._rows(np.concatenate(stages), every))
        scale, std = self.gp.scale, np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
        parts = [
            Contribution(name, values[name], scale * float(m), scale * float(s))
            for name, m, s in zip(names, mean[1:], std[1:], strict=True)
        ]
        return self.gp.centre + scale * float(mean[0]), parts


def _spread(found: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """At most `size` of these, evenly spaced, the first and the last among them."""
    if len(found) <= size:
        return found
    return np.asarray(found[np.unique(np.linspace(0, len(found) - 1, size).round().astype(int))])
