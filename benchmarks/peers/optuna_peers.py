"""Optuna's samplers: define-by-run, and the GP sampler over the flattened space."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import optuna

from addtree import Space
from addtree._types import Config
from addtree.paper.baselines.flat import active_part
from addtree.study.task import suggest_config, suggest_parameter

optuna.logging.set_verbosity(optuna.logging.ERROR)


Program: TypeAlias = Callable[[optuna.Trial], dict[str, Any]]


class Study:
    """One in-memory study.

    program  the objective's code up to the configuration; None suggests the parameters of the space as they open
    flat     suggests every parameter of the tree, and drops the inactive ones
    """

    def __init__(
        self,
        space: Space,
        sampler: optuna.samplers.BaseSampler,
        program: Program | None = None,
        *,
        flat: bool = False,
    ) -> None:
        self._space, self._program, self._flat = space, program, flat
        self._study = optuna.create_study(sampler=sampler)
        self._trial: Any = None

    def enqueue(self, config: Config) -> None:
        """Evaluate a configuration before the sampler is asked."""
        self._study.enqueue_trial(dict(config))

    def ask(self) -> dict[str, Any]:
        self._trial = self._study.ask()
        if self._program is not None:
            return self._program(self._trial)
        if not self._flat:
            return suggest_config(self._trial, self._space)
        full = {name: suggest_parameter(self._trial, name, domain) for name, domain in self._space.variables.items()}
        return active_part(self._space, full)

    def tell(self, config: Config, value: float) -> None:
        failed = math.isnan(value)
        state = optuna.trial.TrialState.FAIL if failed else optuna.trial.TrialState.COMPLETE
        self._study.tell(self._trial, None if failed else value, state=state)


def addtree(space: Space, seed: int, program: Program | None = None) -> Study:
    """addtree's sampler without a declared space."""
    from addtree.optuna import AddTreeSampler  # it needs a newer Optuna than some of the peers

    return Study(space, AddTreeSampler(seed=seed), program)


def tpe(space: Space, seed: int, program: Program | None = None) -> Study:
    """TPE with its defaults."""
    return Study(space, make_sampler("TPESampler", seed=seed), program)


def tpe_group(space: Space, seed: int, program: Program | None = None) -> Study:
    """Multivariate TPE over groups, which Optuna recommends for conditional spaces."""
    return Study(
        space, make_sampler("TPESampler", seed=seed, multivariate=True, group=True, constant_liar=False), program
    )


def tpe_union(space: Space, seed: int) -> Study:
    """OptunaHub's multivariate TPE over the union of all parameters; it refuses dynamic ranges."""
    from tpe_union_multivariate import TPEUnionMultivariateSampler

    return Study(space, TPEUnionMultivariateSampler(seed=seed))


def tpe_hierarchical(space: Space, seed: int, program: Program | None = None) -> Study:
    """OptunaHub's hierarchical TPE, which infers the hierarchy of the groups."""
    from hierarchical_tpe import HierarchicalTPESampler

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return Study(space, HierarchicalTPESampler(seed=seed), program)


def tpe_meta(space: Space, seed: int, history: Sequence[Sequence[tuple[Config, float]]]) -> Study:
    """OptunaHub's meta-learned TPE with earlier studies; it learns only about parameters that are always active."""
    from meta_learn_tpe import MetaLearnTPESampler

    earlier = [tpe(space, seed) for _ in history]
    for study, pairs in zip(earlier, history, strict=True):
        for config, value in pairs:
            study.enqueue(config)
            study.tell(study.ask(), value)
    return Study(space, MetaLearnTPESampler(source_studies=[study._study for study in earlier], seed=seed))


def gp(space: Space, seed: int, program: Program | None = None) -> Study:
    """The GP sampler as a user meets it; it draws conditional parameters at random."""
    return Study(space, make_sampler("GPSampler", seed=seed), program)


def gp_flat(space: Space, seed: int) -> Study:
    """The GP sampler if the user flattens the space by hand."""
    return Study(space, make_sampler("GPSampler", seed=seed), flat=True)


def make_sampler(name: str, **options: Any) -> optuna.samplers.BaseSampler:
    """A sampler of Optuna by its name, without warnings that it is experimental or deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        warnings.simplefilter("ignore", FutureWarning)  # Optuna 5 deprecates constraints_func.
        sampler: optuna.samplers.BaseSampler = getattr(optuna.samplers, name)(**options)
        return sampler
