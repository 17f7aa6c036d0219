"""What is found if evaluations are noisy: `python -m benchmarks.noise`.

    cells     the paper's function and three surrogates, each with noise of three standard deviations, which the
              optimizer has to learn. The true regret of what is recommended, as a share of that of the best value of
              Optuna's TPE (multivariate and grouped) and of what an earlier commit recommends. On a surrogate the
              standard deviation is in units of (median - least) of 200 random values
    branches  three branches with noise of 0.3, learned and declared: the true value of what is recommended, whose
              least is 0
    arms      eight configurations, the best better by at least 0.3, with noise of 0.3, learned and declared: how many
              of 64 further evaluations the best one gets

A missing data set, Optuna or commit is reported and left out.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import addtree as at
from addtree.support.processes import worker_pool
from benchmarks import revision, tasks
from benchmarks.paired import holm
from benchmarks.support import regret

PARTS = ("cells", "branches", "arms")
FUNCTION = "function/synthetic"
SURROGATES = ("yahpo/iaml_super-1489-auc", "yahpo/rbv2_svm-1220-mmce", "yahpo/rbv2_xgboost-40984-logloss")
SDS = (0.05, 0.1, 0.3)
COMMIT = "da5dcbd"  # The last commit before noise was learned.
NOW, TPE, EARLIER = "now", "TPE", "earlier"
UNIT_SAMPLE = 200  # Random values whose (median - least) is the unit of the noise on a surrogate.
FLOOR = 1e-9  # Regrets below this count as this, so that their ratios exist.
BRANCHES_SD, BRANCHES_BUDGET = 0.3, 80
ARMS, ARMS_SD, ARMS_BUDGET = 8, 0.3, 64

T = TypeVar("T")
Objective = Callable[[Mapping[str, Any]], float]


@dataclass(frozen=True)
class Found:
    """What a run found: the true value of what it recommends, and the least true value of all that it evaluated."""

    recommended: float
    least: float


# ---------------------------------------------------------------------- noisy tasks


@cache
def noisy_task(name: str) -> tuple[tasks.Task, float]:
    """A task, and the unit of its noise."""
    task = tasks.load(name)
    if name == FUNCTION:
        return task, 1.0
    rng = np.random.default_rng(0)
    values = [task.objective(task.space.sample(rng)) for _ in range(UNIT_SAMPLE)]
    return task, float(np.median(values) - np.min(values))


def run_cell(name: str, sd: float, method: str, seed: int, budget: int, source: str) -> Found:
    """One run of a method on a noisy task. `source` is the folder of the earlier commit."""
    task, unit = noisy_task(name)
    rng, told, configs = np.random.default_rng([seed, 1]), [], []
    optimizer = make_method(method, task.space, seed, source)
    for _ in range(budget):
        configs.append(optimizer.ask())
        told.append(task.objective(configs[-1]) + sd * unit * rng.normal())
        optimizer.tell(configs[-1], told[-1])
    chosen = configs[int(np.argmin(told))] if method == TPE else optimizer.recommend()
    return Found(task.objective(chosen), min(map(task.objective, configs)))


def make_method(method: str, space: at.Space, seed: int, source: str) -> Any:
    """A method with `ask`, `tell` and, except for TPE, `recommend`."""
    if method == TPE:
        from benchmarks.peers import optuna_peers  # Optuna may be missing

        return optuna_peers.tpe_group(space, seed)
    return Native(space, seed) if method == NOW else Process(space, seed, source)


class Native:
    """The optimizer of the working tree."""

    def __init__(self, space: at.Space, seed: int) -> None:
        self._optimizer = at.Optimizer(space, seed=seed)

    def ask(self) -> dict[str, Any]:
        self._trial = self._optimizer.ask()
        return self._trial.config

    def tell(self, config: Mapping[str, Any], value: float) -> None:
        if math.isnan(value):
            self._optimizer.tell(self._trial, failed=True)
        else:
            self._optimizer.tell(self._trial, value)

    def recommend(self) -> dict[str, Any]:
        return self._optimizer.recommend().config


class Process:
    """The optimizer of an earlier commit, in a process of its own."""

    def __init__(self, space: at.Space, seed: int, source: str) -> None:
        script = Path(__file__).parent / "support" / "optimizer_process.py"
        self._process = subprocess.Popen(
            [sys.executable, str(script)],
            env=revision.environment(Path(source)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._send(json.dumps({"space": space.to_dict(), "seed": seed}))

    def ask(self) -> dict[str, Any]:
        self._send("ask")
        return self._receive()

    def tell(self, config: Mapping[str, Any], value: float) -> None:
        self._send(repr(float(value)))

    def recommend(self) -> dict[str, Any]:
        self._send("recommend")
        found = self._receive()
        self._process.communicate()
        return found

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found


# ---------------------------------------------------------------------- three branches, eight configurations


def branches() -> tuple[at.Space, Objective]:
    """Three branches with a parameter each, and one that they share; the least value is 0."""
    unit = at.Real(0, 1)
    space = at.Space(w=unit, branch=at.Choice(a=at.Space(x=unit), b=at.Space(y=unit), c=at.Space(z=unit)))

    def objective(config: Mapping[str, Any]) -> float:
        own = {
            "a": lambda c: 0.3 + (c["x"] - 0.2) ** 2,
            "b": lambda c: (c["y"] - 0.7) ** 2,
            "c": lambda c: 0.15 + (c["z"] - 0.5) ** 2,
        }[config["branch"]](config)
        return float(own + 0.5 * (config["w"] - 0.4) ** 2)

    return space, objective


def run_branches(seed: int, noise: float | None) -> float:
    """The true value of what is recommended."""
    space, objective = branches()
    optimizer, rng = at.Optimizer(space, seed=seed, noise=noise), np.random.default_rng([seed, 1])
    for _ in range(BRANCHES_BUDGET):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.config) + BRANCHES_SD * rng.normal())
    return objective(optimizer.recommend().config)


def run_arms(seed: int, noise: float | None) -> int:
    """How many of the further evaluations the best of eight configurations gets, after one of each."""
    rng = np.random.default_rng([seed, 1])
    means = rng.permutation([0.0, *(0.3 + 0.1 * k for k in range(ARMS - 1))])
    optimizer = at.Optimizer(at.Space(arm=at.Categorical(tuple(range(ARMS)))), seed=seed, noise=noise)
    for arm in range(ARMS):
        optimizer.tell({"arm": arm}, means[arm] + ARMS_SD * rng.normal())
    best = 0
    for _ in range(ARMS_BUDGET):
        trial = optimizer.ask()
        best += int(means[trial.config["arm"]] == 0.0)
        optimizer.tell(trial, means[trial.config["arm"]] + ARMS_SD * rng.normal())
    return best


# ---------------------------------------------------------------------- tables


def collect(
    function: Callable[..., T],
    jobs: Iterable[tuple[Any, ...]],
    processes: int,
    keep: Callable[[Any, T], None] = lambda job, result: None,
) -> dict[tuple[Any, ...], T]:
    """The results of a function by its arguments; a run that fails is reported and left out.

    `keep` is called with the arguments and the result as soon as there is one.
    """
    found: dict[tuple[Any, ...], T] = {}
    with worker_pool(processes) as pool:
        futures = {pool.submit(function, *job): job for job in jobs}
        for future in as_completed(futures):
            try:
                found[futures[future]] = future.result()
                keep(futures[future], found[futures[future]])
            except Exception as error:
                print(f"left out: {futures[future]}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    return found


def regrets(found: Mapping[tuple[Any, ...], Found], seeds: int) -> dict[tuple[str, float], dict[str, Any]]:
    """By cell and method, the true regrets of the recommended, one per seed; only methods with all seeds."""
    out: dict[tuple[str, float], dict[str, Any]] = {}
    for name, sd in dict.fromkeys((job[0], job[1]) for job in found):
        known = [result.least for job, result in found.items() if job[0] == name]
        least = min([*known, *(r for r in [tasks.reference(name)] if r is not None)])
        for method in dict.fromkeys(job[2] for job in found):
            runs = {job[3]: result for job, result in found.items() if job[:3] == (name, sd, method)}
            if len(runs) == seeds:
                values = np.array([runs[seed].recommended for seed in range(seeds)]) - least
                out.setdefault((name, sd), {})[method] = np.maximum(values, FLOOR)
    return out


def print_cells(found: Mapping[tuple[Any, ...], Found], seeds: int) -> None:
    """Print the regrets, their shares, and the tests."""
    by_cell = regrets(found, seeds)
    pairs = {(cell, peer) for cell, each in by_cell.items() for peer in (TPE, EARLIER) if {NOW, peer} <= each.keys()}
    p_values = holm({pair: regret.p_value(by_cell[pair[0]][NOW], by_cell[pair[0]][pair[1]]) for pair in pairs})
    print(f"true regret of the recommended, mean of {seeds} seeds; in brackets, Holm's p of Wilcoxon's test\n")
    print("| task | noise | now | TPE's best | share | earlier commit | share |\n|---|---|---|---|---|---|---|")
    shares: dict[str, list[float]] = {TPE: [], EARLIER: []}
    for cell, each in by_cell.items():
        if NOW not in each:
            continue
        mean = {method: float(np.mean(values)) for method, values in each.items()}
        shown = [cell[0], f"{cell[1]:g}", f"{mean[NOW]:.4g}"]
        for peer in (TPE, EARLIER):
            if peer not in each:
                shown += ["-", "-"]
                continue
            shares[peer].append(mean[NOW] / mean[peer])
            shown += [f"{mean[peer]:.4g}", f"{shares[peer][-1]:.2f} ({p_values[cell, peer]:.2g})"]
        print("| " + " | ".join(shown) + " |")
    print()
    for peer, each_share in shares.items():
        if each_share:
            geometric = float(np.exp(np.mean(np.log(each_share))))
            worse = [
                f"{cell[0]} at {cell[1]:g}"
                for cell, other in pairs
                if other == peer and p_values[cell, peer] < regret.ALPHA
                if np.mean(by_cell[cell][NOW]) > np.mean(by_cell[cell][peer])
            ]
            print(
                f"{peer}: geometric mean of {len(each_share)} shares {geometric:.2f} (wanted at most 0.6); "
                f"significantly above 1: {', '.join(worse) or 'none'} (wanted none)"
            )
    print(flush=True)


def available(names: Sequence[str]) -> list[str]:
    """The tasks whose data are here; the others are reported."""
    here = []
    for name in names:
        try:
            tasks.load(name)
        except tasks.MissingDataError as error:
            print(f"left out: {error}", file=sys.stderr)
        else:
            here.append(name)
    return here


def measure_cells(names: Sequence[str], commit: str, seeds: int, budget: int, processes: int) -> None:
    """The part `cells`."""
    methods = [NOW]
    if find_spec("optuna") is None:
        print("left out: TPE, because Optuna is not installed; pip install -e '.[bench]'", file=sys.stderr)
    else:
        methods.append(TPE)
    with ExitStack() as stack:
        source = ""
        if revision.exists(commit):
            source = str(stack.enter_context(revision.source(commit)))
            methods.append(EARLIER)
        else:
            print(f"left out: commit {commit}, which this checkout does not have", file=sys.stderr)
        jobs = [
            (name, sd, method, seed, budget, source)
            for name in available(names)
            for sd in SDS
            for method in methods
            for seed in range(seeds)
        ]
        print_cells(collect(run_cell, jobs, processes), seeds)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--tasks", nargs="+", default=(FUNCTION, *SURROGATES), help="tasks of the cells")
    parser.add_argument("--commit", default=COMMIT, help="the earlier commit")
    parser.add_argument("--seeds", type=int, default=10, help="seeds of the cells and of the eight configurations")
    parser.add_argument("--branch-seeds", type=int, default=40, help="seeds of the three branches")
    parser.add_argument("--budget", type=int, default=100, help="evaluations of a run of the cells")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args(arguments)
    if "cells" in given.parts:
        measure_cells(tasks.matching(given.tasks), given.commit, given.seeds, given.budget, given.processes)
    for noise in (None, BRANCHES_SD) if "branches" in given.parts else ():
        jobs = [(seed, noise) for seed in range(given.branch_seeds)]
        values = list(collect(run_branches, jobs, given.processes).values())
        error = np.std(values) / np.sqrt(len(values))
        how = "learned" if noise is None else "declared"
        print(
            f"three branches, noise {how}: true value {np.mean(values):.3f} ± {error:.3f}, median "
            f"{np.median(values):.3f}, {len(values)} seeds (wanted at most 0.05)",
            flush=True,
        )
    for noise in (None, ARMS_SD) if "arms" in given.parts else ():
        counts = list(collect(run_arms, [(seed, noise) for seed in range(given.seeds)], given.processes).values())
        how = "learned" if noise is None else "declared"
        print(
            f"eight configurations, noise {how}: the best gets {np.median(counts):g} of {ARMS_BUDGET} evaluations "
            f"(median; {min(counts)} to {max(counts)}, {len(counts)} seeds; wanted at least 32)",
            flush=True,
        )


if __name__ == "__main__":
    main()
