"""Which trial of a study evaluates which initial configuration.

Workers share nothing but the storage. A trial that takes an initial configuration carries its key there, so that no
other trial takes it, in this run or in a later one. Of the trials that have not decided yet, those with smaller numbers
come first: each is assumed to take the next configuration of the list. Two workers that start at the same moment
therefore take two different ones.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.trials import LOST, fixed_params, published
from addtree.errors import ConfigError
from addtree.space.restriction import check_initial, read_initial
from addtree.space.space import Space

_TAKEN = "addtree:initial"  # System attribute of a trial: the key of the initial configuration that it evaluates.


def read_initial_configs(space: Space | None, initial: Any) -> tuple[dict[str, Any], ...]:
    """The initial configurations as plain dicts, or an error that names the entry that is wrong.

    Without a space, only their form can be checked.
    """
    if space is not None:
        return tuple(dict(restriction.values) for restriction in read_initial(space.encoding, initial))
    for number, config in enumerate(check_initial(initial)):
        if not isinstance(config, Mapping) or not all(isinstance(name, str) for name in config):
            raise ConfigError(f"initial[{number}]: a configuration is a mapping of names to values, got {config!r}")
    return tuple(map(dict, initial))


class InitialConfigs:
    """The initial configurations of a study, in order."""

    def __init__(self, configs: Sequence[Mapping[str, Any]]) -> None:
        self._configs = _with_keys(configs)
        self._exhausted = not configs

    def take(
        self, study: Study, trial: FrozenTrial, suggested: Callable[[FrozenTrial], dict[str, Any]] = published
    ) -> dict[str, Any]:
        """The initial configuration that a trial evaluates; empty if it evaluates none.

        A configuration that another trial has already is skipped. Trials that the user enqueued evaluate their own.

        suggested  returns the parameters that were suggested for another trial
        """
        if self._exhausted or fixed_params(trial):
            return {}
        left, n_undecided = dict(self._configs), 0
        for other in study._storage.get_all_trials(study._study_id, deepcopy=False):
            key = other.system_attrs.get(_TAKEN)
            if other.number == trial.number:
                if key is not None:
                    return dict(self._configs.get(key, {}))
                continue
            if key is not None and not _is_released(other):
                left.pop(key, None)
                continue
            known = {} if other.state == TrialState.COMPLETE else {**fixed_params(other), **suggested(other)}
            params = {**known, **other.params}
            left = {key: config for key, config in left.items() if config != params}
            n_undecided += other.number < trial.number and not (params or other.state.is_finished())
        self._exhausted = not left
        if n_undecided >= len(left):
            return {}
        key, config = list(left.items())[n_undecided]
        study._storage.set_trial_system_attr(trial._trial_id, _TAKEN, key)
        return dict(config)


def _is_released(trial: FrozenTrial) -> bool:
    """Whether a trial lost its worker before its suggestion was known, so that no other trial will evaluate it."""
    return bool(trial.system_attrs.get(LOST)) and not published(trial)


def _with_keys(configs: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The configurations by keys that depend on their contents, so that a list may grow between two runs."""
    found: dict[str, Mapping[str, Any]] = {}
    occurrences: Counter[str] = Counter()
    for config in configs:
        digest = hashlib.sha256(repr(sorted(config.items())).encode()).hexdigest()[:16]
        found[f"{digest}:{occurrences[digest]}"] = config
        occurrences[digest] += 1
    return found
