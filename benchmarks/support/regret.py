"""Regret, ranks and tests from runs.

    y_t   value of the configuration that a run returns after t evaluations: the best one, or, if the method was told
          noisy values, the true value of the one that it takes for the best
                                                                (seeds x budget, for a task and a method)
    y*    the reference of a task, or the best value of any run if that is less
    r_t   regret, y_t - y*
    s     mean regret of random search at the final budget      (for a task)
    n_t   normalised regret, r_t / s; the tables show its mean over seeds, then over tasks

Intervals are 95 % bootstrap intervals of that mean. `seeds` resamples the seeds within each task, which tells how
precisely this benchmark is measured. `tasks` resamples the tasks as well, which tells what another benchmark of
the same kind might show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import rankdata, wilcoxon

from addtree._types import Array
from benchmarks import tasks
from benchmarks.support import recorded

REPLICATES = 2000  # The number of bootstrap samples.
ALPHA = 0.05  # The level of significance of the tests.
BASELINE = "random"  # The method whose regret is the unit of regret.


@dataclass(frozen=True)
class Runs:
    """The runs of one method on one task, seed by seed."""

    seeds: tuple[int, ...]
    values: Array  # y_t, seeds x budget
    seconds: Array  # seeds x budget


ByTask: TypeAlias = Mapping[str, Mapping[str, Runs]]  # by task, then by method
Curves: TypeAlias = Mapping[str, Mapping[str, Array]]  # normalised regret (seeds x budget), by task, then by method


@dataclass(frozen=True)
class Results:
    """Runs, and for each task its known optimum or the best value on record (None without one)."""

    runs: ByTask
    known: Mapping[str, float | None]

    @classmethod
    def from_runs(cls, runs: ByTask, reference: Callable[[str], float | None] = tasks.reference) -> Results:
        """Runs with the references of their tasks."""
        return cls(runs, {task: reference(task) for task in runs})

    @property
    def best(self) -> dict[str, float]:
        """y* of each task."""
        out = {}
        for task, each in self.runs.items():
            found = min(float(runs.values.min()) for runs in each.values())
            known = self.known[task]
            out[task] = found if known is None else min(found, known)
        return out

    @property
    def methods(self) -> list[str]:
        """Every method with runs."""
        return list(dict.fromkeys(method for each in self.runs.values() for method in each))

    @property
    def complete(self) -> list[str]:
        """The methods with runs on every task."""
        return [method for method in self.methods if all(method in each for each in self.runs.values())]

    def with_runs_of(self, methods: Iterable[str]) -> ByTask:
        """The runs of the tasks that all of these methods have run."""
        wanted = set(methods)
        return {task: each for task, each in self.runs.items() if wanted <= each.keys()}


def read(folder: Path, budget: int) -> dict[str, dict[str, Runs]]:
    """Every run in a folder of `benchmarks.run` with at least `budget` evaluations."""
    return arranged(recorded.read_runs(folder), budget)


def arranged(runs: Iterable[recorded.Run], budget: int) -> dict[str, dict[str, Runs]]:
    """The runs with at least `budget` evaluations, by task and method."""
    found: dict[str, dict[str, list[recorded.Run]]] = {}
    for run in runs:
        if len(run["values"]) >= budget:
            found.setdefault(run["task"], {}).setdefault(run["method"], []).append(run)

    def stack(runs: list[recorded.Run]) -> Runs:
        runs = sorted(runs, key=lambda run: int(run["seed"]))
        return Runs(
            tuple(run["seed"] for run in runs),
            np.array([recorded.returned(run)[:budget] for run in runs]),
            np.array([run["seconds"][:budget] for run in runs]),
        )

    return {task: {method: stack(runs) for method, runs in each.items()} for task, each in found.items()}


def normalised(by_task: ByTask, best: Mapping[str, float]) -> Curves:
    """n_t of each task and method. Tasks without random search, or solved by it, have no unit and are left out."""
    out: dict[str, dict[str, Array]] = {}
    for task, each in by_task.items():
        if BASELINE not in each:
            continue
        regret = {m: runs.values - best[task] for m, runs in each.items()}
        scale = float(regret[BASELINE][:, -1].mean())
        if scale > 0:
            out[task] = {method: r / scale for method, r in regret.items()}
    return out


def interval(curves: Sequence[Array], *, resample_tasks: bool, seed: int = 0) -> Array:
    """95 % bootstrap interval (2 x budget) of the mean over tasks of the mean over seeds."""
    rng = np.random.default_rng(seed)
    # replicates x tasks x budget: the means over resampled seeds
    means = np.stack([_resampled_means(curve, rng) for curve in curves], axis=1)
    if resample_tasks:
        picked = rng.integers(len(curves), size=(REPLICATES, len(curves)))
        means = np.take_along_axis(means, picked[:, :, None], axis=1)
    out: Array = np.quantile(means.mean(axis=1), [0.025, 0.975], axis=0)
    return out


def ratio(above: Sequence[Array], below: Sequence[Array], *, seed: int = 0) -> Array:
    """Mean regret of one method over that of another on the same tasks, with its 95 % bootstrap interval (3 x budget).

    The rows are the ratio, and the lower and the upper end of its interval if the seeds are resampled within each task.
    """
    rng = np.random.default_rng(seed)
    means = [np.mean([_resampled_means(curve, rng) for curve in curves], axis=0) for curves in (above, below)]
    centre = np.mean([curve.mean(axis=0) for curve in above], axis=0) / np.mean(
        [curve.mean(axis=0) for curve in below], axis=0
    )
    return np.concatenate([centre[None], np.quantile(means[0] / means[1], [0.025, 0.975], axis=0)])


def _resampled_means(curve: Array, rng: np.random.Generator) -> Array:
    seeds = len(curve)
    weights = rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=REPLICATES) / seeds
    out: Array = weights @ curve
    return out


def ranks(curves: Curves, methods: Sequence[str]) -> Array:
    """Average rank (methods x budget) over tasks and over the seeds that all methods have; ties share a rank."""
    by_task = []
    for each in curves.values():
        seeds = min(len(each[method]) for method in methods)
        stacked = np.stack([each[method][:seeds] for method in methods])  # methods x seeds x budget
        by_task.append(rankdata(stacked, axis=0).mean(axis=1))
    out: Array = np.mean(by_task, axis=0)
    return out


def p_value(a: Array, b: Array) -> float:
    """Wilcoxon's signed-rank test over paired seeds, two-sided; 1 if the two never differ."""
    difference = a - b
    return 1.0 if not np.any(difference) else float(wilcoxon(difference).pvalue)


def compare(by_task: ByTask, subject: str, methods: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """For each peer, the tasks on which the subject is significantly better, worse, or neither at the final budget."""
    out: dict[str, dict[str, list[str]]] = {}
    for peer in methods:
        if peer == subject:
            continue
        verdict: dict[str, list[str]] = {"better": [], "worse": [], "neither": []}
        for task, each in by_task.items():
            if subject not in each or peer not in each:
                continue
            shared = sorted(set(each[subject].seeds) & set(each[peer].seeds))
            ends = [
                np.array([runs.values[runs.seeds.index(seed), -1] for seed in shared])
                for runs in (each[subject], each[peer])
            ]
            if len(shared) < 2 or p_value(*ends) >= ALPHA:
                verdict["neither"].append(task)
            else:
                verdict["better" if ends[0].mean() < ends[1].mean() else "worse"].append(task)
        out[peer] = verdict
    return out


def summarise(results: Results, methods: Sequence[str], marks: Sequence[int]) -> dict[str, Any]:
    """The numbers of one table: these methods on the tasks that all of them have run."""
    shared = results.with_runs_of(methods)
    curves = normalised(shared, results.best)
    if not curves:
        return {"tasks": [], "methods": {}}
    rank = ranks(curves, methods)
    rows: dict[str, Any] = {}
    for i, method in enumerate(methods):
        own = [curves[task][method] for task in curves]
        mean = np.mean([curve.mean(axis=0) for curve in own], axis=0)
        by_seeds, by_tasks = (interval(own, resample_tasks=tasks_too) for tasks_too in (False, True))
        seconds = np.concatenate([shared[task][method].seconds.ravel() for task in curves])
        rows[method] = {
            "regret": {t: float(mean[t - 1]) for t in marks},
            "seeds": {t: by_seeds[:, t - 1].tolist() for t in marks},
            "tasks": {t: by_tasks[:, t - 1].tolist() for t in marks},
            "rank": {t: float(rank[i, t - 1]) for t in marks},
            "milliseconds": float(np.nanmean(seconds) * 1e3),
            "runs": int(sum(len(curve) for curve in own)),
            "family": _by_family(curves, method, marks),
        }
    return {"tasks": list(curves), "methods": rows}


def _by_family(curves: Curves, method: str, marks: Sequence[int]) -> dict[str, Any]:
    """Mean normalised regret of a method by family."""
    out = {}
    for family in dict.fromkeys(map(tasks.family, curves)):
        own = [curves[task][method].mean(axis=0) for task in curves if tasks.family(task) == family]
        out[family] = {t: float(np.mean(own, axis=0)[t - 1]) for t in marks}
    return out
