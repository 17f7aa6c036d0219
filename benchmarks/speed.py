"""What a suggestion costs, against peers and as problems grow.

    OMP_NUM_THREADS=1 python -m benchmarks.speed [--parts peers observations vertices ...] [--methods ...]

Milliseconds are those of one run on one machine with one BLAS thread: read the ratios. A suggestion is one ask and one
tell; the objective's own time is not in it.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import addtree as at
from addtree.problems import synthetic
from benchmarks import peers, tasks

IAML = "yahpo/iaml_super-1489-mmce"
Objective = Callable[[Mapping[str, Any]], float]


def timed(method: str, space: at.Space, objective: Objective, n: int) -> list[float]:
    """Milliseconds of each of n suggestions of a run from scratch."""
    session, out = peers.start(method, space, 0), []
    for _ in range(n):
        start = time.perf_counter()
        config = session.ask()
        asked = time.perf_counter() - start
        value = objective(config)
        start = time.perf_counter()
        session.tell(config, value)
        out.append(1e3 * (asked + time.perf_counter() - start))
    return out


def loaded(space: at.Space, objective: Objective, n: int, suggestions: int = 20) -> tuple[float, float]:
    """Milliseconds of the first suggestion after n observations from outside, and the mean of those that follow."""
    rng, optimizer = np.random.default_rng(0), at.Optimizer(space, seed=0)
    for _ in range(n):
        config = space.sample(rng)
        optimizer.tell(config, objective(config))
    out = []
    for _ in range(1 + suggestions):
        start = time.perf_counter()
        trial = optimizer.ask()
        out.append(1e3 * (time.perf_counter() - start))
        optimizer.tell(trial, objective(trial.config))
    return out[0], float(np.mean(out[1:]))


def bowl(config: Mapping[str, Any]) -> float:
    """Some function of the active numbers."""
    return float(sum((v - 0.3) ** 2 for v in config.values() if isinstance(v, float)))


def tree(depth: int, name: str = "x") -> at.Space:
    """A perfect binary tree with a parameter in every vertex."""
    own: dict[str, Any] = {name: at.Real(0, 1)}
    if depth > 1:
        own[f"{name}?"] = at.Choice({o: tree(depth - 1, f"{name}{o}") for o in (0, 1)})
    return at.Space(own)


def choices(n: int) -> at.Space:
    """n independent binary choices with a parameter under each option: 2n vertices, 2^n paths."""
    return at.Space({f"c{i}": at.Choice({o: at.Space({f"x{i}{o}": at.Real(0, 1)}) for o in (0, 1)}) for i in range(n)})


def against_peers(methods: list[str]) -> None:
    problem = synthetic()
    for title, space, objective, at_n in (
        ("the paper's function, n = 80", problem.space, problem.objective, 80),
        (f"{IAML}, n = 100", *_iaml(), 100),
    ):
        if space is None:
            print(f"\n{title}: skipped, ADDTREE_DATA names no folder with yahpo/ (see benchmarks/README.md)")
            continue
        print(f"\n{title}: mean of the 20 suggestions before it, and of all")
        print("\n| method | ms | all, ms | addtree / it |\n|---|---|---|---|")
        ours = float("nan")
        for method in ["addtree", *methods]:
            n = at_n if method != "botorch-hierarchical" else 22  # minutes a suggestion by then
            try:
                ms = timed(method, space, objective, n)
            except ImportError as error:
                print(f"| {method} | not installed: {error} | | |")
                continue
            late = float(np.mean(ms[-20:] if n == at_n else ms[-2:]))
            ours = late if method == "addtree" else ours
            note = "" if n == at_n else f" (n = {n})"
            print(f"| {method}{note} | {late:.1f} | {np.mean(ms):.1f} | {ours / late:.3g} |", flush=True)


def _iaml() -> tuple[Any, Any]:
    try:
        task = tasks.load(IAML)
    except tasks.MissingDataError:
        return None, None
    return task.space, task.objective


def growth(title: str, sizes: list[tuple[int, at.Space, Objective, int]]) -> None:
    print(f"\n| {title} | first suggestion, ms | the next 20, mean ms | exponent |\n|---|---|---|---|")
    last: tuple[int, float] | None = None
    for size, space, objective, n in sizes:
        first, mean = loaded(space, objective, n)
        slope = "" if last is None else f"{np.log(mean / last[1]) / np.log(size / last[0]):.2f}"
        print(f"| {size} | {first:.0f} | {mean:.1f} | {slope} |", flush=True)
        last = (size, mean)
    print(f"\npeak memory so far: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def start_up() -> None:
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    run = [sys.executable, "-c"]
    for module in ("addtree", "numpy, scipy.optimize, scipy.sparse.csgraph"):
        seconds = [
            float(subprocess.run([*run, code.format(module)], capture_output=True, text=True, check=True).stdout)
            for _ in range(5)
        ]
        print(f"import {module}: {np.median(seconds):.2f} s (median of 5)")


def stages() -> None:
    """Where the time of the last 20 of 100 suggestions goes, by stage."""
    problem, optimizer = synthetic(), at.Optimizer(synthetic().space, seed=0)
    start = time.perf_counter()
    profile = cProfile.Profile()
    for i in range(100):
        if i == 80:
            total = time.perf_counter() - start
            profile.enable()
        trial = optimizer.ask()
        optimizer.tell(trial, problem.objective(trial.config))
    profile.disable()
    print(f"\nthe first 80 suggestions took {total:.2f} s; of the next 20, under the profiler:")
    print("\n| stage | share |\n|---|---|")
    stats: Any = pstats.Stats(profile)
    whole = stats.total_tt
    for (file, _, name), (_, _, _, cumulative, _) in sorted(stats.stats.items(), key=lambda item: -item[1][3]):
        if "addtree" in file and name in ("fit", "condition", "candidates", "decomposed", "climb", "score", "suggest"):
            print(f"| {os.path.basename(file)}: {name} | {100 * cumulative / whole:.0f} % |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ["peers", "observations", "vertices", "choices", "start", "stages"]
    parser.add_argument("--parts", nargs="+", default=parts, choices=parts)
    parser.add_argument("--methods", nargs="+", default=["optuna-tpe", "optuna-tpe-group", "optuna-gp-flat"])
    args = parser.parse_args()
    if "start" in args.parts:
        start_up()
    if "peers" in args.parts:
        against_peers(args.methods)
    if "observations" in args.parts:
        space, objective = _iaml()
        if space is None:
            space, objective = synthetic().space, synthetic().objective
        growth("observations", [(n, space, objective, n) for n in (20, 100, 250, 500, 1000, 2000, 10_000)])
    if "vertices" in args.parts:
        growth(
            "vertices of a binary tree, 100 observations", [(2**d - 1, tree(d), bowl, 100) for d in (3, 5, 7, 9, 10)]
        )
    if "choices" in args.parts:
        growth("independent choices, 100 observations", [(n, choices(n), bowl, 100) for n in (2, 5, 10, 20, 40)])
    if "stages" in args.parts:
        stages()


if __name__ == "__main__":
    main()
