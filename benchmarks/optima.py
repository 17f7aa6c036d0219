"""Is the report right about the best value of each option? python -m benchmarks.optima

After searches on surrogates of real tuning runs, the report's belief about the best value of every option against the
best value that a long search finds there, for several ways to form the belief.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import addtree as at
from addtree._types import Array
from addtree.model.transform import TransformSettings
from addtree.report import Record
from addtree.report.optima import OptimumSearch, choice_optima
from addtree.search.candidates import CandidateSettings, near
from addtree.support.processes import worker_pool
from benchmarks.tasks import Task, load, matching
from benchmarks.trust import TASKS

VARIANTS = {
    "default": OptimumSearch(),
    "without descents": OptimumSearch(steps=0),
    "longer descents": OptimumSearch(steps=40, work=10**9),
    "powers up to 3": OptimumSearch(transform=TransformSettings()),
    "no output transform": OptimumSearch(transform=None),
}
RANDOM, ROUNDS, LOCAL = 1500, 4, 150  # The long search of a branch: random configurations, then rounds around the best.


@dataclass(frozen=True)
class Score:
    """One variant after one search, with an entry per option.

    inside       whether the best value of the option lies in its 80 % interval
    above        whether it is worse than the interval: the belief was too optimistic
    probability  probability given to the option that is best in truth, one entry per choice
    dropped      number of options that the report would drop
    wrong        number of those that are best in truth
    """

    variant: str
    inside: Array
    above: Array
    probability: Array
    dropped: int
    wrong: int
    seconds: float


def measure(name: str, seed: int, n: int) -> list[Score]:
    """The scores of all variants after one search of n evaluations."""
    task, optimizer = load(name), at.Optimizer(load(name).space, seed=seed)
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, task.objective(trial.config))
    trials = [Record(trial.id, trial.config, "done", trial.value) for trial in optimizer.trials]
    truth = _true_best(task, trials)
    return [_score(variant, search, task, trials, truth) for variant, search in VARIANTS.items()]


def _score(
    variant: str, search: OptimumSearch, task: Task, trials: Sequence[Record], truth: dict[tuple[str, int], float]
) -> Score:
    begin = time.perf_counter()
    found = choice_optima(task.space, trials, search=search)
    seconds = time.perf_counter() - begin
    inside, above, probability, dropped, wrong = [], [], [], 0, 0
    for choice in found:
        true = np.array([truth[choice.choice, o] for o in range(len(choice.options))])
        inside += [option.low <= t <= option.high for option, t in zip(choice.options, true, strict=True)]
        above += [t > option.high for option, t in zip(choice.options, true, strict=True)]
        probability.append(choice.options[int(true.argmin())].probability)
        drop = [option.verdict.startswith("Yes") for option in choice.options]
        dropped, wrong = dropped + sum(drop), wrong + drop[int(true.argmin())]
    return Score(variant, np.array(inside), np.array(above), np.array(probability), dropped, wrong, seconds)


def _true_best(task: Task, trials: Sequence[Record]) -> dict[tuple[str, int], float]:
    """The best known value of each option, by choice and position of the option."""
    encoding, rng = task.space.encoding, np.random.default_rng(0)
    settings = CandidateSettings(near=LOCAL, widths=(0.3, 0.1, 0.03, 0.01))
    rows, values = [encoding.encode([trial.config for trial in trials])], [np.array([t.value for t in trials])]
    for leaf in (node for node, tree_node in enumerate(task.space.nodes) if not tree_node.choices):
        X = encoding.snap(encoding.enter(encoding.sample(RANDOM, rng), leaf, rng))
        y = _evaluate(task, X)
        for _ in range(ROUNDS):
            best = np.argsort(y)[:8]
            more = encoding.snap(near(encoding, X[best], settings, rng))
            X, y = np.concatenate([X[best], more]), np.concatenate([y[best], _evaluate(task, more)])
        rows.append(X)
        values.append(y)
    X, y = np.concatenate(rows), np.concatenate(values)
    choices = np.flatnonzero(encoding.is_choice)
    return {
        (encoding.names[j], o): float(y[X[:, j] == o].min()) for j in choices for o in range(int(encoding.n_codes[j]))
    }


def _evaluate(task: Task, X: Array) -> Array:
    return np.array([task.objective(task.space.encoding.decode(row)) for row in X])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=TASKS, help="names, families or shell patterns of tasks")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    cases = [(name, seed, args.trials) for name in matching(args.tasks) for seed in range(args.seeds)]
    with worker_pool(args.jobs) as pool:
        scores = [score for found in pool.map(measure, *zip(*cases, strict=True)) for score in found]
    print("                      best value of an option, 80 % interval    probability of    options    wrongly")
    print("                      inside  below it  above it                the best option   dropped    dropped   s")
    for variant in VARIANTS:
        own = [score for score in scores if score.variant == variant]
        inside, above = (np.concatenate([getattr(s, kind) for s in own]).mean() for kind in ("inside", "above"))
        probability = np.concatenate([score.probability for score in own]).mean()
        dropped, wrong = sum(s.dropped for s in own), sum(s.wrong for s in own)
        print(
            f"{variant:20s} {inside:7.0%} {1 - inside - above:9.0%} {above:9.0%} {probability:22.2f} {dropped:17}"
            f" {wrong:9} {np.mean([s.seconds for s in own]):6.1f}"
        )


if __name__ == "__main__":
    main()
