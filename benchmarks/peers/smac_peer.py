"""SMAC3's random-forest facade over a ConfigSpace with conditions."""

from __future__ import annotations

import logging
import tempfile
import warnings
from pathlib import Path
from typing import Any

from smac import HyperparameterOptimizationFacade, Scenario
from smac.runhistory.dataclasses import TrialValue

from addtree import Space
from addtree.configspace import to_configspace
from benchmarks.peers import Config

BUDGET = 10_000  # more than any run asks for: the runner stops, not SMAC
INITIAL = 10  # as many initial points as the other peers take; SMAC's own default depends on the budget


class Smac:
    """Ask and tell."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cs = to_configspace(space)
        cs.seed(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scenario = Scenario(
                cs,
                deterministic=True,
                n_trials=BUDGET,
                seed=seed,
                output_directory=Path(self._folder.name),
            )
            self._smac = HyperparameterOptimizationFacade(
                scenario,
                lambda config, seed=0: 0.0,
                initial_design=HyperparameterOptimizationFacade.get_initial_design(scenario, n_configs=INITIAL),
                logging_level=logging.ERROR,
                overwrite=True,
            )
        self._info: Any = None

    def ask(self) -> Config:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._info = self._smac.ask()
        return self._space.validate(dict(self._info.config))

    def tell(self, config: Config, value: float) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._smac.tell(self._info, TrialValue(cost=value))
