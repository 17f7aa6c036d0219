"""Several objectives at once: `python -m benchmarks.objectives`.

The problems are the error of a surrogate against its time, memory or number of features, conditional problems of
SBArchOpt, some of them with constraints, and the compression of FC3, error against size. `--drawn` takes pairs that
were drawn at random, and `--more` three and four objectives of surrogates, drawn at random as well.

Results are hypervolumes after 10, 20, 50 and 100 evaluations. Each objective is scaled so that the least value of any
run is 0 and the median of 500 random configurations is 1, which is the reference point: the largest possible
hypervolume is 1. Only what is feasible counts. A line shows a method on a problem: mean and 95 % bootstrap interval
over seeds, and p of Wilcoxon's test against addtree, with Holm's correction over problems. The means are those of the
problems that every method has finished. What is missing is reported and left out.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from addtree._types import Array
from addtree.search.hypervolume import hypervolumes
from benchmarks.constraints import FURTHER
from benchmarks.support.files import RECORDED
from benchmarks.tasks import architecture, several
from benchmarks.tasks.several import GP, MARKS, NSGA, TPE
from benchmarks.tasks.task import MissingDataError, MultiTask, Values

SAMPLE = 500  # Random configurations whose medians are the reference point.
PAIRS = (
    ("iaml_super", "40981", "mmce", "nf"),
    ("iaml_super", "1489", "auc", "timetrain"),
    ("iaml_super", "41146", "mmce", "rammodel"),
    ("rbv2_xgboost", "40984", "logloss", "timepredict"),
    ("rbv2_xgboost", "12", "logloss", "memory"),
    ("rbv2_svm", "1220", "mmce", "timetrain"),
)
# These were drawn at random, and nobody looked at them while the defaults were chosen.
MORE = (
    ("iaml_super", "41146", "f1", "rammodel", "ramtrain"),
    ("iaml_super", "41146", "auc", "ramtrain", "timetrain"),
    ("iaml_super", "1489", "f1", "mec", "nf"),
    ("rbv2_super", "29", "mmce", "timetrain", "timepredict"),
    ("rbv2_xgboost", "4534", "acc", "timetrain", "memory"),
    ("rbv2_xgboost", "300", "acc", "timepredict", "memory"),
    ("iaml_super", "41146", "logloss", "nf", "timepredict", "mec"),
    ("iaml_super", "40981", "mmce", "rammodel", "ramtrain", "nf"),
    ("iaml_super", "41146", "auc", "timepredict", "ias", "rammodel"),
    ("rbv2_super", "1510", "auc", "logloss", "timepredict", "timetrain"),
    ("rbv2_xgboost", "41159", "acc", "memory", "timepredict", "timetrain"),
    ("rbv2_xgboost", "41161", "auc", "timetrain", "timepredict", "memory"),
)
FC3 = "FC3 compression"
# These are conditional problems of SBArchOpt; the last two have constraints.
ARCHITECTURE = ("HierZDT1Small", "HierZDT1", "MOHierarchicalGoldstein", "MOHierarchicalRosenbrock")
USUAL = (*("-".join(pair) for pair in PAIRS), *ARCHITECTURE, FC3)
THREE_AND_FOUR = tuple("-".join(targets) for targets in MORE)
PROBLEMS = (*USUAL, *FURTHER, *THREE_AND_FOUR)


@cache
def problem(name: str) -> MultiTask:
    """A problem by its name; MissingDataError without its data or library."""
    if name in ARCHITECTURE:
        return architecture.several_objectives(name)
    if name != FC3:
        scenario, instance, *targets = name.split("-")
        return several.surrogate(scenario, instance, targets)
    from addtree.paper.compression import two_choices
    from addtree.paper.experiments import compressor

    data = os.environ.get("ADDTREE_DATA")
    if data is None or not (Path(data) / "mnist").exists():
        raise MissingDataError(f"{FC3}: there is no folder mnist in ADDTREE_DATA")
    compress: Any = compressor(Path("build/paper"), Path(data))

    def evaluate(config: Mapping[str, Any]) -> Values:
        error, size = compress.parts(config)
        return {"log error": float(np.log10(max(error, 1e-6))), "size": size}

    return MultiTask(two_choices(), evaluate, ("log error", "size"))


def losses(task: MultiTask, told: Sequence[Values]) -> Array:
    """The objectives of evaluations (n x K), infinite where they are not feasible."""
    return np.array(
        [[v[name] if task.is_feasible(v) else np.inf for name in task.objectives] for v in told], dtype=float
    )


def run_problem(name: str, method: str, seed: int, budget: int) -> list[Values]:
    """The values of a run."""
    return several.run(method, problem(name), seed, budget)


def medians(name: str) -> Array:
    """The median of each objective over feasible random configurations."""
    values = losses(problem(name), several.sample(problem(name), SAMPLE))
    return np.asarray(np.median(values[np.isfinite(values[:, 0])], axis=0))


def scaled_hypervolumes(runs: Mapping[tuple[Any, ...], Array], middle: Array) -> dict[tuple[Any, ...], Array]:
    """The hypervolume after each evaluation of each run."""
    low = np.min([run.min(axis=0) for run in runs.values()], axis=0)
    scale = np.maximum(middle - low, np.finfo(float).tiny)
    return {job: hypervolumes((run - low) / scale, np.ones(len(low))) for job, run in runs.items()}


def print_table(found: Mapping[tuple[Any, ...], Array], reference: Mapping[str, Array], seeds: int) -> None:
    """Print a line per problem and method, and the means over problems."""
    ends: dict[tuple[str, str], Array] = {}  # seeds x marks, by problem and method
    for name in dict.fromkeys(job[0] for job in found):
        by_run = scaled_hypervolumes({job: run for job, run in found.items() if job[0] == name}, reference[name])
        for method in dict.fromkeys(job[1] for job in by_run):
            curves = [curve for job, curve in by_run.items() if job[1] == method]
            if len(curves) == seeds:
                curves = [by_run[job] for job in sorted(job for job in by_run if job[1] == method)]
                ends[name, method] = np.array([several.at_marks(curve) for curve in curves])
    p_values = several.tests(ends)
    for (name, method), values in ends.items():
        shown = [f"at {mark} {several.interval(own)}" for mark, own in zip(MARKS, values.T, strict=False)]
        tests = [f"p = {p_values[name, method, i]:.2g}" for i in range(len(shown)) if (name, method, i) in p_values]
        print(f"{name}, {method}, n = {seeds} seeds: {'; '.join(shown)} {', '.join(tests)}".rstrip(), flush=True)
    compared, by_all = several.with_all_methods(ends)
    for method in compared:
        mean = np.mean([ends[name, method] for name in by_all], axis=0)  # seeds x marks
        shown = [f"at {mark} {several.interval(own)}" for mark, own in zip(MARKS, mean.T, strict=False)]
        print(f"mean of {len(by_all)} problems, {method}: {'; '.join(shown)}")
    several.print_verdicts(ends, p_values, sign=1.0)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=USUAL, metavar="PROBLEM")
    parser.add_argument("--drawn", action="store_const", const=FURTHER, dest="problems", help="19 further problems")
    parser.add_argument(
        "--more", action="store_const", const=THREE_AND_FOUR, dest="problems", help="three and four objectives"
    )
    parser.add_argument("--peers", nargs="*", choices=(NSGA, TPE, GP), default=[NSGA, TPE, GP])
    parser.add_argument("--margins", type=float, nargs="+", default=[], help="addtree with these margins (see Policy)")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=max(MARKS))
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args(arguments)
    reference = {}
    for name in given.problems:
        try:
            reference[name] = medians(name)
        except MissingDataError as error:
            print(f"left out: {error}", file=sys.stderr)
    methods = several.methods(given.peers) + [several.with_margin(margin) for margin in given.margins]
    jobs = [(n, m, seed, given.budget) for seed in range(given.seeds) for n in reference for m in methods]
    found = several.collect(run_problem, jobs, given.processes, RECORDED / "GPSampler-objectives.jsonl")
    print_table({job: losses(problem(job[0]), run) for job, run in found.items()}, reference, given.seeds)


if __name__ == "__main__":
    main()
