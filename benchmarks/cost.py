"""What `cost_aware=True` finds in a given time: `python -m benchmarks.cost`.

Twelve surrogates, drawn at random, whose second output is the time of the training, which varies by three orders of
magnitude. A run may spend 20 times the mean time of random configurations, in at most 150 evaluations. A line shows a
method on a problem after 2, 5, 10 and 20 times this mean: the regret, with its 95 % bootstrap interval over seeds, and
p of Wilcoxon's test against `addtree`, which is cost-aware, with Holm's correction over problems. The evaluation that
exceeds the time does not count. Regret counts from the least value of any run, in units of (median - least) of 500
random configurations; a run that has no value yet has the regret of the median. What is missing is reported and left
out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

import addtree as at
from addtree._types import Array
from addtree.paper.baselines.random_search import RandomSearch
from benchmarks import noise
from benchmarks.tasks import several
from benchmarks.tasks.several import NOW, TPE
from benchmarks.tasks.task import MissingDataError, MultiTask

SAMPLE = 500  # Random configurations that give the units of time and regret.
MARKS = (2, 5, 10, 20)  # Times, in units of the mean time of random configurations.
COST = "timetrain"
UNAWARE, RANDOM = "addtree without costs", "random"
METHODS = (NOW, UNAWARE, TPE, RANDOM)
# These were drawn at random.
DRAWN = (
    ("iaml_super", "40981", "logloss"),
    ("iaml_super", "41146", "auc"),
    ("rbv2_super", "1479", "logloss"),
    ("rbv2_super", "1056", "mmce"),
    ("rbv2_super", "40984", "auc"),
    ("rbv2_super", "41156", "logloss"),
    ("rbv2_svm", "14", "mmce"),
    ("rbv2_svm", "1220", "auc"),
    ("rbv2_svm", "41156", "mmce"),
    ("rbv2_xgboost", "60", "auc"),
    ("rbv2_xgboost", "41143", "auc"),
    ("rbv2_xgboost", "15", "auc"),
)
PROBLEMS = tuple("-".join(parts) for parts in DRAWN)


@cache
def problem(name: str) -> tuple[MultiTask, float, float]:
    """A problem by its name, the unit of time, and the unit of regret."""
    scenario, instance, objective = name.split("-")
    found = several.surrogate(scenario, instance, (objective, COST))
    values = several.sample(found, SAMPLE)
    y = [each[objective] for each in values]
    return found, float(np.mean([each[COST] for each in values])), float(np.median(y) - np.min(y))


def run_problem(name: str, method: str, seed: int, budget: int) -> list[tuple[float, float]]:
    """A run on a problem by its name (see `run`)."""
    task, unit, _ = problem(name)
    return run(task, unit, make_method(method, task.space, seed), budget)


def run(task: MultiTask, unit: float, optimizer: Native | Costless, budget: int) -> list[tuple[float, float]]:
    """The values of a run, each with the time that has passed when it is known, in units of time."""
    told: list[tuple[float, float]] = []
    passed = 0.0
    for _ in range(budget):
        config = optimizer.ask()
        values = task.evaluate(config)
        value, seconds = values[task.objectives[0]], values[COST]
        passed += seconds / unit
        if passed > max(MARKS):
            break
        optimizer.tell(config, value, seconds)
        told.append((value, passed))
    return told


class Native:
    """The optimizer of the working tree, which is told what evaluations cost."""

    def __init__(self, space: at.Space, seed: int, *, cost_aware: bool) -> None:
        self._optimizer = at.Optimizer(space, seed=seed, cost_aware=cost_aware)

    def ask(self) -> dict[str, Any]:
        """The next configuration."""
        self._trial = self._optimizer.ask()
        return self._trial.config

    def tell(self, config: Mapping[str, Any], value: float, cost: float) -> None:
        """Tell the value and the cost of the last configuration."""
        self._optimizer.tell(self._trial, value, cost=cost)


class Costless:
    """An optimizer that is not told what evaluations cost."""

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer

    def ask(self) -> dict[str, Any]:
        """The next configuration."""
        found: dict[str, Any] = self._optimizer.ask()
        return found

    def tell(self, config: Mapping[str, Any], value: float, cost: float) -> None:
        """Tell the value of the last configuration."""
        self._optimizer.tell(config, value)


def make_method(method: str, space: at.Space, seed: int) -> Native | Costless:
    """A method by its name."""
    if method in (NOW, UNAWARE):
        return Native(space, seed, cost_aware=method == NOW)
    return Costless(RandomSearch(space, seed) if method == RANDOM else noise.make_method(TPE, space, seed, ""))


def least_at_marks(run: Sequence[tuple[float, float]]) -> list[float]:
    """The least value known after each time of `MARKS`; infinite if there is none."""
    return [min((value for value, passed in run if passed <= mark), default=np.inf) for mark in MARKS]


def regrets(
    found: Mapping[tuple[Any, ...], list[tuple[float, float]]], units: Mapping[str, float], seeds: int
) -> dict[tuple[str, str], Array]:
    """By problem and method, the regrets (seeds x marks); only methods with all seeds."""
    out: dict[tuple[str, str], list[list[float]]] = {}
    for job in sorted(found):
        out.setdefault((job[0], job[1]), []).append(least_at_marks(found[job]))
    complete = {key: np.array(rows) for key, rows in out.items() if len(rows) == seeds}
    least = {name: min(np.min(rows) for key, rows in complete.items() if key[0] == name) for name, _ in complete}
    return {key: np.minimum((rows - least[key[0]]) / units[key[0]], 1.0) for key, rows in complete.items()}


def print_table(found: Mapping[tuple[str, str], Array]) -> None:
    """Print a line per problem and method, and the means over problems."""
    p_values = several.tests(found)
    for (name, method), values in found.items():
        shown = []
        for i, mark in enumerate(MARKS):
            p = f", p = {p_values[name, method, i]:.2g}" if (name, method, i) in p_values else ""
            shown.append(f"after {mark} {several.interval(values[:, i])}{p}")
        print(f"{name}, {method}: {'; '.join(shown)}", flush=True)
    compared, by_all = several.with_all_methods(found)
    for method in compared:
        mean = np.mean([found[name, method] for name in by_all], axis=0)  # seeds x marks
        shown = [f"after {mark} {several.interval(own)}" for mark, own in zip(MARKS, mean.T, strict=True)]
        print(f"mean of {len(by_all)} problems, {method}: {'; '.join(shown)}")
    several.print_verdicts(found, p_values, MARKS, sign=-1.0)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=PROBLEMS, metavar="PROBLEM")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS, metavar="METHOD")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=150, help="the largest number of evaluations of a run")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args(arguments)
    units = {}
    for name in given.problems:
        try:
            units[name] = problem(name)[2]
        except MissingDataError as error:
            print(f"left out: {error}", file=sys.stderr)
    methods = list(given.methods)
    if TPE in methods and find_spec("optuna") is None:
        print("left out: TPE, because Optuna is not installed; pip install -e '.[bench]'", file=sys.stderr)
        methods.remove(TPE)
    jobs = [(n, m, seed, given.evaluations) for seed in range(given.seeds) for n in units for m in methods]
    print_table(regrets(noise.collect(run_problem, jobs, given.processes), units, given.seeds))


if __name__ == "__main__":
    main()
