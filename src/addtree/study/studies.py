"""Studies: an Optuna study that stores its space and its seed, and the progress that it has made."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import optuna
from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from addtree._types import Config
from addtree.errors import StudyError
from addtree.optuna import AddTreeSampler
from addtree.space.space import Space
from addtree.study.tickets import ERROR, is_lost

_SPACE = "addtree:space"  # user attribute of a study: its space in the form of `_space_text`
_SEED = "addtree:seed"  # user attribute of a study: the seed of its sampler
_INITIAL = "addtree:initial"  # user attribute of a study with a declared space: its initial configurations, as JSON
_DEFINE_BY_RUN = "define-by-run"  # stands for the space of a study whose objective asks for its parameters itself


# ---------------------------------------------------------------------- creating and loading


def open_study(
    storage: BaseStorage,
    name: str,
    space: Space | None,
    *,
    seed: int | None = None,
    maximize: bool = False,
    initial: Sequence[Config] = (),
) -> optuna.Study:
    """Load the study of this name, or create it if there is none.

    Raises a StudyError if the study exists with another space or direction. The seed of an existing study is used
    unless another one is given.

    space    the declared space; None for define-by-run
    initial  configurations to evaluate first; those that the study has evaluated already are skipped
    """
    direction = StudyDirection.MAXIMIZE if maximize else StudyDirection.MINIMIZE
    study = optuna.create_study(storage=storage, study_name=name, direction=direction, load_if_exists=True)
    attrs = study.user_attrs
    if _SPACE not in attrs and not study.get_trials(deepcopy=False):
        study.set_user_attr(_SPACE, _space_text(space))
        study.set_user_attr(_SEED, int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed)
        attrs = study.user_attrs
    _check_same_space(name, attrs.get(_SPACE), space)
    if study.direction != direction:
        raise StudyError(
            f"study {name!r} looks for the {'largest' if not maximize else 'smallest'} value; "
            f"{'add' if not maximize else 'leave out'} --maximize, or give the new study another name"
        )
    if space is not None and initial:
        study.set_user_attr(_INITIAL, json.dumps([dict(config) for config in initial]))
    # Equal spaces may differ in order; the study keeps the order that it was created with.
    seed = attrs.get(_SEED) if seed is None else seed
    study.sampler = AddTreeSampler(space_of(study), seed=seed, initial=initial)
    return study


def load_study(storage: BaseStorage, name: str | None) -> optuna.Study:
    """Load an existing study; without a name, the only study of the storage."""
    known = sorted(optuna.get_all_study_names(storage))
    if name is None and len(known) == 1:
        name = known[0]
    if name is None or name not in known:
        problem = "name a study" if name is None else f"there is no study {name!r}"
        raise StudyError(f"{problem}; the storage has {', '.join(map(repr, known)) or 'none'}")
    study = optuna.load_study(study_name=name, storage=storage)
    initial = json.loads(study.user_attrs.get(_INITIAL, "[]"))
    study.sampler = AddTreeSampler(space_of(study), seed=study.user_attrs.get(_SEED), initial=initial)
    return study


def space_of(study: optuna.Study) -> Space | None:
    """Return the space that a study was created with; None for define-by-run and for a study not made by addtree."""
    return _parse_space(study.user_attrs.get(_SPACE))


def _parse_space(text: str | None) -> Space | None:
    """Return the space of such a form; None for define-by-run, or if there is none."""
    return None if text is None or text == _DEFINE_BY_RUN else Space.from_dict(json.loads(text))


def _space_text(space: Space | None) -> str:
    """Return the form in which a study stores its space."""
    return _DEFINE_BY_RUN if space is None else json.dumps(space.to_dict())


def _check_same_space(name: str, stored: str | None, space: Space | None) -> None:
    """Raise a StudyError that shows the difference if the stored space of a study is not `space`."""
    if (stored in (None, _DEFINE_BY_RUN) and space is None) or (space is not None and _parse_space(stored) == space):
        return
    if stored is None:
        raise StudyError(f"study {name!r} was not made by addtree for this space; give the new study another name")
    old = stored if stored == _DEFINE_BY_RUN else str(Space.from_dict(json.loads(stored)))
    new = _DEFINE_BY_RUN if space is None else str(space)
    titles = "the study's space", "the file's space"
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), *titles, n=1, lineterm="")
    raise StudyError("\n".join([f"study {name!r} belongs to another space; give the new study another name", *lines]))


# ---------------------------------------------------------------------- progress


@dataclass(frozen=True)
class Progress:
    """The number of trials of a study in each state.

    failed  trials that failed and count towards the total, so without the lost ones
    lost    trials whose worker died or was interrupted; they are run again
    best    the best complete trial, if there is one
    error   why the most recent failed trial failed, if one did
    """

    complete: int
    pruned: int
    failed: int
    lost: int
    running: int
    best: FrozenTrial | None
    error: str | None

    @property
    def finished(self) -> int:
        """The number of trials that count towards the total."""
        return self.complete + self.pruned + self.failed


def progress(study: optuna.Study) -> Progress:
    """Count the trials of a study."""
    trials = study.get_trials(deepcopy=False)
    states = [t.state for t in trials]
    lost = sum(map(is_lost, trials))
    try:
        best = study.best_trial
    except ValueError:  # no trial is complete, or none is feasible
        best = None
    return Progress(
        complete=states.count(TrialState.COMPLETE),
        pruned=states.count(TrialState.PRUNED),
        failed=states.count(TrialState.FAIL) - lost,
        lost=lost,
        running=states.count(TrialState.RUNNING),
        best=best,
        error=next((t.user_attrs[ERROR] for t in reversed(trials) if ERROR in t.user_attrs), None),
    )
