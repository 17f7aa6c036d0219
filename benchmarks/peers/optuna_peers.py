"""Optuna's samplers: define-by-run, and the GP sampler over the flattened space."""

from __future__ import annotations

import math
import warnings
from typing import Any

import optuna

from addtree import Space
from addtree._types import Config
from addtree.optuna import AddTreeSampler
from addtree.paper.baselines.flat import active_part
from addtree.study.task import suggest_config, suggest_parameter

optuna.logging.set_verbosity(optuna.logging.ERROR)


class Study:
    """One in-memory study. If `flat`, every parameter of the tree is suggested, and the inactive ones are dropped."""

    def __init__(self, space: Space, sampler: optuna.samplers.BaseSampler, *, flat: bool = False) -> None:
        self._space, self._flat = space, flat
        self._study = optuna.create_study(sampler=sampler)
        self._trial: Any = None

    def enqueue(self, config: Config) -> None:
        """Evaluate a configuration before the sampler is asked."""
        self._study.enqueue_trial(dict(config))

    def ask(self) -> dict[str, Any]:
        self._trial = self._study.ask()
        if not self._flat:
            return suggest_config(self._trial, self._space)
        full = {name: suggest_parameter(self._trial, name, domain) for name, domain in self._space.variables.items()}
        return active_part(self._space, full)

    def tell(self, config: Config, value: float) -> None:
        failed = math.isnan(value)
        state = optuna.trial.TrialState.FAIL if failed else optuna.trial.TrialState.COMPLETE
        self._study.tell(self._trial, None if failed else value, state=state)


def tpe(space: Space, seed: int) -> Study:
    """TPE with its defaults."""
    return Study(space, make_sampler("TPESampler", seed=seed))


def tpe_group(space: Space, seed: int) -> Study:
    """Multivariate TPE over groups, which Optuna recommends for conditional spaces."""
    return Study(space, make_sampler("TPESampler", seed=seed, multivariate=True, group=True, constant_liar=False))


def gp(space: Space, seed: int) -> Study:
    """The GP sampler as a user meets it; it draws conditional parameters at random."""
    return Study(space, make_sampler("GPSampler", seed=seed))


def gp_flat(space: Space, seed: int) -> Study:
    """The GP sampler if the user flattens the space by hand."""
    return Study(space, make_sampler("GPSampler", seed=seed), flat=True)


def addtree_define_by_run(space: Space, seed: int) -> Study:
    """AddTreeSampler as a user meets it: it is not told the space."""
    return Study(space, AddTreeSampler(seed=seed))


def make_sampler(name: str, **options: Any) -> optuna.samplers.BaseSampler:
    """A sampler of Optuna by its name, without warnings that it is experimental or deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        warnings.simplefilter("ignore", FutureWarning)  # Optuna 5 deprecates constraints_func.
        sampler: optuna.samplers.BaseSampler = getattr(optuna.samplers, name)(**options)
        return sampler
