"""The surrogate: one model of one value, from specification to posterior.

    observed rows X (n x D) and values y (n)
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
from addtree.model.fit import fit_theta, make_transform, unpack
from addtree.model.gp import Posterior
from addtree.model.kernel import Kernel
from addtree.model.kernel_matrices import GramMatrix
from addtree.model.specification import Specification
from addtree.model.thinning import thin
from addtree.model.transform import Transform


@dataclass(frozen=True)
class FitSettings:
    """How much work a fit may do, and when it is due again. `benchmarks.variants` compares other schedules.

    max_fit_rows     rows used to learn the hyperparameters; None uses all
    max_rows         rows that the exact posterior is conditioned on; None uses all
    restarts         starts of a fit besides the first
    iterations       iterations of L-BFGS-B from each start
    warm_iterations  the same for a refit, which starts from the last θ
    growth           a refit is due when the observations have grown by one in this many
    max_appended     or by this many
    """

    max_fit_rows: int | None = 256
    max_rows: int | None = 2000
    restarts: int = 0
    iterations: int = 100
    warm_iterations: int = 20
    growth: int = 10
    max_appended: int = 100


@dataclass(frozen=True)
class Surrogate:
    """A fitted model.

    theta      θ = (log a, log ℓ, log σ², λ)
    transform  from y to the scale of the posterior
    n_fitted   the number of observations when θ was learned
    """

    specification: Specification
    settings: FitSettings
    theta: Array
    transform: Transform
    posterior: Posterior
    n_fitted: int

    @classmethod
    def fit(
        cls,
        specification: Specification,
        kernel: Kernel,
        X: Array,
        y: Array,
        *,
        settings: FitSettings | None = None,
        rng: np.random.Generator,
    ) -> Surrogate:
        """Learn θ from observations y at rows X, and condition on them."""
        settings = settings or FitSettings()
        gram, values = _fit_data(kernel, X, y, settings)
        theta = fit_theta(
            specification, gram, values, restarts=settings.restarts, iterations=settings.iterations, rng=rng
        )
        return cls._conditioned(specification, settings, theta, X, y, gram)

    def refit(self, X: Array, y: Array, *, rng: np.random.Generator) -> Surrogate:
        """Learn θ again, starting from the present one, from all observations y at rows X."""
        settings = self.settings
        gram, values = _fit_data(self.kernel, X, y, settings)
        theta = fit_theta(
            self.specification,
            gram,
            values,
            start=self.theta,
            restarts=settings.restarts,
            iterations=settings.warm_iterations,
            rng=rng,
        )
        return self._conditioned(self.specification, settings, theta, X, y, gram)

    def is_due(self, n: int) -> bool:
        """Whether θ should be learned again now that there are n observations."""
        return n - self.n_fitted >= min(max(1, n // self.settings.growth), self.settings.max_appended)

    @classmethod
    def _conditioned(
        cls, specification: Specification, settings: FitSettings, theta: Array, X: Array, y: Array, gram: GramMatrix
    ) -> Surrogate:
        """The surrogate with this θ; `gram` is the Gram matrix of the rows that θ was learned from."""
        kernel, hyper = gram.kernel, unpack(theta, gram.kernel)
        fitted = thin(y, settings.max_fit_rows)
        transform = make_transform(specification, y[fitted]).with_power(float(theta[-1]))
        kept = thin(y, settings.max_rows)
        whole = gram if len(gram.rows) == len(kept) else None
        rows = kernel.rows(X[kept]) if whole is None else whole.rows
        posterior = Posterior.from_data(kernel, hyper, rows, transform.forward(y[kept]), gram=whole)
        return cls(specification, settings, theta, transform, posterior, len(y))

    @property
    def kernel(self) -> Kernel:
        """The kernel, which does not depend on the data."""
        return self.posterior.kernel

    def condition(self, X: Array, y: Array) -> Surrogate:
        """The same θ with further observations y at rows X."""
        posterior = self.posterior.condition(self.kernel.rows(X), self.transform.forward(y))
        return replace(self, posterior=posterior)

    def expect(self, X: Array) -> Surrogate:
        """The same with rows X that are still being evaluated, each at its present mean."""
        rows = self.kernel.rows(X)
        return replace(self, posterior=self.posterior.condition(rows, self.posterior.predict(rows)[0]))

    def with_data(self, X: Array, y: Array, *, theta: Array | None = None) -> Surrogate:
        """The same standardisation and θ, or another θ, with observations y at rows X instead of the present ones.

        The covariance of the observations is computed like that of a query with them, so that rounding errors cancel.
        `fit` reuses its Gram matrix instead, which is faster.
        """
        theta = self.theta if theta is None else theta
        transform = self.transform.with_power(float(theta[-1]))
        rows, z = self.kernel.rows(X), transform.forward(y)
        posterior = Posterior.from_data(self.kernel, unpack(theta, self.kernel), rows, z)
        return replace(self, theta=theta, transform=transform, posterior=posterior)

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of the function, without noise, at rows X, on the scale of the model."""
        return self.posterior.predict(self.kernel.rows(X))

    # ------------------------------------------------------------------ JSON

    def to_dict(self) -> dict[str, Any]:
        """What was learned, for JSON; with the observations it was learned from, `from_dict` makes the same again."""
        return {"n": self.n_fitted, "theta": self.theta.tolist()}

    @classmethod
    def from_dict(
        cls,
        form: Mapping[str, Any],
        specification: Specification,
        kernel: Kernel,
        X: Array,
        y: Array,
        *,
        settings: FitSettings,
    ) -> Surrogate:
        """The surrogate of such a form and the n observations that it was learned from.

        Raises ValueError if the form belongs to another kernel.
        """
        theta = np.array(form["theta"], dtype=float)
        if theta.shape != (len(kernel.terms) + kernel.n_scales + 2,) or not np.all(np.isfinite(theta)):
            raise ValueError("the hyperparameters belong to another kernel")
        gram, _ = _fit_data(kernel, X, y, settings)
        return cls._conditioned(specification, settings, theta, X, y, gram)


def _fit_data(kernel: Kernel, X: Array, y: Array, settings: FitSettings) -> tuple[GramMatrix, Array]:
    """The Gram matrix of the rows that θ is learned from, and their values."""
    chosen = thin(y, settings.max_fit_rows)
    return GramMatrix(kernel, kernel.rows(X[chosen])), y[chosen]
