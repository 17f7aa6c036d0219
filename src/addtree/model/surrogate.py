"""The surrogate: one model of one value, from specification to posterior.

    observed rows X (n x D) and values y (n), perhaps with standard errors
      → transform: z = transform(y)
      → hyperparameters θ, learned from at most `max_fit_rows` rows
      → posterior of f given z at at most `max_rows` rows

A surrogate is immutable. `fit` makes one, `refit` learns θ again from more observations, `condition` keeps θ and
appends observations. It knows encoded rows, not spaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from addtree._types import Array
from addtree.model.fit import FitSettings, fit_theta, make_transform, theta_bounds, unpack
from addtree.model.gp import Posterior
from addtree.model.kernel import Hyperparameters, Kernel
from addtree.model.kernel_matrices import GramMatrix
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.model.thinning import thin
from addtree.model.transform import Transform

_ROUNDING = 1e-6  # The bounds of θ depend on the values by logarithms, which another machine may round differently.


@dataclass(frozen=True)
class Surrogate:
    """A fitted model.

    theta      θ = (log a, log ℓ, log σ², λ)
    transform  from y to the scale of the posterior
    n_fitted   the number of observations when θ was learned
    n_fresh    the number of observations when θ was last learned with a fresh start (see `FitSettings`)
    """

    specification: Specification
    settings: FitSettings
    theta: Array
    transform: Transform
    posterior: Posterior
    n_fitted: int
    n_fresh: int

    @classmethod
    def fit(
        cls,
        specification: Specification,
        kernel: Kernel,
        data: Observations,
        *,
        settings: FitSettings | None = None,
        rng: np.random.Generator,
    ) -> Surrogate:
        """Learn θ from observations, and condition on them."""
        settings = settings or FitSettings()
        gram, chosen = _fit_data(kernel, data, settings)
        theta = fit_theta(specification, gram, chosen, settings=settings, rng=rng)
        return cls._conditioned(specification, settings, theta, data, gram, n_fresh=len(data))

    def refit(self, data: Observations, *, rng: np.random.Generator) -> Surrogate:
        """Learn θ again, starting from the present one, from all observations."""
        settings = self.settings
        gram, chosen = _fit_data(self.kernel, data, settings)
        fresh = len(data) - self.n_fresh >= max(1, self.n_fresh // settings.fresh_growth)
        theta = fit_theta(self.specification, gram, chosen, settings=settings, start=self.theta, fresh=fresh, rng=rng)
        n_fresh = len(data) if fresh else self.n_fresh
        return self._conditioned(self.specification, settings, theta, data, gram, n_fresh=n_fresh)

    def is_due(self, n: int) -> bool:
        """Whether θ should be learned again now that there are n observations."""
        return n - self.n_fitted >= min(max(1, n // self.settings.growth), self.settings.max_appended)

    @classmethod
    def _conditioned(
        cls,
        specification: Specification,
        settings: FitSettings,
        theta: Array,
        data: Observations,
        gram: GramMatrix,
        *,
        n_fresh: int,
    ) -> Surrogate:
        """The surrogate with this θ; `gram` is the Gram matrix of the rows that θ was learned from."""
        kernel, hyper = gram.kernel, unpack(theta, gram.kernel)
        fitted = thin(data.y, settings.max_fit_rows)
        transform = make_transform(specification, data.y[fitted]).with_power(float(theta[-1]))
        kept = data[thin(data.y, settings.max_rows)]
        whole = gram if len(gram.rows) == len(kept) else None
        rows = kernel.rows(kept.X) if whole is None else whole.rows
        z, noise = _scaled(transform, hyper, kept)
        posterior = Posterior.from_data(kernel, hyper, rows, z, noise=noise, gram=whole, prior_mean=data.prior_mean)
        return cls(specification, settings, theta, transform, posterior, len(data), n_fresh)

    @property
    def kernel(self) -> Kernel:
        """The kernel, which does not depend on the data."""
        return self.posterior.kernel

    def condition(self, data: Observations) -> Surrogate:
        """The same θ with further observations."""
        scaled = _scaled(self.transform, self.posterior.hyper, data)
        return replace(self, posterior=self.posterior.condition(self.kernel.rows(data.X), *scaled))

    def condition_on_new(self, data: Observations) -> Surrogate:
        """The same θ with all observations of a run, of which the first `n_fitted` are known."""
        return self.condition(data[self.n_fitted :]) if len(data) > self.n_fitted else self

    def with_pending(self, X: Array) -> Surrogate:
        """The same with rows X that are still being evaluated, each at its present mean."""
        return replace(self, posterior=self.posterior.with_pending(X))

    def with_failures(self, X: Array) -> Surrogate:
        """The same with rows X that failed, each at its present mean, or at the median if that is worse."""
        rows = self.kernel.rows(X)
        z = np.maximum(self.posterior.predict(rows)[0], np.median(self.posterior.z))
        return replace(self, posterior=self.posterior.condition(rows, z))

    def with_data(self, data: Observations, *, theta: Array | None = None) -> Surrogate:
        """The same standardisation and θ, or another θ, with other observations instead of the present ones.

        The covariance of the observations is computed like that of a query with them, so that rounding errors cancel.
        `fit` reuses its Gram matrix instead, which is faster.
        """
        theta = self.theta if theta is None else theta
        transform, hyper = self.transform.with_power(float(theta[-1])), unpack(theta, self.kernel)
        z, noise = _scaled(transform, hyper, data)
        rows, prior_mean = self.kernel.rows(data.X), data.prior_mean
        posterior = Posterior.from_data(self.kernel, hyper, rows, z, noise=noise, prior_mean=prior_mean)
        return replace(self, theta=theta, transform=transform, posterior=posterior)

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of the function, without noise, at rows X, on the scale of the model."""
        return self.posterior.predict(self.kernel.rows(X))

    # ------------------------------------------------------------------ JSON

    def to_dict(self) -> dict[str, Any]:
        """What was learned, for JSON; with the observations it was learned from, `from_dict` makes the same again."""
        return {"n": self.n_fitted, "n_fresh": self.n_fresh, "theta": self.theta.tolist()}

    @classmethod
    def from_dict(
        cls,
        form: Mapping[str, Any],
        specification: Specification,
        kernel: Kernel,
        data: Observations,
        *,
        settings: FitSettings,
        exact: bool = True,
    ) -> Surrogate:
        """The surrogate of such a form and the n observations that it was learned from.

        Raises ValueError if no fit of these observations can have given the form.

        exact  False if the form was learned elsewhere, from about the same observations: hyperparameters outside of
               the bounds are then moved to the bounds instead of refused
        """
        if not len(data):
            raise ValueError("the model was fitted to trials that all failed")
        theta = np.array(form["theta"], dtype=float)
        fitted = data[thin(data.y, settings.max_fit_rows)]
        low, high = np.array(theta_bounds(specification, kernel, make_transform(specification, fitted.y))).T
        if theta.shape != low.shape:
            raise ValueError("the hyperparameters belong to another kernel")
        if not np.all(np.isfinite(theta)):
            raise ValueError("the hyperparameters are not finite")
        if exact and not np.all((theta >= low - _ROUNDING) & (theta <= high + _ROUNDING)):
            raise ValueError("the hyperparameters are outside the bounds of a fit")
        theta = theta if exact else np.clip(theta, low, high)
        # A fit reuses the Gram matrix of all rows, but not that of a part of them.
        gram = GramMatrix(kernel, kernel.rows(data.X if len(fitted) == len(data) else data.X[:0]))
        return cls._conditioned(specification, settings, theta, data, gram, n_fresh=form["n_fresh"])


def _fit_data(kernel: Kernel, data: Observations, settings: FitSettings) -> tuple[GramMatrix, Observations]:
    """The Gram matrix of the rows that θ is learned from, and these observations."""
    chosen = data[thin(data.y, settings.max_fit_rows)]
    return GramMatrix(kernel, kernel.rows(chosen.X)), chosen


def _scaled(transform: Transform, hyper: Hyperparameters, data: Observations) -> tuple[Array, Array]:
    """Values and noise variances on the scale of the model."""
    return transform.forward(data.y), hyper.noise + transform.variance(data.y, data.std)
