"""`AddTreeGP`: the regression model alone, on configurations."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from addtree._types import Array, Config
from addtree.errors import AddTreeError, ConfigError
from addtree.model.gp import Posterior
from addtree.model.kernel import Hyperparameters
from addtree.model.specification import Specification
from addtree.model.surrogate import FitSettings, Surrogate
from addtree.space.encoding import Encoding
from addtree.space.space import Space, check_space

_RESTARTS = 3  # Starts of a fit besides the first, by default.


@dataclass(frozen=True)
class Effect:
    """The contribution of one component to a prediction, in the units of y."""

    component: str
    mean: float
    std: float


class AddTreeGP:
    """A Gaussian process on a conditional space whose components follow the tree.

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
        seed: int = 0,
    ) -> None:
        self.space = check_space(space)
        self._specification = Specification(covariance, inference, noise)
        self._encoding = space.encoding
        self._kernel = self._specification.make_kernel(self._encoding)
        self._seed = seed
        self._surrogate: Surrogate | None = None

    def fit(self, configs: Sequence[Config], y: Sequence[float] | Array, *, restarts: int = _RESTARTS) -> AddTreeGP:
        """Learn the hyperparameters and condition on the observations; returns self.

        restarts  further starts of the search for hyperparameters; 0 is the quickest
        """
        values, X = _values(configs, y), self._encoding.encode(configs)
        settings = FitSettings(max_fit_rows=None, max_rows=None, restarts=restarts)
        rng = np.random.default_rng(self._seed)
        surrogate = Surrogate.fit(self._specification, self._kernel, X, values, settings=settings, rng=rng)
        self._surrogate = surrogate.with_data(X, values)  # for its precision
        return self

    def condition(self, configs: Sequence[Config], y: Sequence[float] | Array) -> AddTreeGP:
        """The same model and hyperparameters on these observations instead; self stays as it is.

        Much cheaper than `fit`: fit on some hundred observations, condition on all of them.
        """
        values, X = _values(configs, y), self._encoding.encode(configs)
        other = copy(self)
        other._surrogate = self._fitted.with_data(X, values)
        return other

    def predict(self, configs: Sequence[Config]) -> tuple[Array, Array]:
        """Mean and standard deviation of the function, without noise, at each configuration."""
        mean, variance = self._fitted.predict(self._encoding.encode(configs))
        with np.errstate(over="ignore"):  # values near the largest float may have deviations beyond it
            return self._fitted.transform.inverse(mean), self.scale * np.sqrt(variance)

    def effects(self, config: Config) -> list[Effect]:
        """What each component contributes at a configuration; the means add up to the prediction.

        The first one is the mean of the observed values, around which the components vary (zero for `additive`).
        """
        row = self._kernel.rows(self._encoding.encode([config]))
        effects = [Effect("mean", self.centre, 0.0)]
        for t in np.flatnonzero(row.active[0]):
            mean, variance = self.posterior.component(int(t), row)
            std = self.scale * float(np.sqrt(variance[0]))
            effects.append(Effect(self._kernel.terms[t].label, self.scale * float(mean[0]), std))
        return effects

    def leave_one_out(self) -> tuple[Array, Array]:
        """Mean and standard deviation of every observation, noise included, predicted from all the others.

        The hyperparameters stay those fitted to all, so it costs one inverse. If the predictions are far from the
        observed values, do not trust the model. Observations repeated at one configuration predict each other.
        """
        mean, variance = self.posterior.leave_one_out()
        return self._fitted.transform.inverse(mean), self.scale * np.sqrt(variance)

    @property
    def encoding(self) -> Encoding:
        """The columns of the space."""
        return self._encoding

    @property
    def posterior(self) -> Posterior:
        """The posterior over encoded rows and standardised values; `scale` and `centre` lead back to y."""
        return self._fitted.posterior

    @property
    def scale(self) -> float:
        """Units of y in one unit of the posterior."""
        return self._fitted.transform.scale

    @property
    def centre(self) -> float:
        """The y that is zero for the posterior."""
        return self._fitted.transform.centre

    @property
    def hyperparameters(self) -> Hyperparameters:
        """The fitted amplitudes, lengthscales and noise, for standardised values and parameters in [0, 1]."""
        return self.posterior.hyper

    @property
    def _fitted(self) -> Surrogate:
        if self._surrogate is None:
            raise AddTreeError("this AddTreeGP has seen no data; call fit(configs, y) first")
        return self._surrogate


def _values(configs: Sequence[Config], y: Sequence[float] | Array) -> Array:
    values = np.asarray(y, dtype=float)
    if values.shape != (len(configs),):
        raise ConfigError(f"{len(configs)} configurations need as many values, got shape {values.shape}")
    if not len(values) or not np.all(np.isfinite(values)):
        raise ConfigError("y must hold at least one value, all finite; leave failed evaluations out")
    return values
