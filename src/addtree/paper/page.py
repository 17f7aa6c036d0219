"""The results page: figures and tables from the records on disk, with the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from addtree._types import Config
from addtree.paper import claims, figures, tables
from addtree.paper.experiments import OPTIMIZATION
from addtree.paper.methods import METHODS
from addtree.paper.tables import Curves, table
from addtree.problems import synthetic

Record = Mapping[str, Any]  # of one run
Records = Mapping[str, Mapping[str, Sequence[Record]]]  # by experiment and method, ordered by seed

SHOWN = (20, 40, 60, 80)  # The tables of the optimization experiments show these iterations.
SIZES_SHOWN = (12, 20, 24, 44, 60)  # The table of the regression shows these numbers of training samples.
FIRST_SHOWN = 10  # The compression figures begin at this iteration; before it the values are up to twenty times larger.
TITLES = {
    "synthetic": "Synthetic optimization (the paper's Figure 3)",
    "compression-tree": "Model compression, the paper's strict tree (Figure 5)",
    "compression-choices": "Model compression, two independent choices",
}


@dataclass(frozen=True)
class Page:
    """The content of a page.

    complexity  the measurements of `complexity.py`; None if there are none
    network     the record of the network that is compressed; None if there is none
    missing     what could not run or failed, a line each
    pictures    the folder for the figures, beside the page
    """

    records: Records
    complexity: Mapping[str, Any] | None
    network: Mapping[str, Any] | None
    missing: Sequence[str]
    pictures: Path

    def text(self) -> str:
        """The text of the page; the figures are drawn too."""
        parts = [HEAD, self._versions(), self._methods()]
        for name in ("synthetic", "regression", "compression-tree", "compression-choices"):
            if self.records.get(name):
                parts.append(self._regression() if name == "regression" else self._optimization(name))
        if self.complexity:
            parts.append(self._complexity(self.complexity))
        absent = [name for name in (*OPTIMIZATION, "regression") if not self.records.get(name)]
        notes = [f"- `{name}` was not run." for name in absent] + [f"- {line}" for line in self.missing]
        used = {method for name in OPTIMIZATION for method in self.records.get(name, {})}
        for name in OPTIMIZATION:
            lacking = sorted(used - set(self.records.get(name, used)))
            notes += [f"- `{name}` was not run with `{method}`." for method in lacking]
        if notes:
            parts.append("## Missing\n\n" + "\n".join(notes) + "\n")
        return "\n".join(parts)

    def _picture(self, name: str, text: str) -> str:
        return f"![{text}]({self.pictures.name}/{name}.svg)\n\n"

    def _versions(self) -> str:
        seen: dict[str, set[str]] = {}
        by_commit: dict[str, dict[str, set[str]]] = {}
        ran = [(e, m, record) for e, methods in self.records.items() for m, runs in methods.items() for record in runs]
        ran += [("complexity", "both", self.complexity)] if self.complexity else []
        ran += [("network", "FC3", self.network)] if self.network else []
        for experiment, method, record in ran:
            about = dict(record["versions"])
            by_commit.setdefault(about.pop("commit"), {}).setdefault(experiment, set()).add(method)
            for name, version in about.items():
                seen.setdefault(name, set()).add(version)
        rows = [[name, ", ".join(sorted(found))] for name, found in seen.items()]
        out = "Produced with:\n\n" + table(["what", "version"], rows) + "\nand at these commits:\n\n"
        rows = []
        for commit, experiments in sorted(by_commit.items()):
            there = (f"{name}: {', '.join(sorted(methods))}" for name, methods in experiments.items())
            rows.append([f"`{commit}`", "; ".join(there)])
        return out + table(["commit", "what ran there"], rows)

    def _methods(self) -> str:
        used = {method for methods in self.records.values() for method in methods}
        rows = [[f"`{name}`", METHODS[name].note] for name in METHODS if name in used]
        return "## Methods\n\n" + table(["name", "what it is"], rows) + TREE_NOTE

    def _curves(self, experiment: str) -> Curves:
        runs = self.records[experiment]
        best = {n: np.minimum.accumulate([record["values"] for record in found], axis=1) for n, found in runs.items()}
        return Curves(best, {name: tuple(record["seed"] for record in found) for name, found in runs.items()})

    def _optimization(self, experiment: str) -> str:
        curves = self._curves(experiment)
        optimum = synthetic().optimum if experiment == "synthetic" else None
        shown = curves.best
        label = "best objective so far"
        if optimum is not None:
            shown = {name: tables.log_distance(best, optimum) for name, best in curves.best.items()}
            label = "log10 distance to the minimum"
        first = 0 if optimum is not None else min(FIRST_SHOWN, curves.length) - 1
        figures.curves(
            {name: runs[:, first:] for name, runs in shown.items()},
            range(first + 1, curves.length + 1),
            labels=("iteration", label),
            path=self.pictures / experiment,
            every=max(1, curves.length // 10),
        )
        out = f"## {TITLES[experiment]}\n\n" + self._picture(experiment, TITLES[experiment])
        if experiment != "synthetic" and self.network:
            out += f"FC3 before compression: {100 * self.network['test accuracy']:.2f} % of the test images right.\n\n"
        out += f"The figure shows mean and two standard deviations, the table mean (median) of the {label}:\n\n"
        out += tables.level_table(curves, optimum=optimum, iterations=SHOWN)
        if experiment == "synthetic":
            out += _ends("in the leaf of the minimum", lambda c: c["x1"] == c.get("x2") == 0, self.records[experiment])
        else:  # the paper's finding is SVD for both layers, so that no method is pruning
            out += _ends("with SVD for both layers", lambda c: "wp" not in c.values(), self.records[experiment])
        out += "\nWilcoxon signed-rank test, one-sided p-values, the paper's (Table 1) in brackets:\n\n"
        out += tables.wilcoxon_table(experiment, curves)
        out += _seconds(self.records[experiment])
        return out + "\n" + claims.optimization(experiment, curves)

    def _regression(self) -> str:
        runs = self.records["regression"]
        sizes: list[int] = list(next(iter(runs.values()))[0]["sizes"])
        errors = {name: np.array([record["mse"] for record in found]) for name, found in runs.items()}
        figures.curves(
            {name: tables.log_error(found) for name, found in errors.items()},
            sizes,
            labels=("training samples", "log10 MSE on 50 test samples"),
            path=self.pictures / "regression",
        )
        shown = [n for n in SIZES_SHOWN if n in sizes] or sizes
        out = "## Regression (the paper's Figure 4)\n\n" + self._picture("regression", "Regression")
        out += "Mean (median) of log10 MSE:\n\n" + tables.regression_table(errors, sizes, shown)
        rows = []
        for name, found in errors.items():
            needed = tables.samples_needed(found, sizes, 1e-4)
            paper = str(claims.SAMPLES_NEEDED.get(name, "–"))
            rows.append([f"`{name}`", str(needed) if needed else f"more than {sizes[-1]}", paper])
        out += "\nSamples until the mean log10 MSE is −4 or less:\n\n"
        out += table(["method", "here", "the paper"], rows)
        out += "\nThe paper at 20 samples: 10⁻³ for add-tree, 10⁻¹ for independent GPs.\n"
        return out + "\n" + claims.regression(errors, sizes)

    def _complexity(self, found: Mapping[str, Any]) -> str:
        n, h = np.array(found["sizes"], float), np.array(found["depths"], float)
        root, none = (np.array(found["inference"][key]) for key in ("shared root", "no shared root"))
        fast, slow = (np.array(found["acquisition"][key]) for key in ("Algorithm 2", "every leaf"))
        cubic = root[-1] * (n / n[-1]) ** 3
        series = {"shared root": (n, root), "no shared root": (n, none)}
        series |= {"order n³": (n, cubic), "order 2 (n/2)³": (n, cubic / 4)}
        figures.scaling(series, labels=("observations", "seconds"), path=self.pictures / "complexity-inference")
        leaves = 2 ** (h - 1)
        vertices = 2**h - 1
        figures.scaling(
            {
                "Algorithm 2": (leaves, fast),
                "every leaf": (leaves, slow),
                "order |V|": (leaves, fast[-1] * vertices / vertices[-1]),
                "order |P| h²": (leaves, slow[-1] * leaves * h**2 / (leaves[-1] * h[-1] ** 2)),
            },
            labels=("leaves", "seconds for one suggestion"),
            path=self.pictures / "complexity-acquisition",
        )
        out = "## Complexity (appendices B and C)\n\n" + self._picture("complexity-inference", "Inference")
        out += "Factorise and solve, milliseconds; two halves of equal size should cost a quarter:\n\n"
        rows = [
            [f"{k:.0f}", f"{1e3 * a:.2f}", f"{1e3 * b:.2f}", f"{a / b:.1f}"]
            for k, a, b in zip(n, root, none, strict=True)
        ]
        out += table(["observations", "shared root", "no shared root", "ratio"], rows) + "\n"
        out += self._picture("complexity-acquisition", "Acquisition")
        out += "One suggestion on a perfect binary tree with 60 observations, milliseconds:\n\n"
        rows = [
            [f"{k:.0f}", f"{p:.0f}", f"{1e3 * a:.1f}", f"{1e3 * b:.1f}", f"{b / a:.1f}"]
            for k, p, a, b in zip(h, leaves, fast, slow, strict=True)
        ]
        return out + table(["depth", "leaves", "Algorithm 2", "every leaf", "ratio"], rows)


def _ends(words: str, holds: Callable[[Config], bool], runs: Mapping[str, Sequence[Record]]) -> str:
    """The number of runs whose best configuration has a property, which the words describe."""
    counts = []
    for name, found in runs.items():
        best = [record["configs"][int(np.argmin(record["values"]))] for record in found]
        counts.append(f"`{name}` {sum(map(holds, best))}/{len(found)}")
    return f"\nRuns that end {words}: {', '.join(counts)}.\n"


def _seconds(runs: Mapping[str, Sequence[Record]]) -> str:
    cells = [f"`{name}` {1e3 * np.mean([r['seconds'] for r in found]):.0f}" for name, found in runs.items()]
    return "\nMilliseconds per suggestion (on a busy machine; compare, don't quote): " + ", ".join(cells) + ".\n"


HEAD = """# The paper, reproduced

Every number and figure on this page comes from `python -m addtree.paper`. The experiments are those of Ma & Blaschko,
*Additive Tree-Structured Covariance Function for Conditional Parameter Spaces in Bayesian Optimization*, AISTATS 2020.
"""

TREE_NOTE = """
The code of `tree` was never published, and its sources leave some settings open: the noise floor, the priors, and the
least improvement sought inside a leaf. They were set on the synthetic function, so that the method does about as well
there as reported (log10 distance above −4 at iteration 60, well below `tpe`), and are the same in every experiment. Two
settings were chosen on the compression problem, each for the stronger competitor. The Gaussian process of a leaf reads
all parameters of its path, because over the last node's alone the method did worse than random search. The improvement
sought is a share of the distance from the best value to the median, because a share of the standard deviation stopped
the search early. If a node has two choices, `tree` nests them, because it needs a tree.

The paper's p-values of 0.003 are those of the normal approximation when all ten runs agree; SciPy's exact test gives
0.001 then. Runs are paired by seed; a method with fewer runs is compared on the seeds that it has.
"""
