"""The page of results in the documentation: `python -m benchmarks.page [--results DIR]`.

It writes `docs/benchmark-results.md`, its figures, and the short table in `README.md` from the runs of the fixed tasks
that are kept in `benchmarks/recorded`. With `--results`, the runs of that folder (`python -m benchmarks.run --tasks
fixed`) are recorded first. After a change of addtree, run its two methods again and record them; the runs of the peers
stay.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from addtree.support.files import write_text
from benchmarks import report, tasks
from benchmarks.paired import holm
from benchmarks.support import recorded, regret
from benchmarks.support.files import RECORDED, RESULTS
from benchmarks.support.recorded import Run
from benchmarks.support.regret import ALPHA, BASELINE, Results

DOCS = Path(__file__).parents[1] / "docs"
MARKS = (10, 20, 30, 50, 100)
OURS = ("addtree", "addtree-define-by-run")
REAL = ("yahpo", "cash")  # The families whose values come from real data, and without noise.
LEAST_SEEDS = 10  # With fewer seeds, no difference on 20 tasks is significant after Holm's correction.
SHORT_BUDGET = 30  # The evaluations of methods that are too slow for whole runs.
# The table of the README lies between these two lines; it shows these columns of the first table of the page.
BEGIN, END = "<!-- python -m benchmarks.page writes this table -->", "<!-- the end of this table -->"
FEWER_RUNS = "**Fewer runs.**"
README_COLUMNS = ("method", "at 20", "at 30", "at 50", "at 100", "ms per suggestion")
TITLES = {
    "addtree": "**addtree**",
    "addtree-define-by-run": "**addtree in Optuna**, the tree inferred",
    "optuna-tpe": "Optuna TPE",
    "optuna-tpe-group": "Optuna TPE, multivariate and grouped",
    "optuna-tpe-hierarchical": "OptunaHub's hierarchical TPE",
    "optuna-tpe-union": "OptunaHub's union TPE",
    "optuna-gp": "Optuna GPSampler",
    "optuna-gp-flat": "Optuna GPSampler, the space flattened by hand",
    "hyperopt": "Hyperopt",
    "smac": "SMAC",
    "random": "random search",
}

Test = tuple[str, str]  # a peer and a task


def write(runs: regret.ByTask, short: regret.ByTask, about: Mapping[str, str], docs: Path) -> str:
    """Write the page and its figures; returns its text.

    runs   whole runs
    short  runs of at least `SHORT_BUDGET` evaluations
    about  the versions of the libraries
    """
    results = Results.from_runs(runs)
    text = "\n\n".join([*_head(results, about), *_shares(results), *_tests(results), *_short(results, short)]) + "\n"
    text += (
        "\n## Task by task\n\nNormalised regret at the end.\n\n" + report.task_table(results, results.complete) + "\n"
    )
    write_text(docs / "benchmark-results.md", text)
    folder = docs / "benchmark"
    folder.mkdir(exist_ok=True)
    report.plot(results, folder)
    for path in folder.glob("*.png"):
        path.unlink()
    readme = docs.parent / "README.md"
    if readme.exists():
        write_text(readme, with_table(readme.read_text(encoding="utf-8"), text))
    return text


def with_table(readme: str, page: str) -> str:
    """The README with the first table of the page, and with the page's remark on methods with fewer runs."""
    table = page[page.index("| method") :].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.split("\n")]
    columns = [rows[0].index(name) for name in README_COLUMNS]
    lines = [[TITLES.get(row[0], row[0]), *(row[i] for i in columns[1:])] for row in (rows[0], *rows[2:])]
    remark = [line for line in page.split("\n") if line.startswith(FEWER_RUNS)]
    before, _, rest = readme.partition(BEGIN)
    after = rest.partition(END)[2]
    return before + "\n\n".join([BEGIN, *remark, report.markdown_table(lines), END]) + after


def _head(results: Results, about: Mapping[str, str]) -> list[str]:
    methods = results.complete
    summary = regret.summarise(results, methods, MARKS)
    versions = ", ".join(f"{name} {version}" for name, version in sorted(about.items()))
    return [
        "# The benchmark's results",
        f"Every method on the same {len(summary['tasks'])} conditional tasks, {MARKS[-1]} evaluations each. "
        "`benchmarks/README.md` describes the tasks, the rule by which they were chosen, and the methods. "
        "`python -m benchmarks.run --tasks fixed` made the runs, and `python -m benchmarks.page` wrote this page from "
        f"what `benchmarks/recorded` keeps of them ({versions}). [An earlier comparison](benchmark-earlier.md) has 27 "
        "tasks.",
        f"The regret is normalised: that of random search after {MARKS[-1]} evaluations is 1, and less is better. The "
        "brackets hold the 95 % bootstrap interval over seeds. Milliseconds are those of the processor, on one core. "
        "`addtree` has the space declared. `addtree-define-by-run` is its Optuna sampler without a declared space.",
        *fewer_runs(results, methods),
        _table(summary, methods),
        "At the early marks, the means depend mostly on a few tasks, such as `cash/diabetes`. On these, random search "
        "is close to the optimum at the end, so that the unit of regret is small. The median over tasks:",
        _median_table(results, methods),
        "Average rank of each method among those in the table:",
        _rank_table(summary, methods),
        "![Regret against evaluations](benchmark/regret.svg)",
        "![Average rank against evaluations](benchmark/rank.svg)",
        "## By family",
        report.family_table(summary, MARKS),
    ]


def fewer_runs(results: Results, methods: Sequence[str]) -> list[str]:
    """A paragraph that names the methods with fewer than `LEAST_SEEDS` seeds on some task; none if all have them."""
    fewest = {method: min(len(each[method].seeds) for each in results.runs.values()) for method in methods}
    lacking = [f"{method} (at least {n})" for method, n in fewest.items() if n < LEAST_SEEDS]
    if not lacking:
        return []
    return [f"{FEWER_RUNS} Every method has {LEAST_SEEDS} seeds on each task, except {'; '.join(lacking)}."]


def _table(summary: Mapping[str, Any], methods: Sequence[str]) -> str:
    lines = [["method", *(f"at {t}" for t in MARKS), "ms per suggestion", "runs"]]
    for method in sorted(methods, key=lambda method: summary["methods"][method]["regret"][MARKS[-1]]):
        row = summary["methods"][method]
        cells = [report.with_interval(row["regret"][t], row["seeds"][t]) for t in MARKS]
        lines.append([method, *cells, f"{row['milliseconds']:.1f}", str(row["runs"])])
    return report.markdown_table(lines)


def _median_table(results: Results, methods: Sequence[str]) -> str:
    """The median over tasks of the mean regret over seeds."""
    curves = regret.normalised(results.runs, results.best)
    medians = {method: np.median([each[method].mean(axis=0) for each in curves.values()], axis=0) for method in methods}
    lines = [["method", *(f"at {t}" for t in MARKS)]]
    for method in sorted(methods, key=lambda method: float(medians[method][-1])):
        lines.append([method, *(f"{medians[method][t - 1]:.2f}" for t in MARKS)])
    return report.markdown_table(lines)


def _rank_table(summary: Mapping[str, Any], methods: Sequence[str]) -> str:
    lines = [["method", *(f"at {t}" for t in MARKS)]]
    for method in sorted(methods, key=lambda method: summary["methods"][method]["rank"][MARKS[-1]]):
        lines.append([method, *(f"{summary['methods'][method]['rank'][t]:.2f}" for t in MARKS)])
    return report.markdown_table(lines)


def _shares(results: Results) -> list[str]:
    """Our regret as a share of the best peer's, and define-by-run over declared."""
    curves = regret.normalised(results.runs, results.best)
    lines = [["", *(f"at {t}" for t in MARKS)]]
    for title, families in (("all tasks", None), ("real tasks", REAL)):
        names = [name for name in curves if families is None or tasks.family(name) in families]
        if not names:
            continue
        methods = [method for method in results.complete if all(method in curves[name] for name in names)]
        for ours in (method for method in OURS if method in methods):
            shares = [_share(curves, names, ours, methods, t) for t in MARKS]
            lines.append([f"{title}: {ours} / best peer", *shares])
            medians = [_share_of_medians(curves, names, ours, methods, t) for t in MARKS]
            lines.append([f"{title}: {ours} / best peer, medians over tasks", *medians])
        if set(OURS) <= set(methods):
            found = regret.ratio(*([curves[name][method] for name in names] for method in OURS[::-1]))
            cells = [report.with_interval(found[0, t - 1], found[1:, t - 1]) for t in MARKS]
            lines.append([f"{title}: define-by-run / declared", *cells])
    intro = (
        "The mean regret as a share of that of the best peer at the same mark, which is named, with the 95 % bootstrap "
        "interval over seeds; and the same of the medians over tasks, which do not depend on a few of them. "
        f"The real tasks are those of the families {' and '.join(f'`{name}`' for name in REAL)}."
    )
    return ["## As a share of the best peer", intro, report.markdown_table(lines)]


def _share(curves: regret.Curves, names: Sequence[str], ours: str, methods: Sequence[str], mark: int) -> str:
    """Our mean regret at a mark over that of the best peer there."""
    peers = _peers(methods)
    if not peers:
        return "–"
    best = min(peers, key=lambda peer: np.mean([curves[name][peer][:, mark - 1].mean() for name in names]))
    found = regret.ratio(*([curves[name][method] for name in names] for method in (ours, best)))
    share, low, high = found[:, mark - 1]
    return f"{share:.2f} ({low:.2f}–{high:.2f}, {best})"


def _share_of_medians(curves: regret.Curves, names: Sequence[str], ours: str, methods: Sequence[str], mark: int) -> str:
    """The median over tasks of our mean regret at a mark, over that of the peer with the least median."""
    medians = {
        method: float(np.median([curves[name][method][:, mark - 1].mean() for name in names]))
        for method in (ours, *_peers(methods))
    }
    best = min(_peers(methods), key=medians.__getitem__, default=None)
    return "–" if best is None else f"{medians[ours] / medians[best]:.2f} ({best})"


def _peers(methods: Sequence[str]) -> list[str]:
    return [method for method in methods if method not in OURS and method != BASELINE]


def tested(runs: regret.ByTask, subject: str, mark: int) -> dict[Test, tuple[bool, bool]]:
    """By peer and task: whether the peer is better at a mark, and whether that is significant.

    Holm's correction is for all tasks of one peer.
    """
    out: dict[Test, tuple[bool, bool]] = {}
    for peer in dict.fromkeys(method for each in runs.values() for method in each if method not in OURS):
        p_values: dict[str, float] = {}
        better: dict[str, bool] = {}
        for task, each in runs.items():
            if subject not in each or peer not in each:
                continue
            shared = sorted(set(each[subject].seeds) & set(each[peer].seeds))
            if len(shared) >= LEAST_SEEDS:
                a, b = (
                    each[method].values[[each[method].seeds.index(seed) for seed in shared], mark - 1]
                    for method in (subject, peer)
                )
                p_values[task], better[task] = regret.p_value(a, b), bool(b.mean() < a.mean())
        out |= {(peer, task): (better[task], p < ALPHA) for task, p in holm(p_values).items()}
    return out


def _tests(results: Results) -> list[str]:
    """The pairs of a peer and a task on which the difference is significant."""
    lines = [["", "mark", "pairs tested", "addtree better", "peer better", "the peer, and the task"]]
    for ours in (method for method in OURS if method in results.methods):
        for mark in MARKS:
            found = tested(results.runs, ours, mark)
            won = sum(significant and not peer_better for peer_better, significant in found.values())
            lost = [f"{peer} on {task}" for (peer, task), verdict in found.items() if all(verdict)]
            lines.append([ours, str(mark), str(len(found)), str(won), str(len(lost)), ", ".join(lost) or "–"])
    return [
        "## Significant differences",
        "The pairs of a peer and a task on which the difference is significant: Wilcoxon's signed-rank test over "
        f"paired seeds, with Holm's correction for the tasks of each peer, α = {ALPHA}. Pairs with fewer than "
        f"{LEAST_SEEDS} seeds are not tested, because no difference could be significant.",
        report.markdown_table(lines),
    ]


def _short(results: Results, short: regret.ByTask) -> list[str]:
    """Methods without whole runs on every task, beside addtree."""
    partial = dict.fromkeys(method for each in short.values() for method in each if method not in results.complete)
    if not partial:
        return []
    marks = [mark for mark in MARKS if mark <= SHORT_BUDGET]
    lines = [["task", "method", *(f"at {mark}" for mark in marks), "ms per suggestion", "runs"]]
    for task, each in regret.normalised(short, Results.from_runs(short).best).items():
        slow = [method for method in partial if method in each]
        for method in (*slow, *(ours for ours in OURS[:1] if slow and ours in each)):
            own = each[method].mean(axis=0)
            milliseconds = np.nanmean(short[task][method].seconds) * 1e3
            cells = [f"{own[mark - 1]:.3g}" for mark in marks]
            lines.append([task, method, *cells, f"{milliseconds:.0f}", str(len(each[method]))])
    intro = (
        f"These methods do not have runs of {MARKS[-1]} evaluations on every task. The table has their regret and that "
        f"of addtree up to {SHORT_BUDGET} evaluations, where that of random search is 1."
    )
    return ["## Methods with fewer runs", intro, report.markdown_table(lines)]


def versions(runs: Iterable[Run]) -> dict[str, str]:
    """The versions of all libraries in the runs; several of one library are all named."""
    found: dict[str, set[str]] = {}
    for run in runs:
        for name, version in run["versions"].items():
            if version != "unknown":
                found.setdefault(name, set()).add(version)
    return {name: " and ".join(sorted(each)) for name, each in found.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="folder with new runs, which are recorded first")
    parser.add_argument("--recorded", type=Path, default=RECORDED, help="folder of the recorded runs")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder of the documentation")
    given = parser.parse_args(arguments)
    if given.results is not None:
        given.recorded.mkdir(exist_ok=True)
        recorded.record(
            (run for run in recorded.read_runs(given.results) if run["task"] in tasks.FIXED), given.recorded
        )
    runs = list(recorded.read(given.recorded))
    whole, short = (regret.arranged(runs, budget) for budget in (MARKS[-1], SHORT_BUDGET))
    if not any(BASELINE in each for each in whole.values()):
        raise SystemExit(
            f"no runs of {BASELINE} search in {given.recorded}; run: python -m benchmarks.run --tasks fixed, "
            f"then python -m benchmarks.page --results {RESULTS.relative_to(DOCS.parent)}"
        )
    print(write(whole, short, versions(runs), given.docs))


if __name__ == "__main__":
    main()
