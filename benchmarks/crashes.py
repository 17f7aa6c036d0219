"""What is found if evaluations crash: `python -m benchmarks.crashes`.

Eleven problems in which a part of the space crashes: a branch, a region, or a share of all evaluations at random. On a
surrogate, a region is where the predicted memory or time of the training is too large. Each line shows the number of
crashes and the regret after 60 evaluations of three methods: the working tree, Optuna's TPE (multivariate and grouped),
and an earlier commit, for which a crash was the worst value. It shows mean and standard deviation over seeds, and p of
Wilcoxon's test against the working tree, with Holm's correction over problems. Regret counts from the least value that
any run found. `--drawn` takes 20 problems that were drawn at random instead, and `--selection` the tasks of model
selection, in which one evaluation in 20 crashes. A missing data set, Optuna or commit is reported and left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np

from addtree._types import Array
from benchmarks import noise, revision, tasks
from benchmarks.noise import EARLIER, NOW, TPE
from benchmarks.paired import holm
from benchmarks.support import regret
from benchmarks.tasks import yahpo

COMMIT = "da5dcbd"  # The last commit for which a failure was only the worst value.
SAMPLE = 500  # Random configurations from which limits and shares are computed.

Predicate = Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True)
class Crash:
    """Where a task crashes.

    task     the name of the task, or "yahpo/" and the scenario, the data set and the output of a surrogate
    where    whether a configuration always crashes
    target   the output of a surrogate that is limited
    limited  share of the space in which it exceeds the limit
    random   probability that an evaluation crashes for no reason
    """

    task: str
    where: Predicate | None = None
    target: str | None = None
    limited: float = 0.0
    random: float = 0.0


def _is(name: str, *options: Any) -> Predicate:
    return lambda config: config.get(name) in options


CRASHES: dict[str, Crash] = {
    "synthetic, a branch": Crash("function/synthetic", _is("x1", 1)),
    "interaction, a region": Crash("function/interaction", lambda c: c.get("r8", c.get("r9", 0)) > 0.4),
    "goldstein, a region": Crash("function/goldstein", lambda c: c["x1"] > 60 and c["x2"] > 50),
    "goldstein, two branches": Crash("function/goldstein", _is("w1", 0, 3)),
    "rosenbrock, at random": Crash("function/rosenbrock", random=0.3),
    "synthetic, half at random": Crash("function/synthetic", random=0.5),
    "xgboost, memory": Crash("yahpo/rbv2_xgboost-40984-logloss", target="memory", limited=0.4),
    "xgboost, a branch": Crash("yahpo/rbv2_xgboost-41143-auc", _is("booster", "dart")),
    "svm, time": Crash("yahpo/rbv2_svm-1220-mmce", target="timetrain", limited=0.6),
    "four learners, memory": Crash("yahpo/iaml_super-1489-auc", target="ramtrain", limited=0.5),
    "four learners, a branch and at random": Crash("yahpo/iaml_super-41146-mmce", _is("learner", "ranger"), random=0.1),
}
USUAL = tuple(CRASHES)
# These were drawn at random, after most of the defaults had been chosen.
_DRAWN = (
    Crash("yahpo/iaml_super-1067-mmce", target="rammodel", limited=0.2),
    Crash("yahpo/rbv2_super-15-logloss", target="timetrain", limited=0.2),
    Crash("yahpo/rbv2_xgboost-41278-acc", target="timetrain", limited=0.4),
    Crash("yahpo/rbv2_svm-41138-auc", target="timepredict", limited=0.5),
    Crash("yahpo/iaml_super-1067-logloss", target="ramtrain", limited=0.6),
    Crash("yahpo/rbv2_super-40983-mmce", target="timetrain", limited=0.3),
    Crash("yahpo/rbv2_xgboost-40982-auc", target="memory", limited=0.1),
    Crash("yahpo/rbv2_svm-40900-auc", target="timetrain", limited=0.5),
    Crash("yahpo/iaml_super-40981-mmce", target="ramtrain", limited=0.2),
    Crash("yahpo/rbv2_super-40984-logloss", target="timepredict", limited=0.1),
    Crash("yahpo/rbv2_xgboost-40966-acc", target="memory", limited=0.5),
    Crash("yahpo/rbv2_svm-1049-mmce", target="timetrain", limited=0.6),
    Crash("yahpo/iaml_super-1067-auc", _is("learner", "xgboost")),
    Crash("yahpo/rbv2_super-3-auc", _is("learner", "ranger")),
    Crash("yahpo/rbv2_xgboost-41161-logloss", _is("booster", "gbtree", "gblinear")),
    Crash("yahpo/rbv2_svm-28-auc", _is("kernel", "polynomial")),
    Crash("yahpo/iaml_super-41146-logloss", target="timetrain", limited=0.4, random=0.1),
    Crash("yahpo/rbv2_super-40981-mmce", target="timetrain", limited=0.5, random=0.2),
    Crash("yahpo/rbv2_xgboost-334-auc", target="memory", limited=0.5, random=0.2),
    Crash("yahpo/rbv2_svm-40984-mmce", target="timepredict", limited=0.5, random=0.1),
)
DRAWN = tuple(f"{crash.task.split('/')[1]}, {crash.target or 'a branch'}" for crash in _DRAWN)
SELECTION = tuple(name for name in tasks.TASKS if tasks.family(name) == "selection")
CRASHES.update(zip(DRAWN, _DRAWN, strict=True))
CRASHES.update({name: Crash(name, random=0.05) for name in SELECTION})


@cache
def problem(name: str) -> tuple[tasks.Task, Predicate]:
    """A task, and whether a configuration always crashes."""
    crash = CRASHES[name]
    family, _, parts = crash.task.partition("/")
    if family != "yahpo":
        return tasks.load(crash.task), crash.where or (lambda config: False)
    scenario, instance, output = parts.split("-")
    task = tasks.Task(crash.task, *yahpo.problem(scenario, instance, output), reference=None)
    if crash.target is None:
        return task, crash.where or (lambda config: False)
    _, limited = yahpo.problem(scenario, instance, crash.target)
    rng = np.random.default_rng(0)
    limit = float(np.quantile([limited(task.space.sample(rng)) for _ in range(SAMPLE)], 1 - crash.limited))
    return task, lambda config: limited(config) > limit


def share(name: str) -> float:
    """The share of random evaluations that crash."""
    task, crashes = problem(name)
    rng = np.random.default_rng(1)
    always = float(np.mean([crashes(task.space.sample(rng)) for _ in range(SAMPLE)]))
    return always + (1 - always) * CRASHES[name].random


def run_problem(name: str, method: str, seed: int, budget: int, source: str) -> list[float]:
    """The values of a run, NaN where an evaluation crashed. `source` is the folder of the earlier commit."""
    task, crashes = problem(name)
    rng, optimizer = np.random.default_rng([seed, 1]), noise.make_method(method, task.space, seed, source)
    values = []
    for _ in range(budget):
        config = optimizer.ask()
        crashed = crashes(config) or rng.random() < CRASHES[name].random
        values.append(float("nan") if crashed else task.objective(config))
        optimizer.tell(config, values[-1])
    return values


def summaries(found: Mapping[tuple[Any, ...], list[float]], seeds: int) -> dict[str, dict[str, tuple[Array, Array]]]:
    """By problem and method, the crashes and the regrets, one per seed; only methods with all seeds.

    A run without any value has the regret of the worst of all runs.
    """
    out: dict[str, dict[str, tuple[Array, Array]]] = {}
    for name in dict.fromkeys(job[0] for job in found):
        best = {job[1:3]: np.nanmin([*values, np.inf]) for job, values in found.items() if job[0] == name}
        finite = [value for value in best.values() if np.isfinite(value)]
        for method in dict.fromkeys(job[1] for job in found):
            runs = {job[2]: values for job, values in found.items() if job[:2] == (name, method)}
            if len(runs) == seeds:
                crashes = np.array([np.sum(np.isnan(runs[seed])) for seed in range(seeds)], dtype=float)
                ends = np.array([min(best[method, seed], max(finite)) for seed in range(seeds)])
                out.setdefault(name, {})[method] = crashes, ends - min(finite)
    return out


def print_table(found: Mapping[tuple[Any, ...], list[float]], seeds: int, budget: int) -> None:
    """Print a line per problem, and the totals."""
    by_problem = summaries(found, seeds)
    p_values: dict[tuple[str, str, int], float] = {}
    for peer, part in product((TPE, EARLIER), (0, 1)):
        pairs = {name: (each[NOW], each[peer]) for name, each in by_problem.items() if {NOW, peer} <= each.keys()}
        p_values |= holm(
            {(name, peer, part): regret.p_value(now[part], other[part]) for name, (now, other) in pairs.items()}
        )
    print(
        f"{budget} evaluations, mean ± standard deviation of {seeds} seeds; in brackets, Holm's p of Wilcoxon's test\n"
    )
    for name, each in by_problem.items():
        print(f"{name} ({share(name):.0%} of the space crashes)")
        for part, title in enumerate(("crashes", "regret")):
            shown = []
            for method, results in each.items():
                p = f" (p = {p_values[name, method, part]:.2g})" if method != NOW and NOW in each else ""
                shown.append(f"{method} {np.mean(results[part]):.4g} ± {np.std(results[part]):.2g}{p}")
            print(f"  {title}: {'; '.join(shown)}")
    for peer in (TPE, EARLIER):
        print_total(peer, by_problem, p_values)


def print_total(
    peer: str,
    by_problem: Mapping[str, Mapping[str, tuple[Array, Array]]],
    p_values: Mapping[tuple[str, str, int], float],
) -> None:
    """Print the mean crashes and the geometric mean of the shares of regret against one peer."""
    pairs = {name: (each[NOW], each[peer]) for name, each in by_problem.items() if {NOW, peer} <= each.keys()}
    if not pairs:
        return
    crashes = [np.mean([pair[i][0] for pair in pairs.values()]) for i in (0, 1)]
    floor = noise.FLOOR
    ratios = [np.log((np.mean(now[1]) + floor) / (np.mean(other[1]) + floor)) for now, other in pairs.values()]
    verdicts = []
    for part in (0, 1):
        clear = [
            np.mean(now[part]) < np.mean(other[part])
            for name, (now, other) in pairs.items()
            if p_values[name, peer, part] < regret.ALPHA
        ]
        verdicts.append(f"significantly less / more on {sum(clear)} / {len(clear) - sum(clear)}")
    print(
        f"against {peer}, n = {len(pairs)} problems: {crashes[0]:.1f} crashes instead of {crashes[1]:.1f} (wanted "
        f"fewer), {verdicts[0]}; regret {np.exp(np.mean(ratios)):.2f} of its (geometric mean; wanted below 1), "
        f"{verdicts[1]}",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", choices=CRASHES, default=USUAL, metavar="PROBLEM")
    parser.add_argument("--drawn", action="store_const", const=DRAWN, dest="problems", help="20 further problems")
    parser.add_argument(
        "--selection", action="store_const", const=SELECTION, dest="problems", help="22 tasks of model selection"
    )
    parser.add_argument("--commit", default=COMMIT, help="the earlier commit")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args(arguments)
    here = []
    for name in given.problems:
        try:
            problem(name)
        except tasks.MissingDataError as error:
            print(f"left out: {error}", file=sys.stderr)
        else:
            here.append(name)
    with ExitStack() as stack:
        source, methods = "", [NOW]
        if find_spec("optuna") is None:
            print("left out: TPE, because Optuna is not installed; pip install -e '.[bench]'", file=sys.stderr)
        else:
            methods.append(TPE)
        if revision.exists(given.commit):
            source = str(stack.enter_context(revision.source(given.commit)))
            methods.append(EARLIER)
        else:
            print(f"left out: commit {given.commit}, which this checkout does not have", file=sys.stderr)
        jobs = [
            (name, method, seed, given.budget, source)
            for name in here
            for method in methods
            for seed in range(given.seeds)
        ]
        print_table(noise.collect(run_problem, jobs, given.processes), given.seeds, given.budget)


if __name__ == "__main__":
    main()
