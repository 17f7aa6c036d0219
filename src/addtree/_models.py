"""What a run has learned from its trials: one surrogate for each value that it models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from addtree._prediction import conditioned
from addtree._types import Array
from addtree.model.fit import FitSettings
from addtree.model.kernel import Kernel
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.model.surrogate import Surrogate


@dataclass(frozen=True)
class Models:
    """The surrogates of a run, as they were last fitted. Observations that were told since are not in them.

    objective  of the value that is minimised
    """

    objective: Surrogate

    def conditioned(self, data: Observations, pending: Sequence[Array]) -> Models:
        """The models with the observations told since they were fitted, and with pending rows at their own means."""
        return Models(conditioned(self.objective, data, pending))

    def to_dict(self) -> dict[str, Any]:
        """What was learned, for JSON."""
        return self.objective.to_dict()


@dataclass(frozen=True)
class Learning:
    """How the models of a run are learned; it does not change in a run."""

    specification: Specification
    kernel: Kernel
    settings: FitSettings

    def fitted(self, models: Models | None, data: Observations, rng: np.random.Generator) -> Models:
        """The models, fitted again where that is due."""
        if models is None:
            return Models(Surrogate.fit(self.specification, self.kernel, data, settings=self.settings, rng=rng))
        last = models.objective
        return Models(last.refit(data, rng=rng)) if last.is_due(len(data)) else models

    def from_dict(self, form: Mapping[str, Any], data: Observations) -> Models:
        """The models that `Models.to_dict` described, and the observations that they were learned from.

        Raises ValueError if no fit of these observations can have given the form.
        """
        return Models(Surrogate.from_dict(form, self.specification, self.kernel, data, settings=self.settings))
