"""The paper's claims against the numbers found here: verdicts in words, with a failure in capitals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from addtree._types import Array
from addtree.paper import tables
from addtree.paper.tables import Curves
from addtree.problems import synthetic

ALPHA = 0.05  # The level of significance is the paper's.
LEVEL_AT_20 = -3.5  # The log10 distance on the synthetic function that the paper's method should be below at 20.
SAMPLES_NEEDED = {"add-tree": 24, "independent": 44}  # The paper's numbers of samples for a mean squared error of 10⁻⁴.
LOG_MSE_AT_20 = {"add-tree": -3, "independent": -1}  # The paper's log10 mean squared errors with 20 samples.


def optimization(experiment: str, curves: Curves) -> str:
    """Verdicts against the paper's baselines and `independent`, and on our default against the paper's method."""
    ours = [name for name in ("add-tree", "addtree") if name in curves.best]
    iterations = [k for k in tables.ITERATIONS if k <= curves.length]
    lines = []
    for name in ours:
        if experiment == "synthetic" and curves.length >= 20:
            level = float(np.median(tables.log_distance(curves.at(name, 20), synthetic().optimum)))
            verdict = "below" if level < LEVEL_AT_20 else "NOT below"
            lines.append(f"`{name}`: median log10 distance {level:.2f} at iteration 20, {verdict} {LEVEL_AT_20}.")
        lines += [f"`{name}` at iteration {k}: {_against_baselines(name, curves, k=k)}." for k in iterations]
    for name in ours:
        lines += [_against(name, "independent", experiment=experiment, curves=curves, k=k) for k in iterations]
    if "addtree" in ours:
        lines += [_against("addtree", "add-tree", experiment=experiment, curves=curves, k=k) for k in iterations]
    return _listed(lines)


def _against_baselines(ours: str, curves: Curves, *, k: int) -> str:
    baselines = [name for name in curves.best if name not in ("add-tree", "addtree", "independent")]
    ps = {
        name: curves.p_value(name, ours, k) for name in baselines if len(curves.common(name, ours)) >= tables.MIN_PAIRS
    }
    better = [f"`{name}`" for name, p in ps.items() if p < ALPHA]
    worse = [f"`{name}` (p = {p:.3f})" for name, p in ps.items() if not p < ALPHA]
    few = [f"`{name}`" for name in baselines if name not in ps]
    said = f"better than {', '.join(better) or 'none'} with p < {ALPHA}"
    said += f"; NOT significantly better than {', '.join(worse)}" if worse else ""
    said += f"; too few runs of {', '.join(few)} to say" if few else ""
    return said


def _against(one: str, two: str, *, experiment: str, curves: Curves, k: int) -> str:
    """The verdict of both one-sided tests of two methods; empty if there are too few runs."""
    if two not in curves.best or len(curves.common(one, two)) < tables.MIN_PAIRS:
        return ""
    means = []
    for name in (one, two):
        values = curves.at(name, k)
        logs = experiment == "synthetic"
        means.append(
            f"{tables.log_distance(values, synthetic().optimum).mean():.2f}" if logs else f"{values.mean():.4f}"
        )
    better, worse = curves.p_value(two, one, k), curves.p_value(one, two, k)
    verdict = "better" if better < ALPHA else "WORSE" if worse < ALPHA else "no significant difference"
    numbers = f"mean {means[0]} against {means[1]}, p = {better:.3f} for better, {worse:.3f} for worse"
    return f"`{one}` against `{two}` at iteration {k}: {verdict} ({numbers})."


def regression(errors: Mapping[str, Array], sizes: Sequence[int]) -> str:
    """Verdicts on the paper's two sentences about Figure 4, and on the default against the paper's method."""
    means = {name: tables.log_error(runs).mean(axis=0) for name, runs in errors.items()}
    lines = []
    for name, paper in SAMPLES_NEEDED.items():
        if name in errors and paper in sizes:
            needed = tables.samples_needed(errors[name], sizes, 1e-4)
            verdict = "as few as" if needed and needed <= paper else "NOT as few as"
            here = f"{needed} samples" if needed else f"more than {sizes[-1]} samples"
            lines.append(f"`{name}` needs {here} for 10⁻⁴, {verdict} the paper's {paper}.")
    for name, level in LOG_MSE_AT_20.items():
        if name in errors and 20 in sizes:
            found = means[name][sizes.index(20)]
            verdict = "at or below" if found <= level else "NOT down to"
            lines.append(f"`{name}` with 20 samples: log10 MSE {found:.1f}, {verdict} the paper's {level}.")
    if {"add-tree", "addtree"} <= errors.keys():
        behind = [n for n, a, b in zip(sizes, means["addtree"], means["add-tree"], strict=True) if a > b]
        said = f"NOT at {', '.join(map(str, behind))} samples" if behind else "at every size"
        lines.append(f"`addtree` is at least as good as `add-tree` in the mean: {said}.")
    return _listed(lines)


def _listed(lines: Sequence[str]) -> str:
    found = ["- " + line.replace(" -", " −") for line in lines if line]
    return "Claims:\n\n" + "\n".join(found) + "\n" if found else ""
