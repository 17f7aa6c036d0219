"""Is the report right about the best value of each option? python -m benchmarks.optima

After searches of 30, 60 and 100 evaluations, the report's belief about the best value of every option against the best
value that is known or that a long search finds there. The first tasks are those that the belief was chosen on, the
second ones it was only measured on. Other settings, and an earlier version of the report:

    python -m benchmarks.optima --variants default "normal draws"
    python -m benchmarks.revision COMMIT benchmarks/optima.py --variants default
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import addtree as at
from addtree._types import Array
from addtree.model.transform import TransformSettings
from addtree.report import Record
from addtree.report.optima import OptimumSearch, choice_optima
from addtree.search.candidates import CandidateSettings, near
from addtree.support.processes import worker_pool
from benchmarks import tasks, trust
from benchmarks.tasks import valleys
from benchmarks.tasks.task import Task

VARIANTS: Mapping[str, Mapping[str, Any]] = {  # the settings of an `OptimumSearch`
    "default": {},
    "normal draws": {"freedom": None},
    "one model": {"spread": None},
    "bounded excess": {"transform": TransformSettings(power_bounds=(-1.0, 1.0))},
    "no output transform": {"transform": None},
}
FUNCTIONS = ("function/synthetic", "function/interaction", "function/goldstein", "function/rosenbrock")
CHOSEN = {
    "valleys": tuple(f"valley/{seed}" for seed in (*range(10), *range(100, 112))),
    "functions": (*FUNCTIONS, "options/2", "options/6"),
    "surrogates": trust.TASKS,
}
UNSEEN = {
    "valleys": tuple(f"valley/{seed}" for seed in range(200, 212)),
    "functions": ("options/30", "dynamic"),
    "surrogates": ("unseen/*", "yahpo/rbv2_super-*"),
}
SETS = {"chosen": CHOSEN, "unseen": UNSEEN}
SIZES = (30, 60, 100)
RANDOM, ROUNDS, LOCAL = 1500, 4, 150  # The long search of a branch: random configurations, then rounds around the best.
BINS = (0.0, 0.02, 0.1, 0.5, 0.9, 0.98, 1.0)  # Probabilities between two of these are compared with what is true.
PRECISION = 1e-6  # A best value outside its interval by this share of (median - least) of random values is inside.

Truth = dict[tuple[str, int], float]


@dataclass(frozen=True)
class Score:
    """One variant after one search: arrays with an entry per option of every choice.

    is_best      whether the option is the best in truth
    probability  the probability that the report gives that
    inside       whether the best value of the option lies in its 80 % interval
    above        whether it is worse than the interval: the belief was too optimistic
    dropped      whether the report would drop the option
    draws        the number of draws that probabilities are shares of
    seconds      processor time
    """

    variant: str
    is_best: Array
    probability: Array
    inside: Array
    above: Array
    dropped: Array
    draws: int
    seconds: float


def measure(name: str, seed: int, variants: Sequence[str]) -> list[Score]:
    """The scores of variants after one search, at every size."""
    task = _load(name)[0]
    optimizer, found = at.Optimizer(task.space, seed=seed), []
    for _ in range(max(SIZES)):
        trial = optimizer.ask()
        optimizer.tell(trial, task.objective(trial.config))
    trials = [Record(trial.id, trial.config, "done", trial.value) for trial in optimizer.trials]
    truth, unit = _truth(name)
    truth = _with_trials(task, truth, trials)
    for n in SIZES:
        found += [_score(variant, task, trials[:n], truth, PRECISION * unit) for variant in variants]
    return found


def _score(variant: str, task: Task, trials: Sequence[Record], truth: Truth, precision: float) -> Score:
    search = OptimumSearch(**VARIANTS[variant])
    begin = time.process_time()
    found = choice_optima(task.space, trials, search=search)
    seconds = time.process_time() - begin
    rows = []
    for choice in found:
        true = [truth[choice.choice, o] for o in range(len(choice.options))]
        for option, best in zip(choice.options, true, strict=True):
            over, under = best > option.high + precision, best < option.low - precision
            drop = option.verdict.startswith("Yes")
            rows.append((best == min(true), option.probability, not (over or under), over, drop))
    is_best, probability, inside, above, dropped = (np.array(column) for column in zip(*rows, strict=True))
    return Score(variant, is_best, probability, inside, above, dropped, search.draws, seconds)


# ---------------------------------------------------------------------- what is true


def _load(name: str) -> tuple[Task, Truth | None]:
    """A task, and the best value of each option where it is known."""
    if name.startswith("valley/"):
        return valleys.problem(int(name.removeprefix("valley/")))
    return tasks.load(name), None


@cache
def _truth(name: str) -> tuple[Truth, float]:
    """The best value of each option, by choice and position of the option, and (median - least) of random values."""
    task, known = _load(name)
    encoding, rng = task.space.encoding, np.random.default_rng(0)
    y = _evaluate(task, encoding.sample(tasks.UNIT_SAMPLE, rng))
    return _long_search(task) if known is None else known, float(np.median(y) - np.min(y))


def _long_search(task: Task) -> Truth:
    encoding, rng = task.space.encoding, np.random.default_rng(0)
    settings = CandidateSettings(near=LOCAL, widths=(0.3, 0.1, 0.03, 0.01))
    rows, values = [], []
    for leaf in (node for node, tree_node in enumerate(task.space.nodes) if not tree_node.choices):
        X = encoding.snap(encoding.enter(encoding.sample(RANDOM, rng), leaf, rng))
        y = _evaluate(task, X)
        for _ in range(ROUNDS):
            best = np.argsort(y)[:8]
            more = encoding.snap(near(encoding, X[best], settings, rng))
            X, y = np.concatenate([X[best], more]), np.concatenate([y[best], _evaluate(task, more)])
        rows.append(X)
        values.append(y)
    return _best_of_options(task, np.concatenate(rows), np.concatenate(values))


def _with_trials(task: Task, truth: Truth, trials: Sequence[Record]) -> Truth:
    """The better of these best values and those of the trials."""
    X, y = task.space.encoding.encode([t.config for t in trials]), np.array([t.value for t in trials])
    seen = _best_of_options(task, X, y)
    return {key: min(best, seen[key]) for key, best in truth.items()}


def _best_of_options(task: Task, X: Array, y: Array) -> Truth:
    encoding = task.space.encoding
    return {
        (encoding.names[j], o): float(np.min(y[X[:, j] == o], initial=np.inf))
        for j in np.flatnonzero(encoding.is_choice)
        for o in range(int(encoding.n_codes[j]))
    }


def _evaluate(task: Task, X: Array) -> Array:
    return np.array([task.objective(task.space.encoding.decode(row)) for row in X])


# ---------------------------------------------------------------------- tables


def _line(label: str, scores: Sequence[Score]) -> str:
    is_best, p, inside, above, dropped = (
        np.concatenate([getattr(score, kind) for score in scores])
        for kind in ("is_best", "probability", "inside", "above", "dropped")
    )
    wrong, useful, others = np.sum(dropped & is_best), np.sum(dropped & ~is_best), np.sum(~is_best)
    brier = np.mean((p - is_best) ** 2)
    log_score = -np.mean(np.log(np.maximum(p[is_best], 0.5 / scores[0].draws)))  # no draw counts as half of one
    covered, over = np.mean(inside), np.mean(above)
    return (
        f"{label:20s} {wrong:6} of {np.sum(dropped):<5} {useful:7} of {others:<5} {brier:7.3f} {log_score:7.2f}"
        f" {covered:9.0%} {1 - covered - over:7.0%} {over:7.0%} {np.mean([s.seconds for s in scores]):7.2f}"
    )


def _reliability(scores: Sequence[Score]) -> str:
    """For each bin of probabilities, how often the option is the best in truth."""
    is_best, p = (np.concatenate([getattr(score, kind) for score in scores]) for kind in ("is_best", "probability"))
    bins, parts = np.clip(np.digitize(p, BINS), 1, len(BINS) - 1), []
    for b in range(1, len(BINS)):
        if np.any(on := bins == b):
            parts.append(f"{BINS[b - 1]:g}-{BINS[b]:g}: {np.mean(is_best[on]):.2f} ({np.sum(on)})")
    return "   ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="which tasks")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=["default"], help="which beliefs")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    for chosen in args.sets:
        found: dict[str, list[Score]] = {}
        with worker_pool(args.jobs) as pool:
            for kind, patterns in SETS[chosen].items():
                valley = [name for name in patterns if name.startswith("valley/")]
                names = valley or tasks.matching(patterns)
                cases = [(name, seed, args.variants) for name in names for seed in range(args.seeds)]
                found[kind] = [score for part in pool.map(measure, *zip(*cases, strict=True)) for score in part]
        print(f"{chosen:22s}dropped: wrongly      usefully           score of p    80 % interval holds the best    s")
        print("                                                      Brier     log     inside   below   above")
        for variant in args.variants:
            every = [score for scores in found.values() for score in scores if score.variant == variant]
            for kind, scores in found.items():
                print(_line(f"  {kind}", [score for score in scores if score.variant == variant]))
            print(_line(variant, every))
            print(f"  true where p is {_reliability(every)}\n", flush=True)


if __name__ == "__main__":
    main()
