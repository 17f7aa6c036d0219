"""Simultaneous workers: regret of rounds of trials, compared with the same number of trials one by one.

    python -m benchmarks.rounds [--size 64] [--budget 192] [--tasks unseen] [--seeds 10] [--jobs 2]

All trials of a round are suggested before the first of them is evaluated. `ask` are rounds of `Optimizer.ask`,
`sampler` are rounds of running trials of AddTreeSampler, as that many workers ask for them, and `TPE` the same of
Optuna's TPESampler with `constant_liar`. `sampler, workers` and `TPE, workers` have no rounds: a worker whose trial has
ended begins the next one at once. A trial lasts between 0.5 and 1.5 units of time, at random.

Prints mean regret at the end of each round, in units of the regret of random search at 100 evaluations, over tasks and
seeds, and the standard error of the last one over seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from heapq import heappop, heappush
from typing import Any

import numpy as np
import optuna

import addtree as at
from addtree.optuna import AddTreeSampler
from addtree.study.task import suggest_config
from addtree.support.processes import worker_pool
from benchmarks import tasks

_RANDOM = 100  # Evaluations of random search whose regret is the unit.
_ONE_BY_ONE = "one by one"


def rounds_of_optimizer(task: tasks.Task, seed: int, size: int) -> Iterator[list[float]]:
    """Values of rounds of `Optimizer.ask`."""
    optimizer = at.Optimizer(task.space, seed=seed)
    while True:
        trials = optimizer.ask(size)
        values = [task.objective(trial.config) for trial in trials]
        for trial, value in zip(trials, values, strict=True):
            optimizer.tell(trial, value)
        yield values


def rounds_of_sampler(sampler: optuna.samplers.BaseSampler, task: tasks.Task, size: int) -> Iterator[list[float]]:
    """Values of rounds of trials that run at the same time."""
    study = optuna.create_study(sampler=sampler)
    while True:
        trials = [study.ask() for _ in range(size)]
        values = [task.objective(suggest_config(trial, task.space)) for trial in trials]
        for trial, value in zip(trials, values, strict=True):
            study.tell(trial, value)
        yield values


def workers_of_sampler(
    sampler: optuna.samplers.BaseSampler, task: tasks.Task, seed: int, size: int
) -> Iterator[list[float]]:
    """Values of trials, one by one as they end, of workers that do not wait for each other."""
    study, rng = optuna.create_study(sampler=sampler), np.random.default_rng(seed)
    running: list[tuple[float, int, optuna.Trial, float]] = []

    def start(now: float) -> None:
        trial = study.ask()
        value = task.objective(suggest_config(trial, task.space))
        heappush(running, (now + rng.uniform(0.5, 1.5), trial.number, trial, value))

    for _ in range(size):
        start(0.0)
    while True:
        now, _, trial, value = heappop(running)
        study.tell(trial, value)
        yield [value]
        start(now)


def rounds_at_random(task: tasks.Task, seed: int, size: int) -> Iterator[list[float]]:
    """Values of rounds of random search."""
    rng = np.random.default_rng(seed)
    while True:
        yield [task.objective(task.space.sample(rng)) for _ in range(size)]


def _tpe(seed: int) -> optuna.samplers.TPESampler:
    return optuna.samplers.TPESampler(seed=seed, constant_liar=True)


Rounds = Callable[[tasks.Task, int, int], Iterator[list[float]]]
METHODS: Mapping[str, Rounds] = {
    "random": rounds_at_random,
    _ONE_BY_ONE: lambda task, seed, size: rounds_of_optimizer(task, seed, 1),
    "ask": rounds_of_optimizer,
    "sampler": lambda task, seed, size: rounds_of_sampler(AddTreeSampler(task.space, seed=seed), task, size),
    "TPE": lambda task, seed, size: rounds_of_sampler(_tpe(seed), task, size),
    "sampler, workers": lambda task, seed, size: workers_of_sampler(
        AddTreeSampler(task.space, seed=seed), task, seed, size
    ),
    "TPE, workers": lambda task, seed, size: workers_of_sampler(_tpe(seed), task, seed, size),
}


def run(method: str, task: str, seed: int, size: int, budget: int) -> list[float]:
    """The best value so far after each evaluation."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    values: list[float] = []
    for found in METHODS[method](tasks.load(task), seed, size):
        values += [value if np.isfinite(value) else np.inf for value in found]  # a failure improves on nothing
        if len(values) >= budget:
            break
    return [float(value) for value in np.minimum.accumulate(values[:budget])]


def report(found: Mapping[tuple[str, str, int], list[float]], size: int, budget: int) -> None:
    """Print the table."""
    methods, names, seeds = (list(dict.fromkeys(part)) for part in zip(*found, strict=True))
    marks = range(min(size, budget), budget + 1, size)
    found_by: dict[str, list[Any]] = {method: [] for method in methods}
    for task in names:
        least = min([tasks.reference(task) or np.inf, *(v[-1] for (_, t, _), v in found.items() if t == task)])
        unit = np.mean([found["random", task, seed][min(_RANDOM, budget) - 1] - least for seed in seeds])
        for method in methods:
            found_by[method].append((np.array([found[method, task, seed] for seed in seeds]) - least) / unit)
    by_seed = {method: np.mean(regrets, axis=0) for method, regrets in found_by.items()}  # seeds x budget
    end = np.mean(by_seed[_ONE_BY_ONE][:, -1])
    print("| method | " + " | ".join(f"at {n}" for n in marks) + " | standard error | of one by one |")
    print("|---" * (3 + len(marks)) + "|")
    for method, regret in by_seed.items():
        row = " | ".join(f"{np.mean(regret[:, n - 1]):.3f}" for n in marks)
        error = np.std(regret[:, -1], ddof=1) / np.sqrt(len(seeds)) if len(seeds) > 1 else np.nan
        print(f"| {method} | {row} | {error:.3f} | {np.mean(regret[:, -1]) / end:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--budget", type=int, default=192)
    parser.add_argument("--tasks", nargs="+", default=["unseen"], help=tasks.HELP)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    names, methods = tasks.matching(args.tasks), dict.fromkeys(["random", _ONE_BY_ONE, *args.methods])
    jobs = [(method, task, seed) for task in names for seed in range(args.seeds) for method in methods]
    with worker_pool(args.jobs) as pool:
        pending = {job: pool.submit(run, *job, args.size, args.budget) for job in jobs}
        report({job: future.result() for job, future in pending.items()}, args.size, args.budget)


if __name__ == "__main__":
    main()
