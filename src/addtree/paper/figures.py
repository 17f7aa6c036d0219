"""The paper's figures, as SVG and PNG: mean and two standard deviations over the runs.

| symbol | meaning | shape |
|---|---|---|
| data | the curves by method, one row a run | runs x iterations (or training sizes) |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from addtree._types import Array

COLOURS = {
    "add-tree": "#d62728",
    "addtree": "#000000",
    "independent": "#9467bd",
    "tree": "#1f77b4",
    "smac": "#2ca02c",
    "tpe": "#ff7f0e",
    "gpyopt": "#17becf",
    "gpyopt-like": "#17becf",
    "random": "#7f7f7f",
}


def curves(
    data: Mapping[str, Array], x: Sequence[int], *, labels: tuple[str, str], path: Path, every: int = 1
) -> list[Path]:
    """One line per method, with a bar of two standard deviations at every `every`-th x; `labels` are of the axes."""
    figure, axes = _new((6.4, 4.4))
    for k, (name, runs) in enumerate(data.items()):
        mean, bars = runs.mean(axis=0), 2 * runs.std(axis=0, ddof=1 if len(runs) > 1 else 0)
        colour = COLOURS.get(name)
        axes.plot(x, mean, label=name, color=colour, lw=2.2 if name in ("add-tree", "addtree") else 1.4)
        at = slice(k % every, None, every)  # the bars of two methods stand side by side, not on top of one another
        axes.errorbar(
            np.asarray(x)[at], mean[at], bars[at], fmt="none", ecolor=colour, elinewidth=0.8, capsize=2, alpha=0.7
        )
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, ncols=2)
    return save(figure, path)


def scaling(series: Mapping[str, tuple[Array, Array]], *, labels: tuple[str, str], path: Path) -> list[Path]:
    """Times on two logarithmic axes; a name that starts with `order` is a prediction and is drawn dashed."""
    figure, axes = _new((5.6, 4.2))
    for name, (x, y) in series.items():
        axes.plot(x, y, "--" if name.startswith("order") else "o-", label=name, lw=1.4, ms=4)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.grid(alpha=0.25, which="both")
    axes.legend(fontsize=8)
    return save(figure, path)


def _new(size: tuple[float, float]) -> tuple[Any, Any]:
    """A figure that draws without a display and without pyplot's global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def save(figure: Any, path: Path) -> list[Path]:
    """Write the SVG and the PNG; the SVG has no date, so that the same data give the same file."""
    from matplotlib import rc_context

    path.parent.mkdir(parents=True, exist_ok=True)
    svg, png = path.with_suffix(".svg"), path.with_suffix(".png")
    with rc_context({"svg.hashsalt": "addtree"}):
        figure.savefig(svg, metadata={"Date": None})
    figure.savefig(png, dpi=150)
    return [svg, png]
