"""The tasks: a name, a family, a conditional space and an objective to minimise, with the best known value.

`TASKS` maps each name to a function that builds the task, so that only a task that is run loads its data. To add one,
add a line there (see `benchmarks/README.md`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from typing import Any

from addtree import Space, problems
from benchmarks import real, yahpo
from benchmarks.files import REFERENCES
from benchmarks.yahpo import MissingDataError

__all__ = ["HELP", "TASKS", "USUAL", "MissingDataError", "Task", "family", "load", "matching", "reference"]


@dataclass(frozen=True)
class Task:
    """One task. `reference` is the known optimum if `exact`, or else the best value on record, or None without one."""

    name: str
    space: Space
    objective: Callable[[Mapping[str, Any]], float]
    reference: float | None
    exact: bool = False


Builder = Callable[[], problems.Problem | tuple[Space, Callable[[Mapping[str, Any]], float]]]

_YAHPO = (
    *(("iaml_super", instance, "mmce") for instance in ("40981", "41146", "1489", "1067")),
    *(("iaml_super", instance, "auc") for instance in ("40981", "1489")),
    *(("iaml_super", instance, "logloss") for instance in ("41146", "1067")),
    ("rbv2_svm", "1220", "mmce"),
    ("rbv2_svm", "1501", "mmce"),
    ("rbv2_svm", "31", "auc"),
    ("rbv2_svm", "41212", "logloss"),
    ("rbv2_xgboost", "16", "acc"),
    ("rbv2_xgboost", "40984", "logloss"),
    ("rbv2_xgboost", "41143", "auc"),
    ("rbv2_xgboost", "12", "logloss"),
)
# These tasks were never looked at while the default was chosen: instances drawn at random, and the remaining targets.
_UNSEEN = (
    *(("iaml_super", instance, "auc") for instance in ("41146", "1067")),
    *(("iaml_super", instance, "logloss") for instance in ("40981", "1489")),
    ("rbv2_svm", "4538", "mmce"),
    ("rbv2_svm", "40978", "mmce"),
    ("rbv2_svm", "40499", "auc"),
    ("rbv2_svm", "44", "logloss"),
    ("rbv2_xgboost", "1510", "acc"),
    ("rbv2_xgboost", "1063", "bac"),
    ("rbv2_xgboost", "1487", "auc"),
    ("rbv2_xgboost", "1515", "logloss"),
)

TASKS: dict[str, Builder] = {
    "function/synthetic": problems.synthetic,
    "function/interaction": problems.interaction,
    "function/shared_offset": problems.shared_offset,
    "function/goldstein": problems.goldstein,
    "function/rosenbrock": problems.rosenbrock,
    **{f"yahpo/{'-'.join(task)}": partial(yahpo.problem, *task) for task in _YAHPO},
    "cash/digits": partial(real.cash, "digits", "error", "svm", "forest", "knn", "linear"),
    "cash/cancer": partial(real.cash, "breast_cancer", "logloss", "forest", "knn", "linear", "boosting"),
    "cash/diabetes": partial(real.cash, "diabetes", "rmse", "svm", "forest", "knn", "linear", "boosting"),
    "cash/pipeline-wine": partial(real.pipeline, "wine", "logloss", "forest", "knn", "linear"),
    "cash/pipeline-diabetes": partial(real.pipeline, "diabetes", "rmse", "svm", "forest", "knn", "linear"),
    "cash/compress": real.compress,
    **{f"unseen/{'-'.join(task)}": partial(yahpo.problem, *task) for task in _UNSEEN},
}
USUAL = ("function", "yahpo", "cash")  # The families that are run if no task is named.
HELP = "names, families or shell patterns of tasks (default: all but unseen)"  # The help text of the option --tasks.


def family(name: str) -> str:
    """The family of a task: its name up to the slash."""
    return name.split("/", 1)[0]


def matching(patterns: Iterable[str]) -> list[str]:
    """The names of the tasks that match any of the patterns, which are names, families or shell patterns."""
    found = []
    for pattern in patterns:
        names = [name for name in TASKS if fnmatch(name, pattern) or family(name) == pattern]
        if not names:
            raise ValueError(f"no task matches {pattern!r}; there are {', '.join(TASKS)}")
        found += names
    return list(dict.fromkeys(found))


def load(name: str) -> Task:
    """Build a task; raises MissingDataError if its data are not on this machine."""
    built = TASKS[name]()
    if isinstance(built, problems.Problem):
        return Task(name, built.space, built.objective, built.optimum, exact=True)
    return Task(name, *built, reference(name))


def reference(name: str) -> float | None:
    """The known optimum of a task, or the best value on record; tasks that are slow to build are not built."""
    if family(name) == "function":
        built = TASKS[name]()
        assert isinstance(built, problems.Problem)
        return built.optimum
    known = json.loads(REFERENCES.read_text()) if REFERENCES.exists() else {}
    return float(known[name]["value"]) if name in known else None
