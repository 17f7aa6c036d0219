"""What earlier studies with two objectives are worth: `python -m benchmarks.history_objectives [--seeds N] [--part K]`.

The targets and their earlier studies are chosen as in `benchmarks.history`, and each study has an error and a time as
its objectives. Printed is the hypervolume after several numbers of evaluations, scaled as in `benchmarks.objectives`: 1
is the largest possible one. The means over all targets have 95 % bootstrap intervals, which resample the seeds.

    addtree+history   the earlier studies as they are
    +negated          their values with the opposite sign: hostile
    optuna-tpe        TPE, which cannot use them
    optuna-tpe+best   TPE with the best configuration of each enqueued, by the mean rank of the two objectives
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from addtree._types import Array
from addtree.run.goals import Objective
from addtree.run.history import best_configs, read_history
from addtree.support.processes import one_thread_each
from benchmarks.history import LENGTH, N_HISTORIES, data_sets
from benchmarks.objectives import SAMPLE, losses, scaled_hypervolumes
from benchmarks.tasks import several
from benchmarks.tasks.several import interval
from benchmarks.tasks.task import MultiTask, Values

SCENARIOS = {  # With the two objectives of each.
    "rbv2_super": ("mmce", "timepredict"),
    "rbv2_xgboost": ("logloss", "timetrain"),
    "rbv2_svm": ("mmce", "timetrain"),
}
BASELINE, HISTORY, NEGATED, PEER, PEER_BEST = METHODS = (
    *("addtree", "addtree+history", "+negated"),
    *("optuna-tpe", "optuna-tpe+best"),
)
MARKS = (3, 5, 10, 20, 30, 50)  # Numbers of evaluations that are printed.
TARGETS = 6  # Data sets of a scenario that are targets.

Pairs = list[tuple[dict[str, Any], Values]]


@dataclass(frozen=True)
class Run:
    """One run to be made; `others` are the data sets of its earlier studies."""

    scenario: str
    target: str
    others: tuple[str, ...]
    method: str
    seed: int
    budget: int


@cache
def problem(scenario: str, name: str) -> MultiTask:
    """A data set."""
    return several.surrogate(scenario, name, SCENARIOS[scenario])


def earlier_study(scenario: str, name: str) -> Pairs:
    """The trials of a run of addtree on a data set."""
    task = problem(scenario, name)
    session = several.Native(task, 1000)
    pairs: Pairs = []
    for _ in range(LENGTH):
        config = session.ask()
        pairs.append((config, task.evaluate(config)))
        session.tell(pairs[-1][1])
    return pairs


def evaluate(run: Run, studies: Sequence[Pairs]) -> Array:
    """The objectives of a run with these earlier studies (budget x K)."""
    task = problem(run.scenario, run.target)
    session: Any
    if run.method in (PEER, PEER_BEST):
        session = several.Peer(several.TPE, task, run.seed)
        if run.method == PEER_BEST:
            objectives = [Objective(name) for name in task.objectives]
            for config in best_configs(read_history(studies, objectives)):
                session.enqueue(config)
    else:
        sign = -1.0 if run.method == NEGATED else 1.0
        history = [[(c, {name: sign * v for name, v in values.items()}) for c, values in pairs] for pairs in studies]
        session = several.Native(task, run.seed, history=history)
    told = []
    for _ in range(run.budget):
        told.append(task.evaluate(session.ask()))
        session.tell(told[-1])
    return losses(task, told)


def print_table(results: Mapping[Run, Array], budget: int) -> None:
    """Print the mean hypervolumes of each scenario and of all."""
    found: dict[tuple[str, str], list[Array]] = {}  # By scenario and method, one array of seeds x marks per target.
    marks = [mark for mark in MARKS if mark <= budget]
    for scenario, target in dict.fromkeys((run.scenario, run.target) for run in results):
        task = problem(scenario, target)
        middle = np.median(losses(task, several.sample(task, SAMPLE)), axis=0)
        own = {
            (run.method, run.seed): y for run, y in results.items() if (run.scenario, run.target) == (scenario, target)
        }
        curves = scaled_hypervolumes(own, middle)
        for method in dict.fromkeys(key[0] for key in curves):
            rows = [[curve[mark - 1] for mark in marks] for key, curve in curves.items() if key[0] == method]
            found.setdefault((scenario, method), []).append(np.array(rows))
    print("| data sets of | method | " + " | ".join(map(str, marks)) + " |\n|---|---" + "|---" * len(marks) + "|")
    for scenario in (*SCENARIOS, "all"):
        for method in dict.fromkeys(key[1] for key in found):
            ends = [a for key, each in found.items() if key[1] == method and scenario in (key[0], "all") for a in each]
            if ends:
                mean = np.mean(np.stack(ends), axis=0)  # seeds x marks
                cells = " | ".join(interval(mean[:, i]) for i in range(len(marks)))
                print(f"| {scenario}, {len(ends)} | {method} | {cells} |")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--methods", nargs="+", choices=METHODS[1:], default=list(METHODS[1:]))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=max(MARKS))
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    runs = []
    for scenario in given.scenarios:
        pool = data_sets(scenario, given.part)
        for target in pool[:TARGETS]:
            for seed in range(given.seeds):
                rng = np.random.default_rng([seed, *target.encode()])
                others = rng.choice([name for name in pool if name != target], size=N_HISTORIES, replace=False)
                for method in (BASELINE, *given.methods):
                    chosen = () if method in (BASELINE, PEER) else tuple(map(str, others))
                    runs.append(Run(scenario, target, chosen, method, seed, given.budget))
    needed = list(dict.fromkeys((run.scenario, name) for run in runs for name in run.others))
    with one_thread_each(), ProcessPoolExecutor(given.jobs) as executor:
        made = dict(zip(needed, executor.map(earlier_study, *zip(*needed, strict=True)), strict=True))
        studies = [[made[run.scenario, name] for name in run.others] for run in runs]
        results = dict(zip(runs, executor.map(evaluate, runs, studies), strict=True))
    print_table(results, given.budget)


if __name__ == "__main__":
    main()
