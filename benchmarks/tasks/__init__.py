"""The tasks: a name, a family, a conditional space and an objective to minimise, with the best known value.

`TASKS` maps each name to a function that builds the task, so that only a task that is run loads its data. To add one,
add a line there (see `benchmarks/README.md`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from typing import Any

import numpy as np

from addtree import Space, problems
from benchmarks.support.files import REFERENCES
from benchmarks.tasks import architecture, dynamic, options, real, yahpo
from benchmarks.tasks.task import MissingDataError, Task

__all__ = ["FIXED", "HELP", "TASKS", "USUAL", "MissingDataError", "Task", "family", "load", "matching", "reference"]


Built = problems.Problem | Task | tuple[Space, Callable[[Mapping[str, Any]], float]]
Builder = Callable[[], Built]

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
# The data sets were drawn at random from all 53.
_SUPER = (
    ("rbv2_super", "312", "mmce"),
    ("rbv2_super", "1510", "auc"),
    ("rbv2_super", "1476", "logloss"),
    ("rbv2_super", "377", "mmce"),
    ("rbv2_super", "18", "mmce"),
    ("rbv2_super", "40670", "logloss"),
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

UNIT_SAMPLE = 200  # The number of random values whose (median - least) is the unit of noise.


def noisy(base: str, share: float) -> Task:
    """A task with noise."""
    task, rng = load(base), np.random.default_rng(0)
    values = [task.objective(task.space.sample(rng)) for _ in range(UNIT_SAMPLE)]
    return replace(task, noise=share * float(np.median(values) - np.min(values)))


TASKS: dict[str, Builder] = {
    "function/synthetic": problems.synthetic,
    "function/interaction": problems.interaction,
    "function/shared_offset": problems.shared_offset,
    "function/goldstein": problems.goldstein,
    "function/rosenbrock": problems.rosenbrock,
    **{f"yahpo/{'-'.join(task)}": partial(yahpo.problem, *task) for task in (*_YAHPO, *_SUPER)},
    "cash/digits": partial(real.cash, "digits", "error", "svm", "forest", "knn", "linear"),
    "cash/cancer": partial(real.cash, "breast_cancer", "logloss", "forest", "knn", "linear", "boosting"),
    "cash/diabetes": partial(real.cash, "diabetes", "rmse", "svm", "forest", "knn", "linear", "boosting"),
    "cash/pipeline-wine": partial(real.pipeline, "wine", "logloss", "forest", "knn", "linear"),
    "cash/pipeline-diabetes": partial(real.pipeline, "diabetes", "rmse", "svm", "forest", "knn", "linear"),
    "cash/compress": real.compress,
    "architecture/network": architecture.network,
    "architecture/branin": partial(architecture.sb_arch_opt, "HierBranin"),
    "dynamic/stages": dynamic.stages,
    "dynamic/rates": dynamic.rates,
    "dynamic/leaves": dynamic.leaves,
    **{f"options/{n}": partial(options.problem, n) for n in (2, 30, 6)},
    **{f"unseen/{'-'.join(task)}": partial(yahpo.problem, *task) for task in _UNSEEN},
    **{f"selection/{data}-{loss}": partial(real.cash, data, loss, *models) for data, loss, *models in real.SELECTIONS},
}
# Each noisy task is another task with noise, whose sd is this share of (median - least) of random values.
NOISY = {
    "noisy/synthetic": ("function/synthetic", 0.1),
    "noisy/iaml_super-1489-auc": ("yahpo/iaml_super-1489-auc", 0.1),
    "noisy/rbv2_svm-1220-mmce": ("yahpo/rbv2_svm-1220-mmce", 0.1),
}
TASKS |= {name: partial(noisy, *base) for name, base in NOISY.items()}
# The tasks of the comparison with every peer, fixed before any result on the new ones was known. The rule: two tasks of
# each of ten sources, the first of each structure (one choice, or several in a node; few options, or many) where a
# source has two structures, and else the first two of its list; of `cash`, whose evaluations take time, the quickest.
FIXED = (
    *("function/synthetic", "function/goldstein"),
    *("yahpo/iaml_super-40981-mmce", "yahpo/iaml_super-41146-mmce"),
    *("yahpo/rbv2_super-312-mmce", "yahpo/rbv2_super-1510-auc"),
    *("yahpo/rbv2_svm-1220-mmce", "yahpo/rbv2_svm-1501-mmce"),
    *("yahpo/rbv2_xgboost-16-acc", "yahpo/rbv2_xgboost-40984-logloss"),
    *("cash/diabetes", "cash/compress"),
    *("architecture/network", "architecture/branin"),
    *("dynamic/stages", "dynamic/rates"),
    *("noisy/synthetic", "noisy/iaml_super-1489-auc"),
    *("options/2", "options/30"),
)
# These families run only if named: nobody looked at them while most of the default was chosen.
_CHECKS = ("unseen", "selection")
USUAL = tuple(dict.fromkeys(name.split("/")[0] for name in TASKS if not name.startswith(_CHECKS)))
# The help text of the option --tasks.
HELP = "names, families or shell patterns of tasks, or fixed: those of the comparison with every peer"


def family(name: str) -> str:
    """The family of a task: its name up to the slash."""
    return name.split("/", 1)[0]


def matching(patterns: Iterable[str]) -> list[str]:
    """The names of the tasks that match any of the patterns: names, families, shell patterns, or "fixed"."""
    found: list[str] = []
    for pattern in patterns:
        names = [name for name in TASKS if fnmatch(name, pattern) or family(name) == pattern]
        if not names and pattern != "fixed":
            raise ValueError(f"no task matches {pattern!r}; there are {', '.join(TASKS)}")
        found += names or FIXED
    return list(dict.fromkeys(found))


def load(name: str) -> Task:
    """Build a task; raises MissingDataError if its data or its library are not on this machine."""
    built = TASKS[name]()
    if isinstance(built, problems.Problem):
        return Task(name, built.space, built.objective, built.optimum, exact=True)
    if isinstance(built, Task):
        return replace(built, name=name, reference=reference(name))
    return Task(name, *built, reference(name))


def reference(name: str) -> float | None:
    """The known optimum of a task, or the best value on record; tasks that are slow to build are not built."""
    if name in NOISY:
        return reference(NOISY[name][0])
    if family(name) in ("function", "options", "dynamic"):
        built = TASKS[name]()
        assert not isinstance(built, tuple)
        return built.optimum if isinstance(built, problems.Problem) else built.reference
    known = json.loads(REFERENCES.read_text()) if REFERENCES.exists() else {}
    return float(known[name]["value"]) if name in known else None
