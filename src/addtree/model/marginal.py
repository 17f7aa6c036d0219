"""Averaging over the hyperparameters instead of trusting the most probable ones.

    p(f | y) = ∫ p(f | y, θ) p(θ | y) dθ ≈ average over draws θ_k ~ p(θ | y) of p(f | y, θ_k)

With few observations many θ explain them about equally well, and they disagree about the rest. One θ alone therefore
gives intervals that are too narrow. The draws come from a short Hamiltonian Monte Carlo chain:

symbol  shape   meaning
U(θ)            -log p(θ | y), the score that `fit` minimises
θ̂       d       its minimum
P       d x d   the precision of the prior of θ
H       d x d   the Hessian of U at θ̂, which is P plus the part of the likelihood
q       d       position: θ = θ̂ + S q, with S Sᵀ ≈ H⁻¹, so that p(q | y) is nearly a standard normal distribution
p       d       momentum, standard normal

Leapfrog steps follow the equations of motion of U(q) + |p|²/2, and the end of each path is accepted or rejected by the
rule of Metropolis. So the draws have the right distribution even where U is far from quadratic.

The kernel has one amplitude per term for the whole space. Real objectives are flat in some places and have cliffs in
others. So the variance at each place is that of the process times an unknown factor w. With ν / w ~ χ²(ν), the
prediction for given θ has a Student t distribution. A few values of w stand for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, ndtr

from addtree._types import Array, Mask
from addtree.model.fit import Objective
from addtree.model.kernel_matrices import GramMatrix
from addtree.model.observations import Observations
from addtree.model.surrogate import Surrogate

_log = logging.getLogger("addtree")

_DIFFERENCE = 1e-4  # The step of the finite differences of the gradient.
_RANK = 32  # In at most this many directions the Hessian corrects the prior, so that its cost does not grow with d.
_LEAST_CURVATURE = 0.3  # Curvature relative to the prior's; less, or none, counts as this.
_BISECTIONS = 50  # Halvings of the bracket of a quantile; what is left is of the size of rounding errors.
_TAIL = 9.0  # A normal variable is within this many standard deviations of its mean, up to rounding.

# ν. On five of the nine tasks of `benchmarks.prediction`, the coverage of 90 % intervals differs from 0.9 by 0.014 on
# average with 5, 8 or 12, by 0.028 with 3, and by 0.021 without factors. On the other four it is 0.014 with 8 and 0.026
# with 5. On the twelve tasks of the family `unseen`, 8 covers 0.86 and 6 covers 0.87.
_FREEDOM = 6
_MIDDLES = (np.arange(8) + 0.5) / 8  # Eight values stand for the distribution of w.
LOCAL_FACTORS = tuple((_FREEDOM / chdtri(_FREEDOM, _MIDDLES)).tolist())  # Equally probable values of w.


@dataclass(frozen=True)
class ChainSettings:
    """How a chain draws hyperparameters.

    draws       number of draws that are kept; on the tasks of `benchmarks.prediction`, 32 raise the log density by less
                than 0.1, and 8 lower it by up to 0.2
    warm_up     paths before the first of them, which also adapt the size of a step
    thinning    paths between two of them
    steps       leapfrog steps of a path
    step        largest size of a step; a path of 4 · 0.4 ≈ π/2, a quarter of the period of a normal distribution, ends
                at a position that is independent of its start
    acceptance  probability of acceptance that the size of a step is adapted to
    """

    draws: int = 16
    warm_up: int = 10
    thinning: int = 2
    steps: int = 4
    step: float = 0.4
    acceptance: float = 0.8


def hessian_times(objective: Objective, theta: Array, directions: Array) -> Array:
    """The Hessian of the objective at θ times directions (d x k), by forward differences of the gradient."""
    gradient, columns = objective(theta)[1], []
    for direction in directions.T:
        size = _DIFFERENCE / max(float(np.max(np.abs(direction))), _DIFFERENCE)
        columns.append((objective(theta + size * direction)[1] - gradient) / size)
    return np.asarray(np.array(columns).reshape(directions.shape[::-1]).T)


def draw_theta(objective: Objective, mode: Array, settings: ChainSettings, rng: np.random.Generator) -> Array:
    """Draws of θ (draws x d) from its posterior, by a chain that starts at the mode."""
    low, high = np.array(objective.bounds).T
    free = high > low
    scaling = _scaling(objective, mode, free, rng)
    if not np.all(np.isfinite(scaling)):
        _log.warning("the uncertainty of the hyperparameters cannot be computed; the most probable ones are used alone")
        return np.tile(mode, (settings.draws, 1))

    def energy(q: Array) -> tuple[float, Array]:
        value, gradient = _extended(objective, mode + scaling @ q, low, high)
        return value, scaling.T @ gradient

    chain = _chain(energy, scaling.shape[1], settings, rng)
    return np.array([np.clip(mode + scaling @ q, low, high) for q in chain])


def _scaling(objective: Objective, mode: Array, free: Mask, rng: np.random.Generator) -> Array:
    """S (d x the number of free entries of θ): the root of P⁻¹, corrected in directions that the likelihood informs.

    With M = P^(-1/2) H P^(-1/2) - I and orthonormal directions Q, (I + M)^(-1/2) is exact if Q spans the range of M. Up
    to `_RANK` directions these are all; else they are the range of M times a random matrix.
    """
    d, k = len(mode), int(np.sum(free))
    units = np.eye(d)
    precision = np.array([objective.prior(mode + unit)[1] - objective.prior(mode)[1] for unit in units])
    values, vectors = np.linalg.eigh(precision[np.ix_(free, free)])
    root = units[:, free] @ (vectors / np.sqrt(values)) @ vectors.T

    def likelihood_times(B: Array) -> Array:
        return np.asarray(root.T @ hessian_times(objective, mode, root @ B) - B)

    Q = np.eye(k) if k <= _RANK else np.linalg.qr(likelihood_times(rng.normal(size=(k, _RANK))))[0]
    projected = Q.T @ likelihood_times(Q)
    if not np.all(np.isfinite(projected)):
        return np.full_like(root, np.nan)
    values, vectors = np.linalg.eigh(0.5 * (projected + projected.T))
    QV, shrink = Q @ vectors, 1.0 / np.sqrt(np.maximum(1.0 + values, _LEAST_CURVATURE))
    return np.asarray(root @ (np.eye(k) + (QV * (shrink - 1.0)) @ QV.T))


def _extended(objective: Objective, theta: Array, low: Array, high: Array) -> tuple[float, Array]:
    """The objective continued beyond its bounds: there the likelihood stays constant, and the prior does not."""
    inside = np.clip(theta, low, high)
    value, gradient = objective(inside)
    outside = inside != theta
    if not np.any(outside):
        return value, gradient
    (beyond, by_beyond), (at_bound, by_bound) = objective.prior(theta), objective.prior(inside)
    return value + beyond - at_bound, np.where(outside, 0.0, gradient - by_bound) + by_beyond


def _chain(
    energy: Callable[[Array], tuple[float, Array]], size: int, settings: ChainSettings, rng: np.random.Generator
) -> list[Array]:
    """Positions drawn with density exp(-energy), from a chain that starts at zero."""
    q, step, kept = np.zeros(size), settings.step, []
    value, gradient = energy(q)
    for path in range(settings.warm_up + settings.draws * settings.thinning):
        p = rng.normal(size=size)
        at, slope, before = q, gradient, value + 0.5 * float(p @ p)
        for _ in range(settings.steps):
            p = p - 0.5 * step * slope
            at = at + step * p
            reached, slope = energy(at)
            p = p - 0.5 * step * slope
        probability = float(np.exp(min(before - reached - 0.5 * float(p @ p), 0.0)))
        if rng.uniform() < probability:
            q, value, gradient = at, reached, slope
        if path < settings.warm_up:
            step = min(step * float(np.exp(probability - settings.acceptance)), settings.step)
        elif (path - settings.warm_up) % settings.thinning == settings.thinning - 1:
            kept.append(q)
    return kept


def marginalize(
    surrogate: Surrogate, data: Observations, *, settings: ChainSettings, rng: np.random.Generator
) -> tuple[Surrogate, ...]:
    """Equally probable surrogates of observations: the given one with draws of θ from its posterior."""
    gram = GramMatrix(surrogate.kernel, surrogate.kernel.rows(data.X))
    objective = Objective(surrogate.specification, gram, data)
    draws = draw_theta(objective, surrogate.theta, settings, rng)
    return tuple(surrogate.with_data(data, theta=theta) for theta in draws)


# ---------------------------------------------------------------------- mixtures


@dataclass(frozen=True)
class Mixture:
    """Mixtures of K equally probable normal distributions, one mixture for each of m quantities.

    mean      K x m
    variance  K x m
    """

    mean: Array
    variance: Array

    def moments(self) -> tuple[Array, Array]:
        """Mean and variance (m) of each mixture, by the law of total variance."""
        return np.mean(self.mean, axis=0), np.mean(self.variance, axis=0) + np.var(self.mean, axis=0)

    def quantile(self, probability: float) -> Array:
        """The values (m) below which each mixture lies with this probability."""
        std = np.sqrt(self.variance)
        low, high = np.min(self.mean - _TAIL * std, axis=0), np.max(self.mean + _TAIL * std, axis=0)
        scale = np.maximum(std, np.finfo(float).tiny)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            below = np.mean(ndtr((middle - self.mean) / scale), axis=0) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(0.5 * (low + high))


def pool(means: Array, covariances: Array) -> tuple[Array, Array]:
    """Mean (g) and covariance (g x g) of a mixture of K equally probable normal vectors (K x g and K x g x g)."""
    mean = np.mean(means, axis=0)
    return mean, np.mean(covariances, axis=0) + (means - mean).T @ (means - mean) / len(means)
