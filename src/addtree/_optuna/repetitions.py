"""Whether a suggestion repeats a trial although the optimizer does not know.

The optimizer knows configurations. The code may get the values of another trial with another configuration: it does not
ask for all parameters, and positions in a dynamic range stand for a value that depends on others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.codec import Translation
from addtree._optuna.ranges import decodes_to, moved_position, suggested_position


class Repetitions:
    """What the told trials show about repetitions.

    ended_early  the failed or pruned trials that lack parameters of the space
    """

    def __init__(self, *, is_noisy: bool) -> None:
        self.ended_early: list[FrozenTrial] = []
        self._is_noisy = is_noisy
        self._has_pruned = False  # Whether a pruned trial was told, and noise was not declared.
        # Of the complete trials that lack parameters which the space has for them: the values by the parameters, and
        # the configurations.
        self._values: dict[frozenset[tuple[str, float]], set[tuple[float, ...]]] = {}
        self._configs: set[frozenset[tuple[str, Any]]] = set()
        self._differ = is_noisy  # Whether two of them have the same parameters and different values.
        self._agree = False  # Whether two of them have the same parameters and values.

    def add(self, trial: FrozenTrial, config: Mapping[str, Any], translation: Translation) -> None:
        """Record a trial with its configuration."""
        self._has_pruned |= trial.state == TrialState.PRUNED and not self._is_noisy
        if has_ended_early(trial) and not config.keys() <= trial.params.keys():
            self.ended_early.append(trial)
        missing = translation.optional & config.keys() - trial.params.keys()
        if missing and trial.state == TrialState.COMPLETE:
            codes = {name: d.to_internal_repr(trial.params[name]) for name, d in trial.distributions.items()}
            earlier, values = self._values.setdefault(frozenset(codes.items()), set()), tuple(trial.values)
            self._differ |= bool(earlier - {values})
            self._agree |= values in earlier
            earlier.add(values)
            self._configs.add(frozenset(config.items()))

    def may_be_unknown(self, config: Mapping[str, Any], translation: Translation) -> bool:
        """Whether the optimizer may repeat a trial for another reason than noise or an exhausted space.

        It does not know the dynamic ranges, nor that the code does not ask for all parameters. It also takes
        differences for noise that come from the steps at which trials were pruned.
        """
        if self._has_pruned or not translation.opened.keys().isdisjoint(config):
            return True
        if not self._values or self._differ:
            return False
        return self._agree or frozenset(config.items()) not in self._configs


def is_repeated(trial: FrozenTrial, params: Mapping[str, Any], translation: Translation) -> bool:
    """Whether a trial has these parameters. A complete trial may lack those that are optional.

    A trial that ended early may lack all that it did not ask for: the code would end at the same place again. Where all
    else agrees, the ranges are those of the trial. So a position agrees with the value that it stands for there, and
    anything with the only value of a range. A value outside of a dynamic range moves into it, and the trial may lack
    what that value opens.
    """
    moved = _moved_positions(trial, params, translation)
    for name, value in params.items():
        position = moved.get(name, suggested_position(value))
        if name not in trial.params:
            agrees = may_lack(trial, name, translation, moved)
        elif position is None:
            agrees = bool(trial.params[name] == value) or trial.distributions[name].single()
        else:
            agrees = decodes_to(trial.distributions[name], position, trial.params[name])
        if not agrees:
            return False
    return not translation.space.variables.keys() & trial.params.keys() - params.keys()


def _moved_positions(trial: FrozenTrial, params: Mapping[str, Any], translation: Translation) -> dict[str, float]:
    """The positions that suggested values would get because they lie outside of the dynamic ranges of a trial."""
    before = translation.distributions
    positions = {
        name: moved_position(before.get(name), trial.distributions[name], params[name])
        for name in translation.opened.keys() & params.keys() & trial.params.keys()
    }
    return {name: position for name, position in positions.items() if position is not None}


def may_lack(trial: FrozenTrial, name: str, translation: Translation, moved: Collection[str]) -> bool:
    """Whether a trial may be the same with a parameter that its code did not ask for.

    moved  the parameters whose suggested values the ranges of the trial do not hold
    """
    if has_ended_early(trial):
        return True
    unexplained = name in translation.optional or any(name in translation.opened[key] for key in moved)
    return trial.state == TrialState.COMPLETE and unexplained


def has_ended_early(trial: FrozenTrial) -> bool:
    """Whether a trial failed or was pruned, so that its code may not have asked for all parameters."""
    return trial.state in (TrialState.FAIL, TrialState.PRUNED)
