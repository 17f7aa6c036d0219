"""The objectives and constraints of a study: how the study keeps them, and how its trials keep their values.

Optuna knows the objectives of a study by their number, and a constraint of a trial as a number that is to be at most
zero. A study of addtree also keeps the names and bounds that the user declared. A trial keeps the values of its
constraints as they were told, beside the numbers that Optuna reads.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.trials import is_feasible
from addtree.errors import OptionError, StudyError
from addtree.run.goals import VALUE, Constraint, Goals, Objective
from addtree.search.hypervolume import is_nondominated
from addtree.support.numbers import MAX_SIZE, as_float, is_number

_GOALS = "addtree:goals"  # user attribute of a study: its named objectives and constraints, as JSON
_VALUES = "addtree:values"  # user attribute of a trial: by name, the values of its constraints
_CONSTRAINT = "constraints:"  # prefix of the system attributes in which Optuna stores the constraints of a trial
_PREFIX = "constraint "  # prefix of the name of a constraint that has only a number, or the name of an objective


# ---------------------------------------------------------------------- what a study looks for


def with_options(goals: Goals, *, maximize: bool, noise: float | None) -> Goals:
    """The goals of a file with the options of a command, or an OptionError if these do not fit together."""
    if maximize and goals.named:
        raise OptionError(
            "--maximize is for an objective without a name; leave it out, and write 'max' in `objectives` of the file"
        )
    if noise is not None and len(goals.objectives) > 1:
        raise OptionError(f"--noise {noise:g} is for one objective; declare noise = {{name: sd}} in the file instead")
    if maximize:
        goals = replace(goals, objectives=(Objective(VALUE, True),))
    return goals if noise is None else replace(goals, noise={**goals.noise, goals.names[0]: noise})


def directions(goals: Goals) -> list[StudyDirection]:
    """The directions of a study with these goals."""
    return [StudyDirection.MAXIMIZE if o.maximize else StudyDirection.MINIMIZE for o in goals.objectives]


def store_goals(study: optuna.Study, goals: Goals) -> None:
    """Keep the names and bounds of a new study; a study without any keeps nothing."""
    text = _goals_text(goals)
    if text is None:
        return
    study.set_user_attr(_GOALS, text)
    if goals.named:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            study.set_metric_names([objective.name for objective in goals.objectives])  # for Optuna's dashboard


def check_same_goals(study: optuna.Study, goals: Goals) -> None:
    """Raise a StudyError if a study has other directions, names or bounds."""
    name, stored = study.study_name, _stored(study)
    here = None if stored is None else _goals_text(stored)
    if here == _goals_text(goals) and (here is not None or study.directions == directions(goals)):
        return
    if here is None and len(study.directions) == 1 and _goals_text(goals) is None:  # only the directions differ
        kind, remedy = ("smallest", "leave out") if goals.objectives[0].maximize else ("largest", "add")
        raise StudyError(
            f"study {name!r} looks for the {kind} value; {remedy} --maximize or `maximize = True` in the file, "
            "or give the new study another name"
        )
    if here is None and len(study.directions) > 1:
        raise StudyError(f"study {name!r} has several objectives without names; give the new study another name")
    raise StudyError(
        f"study {name!r} has other goals: the study has {_shown(stored)}, the file has {_shown(goals)}; "
        "restore them, or give the new study another name"
    )


def study_goals(study: optuna.Study, trials: Sequence[FrozenTrial]) -> Goals:
    """The goals of any study: those that were declared, or else its directions and the constraints of these trials."""
    stored = _stored(study)
    if stored is not None:
        return stored
    shown = dict.fromkeys(name for trial in trials for name in trial.constraints)
    known = study.metric_names
    n = len(study.directions)
    names = known or ([VALUE] if n == 1 else [f"objective {k}" for k in range(n)])
    objectives = tuple(
        Objective(name, direction == StudyDirection.MAXIMIZE)
        for name, direction in zip(names, study.directions, strict=True)
    )
    constraints = (f"{_PREFIX}{name}" if name.isdecimal() or name in names else name for name in shown)
    bounded = tuple(Constraint(name, -math.inf, 0.0) for name in constraints)
    return Goals(objectives, bounded, named=len(names) > 1 or known is not None)


def _goals_text(goals: Goals) -> str | None:
    """The names and bounds of goals for the attribute of a study; None if there are none."""
    if not goals.named and not goals.constraints:
        return None
    form = goals.to_dict()
    return json.dumps({key: form[key] for key in ("maximize", "objectives", "constraints")})


def _stored(study: optuna.Study) -> Goals | None:
    """The goals that a study keeps; None if it keeps none."""
    text = study.user_attrs.get(_GOALS)
    if text is None:
        return None
    try:
        form = json.loads(text)
        goals = Goals.read(form["objectives"], form["constraints"], maximize=form["maximize"])
        if directions(goals) != study.directions:
            raise ValueError("they contradict its directions")
    except (OptionError, TypeError, KeyError, ValueError) as error:
        raise StudyError(
            f"the stored goals of study {study.study_name!r} are damaged ({error}); restore the storage from a copy"
        ) from error
    return goals


def _shown(goals: Goals | None) -> str:
    form = (goals or Goals()).to_dict()
    return f"objectives = {form['objectives']}, constraints = {form['constraints']}"


# ---------------------------------------------------------------------- the values of a trial


def objective_values(goals: Goals, values: Mapping[str, float]) -> list[float]:
    """The values of the objectives, in the order that Optuna knows."""
    return [values[objective.name] for objective in goals.objectives]


def constraint_attrs(goals: Goals, values: Mapping[str, float]) -> tuple[dict[str, Any], dict[str, float]]:
    """The user attributes and the system attributes that keep the values of the constraints of a trial."""
    if not goals.constraints:
        return {}, {}
    numbers: dict[str, float] = {}
    for constraint in goals.constraints:
        name, told = constraint.name, values[constraint.name]
        both = math.isfinite(constraint.low) and math.isfinite(constraint.high)
        if math.isfinite(constraint.high):
            numbers[f"{name} (upper)" if both else name] = told - constraint.high
        if math.isfinite(constraint.low):
            numbers[f"{name} (lower)" if both else name] = constraint.low - told
    system = {f"{_CONSTRAINT}{name}": _bounded(number) for name, number in numbers.items()}
    return {_VALUES: {c.name: values[c.name] for c in goals.constraints}}, system


def store_constraints(study: optuna.Study, trial_id: int, goals: Goals, values: Mapping[str, float]) -> None:
    """Write the values of the constraints of a running trial to the storage."""
    user, system = constraint_attrs(goals, values)
    for key, value in user.items():
        study._storage.set_trial_user_attr(trial_id, key, value)
    for key, number in system.items():
        study._storage.set_trial_system_attr(trial_id, key, number)


def trial_values(goals: Goals, trial: FrozenTrial) -> dict[str, float] | None:
    """The values of a trial by name; None if it is not complete, or if its values are lost.

    A trial that lacks a constraint counts as on its bound.
    """
    if trial.state != TrialState.COMPLETE or not trial.values or len(trial.values) != len(goals.objectives):
        return None
    found = dict(zip((o.name for o in goals.objectives), trial.values, strict=True))
    told = trial.user_attrs.get(_VALUES)
    for constraint in goals.constraints:
        name = constraint.name
        value = told.get(name) if isinstance(told, dict) else None
        if not is_number(value):
            shown = trial.constraints.get(name, trial.constraints.get(name.removeprefix(_PREFIX), 0.0))
            value = constraint.high + shown if math.isfinite(constraint.high) else constraint.low - shown
        found[name] = _bounded(as_float(value))
    return found


def _bounded(number: float) -> float:
    return min(max(number, -MAX_SIZE), MAX_SIZE)


def pareto(trials: Sequence[FrozenTrial], sought: Sequence[StudyDirection]) -> list[FrozenTrial]:
    """The complete feasible trials that no other dominates, best first in the first objective.

    A trial with an infinite value counts as failed, as it does for the model.
    """
    signs = [-1.0 if direction == StudyDirection.MAXIMIZE else 1.0 for direction in sought]
    complete = [t for t in trials if t.state == TrialState.COMPLETE and t.values and len(t.values) == len(signs)]
    feasible = [t for t in complete if is_feasible(t) and all(map(math.isfinite, t.values))]
    losses = np.array([t.values for t in feasible]).reshape(len(feasible), len(signs)) * signs
    best = np.flatnonzero(is_nondominated(losses))
    return [feasible[i] for i in best[np.lexsort(losses[best].T[::-1])]]
