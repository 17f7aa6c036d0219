"""From runs to tables and plots: `python -m benchmarks.report --results DIR`.

    y_t   best value after t evaluations                          (seeds x budget, a task and method)
    r_t   regret, y_t - y*, with y* the reference or the best value of any run, whichever is less
    s     mean r of random search at the final budget             (a task)
    n_t   normalised regret, r_t / s; its mean over seeds, then over tasks, is what the tables show

Intervals are 95 % bootstrap intervals of that mean. `seeds` resamples seeds within each task: how well this benchmark
is measured. `tasks` resamples the tasks as well: what another benchmark of the same kind might say.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

from benchmarks import tasks
from benchmarks.files import RESULTS, write

Array: TypeAlias = NDArray[np.float64]
REPLICATES = 2000
ALPHA = 0.05
BASELINE = "random"
SMALLEST = 1e-16  # regret below this is rounding error
PRECISION_MARKS = (25, 40, 60)


@dataclass(frozen=True)
class Runs:
    """The runs of one method on one task, seed by seed."""

    seeds: tuple[int, ...]
    values: Array  # seeds x budget
    seconds: Array  # seeds x budget


Results: TypeAlias = Mapping[str, Mapping[str, Runs]]  # task, then method


def read(folder: Path, budget: int) -> dict[str, dict[str, Runs]]:
    """Every run on disk with at least `budget` evaluations."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for path in sorted(folder.glob("*/*/*.json")):
        run = json.loads(path.read_text())
        if len(run["values"]) >= budget:
            found.setdefault(run["task"], {}).setdefault(run["method"], []).append(run)

    def stack(runs: list[dict[str, Any]]) -> Runs:
        runs = sorted(runs, key=lambda run: int(run["seed"]))
        return Runs(
            tuple(run["seed"] for run in runs),
            np.array([run["values"][:budget] for run in runs]),
            np.array([run["seconds"][:budget] for run in runs]),
        )

    return {task: {method: stack(runs) for method, runs in each.items()} for task, each in found.items()}


def references(results: Results) -> dict[str, float]:
    """y* of each task."""
    out = {}
    for task, each in results.items():
        found = min(float(runs.values.min()) for runs in each.values())
        known = tasks.reference(task)
        out[task] = found if known is None else min(found, known)
    return out


def normalised(results: Results, best: Mapping[str, float]) -> dict[str, dict[str, Array]]:
    """n_t (seeds x budget) of each task and method. A task that random search solves exactly says nothing: left out."""
    out: dict[str, dict[str, Array]] = {}
    for task, each in results.items():
        if BASELINE not in each:
            continue
        regret = {m: np.minimum.accumulate(runs.values, axis=1) - best[task] for m, runs in each.items()}
        scale = float(regret[BASELINE][:, -1].mean())
        if scale > 0:
            out[task] = {method: r / scale for method, r in regret.items()}
    return out


def interval(curves: Sequence[Array], *, resample_tasks: bool, seed: int = 0) -> Array:
    """95 % bootstrap interval (2 x budget) of the mean over tasks of the mean over seeds."""
    rng = np.random.default_rng(seed)
    # replicates x tasks x budget: the mean over resampled seeds, one task at a time
    means = np.stack([_resampled_means(curve, rng) for curve in curves], axis=1)
    if resample_tasks:
        picked = rng.integers(len(curves), size=(REPLICATES, len(curves)))
        means = np.take_along_axis(means, picked[:, :, None], axis=1)
    out: Array = np.quantile(means.mean(axis=1), [0.025, 0.975], axis=0)
    return out


def _resampled_means(curve: Array, rng: np.random.Generator) -> Array:
    seeds = len(curve)
    weights = rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=REPLICATES) / seeds
    out: Array = weights @ curve
    return out


def ranks(curves: Mapping[str, Mapping[str, Array]], methods: Sequence[str]) -> Array:
    """Average rank (methods x budget), over tasks and over the seeds that all methods have; ties share their rank."""
    a_task = []
    for each in curves.values():
        seeds = min(len(each[method]) for method in methods)
        stacked = np.stack([each[method][:seeds] for method in methods])  # methods x seeds x budget
        a_task.append(rankdata(stacked, axis=0).mean(axis=1))
    out: Array = np.mean(a_task, axis=0)
    return out


def p_value(a: Array, b: Array) -> float:
    """Wilcoxon signed-rank test over paired seeds, two-sided; 1 where the two never differ."""
    difference = a - b
    return 1.0 if not np.any(difference) else float(wilcoxon(difference).pvalue)


def compare(results: Results, subject: str, methods: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """Per peer, the tasks on which the subject is significantly better and worse at the final budget."""
    out: dict[str, dict[str, list[str]]] = {}
    for peer in methods:
        if peer == subject:
            continue
        verdict: dict[str, list[str]] = {"better": [], "worse": [], "neither": []}
        for task, each in results.items():
            if subject not in each or peer not in each:
                continue
            shared = sorted(set(each[subject].seeds) & set(each[peer].seeds))
            ends = [
                np.array([runs.values[runs.seeds.index(seed)].min() for seed in shared])
                for runs in (each[subject], each[peer])
            ]
            if len(shared) < 2 or p_value(*ends) >= ALPHA:
                verdict["neither"].append(task)
            else:
                verdict["better" if ends[0].mean() < ends[1].mean() else "worse"].append(task)
        out[peer] = verdict
    return out


def summarise(results: Results, methods: Sequence[str], marks: Sequence[int]) -> dict[str, Any]:
    """The numbers of one table: these methods on the tasks that all of them have run."""
    shared = {task: each for task, each in results.items() if all(method in each for method in methods)}
    curves = normalised(shared, references(results))
    if not curves:
        return {"tasks": [], "methods": {}}
    rank = ranks(curves, methods)
    rows: dict[str, Any] = {}
    for i, method in enumerate(methods):
        own = [curves[task][method] for task in curves]
        mean = np.mean([curve.mean(axis=0) for curve in own], axis=0)
        by_seeds, by_tasks = (interval(own, resample_tasks=tasks_too) for tasks_too in (False, True))
        seconds = np.concatenate([shared[task][method].seconds.ravel() for task in curves])
        rows[method] = {
            "regret": {t: float(mean[t - 1]) for t in marks},
            "seeds": {t: by_seeds[:, t - 1].tolist() for t in marks},
            "tasks": {t: by_tasks[:, t - 1].tolist() for t in marks},
            "rank": {t: float(rank[i, t - 1]) for t in marks},
            "milliseconds": float(seconds.mean() * 1e3),
            "runs": int(sum(len(curve) for curve in own)),
            "family": _by_family(curves, method, marks),
        }
    return {"tasks": list(curves), "methods": rows}


def _by_family(curves: Mapping[str, Mapping[str, Array]], method: str, marks: Sequence[int]) -> dict[str, Any]:
    out = {}
    for family in dict.fromkeys(map(tasks.family, curves)):
        own = [curves[task][method].mean(axis=0) for task in curves if tasks.family(task) == family]
        out[family] = {t: float(np.mean(own, axis=0)[t - 1]) for t in marks}
    return out


# ---------------------------------------------------------------- Markdown


def table(summary: Mapping[str, Any], marks: Sequence[int]) -> str:
    """The main table, best method at the final budget first."""
    rows = sorted(summary["methods"].items(), key=lambda row: row[1]["regret"][marks[-1]])
    head = ["method", *(f"regret at {t}" for t in marks), f"at {marks[-1]}, other tasks"]
    lines = [[*head, *(f"rank at {t}" for t in marks[-2:]), "ms a suggestion", "runs"]]
    for method, row in rows:
        cells = [f"{row['regret'][t]:.2f} ({row['seeds'][t][0]:.2f}–{row['seeds'][t][1]:.2f})" for t in marks]
        low, high = row["tasks"][marks[-1]]
        places = [f"{row['rank'][t]:.2f}" for t in marks[-2:]]
        lines.append([method, *cells, f"{low:.2f}–{high:.2f}", *places, f"{row['milliseconds']:.1f}", str(row["runs"])])
    return _markdown(lines)


def family_table(summary: Mapping[str, Any], marks: Sequence[int]) -> str:
    """Mean normalised regret family by family."""
    families = list(next(iter(summary["methods"].values()))["family"])
    lines = [["method", *(f"{family} at {t}" for family in families for t in marks[-2:])]]
    for method, row in summary["methods"].items():
        lines.append([method, *(f"{row['family'][family][t]:.2f}" for family in families for t in marks[-2:])])
    return _markdown(lines)


def task_table(results: Results, methods: Sequence[str]) -> str:
    """Mean normalised regret at the final budget, task by task."""
    curves = normalised(results, references(results))
    lines = [["task", *methods]]
    for task, each in curves.items():
        lines.append([task, *(f"{each[m][:, -1].mean():.3g}" if m in each else "–" for m in methods)])
    return _markdown(lines)


def precision_table(results: Results, methods: Sequence[str], marks: Sequence[int]) -> str:
    """Median log10 regret on the functions, whose optima are known exactly."""
    lines = [["task", "method", *map(str, marks)]]
    for task in (task for task in results if tasks.family(task) == "function"):
        optimum = tasks.reference(task)
        assert optimum is not None
        for method in (method for method in methods if method in results[task]):
            regret = np.minimum.accumulate(results[task][method].values, axis=1) - optimum
            digits = np.median(np.log10(np.maximum(regret, SMALLEST)), axis=0)
            lines.append([task, method, *(f"{digits[t - 1]:.1f}" for t in marks)])
    return _markdown(lines)


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *rows = lines
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *rows))


def markdown(
    results: Results, methods: Sequence[str], subject: str, marks: Sequence[int]
) -> tuple[str, dict[str, Any]]:
    """The whole report and the numbers in it."""
    complete = [method for method in methods if all(method in each for each in results.values())]
    summary = summarise(results, complete, marks)
    seeds = sorted({len(each[method].seeds) for each in results.values() for method in complete})
    parts = [
        "# Benchmark",
        f"{len(summary['tasks'])} tasks, {' or '.join(map(str, seeds))} seeds, {marks[-1]} evaluations. Normalised "
        f"regret: random search at {marks[-1]} evaluations = 1, less is better; in brackets the 95 % bootstrap "
        "interval over seeds. `Other tasks`: the interval when tasks are resampled as well.",
        table(summary, marks),
        "## By family",
        family_table(summary, marks),
    ]
    everything: dict[str, Any] = {"complete": summary, "partial": {}}
    partial = [method for method in methods if method not in complete and any(method in e for e in results.values())]
    for method in partial:
        # A method with runs on some tasks only is compared on those, with the others on the same tasks and no others.
        some = summarise(results, [*complete, method], marks)
        everything["partial"][method] = some
        if some["tasks"]:
            parts += [f"## {method}, on the {len(some['tasks'])} tasks it was run on", table(some, marks)]
    if any(subject in each for each in results.values()):
        verdicts = compare(results, subject, [*complete, *partial])
        everything["wilcoxon"] = verdicts
        lines = [[f"{subject} against", "better", "neither", "worse", "worse on"]]
        for peer, verdict in verdicts.items():
            counts = [str(len(verdict[key])) for key in ("better", "neither", "worse")]
            lines.append([peer, *counts, ", ".join(verdict["worse"]) or "–"])
        parts += [f"## Task by task (Wilcoxon over paired seeds, α = {ALPHA})", _markdown(lines)]
    if any(tasks.family(task) == "function" for task in results):
        at = [*(t for t in PRECISION_MARKS if t < marks[-1]), marks[-1]]
        parts += ["## Median log10 regret on the functions", precision_table(results, [*complete, *partial], at)]
    parts += ["## Normalised regret at the end, task by task", task_table(results, [*complete, *partial])]
    return "\n\n".join(parts) + "\n", everything


# ---------------------------------------------------------------- plots


def plot(results: Results, methods: Sequence[str], out: Path) -> None:
    """`regret` and `rank`, each as SVG and PNG, of the methods that have run on every task."""
    try:
        import matplotlib
    except ImportError:
        print("no plots: matplotlib is not installed\n")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    complete = [method for method in methods if all(method in each for each in results.values())]
    curves = normalised(results, references(results))
    families = dict.fromkeys(map(tasks.family, curves))
    groups = {"all tasks": list(curves), **{f: [t for t in curves if tasks.family(t) == f] for f in families}}

    figure, axes = pyplot.subplots(1, len(groups), figsize=(4 * len(groups), 3.6), layout="constrained", squeeze=False)
    for axis, (title, names) in zip(axes[0], groups.items(), strict=True):
        for method in complete:
            own = [curves[task][method] for task in names]
            mean = np.mean([curve.mean(axis=0) for curve in own], axis=0)
            t = np.arange(1, len(mean) + 1)
            (line,) = axis.plot(t, mean, label=method)
            axis.fill_between(t, *interval(own, resample_tasks=False), color=line.get_color(), alpha=0.2, linewidth=0)
        axis.set(title=f"{title} ({len(names)})", xlabel="evaluations", yscale="log")
    axes[0, 0].set_ylabel("normalised regret")
    axes[0, 0].legend(frameon=False)
    _save(figure, out / "regret")

    figure, axis = pyplot.subplots(figsize=(5, 3.6), layout="constrained")
    for method, line in zip(complete, ranks(curves, complete), strict=True):
        axis.plot(np.arange(1, len(line) + 1), line, label=method)
    axis.set(xlabel="evaluations", ylabel="average rank")
    axis.legend(frameon=False)
    _save(figure, out / "rank")


def _save(figure: Any, stem: Path) -> None:
    for kind in ("svg", "png"):
        figure.savefig(stem.with_suffix(f".{kind}"), dpi=150)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder with runs")
    parser.add_argument("--out", type=Path, help="folder for the report (default: that of the runs)")
    parser.add_argument("--budget", type=int, default=100, help="evaluations a run (default: 100)")
    parser.add_argument("--marks", type=int, nargs="+", help="where to look (default: 30, 50 and the budget)")
    parser.add_argument("--subject", default="addtree", help="the method compared with every other")
    parser.add_argument(
        "--tasks", nargs="+", default=tasks.USUAL, help="names, families, patterns (usual: all but unseen)"
    )
    parser.add_argument("--no-plots", action="store_true")
    given = parser.parse_args(arguments)
    wanted = tasks.matching(given.tasks)
    results = {task: each for task, each in read(given.results, given.budget).items() if task in wanted}
    if not results:
        raise SystemExit(f"no runs with {given.budget} evaluations in {given.results}; make some with benchmarks.run")
    methods = list(dict.fromkeys(method for each in results.values() for method in each))
    if BASELINE not in methods:
        raise SystemExit(f"regret is in units of {BASELINE} search, of which there is no run; add --methods {BASELINE}")
    marks = given.marks or sorted({t for t in (30, 50) if t < given.budget} | {given.budget})
    text, numbers = markdown(results, methods, given.subject, marks)
    out = given.out or given.results
    out.mkdir(parents=True, exist_ok=True)
    write(out / "report.md", text)
    write(out / "summary.json", json.dumps(numbers, indent=1) + "\n")
    if not given.no_plots:
        plot(results, methods, out)
    print(text)


if __name__ == "__main__":
    main()
