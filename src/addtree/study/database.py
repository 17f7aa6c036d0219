"""A database of Optuna that survives damaged trials and reads large studies in batches."""

from __future__ import annotations

import contextlib
import functools
import gc
import logging
import math
from collections.abc import Container, Iterator
from types import SimpleNamespace
from typing import Any

import optuna
import sqlalchemy
from optuna.distributions import CategoricalDistribution, json_to_distribution
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.trials import LOST
from addtree.support.numbers import is_number

_log = logging.getLogger(__name__)

# Number of trials that are read at once. Optuna's objects for the rows of a trial take more memory than the trial. With
# 10,000 trials, a process takes 70 MB less than if all are read at once (`python -m benchmarks.workers large`).
_BATCH_SIZE = 100

_CACHE_SIZE = 1024  # Distributions that are remembered. Most studies have one for each parameter.
_parse = functools.lru_cache(maxsize=_CACHE_SIZE)(json_to_distribution)  # trials share their distributions

# What Optuna reads of the rows of a trial, apart from the parameters.
_COLUMNS = (
    *("number", "state", "values", "datetime_start", "datetime_complete", "user_attributes", "system_attributes"),
    *("intermediate_values", "trial_id"),
)


class Database(RDBStorage):
    """A database in which a damaged trial costs only itself: it counts as lost, and its rows stay as they are."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        try:
            super().__init__(*arguments, **settings)
        except BaseException:
            if hasattr(self, "engine"):  # The database was reached, but not as expected: close the connections.
                self.engine.dispose()
            raise

    def _get_trials(
        self,
        study_id: int,
        states: Container[TrialState] | None,
        included_trial_ids: set[int],
        trial_id_greater_than: int,
    ) -> list[FrozenTrial]:
        if trial_id_greater_than > -1:  # The others are known already, so that there are few.
            return super()._get_trials(study_id, states, included_trial_ids, trial_id_greater_than)
        with self.engine.connect() as connection:
            query = sqlalchemy.text("SELECT trial_id FROM trials WHERE study_id = :study ORDER BY trial_id")
            ids = connection.execute(query, {"study": study_id}).scalars().all()
        found: dict[int, FrozenTrial] = {}
        with _without_collection():
            for start in range(0, max(len(ids), 1), _BATCH_SIZE):
                # Trials that were created since then come with every batch.
                batch = set(ids[start : start + _BATCH_SIZE])
                trials = super()._get_trials(study_id, states, batch, max(ids, default=-1))
                found.update((trial._trial_id, trial) for trial in trials)
        return [found[trial_id] for trial_id in sorted(found)]

    def _build_frozen_trial_from_trial_model(self, trial: Any) -> FrozenTrial:
        try:
            built = self._build(trial)
            _check(built)
        except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
            _log.error("trial %s is damaged and left out: %s: %s", trial.number, type(error).__name__, error)
            lost = optuna.create_trial(state=TrialState.FAIL, system_attrs={LOST: True})
            lost.number, lost._trial_id = trial.number, trial.trial_id
            return lost
        return built

    def _build(self, trial: Any) -> FrozenTrial:
        """The trial of these rows. Optuna would parse the distribution of every parameter of every trial twice."""
        without_params: Any = SimpleNamespace(params=(), **{column: getattr(trial, column) for column in _COLUMNS})
        built = super()._build_frozen_trial_from_trial_model(without_params)
        params = sorted(trial.params, key=lambda param: param.param_id)
        domains = {param.param_name: _parse(param.distribution_json) for param in params}
        built.distributions = domains
        built.params = {p.param_name: domains[p.param_name].to_external_repr(p.param_value) for p in params}
        return built


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Pause the garbage collector, which would search all trials for cycles again and again while they are read."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _check(trial: FrozenTrial) -> None:
    """Raise a TypeError if something that must be a number or a name is not one, or is missing."""
    for key in (*trial.user_attrs, *trial.system_attrs):
        if not isinstance(key, str):
            raise TypeError(f"{key!r} is not the name of an attribute")
    if not isinstance(trial.number, int) or (trial.state == TrialState.COMPLETE and not trial.values):
        raise TypeError(f"number {trial.number!r}, values {trial.values!r}")
    domains = trial.distributions.items()
    numeric = [name for name, domain in domains if not isinstance(domain, CategoricalDistribution)]
    for value in (*(trial.values or ()), *(trial.params[name] for name in numeric)):
        if not is_number(value) or math.isnan(value):
            raise TypeError(f"{value!r} is not a number")
