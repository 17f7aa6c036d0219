"""What a run has learned from its trials: one surrogate for each value that it models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from addtree._types import Array, Mask
from addtree.model.fit import FitSettings
from addtree.model.kernel import Kernel
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.model.success import SuccessModel, SuccessSettings
from addtree.model.surrogate import Surrogate
from addtree.model.transfer import EarlierTasks
from addtree.run.goals import Goals
from addtree.run.settings import Settings
from addtree.search.multiobjective import Posteriors
from addtree.space.encoding import Encoding


@dataclass(frozen=True)
class Models:
    """The surrogates of a run, as they were last fitted. Observations that were told since are not in them.

    values   one surrogate for each objective, then one for each constraint
    success  the probability that an evaluation succeeds; None as long as no trial failed. It is a function of the
             outcomes alone, and is kept only to save work
    cost     log cost; None if costs do not count. It is a function of the costs alone, and is kept only to save work
    """

    values: tuple[Surrogate, ...]
    success: SuccessModel | None = None
    cost: Surrogate | None = None

    def is_due(self, n: int) -> bool:
        """Whether any surrogate should be fitted again now that there are n observations."""
        return any(surrogate.is_due(n) for surrogate in self.values)

    def conditioned(self, data: Sequence[Observations], pending: Array | None = None) -> Models:
        """The models with the observations told since they were fitted, and with pending rows at their own means."""
        values = [surrogate.condition_on_new(own) for surrogate, own in zip(self.values, data, strict=True)]
        if pending is not None:
            values = [surrogate.with_pending(pending) for surrogate in values]
        return replace(self, values=tuple(values))

    def with_failures(self, n_objectives: int, X: Array) -> Models:
        """The models of the objectives with rows X that failed; those of constraints learn nothing from them."""
        if not len(X):
            return self
        objectives = (surrogate.with_failures(X) for surrogate in self.values[:n_objectives])
        return replace(self, values=(*objectives, *self.values[n_objectives:]))

    def posteriors(self, goals: Goals, pending: Array | None = None) -> Posteriors:
        """What a search sees of the models. Bounds and reference point are moved to the scales of the models."""
        n = len(goals.objectives)
        objectives, constraints = self.values[:n], self.values[n:]
        bounds, transforms = (c.signed_bounds for c in goals.constraints), (s.transform for s in constraints)
        reference = None
        if goals.reference is not None:
            losses = goals.losses(goals.reference)
            pairs = zip(objectives, losses.tolist(), strict=True)
            reference = np.array([surrogate.transform.bound(loss) for surrogate, loss in pairs])
        return Posteriors(
            tuple(surrogate.posterior for surrogate in objectives),
            tuple(surrogate.posterior for surrogate in constraints),
            tuple((t.bound(low), t.bound(high)) for t, (low, high) in zip(transforms, bounds, strict=True)),
            reference,
            pending,
        )

    def to_dict(self) -> list[dict[str, Any]]:
        """What was learned, for JSON."""
        return [surrogate.to_dict() for surrogate in self.values]


@dataclass(frozen=True)
class Learning:
    """How the models of a run are learned; it does not change in a run.

    specifications    one for each objective and constraint
    kernel            their kernel
    settings          how they are fitted
    success_kernel    the kernel of the model of success
    success_settings  how that model is learned
    earlier           what is known about the objectives from earlier tasks; None if there are none
    """

    specifications: tuple[Specification, ...]
    kernel: Kernel
    settings: FitSettings
    success_kernel: Kernel
    success_settings: SuccessSettings
    earlier: EarlierTasks | None = None

    @classmethod
    def of(cls, encoding: Encoding, goals: Goals, covariance: str, inference: str, settings: Settings) -> Learning:
        """How the values of these goals are learned on a space, without earlier tasks."""
        specifications = tuple(
            Specification(covariance, inference, goals.noise.get(name), settings.transform, settings.priors)
            for name in goals.names
        )
        fit = settings.mle_fit if inference == "mle" else settings.fit
        success_kernel = Specification().make_kernel(encoding)
        return cls(specifications, specifications[0].make_kernel(encoding), fit, success_kernel, settings.success)

    def informed(self, data: Sequence[Observations]) -> Sequence[Observations]:
        """The observations of all values with what is known from earlier tasks."""
        return data if self.earlier is None else self.earlier.informed(data)

    def fitted(self, models: Models | None, data: Sequence[Observations], rng: np.random.Generator) -> Models:
        """The models, fitted again where that is due."""
        if models is None:
            parts = zip(self.specifications, self.informed(data), strict=True)
            return Models(
                tuple(Surrogate.fit(spec, self.kernel, own, settings=self.settings, rng=rng) for spec, own in parts)
            )
        if not models.is_due(len(data[0])):
            return models
        data = self.informed(data)
        return replace(
            models,
            values=tuple(
                last.refit(own, rng=rng) if last.is_due(len(own)) else last
                for last, own in zip(models.values, data, strict=True)
            ),
        )

    def success(self, models: Models | None, X: Array, succeeded: Mask) -> SuccessModel | None:
        """The model of success from all outcomes; None if no trial failed."""
        if np.all(succeeded):
            return None
        last = None if models is None else models.success
        return SuccessModel.fit(self.success_kernel, X, succeeded, settings=self.success_settings, last=last)

    def from_dict(
        self, form: Sequence[Mapping[str, Any]], data: Sequence[Observations], *, exact: bool = True
    ) -> Models:
        """The models that `Models.to_dict` described, and the observations that they were learned from.

        Raises ValueError if no fit of these observations can have given the form (see `Surrogate.from_dict`).
        """
        parts = zip(form, self.specifications, self.informed(data), strict=True)
        return Models(
            tuple(
                Surrogate.from_dict(own, spec, self.kernel, observed, settings=self.settings, exact=exact)
                for own, spec, observed in parts
            )
        )
