"""Table 1 of the paper (Wilcoxon signed-rank tests) and the Markdown page that puts our numbers beside its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon

Float = NDArray[np.float64]

ITERATIONS = (40, 60, 80)
MIN_PAIRS = 5  # fewer cannot reach p < 0.05: five that all agree give 1/32
BASELINES = ("smac", "tpe", "random", "gpyopt", "tree")
PRINTED: dict[str, dict[int, tuple[float, ...]]] = {  # the paper's Table 1, in the order of BASELINES
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
    """Best values so far, method by method (runs x iterations), and the seed of each run."""

    best: Mapping[str, Float]
    seeds: Mapping[str, tuple[int, ...]]

    def at(self, method: str, iteration: int) -> Float:
        """The runs' best values after so many evaluations."""
        return self.best[method][:, iteration - 1]

    def common(self, one: str, two: str) -> list[int]:
        """The seeds that both have run."""
        return sorted(set(self.seeds[one]) & set(self.seeds[two]))

    def p_value(self, other: str, ours: str, iteration: int) -> float:
        """The test on the seeds that both have; NaN where there are none."""
        common = self.common(other, ours)
        if not common:
            return float("nan")
        pair = (self.at(name, iteration)[[self.seeds[name].index(s) for s in common]] for name in (other, ours))
        return p_value(*pair)


def p_value(other: Float, ours: Float) -> float:
    """One-sided: how likely a difference `other - ours` this large is if neither method is better.

    Ten runs that all agree give the least value possible, 1/1024:

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
    """p-values of `add-tree` and `addtree` against every other method, the paper's in brackets where it has one."""
    others = [name for name in curves.best if name not in ("add-tree", "addtree")]
    length = next(iter(curves.best.values())).shape[1]
    rows = []
    for iteration in [k for k in ITERATIONS if k <= length] or [length]:
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
    """Mean (median) by iteration: log10 distance to a known optimum, else the best value itself."""
    length = next(iter(curves.best.values())).shape[1]
    shown = [k for k in iterations if k <= length] or [length]
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


def log_distance(best: Float, optimum: float) -> Float:
    """log10(best - optimum); a run that hits it exactly counts as 1e-16, where floats end."""
    return np.asarray(np.log10(np.maximum(best - optimum, 1e-16)), dtype=np.float64)


def regression_table(errors: Mapping[str, Float], sizes: Sequence[int], shown: Sequence[int]) -> str:
    """Mean (median) of log10 MSE by number of training samples."""
    rows = []
    for name, runs in errors.items():
        logs = np.log10(np.maximum(runs, 1e-32))
        cells = [(logs[:, sizes.index(n)].mean(), np.median(logs[:, sizes.index(n)])) for n in shown]
        rows.append([f"`{name}`", *(f"{mean:.1f} ({median:.1f})".replace("-", "−") for mean, median in cells)])
    return table(["method", *(f"{n} samples" for n in shown)], rows)


def samples_needed(errors: Float, sizes: Sequence[int], level: float) -> int | None:
    """The first training size from which the mean log10 MSE is at or below log10(level)."""
    logs = np.log10(np.maximum(errors, 1e-32)).mean(axis=0)
    for n, value in zip(sizes, logs, strict=True):
        if value <= np.log10(level):
            return int(n)
    return None
