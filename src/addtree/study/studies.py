"""Studies: an Optuna study that stores its space, its seed and its noise, and the progress that it has made."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import optuna
from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.codec import check_distinct
from addtree._optuna.trials import is_feasible
from addtree._types import Config
from addtree.errors import OptionError, SpaceError, StudyError
from addtree.model.specification import Specification
from addtree.optuna import AddTreeSampler
from addtree.run.goals import VALUE, Goals
from addtree.run.suggestion import checked_seed
from addtree.space.forms import difference
from addtree.space.space import Space
from addtree.study.goals import check_same_goals, directions, pareto, store_goals, study_goals, with_options
from addtree.study.tickets import ERROR, is_forgotten, is_lost
from addtree.support.numbers import is_whole

_SPACE = "addtree:space"  # user attribute of a study: its space in the form of `_space_text`
_SEED = "addtree:seed"  # user attribute of a study: the seed of its sampler
_NOISE = "addtree:noise"  # user attribute of a study: the noise if declared, a number or a dict by name
_REFERENCE = "addtree:reference_point"  # user attribute of a study: by name, the worst values of interest, if declared
_INITIAL = "addtree:initial"  # user attribute of a study with a declared space: its initial configurations, as JSON
_COST_AWARE = "addtree:cost_aware"  # user attribute of a study: whether it looks for improvement per second
_DEFINE_BY_RUN = "define-by-run"  # stands for the space of a study whose objective asks for its parameters itself


# ---------------------------------------------------------------------- creating and loading


def check_study(name: str, space: Space | None, *, seed: int | None, goals: Goals) -> None:
    """Raise an OptionError or a SpaceError if an argument of `open_study` cannot be stored."""
    if seed is not None and not _is_seed(seed):
        raise OptionError(f"seed={seed!r} must be an integer of zero or more")
    noise = dict(goals.noise)
    for std in noise.values():
        Specification(noise=std)  # raises if the noise is impossible
    for constraint in goals.constraints:
        if constraint.name in noise:  # the sampler always learns it
            raise OptionError(f"noise={noise!r}: {constraint.name!r} is a constraint, whose noise is learned")
    for stored in (name, *goals.names, *(space.variables if space is not None else ())):
        _check_text(stored)
    _space_text(space)
    if space is not None:
        check_distinct(space)


def open_study(
    storage: BaseStorage,
    name: str,
    space: Space | None,
    *,
    seed: int | None = None,
    goals: Goals | None = None,
    initial: Sequence[Config] = (),
    cost_aware: bool = False,
) -> optuna.Study:
    """Load the study of this name, or create it if there is none.

    Raises a StudyError if the study exists with another space or other goals, and an OptionError if an argument cannot
    be stored; nothing is stored in either case. The seed and the noise of an existing study are used unless others are
    given; a study keeps the noise that was given last.

    space       the declared space; None for define-by-run
    goals       the objectives and constraints, with the noise of repeated evaluations if it is declared; by default the
                smallest value is sought. The study keeps the reference point, or that there is none
    initial     configurations to evaluate first; those that the study has evaluated already are skipped
    cost_aware  look for improvement per second of the duration of a trial; the study keeps it
    """
    goals = goals or Goals()
    check_study(name, space, seed=seed, goals=goals)
    study = optuna.create_study(storage=storage, study_name=name, directions=directions(goals), load_if_exists=True)
    _check_has_direction(study)
    attrs = study.user_attrs
    is_new = _SPACE not in attrs and not study.get_trials(deepcopy=False)
    if is_new and study.directions == directions(goals):
        store_goals(study, goals)
    check_same_goals(study, goals)
    if is_new:
        study.set_user_attr(_SPACE, _space_text(space))
        study.set_user_attr(_SEED, checked_seed(seed))
    _check_same_space(study, space)
    if seed is not None and not _is_seed(attrs.get(_SEED, seed)):
        study.set_user_attr(_SEED, seed)  # repairs a study that cannot continue otherwise
    _store_noise(study, goals.noise)
    if goals.reference != study.user_attrs.get(_REFERENCE):
        study.set_user_attr(_REFERENCE, goals.reference and dict(goals.reference))
    if space is not None and initial:
        study.set_user_attr(_INITIAL, json.dumps([dict(config) for config in initial]))
    if cost_aware != _is_cost_aware(study):
        study.set_user_attr(_COST_AWARE, cost_aware)
    _set_sampler(study, _stored_seed(study) if seed is None else seed, initial)
    return study


def _set_sampler(study: optuna.Study, seed: int | None, initial: Sequence[Config]) -> None:
    """Give a study the sampler that its attributes describe."""
    goals = goals_of(study)
    names = [objective.name for objective in goals.objectives]
    study.sampler = AddTreeSampler(
        space_of(study),  # Equal spaces may differ in order; the study keeps the order that it was created with.
        seed=seed,
        noise={k: goals.noise[name] for k, name in enumerate(names) if name in goals.noise},
        reference_point=None if goals.reference is None else [goals.reference[name] for name in names],
        initial=initial,
        cost_aware=_is_cost_aware(study),
    )


def _is_cost_aware(study: optuna.Study) -> bool:
    return study.user_attrs.get(_COST_AWARE) is True


def study_names(storage: BaseStorage) -> list[str]:
    """The names of all studies in order, except those whose name is damaged."""
    return sorted(name for name in optuna.get_all_study_names(storage) if isinstance(name, str))


def find_study(storage: BaseStorage, name: str | None) -> optuna.Study:
    """Load an existing study to read its trials, even if it cannot continue; without a name, the only study."""
    known = study_names(storage)
    if name is None and len(known) == 1:
        name = known[0]
    if name is None or name not in known:
        problem = "name a study" if name is None else f"there is no study {name!r}"
        raise StudyError(f"{problem}; the storage has {', '.join(map(repr, known)) or 'none'}")
    study = optuna.load_study(study_name=name, storage=storage)
    _check_has_direction(study)
    return study


def load_study(storage: BaseStorage, name: str | None, *, noise: float | None = None) -> optuna.Study:
    """Load an existing study to continue it with its stored space and seed; without a name, the only study.

    noise  stored with the study if it is given; otherwise the stored one is used
    """
    Specification(noise=noise)  # raises if the noise is impossible
    study = find_study(storage, name)
    if noise is not None:
        goals = study_goals(study, ())
        _store_noise(study, with_options(goals, maximize=False, noise=noise).noise)
    _set_sampler(study, _stored_seed(study), json.loads(study.user_attrs.get(_INITIAL, "[]")))
    return study


def recommended_trial(study: optuna.Study) -> FrozenTrial:
    """The trial of a study from `open_study` or `load_study` that has the best mean under the model."""
    assert isinstance(study.sampler, AddTreeSampler)
    return study.sampler.recommend(study)


def space_of(study: optuna.Study) -> Space | None:
    """The space that a study was created with; None for define-by-run and for a study not made by addtree."""
    text = study.user_attrs.get(_SPACE)
    if text is None or text == _DEFINE_BY_RUN:
        return None
    try:
        return Space.from_dict(json.loads(text))
    except (SpaceError, TypeError, ValueError, RecursionError) as error:
        raise StudyError(
            f"the stored space of study {study.study_name!r} is damaged ({error}); restore the storage from a copy"
        ) from error


def goals_of(study: optuna.Study) -> Goals:
    """The objectives and constraints of a study, with the noise and the reference point that were declared."""
    goals = study_goals(study, study.get_trials(deepcopy=False))
    try:
        goals = goals.with_reference(study.user_attrs.get(_REFERENCE))
    except OptionError as error:
        raise StudyError(
            f"study {study.study_name!r} has a bad stored reference point: {error}; "
            "give it another one: `run` or `suggest --space FILE` with `reference_point` in the file"
        ) from None
    noise = study.user_attrs.get(_NOISE)
    if noise is None:
        return goals
    declared = noise if isinstance(noise, dict) else {goals.names[0]: noise}
    try:
        for name, std in declared.items():
            goals.position(name)
            Specification(noise=std)
    except OptionError as error:
        raise StudyError(
            f"study {study.study_name!r} has a bad stored noise: {error}; "
            "give it another one: `run` or `suggest --space FILE` with --noise SD"
        ) from None
    return replace(goals, noise=declared)


def _is_seed(seed: Any) -> bool:
    return is_whole(seed) and seed >= 0


def _stored_seed(study: optuna.Study) -> int | None:
    """The seed of a study; None if it has none."""
    seed = study.user_attrs.get(_SEED)
    if seed is not None and not _is_seed(seed):
        raise StudyError(
            f"study {study.study_name!r} has the stored seed {seed!r}, which is not an integer of zero or more; "
            "give it another one: `run` or `suggest --space FILE` with --seed 0"
        )
    return seed


def _store_noise(study: optuna.Study, noise: Mapping[str, float]) -> None:
    """Declare the noise of a study if it is given: a number for the only value, or a dict by name."""
    if noise:
        is_plain = noise.keys() == {VALUE}
        study.set_user_attr(_NOISE, float(noise[VALUE]) if is_plain else {k: float(std) for k, std in noise.items()})


def _check_text(name: str) -> None:
    """Raise an OptionError if a name is empty, or cannot be stored by every storage."""
    if not name:
        raise OptionError("the name '' is empty; give another")
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise OptionError(f"the name {name!r} is not valid Unicode text; rename it") from None
    if "\0" in name:
        raise OptionError(f"the name {name!r} contains a NUL character; rename it")


def _space_text(space: Space | None) -> str:
    """The form in which a study stores its space."""
    return _DEFINE_BY_RUN if space is None else json.dumps(space.to_dict())


def _check_has_direction(study: optuna.Study) -> None:
    """Raise a StudyError if the direction of a study is lost."""
    if not study.directions:
        raise StudyError(f"study {study.study_name!r} is damaged: it has no direction; restore the storage from a copy")


def _check_same_space(study: optuna.Study, space: Space | None) -> None:
    """Raise a StudyError that shows the difference if the stored space of a study is not `space`."""
    name, stored = study.study_name, study.user_attrs.get(_SPACE)
    if (stored in (None, _DEFINE_BY_RUN) and space is None) or (space is not None and space_of(study) == space):
        return
    if stored is None:
        raise StudyError(f"study {name!r} was not made by addtree for this space; give the new study another name")
    old, new = (_DEFINE_BY_RUN if shown is None else str(shown) for shown in (space_of(study), space))
    here, there = difference(old, new)
    raise StudyError(
        f"study {name!r} belongs to another space: the study has {here}, the file has {there}; "
        "restore the space, or give the new study another name"
    )


# ---------------------------------------------------------------------- progress


@dataclass(frozen=True)
class Progress:
    """The number of trials of a study in each state.

    failed  trials that failed and count towards the total, so without the lost ones
    lost    trials whose worker died or was interrupted; they are run again, unlike those that somebody dropped
    best    the best complete trial, if there is one; None with several objectives
    error   why the most recent failed trial failed, if one did
    front   with several objectives, the feasible trials that no other dominates, best first in the first objective
    names   the names of the objectives, if they were read
    """

    complete: int
    pruned: int
    failed: int
    lost: int
    running: int
    best: FrozenTrial | None
    error: str | None
    front: tuple[FrozenTrial, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def finished(self) -> int:
        """The number of trials that count towards the total."""
        return self.complete + self.pruned + self.failed


def progress(study: optuna.Study) -> Progress:
    """Read the trials of a study once, and count them."""
    return progress_of(study.get_trials(deepcopy=False), study.directions)


def progress_of(trials: Sequence[FrozenTrial], directions: Sequence[StudyDirection]) -> Progress:
    """Count these trials of a study with these directions."""
    states, several = [t.state for t in trials], len(directions) > 1
    n_ignored = sum(map(is_lost, trials))
    return Progress(
        complete=states.count(TrialState.COMPLETE),
        pruned=states.count(TrialState.PRUNED),
        failed=states.count(TrialState.FAIL) - n_ignored,
        lost=n_ignored - sum(map(is_forgotten, trials)),
        running=states.count(TrialState.RUNNING),
        best=None if several else _best(trials, directions[0]),
        error=next((t.user_attrs[ERROR] for t in reversed(trials) if ERROR in t.user_attrs), None),
        front=tuple(pareto(trials, directions)) if several else (),
    )


def _best(trials: Sequence[FrozenTrial], direction: StudyDirection) -> FrozenTrial | None:
    """The best complete trial with a finite value; None if no trial is complete, or none is feasible."""
    sign = -1.0 if direction == StudyDirection.MAXIMIZE else 1.0
    feasible = [t for t in trials if t.state == TrialState.COMPLETE and t.values and is_feasible(t)]
    finite = [t for t in feasible if math.isfinite(t.values[0])]
    return min(finite, key=lambda t: sign * t.values[0], default=None)
