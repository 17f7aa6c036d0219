"""The report of an Optuna study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.codec import Declared
from addtree._optuna.inferred import Inferred
from addtree._optuna.trials import standard_errors
from addtree.errors import ConfigError, TrialError
from addtree.report.records import Record, State
from addtree.report.summary import Report, build_for
from addtree.run.goals import Goals
from addtree.run.history import check_history, without_names
from addtree.space.space import Space
from addtree.study.goals import study_goals, trial_values, with_options
from addtree.study.studies import goals_of, space_of
from addtree.study.tickets import ERROR, is_lost

_STATES: dict[TrialState, State] = {
    TrialState.COMPLETE: "done",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "pending",
}


def build_study(study: optuna.Study, *, noise: float | None = None, history: Sequence[Any] = ()) -> Report:
    """Compute the report of a study. Without a declared space, the space is inferred from the trials.

    noise    standard deviation of repeated evaluations; None for the one that the study keeps, or to learn it
    history  earlier studies that the study learned from, as for `AddTreeSampler`
    """
    goals = goals_of(study) if noise is None else study_goals(study, study.get_trials(deepcopy=False))
    goals = with_options(goals, maximize=False, noise=noise)
    space, records = read_study(study, goals)
    earlier = check_history(history) if study.metric_names is not None else without_names(check_history(history))
    report = build_for(goals, space, records, title=study.study_name, history=earlier)
    return replace(report, inferred=space_of(study) is None)


def read_study(study: optuna.Study, goals: Goals) -> tuple[Space, list[Record]]:
    """The space of a study, and its trials except those that wait and those whose worker was lost."""
    trials = [t for t in study.get_trials(deepcopy=False) if t.state in _STATES and not is_lost(t)]
    declared = space_of(study)
    finished = [t for t in trials if t.state in (TrialState.COMPLETE, TrialState.PRUNED)]
    translation = Inferred(finished or trials) if declared is None else Declared(declared)
    space = translation.readable_space if isinstance(translation, Inferred) else translation.space
    return space, [_record(trial, translation, space, goals) for trial in trials]


def _record(trial: FrozenTrial, translation: Declared | Inferred, space: Space, goals: Goals) -> Record:
    """A trial as a record. A trial with a value that does not fit the space counts as failed, and its error says so."""
    state, values, stds, error = _STATES[trial.state], None, None, trial.user_attrs.get(ERROR)
    config = {name: value for name, value in trial.params.items() if name in space.variables}
    if state == "done":
        try:
            config = space.validate(_config(trial, translation))
            values, stds = trial_values(goals, trial), _stds(goals, trial)
        except ConfigError as problem:
            state, error = "failed", f"its stored parameters do not fit the space: {problem}"
        except TrialError as problem:
            state, error = "failed", str(problem)
        if values is None and state == "done":
            state, error = "failed", "its stored value is lost"
        elif not all(map(math.isfinite, (values or {}).values())):
            state, error, values = "failed", "its value is infinite", None
    seconds = trial.duration.total_seconds() if trial.duration is not None else None
    message = None if error is None else str(error)
    return Record(trial.number, config, state, error=message, seconds=seconds, values=values or {}, stds=stds or {})


def _stds(goals: Goals, trial: FrozenTrial) -> dict[str, float]:
    """The standard errors of the objectives of a trial, as far as they are known."""
    errors = standard_errors(trial, len(goals.objectives))
    return {o.name: std for o, std in zip(goals.objectives, errors, strict=True) if std is not None}


def _config(trial: FrozenTrial, translation: Declared | Inferred) -> dict[str, Any]:
    """The configuration of a complete trial in the values that the report shows."""
    if isinstance(translation, Inferred):
        return translation.readable_config(trial)
    return translation.config(trial.params, complete=True)
