"""The picture of a run with one objective: the value of each trial, and the best so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from addtree.report.bars import LABEL_WIDTH
from addtree.report.format import label, number
from addtree.report.plots import NEUTRAL, WORSE, coloured_branches, is_log_scale
from addtree.report.summary import Report

_FARTHEST = 4.0  # A linear axis ends at this many times (median - best) from the best value.


def progress(report: Report) -> go.Figure:
    """The value of each trial, coloured by branch, the best value so far, and the trials that failed.

    A trial that violates a constraint has an open marker. A value far from the best is a triangle at the edge: an axis
    with room for it would hide the progress.
    """
    figure = go.Figure()
    low, high = _drawn_range(report)
    _add_trials(figure, report, low, high)
    if report.best_so_far:
        _add_best_so_far(figure, report, low, high)
    if figure.data:
        _add_failed(figure, [t.id for t in report.trials if t.state == "failed"])
    figure.update_layout(
        xaxis={"title": {"text": "trial"}},
        yaxis={
            "title": {"text": label(report.goals.objectives[0].name, LABEL_WIDTH)},
            **({"type": "log"} if is_log_scale(_values(report)) else {}),
        },
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        height=420,
    )
    return figure


def key(report: Report) -> str:
    """What the markers of the picture mean, as far as they occur; an empty text if all are plain."""
    low, high = _drawn_range(report)
    words = ["Open markers violate a constraint."] if report.goals.constraints else []
    if any(not low <= value <= high for value in _values(report)):
        words.append("Triangles are values beyond the axis.")
    return " ".join(words)


def _values(report: Report) -> list[float]:
    return [t.value or 0.0 for t in report.trials if t.state == "done"]


def _drawn_range(report: Report) -> tuple[float, float]:
    """The least and the largest value that are drawn where they are; the others are drawn at its ends."""
    everything = -math.inf, math.inf
    values = _values(report)
    if is_log_scale(values) or not report.best_so_far:
        return everything
    best, middle = report.best_so_far[-1][1], float(np.median(values))
    edge = best + _FARTHEST * (middle - best)
    if report.maximize:
        return (edge, math.inf) if edge < best else everything
    return (-math.inf, edge) if edge > best else everything


def _add_trials(figure: go.Figure, report: Report, low: float, high: float) -> None:
    for branch, (colour, trials) in coloured_branches(report).items():
        kept = [report.is_feasible(t) for t in trials]
        marker: dict[str, Any] = {"color": colour, "size": 7, "opacity": 0.75}
        symbols = [_symbol(t.value or 0.0, low, high) + "-open" * (not ok) for t, ok in zip(trials, kept, strict=True)]
        figure.add_scatter(
            x=[t.id for t in trials],
            y=[min(max(t.value or 0.0, low), high) for t in trials],
            mode="markers",
            name=label(branch, LABEL_WIDTH) or "trials",
            marker=marker if set(symbols) == {"circle"} else {**marker, "symbol": symbols},
            hovertext=[
                f"trial {t.id}: {number(t.value or 0.0, 6)}{'' if ok else ', violates a constraint'}"
                for t, ok in zip(trials, kept, strict=True)
            ],
            hoverinfo="text",
        )


def _symbol(value: float, low: float, high: float) -> str:
    """The marker of a value; triangles point to where values are that are not drawn where they are."""
    return "triangle-up" if value > high else "triangle-down" if value < low else "circle"


def _add_best_so_far(figure: go.Figure, report: Report, low: float, high: float) -> None:
    steps = [(x, min(max(y, low), high)) for x, y in report.best_so_far]
    figure.add_scatter(
        x=[*(x for x, _ in steps), max(t.id for t in report.trials)],
        y=[*(y for _, y in steps), steps[-1][1]],
        mode="lines",
        line={"shape": "hv", "color": NEUTRAL, "width": 2},
        name="best so far",
        hoverinfo="skip",
    )


def _add_failed(figure: go.Figure, ids: Sequence[int]) -> None:
    """Mark failed trials at the lower edge, on a hidden axis of their own."""
    if not ids:
        return
    figure.add_scatter(
        x=list(ids),
        y=[0.03] * len(ids),
        yaxis="y2",
        mode="markers",
        name="failed",
        marker={"symbol": "x", "color": WORSE, "size": 8},
        hovertext=[f"trial {i} failed" for i in ids],
        hoverinfo="text",
    )
    figure.update_layout(yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True})
