"""What a run has learned from its trials: one surrogate for each value that it models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from addtree._prediction import conditioned
from addtree._types import Array, Mask
from addtree.model.fit import FitSettings
from addtree.model.kernel import Kernel
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.model.success import SuccessModel, SuccessSettings
from addtree.model.surrogate import Surrogate


@dataclass(frozen=True)
class Models:
    """The surrogates of a run, as they were last fitted. Observations that were told since are not in them.

    objective  of the value that is minimised
    success    the probability that an evaluation succeeds; None as long as no trial failed. It is a function of the
               outcomes alone, and is kept only to save work
    """

    objective: Surrogate
    success: SuccessModel | None = None

    def conditioned(self, data: Observations, pending: Sequence[Array]) -> Models:
        """The models with the observations told since they were fitted, and with pending rows at their own means."""
        return replace(self, objective=conditioned(self.objective, data, pending))

    def to_dict(self) -> dict[str, Any]:
        """What was learned, for JSON."""
        return self.objective.to_dict()


@dataclass(frozen=True)
class Learning:
    """How the models of a run are learned; it does not change in a run.

    success_kernel    the kernel of the model of success
    success_settings  how that model is learned
    """

    specification: Specification
    kernel: Kernel
    settings: FitSettings
    success_kernel: Kernel
    success_settings: SuccessSettings

    def fitted(self, models: Models | None, data: Observations, rng: np.random.Generator) -> Models:
        """The models, fitted again where that is due."""
        if models is None:
            return Models(Surrogate.fit(self.specification, self.kernel, data, settings=self.settings, rng=rng))
        last = models.objective
        return replace(models, objective=last.refit(data, rng=rng)) if last.is_due(len(data)) else models

    def success(self, models: Models | None, X: Array, succeeded: Mask) -> SuccessModel | None:
        """The model of success from all outcomes; None if no trial failed."""
        if np.all(succeeded):
            return None
        last = None if models is None else models.success
        return SuccessModel.fit(self.success_kernel, X, succeeded, settings=self.success_settings, last=last)

    def from_dict(self, form: Mapping[str, Any], data: Observations) -> Models:
        """The models that `Models.to_dict` described, and the observations that they were learned from.

        Raises ValueError if no fit of these observations can have given the form.
        """
        return Models(Surrogate.from_dict(form, self.specification, self.kernel, data, settings=self.settings))
