"""`AddTreeGP`: the regression model alone, on configurations."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from addtree._types import Array
from addtree.errors import AddTreeError, ConfigError
from addtree.model.fit import Fitted, Specification, fit
from addtree.model.gp import Posterior
from addtree.model.kernel import Hyperparameters
from addtree.model.kernel_matrices import GramMatrix
from addtree.space.encoding import Encoding
from addtree.space.space import Config, Space

_RESTARTS = 3


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
        self.space = space
        self._recipe = Specification(covariance, inference, noise)
        self._encoding = Encoding(space)
        self._covariance = self._recipe.build(self._encoding)
        self._seed = seed
        self._fitted: tuple[Fitted, Posterior] | None = None

    def fit(self, configs: Sequence[Config], y: Sequence[float] | Array, *, restarts: int = _RESTARTS) -> AddTreeGP:
        """Learn the hyperparameters and condition on the observations; returns self.

        restarts  further starts of the search for hyperparameters; 0 is the quickest
        """
        values = _values(configs, y)
        rows = self._covariance.rows(self._encoding.encode(configs))
        rng = np.random.default_rng(self._seed)
        fitted = fit(self._recipe, GramMatrix(self._covariance, rows), values, restarts=restarts, rng=rng)
        posterior = Posterior.from_data(self._covariance, fitted.hyper, rows, fitted.output.forward(values))
        self._fitted = (fitted, posterior)
        return self

    def condition(self, configs: Sequence[Config], y: Sequence[float] | Array) -> AddTreeGP:
        """The same model, its hyperparameters as they were fitted, on these observations instead; self stays as it is.

        Much cheaper than `fit`: fit on some hundred observations, condition on all of them.
        """
        fitted, _ = self._need_fit()
        other = copy(self)
        z = fitted.output.forward(_values(configs, y))
        rows = self._covariance.rows(self._encoding.encode(configs))
        other._fitted = (fitted, Posterior.from_data(self._covariance, fitted.hyper, rows, z))
        return other

    def predict(self, configs: Sequence[Config]) -> tuple[Array, Array]:
        """Mean and standard deviation of the function, without noise, at each configuration."""
        fitted, posterior = self._need_fit()
        mean, variance = posterior.predict(self._covariance.rows(self._encoding.encode(configs)))
        with np.errstate(over="ignore"):  # values near the largest float may have deviations beyond it
            return fitted.output.inverse(mean), fitted.output.scale * np.sqrt(variance)

    def effects(self, config: Config) -> list[Effect]:
        """What each component contributes at a configuration; the means add up to the prediction.

        The first one is the mean of the observed values, which the components vary around (zero for `additive`).
        """
        fitted, posterior = self._need_fit()
        row = self._covariance.rows(self._encoding.encode([config]))
        effects = [Effect("mean", fitted.output.centre, 0.0)]
        for t in np.flatnonzero(row.active[0]):
            mean, variance = posterior.component(int(t), row)
            scale = fitted.output.scale
            effects.append(
                Effect(self._covariance.terms[t].label, scale * float(mean[0]), scale * float(np.sqrt(variance[0])))
            )
        return effects

    def leave_one_out(self) -> tuple[Array, Array]:
        """Mean and standard deviation of every observation, noise included, predicted from all the others.

        The hyperparameters stay those fitted to all, so it costs one inverse. Far from the observed values: do not
        trust the model. Observations repeated at one configuration predict each other.
        """
        fitted, posterior = self._need_fit()
        mean, variance = posterior.leave_one_out()
        return fitted.output.inverse(mean), fitted.output.scale * np.sqrt(variance)

    @property
    def encoding(self) -> Encoding:
        """The columns of the space."""
        return self._encoding

    @property
    def posterior(self) -> Posterior:
        """What is believed, over encoded rows and standardised values; `scale` and `centre` lead back to y."""
        return self._need_fit()[1]

    @property
    def scale(self) -> float:
        """Units of y in one unit of the posterior."""
        return self._need_fit()[0].output.scale

    @property
    def centre(self) -> float:
        """The y that is zero for the posterior."""
        return self._need_fit()[0].output.centre

    @property
    def hyperparameters(self) -> Hyperparameters:
        """The fitted amplitudes, lengthscales and noise: for values standardised, parameters in the unit interval."""
        return self._need_fit()[0].hyper

    def _need_fit(self) -> tuple[Fitted, Posterior]:
        if self._fitted is None:
            raise AddTreeError("this AddTreeGP has seen no data; call fit(configs, y) first")
        return self._fitted


def _values(configs: Sequence[Config], y: Sequence[float] | Array) -> Array:
    values = np.asarray(y, dtype=float)
    if values.shape != (len(configs),):
        raise ConfigError(f"{len(configs)} configurations need as many values, got shape {values.shape}")
    if not len(values) or not np.all(np.isfinite(values)):
        raise ConfigError("y must hold at least one value, all finite; leave failed evaluations out")
    return values
