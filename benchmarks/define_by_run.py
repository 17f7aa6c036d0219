"""Define-by-run code against a declared space, on the same tasks and seeds.

    python -m benchmarks.define_by_run [--tasks yahpo unseen function/synthetic] [--seeds 10] [--jobs 2]

Runs `addtree` (declared), `addtree-define-by-run` and random search, unless the folder of results has their runs. For
each mark, prints the regret of define-by-run as a multiple of the declared one's, with a 95 % bootstrap interval that
resamples the seeds within each task. A function with a known optimum has a row of its own, with the medians of
log10 regret, because its regret spans many decades. Last come the milliseconds per suggestion.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from addtree._types import Array
from benchmarks import tasks
from benchmarks.run import execute, plan, with_data
from benchmarks.support import regret
from benchmarks.support.files import RESULTS
from benchmarks.support.regret import BASELINE, Results

DECLARED, DEFINED = "addtree", "addtree-define-by-run"
MARKS = (10, 20, 30, 50, 100)
FLOOR = 1e-12  # Regrets below this are taken for it before logarithms are compared.


def median_logs(found: Mapping[str, regret.Runs], optimum: float) -> tuple[Array, Array]:
    """The median log10 regret of the declared space and of define-by-run code (each: budget)."""
    logs = [np.log10(np.maximum(found[method].values - optimum, FLOOR)) for method in (DECLARED, DEFINED)]
    declared, defined = (np.median(log, axis=0) for log in logs)
    return declared, defined


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns 1 if a run has failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=["yahpo", "unseen", "function/synthetic"], help=tasks.HELP)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for results (default: benchmarks/results)")
    given = parser.parse_args(arguments)
    names = with_data(tasks.matching(given.tasks))
    runs = plan(names, (DECLARED, DEFINED, BASELINE), range(given.seeds), given.budget, given.out)
    failed = [f"{run.task} {run.method} {run.seed}: {error}" for run, _, _, error in execute(runs, given.jobs) if error]
    for line in failed:
        print(line, file=sys.stderr)
    found = regret.read(given.out, given.budget)
    print_tables({task: found[task] for task in names if task in found}, given.budget)
    return int(bool(failed))


def print_tables(found: regret.ByTask, budget: int) -> None:
    """The tables that the docstring describes."""
    marks = [mark for mark in MARKS if mark <= budget]
    real = {task: each for task, each in found.items() if tasks.family(task) != "function"}
    curves = regret.normalised(real, Results.from_runs(real).best) if real else {}
    print("| | " + " | ".join(f"at {mark}" for mark in marks) + " |\n|---" + "|---" * len(marks) + "|")
    if curves:
        for method in (DECLARED, DEFINED):
            mean = np.mean([each[method].mean(axis=0) for each in curves.values()], axis=0)
            print(f"| {method} | " + " | ".join(f"{mean[mark - 1]:.2f}" for mark in marks) + " |")
        defined, declared = ([each[method] for each in curves.values()] for method in (DEFINED, DECLARED))
        centre, low, high = regret.ratio(defined, declared)
        cells = [f"{centre[m - 1]:.2f} ({low[m - 1]:.2f}–{high[m - 1]:.2f})" for m in marks]
        print(f"| ratio, {len(curves)} tasks | " + " | ".join(cells) + " |")
    for task in found.keys() - real.keys():
        logs = median_logs(found[task], tasks.reference(task) or 0.0)
        cells = [" / ".join(f"{log[m - 1]:.1f}" for log in logs) for m in marks]
        print(f"| {task}, log10, declared / define-by-run | " + " | ".join(cells) + " |")
    for method in (DECLARED, DEFINED):
        seconds = np.concatenate([each[method].seconds.ravel() for each in found.values()])
        print(f"{method}: {1e3 * seconds.mean():.1f} ms per suggestion")


if __name__ == "__main__":
    sys.exit(main())
