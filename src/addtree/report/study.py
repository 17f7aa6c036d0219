"""The report of an Optuna study."""

from __future__ import annotations

import optuna
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.codec import Codec, Declared, Inferred, Translation, to_domain
from addtree.errors import ConfigError, StudyError
from addtree.report.records import Record, State
from addtree.report.summary import Report, build
from addtree.space.parameters import Parameter
from addtree.space.space import Choice, Space
from addtree.study.studies import space_of
from addtree.study.tickets import ERROR, is_lost

_STATES: dict[TrialState, State] = {
    TrialState.COMPLETE: "done",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "pending",
}


def build_study(study: optuna.Study) -> Report:
    """Compute the report of a study. Without a declared space, the space is inferred from the trials."""
    if len(study.directions) > 1:
        raise StudyError(f"study {study.study_name!r} has several objectives; the report shows one")
    space, records = read_study(study)
    return build(space, records, maximize=study.direction == StudyDirection.MAXIMIZE, title=study.study_name)


def read_study(study: optuna.Study) -> tuple[Space, list[Record]]:
    """The space of a study, and its trials except those that wait and those whose worker was lost."""
    trials = [t for t in study.get_trials(deepcopy=False) if t.state in _STATES and not is_lost(t)]
    declared = space_of(study)
    finished = [t for t in trials if t.state in (TrialState.COMPLETE, TrialState.PRUNED)]
    translation: Translation = Inferred(finished or trials) if declared is None else Declared(declared, {})
    space = translation.space if declared is not None else _with_optuna_values(translation.space, translation)
    return space, [_record(trial, translation, space) for trial in trials]


def _record(trial: FrozenTrial, translation: Translation, space: Space) -> Record:
    """A trial as a record. A trial with a value that does not fit the space counts as failed, and its error says so."""
    state, value, error = _STATES[trial.state], None, trial.user_attrs.get(ERROR)
    config = {name: value for name, value in trial.params.items() if name in space.variables}
    if state == "done":
        try:
            config = space.validate(translation.params(translation.config(trial.params, complete=True)))
            value = trial.value
        except ConfigError as problem:
            state, error = "failed", f"its stored parameters do not fit the space: {problem}"
        if value is None and state == "done":
            state, error = "failed", "its stored value is lost"
    seconds = trial.duration.total_seconds() if trial.duration is not None else None
    return Record(trial.number, config, state, value, None if error is None else str(error), seconds)


def _with_optuna_values(space: Space, translation: Translation) -> Space:
    """An inferred space, in which categories and steps are positions, with the values that Optuna has for them."""
    children: dict[str, Parameter | Choice] = {}
    for name, child in space.children.items():
        distribution = translation.distributions[name]
        if isinstance(child, Choice):
            codec = Codec(distribution)
            labels = [codec.value(int(position)) for position in child.labels]
            pairs = zip(labels, child.spaces, strict=True)
            children[name] = Choice({label: _with_optuna_values(sub, translation) for label, sub in pairs})
        else:
            children[name] = to_domain(distribution)
    return Space(children)
