"""The `smac` baseline: SMAC3 (random forest, its HPO facade) over a ConfigSpace with conditions."""

from __future__ import annotations

import logging
import tempfile
from typing import Any

from addtree.parameters import Categorical, Integer, Real
from addtree.space import Choice, Config, Space


class Smac:
    """SMAC3 asked one trial at a time."""

    def __init__(self, space: Space, seed: int, budget: int) -> None:
        from smac import HyperparameterOptimizationFacade, Scenario

        self._space = space
        self._folder = tempfile.TemporaryDirectory(prefix="addtree-smac-")
        scenario = Scenario(
            config_space(space, seed),
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
        self._info = self._smac.ask()
        found = dict(self._info.config)
        config: dict[str, Any] = {}
        for name, value in found.items():
            domain = self._space.variables[name]
            config[name] = domain.decode(int(value)) if isinstance(domain, (Choice, Categorical)) else value
        return self._space.validate(config)

    def tell(self, config: Config, value: float) -> None:
        """The value of what was asked."""
        from smac.runhistory.dataclasses import TrialValue

        self._smac.tell(self._info, TrialValue(cost=value))


def config_space(space: Space, seed: int) -> Any:
    """The space in ConfigSpace's terms: categories by position, a condition for all that is not at the root."""
    import ConfigSpace

    cs = ConfigSpace.ConfigurationSpace(seed=seed)
    for name, domain in space.variables.items():
        if isinstance(domain, Real):
            cs.add(ConfigSpace.Float(name, (domain.low, domain.high), log=domain.log))
        elif isinstance(domain, Integer):
            cs.add(ConfigSpace.Integer(name, (domain.low, domain.high), log=domain.log))
        else:
            labels = domain.labels if isinstance(domain, Choice) else domain.values
            cs.add(ConfigSpace.Categorical(name, [str(i) for i in range(len(labels))]))
    for name, condition in space.conditions.items():
        if condition == ((),):
            continue
        parents: dict[str, list[str]] = {}
        for location in condition:  # its last step decides; those before it are the parent's own condition
            parents.setdefault(location[-1][0], []).append(str(location[-1][1]))
        clauses = [ConfigSpace.InCondition(cs[name], cs[parent], options) for parent, options in parents.items()]
        cs.add(clauses[0] if len(clauses) == 1 else ConfigSpace.OrConjunction(*clauses))
    return cs
