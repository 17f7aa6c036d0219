"""Learning the hyperparameters.

    θ = (log a, log ℓ, log σ², λ)

`mle` maximises the marginal likelihood, as the paper does. `map`, the default, adds a prior. Within each group of
like hyperparameters (amplitudes of vertices, of offsets, of interactions; lengthscales) the members are drawn around a
common mean that is itself unknown: vertices with few observations borrow from the others.

    v ~ N(m·1, s²·I + p²·11ᵀ)        s: spread of the members, p: spread of the common mean
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from addtree._numbers import is_number
from addtree._types import Array, Index
from addtree.errors import OptionError
from addtree.model.gp import Likelihood
from addtree.model.kernel import Hyperparameters, Kernel
from addtree.model.kernel_matrices import GramMatrix
from addtree.model.terms import KINDS, check_covariance, make_terms
from addtree.model.transform import Transform, yeo_johnson
from addtree.space.encoding import Encoding

INFERENCES = ("map", "mle")

NOISE_FLOOR = 1e-12  # variance, of standardised values: an exact function shows itself to a millionth of its spread
_NOISE_CEILING = 1.0
_MOST_NOISE = 1e6  # standard deviations of the values: noise declared larger than that drowns them all the same
_LOG_AMPLITUDE = (np.log(1e-6), np.log(1e4))
_LOG_LENGTHSCALE = (np.log(0.02), np.log(50.0))
_POWER = (-1.0, 3.0)
_PATIENCE = 6  # evaluations without a better θ end a descent from the last fit: rounding has stopped it
_IMPOSSIBLE = 1e25  # the score of a θ whose covariance cannot be factorised


@dataclass(frozen=True)
class Specification:
    """What the user says of the model.

    noise  None to learn it, else the standard deviation of an evaluation, in the units of the objective
    warp   whether to squeeze wild values and learn the output transform
    """

    covariance: str = "additive+interactions"
    inference: str = "map"
    noise: float | None = None
    warp: bool = False

    def __post_init__(self) -> None:
        check_covariance(self.covariance)
        if self.inference not in INFERENCES:
            raise OptionError(f"inference={self.inference!r} is unknown; use one of {', '.join(map(repr, INFERENCES))}")
        if self.noise is not None and not (is_number(self.noise) and 0 <= self.noise < np.inf):
            raise OptionError(
                f"noise={self.noise!r} must be None (learn it), or a standard deviation of zero or more, in the "
                "objective's units"
            )

    @property
    def as_published(self) -> bool:
        """The paper's covariance: values are not centred, so that an unseen branch looks promising, nor warped."""
        return self.covariance == "additive"

    @property
    def warps(self) -> bool:
        """Whether the output transform is learned."""
        return self.warp and not self.as_published

    def build(self, encoding: Encoding) -> Kernel:
        """The covariance over the columns of a space."""
        return Kernel(make_terms(encoding, self.covariance), tuple(encoding.n_codes.tolist()))


# Median (of an exponential, but for the power), spread of the members, spread of their common mean: for standardised
# values and parameters in the unit interval. Chosen on the tasks of `benchmarks/`, where they hardly matter, and on the
# regression of `benchmarks/must_show.py`, where they do: a low noise, and main effects free to be large and long.
PRIOR = {
    "main": (np.log(30.0), 0.5, 3.0),
    "path": (np.log(30.0), 0.5, 3.0),
    "offset": (np.log(0.3), 1.0, 2.0),
    "interaction": (np.log(0.003), 0.5, 3.0),
    "lengthscale": (np.log(3.0), 0.8, 2.0),
    "noise": (np.log(1e-8), 3.0, 0.0),
    "power": (1.0, 0.5, 0.0),
}


class _Prior:
    """-log p(θ) up to a constant, with its gradient: in each group N(m·1, s²·I + p²·11ᵀ)."""

    def __init__(self, members: dict[str, Index], size: int) -> None:
        self.group = np.zeros(size, dtype=np.intp)
        for number, name in enumerate(PRIOR):
            self.group[members[name]] = number
        m, s, p = np.array(list(PRIOR.values())).T
        n = np.bincount(self.group, minlength=len(PRIOR))
        self.median = m[self.group]
        self._precision, self._shrink = s[self.group] ** -2, p**2 / (s**2 + n * p**2)  # Sherman-Morrison

    def __call__(self, theta: Array) -> tuple[float, Array]:
        v = theta - self.median
        total = np.bincount(self.group, v, minlength=len(self._shrink))
        pull = (v - (self._shrink * total)[self.group]) * self._precision
        return 0.5 * float(v @ pull), pull


@dataclass(frozen=True)
class Fitted:
    """The hyperparameters found, the transform that goes with them, and θ to start the next fit from."""

    theta: Array
    hyper: Hyperparameters
    output: Transform


def _output(recipe: Specification, y: Array) -> Transform:
    return Transform.from_values(y, centred=not recipe.as_published, squeezed=recipe.warps)


def _hyper(theta: Array, covariance: Kernel) -> Hyperparameters:
    T, e = len(covariance.terms), np.exp(theta[:-1])
    return Hyperparameters(e[:T], e[T:-1], float(e[-1]))


def restore(recipe: Specification, covariance: Kernel, y: Array, theta: Array) -> Fitted:
    """The fit that once gave θ for the values y."""
    return Fitted(theta, _hyper(theta, covariance), _output(recipe, y).with_power(float(theta[-1])))


def _variance(noise: float) -> float:
    return max(min(noise, _MOST_NOISE) ** 2, NOISE_FLOOR)


class _Objective:
    """-log p(θ | y), or -log p(y | θ), with its gradient."""

    def __init__(self, recipe: Specification, gram: GramMatrix, y: Array) -> None:
        self.covariance = covariance = gram.covariance
        self.T, self.S = len(covariance.terms), covariance.n_scales
        self.likelihood = Likelihood(gram)
        self.warp = recipe.warps
        self.output = _output(recipe, y)
        self.s = self.output.standardise(y)
        fixed = None if recipe.noise is None else _variance(recipe.noise / self.output.scale)
        self.noise = (np.log(NOISE_FLOOR), np.log(_NOISE_CEILING)) if fixed is None else (np.log(fixed), np.log(fixed))
        members: dict[str, Index] = {k: np.array(covariance.of_kind(k), dtype=np.intp) for k in KINDS}
        members["lengthscale"] = np.arange(self.T, self.T + self.S)
        members["noise"] = np.array([self.T + self.S])
        members["power"] = np.array([self.T + self.S + 1])
        self.prior = _Prior(members, self.T + self.S + 2)
        self.bayes = recipe.inference == "map"

    @property
    def bounds(self) -> list[tuple[float, float]]:
        power = _POWER if self.warp else (1.0, 1.0)
        return [_LOG_AMPLITUDE] * self.T + [_LOG_LENGTHSCALE] * self.S + [self.noise, power]

    @property
    def centre(self) -> Array:
        """The median of the prior, within the bounds."""
        low, high = np.array(self.bounds).T
        return np.asarray(np.clip(self.prior.median, low, high))

    def __call__(self, theta: Array) -> tuple[float, Array]:
        z, dz, log_jacobian, by_power = self.s, None, 0.0, 0.0
        if self.warp:
            z, dz, log_jacobian, by_power = yeo_johnson(self.s, theta[-1])
        try:
            value, by_a, by_l, by_noise, by_z = self.likelihood.value_and_gradient(_hyper(theta, self.covariance), z)
        except np.linalg.LinAlgError:
            return _IMPOSSIBLE, np.zeros_like(theta)
        by_power = 0.0 if dz is None else by_power + float(by_z @ dz)
        gradient = -np.concatenate([by_a, by_l, [by_noise, by_power]])
        value = -value - log_jacobian
        if self.bayes:
            penalty, pull = self.prior(theta)
            value += penalty
            gradient += pull
        return value, gradient


def fit(
    recipe: Specification,
    gram: GramMatrix,
    y: Array,
    *,
    start: Array | None = None,
    restarts: int = 0,
    iterations: int = 100,
    rng: np.random.Generator,
) -> Fitted:
    """Fit θ to observations y of the rows of a GramMatrix matrix.

    Starts are `start` (the last fit) where given, else the median of the prior, and `restarts` draws around that.
    """
    objective = _Objective(recipe, gram, y)
    starts = [objective.centre if start is None else start]
    starts += [objective.centre + rng.normal(size=len(starts[0])) for _ in range(restarts)]
    found = [_descend(objective, theta, iterations, _PATIENCE if theta is start else None) for theta in starts]
    _, theta = min(found, key=lambda pair: pair[0])
    return restore(recipe, gram.covariance, y, theta)


class _StalledError(Exception):
    """A descent no longer gets anywhere."""


def _descend(objective: _Objective, theta: Array, iterations: int, patience: int | None) -> tuple[float, Array]:
    """The least score on the way down from θ, and where it is; the centre, where no score is possible."""
    from scipy.optimize import minimize  # here, since loading it takes a third of the time to import this package

    best, since = (_IMPOSSIBLE, objective.centre), 0

    def watched(theta: Array) -> tuple[float, Array]:
        nonlocal best, since
        value, gradient = objective(theta)
        since += 1
        if value < best[0]:
            best, since = (value, theta.copy()), 0
        elif since == patience:
            raise _StalledError
        return value, gradient

    low, high = np.array(objective.bounds).T
    options = {"maxiter": iterations, "maxcor": 20}
    with suppress(_StalledError):
        minimize(
            watched, np.clip(theta, low, high), jac=True, method="L-BFGS-B", bounds=objective.bounds, options=options
        )
    return best
