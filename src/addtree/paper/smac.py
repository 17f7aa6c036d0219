"""The `smac` baseline: SMAC3 (random forest, its HPO facade) over a ConfigSpace with conditions."""

from __future__ import annotations

import logging
import tempfile
import warnings
from typing import Any

from addtree.space.space import Config, Space


class Smac:
    """SMAC3 asked one trial at a time."""

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        from smac import HyperparameterOptimizationFacade, Scenario

        from addtree.configspace import to_configspace

        cs = to_configspace(space)
        cs.seed(seed)
        self._space = space
        self._folder = tempfile.TemporaryDirectory(prefix="addtree-smac-")
        scenario = Scenario(
            cs,
            deterministic=True,
            n_trials=budget,
            seed=seed,
            output_directory=self._folder.name,
        )
        self._smac = HyperparameterOptimizationFacade(
            scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=logging.ERROR
        )
        self._info: Any = None

    def ask(self) -> dict[str, Any]:
        """SMAC's next suggestion."""
        with warnings.catch_warnings():  # SMAC averages over its intensifier's empty lists
            warnings.simplefilter("ignore", RuntimeWarning)
            self._info = self._smac.ask()
        return self._space.validate(dict(self._info.config))

    def tell(self, config: Config, value: float) -> None:
        """The value of what was asked."""
        from smac.runhistory.dataclasses import TrialValue

        self._smac.tell(self._info, TrialValue(cost=value))
