"""`AddTreeGP`: the regression model alone, on configurations."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from addtree._types import Array, Config
from addtree.errors import AddTreeError, ConfigError, OptionError
from addtree.model.fit import FitSettings
from addtree.model.gp import Posterior
from addtree.model.kernel import Hyperparameters
from addtree.model.marginal import LOCAL_FACTORS, ChainSettings, Mixture, marginalize
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.model.surrogate import Surrogate
from addtree.run.suggestion import checked_seed
from addtree.space.configs import listed
from addtree.space.encoding import Encoding
from addtree.space.space import Space, check_space
from addtree.support.numbers import MAX_SIZE, is_number, is_whole, plural
from addtree.support.threads import one_blas_thread

_RESTARTS = 3  # Starts of a fit besides the first, by default.
_DRAWS = ChainSettings().draws  # Draws of the hyperparameters that predictions average over, by default.


@dataclass(frozen=True)
class Effect:
    """The contribution of one component to a prediction, in the units of y."""

    component: str
    mean: float
    std: float


@dataclass(frozen=True)
class _Fit:
    """What was learned.

    best     the model with the most probable hyperparameters
    members  equally probable models, which predictions average over
    factors  equally probable factors of the variance at a place (see `marginal`)
    """

    best: Surrogate
    members: tuple[Surrogate, ...]
    factors: tuple[float, ...] = (1.0,)


class AddTreeGP:
    """A Gaussian process on a conditional space whose components follow the tree.

    With `inference="map"`, predictions average over draws of the hyperparameters from their posterior, because one set
    of hyperparameters alone is overconfident. With `inference="mle"`, they use the most likely ones, as published.

    >>> from addtree.problems import synthetic
    >>> problem, rng = synthetic(), np.random.default_rng(0)
    >>> configs = [problem.space.sample(rng) for _ in range(40)]
    >>> gp = AddTreeGP(problem.space).fit(configs, [problem.objective(c) for c in configs])
    >>> mean, std = gp.predict([{"x1": 0, "x2": 0, "r8": 0.5, "x4": 0.5}])
    >>> round(float(mean[0]), 2)
    0.85
    """

    def __init__(
        self,
        space: Space,
        *,
        covariance: str = "additive+interactions",
        inference: str = "map",
        noise: float | None = None,
        seed: int | None = 0,
    ) -> None:
        self.space = check_space(space)
        self._specification = Specification(covariance, inference, noise)
        self._encoding = space.encoding
        self._kernel = self._specification.make_kernel(self._encoding)
        self._seed = checked_seed(seed)
        self._learned: _Fit | None = None

    @one_blas_thread()
    def fit(
        self,
        configs: Sequence[Config],
        y: Sequence[float] | Array,
        *,
        std: Sequence[float] | Array | None = None,
        restarts: int = _RESTARTS,
        draws: int = _DRAWS,
    ) -> AddTreeGP:
        """Learn the hyperparameters and condition on the observations; returns self.

        y         one value for each configuration; values beyond ±1e300 count as ±1e300
        std       the standard error of each value, 0 where it is not known; it adds to the noise of all values
        restarts  further starts of the search for hyperparameters; 0 is the quickest
        draws     draws of the hyperparameters that predictions average over; 0 uses the most probable ones alone, which
                  is faster and overconfident (only for `inference="map"`)
        """
        for name, count in (("draws", draws), ("restarts", restarts)):
            if not is_whole(count) or count < 0:
                raise OptionError(f"{name}={count!r} must be a whole number, zero or more; 0 is the quickest")
        data = self._observations(configs, y, std)
        settings = FitSettings(max_fit_rows=None, max_rows=None, restarts=restarts)
        rng = np.random.default_rng(self._seed)
        surrogate = Surrogate.fit(self._specification, self._kernel, data, settings=settings, rng=rng)
        best = surrogate.with_data(data)  # for its precision
        self._learned = _Fit(best, (best,))
        if draws > 0 and self._specification.inference == "map":
            members = marginalize(best, data, settings=ChainSettings(draws=draws), rng=rng)
            self._learned = _Fit(best, members, LOCAL_FACTORS)
        return self

    @one_blas_thread()
    def condition(
        self, configs: Sequence[Config], y: Sequence[float] | Array, *, std: Sequence[float] | Array | None = None
    ) -> AddTreeGP:
        """The same model and hyperparameters on these observations instead; self stays as it is.

        Much cheaper than `fit`: fit on some hundred observations, condition on all of them.
        """
        learned, other, data = self._fitted, copy(self), self._observations(configs, y, std)
        members = tuple(member.with_data(data) for member in learned.members)
        other._learned = replace(learned, best=learned.best.with_data(data), members=members)
        return other

    @one_blas_thread()
    def predict(self, configs: Sequence[Config], *, observed: bool = False) -> tuple[Array, Array]:
        """Mean and standard deviation at each configuration: of the function, or of an observation, noise included."""
        return self._in_units(self.distribution(configs, observed=observed))

    @one_blas_thread()
    def interval(
        self, configs: Sequence[Config], probability: float = 0.9, *, observed: bool = False
    ) -> tuple[Array, Array]:
        """Lower and upper end of the central interval that holds the function with this probability.

        With `observed`, the interval holds an observation, noise included. The distribution is a mixture of normal
        distributions, whose tails are heavier than those of a normal distribution with the same standard deviation.
        """
        if not is_number(probability) or not 0.0 < probability < 1.0:
            raise OptionError(f"probability={probability!r} must lie between 0 and 1, such as 0.9")
        predictions, inverse = self.distribution(configs, observed=observed), self._fitted.best.transform.inverse
        tail = 0.5 * (1.0 - probability)
        return inverse(predictions.quantile(tail)), inverse(predictions.quantile(1.0 - tail))

    @one_blas_thread()
    def distribution(self, configs: Sequence[Config], *, observed: bool = False) -> Mixture:
        """The predictions as mixtures of normal distributions, in standardised units; see `scale` and `centre`."""
        rows = self._kernel.rows(self._encoding.encode(listed(configs)))
        return self._mixture([posterior.predict(rows) for posterior in self.posteriors], observed)

    def _mixture(self, predictions: Sequence[tuple[Array, Array]], observed: bool) -> Mixture:
        """The mixture of the predictions (mean and variance, without noise) of all members."""
        means, variances = (np.array(part) for part in zip(*predictions, strict=True))
        noise = np.array([[posterior.hyper.noise * observed] for posterior in self.posteriors])
        widened = [factor * variances + noise for factor in self.local_factors]
        return Mixture(np.tile(means, (len(widened), 1)), np.concatenate(widened))

    def _in_units(self, predictions: Mixture) -> tuple[Array, Array]:
        """Mean and standard deviation of predictions, in the units of y."""
        mean, variance = predictions.moments()
        with np.errstate(over="ignore"):  # values near the largest float may have deviations beyond it
            return self._fitted.best.transform.inverse(mean), self.scale * np.sqrt(variance)

    @one_blas_thread()
    def effects(self, config: Config) -> list[Effect]:
        """What each component contributes at a configuration; the means add up to the prediction.

        The first one is the mean of the observed values, around which the components vary (zero for `additive`).
        """
        row = self._kernel.rows(self._encoding.encode([config]))
        effects = [Effect("mean", self.centre, 0.0)]
        for terms in self._kernel.components:
            if row.active[0, terms[0]]:
                mixture = self._mixture([posterior.component(terms, row) for posterior in self.posteriors], False)
                mean, variance = mixture.moments()
                std = self.scale * float(np.sqrt(variance[0]))
                effects.append(Effect(self._kernel.terms[terms[0]].label, self.scale * float(mean[0]), std))
        return effects

    @one_blas_thread()
    def leave_one_out(self) -> tuple[Array, Array]:
        """Mean and standard deviation of every observation, noise included, predicted from all the others.

        The hyperparameters stay those fitted to all, so it costs one inverse per draw. If the predictions are far from
        the observed values, do not trust the model. Observations repeated at one configuration predict each other.
        """
        found = [(posterior, *posterior.leave_one_out()) for posterior in self.posteriors]
        without_noise = [(mean, np.maximum(variance - p.hyper.noise, 0.0)) for p, mean, variance in found]
        return self._in_units(self._mixture(without_noise, True))

    def _observations(
        self, configs: Sequence[Config], y: Sequence[float] | Array, std: Sequence[float] | Array | None
    ) -> Observations:
        rows = self._encoding.encode(listed(configs))
        values = _numbers(y, "y", len(rows))
        if not len(values):
            raise ConfigError("y is empty; give at least one value, and its configuration")
        errors = np.zeros(len(values)) if std is None else _numbers(std, "std", len(rows))
        if np.any(errors < 0):
            raise ConfigError(f"std must hold numbers of zero or more, got {np.min(errors)}; give standard errors")
        return Observations(rows, np.clip(values, -MAX_SIZE, MAX_SIZE), errors)

    @property
    def encoding(self) -> Encoding:
        """The columns of the space."""
        return self._encoding

    @property
    def posterior(self) -> Posterior:
        """The posterior over encoded rows and standardised values, given the most probable hyperparameters.

        `scale` and `centre` lead back to y.
        """
        return self._fitted.best.posterior

    @property
    def posteriors(self) -> tuple[Posterior, ...]:
        """The equally probable posteriors that predictions average over, one per draw of the hyperparameters."""
        return tuple(member.posterior for member in self._fitted.members)

    @property
    def local_factors(self) -> tuple[float, ...]:
        """Equally probable factors of the variance at a place, because the function varies more in some places."""
        return self._fitted.factors

    @property
    def scale(self) -> float:
        """Units of y in one unit of the posterior."""
        return self._fitted.best.transform.scale

    @property
    def centre(self) -> float:
        """The y that is zero for the posterior."""
        return self._fitted.best.transform.centre

    @property
    def hyperparameters(self) -> Hyperparameters:
        """The most probable amplitudes, lengthscales and noise, for standardised values and parameters in [0, 1]."""
        return self.posterior.hyper

    @property
    def _fitted(self) -> _Fit:
        if self._learned is None:
            raise AddTreeError("this AddTreeGP has seen no data; call fit(configs, y) first")
        return self._learned


def _numbers(values: Sequence[float] | Array, name: str, n: int) -> Array:
    """One finite number for each of n configurations, or a ConfigError."""
    if np.ma.is_masked(values):
        raise ConfigError(f"{name} has masked values; leave failed evaluations out")
    try:
        found = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"{name} must be a list of numbers ({error}); give one for each configuration") from None
    if found.shape != (n,):
        need = f"{plural(n, 'configuration')} need{'s' if n == 1 else ''}"
        raise ConfigError(f"{need} as many values, got {name} of shape {found.shape}")
    for i in np.flatnonzero(~np.isfinite(found))[:1]:
        raise ConfigError(f"{name}[{i}]={found[i]}: numbers must be all finite; leave failed evaluations out")
    return found
