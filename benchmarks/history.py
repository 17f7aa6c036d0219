"""What earlier studies are worth: `python -m benchmarks.history [--scenarios S ...] [--seeds N] [--part K] [--speed]`.

Each target is one data set of a scenario of YAHPO Gym (see `benchmarks.tasks.yahpo`). Its earlier studies are five
runs of 60 evaluations on other data sets, drawn at random for each target and seed. It prints, for several numbers of
evaluations, the regret of each method over that of addtree without a history:

    addtree+history   the earlier studies as they are
    +shuffled         their values in random order: useless
    +negated          their values with the opposite sign: hostile
    +random           earlier studies made by random search instead of addtree
    optuna-tpe        TPE, which cannot use them
    optuna-tpe+best   TPE with the best configuration of each enqueued
    optuna-tpe+meta   OptunaHub's meta-learned TPE, if `meta_learn_tpe` of its registry can be imported
    smac+best         SMAC with the best configuration of each as its initial design

The regret is the distance to the best value that any run found, divided by the mean regret of random search after 100
evaluations, and averaged over seeds and targets. Data sets that random search solves are left out. The data sets are in
a random order; `--part 1` takes the next 16 of them, so that settings are chosen on some and checked on others.
`--speed` measures the start and a suggestion with 20 earlier studies of 200 trials instead.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from addtree import Optimizer, Space
from addtree._types import Array
from addtree.support.processes import one_thread_each
from benchmarks.tasks import yahpo

SCENARIOS = {"rbv2_super": "mmce", "rbv2_xgboost": "logloss", "rbv2_svm": "mmce"}  # With the objective of each.
METHODS = (
    *("addtree", "addtree+history", "+shuffled", "+negated", "+random"),
    *("optuna-tpe", "optuna-tpe+best", "optuna-tpe+meta", "smac+best"),
)
BASELINE = "addtree"  # The method without a history.
WITH_HISTORY = frozenset(METHODS) - {BASELINE, "optuna-tpe"}
MARKS = (1, 3, 5, 10, 20, 30, 40, 50, 60, 80, 100)  # Numbers of evaluations that are printed.
POOL = 16  # Data sets of one part.
TARGETS = 8  # Data sets of a part that are targets; earlier studies may be of all others.
N_HISTORIES, LENGTH = 5, 60  # Number of earlier studies of a run, and their trials.
UNIT = 100  # Evaluations of random search whose regret is the unit of regret.
EXHAUSTIVE = 2000  # Evaluations of random search that look for the best value.
LEAST_UNIT = 1e-6  # A data set on which the regret of random search is less than this is solved.

Pairs = list[tuple[dict[str, Any], float]]


@dataclass(frozen=True)
class Run:
    """One run to be made."""

    scenario: str
    target: str
    seed: int
    method: str
    budget: int
    pool: tuple[str, ...]


def data_sets(scenario: str, part: int) -> tuple[str, ...]:
    """The data sets of one part of a scenario."""
    form = json.loads((yahpo.folder(scenario) / "config_space.json").read_text())
    names = next(entry["choices"] for entry in form["hyperparameters"] if entry["name"] == yahpo.INSTANCE)
    shuffled = np.random.default_rng(18).permutation(names)
    return tuple(str(name) for name in shuffled[part * POOL : (part + 1) * POOL])


@cache
def problem(scenario: str, name: str) -> tuple[Space, Any]:
    """The space and the objective of a data set."""
    return yahpo.problem(scenario, name, SCENARIOS[scenario])


def earlier_study(scenario: str, name: str, random: bool) -> Pairs:
    """The trials of a run on a data set, by addtree or by random search."""
    space, objective = problem(scenario, name)
    rng = np.random.default_rng(1000)
    optimizer = Optimizer(space, seed=1000)
    pairs: Pairs = []
    for _ in range(LENGTH):
        config = space.sample(rng) if random else optimizer.ask().config
        pairs.append((config, objective(config)))
        if not random:
            optimizer.tell(len(pairs) - 1, pairs[-1][1])
    return pairs


def earlier_keys(run: Run) -> list[tuple[str, str, bool]]:
    """The arguments of `earlier_study` for the earlier studies of a run."""
    if run.method not in WITH_HISTORY:
        return []
    others = [name for name in run.pool if name != run.target]
    chosen = _rng(run).choice(others, size=N_HISTORIES, replace=False)
    return [(run.scenario, str(name), run.method == "+random") for name in chosen]


def _rng(run: Run) -> np.random.Generator:
    return np.random.default_rng([run.seed, *run.target.encode()])


def spoiled(run: Run, studies: list[Pairs]) -> list[Pairs]:
    """The earlier studies of a run as its method gets them."""
    rng = _rng(run)
    if run.method == "+negated":
        return [[(config, -value) for config, value in study] for study in studies]
    if run.method == "+shuffled":
        values = [rng.permutation([value for _, value in study]).tolist() for study in studies]
        return [
            [(c, v) for (c, _), v in zip(study, new, strict=True)] for study, new in zip(studies, values, strict=True)
        ]
    return studies


def evaluate(run: Run, studies: list[Pairs]) -> Array:
    """The best value after each evaluation of a run with these earlier studies."""
    space, objective = problem(run.scenario, run.target)
    if run.method == "random":
        rng = np.random.default_rng(run.seed)
        return np.minimum.accumulate([objective(space.sample(rng)) for _ in range(run.budget)])
    values: list[float] = []
    if run.method.startswith(("optuna", "smac")):
        peer = _peer(run, space, studies)
        for _ in range(run.budget):
            config = peer.ask()
            values.append(objective(config))
            peer.tell(config, values[-1])
        return np.minimum.accumulate(values)
    optimizer = Optimizer(space, seed=run.seed, history=spoiled(run, studies))
    for _ in range(run.budget):
        trial = optimizer.ask()
        values.append(objective(trial.config))
        optimizer.tell(trial, values[-1])
    return np.minimum.accumulate(values)


def _peer(run: Run, space: Space, studies: list[Pairs]) -> Any:
    """Another optimizer, which gets the earlier studies or the best configuration of each."""
    best = [min(pairs, key=lambda pair: pair[1])[0] for pairs in studies]
    if run.method.startswith("smac"):
        from addtree.paper.baselines.smac import Smac  # needs SMAC, which the other methods do not

        return Smac(space, run.seed, budget=run.budget, initial=best)
    from benchmarks.peers import optuna_peers  # needs Optuna

    if run.method.endswith("meta"):
        return optuna_peers.tpe_meta(space, run.seed, studies)
    study = optuna_peers.tpe(space, run.seed)
    for config in best:
        study.enqueue(config)
    return study


# ---------------------------------------------------------------------- the table


def table(results: Mapping[Run, Array], budget: int) -> list[str]:
    """The lines of the table: mean regret over that of the baseline, for each scenario and for all."""
    regrets = normalised(results, budget)
    scenarios = list(dict.fromkeys(run.scenario for run in regrets))
    methods = list(dict.fromkeys(run.method for run in regrets))
    marks = [mark for mark in MARKS if mark <= budget]
    lines = ["| data sets of | method | runs | " + " | ".join(map(str, marks)) + " |", "|---" * (3 + len(marks)) + "|"]
    for scenario in (*scenarios, "all"):
        means = {}
        for method in methods:
            curves = [c for run, c in regrets.items() if run.method == method and scenario in (run.scenario, "all")]
            means[method] = np.mean(curves, axis=0)
            ratio = means[method] / np.maximum(means[BASELINE], np.finfo(float).tiny)
            cells = " | ".join(f"{ratio[mark - 1]:.2f}" for mark in marks)
            lines.append(f"| {scenario} | {method} | {len(curves)} | {cells} |")
    return lines


def normalised(results: Mapping[Run, Array], budget: int) -> dict[Run, Array]:
    """The regret after each evaluation of each run, without random search and without data sets that it solves."""
    best: dict[tuple[str, str], float] = {}
    for run, values in results.items():
        key = run.scenario, run.target
        best[key] = min(best.get(key, np.inf), float(values[-1]))
    unit = {
        (run.scenario, run.target): float(values[UNIT - 1]) - best[run.scenario, run.target]
        for run, values in results.items()
        if run.method == "random"
    }
    return {
        run: (values[:budget] - best[run.scenario, run.target]) / unit[run.scenario, run.target]
        for run, values in results.items()
        if run.method != "random" and unit[run.scenario, run.target] > LEAST_UNIT
    }


# ---------------------------------------------------------------------- time


def speed(studies: int = 20, trials: int = 200, own: int = 100, last: int = 10) -> None:
    """Print the CPU time of the start and of suggestions, in a run with a large history and in one without."""
    space, _ = problem("rbv2_super", data_sets("rbv2_super", 0)[0])
    rng = np.random.default_rng(0)

    def value(config: dict[str, Any]) -> float:
        return float(np.nansum(space.encoding.encode([config]) ** 2) + 0.1 * rng.normal())

    def study() -> Pairs:
        configs = [space.sample(rng) for _ in range(trials)]
        return [(config, value(config)) for config in configs]

    earlier = [study() for _ in range(studies)]
    for given in (earlier, []):
        begin = time.process_time()
        optimizer = Optimizer(space, seed=0, history=given)
        print(f"{len(given)} earlier studies of {trials} trials: start {time.process_time() - begin:.2f} s")
        seconds = []
        for _ in range(own + last):
            begin = time.process_time()
            trial = optimizer.ask()
            seconds.append(time.process_time() - begin)
            optimizer.tell(trial, value(trial.config))
        after = np.array(seconds[own:])
        print(f"  a suggestion after {own} own trials: {1e3 * after.mean():.0f} ms, at most {1e3 * after.max():.0f} ms")
        print(f"  the slowest of all {own + last} suggestions: {1e3 * max(seconds):.0f} ms")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--methods", nargs="+", choices=METHODS[1:], default=list(METHODS[1:7]))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--speed", action="store_true")
    given = parser.parse_args(arguments)
    if given.speed:
        speed()
        return
    runs = []
    for scenario in given.scenarios:
        pool = data_sets(scenario, given.part)
        for target in pool[:TARGETS]:
            runs.append(Run(scenario, target, 0, "random", max(EXHAUSTIVE, UNIT), pool))
            methods = (BASELINE, *given.methods)
            runs += [
                Run(scenario, target, seed, m, given.budget, pool) for seed, m in product(range(given.seeds), methods)
            ]
    keys = [earlier_keys(run) for run in runs]
    needed = list(dict.fromkeys(key for own in keys for key in own))
    with one_thread_each(), ProcessPoolExecutor(given.jobs) as executor:
        made = dict(zip(needed, executor.map(earlier_study, *zip(*needed, strict=True)), strict=True))
        studies = [[made[key] for key in own] for own in keys]
        results = dict(zip(runs, executor.map(evaluate, runs, studies), strict=True))
    print("\n".join(table(results, given.budget)))


if __name__ == "__main__":
    main()
