"""Pruners: which rule ends unpromising trials early, by name. A study keeps the name, because Optuna does not."""

from __future__ import annotations

from collections.abc import Callable

import optuna
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner, NopPruner, SuccessiveHalvingPruner

from addtree.errors import OptionError, StudyError

PRUNERS: dict[str, Callable[[], BasePruner]] = {
    "median": MedianPruner,  # Optuna's default
    "hyperband": HyperbandPruner,
    "successive-halving": SuccessiveHalvingPruner,
    "none": NopPruner,
}
_PRUNER = "addtree:pruner"  # user attribute of a study: the name of its pruner, if one was chosen


def check_pruner(name: str | None) -> None:
    """Raise an OptionError if the name of a pruner is unknown."""
    if name is not None and name not in PRUNERS:
        raise OptionError(f"--pruner {name} is unknown; use one of {', '.join(PRUNERS)}")


def set_pruner(study: optuna.Study, name: str | None) -> None:
    """Give a study the pruner of this name, and store the name; without a name, the study keeps its pruner."""
    if name is not None and study.user_attrs.get(_PRUNER) != name:
        study.set_user_attr(_PRUNER, name)
    stored = name or study.user_attrs.get(_PRUNER, "median")
    if stored not in PRUNERS:
        raise StudyError(
            f"study {study.study_name!r} has the stored pruner {stored!r}, which is unknown; choose one with --pruner"
        )
    study.pruner = PRUNERS[stored]()
