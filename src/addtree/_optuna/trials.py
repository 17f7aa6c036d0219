"""Reading an Optuna study: which trials are new, what they are worth, and what was suggested for them."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from optuna.samplers import PartialFixedSampler
from optuna.storages import InMemoryStorage
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.ranges import decodes_to, suggested_position
from addtree.errors import OptionError, TrialError
from addtree.run.goals import checked_std
from addtree.support.numbers import MAX_EXACT, MAX_SIZE, as_float, is_whole, plural

LOST = "addtree:lost"
"""System attribute of a failed trial whose worker died. Such a trial says nothing about its configuration."""

STD = "addtree:std"
"""User attribute of a trial: the standard error of its value, if that is known; with several values, a list."""

PIECE_LENGTH = 2045
"""Every storage can hold this number of characters in one attribute."""

_SUGGESTED = "addtree:suggested"  # System attributes with this prefix hold the parameters suggested for a trial.


# ---------------------------------------------------------------------- what was suggested


def publish(study: Study, trial: FrozenTrial, params: dict[str, Any]) -> None:
    """Write a suggestion to the storage, so that other workers see it before the objective asks for all of it.

    A category that JSON cannot hold is not published: other workers see it as soon as the objective asks for it.
    """
    try:
        attrs = suggestion_attrs(params)
    except TypeError:
        return
    for key, piece in attrs.items():
        study._storage.set_trial_system_attr(trial._trial_id, key, piece)


def suggestion_attrs(params: Mapping[str, Any]) -> dict[str, str]:
    """The system attributes that `published` reads, or a TypeError for what JSON cannot hold."""
    text = json.dumps(params, separators=(",", ":"))
    starts = range(0, len(text), PIECE_LENGTH)
    return {f"{_SUGGESTED}:{i}": text[start : start + PIECE_LENGTH] for i, start in enumerate(starts)}


def published(trial: FrozenTrial) -> dict[str, Any]:
    """The parameters suggested for a trial, whether or not its objective has asked for them yet."""
    pieces: list[str] = []
    while (piece := trial.system_attrs.get(f"{_SUGGESTED}:{len(pieces)}")) is not None:
        pieces.append(piece)
    try:
        found: dict[str, Any] = json.loads("".join(pieces)) if pieces else {}
    except ValueError:  # Another worker has not written all pieces yet.
        return {}
    return found


def _inexact(params: dict[str, Any]) -> dict[str, Any]:
    """The suggested parameters that cannot be read back from a finished trial: positions and large whole numbers."""
    return {
        name: value
        for name, value in params.items()
        if suggested_position(value) is not None or (is_whole(value) and abs(value) > MAX_EXACT)
    }


def fixed_params(trial: FrozenTrial) -> dict[str, Any]:
    """The parameters that the user gave to `study.enqueue_trial`."""
    found: dict[str, Any] = trial.system_attrs.get("fixed_params", {})
    return found


def fixed_by_wrapper(study: Study) -> dict[str, Any]:
    """The parameters that a `PartialFixedSampler` around the study's sampler fixes wherever they are active."""
    found: dict[str, Any] = {}
    sampler = study.sampler
    while isinstance(sampler, PartialFixedSampler):
        found = {**sampler._fixed_params, **found}
        sampler = sampler._base_sampler
    return found


# ---------------------------------------------------------------------- what a trial is worth


def exact_params(trial: FrozenTrial) -> dict[str, Any]:
    """The parameters of a trial.

    Optuna stores whole numbers as floats. Where it rounded a number that the sampler suggested, that number counts.
    """
    large = {name: value for name, value in trial.params.items() if isinstance(value, int) and abs(value) > MAX_EXACT}
    suggested = published(trial) if large else {}
    known = {name: number for name in large if is_whole(number := suggested.get(name))}
    return {**trial.params, **{name: number for name, number in known.items() if as_float(number) == large[name]}}


def suggested_positions(trial: FrozenTrial, names: Collection[str]) -> dict[str, Any]:
    """The suggestions that were positions, of those named parameters whose values they became.

    A value does not tell which of the positions that decode to it was suggested, and the model must not take the same
    point for a new one.
    """
    found: dict[str, Any] = {}
    suggested = published(trial) if names else {}
    for name in names:
        position, d = suggested_position(suggested.get(name)), trial.distributions[name]
        if position is not None and decodes_to(d, position, trial.params[name]):
            found[name] = suggested[name]
    return found


def is_informative(trial: FrozenTrial) -> bool:
    """Whether a finished trial says something about its configuration."""
    return bool(trial.params) and not trial.system_attrs.get(LOST)


def objective_values(trial: FrozenTrial) -> list[float] | None:
    """The values of a complete trial, or the last intermediate value of a pruned one; None if one is not finite."""
    values: list[float] = []
    if trial.state == TrialState.COMPLETE:
        values = list(trial.values)
    elif trial.state == TrialState.PRUNED and trial.intermediate_values:
        values = [trial.intermediate_values[max(trial.intermediate_values)]]
    return values if values and all(map(math.isfinite, values)) else None


def standard_errors(trial: FrozenTrial, n: int) -> list[float | None]:
    """The standard errors of a trial's n values, or a TrialError if the trial has some that are impossible."""
    given = trial.user_attrs.get(STD)
    try:
        if n == 1 or given is None:
            return [checked_std(given)] * n
        if not isinstance(given, (list, tuple)) or len(given) != n:
            raise TrialError(f"std={given!r} must be a list with the standard errors of {n} values")
        return [checked_std(std) for std in given]
    except TrialError as error:
        raise TrialError(f"user attribute {STD!r} of trial {trial.number}: {error}") from None


def seconds(trial: FrozenTrial) -> float | None:
    """How long a finished trial took; None if that is not known. Trials that were added by hand may take no time."""
    return trial.duration.total_seconds() or None if trial.duration is not None else None


def is_feasible(trial: FrozenTrial) -> bool:
    """Whether a trial violates no constraint."""
    return all(constraint <= 0 for constraint in trial.constraints.values())


@dataclass(frozen=True)
class StudyGoals:
    """What a study looks for, in the words of `Optimizer`.

    maximize     for each objective, whether it is maximised
    constraints  the names of the constraints that trials have shown; each must be at most zero
    names        the names of the objectives; None if they have none
    """

    maximize: tuple[bool, ...]
    constraints: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, study: Study) -> StudyGoals:
        """The objectives of a study, without constraints."""
        names = getattr(study, "metric_names", None)  # Optuna's HyperbandPruner hides this attribute from samplers.
        maximize = tuple(direction == StudyDirection.MAXIMIZE for direction in study.directions)
        return cls(maximize, names=None if names is None else tuple(names))

    @property
    def is_single(self) -> bool:
        """Whether a trial has one value and no constraint."""
        return len(self.maximize) == 1 and not self.constraints

    def including(self, trials: Sequence[FrozenTrial]) -> StudyGoals:
        """The same with the constraints of further trials. They are sorted, so that all workers agree."""
        shown = {name for trial in trials if objective_values(trial) is not None for name in trial.constraints}
        return replace(self, constraints=tuple(sorted({*self.constraints, *shown})))

    def declared(self, noise: Any) -> Mapping[int, float | None]:
        """Declared noise by the numbers of the objectives."""
        return noise if isinstance(noise, Mapping) else {0: noise}

    def options(self, noise: Any, reference_point: Sequence[float] | None = None) -> dict[str, Any]:
        """The arguments of an `Optimizer`. Declared noise is that of the only objective, or a dict by number.

        A reference point has a number for each objective.
        """
        declared = self.declared(noise)
        is_ambiguous = not isinstance(noise, Mapping) and noise is not None and len(self.maximize) > 1
        if is_ambiguous or not declared.keys() <= set(range(len(self.maximize))):
            raise OptionError(
                f"noise={noise!r} must give standard deviations by the numbers of the {len(self.maximize)} objectives, "
                "such as {0: 0.1}"
            )
        if reference_point is not None and not 1 < len(self.maximize) == len(reference_point):
            raise OptionError(
                f"reference_point={list(reference_point)!r} must have a number for each of several objectives, and the "
                f"study has {plural(len(self.maximize), 'objective')}; correct it or leave it out"
            )
        if self.is_single:
            return {"maximize": self.maximize[0], "noise": declared.get(0)}
        options: dict[str, Any] = {
            "objectives": {_objective(k): "max" if maximize else "min" for k, maximize in enumerate(self.maximize)},
            "constraints": {_constraint(name): 0.0 for name in self.constraints},
            "noise": {_objective(k): std for k, std in declared.items()},
        }
        if reference_point is not None:
            options["reference_point"] = {_objective(k): limit for k, limit in enumerate(reference_point)}
        return options

    def told(self, trial: FrozenTrial, least: Mapping[str, float]) -> float | dict[str, float] | None:
        """What the optimizer is told about a trial; None for a failure.

        A trial that lacks a constraint keeps it as well as the best trial so far, whose constraint is in `least`.
        """
        values = objective_values(trial)
        if values is None or self.is_single:
            return None if values is None else values[0]
        found = {_objective(k): value for k, value in enumerate(values)}
        for name in self.constraints:
            best = least.get(name, 0.0)
            constraint = trial.constraints.get(name, best)
            found[_constraint(name)] = min(constraint, MAX_SIZE) if constraint > -math.inf else best
        return found

    def stds(self, trial: FrozenTrial) -> float | dict[str, float | None] | None:
        """The standard errors that the optimizer is told with the values of a trial, or a TrialError."""
        errors = standard_errors(trial, len(self.maximize))
        return errors[0] if self.is_single else {_objective(k): std for k, std in enumerate(errors)}


def _objective(number: int) -> str:
    return f"objective {number}"


def _constraint(name: str) -> str:
    return f"constraint {name}"


# ---------------------------------------------------------------------- what is new


def _retries_of(trial: FrozenTrial) -> Sequence[int]:
    """The trials whose worker died, of which this one is a retry by Optuna's `RetryHeartbeatStaleTrialCallback`."""
    found: Sequence[int] = trial.system_attrs.get("retry_history", ())
    return found


class TrialHistory:
    """The trials of one study. Each call of `read` looks only at those that are new or were unfinished.

    finished    the informative finished trials, in the order in which they were read
    unfinished  the trials that run, or wait for a worker, by number
    counts      for each parameter, how often each value occurred (by its internal representation)
    """

    def __init__(self) -> None:
        self.finished: list[FrozenTrial] = []
        self.unfinished: list[FrozenTrial] = []
        self.counts: dict[str, dict[float, int]] = {}
        self._kept: dict[int, dict[str, Any]] = {}  # By trial number: suggestions that are not in the storage.
        self._read: set[int] = set()  # The numbers of all finished trials that were read.
        self._n_known = 0  # Every trial with a smaller number was read, or is in `_open`.
        self._open: list[int] = []  # The numbers of the trials that were unfinished when all trials were last visible.

    def publish(self, study: Study, trial: FrozenTrial, params: dict[str, Any]) -> None:
        """Make a suggestion known to the other workers before the objective asks for all of it.

        The workers of a study in memory are threads that share this object. Only what a finished trial does not tell is
        then stored, so that `study.trials_dataframe()` seldom has a column for it.
        """
        if type(study._storage) is InMemoryStorage:  # Processes may share a storage that derives from it.
            self._kept[trial.number] = params
            params = _inexact(params)
        if params:
            publish(study, trial, params)

    def published(self, trial: FrozenTrial) -> dict[str, Any]:
        """The parameters suggested for a trial, also those that its objective has not asked for."""
        return self._kept.get(trial.number) or published(trial)

    def read(self, study: Study) -> list[FrozenTrial]:
        """Read the study; returns the informative trials that finished since the last time, by number."""
        trials = study.get_trials(deepcopy=False)  # Optuna orders them by number.
        candidates = trials
        # A pruner may hide trials from the sampler, and a storage may show them late. Numbers are then not positions.
        all_visible = len(trials) >= self._n_known and bool(trials) and trials[-1].number == len(trials) - 1
        if all_visible:
            candidates = [*(trials[number] for number in self._open), *trials[self._n_known :]]
        self.unfinished = [trial for trial in candidates if not trial.state.is_finished()]
        if all_visible:
            self._open, self._n_known = [trial.number for trial in self.unfinished], len(trials)
        new = [trial for trial in candidates if trial.state.is_finished() and trial.number not in self._read]
        self._read.update(trial.number for trial in new)
        for trial in new:
            if self._kept.get(trial.number, {}).keys() <= trial.params.keys():
                self._kept.pop(trial.number, None)
        retried = {number for trial in candidates for number in _retries_of(trial)}
        informative = [trial for trial in new if is_informative(trial) and trial.number not in retried]
        for trial in informative:
            self._record(trial)
        return informative

    def _record(self, trial: FrozenTrial) -> None:
        self.finished.append(trial)
        for name, distribution in trial.distributions.items():
            value = distribution.to_internal_repr(trial.params[name])
            counts = self.counts.setdefault(name, {})
            counts[value] = counts.get(value, 0) + 1
