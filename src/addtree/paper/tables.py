"""The tables of the results page in Markdown: Wilcoxon tests (the paper's Table 1), levels, and regression errors.

| symbol | meaning | shape |
|---|---|---|
| best | best values so far of one method, one row a run | runs x iterations |
| errors | mean squared test errors of one method, one row a run | runs x training sizes |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import wilcoxon

from addtree._types import Array

ITERATIONS = (40, 60, 80)  # The paper's Table 1 tests after these iterations.
MIN_PAIRS = 5  # Fewer pairs cannot reach p < 0.05: four that all agree give 1/16, five give 1/32.
SMALLEST_DISTANCE = 1e-16  # A smaller distance to the optimum is rounding error, and counts as this one.
SMALLEST_ERROR = 1e-32  # A smaller mean squared error is rounding error, and counts as this one.
BASELINES = ("smac", "tpe", "random", "gpyopt", "tree")  # The columns of the paper's Table 1.
PRINTED: dict[str, dict[int, tuple[float, ...]]] = {  # The p-values of the paper's Table 1, in the order of BASELINES.
    "synthetic": {
        40: (0.003, 0.030, 0.005, 0.003, 0.018),
        60: (0.003, 0.003, 0.003, 0.003, 0.003),
        80: (0.003, 0.003, 0.003, 0.003, 0.003),
    },
    "compression-tree": {
        40: (0.101, 0.023, 0.101, 0.003, 0.014),
        60: (0.037, 0.018, 0.011, 0.003, 0.008),
        80: (0.166, 0.005, 0.003, 0.003, 0.006),
    },
}


@dataclass(frozen=True)
class Curves:
    """Best values so far by method (runs x iterations), and the seed of each run."""

    best: Mapping[str, Array]
    seeds: Mapping[str, tuple[int, ...]]

    @property
    def length(self) -> int:
        """The number of iterations."""
        return int(next(iter(self.best.values())).shape[1])

    def at(self, method: str, iteration: int) -> Array:
        """The best value of each run after this many evaluations."""
        return self.best[method][:, iteration - 1]

    def common(self, one: str, two: str) -> list[int]:
        """The seeds that both have run."""
        return sorted(set(self.seeds[one]) & set(self.seeds[two]))

    def p_value(self, other: str, ours: str, iteration: int) -> float:
        """`p_value` on the seeds that both methods have run; NaN if there are none."""
        common = self.common(other, ours)
        if not common:
            return float("nan")
        pair = (self.at(name, iteration)[[self.seeds[name].index(s) for s in common]] for name in (other, ours))
        return p_value(*pair)


def p_value(other: Array, ours: Array) -> float:
    """Wilcoxon's signed-rank test of paired runs, one-sided: small if `ours` has the smaller values.

    Ten pairs in which `ours` always has the smaller value give the least p-value that ten pairs can give, 1/1024:

    >>> round(p_value(np.arange(2.0, 12.0), np.zeros(10)), 4)
    0.001
    >>> p_value(np.zeros(10), np.zeros(10))
    1.0
    """
    difference = np.asarray(other, dtype=float) - np.asarray(ours, dtype=float)
    if not difference.any():
        return 1.0
    return float(wilcoxon(difference, alternative="greater").pvalue)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def wilcoxon_table(experiment: str, curves: Curves) -> str:
    """p-values of `add-tree` and `addtree` against every other method; those of the paper in brackets."""
    others = [name for name in curves.best if name not in ("add-tree", "addtree")]
    rows = []
    for iteration in [k for k in ITERATIONS if k <= curves.length] or [curves.length]:
        for ours in [name for name in ("add-tree", "addtree") if name in curves.best]:
            row = [str(iteration), f"`{ours}`"]
            for other in others:
                p = curves.p_value(other, ours, iteration)
                printed = PRINTED.get(experiment, {}).get(iteration)
                known = dict(zip(BASELINES, printed, strict=True)) if printed and ours == "add-tree" else {}
                paper = known.get("gpyopt" if other == "gpyopt-like" else other)
                row.append(f"{p:.3f}" + (f" ({paper:.3f})" if paper is not None else ""))
            rows.append(row)
    return table(["iteration", "method", *(f"`{name}`" for name in others)], rows)


def level_table(curves: Curves, *, optimum: float | None, iterations: Sequence[int]) -> str:
    """Mean (median) by iteration: of the log10 distance to a known optimum, or else of the best value itself."""
    shown = [k for k in iterations if k <= curves.length] or [curves.length]
    rows = []
    for name in curves.best:
        row = [f"`{name}`", str(len(curves.seeds[name]))]
        for k in shown:
            values = curves.at(name, k)
            if optimum is not None:
                values = log_distance(values, optimum)
            digits = 2 if optimum is not None else 4
            row.append(f"{values.mean():.{digits}f} ({np.median(values):.{digits}f})".replace("-", "−"))
        rows.append(row)
    return table(["method", "runs", *(f"iteration {k}" for k in shown)], rows)


def log_distance(best: Array, optimum: float) -> Array:
    """log10(best - optimum), at least log10 of SMALLEST_DISTANCE."""
    return np.asarray(np.log10(np.maximum(best - optimum, SMALLEST_DISTANCE)), dtype=np.float64)


def log_error(errors: Array) -> Array:
    """log10 of mean squared errors, at least log10 of SMALLEST_ERROR."""
    return np.asarray(np.log10(np.maximum(errors, SMALLEST_ERROR)), dtype=np.float64)


def regression_table(errors: Mapping[str, Array], sizes: Sequence[int], shown: Sequence[int]) -> str:
    """Mean (median) of the log10 MSE by number of training samples."""
    rows = []
    for name, runs in errors.items():
        logs = log_error(runs)
        cells = [(logs[:, sizes.index(n)].mean(), np.median(logs[:, sizes.index(n)])) for n in shown]
        rows.append([f"`{name}`", *(f"{mean:.1f} ({median:.1f})".replace("-", "−") for mean, median in cells)])
    return table(["method", *(f"{n} samples" for n in shown)], rows)


def samples_needed(errors: Array, sizes: Sequence[int], level: float) -> int | None:
    """The least training size at which the mean log10 MSE is at or below log10(level); None if there is none.

    The error may rise above the level again at a larger size.
    """
    logs = log_error(errors).mean(axis=0)
    for n, value in zip(sizes, logs, strict=True):
        if value <= np.log10(level):
            return int(n)
    return None
