"""Effects of parameters and options under a fitted model, as plain arrays.

Every effect is a weighted sum of function values at configurations that need not have been evaluated, so that its
posterior is exact for given hyperparameters (`Posterior.sums`), and is averaged over draws of these. For the effect of
a parameter, m configurations that were evaluated, the *background*, are each moved along the axis of the parameter:

symbol  shape   meaning
g       G       positions on the axis, with weights w that add up to 1
f(g)    G       average over the background, at position g, of the terms that vary along the axis
effect  G       f(g) - Σ w f: the curve, centred so that its weighted mean is zero

For the effect of a choice the positions are its options, and everything below an option is drawn at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from addtree._types import Array, Config, Mask
from addtree.model.gp import Posterior
from addtree.model.kernel import Kernel, Rows
from addtree.model.kernel_matrices import CrossCovariance
from addtree.model.marginal import pool
from addtree.model.terms import Term
from addtree.regression import AddTreeGP
from addtree.report.axes import Axis, make_axis
from addtree.report.sampling import columns_below, evenly_spaced, move_to, stratified_sample
from addtree.space.encoding import Encoding

Z_95 = 1.96  # A normal variable lies within this many standard deviations of its mean with a probability of 95 %.

_BACKGROUND = 16  # A curve of a parameter is an average over at most this many configurations.
_BACKGROUND_CHOICE = 32  # The effect of an option is an average over at most this many draws of what is below it.
_MAX_ROWS = 200  # A sum has at most this many rows; every draw needs the matrix of their prior covariance.
_MIN_SAMPLE = 8  # The expectation for a random configuration is an average over at least this many draws.
_MAX_SAMPLE = 64  # The expectation for a random configuration is an average over at most this many draws.
_MAX_RESIDUALS = 100  # At most this many partial residuals are shown with a curve.
_CENTRING_POSITIONS = 5  # A partial residual is centred by an average over this many positions of a numeric axis.


class PartialResidual(NamedTuple):
    """What one observation says about a curve.

    observation  its position among the observations
    value        its value of the parameter
    residual     its observed y, minus the prediction for it averaged over the axis
    """

    observation: int
    value: Any
    residual: float


@dataclass(frozen=True)
class Curve:
    """The effect of one axis: mean (G) and standard deviation (G), in the units of y.

    n_active  number of observations in which the parameter is active
    """

    axis: Axis
    mean: Array
    std: Array
    n_active: int
    partial_residuals: tuple[PartialResidual, ...] = ()

    @property
    def range(self) -> float:
        """Largest minus smallest mean."""
        return float(np.max(self.mean) - np.min(self.mean))

    @property
    def margin(self) -> Array:
        """Half the width of the 95 % interval (G)."""
        return Z_95 * self.std


@dataclass(frozen=True)
class Interaction:
    """Two axes that interact.

    mean   their joint effect (G_a x G_b), in the units of y; its weighted mean is zero
    share  share of the variance of the observed values that their interaction explains
    """

    a: Axis
    b: Axis
    mean: Array
    share: float


@dataclass(frozen=True)
class Contribution:
    """The change of the expectation when one parameter or choice is fixed at its value."""

    name: str
    value: Any
    mean: float
    std: float


@dataclass(frozen=True, eq=False)
class Effects:
    """Effects under a fitted model, which was conditioned on the observations X (encoded, n x D)."""

    gp: AddTreeGP
    X: Array

    @property
    def encoding(self) -> Encoding:
        """The columns of X."""
        return self.gp.encoding

    @property
    def posterior(self) -> Posterior:
        """The model of the standardised values z with the most probable hyperparameters."""
        return self.gp.posterior

    @cached_property
    def posteriors(self) -> tuple[Posterior, ...]:
        """The equally probable models that effects average over."""
        return self.gp.posteriors

    @property
    def kernel(self) -> Kernel:
        """The sum of terms."""
        return self.posterior.kernel

    @property
    def terms(self) -> tuple[Term, ...]:
        """The T terms of the kernel."""
        return self.kernel.terms

    # ------------------------------------------------------------------ sums of terms

    def _rows(self, X: Array, terms: Mask) -> Rows:
        return self.kernel.rows(X).only(terms)

    def mean(self, X: Array, terms: Mask) -> Array:
        """The posterior mean of the sum of some terms at each row of X, in standardised units."""
        rows = self._rows(X, terms)
        means = [posterior.cross.value(rows) @ posterior.alpha for posterior in self.posteriors]
        return np.asarray(np.mean(means, axis=0))

    def _sums(self, weights: Array, rows: Rows) -> tuple[Array, Array]:
        """Mean (g) and covariance (g x g) of weighted sums, weights g x m, of the function at m rows."""
        means, covariances = zip(*(posterior.sums(weights, rows) for posterior in self.posteriors), strict=True)
        return pool(np.array(means), np.mean(self.gp.local_factors) * np.array(covariances))

    @cached_property
    def term_means(self) -> Array:
        """The posterior mean of every term at the observations (T x n), zero where it is inactive."""
        rows, out = self.posterior.rows, np.zeros((len(self.terms), len(self.X)))
        for t in range(len(self.terms)):
            on = np.flatnonzero(rows.active[:, t])
            alone = rows[on].only(np.arange(len(self.terms)) == t)
            for posterior in self.posteriors:
                cross = CrossCovariance(self.kernel, posterior.hyper, rows[on])
                out[t, on] += cross.value(alone) @ posterior.alpha[on] / len(self.posteriors)
        return out

    @cached_property
    def residuals(self) -> Array:
        """The part of the standardised values (n) that no term explains."""
        return np.asarray(np.mean([posterior.z - posterior.means() for posterior in self.posteriors], axis=0))

    def varying_terms(self, axis: Axis) -> Mask:
        """Which terms (T) change along an axis."""
        if axis.kind != "choice" and axis.column not in self.encoding.cells:
            return np.array([axis.column in term.columns for term in self.terms])
        moved = columns_below(self.encoding, axis.column)
        return np.array([bool(moved & ({*term.columns} | {j for j, *_ in term.gate})) for term in self.terms])

    # ------------------------------------------------------------------ rows to average over

    def active(self, columns: Sequence[int]) -> Mask:
        """Which observations (n) have all of these columns active."""
        return np.asarray(~np.isnan(self.X[:, columns]).any(axis=1))

    def _background(self, columns: Sequence[int], size: int) -> Array:
        """At most `size` observations with these columns active, evenly spaced in time; random rows if none has."""
        found = np.flatnonzero(self.active(columns))
        if len(found):
            return np.asarray(self.X[evenly_spaced(found, size)])
        X, space = stratified_sample(self.encoding, size), self.gp.space
        for column in columns:
            for name, cell in space.conditions[self.encoding.names[column]][0]:
                j = self.encoding.index[name]
                code = self.encoding.cells[j].low[cell] if j in self.encoding.cells else float(cell)
                X = move_to(self.encoding, X, j, code)
        return X

    def _along(self, X: Array, axis: Axis) -> Array:
        """The m rows X at each position of an axis, one position after another (G·m rows)."""
        return np.concatenate([move_to(self.encoding, X, axis.column, code) for code in axis.codes])

    # ------------------------------------------------------------------ effects

    def curve(self, name: str) -> Curve:
        """The effect of a parameter or a choice."""
        axis = make_axis(self.encoding, name)
        terms, G = self.varying_terms(axis), len(axis.codes)
        size = max(_MAX_ROWS // G, 1)
        wanted = _BACKGROUND_CHOICE if axis.kind == "choice" else _BACKGROUND
        background = self._background([axis.column], min(wanted, size))
        if axis.kind == "choice":  # a few observations still need many draws of what is below an option
            background = np.tile(background, (max(_BACKGROUND_CHOICE // len(background), 1), 1))[:size]
        rows = self._rows(self._along(background, axis), terms)
        mean, covariance = self._sums(_group_means(G, len(background)), rows)
        centring = np.eye(G) - axis.weights
        variance = np.einsum("ij,jk,ik->i", centring, covariance, centring)
        scale = self.gp.scale
        return Curve(
            axis,
            mean=scale * (centring @ mean),
            std=scale * np.sqrt(np.maximum(variance, 0.0)),
            n_active=int(np.sum(self.active([axis.column]))),
            partial_residuals=() if axis.kind == "choice" else self._partial_residuals(axis, terms),
        )

    def _partial_residuals(self, axis: Axis, terms: Mask) -> tuple[PartialResidual, ...]:
        """Per observation shown: residual + terms - average of the terms over the axis, everything else kept."""
        found = np.flatnonzero(self.active([axis.column]))
        if not len(found):
            return ()
        shown = evenly_spaced(found, _MAX_RESIDUALS)
        coarse = make_axis(self.encoding, axis.name, positions=_CENTRING_POSITIONS) if axis.is_number else axis
        means = self.mean(self._along(self.X[shown], coarse), terms).reshape(len(coarse.codes), len(shown))
        own = self.term_means[terms][:, shown].sum(axis=0)
        y = self.gp.scale * (self.residuals[shown] + own - coarse.weights @ means)
        return tuple(
            PartialResidual(int(i), self._configs[i][axis.name], float(v)) for i, v in zip(shown, y, strict=True)
        )

    @cached_property
    def _configs(self) -> list[dict[str, Any]]:
        return [self.encoding.decode(row) for row in self.X]

    def joint_effect(self, a: Axis, b: Axis, terms: Mask, *, size: int) -> tuple[Array, Array]:
        """The joint effect of two axes (G_a x G_b), and their interaction: the joint effect minus the effect of each.

        terms  which terms count (T)
        size   the number of configurations to average over

        Both are in standardised units, and their weighted means are zero.
        """
        background = self._background([a.column, b.column], size)
        at_each_a = [move_to(self.encoding, background, a.column, code) for code in a.codes]
        rows = np.concatenate([self._along(moved, b) for moved in at_each_a])
        mean = self.mean(rows, terms).reshape(len(a.codes), len(b.codes), len(background)).mean(axis=2)
        mean -= a.weights @ mean @ b.weights
        return mean, mean - (mean @ b.weights)[:, None] - a.weights @ mean

    def contributions(self, config: Config) -> tuple[float, list[Contribution]]:
        """The expectation for a random configuration, and how each value of `config` changes it, from the root down.

        The expectation and the contributions add up to the prediction for `config`, exactly.
        """
        complete, codes = self.gp.space.validate(config), self.encoding.encode([config])[0]
        values = {name: value for name, value in complete.items() if name in self.encoding.index}  # no constants
        size = max(_MIN_SAMPLE, min(_MAX_SAMPLE, _MAX_ROWS // (len(values) + 1)))
        stages = [stratified_sample(self.encoding, size)]
        for name in values:
            column = self.encoding.index[name]
            stages.append(move_to(self.encoding, stages[-1], column, codes[column]))
        S, every = len(stages), np.ones(len(self.terms), dtype=bool)
        steps = np.vstack([np.eye(1, S), np.diff(np.eye(S), axis=0)])
        mean, covariance = self._sums(steps @ _group_means(S, size), self._rows(np.concatenate(stages), every))
        scale, std = self.gp.scale, np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
        parts = [
            Contribution(name, value, scale * float(m), scale * float(s))
            for (name, value), m, s in zip(values.items(), mean[1:], std[1:], strict=True)
        ]
        return self.gp.centre + scale * float(mean[0]), parts


def _group_means(groups: int, size: int) -> Array:
    """The weights (groups x groups·size) that average rows in consecutive groups."""
    return np.kron(np.eye(groups), np.full((1, size), 1.0 / size))
