"""Trials that a person evaluates: configurations that were suggested, or that come from elsewhere.

A suggested configuration is a running trial without a worker. It waits until somebody tells its value, or forgets it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import optuna
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.codec import to_distribution
from addtree._optuna.trials import STD, suggestion_attrs
from addtree._types import Config
from addtree.errors import OptionError, StudyError, TrialError
from addtree.run.goals import Goals
from addtree.study.goals import constraint_attrs, objective_values, store_constraints, study_goals
from addtree.study.studies import space_of
from addtree.study.tickets import has_owner, is_forgotten, is_lost, live_owner, withdraw
from addtree.support.numbers import MAX_EXACT, is_whole


@dataclass(frozen=True)
class Result:
    """What an experiment gave: its value with its standard error if that is known, or None if it failed.

    With several objectives or constraints, the value is a dict with a number for each.
    """

    value: float | Mapping[str, float] | None
    std: float | None = None


def untold(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """The trials that wait for somebody to tell their values."""
    return [trial for trial in trials if trial.state == TrialState.RUNNING and not has_owner(trial)]


def tell_trial(study: optuna.Study, number: int, result: Result) -> None:
    """Store the result of a suggested trial, or raise a StudyError if it does not wait for one."""
    trial = _waiting(study, number, "tell")
    goals = study_goals(study, ())  # the constraints that were declared
    values = _read(goals, result)
    try:
        if values is None:
            study.tell(number, state=TrialState.FAIL)
            return
        if result.std is not None:
            study._storage.set_trial_user_attr(trial._trial_id, STD, result.std)
        store_constraints(study, trial._trial_id, goals, values)
        study.tell(number, objective_values(goals, values))
    except (optuna.exceptions.UpdateFinishedTrialError, ValueError) as error:  # somebody told it at this moment
        raise StudyError(f"{_name(study, number)}: {error}; tell each suggested trial once") from None


def add_trial(study: optuna.Study, config: Config, result: Result) -> None:
    """Add a finished trial of a configuration from elsewhere, or raise a ConfigError if the space does not hold it."""
    space = space_of(study)
    if space is None:
        raise StudyError(
            f"study {study.study_name!r} has no declared space that could hold a configuration; "
            "add the trial in Python with study.add_trial of Optuna"
        )
    params, goals = space.validate(config), study_goals(study, ())
    values = _read(goals, result)
    user_attrs, system_attrs = ({}, {}) if values is None else constraint_attrs(goals, values)
    exact = all(abs(value) <= MAX_EXACT for value in params.values() if is_whole(value))
    study.add_trial(
        optuna.create_trial(
            state=TrialState.FAIL if values is None else TrialState.COMPLETE,
            values=None if values is None else objective_values(goals, values),
            params=params,
            distributions={name: to_distribution(space.variables[name]) for name in params},
            user_attrs=user_attrs if result.std is None else {**user_attrs, STD: result.std},
            system_attrs=system_attrs if exact else {**system_attrs, **suggestion_attrs(params)},  # Optuna rounds them
        )
    )


def _read(goals: Goals, result: Result) -> dict[str, float] | None:
    """The values of a result by name, None if it failed, or an OptionError if they are not those of a study."""
    if result.std is not None and not goals.is_single:
        raise OptionError(f"--std {result.std:g} is for a study with one value; leave it out")
    try:
        return None if result.value is None else goals.read_values(result.value)
    except TrialError as error:
        raise OptionError(f"{error}; give {' '.join(f'{name}=NUMBER' for name in goals.names)}") from None


def forget_trial(study: optuna.Study, number: int) -> None:
    """Drop a suggested trial, so that it does not count, or raise a StudyError if it does not wait for a value."""
    trial = _waiting(study, number, "forget")
    try:
        withdraw(study, trial._trial_id)
    except optuna.exceptions.UpdateFinishedTrialError:  # somebody told it at this moment
        raise StudyError(f"{_name(study, number)} has just finished, so it cannot be forgotten") from None


def _waiting(study: optuna.Study, number: int, verb: str) -> FrozenTrial:
    """The trial of this number if it waits for somebody to tell its value; otherwise a StudyError that says why not."""
    name = _name(study, number)
    trial = next((t for t in study.get_trials(deepcopy=False) if t.number == number), None)
    if trial is None:
        raise StudyError(f"{name} is unknown; {verb} an id that `addtree suggest` printed, or see `addtree status`")
    if trial.state != TrialState.RUNNING:
        raise StudyError(f"{name} {_state_in_words(trial)}; {verb} only what waits for a value, see `addtree status`")
    owner = live_owner(trial)
    if owner is not None:
        raise StudyError(
            f"{name} is being run by process {owner.pid} on {owner.host}, which will store its value; "
            f"{verb} only what `addtree suggest` printed"
        )
    return trial


def _state_in_words(trial: FrozenTrial) -> str:
    """The reason why a trial does not wait for a value, as the end of a sentence."""
    if trial.state == TrialState.COMPLETE:
        return f"already has the value {', '.join(f'{value:.6g}' for value in trial.values)}"
    if trial.state == TrialState.WAITING:
        return "waits for a worker"
    if is_forgotten(trial):
        return "was forgotten"
    if is_lost(trial):
        return "lost its worker"
    return "has failed" if trial.state == TrialState.FAIL else "was pruned"


def _name(study: optuna.Study, number: int) -> str:
    return f"trial {number} of study {study.study_name!r}"
