"""Tables and plots from runs: `python -m benchmarks.report --results DIR`. `regret.py` computes the numbers."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from addtree._types import Index
from addtree.support.files import write_text
from benchmarks import tasks
from benchmarks.support.files import RESULTS
from benchmarks.support.regret import ALPHA, BASELINE, Results, compare, interval, normalised, ranks, read, summarise

SMALLEST = 1e-16  # A regret below this one is rounding error, and counts as this one.
MARKS = (10, 20, 30, 50)  # The tables show the regret after these numbers of evaluations, and at the final budget.
PRECISION_MARKS = (25, 40, 60)  # The same for the table of the functions, where small regrets can be told apart.


def table(summary: Mapping[str, Any], marks: Sequence[int]) -> str:
    """The main table; the best method at the final budget comes first."""
    rows = sorted(summary["methods"].items(), key=lambda row: row[1]["regret"][marks[-1]])
    head = ["method", *(f"regret at {t}" for t in marks), f"at {marks[-1]}, other tasks"]
    lines = [[*head, *(f"rank at {t}" for t in marks[-2:]), "ms per suggestion", "runs"]]
    for method, row in rows:
        cells = [with_interval(row["regret"][t], row["seeds"][t]) for t in marks]
        low, high = row["tasks"][marks[-1]]
        places = [f"{row['rank'][t]:.2f}" for t in marks[-2:]]
        lines.append([method, *cells, f"{low:.2f}–{high:.2f}", *places, f"{row['milliseconds']:.1f}", str(row["runs"])])
    return markdown_table(lines)


def family_table(summary: Mapping[str, Any], marks: Sequence[int]) -> str:
    """Mean normalised regret by family."""
    families = list(next(iter(summary["methods"].values()))["family"])
    lines = [["method", *(f"{family} at {t}" for family in families for t in marks[-2:])]]
    for method, row in summary["methods"].items():
        lines.append([method, *(f"{row['family'][family][t]:.2f}" for family in families for t in marks[-2:])])
    return markdown_table(lines)


def task_table(results: Results, methods: Sequence[str]) -> str:
    """Mean normalised regret at the final budget by task."""
    curves = normalised(results.runs, results.best)
    lines = [["task", *methods]]
    for task, each in curves.items():
        lines.append([task, *(f"{each[m][:, -1].mean():.3g}" if m in each else "–" for m in methods)])
    return markdown_table(lines)


def precision_table(results: Results, methods: Sequence[str], marks: Sequence[int]) -> str:
    """Median log10 regret on the functions, whose optima are known exactly."""
    lines = [["task", "method", *map(str, marks)]]
    for task, each in results.runs.items():
        if tasks.family(task) != "function":
            continue
        optimum = results.known[task]
        assert optimum is not None
        for method in (method for method in methods if method in each):
            regret = each[method].values - optimum
            digits = np.median(np.log10(np.maximum(regret, SMALLEST)), axis=0)
            lines.append([task, method, *(f"{digits[t - 1]:.1f}" for t in marks)])
    return markdown_table(lines)


def with_interval(value: float, interval: Iterable[float]) -> str:
    """A number and its interval; without one if it is empty, as that of one seed is.

    >>> with_interval(0.5, [0.4, 0.625]), with_interval(0.5, [0.5, 0.5])
    ('0.50 (0.40–0.62)', '0.50')
    """
    low, high = interval
    return f"{value:.2f}" if math.isclose(low, high) else f"{value:.2f} ({low:.2f}–{high:.2f})"


def markdown_table(lines: Sequence[Sequence[str]]) -> str:
    """Rows of cells as a table; the first row is its head."""
    head, *rows = lines
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *rows))


def markdown(results: Results, subject: str, marks: Sequence[int]) -> tuple[str, dict[str, Any]]:
    """The whole report, and the numbers in it; `subject` is the method that is compared with every other."""
    complete = results.complete
    partial = [method for method in results.methods if method not in complete]
    summary = summarise(results, complete, marks)
    seeds = sorted({len(each[method].seeds) for each in results.runs.values() for method in complete})
    parts = [
        "# Benchmark",
        f"{len(summary['tasks'])} tasks, {' or '.join(map(str, seeds))} seeds, {marks[-1]} evaluations. The regret is "
        f"normalised: that of random search after {marks[-1]} evaluations is 1, and less is better. The brackets hold "
        "the 95 % bootstrap interval over seeds. `Other tasks` is the interval if the tasks are resampled as well.",
        table(summary, marks),
        "## By family",
        family_table(summary, marks),
    ]
    numbers: dict[str, Any] = {"complete": summary, "partial": {}}
    for method in partial:
        # A method with runs on some tasks only is compared with the others on those tasks.
        numbers["partial"][method] = some = summarise(results, [*complete, method], marks)
        if some["tasks"]:
            parts += [f"## {method}, on the {len(some['tasks'])} tasks it was run on", table(some, marks)]
    if subject in results.methods:
        numbers["wilcoxon"] = verdicts = compare(results.runs, subject, [*complete, *partial])
        parts += [f"## Task by task (Wilcoxon over paired seeds, α = {ALPHA})", verdict_table(subject, verdicts)]
    if any(tasks.family(task) == "function" for task in results.runs):
        at = [*(t for t in PRECISION_MARKS if t < marks[-1]), marks[-1]]
        parts += ["## Median log10 regret on the functions", precision_table(results, [*complete, *partial], at)]
    parts += ["## Normalised regret at the end, task by task", task_table(results, [*complete, *partial])]
    return "\n\n".join(parts) + "\n", numbers


def verdict_table(subject: str, verdicts: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """The number of tasks on which the subject is better than each peer, worse, or neither."""
    lines = [[f"{subject} against", "better", "neither", "worse", "worse on"]]
    for peer, verdict in verdicts.items():
        counts = [str(len(verdict[key])) for key in ("better", "neither", "worse")]
        lines.append([peer, *counts, ", ".join(verdict["worse"]) or "–"])
    return markdown_table(lines)


# ---------------------------------------------------------------- plots


def plot(results: Results, out: Path) -> None:
    """`regret` and `rank`, each as SVG and PNG, of the methods that have run on every task."""
    try:
        import matplotlib
    except ImportError:
        print("no plots: matplotlib is not installed\n")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    methods = results.complete
    curves = normalised(results.runs, results.best)
    families = dict.fromkeys(map(tasks.family, curves))
    groups = {"all tasks": list(curves), **{f: [t for t in curves if tasks.family(t) == f] for f in families}}

    figure, axes = pyplot.subplots(1, len(groups), figsize=(4 * len(groups), 3.6), layout="constrained", squeeze=False)
    for axis, (title, names) in zip(axes[0], groups.items(), strict=True):
        for method in methods:
            own = [curves[task][method] for task in names]
            mean = np.mean([curve.mean(axis=0) for curve in own], axis=0)
            low, high = interval(own, resample_tasks=False)
            t = _drawn(len(mean))
            (line,) = axis.plot(t, mean[t - 1], label=method)
            axis.fill_between(t, low[t - 1], high[t - 1], color=line.get_color(), alpha=0.2, linewidth=0)
        axis.set(title=f"{title} ({len(names)})", xlabel="evaluations", yscale="log")
    axes[0, 0].set_ylabel("normalised regret")
    axes[0, 0].legend(frameon=False)
    _save(figure, out / "regret")

    figure, axis = pyplot.subplots(figsize=(5, 3.6), layout="constrained")
    for method, line in zip(methods, ranks(curves, methods), strict=True):
        t = _drawn(len(line))
        axis.plot(t, line[t - 1], label=method)
    axis.set(xlabel="evaluations", ylabel="average rank")
    axis.legend(frameon=False)
    _save(figure, out / "rank")


def _drawn(n: int) -> Index:
    """The evaluations at which a curve is drawn: the first ten, then every fifth, which keeps the file small."""
    return np.concatenate([np.arange(1, min(n, 10) + 1), np.arange(15, n + 1, 5)])


def _save(figure: Any, stem: Path) -> None:
    """Save a figure as PNG and SVG. The SVG has text as text, and depends on nothing but the figure."""
    from matplotlib import rc_context

    figure.savefig(stem.with_suffix(".png"), dpi=150)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": stem.name, "font.sans-serif": ["DejaVu Sans"]}):
        figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None})


# ---------------------------------------------------------------- the command


def write(results: Results, out: Path, *, subject: str, marks: Sequence[int], plots: bool = True) -> str:
    """Write the report, its numbers and, if `plots`, the plots into a folder; returns the text of the report."""
    if BASELINE not in results.methods:
        raise SystemExit(f"{BASELINE} search is the unit of regret, and has no run; add --methods {BASELINE}")
    text, numbers = markdown(results, subject, marks)
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "report.md", text)
    write_text(out / "summary.json", json.dumps(numbers, indent=1) + "\n")
    if plots:
        plot(results, out)
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder with runs")
    parser.add_argument("--out", type=Path, help="folder for the report (default: that of the runs)")
    parser.add_argument("--budget", type=int, default=100, help="evaluations per run (default: 100)")
    parser.add_argument("--marks", type=int, nargs="+", help="evaluations to show (default: 10, 20, 30, 50, budget)")
    parser.add_argument("--subject", default="addtree", help="the method that is compared with every other")
    parser.add_argument("--tasks", nargs="+", default=tasks.USUAL, help=tasks.HELP)
    parser.add_argument("--no-plots", action="store_true", help="write the report without plots")
    given = parser.parse_args(arguments)
    wanted = tasks.matching(given.tasks)
    runs = {task: each for task, each in read(given.results, given.budget).items() if task in wanted}
    if not runs:
        raise SystemExit(f"no runs with {given.budget} evaluations in {given.results}; make some with benchmarks.run")
    marks = given.marks or sorted({t for t in MARKS if t < given.budget} | {given.budget})
    out = given.out or given.results
    results = Results.from_runs(runs)
    print(write(results, out, subject=given.subject, marks=marks, plots=not given.no_plots))


if __name__ == "__main__":
    main()
