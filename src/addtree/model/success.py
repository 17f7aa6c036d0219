"""The probability that an evaluation succeeds: Gaussian process classification on the terms of the kernel.

symbol  shape   meaning
t       n       outcomes: 1 for a success, -1 for a failure
g               the latent function, g ~ GP(0, k), with the gated terms of the kernel of the values
b               the mean of the latent function
μ̃, σ̃²   n       means and variances of the sites
K       n x n   covariance of g at the rows

    p(success at x) = Φ(b + g(x))

An offset expresses a branch that always fails, a trend or a main term a threshold of one number, and an interaction a
region. Failures at random contradict each other: they lower b and the amplitudes, so that they close no region.

The posterior of g is not normal. Expectation propagation replaces each factor Φ(t (b + g)) by a normal site with the
same mean and variance of g (Rasmussen and Williams 2006, section 3.6). For this likelihood its marginals are almost
exact, while those of Laplace's method are too cautious (Nickisch and Rasmussen 2008). The result is the posterior of a
Gaussian process that observes μ̃ - b with noise σ̃², so that `Posterior` and `Likelihood` do the rest. In particular the
derivative of the marginal likelihood by a hyperparameter is the one with constant sites.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from scipy.special import log_ndtr, ndtr

from addtree._types import Array, Index, Mask
from addtree.model.gp import Likelihood, Posterior
from addtree.model.kernel import Hyperparameters, Kernel
from addtree.model.kernel_matrices import GramMatrix
from addtree.model.priors import GroupPrior, LogPrior, log_prior
from addtree.model.thinning import round_to_step

_log = logging.getLogger("addtree")

_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
_MAX_SITE_VARIANCE = 1e10  # A site of a larger variance carries no information.
_LEAST_VARIANCE = 1e-10  # Variances of g below this count as this, which keeps quotients finite.
_AMPLITUDE_BOUNDS = (np.log(1e-3), np.log(30.0))  # Bounds of log a: the largest makes an outcome all but certain.
_SCALE_BOUNDS = (np.log(0.05), np.log(20.0))  # Bounds of log ℓ.
_MEAN_BOUNDS = (-2.5, 2.5)  # Bounds of b: a share of successes of 0.6 % to 99.4 % with nothing else known.


@dataclass(frozen=True)
class SuccessPriors:
    """Priors of the amplitudes and lengthscales of the latent function, and of its mean.

    The unit is the noise of the link function Φ: an amplitude of 1 changes a probability of 0.5 to one between 0.16
    and 0.84. The mean of 0.7 expects three successes in four trials.
    """

    main: GroupPrior = log_prior(0.5, 0.5, 1.0)
    path: GroupPrior = log_prior(1.0, 0.5, 1.0)
    trend: GroupPrior = log_prior(0.5, 1.0, 1.0)
    offset: GroupPrior = log_prior(1.5, 1.0, 1.0)
    interaction: GroupPrior = log_prior(0.3, 0.5, 1.0)
    lengthscale: GroupPrior = log_prior(0.7, 0.5, 0.5)
    mean: GroupPrior = GroupPrior(0.7, 0.7, 0.0)


@dataclass(frozen=True)
class SuccessSettings:
    """How the model is fitted.

    priors      priors of the hyperparameters
    iterations  iterations of L-BFGS-B
    max_rows    rows that the model is conditioned on; of more, this many are taken at equal distances
    growth      the hyperparameters are learned again when the outcomes have grown by one in this many
    sweeps      updates of all sites, at most
    damping     share of each update that is made; whole updates may oscillate if many rows are close to each other
    tolerance   the sites have converged when no mean of g changes by this much
    """

    priors: SuccessPriors = SuccessPriors()
    iterations: int = 25
    max_rows: int = 256
    growth: int = 10
    sweeps: int = 100
    damping: float = 0.7
    tolerance: float = 1e-4


# ---------------------------------------------------------------------- expectation propagation


@dataclass(frozen=True)
class Sites:
    """Normal approximations of the factors of the likelihood.

    precision  1/σ̃²
    shift      μ̃/σ̃²
    log_scale  log of the marginal likelihood, minus that of observing μ̃ under noise σ̃²
    """

    precision: Array
    shift: Array
    log_scale: float = 0.0

    @property
    def variance(self) -> Array:
        """σ̃²."""
        return np.asarray(1.0 / self.precision)

    @property
    def mean(self) -> Array:
        """μ̃."""
        return np.asarray(self.shift / self.precision)


def no_sites(n: int) -> Sites:
    """Sites that carry no information."""
    return Sites(np.full(n, 1.0 / _MAX_SITE_VARIANCE), np.zeros(n))


def propagate(K: Array, outcomes: Array, mean: float, settings: SuccessSettings, start: Sites | None = None) -> Sites:
    """The sites of outcomes t at rows with covariance K and prior mean b; faster from similar sites."""
    sites = no_sites(len(K)) if start is None else start
    diagonal, before = np.diagonal(K), np.full(len(K), np.inf)
    for _ in range(settings.sweeps):
        # The present posterior: N(m, v) at each row.
        factor = dpotrf(K + np.diag(sites.variance), lower=1)[0]
        m = mean + K @ dpotrs(factor, sites.mean - mean, lower=1)[0]
        v = np.maximum(diagonal - np.sum(dtrtrs(factor, K, lower=1)[0] ** 2, axis=0), _LEAST_VARIANCE)
        # The cavity: the same without the row's own site.
        precision = np.maximum(1.0 / v - sites.precision, 1.0 / _MAX_SITE_VARIANCE)
        centre, spread = (m / v - sites.shift) / precision, 1.0 / precision
        u = outcomes * centre / np.sqrt(1.0 + spread)
        log_cdf = log_ndtr(u)
        ratio = np.exp(-0.5 * u * u - _HALF_LOG_2PI - log_cdf)  # φ(u) / Φ(u)
        log_scale = log_cdf + 0.5 * np.log(spread + sites.variance)
        log_scale += 0.5 * (centre - sites.mean) ** 2 / (spread + sites.variance)
        # The moments of the cavity times the factor, and the site that gives them.
        tilted = centre + outcomes * spread * ratio / np.sqrt(1.0 + spread)
        shrunk = spread - spread**2 * ratio * (u + ratio) / (1.0 + spread)
        wanted = np.maximum(1.0 / shrunk - precision, 1.0 / _MAX_SITE_VARIANCE)
        shift = tilted / shrunk - centre * precision
        if float(np.max(np.abs(m - before), initial=0.0)) < settings.tolerance:
            break
        before = m
        sites = Sites(
            sites.precision + settings.damping * (wanted - sites.precision),
            sites.shift + settings.damping * (shift - sites.shift),
        )
    else:
        _log.debug("expectation propagation for %d outcomes has not converged", len(K))
    return replace(sites, log_scale=float(np.sum(log_scale)))


# ---------------------------------------------------------------------- hyperparameters


class SuccessObjective:
    """-log p(θ | t) with its gradient, for θ = (log a, log ℓ, b). Each call starts from the sites of the last one."""

    def __init__(self, gram: GramMatrix, outcomes: Array, settings: SuccessSettings) -> None:
        self.kernel = kernel = gram.kernel
        self._gram, self._outcomes, self._settings = gram, outcomes, settings
        self._likelihood, self._sites = Likelihood(gram), no_sites(len(outcomes))
        T, S = len(kernel.terms), kernel.n_scales
        groups = [*(term.kind for term in kernel.terms), *["lengthscale"] * S, "mean"]
        self.prior = LogPrior(settings.priors, groups)
        self.bounds = [_AMPLITUDE_BOUNDS] * T + [_SCALE_BOUNDS] * S + [_MEAN_BOUNDS]

    @property
    def centre(self) -> Array:
        """The median of the prior."""
        return np.asarray(self.prior.median)

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """The score to be minimised, and its gradient."""
        hyper, mean = unpack(theta, self.kernel)
        self._sites = sites = propagate(
            self._gram.value(hyper), self._outcomes, mean, self._settings, start=self._sites
        )
        value, by_a, by_l, _, by_z = self._likelihood.value_and_gradient(hyper, sites.mean - mean, sites.variance)
        value += sites.log_scale + len(self._outcomes) * _HALF_LOG_2PI
        penalty, gradient = self.prior(theta)
        return penalty - value, gradient - np.concatenate([by_a, by_l, [-float(np.sum(by_z))]])


def unpack(theta: Array, kernel: Kernel) -> tuple[Hyperparameters, float]:
    """The hyperparameters in θ, and b. A row whose outcome is not known yet is expected with the noise of the link."""
    T, e = len(kernel.terms), np.exp(theta[:-1])
    return Hyperparameters(e[:T], e[T:], 1.0), float(theta[-1])


def fit_theta(kernel: Kernel, X: Array, succeeded: Mask, settings: SuccessSettings) -> Array:
    """The most probable θ, from the median of the prior; a function of the outcomes alone."""
    from scipy.optimize import minimize  # imported here because it takes a third of the time to import this package

    objective = SuccessObjective(GramMatrix(kernel, kernel.rows(X)), _outcomes(succeeded), settings)
    options = {"maxiter": settings.iterations}
    found: Any = minimize(
        objective, objective.centre, jac=True, method="L-BFGS-B", bounds=objective.bounds, options=options
    )
    return np.asarray(found.x)


def _outcomes(succeeded: Mask) -> Array:
    return np.where(succeeded, 1.0, -1.0)


# ---------------------------------------------------------------------- the model


@dataclass(frozen=True)
class SuccessModel:
    """A fitted model of success.

    theta      θ = (log a, log ℓ, b)
    n_fitted   the number of outcomes that θ was learned from
    mean       b
    posterior  of g
    usual      the mean probability of success at rows that succeeded; 1 if there are none
    """

    theta: Array
    n_fitted: int
    mean: float
    posterior: Posterior
    usual: float = 1.0

    @classmethod
    def fit(
        cls,
        kernel: Kernel,
        X: Array,
        succeeded: Mask,
        *,
        settings: SuccessSettings | None = None,
        last: SuccessModel | None = None,
    ) -> SuccessModel:
        """Learn from outcomes at rows X, in the order in which they were told.

        The result depends on these alone. θ is learned from the first outcomes, up to a number that grows in steps, so
        that it is seldom learned again: `last`, an earlier model of the same run, only saves work.
        """
        settings = settings or SuccessSettings()
        n = round_to_step(len(X), settings.growth)
        chosen = _spaced(n, settings.max_rows)
        if last is not None and last.n_fitted == n:
            theta = last.theta
        else:
            theta = fit_theta(kernel, X[chosen], succeeded[chosen], settings)
        return replace(cls.condition(kernel, theta, X, succeeded, settings=settings), n_fitted=n)

    @classmethod
    def condition(
        cls, kernel: Kernel, theta: Array, X: Array, succeeded: Mask, *, settings: SuccessSettings
    ) -> SuccessModel:
        """The model with this θ of outcomes at rows X."""
        kept = _spaced(len(X), settings.max_rows)
        gram, (hyper, mean) = GramMatrix(kernel, kernel.rows(X[kept])), unpack(theta, kernel)
        sites = propagate(gram.value(hyper), _outcomes(succeeded[kept]), mean, settings)
        z, noise = sites.mean - mean, sites.variance
        posterior = Posterior.from_data(kernel, hyper, gram.rows, z, noise=noise, gram=gram)
        model, good = cls(theta, len(X), mean, posterior), X[kept][succeeded[kept]]
        return replace(model, usual=float(np.mean(model.probability(good)))) if len(good) else model

    def with_pending(self, X: Array) -> SuccessModel:
        """The same with rows X that are still being evaluated, each at its present mean."""
        return replace(self, posterior=self.posterior.with_pending(X))

    def probability(self, X: Array) -> Array:
        """The probability of success at rows X: E[Φ(b + g)] = Φ((b + m) / √(1 + v)) for g ~ N(m, v)."""
        mean, variance = self.posterior.predict(self.posterior.kernel.rows(X))
        return np.asarray(ndtr((self.mean + mean) / np.sqrt(1.0 + variance)))


def _spaced(n: int, size: int) -> Index:
    """At most `size` of n positions, at equal distances, the last one included."""
    return np.arange(n) if n <= size else np.linspace(0, n - 1, size).astype(np.intp)
