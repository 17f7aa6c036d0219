"""Two versions of addtree on the same tasks and seeds: `python -m benchmarks.paired OLD NEW`.

OLD and NEW are folders of runs of `benchmarks.run`. OLD must hold runs of random search too, the unit of regret. To get
OLD, run the benchmark of the earlier commit:

    git worktree add /tmp/old COMMIT
    cd /tmp/old && PYTHONPATH=src:. python -m benchmarks.run --methods addtree random --out /tmp/old-runs

For each mark, prints the mean normalised regret of both with its bootstrap interval over seeds, the number of tasks on
which the new version is better on average, with the p-value of Wilcoxon's signed-rank test over tasks, and the tasks on
which the two differ significantly by that test over paired seeds, with Holm's correction for all tests. The tests of
single tasks need about ten seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.support import regret
from benchmarks.support.regret import ALPHA, BASELINE, Results, Runs

SUBJECT = "addtree"
MARKS = (10, 20, 30, 50, 100)

Key = TypeVar("Key")


def merge(old: regret.ByTask, new: regret.ByTask) -> dict[str, dict[str, Runs]]:
    """The tasks that both folders have, with the runs "old", "new" and random search; seeds that both have."""
    merged = {}
    for task in old:
        if SUBJECT in old[task] and BASELINE in old[task] and SUBJECT in new.get(task, {}):
            pair = {"old": old[task][SUBJECT], "new": new[task][SUBJECT]}
            shared = sorted(set(pair["old"].seeds) & set(pair["new"].seeds))
            merged[task] = {name: _only(runs, shared) for name, runs in pair.items()}
            merged[task][BASELINE] = old[task][BASELINE]
    return merged


def _only(runs: Runs, seeds: Sequence[int]) -> Runs:
    rows = [runs.seeds.index(seed) for seed in seeds]
    return Runs(tuple(seeds), runs.values[rows], runs.seconds[rows])


def differences(curves: regret.Curves, marks: Sequence[int]) -> dict[tuple[str, int], tuple[float, float]]:
    """By task and mark: the mean of new minus old, and Holm's corrected p-value."""
    found = {
        (task, mark): (
            float(np.mean(each["new"][:, mark - 1] - each["old"][:, mark - 1])),
            regret.p_value(each["new"][:, mark - 1], each["old"][:, mark - 1]),
        )
        for task, each in curves.items()
        for mark in marks
    }
    return {key: (found[key][0], p) for key, p in holm({key: p for key, (_, p) in found.items()}).items()}


def _over_tasks(curves: regret.Curves, marks: Sequence[int]) -> str:
    """A line of the table: on how many tasks the new version is better on average, and the p-value over tasks."""
    new, old = (np.array([each[name].mean(axis=0) for each in curves.values()]) for name in ("new", "old"))
    cells = [
        f"{np.sum(a < b)} of {len(a)}, p = {regret.p_value(a, b):.2g}"
        for a, b in ((new[:, mark - 1], old[:, mark - 1]) for mark in marks)
    ]
    return "| new is better on | " + " | ".join(cells) + " |"


def holm(p_values: Mapping[Key, float]) -> dict[Key, float]:
    """Holm's step-down correction.

    >>> holm({("a", 1): 0.01, ("b", 1): 0.04, ("c", 1): 0.03})
    {('a', 1): 0.03, ('c', 1): 0.06, ('b', 1): 0.06}
    """
    corrected, largest = {}, 0.0
    for i, key in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        largest = max(largest, min((len(p_values) - i) * p_values[key], 1.0))
        corrected[key] = largest
    return corrected


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--budget", type=int, default=100)
    given = parser.parse_args(arguments)
    runs = merge(*(regret.read(folder, given.budget) for folder in (given.old, given.new)))
    curves = regret.normalised(runs, Results.from_runs(runs).best)
    if not curves:
        raise SystemExit(f"no task has runs of {SUBJECT} in both folders and of {BASELINE} in {given.old}")
    marks = [mark for mark in MARKS if mark <= given.budget]
    n_seeds = sorted({len(each["new"]) for each in curves.values()})
    print(f"{len(curves)} tasks, {' or '.join(map(str, n_seeds))} paired seeds; random search at {given.budget} = 1\n")
    print("| | " + " | ".join(f"at {mark}" for mark in marks) + " |\n|---" + "|---" * len(marks) + "|")
    for name in ("old", "new"):
        own = [each[name] for each in curves.values()]
        mean = np.mean([curve.mean(axis=0) for curve in own], axis=0)
        low, high = regret.interval(own, resample_tasks=False)
        print(
            f"| {name} | " + " | ".join(f"{mean[m - 1]:.2f} ({low[m - 1]:.2f}–{high[m - 1]:.2f})" for m in marks) + " |"
        )
    print(_over_tasks(curves, marks))
    tests = differences(curves, marks)
    significant = {key: found for key, found in tests.items() if found[1] < ALPHA}
    same = sum(np.array_equal(each["old"], each["new"]) for each in curves.values())
    print(f"\nidentical runs on {same} tasks; significantly different (Holm): {len(significant)} of {len(tests)}")
    for (task, mark), (difference, p) in sorted(significant.items()):
        print(f"- {task} at {mark}: {'worse' if difference > 0 else 'better'} by {abs(difference):.2f}, p = {p:.3f}")


if __name__ == "__main__":
    main()
