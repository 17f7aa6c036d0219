"""SMAC3's random-forest facade over a ConfigSpace with conditions."""

from __future__ import annotations

import logging
import tempfile
import warnings
from pathlib import Path
from typing import Any

import ConfigSpace
from smac import HyperparameterOptimizationFacade, Scenario
from smac.runhistory.dataclasses import TrialValue

from addtree import Categorical, Choice, Integer, Space
from addtree.parameters import Parameter
from benchmarks.peers import Config

BUDGET = 10_000  # more than any run asks for: the runner stops, not SMAC
INITIAL = 10  # as many initial points as the other peers take; SMAC's own default depends on the budget


class Smac:
    """Ask and tell. Labels travel as their positions, which ConfigSpace accepts of any type."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scenario = Scenario(
                configspace(space, seed),
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
        return self._space.validate(_values(self._space, dict(self._info.config)))

    def tell(self, config: Config, value: float) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._smac.tell(self._info, TrialValue(cost=value))


def configspace(space: Space, seed: int) -> Any:
    """A variable that stands at several places becomes one hyperparameter with an OR of the conditions."""
    out = ConfigSpace.ConfigurationSpace(seed=seed)
    made = {name: _hyperparameter(name, domain) for name, domain in space.variables.items()}
    out.add(list(made.values()))
    for name, ways in space.conditions.items():
        # The last choice on the way is enough: it is itself active only where the others have led to it.
        options: dict[str, list[int]] = {}
        for location in ways:
            if location:
                choice, option = location[-1]
                options.setdefault(choice, []).append(option)
        parts = [ConfigSpace.InCondition(made[name], made[choice], values) for choice, values in options.items()]
        if parts:
            out.add(parts[0] if len(parts) == 1 else ConfigSpace.OrConjunction(*parts))
    return out


def _hyperparameter(name: str, domain: Parameter | Choice) -> Any:
    if isinstance(domain, Choice):
        return ConfigSpace.CategoricalHyperparameter(name, list(range(len(domain.labels))))
    if isinstance(domain, Categorical):
        return ConfigSpace.CategoricalHyperparameter(name, list(range(len(domain.values))))
    if isinstance(domain, Integer):
        return ConfigSpace.UniformIntegerHyperparameter(name, domain.low, domain.high, log=domain.log)
    return ConfigSpace.UniformFloatHyperparameter(name, domain.low, domain.high, log=domain.log)


def _values(space: Space, raw: Config) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in raw.items():
        domain = space.variables[name]
        out[name] = domain.decode(int(value)) if isinstance(domain, Categorical | Choice) else value
    return out
