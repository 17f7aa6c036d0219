"""The report's pictures as Plotly figures, for the page and for notebooks.

    from addtree.report import build, plots
    plots.effect(build(space, trials).learned.curves["lr"]).show()

Plotly reads a little HTML in labels, so every label of the user's goes through `text`.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from addtree.report.effects import Axis, Curve, Joint
from addtree.report.importance import Share
from addtree.report.summary import Explanation, LeaveOneOut, Report

# Okabe and Ito's colours, which colour-blind people can tell apart; legible on white and on black.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8f98", "#b8a900")
BETTER, WORSE, PLAIN = COLOURS[0], COLOURS[5], COLOURS[6]
_BAND = "rgba(0, 114, 178, 0.22)"
_WIDTH = 34  # characters of a label on an axis
_BARS = 16  # in one plot
_TICKS = 10  # whole numbers shown one by one
_BAR_HEIGHT, _MARGINS = 24, 90  # pixels


def text(value: Any, width: int = 400) -> str:
    """A label that Plotly shows as it is, cut to a width.

    >>> text("<b>x</b>")
    '&lt;b&gt;x&lt;/b&gt;'
    """
    plain = str(value).replace("\n", " ")
    return html.escape(plain if len(plain) <= width else plain[: width - 1] + "…", quote=False)


def number(value: float, digits: int = 4) -> str:
    """A number as people read it.

    >>> number(0.000123456), number(-12.0), number(1234.5, 2)
    ('0.0001235', '−12', '1200')
    """
    short = f"{value:.{digits}g}"
    if "e" in short and 1 <= abs(value) < 1e6:
        short = f"{float(short):.0f}"
    return short.replace("-", "−")


def progress(report: Report) -> go.Figure:
    """All values in the order of the trials, coloured by branch, and the best so far."""
    figure = go.Figure()
    done = [i for i, t in enumerate(report.trials) if t.state == "done"]
    for k, branch in enumerate(dict.fromkeys(report.branches[i] for i in done)):
        mine = [report.trials[i] for i in done if report.branches[i] == branch]
        figure.add_scatter(
            x=[t.id for t in mine],
            y=[t.value for t in mine],
            mode="markers",
            name=text(branch, _WIDTH) or "trials",
            marker={"color": COLOURS[k % len(COLOURS)], "size": 7, "opacity": 0.75},
            hovertext=[f"trial {t.id}: {number(t.value or 0.0, 6)}" for t in mine],
            hoverinfo="text",
        )
    steps = report.best_so_far
    if steps:
        last = max(t.id for t in report.trials)
        figure.add_scatter(
            x=[*(x for x, _ in steps), last],
            y=[*(y for _, y in steps), steps[-1][1]],
            mode="lines",
            line={"shape": "hv", "color": PLAIN, "width": 2},
            name="best so far",
            hoverinfo="skip",
        )
    failed = [t.id for t in report.trials if t.state == "failed"]
    if failed and steps:
        figure.add_scatter(
            x=failed,
            y=[0.03] * len(failed),
            yaxis="y2",
            mode="markers",
            name="failed",
            marker={"symbol": "x", "color": WORSE, "size": 8},
            hovertext=[f"trial {i} failed" for i in failed],
            hoverinfo="text",
        )
        figure.update_layout(yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True})
    figure.update_layout(
        xaxis={"title": {"text": "trial"}},
        yaxis={"title": {"text": "value"}, **_scale([t.value or 0.0 for t in report.trials if t.state == "done"])},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        height=420,
    )
    return figure


def _scale(values: Sequence[float]) -> dict[str, Any]:
    """Log for positive values over three decades; a range that outliers do not set."""
    if not values:
        return {}
    low, high = min(values), max(values)
    if low > 0 and high / low > 1e3:
        return {"type": "log"}
    return {}


def effect(curve: Curve) -> go.Figure:
    """The effect of one parameter: a curve with its band and what single trials say, or bars for categories."""
    if curve.axis.is_number:
        figure = _curve(curve)
    else:
        names = [text(v, 16) for v in curve.axis.values]
        figure = go.Figure()
        figure.add_bar(
            x=list(range(len(names))),
            y=_short(curve.mean),
            error_y={"type": "data", "array": _short(1.96 * curve.std), "color": PLAIN, "thickness": 1.5},
            marker={"color": COLOURS[4], "opacity": 0.6},
            hovertext=[
                f"{n}: {number(m)} ± {number(1.96 * s)}" for n, m, s in zip(names, curve.mean, curve.std, strict=True)
            ],
            hoverinfo="text",
        )
        place = {repr(v): i for i, v in enumerate(curve.axis.values)}
        wobble = np.linspace(-0.2, 0.2, max(len(curve.points), 1))
        _points(figure, curve, [place[repr(v)] + w for (_, v, _), w in zip(curve.points, wobble, strict=False)])
        figure.update_xaxes(tickvals=list(range(len(names))), ticktext=names)
    figure.update_layout(showlegend=False, height=260, yaxis={"zeroline": True})
    return figure


def _curve(curve: Curve) -> go.Figure:
    figure = go.Figure()
    x = list(curve.axis.values)
    low, high = curve.mean - 1.96 * curve.std, curve.mean + 1.96 * curve.std
    band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    figure.add_scatter(x=x, y=_short(low), **band)
    figure.add_scatter(x=x, y=_short(high), fill="tonexty", fillcolor=_BAND, **band)
    _points(figure, curve, [value for _, value, _ in curve.points])
    figure.add_scatter(
        x=x,
        y=_short(curve.mean),
        mode="lines+markers" if len(x) <= _TICKS and isinstance(x[0], int) else "lines",
        line={"color": BETTER, "width": 2.5},
        hovertext=[
            f"{number(v)}: {number(m)} ± {number(1.96 * s)}" for v, m, s in zip(x, curve.mean, curve.std, strict=True)
        ],
        hoverinfo="text",
    )
    figure.update_xaxes(type="log" if curve.axis.log else "linear")
    if len(x) <= _TICKS and isinstance(x[0], int):
        figure.update_xaxes(tickvals=x, ticktext=[str(v) for v in x])
    return figure


def _points(figure: go.Figure, curve: Curve, x: list[Any]) -> None:
    figure.add_scatter(
        x=x,
        y=_short([y for _, _, y in curve.points]),
        mode="markers",
        marker={"color": COLOURS[1], "size": 5, "opacity": 0.7},
        hoverinfo="skip",
    )


def joint(pair: Joint) -> go.Figure:
    """The effect of two parameters together, as a heat map."""
    figure = go.Figure()
    figure.add_heatmap(
        z=[_short(row) for row in pair.mean.T],
        x=_positions(pair.a),
        y=_positions(pair.b),
        colorscale="RdBu",
        reversescale=True,
        zmid=0.0,
        colorbar={"thickness": 10},
        hovertemplate="%{z:.4g}<extra></extra>",
    )
    for axis, update in ((pair.a, figure.update_xaxes), (pair.b, figure.update_yaxes)):
        update(title={"text": text(axis.name, _WIDTH)})
        if axis.is_number:
            update(type="log" if axis.log else "linear")
            if len(axis.values) <= _TICKS and isinstance(axis.values[0], int):
                update(tickvals=list(axis.values), ticktext=[str(v) for v in axis.values])
        else:
            update(tickvals=list(range(len(axis.values))), ticktext=[text(v, 14) for v in axis.values])
    figure.update_layout(height=320)
    return figure


def _positions(axis: Axis) -> list[Any]:
    return list(axis.values) if axis.is_number else list(range(len(axis.values)))


def shares(parts: Sequence[Share]) -> go.Figure:
    """How much of the variance each component explains."""
    shown = [s for s in parts if s.kind == "unexplained" or abs(s.share) >= 0.001][: _BARS - 1]
    if parts and parts[-1] not in shown:
        shown.append(parts[-1])
    rest = math.fsum(s.share for s in parts if s not in shown)
    kinds = {"choice": COLOURS[1], "vertex": COLOURS[0], "interaction": COLOURS[2], "unexplained": PLAIN}
    figure = go.Figure()
    for kind, colour in kinds.items():
        mine = [s for s in shown if s.kind == kind]
        if mine:
            name = {"choice": "choices", "vertex": "parameters", "interaction": "interactions"}.get(kind, kind)
            _bars(figure, [s.label for s in mine], [s.share for s in mine], colour, name, percent=True)
    if abs(rest) >= 0.0005:
        _bars(figure, ["all others"], [rest], COLOURS[3], "others", percent=True)
    order = [s.label for s in shown]
    axis = {"tickformat": ".0%", "range": _room([*(s.share for s in shown), rest])}
    return _horizontal(figure, order + ["all others"] * (abs(rest) >= 0.0005), axis)


def contributions(why: Explanation, *, maximize: bool = False) -> go.Figure:
    """What is expected of a random configuration, and what each value of the best one adds, step by step."""
    parts = sorted(why.contributions, key=lambda part: -abs(part.mean))
    kept = {part.name for part in parts[: _BARS - 5]}
    steps = [(f"{p.name} = {_brief(p.value)}", p.mean) for p in why.contributions if p.name in kept]
    rest = [part.mean for part in why.contributions if part.name not in kept]
    if rest:
        steps.append((f"{len(rest)} others", math.fsum(rest)))
    names = ["a random configuration", *(name for name, _ in steps), "predicted", "not explained", "observed"]
    deltas = [v for _, v in steps]
    starts = [why.expectation, *(why.expectation + np.cumsum(deltas)).tolist()][: len(deltas)]
    keys = [_unique(i, name) for i, name in enumerate(names)]
    figure, n = go.Figure(), len(deltas)
    tiny = 1e-6 * max((abs(v) for v in deltas), default=0.0)
    figure.add_bar(
        orientation="h",
        y=[*keys[1 : n + 1], keys[n + 2]],
        base=[*starts, why.predicted],
        x=[*deltas, why.surprise],
        marker={"color": [BETTER if (v > 0) == maximize else WORSE for v in deltas] + [PLAIN]},
        text=[_signed(v, tiny) for v in [*deltas, why.surprise]],
        textposition="outside",
        cliponaxis=False,
        hoverinfo="skip",
    )
    levels = [(keys[0], why.expectation), (keys[n + 1], why.predicted), (keys[n + 3], why.observed)]
    figure.add_scatter(
        x=[level for _, level in levels],
        y=[key for key, _ in levels],
        mode="markers+text",
        marker={"symbol": "diamond", "size": 10, "color": PLAIN},
        text=[f" {number(level)} " for _, level in levels],
        textposition="middle right",
        cliponaxis=False,
        hoverinfo="skip",
    )
    ends = [*starts, why.expectation, why.predicted, why.observed]
    room = 0.3 * (max(ends) - min(ends) or abs(why.observed) or 1.0)
    figure.update_layout(showlegend=False)
    return _horizontal(figure, names, {"range": [min(ends) - room, max(ends) + room]}, numbered=True)


def _signed(value: float, tiny: float) -> str:
    return "0" if abs(value) <= tiny else ("+" if value > 0 else "") + number(value, 3)


def _brief(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def leave_one_out(loo: LeaveOneOut) -> go.Figure:
    """Predicted from all the others against observed, with 95 % bars."""
    low, high = float(np.min(loo.observed)), float(np.max(loo.observed))
    figure = go.Figure()
    figure.add_scatter(
        x=[low, high], y=[low, high], mode="lines", line={"color": PLAIN, "dash": "dot"}, hoverinfo="skip"
    )
    figure.add_scatter(
        x=_short(loo.mean),
        y=_short(loo.observed),
        error_x={"type": "data", "array": _short(1.96 * loo.std), "thickness": 1, "width": 0, "color": _BAND},
        mode="markers",
        marker={"color": BETTER, "size": 6, "opacity": 0.8},
        hovertext=[
            f"trial {i}: predicted {number(m)}, observed {number(y)}"
            for i, m, y in zip(loo.ids, loo.mean, loo.observed, strict=True)
        ],
        hoverinfo="text",
    )
    figure.update_layout(
        xaxis={"title": {"text": "predicted from the other trials"}},
        yaxis={"title": {"text": "observed"}},
        showlegend=False,
        height=380,
    )
    return figure


def failures(rows: Sequence[tuple[str, int, int]]) -> go.Figure:
    """The share of failed trials in each branch: (branch, failed, tried)."""
    shown = sorted((row for row in rows if row[1]), key=lambda row: -row[1] / row[2])[:_BARS]
    figure = go.Figure()
    names = [name for name, _, _ in shown]
    _bars(figure, names, [failed / tried for _, failed, tried in shown], WORSE, "failed", percent=True)
    figure.data[0].text = [f"{failed} of {tried}" for _, failed, tried in shown]
    figure.update_layout(showlegend=False)
    return _horizontal(figure, names, {"tickformat": ".0%", "range": _room([row[1] / row[2] for row in shown])})


# ---------------------------------------------------------------------- horizontal bars with long labels


def _bars(figure: go.Figure, names: list[str], values: list[float], colour: str, legend: str, *, percent: bool) -> None:
    figure.add_bar(
        orientation="h",
        y=[text(name) for name in names],
        x=_short(values),
        marker={"color": colour},
        name=legend,
        text=[f"{v:.1%}" if percent else number(v) for v in values],
        textposition="outside",
        cliponaxis=False,
        hovertext=[text(name) for name in names],
        hoverinfo="text",
    )


def _room(values: Sequence[float]) -> list[float]:
    """A range with room for the text at the ends of bars."""
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.16 * (high - low or 1.0)
    return [low - room * (low < 0), high + room]


def _unique(i: int, name: str) -> str:
    return f"{i} {text(name)}"


def _horizontal(figure: go.Figure, names: Sequence[str], xaxis: dict[str, Any], *, numbered: bool = False) -> go.Figure:
    keys = [_unique(i, name) if numbered else text(name) for i, name in enumerate(names)]
    figure.update_layout(
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
            "ticktext": [text(name, _WIDTH) for name in names],
            "automargin": True,
        },
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom"},
    )
    return figure


def _short(values: Any) -> list[float | None]:
    """Six digits, which is more than a screen shows; what is no number is left out."""
    return [float(f"{v:.6g}") if math.isfinite(v) else None for v in np.asarray(values, dtype=float).tolist()]
