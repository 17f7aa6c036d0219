"""What each ingredient of the default is worth: the same runs with one thing changed.

    OMP_NUM_THREADS=1 python -m benchmarks.variants [names ...] [--tasks yahpo] [--seeds 4] [--budget 100] [--jobs 2]

Prints, per variant, the median over tasks of its mean regret at 30, 50 and the last evaluation, in units of the
default's at the last. Names: see `VARIANTS`. `docs/design-notes.md` tells what came of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from multiprocessing import get_context
from typing import Any

import numpy as np

import addtree as at
from benchmarks import tasks

Change = dict[tuple[str, str], Any]  # (module of addtree, name in it) -> value


def prior(**groups: tuple[float, float, float]) -> Change:
    """Another prior: median of the exponential, spread of the members, spread of their mean."""
    from addtree.model.fit import PRIOR

    return {("fit", "PRIOR"): {**PRIOR, **{name: (float(np.log(m)), s, p) for name, (m, s, p) in groups.items()}}}


VARIANTS: dict[str, Callable[[], Change]] = {
    "default": dict,
    "no warp": lambda: {("fit", "_POWER"): (1.0, 1.0)},
    "wild values clipped": lambda: {("output", "_SOFT"): 1e-9},
    "wild values kept longer": lambda: {("output", "_WILD"): 4.0},
    "never aiming lower": lambda: {("suggest", "_AIM"): 0.0},
    "no local turns": lambda: {("suggest", "_LOCAL"): -1},
    "no turns for neglected branches": lambda: {("suggest", "_is_triangular"): lambda turn: False},
    "one visit to an option": lambda: {("optimizer", "_VISITS"): {"map": 1}},
    "fitted at every observation": lambda: {("optimizer", "_REFIT"): 10**9},
    "shorter lengthscales": lambda: prior(lengthscale=(0.5, 0.8, 0.7), main=(0.5, 1.0, 1.0)),
    "stronger interactions": lambda: prior(interaction=(0.2, 1.0, 1.0)),
    "more noise": lambda: prior(noise=(1e-4, 2.0, 0.0)),
    "four times the candidates": lambda: {("candidates", "_ANYWHERE"): 512, ("candidates", "_NEAR"): 384},
}


def run(variant: str, task: str, seed: int, budget: int) -> list[float]:
    """Best value so far after each evaluation. In a process of its own, since it changes the modules' constants."""
    for (module, name), value in VARIANTS[variant]().items():
        setattr(import_module(f"addtree.{module}"), name, value)
    loaded = tasks.load(task)
    result = at.minimize(loaded.objective, loaded.space, n_trials=budget, seed=seed)
    values = [np.inf if t.value is None else t.value for t in result.trials]
    return [float(v) for v in np.minimum.accumulate(values)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(VARIANTS), help=", ".join(VARIANTS))
    parser.add_argument("--tasks", nargs="+", default=["yahpo"])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    names = list(dict.fromkeys(["default", *args.names]))
    jobs = [(v, t, s) for v in names for t in tasks.matching(args.tasks) for s in range(args.seeds)]
    with get_context("spawn").Pool(args.jobs, maxtasksperchild=1) as pool:
        values = pool.starmap(run, [(*job, args.budget) for job in jobs], chunksize=1)
    found = dict(zip(jobs, values, strict=True))
    least = {
        t: min([tasks.reference(t) or np.inf, *(v[-1] for j, v in found.items() if j[1] == t)]) for _, t, _ in jobs
    }
    at_n = [*(n for n in (30, 50) if n < args.budget), args.budget]
    print("| variant | " + " | ".join(f"at {n}" for n in at_n) + " |\n" + "|---" * (1 + len(at_n)) + "|")
    for name in names:
        ratios = []
        for task in least:
            unit = np.mean([found["default", task, s][-1] - least[task] for s in range(args.seeds)])
            regret = [[found[name, task, s][n - 1] - least[task] for n in at_n] for s in range(args.seeds)]
            ratios.append(np.mean(regret, axis=0) / max(unit, 1e-12))
        print(f"| {name} | " + " | ".join(f"{x:.2f}" for x in np.median(ratios, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    main()
