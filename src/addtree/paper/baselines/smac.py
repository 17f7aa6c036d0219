"""SMAC3: a random forest and expected improvement, over a ConfigSpace with conditions."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from addtree._types import Config
from addtree.space.parameters import Integer, Real
from addtree.space.space import Space


class Smac:
    """SMAC3's facade for hyperparameter optimization, asked for one trial at a time.

    budget     the number of evaluations that SMAC is told to expect
    n_initial  the number of initial points; None leaves it to SMAC, whose default depends on the budget
    initial    configurations to begin with, instead of initial points
    """

    def __init__(
        self, space: Space, seed: int, *, budget: int, n_initial: int | None = None, initial: Sequence[Config] = ()
    ) -> None:
        from ConfigSpace import Configuration
        from smac import HyperparameterOptimizationFacade, Scenario

        from addtree.configspace import to_configspace

        self._space = space
        ranges = {name: domain for name, domain in space.variables.items() if isinstance(domain, (Real, Integer))}
        self._bounds = {name: (domain.low, domain.high) for name, domain in ranges.items() if domain.low < domain.high}
        self._folder = tempfile.TemporaryDirectory(prefix="addtree-smac-", ignore_cleanup_errors=True)
        cs = to_configspace(space)
        cs.seed(seed)
        logging.getLogger("smac").setLevel(logging.ERROR)
        with _without_warnings():
            scenario = Scenario(
                cs,
                deterministic=True,
                n_trials=budget,
                seed=seed,
                output_directory=Path(self._folder.name),
            )
            design = None
            if initial:
                known: dict[str, Any] = dict(cs)
                numbers = [name for name in self._bounds if hasattr(known[name], "lower")]  # not those with a step
                rounded = {name: (known[name].lower, known[name].upper) for name in numbers}
                given = [Configuration(cs, values=_clipped(config, rounded)) for config in initial]
                design = HyperparameterOptimizationFacade.get_initial_design(
                    scenario, n_configs=0, additional_configs=given
                )
            elif n_initial is not None:
                design = HyperparameterOptimizationFacade.get_initial_design(scenario, n_configs=n_initial)
            self._smac = HyperparameterOptimizationFacade(
                scenario,
                _never_called,
                initial_design=design,
                logging_level=False,  # otherwise SMAC would set the level and the handlers of the root logger
                overwrite=True,
            )
        self._info: Any = None

    def ask(self) -> dict[str, Any]:
        """SMAC's next suggestion."""
        with _without_warnings():
            self._info = self._smac.ask()
        return self._space.validate(_clipped(self._info.config, self._bounds))

    def tell(self, config: Config, value: float) -> None:
        """The value of the configuration that was just asked for."""
        from smac.runhistory.dataclasses import TrialValue

        with _without_warnings():
            self._smac.tell(self._info, TrialValue(cost=value))


def _clipped(config: Mapping[str, Any], bounds: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """The configuration with its numbers inside their bounds, which ConfigSpace rounds."""
    return {
        name: min(max(value, bounds[name][0]), bounds[name][1]) if name in bounds else value
        for name, value in config.items()
    }


def _never_called(config: Any, seed: int = 0) -> float:
    """The facade wants a target function even where it is only asked and told."""
    raise AssertionError("this objective is never called")


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Hide the warnings of SMAC and its dependencies, such as the mean of an empty list in its intensifier."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
