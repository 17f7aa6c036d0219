"""Horizontal bars and intervals with long labels, one below another, as Plotly figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from addtree.report.format import label

LABEL_WIDTH = 34  # A label beside an axis is cut to this many characters.

_BAR_HEIGHT, _MARGINS = 24, 90  # Height of a bar, and of everything else in a plot with bars, in pixels.


def add_share_bars(figure: go.Figure, names: list[str], values: list[float], colour: str, legend: str) -> None:
    """Add bars of one colour, with their shares as text at their ends."""
    figure.add_bar(
        orientation="h",
        y=[label(name) for name in names],
        x=rounded(values),
        marker={"color": colour},
        name=legend,
        text=[f"{v:.1%}" for v in values],
        textposition="outside",
        cliponaxis=False,
        hovertext=[label(name) for name in names],
        hoverinfo="text",
    )


def share_axis(values: Sequence[float]) -> dict[str, Any]:
    """An axis in percent, with room for the text at the ends of the bars."""
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.16 * (high - low or 1.0)
    return {"tickformat": ".0%", "range": [low - room * (low < 0), high + room]}


def numbered_key(i: int, name: str) -> str:
    """A key that is unique even if two bars have the same name."""
    return f"{i} {label(name)}"


def horizontal(figure: go.Figure, names: Sequence[str], xaxis: dict[str, Any], *, numbered: bool = False) -> go.Figure:
    """Lay out horizontal bars from top to bottom; with `numbered`, their keys are those of `numbered_key`."""
    keys = [numbered_key(i, name) if numbered else label(name) for i, name in enumerate(names)]
    return figure.update_layout(
        height=_MARGINS + _BAR_HEIGHT * max(len(names), 1),
        barmode="relative",
        bargap=0.35,
        xaxis=xaxis,
        yaxis={
            "type": "category",
            "categoryorder": "array",
            "categoryarray": keys,
            "autorange": "reversed",
            "tickvals": keys,
            "ticktext": [label(name, LABEL_WIDTH) for name in names],
            "automargin": True,
        },
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"},
    )


def rounded(values: Any) -> list[float | None]:
    """Six significant digits, more than a screen can show; a value that is not finite is None, which Plotly skips."""
    return [float(f"{v:.6g}") if math.isfinite(v) else None for v in np.asarray(values, dtype=float).tolist()]
