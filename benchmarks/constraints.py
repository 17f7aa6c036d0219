"""One objective under a constraint: `python -m benchmarks.constraints`.

The error of a surrogate is minimised while its time, memory or number of features stays below a limit that 1 to 30 % of
500 random configurations keep; `--drawn` takes 19 problems that were drawn at random. A line shows a method on a
problem after 10, 20, 50 and 100 evaluations: the number of runs that found something feasible, and the feasible regret,
with its 95 % bootstrap interval over seeds and p of Wilcoxon's test against addtree, with Holm's correction over
problems. Regret counts from the least feasible value of any run, in units of (median - least) of the feasible values of
the sample; a run without a feasible value has the largest regret of all runs. The means are those of the problems that
every method has finished. What is missing is reported and left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from addtree._types import Array
from benchmarks.support.files import RECORDED
from benchmarks.tasks import several
from benchmarks.tasks.several import GP, MARKS, TPE
from benchmarks.tasks.task import MissingDataError, MultiTask, Values

SAMPLE = 500  # Random configurations from which the limit is computed.
SHARES = {  # The share of random configurations that keep the limit; keys end with the objective and the limited value.
    ("iaml_super", "40981", "mmce", "nf"): 0.1,
    ("iaml_super", "1489", "auc", "timetrain"): 0.05,
    ("iaml_super", "41146", "logloss", "rammodel"): 0.3,
    ("rbv2_xgboost", "40984", "logloss", "memory"): 0.02,
    ("rbv2_xgboost", "12", "logloss", "timepredict"): 0.1,
    ("rbv2_svm", "1220", "mmce", "timetrain"): 0.01,
}
# These were drawn at random, after most of the defaults had been chosen.
DRAWN = {
    ("iaml_super", "41146", "mmce", "nf"): 0.01,
    ("rbv2_super", "40670", "mmce", "timetrain"): 0.01,
    ("rbv2_xgboost", "11", "acc", "timepredict"): 0.01,
    ("rbv2_svm", "1590", "logloss", "timepredict"): 0.01,
    ("iaml_super", "40981", "logloss", "timepredict"): 0.02,
    ("rbv2_super", "1464", "logloss", "timepredict"): 0.02,
    ("rbv2_xgboost", "12", "acc", "timetrain"): 0.02,
    ("rbv2_svm", "50", "logloss", "timepredict"): 0.02,
    ("iaml_super", "1067", "logloss", "timetrain"): 0.05,
    ("rbv2_super", "40984", "mmce", "timepredict"): 0.05,
    ("rbv2_xgboost", "40982", "logloss", "timepredict"): 0.05,
    ("rbv2_svm", "24", "mmce", "timetrain"): 0.05,
    ("rbv2_super", "1479", "logloss", "timepredict"): 0.1,
    ("rbv2_xgboost", "1111", "acc", "timetrain"): 0.1,
    ("rbv2_svm", "40966", "logloss", "timetrain"): 0.1,
    ("iaml_super", "1489", "mmce", "mec"): 0.3,
    ("rbv2_super", "16", "mmce", "timetrain"): 0.3,
    ("rbv2_xgboost", "37", "logloss", "timetrain"): 0.3,
    ("rbv2_svm", "23381", "logloss", "timetrain"): 0.3,
}
USUAL, FURTHER = (["-".join(key) for key in each] for each in (SHARES, DRAWN))
PROBLEMS = {"-".join(key): share for key, share in {**SHARES, **DRAWN}.items()}


@cache
def problem(name: str) -> tuple[MultiTask, float]:
    """A problem by its name, and the unit of its regret."""
    scenario, instance, objective, limited = name.split("-")
    found = several.surrogate(scenario, instance, (objective, limited))
    values = several.sample(found, SAMPLE)
    limit = float(np.quantile([each[limited] for each in values], PROBLEMS[name]))
    found = replace(found, objectives=(objective,), limits={limited: limit})
    feasible = [each[objective] for each in values if found.is_feasible(each)]
    return found, float(np.median(feasible) - np.min(feasible))


def run_problem(name: str, method: str, seed: int, budget: int) -> list[Values]:
    """The values of a run."""
    return several.run(method, problem(name)[0], seed, budget)


def least_feasible(name: str, run: Sequence[Values]) -> list[float]:
    """The least feasible value after each evaluation; infinite before the first."""
    found, _ = problem(name)
    best = np.inf
    out = []
    for values in run:
        if found.is_feasible(values):
            best = min(best, values[found.objectives[0]])
        out.append(best)
    return out


def regrets(found: Mapping[tuple[Any, ...], list[float]], units: Mapping[str, float]) -> dict[tuple[str, str], Array]:
    """By problem and method, the feasible regrets (seeds x marks); infinite where a run has no feasible value."""
    out: dict[tuple[str, str], list[list[float]]] = {}
    for job in sorted(found):
        least = min(min(run) for other, run in found.items() if other[0] == job[0])
        run = found[job]
        row = [(value - least) / units[job[0]] for value in several.at_marks(run)]
        out.setdefault((job[0], job[1]), []).append(row)
    return {key: np.array(rows) for key, rows in out.items()}


def print_table(found: Mapping[tuple[Any, ...], list[float]], units: Mapping[str, float], seeds: int) -> None:
    """Print a line per problem and method, and the totals."""
    by_method = {key: values for key, values in regrets(found, units).items() if len(values) == seeds}
    filled = {}
    for key, values in by_method.items():
        same = np.concatenate([other for (name, _), other in by_method.items() if name == key[0]])
        filled[key] = np.minimum(values, np.max(same, initial=0.0, where=np.isfinite(same)))
    p_values = several.tests(filled)
    for (name, method), values in filled.items():
        shown = []
        for i, mark in enumerate(MARKS[: values.shape[1]]):
            n = int(np.sum(np.isfinite(by_method[name, method][:, i])))
            p = f", p = {p_values[name, method, i]:.2g}" if (name, method, i) in p_values else ""
            shown.append(f"at {mark} {n} of {seeds} runs feasible, regret {several.interval(values[:, i])}{p}")
        print(f"{name} ({PROBLEMS[name]:.0%} feasible), {method}: {'; '.join(shown)}", flush=True)
    compared, by_all = several.with_all_methods(filled)
    for method in compared:
        counts = np.sum([np.isfinite(by_method[name, method]).sum(axis=0) for name in by_all], axis=0)
        mean = np.mean([filled[name, method] for name in by_all], axis=0)  # seeds x marks
        shown = [
            f"at {mark} {n} of {seeds * len(by_all)} runs feasible, regret {several.interval(own)}"
            for mark, n, own in zip(MARKS, counts, mean.T, strict=False)
        ]
        print(f"mean of {len(by_all)} problems, {method}: {'; '.join(shown)}")
    several.print_verdicts(filled, p_values, sign=-1.0)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=USUAL, metavar="PROBLEM")
    parser.add_argument("--drawn", action="store_const", const=FURTHER, dest="problems", help="19 further problems")
    parser.add_argument("--peers", nargs="*", choices=(TPE, GP), default=[TPE, GP])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=max(MARKS))
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args(arguments)
    units = {}
    for name in given.problems:
        try:
            units[name] = problem(name)[1]
        except MissingDataError as error:
            print(f"left out: {error}", file=sys.stderr)
    methods = several.methods(given.peers)
    jobs = [(n, m, seed, given.budget) for seed in range(given.seeds) for n in units for m in methods]
    found = several.collect(run_problem, jobs, given.processes, RECORDED / "GPSampler-constraints.jsonl")
    print_table({job: least_feasible(job[0], run) for job, run in found.items()}, units, given.seeds)


if __name__ == "__main__":
    main()
