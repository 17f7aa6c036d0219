"""Learning the hyperparameters.

    θ = (log a, log ℓ, log σ², λ)

`mle` maximises the marginal likelihood, as the paper does. `map`, the default, adds the log prior (see `priors`).
Both use L-BFGS-B with exact gradients, from one or more starting points.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from addtree._types import Array
from addtree.model.gp import Likelihood
from addtree.model.kernel import Hyperparameters, Kernel
from addtree.model.kernel_matrices import GramMatrix
from addtree.model.observations import Observations
from addtree.model.priors import STARTS, LogPrior
from addtree.model.specification import Specification
from addtree.model.transform import Transform, yeo_johnson

# Bounds of the hyperparameters, for standardised values and parameters in the unit interval.
NOISE_FLOOR = 1e-12  # Least noise variance: an exact function can be followed to a millionth of its spread.
_NOISE_CEILING = 1.0  # Largest noise variance that is learned: all of the spread.
_MAX_DECLARED_NOISE = 1e6  # Declared noise above this many standard deviations of the values counts as this.
_LOG_AMPLITUDE = (np.log(1e-6), np.log(1e4))
_LOG_LENGTHSCALE = (np.log(0.02), np.log(50.0))

_NOISY_START = 0.1  # Noise variance of the start from which noise is found that the last fit did not see.
_SEEN_NOISE = 1e-5  # If a refit sees more noise than this, it is compared with one that starts without noise.

_MEMORY = 20  # Steps that L-BFGS-B remembers.
_PATIENCE = 6  # A descent from the last fit ends after this many evaluations without progress: rounding stops it.
_COMPARED_AFTER = 12  # After this many evaluations, a descent is compared with its rival.
_HOPELESS = 20.0  # A descent that is then behind by this much, in units of log probability, is given up.
_IMPOSSIBLE = 1e25  # The score of a θ whose covariance matrix cannot be factorised.


@dataclass(frozen=True)
class FitSettings:
    """How much work a fit may do, and when it is due again. `benchmarks.variants` compares other schedules.

    max_fit_rows      rows used to learn the hyperparameters; None uses all
    max_rows          rows that the exact posterior is conditioned on; None uses all
    restarts          starts of a fit besides the first
    iterations        iterations of L-BFGS-B from each start
    warm_iterations   the same for a refit, which starts from the last θ
    growth            a refit is due when the observations have grown by one in this many
    max_appended      a refit is due at the latest when they have grown by this many
    fresh_iterations  iterations from a second start, a model with much noise; the descent goes on only if it is then
                      better than the first
    fresh_growth      a refit has this second start when the observations have grown by one in this many since the
                      last such refit, so that noise is found that showed only later
    """

    max_fit_rows: int | None = 256
    max_rows: int | None = 2000
    restarts: int = 0
    iterations: int = 100
    warm_iterations: int = 12
    growth: int = 10
    max_appended: int = 100
    fresh_iterations: int = 30
    fresh_growth: int = 3


def make_transform(specification: Specification, y: Array) -> Transform:
    """The transform of the values y, before its power is learned."""
    return Transform.from_values(y, centred=not specification.as_published, settings=specification.learned_transform)


def unpack(theta: Array, kernel: Kernel) -> Hyperparameters:
    """The hyperparameters in θ."""
    T, e = len(kernel.terms), np.exp(theta[:-1])
    return Hyperparameters(e[:T], e[T:-1], float(e[-1]))


class Objective:
    """-log p(θ | y) for "map", -log p(y | θ) for "mle", with its gradient."""

    def __init__(self, specification: Specification, gram: GramMatrix, data: Observations) -> None:
        self.kernel = kernel = gram.kernel
        self._likelihood = Likelihood(gram)
        self._mean = 0.0 if data.prior_mean is None else data.prior_mean.value(gram.rows)
        transform = make_transform(specification, data.y)
        self._s = transform.standardise(data.y)
        # The variance told with each value, on the standardised scale, and the slope of its logarithm by the power.
        self._told = transform.variance(data.y, data.std)
        self._told_slope = 2.0 * np.sign(self._s) * np.log1p(np.abs(self._s))
        learned = specification.learned_transform
        self.learns_power = learned is not None
        self.bounds = theta_bounds(specification, kernel, transform)
        groups = [*(term.kind for term in kernel.terms), *["lengthscale"] * kernel.n_scales, "noise", "power"]
        self._has_prior = specification.inference == "map"
        self.prior = LogPrior(specification.priors if self._has_prior else STARTS, groups)

    @property
    def centre(self) -> Array:
        """The median of the prior, within the bounds."""
        low, high = np.array(self.bounds).T
        return np.asarray(np.clip(self.prior.median, low, high))

    @property
    def noisy_centre(self) -> Array:
        """The same with much noise, within the bounds: from there, no lengthscale has to follow the noise."""
        theta = self.centre
        theta[-2] = np.clip(np.log(_NOISY_START), *self.bounds[-2])
        return theta

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """The score to be minimised, and its gradient."""
        z, dz, log_jacobian, by_power, told = self._s, None, 0.0, 0.0, self._told
        if self.learns_power:
            z, dz, log_jacobian, by_power = yeo_johnson(self._s, theta[-1])
            told = told * np.exp((theta[-1] - 1.0) * self._told_slope)
        hyper = unpack(theta, self.kernel)
        try:
            found = self._likelihood.value_and_gradient(hyper, z - self._mean, hyper.noise + told)
        except np.linalg.LinAlgError:
            return _IMPOSSIBLE, np.zeros_like(theta)
        value, by_a, by_l, by_noise, by_z = found
        by_power = 0.0 if dz is None else by_power + float(by_z @ dz + by_noise @ (told * self._told_slope))
        gradient = -np.concatenate([by_a, by_l, [hyper.noise * float(np.sum(by_noise)), by_power]])
        value = -value - log_jacobian
        if self._has_prior:
            penalty, by_theta = self.prior(theta)
            value += penalty
            gradient += by_theta
        return value, gradient


def theta_bounds(specification: Specification, kernel: Kernel, transform: Transform) -> list[tuple[float, float]]:
    """Lower and upper bound of every entry of θ; `transform` is that of the values."""
    own = [_LOG_AMPLITUDE] * len(kernel.terms) + [_LOG_LENGTHSCALE] * kernel.n_scales
    learned = specification.learned_transform
    power_bounds = (1.0, 1.0) if learned is None else learned.power_bounds
    return [*own, _noise_bounds(specification.noise, transform.scale), power_bounds]


def _noise_bounds(declared: float | None, scale: float) -> tuple[float, float]:
    """Bounds of log σ²; declared noise, in the units of y, leaves no room."""
    if declared is None:
        return np.log(NOISE_FLOOR), np.log(_NOISE_CEILING)
    fixed = np.log(max(min(declared / scale, _MAX_DECLARED_NOISE) ** 2, NOISE_FLOOR))
    return fixed, fixed


def fit_theta(
    specification: Specification,
    gram: GramMatrix,
    data: Observations,
    *,
    settings: FitSettings | None = None,
    start: Array | None = None,
    fresh: bool = True,
    rng: np.random.Generator,
) -> Array:
    """The θ that fits the observations at the rows of a Gram matrix: the best of several descents.

    start  θ of the last fit, from which one descent starts
    fresh  start also from the median of the prior, with much noise, and without noise if the best fit has noise. Noise
           with long lengthscales, and no noise with short ones, are two optima, and a descent does not lead from one
           to the other
    """
    settings, objective = settings or FitSettings(), Objective(specification, gram, data)
    centre, iterations = objective.centre, settings.iterations
    if start is None:
        found = [_descend(objective, centre, iterations)]
    else:
        found = [_descend(objective, start, settings.warm_iterations, patience=_PATIENCE)]
    if fresh and specification.inference == "map" and specification.noise is None:
        rival = found[0][0]
        noisy = _descend(objective, objective.noisy_centre, settings.fresh_iterations, rival=rival)
        if noisy[0] < rival:
            found.append(_descend(objective, noisy[1], iterations))
        score, theta = min(found, key=lambda pair: pair[0])
        if start is not None and theta[-2] > np.log(_SEEN_NOISE):
            found.append(_descend(objective, centre, iterations, rival=score))
    found += [_descend(objective, centre + rng.normal(size=len(centre)), iterations) for _ in range(settings.restarts)]
    return min(found, key=lambda pair: pair[0])[1]


class _StalledError(Exception):
    """A descent makes no more progress."""


def _descend(
    objective: Objective, theta: Array, iterations: int, *, patience: int | None = None, rival: float = np.inf
) -> tuple[float, Array]:
    """The least score on a descent from θ, and its θ; the centre if no score can be computed.

    patience  the descent ends after this many evaluations without progress
    rival     the score of another descent; this one ends early if it is far behind that
    """
    from scipy.optimize import minimize  # imported here because it takes a third of the time to import this package

    best, since, evaluations = (_IMPOSSIBLE, objective.centre), 0, 0

    def watched(theta: Array) -> tuple[float, Array]:
        nonlocal best, since, evaluations
        value, gradient = objective(theta)
        since += 1
        evaluations += 1
        if value < best[0]:
            best, since = (value, theta.copy()), 0
        elif since == patience:
            raise _StalledError
        if evaluations == _COMPARED_AFTER and best[0] > rival + _HOPELESS:
            raise _StalledError
        return value, gradient

    low, high = np.array(objective.bounds).T
    options = {"maxiter": iterations, "maxcor": _MEMORY}
    with suppress(_StalledError):
        minimize(
            watched, np.clip(theta, low, high), jac=True, method="L-BFGS-B", bounds=objective.bounds, options=options
        )
    return best
