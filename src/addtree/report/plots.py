"""The report's pictures as Plotly figures, for the page and for notebooks.

    from addtree.report import build, plots
    plots.effect(build(space, trials).learned.curves["lr"]).show()

Plotly reads some HTML in labels, so every name, value and option goes through `label`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from addtree.report.axes import Axis
from addtree.report.bars import LABEL_WIDTH, add_share_bars, horizontal, numbered_key, rounded, share_axis
from addtree.report.effects import Curve, Interaction
from addtree.report.format import label, number, plural, value
from addtree.report.importance import Share
from addtree.report.optima import ChoiceOptima
from addtree.report.records import Record
from addtree.report.summary import Explanation, Report
from addtree.report.trust import CrossValidation

# Six colours of Okabe and Ito, which colour-blind people can tell apart, then a grey and a dark yellow in place of
# their black and yellow, which are hard to see on a dark or a white page.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a8f98", "#b8a900")
BETTER, WORSE, NEUTRAL = COLOURS[0], COLOURS[5], COLOURS[6]

_BAND = "rgba(0, 114, 178, 0.22)"  # Intervals have the colour BETTER, mostly transparent; page.js knows both.
_CATEGORY_WIDTH = 16  # A category below a bar is cut to this many characters.
_CELL_WIDTH = 14  # A category beside a heat map is cut to this many characters.
_MAX_BARS = 16  # A plot has at most this many bars.
_MAX_TICKS = 10  # Up to this many integers each have a tick of their own.
_MIN_SHARE = 0.001  # Components that explain less than this share of the variance are summed up.
_MIN_OTHERS = 0.0005  # Their sum is left out if it is below this share.
_LOG_RATIO = 1e3  # Positive values are drawn on a log scale if the largest is more than this many times the smallest.
_ZERO = 1e-6  # A contribution smaller than this fraction of the largest is written as 0.
_OTHERS = "all others"

_SHARE_STYLES = {  # By kind of component: its name in the legend and its colour.
    "choice": ("choices", COLOURS[1]),
    "vertex": ("parameters", COLOURS[0]),
    "interaction": ("interactions", COLOURS[2]),
    "unexplained": ("unexplained", NEUTRAL),
}


# ---------------------------------------------------------------------- parts of several pictures


def coloured_branches(report: Report) -> dict[str, tuple[str, list[Record]]]:
    """The colour of each branch, and its trials that are done."""
    done: dict[str, list[Record]] = {}
    for trial, branch in zip(report.trials, report.branches, strict=True):
        if trial.state == "done":
            done.setdefault(branch, []).append(trial)
    return {branch: (COLOURS[k % len(COLOURS)], trials) for k, (branch, trials) in enumerate(done.items())}


def is_log_scale(values: Sequence[float], ratio: float = _LOG_RATIO) -> bool:
    """Whether the values are positive and differ by more than the ratio that asks for a log scale."""
    return bool(values) and min(values) > 0 and max(values) / min(values) > ratio


# ---------------------------------------------------------------------- effects


def effect(curve: Curve) -> go.Figure:
    """The effect of one axis with 95 % intervals and partial residuals: a curve for a number, bars for categories."""
    figure = _line(curve) if curve.axis.is_number else _category_bars(curve)
    return figure.update_layout(showlegend=False, height=260, yaxis={"zeroline": True})


def _line(curve: Curve) -> go.Figure:
    figure, x = go.Figure(), list(curve.axis.values)
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    figure.add_scatter(x=x, y=rounded(curve.mean - curve.margin), **edge)
    figure.add_scatter(x=x, y=rounded(curve.mean + curve.margin), fill="tonexty", fillcolor=_BAND, **edge)
    _add_partial_residuals(figure, curve, [point.value for point in curve.partial_residuals])
    figure.add_scatter(
        x=x,
        y=rounded(curve.mean),
        mode="lines+markers" if _has_own_ticks(curve.axis) else "lines",
        line={"color": BETTER, "width": 2.5},
        hovertext=_intervals([number(v) for v in x], curve),
        hoverinfo="text",
    )
    _set_scale(figure.update_xaxes, curve.axis)
    return figure


def _category_bars(curve: Curve) -> go.Figure:
    figure, axis = go.Figure(), curve.axis
    names = [label(v, _CATEGORY_WIDTH) for v in axis.values]
    figure.add_bar(
        x=axis.positions,
        y=rounded(curve.mean),
        error_y={"type": "data", "array": rounded(curve.margin), "color": NEUTRAL, "thickness": 1.5},
        marker={"color": COLOURS[4], "opacity": 0.6},
        hovertext=_intervals(names, curve),
        hoverinfo="text",
    )
    jitter = np.linspace(-0.2, 0.2, len(curve.partial_residuals)).tolist()
    residuals = zip(curve.partial_residuals, jitter, strict=True)
    _add_partial_residuals(figure, curve, [axis.position(point.value) + shift for point, shift in residuals])
    return figure.update_xaxes(tickvals=axis.positions, ticktext=names)


def _intervals(names: Sequence[str], curve: Curve) -> list[str]:
    """What a reader sees who points at a position: its name, the mean and the 95 % margin."""
    rows = zip(names, curve.mean, curve.margin, strict=True)
    return [f"{name}: {number(mean)} ± {number(margin)}" for name, mean, margin in rows]


def _add_partial_residuals(figure: go.Figure, curve: Curve, x: list[Any]) -> None:
    figure.add_scatter(
        x=x,
        y=rounded([point.residual for point in curve.partial_residuals]),
        mode="markers",
        marker={"color": COLOURS[1], "size": 5, "opacity": 0.7},
        hoverinfo="skip",
    )


def interaction(pair: Interaction) -> go.Figure:
    """The joint effect of two parameters, as a heat map."""
    figure = go.Figure().add_heatmap(
        z=[rounded(row) for row in pair.mean.T],
        x=pair.a.positions,
        y=pair.b.positions,
        colorscale="RdBu",
        reversescale=True,
        zmid=0.0,
        colorbar={"thickness": 10},
        hovertemplate="%{z:.4g}<extra></extra>",
    )
    label_axis(figure.update_xaxes, pair.a)
    label_axis(figure.update_yaxes, pair.b)
    return figure.update_layout(height=320)


def label_axis(update: Any, axis: Axis) -> None:
    """Give an axis of a figure its title, its scale and its ticks; `update` is the figure's method for that axis."""
    update(title={"text": label(axis.name, LABEL_WIDTH)})
    if axis.is_number:
        _set_scale(update, axis)
    else:
        update(tickvals=axis.positions, ticktext=[label(v, _CELL_WIDTH) for v in axis.values])


def _has_own_ticks(axis: Axis) -> bool:
    """Whether the values are few integers, each of which is shown."""
    return len(axis.values) <= _MAX_TICKS and isinstance(axis.values[0], int)


def _set_scale(update: Any, axis: Axis) -> None:
    """Give a numeric axis of a figure its scale and its ticks; `update` is the figure's method for that axis."""
    update(type="log" if axis.log else "linear")
    if _has_own_ticks(axis):
        update(tickvals=list(axis.values), ticktext=[str(v) for v in axis.values])


# ---------------------------------------------------------------------- what explains the values


def shares(parts: Sequence[Share]) -> go.Figure:
    """The share of the variance that each component explains; the smallest ones are summed up."""
    shown = [s for s in parts if s.kind == "unexplained" or abs(s.share) >= _MIN_SHARE][: _MAX_BARS - 1]
    if parts and parts[-1] not in shown:
        shown.append(parts[-1])
    rest = math.fsum(s.share for s in parts if s not in shown)
    figure = go.Figure()
    for kind, (name, colour) in _SHARE_STYLES.items():
        of_kind = [s for s in shown if s.kind == kind]
        if of_kind:
            add_share_bars(figure, [s.label for s in of_kind], [s.share for s in of_kind], colour, name)
    names = [s.label for s in shown]
    if abs(rest) >= _MIN_OTHERS:
        add_share_bars(figure, [_OTHERS], [rest], COLOURS[3], "others")
        names.append(_OTHERS)
    return horizontal(figure, names, share_axis([*(s.share for s in shown), rest]))


def contributions(explanation: Explanation, *, maximize: bool = False) -> go.Figure:
    """The steps from the expectation for a random configuration to the prediction, and on to the observed value."""
    steps = _steps(explanation)
    n, deltas = len(steps), [delta for _, delta in steps]
    starts = [explanation.expectation, *(explanation.expectation + np.cumsum(deltas)).tolist()][:n]
    names = ["a random configuration", *(name for name, _ in steps), "predicted", "not explained", "observed"]
    keys = [numbered_key(i, name) for i, name in enumerate(names)]
    figure = go.Figure().add_bar(
        orientation="h",
        y=[*keys[1 : n + 1], keys[n + 2]],
        base=[*starts, explanation.predicted],
        x=[*deltas, explanation.residual],
        marker={"color": [BETTER if (v > 0) == maximize else WORSE for v in deltas] + [NEUTRAL]},
        text=_signed([*deltas, explanation.residual], zero=_ZERO * max(map(abs, deltas), default=0.0)),
        textposition="outside",
        cliponaxis=False,
        hoverinfo="skip",
    )
    levels = [explanation.expectation, explanation.predicted, explanation.observed]
    _add_levels(figure, [keys[0], keys[n + 1], keys[n + 3]], levels)
    figure.update_layout(showlegend=False)
    ends = [*starts, *levels]
    room = 0.3 * (max(ends) - min(ends) or abs(explanation.observed) or 1.0)
    return horizontal(figure, names, {"range": [min(ends) - room, max(ends) + room]}, numbered=True)


def _steps(explanation: Explanation) -> list[tuple[str, float]]:
    """The largest contributions in the order of the tree, by name, and the sum of the others."""
    other_bars = 5  # the expectation, the sum of the others, predicted, not explained, observed
    ranked = sorted(explanation.contributions, key=lambda part: -abs(part.mean))
    kept = {part.name for part in ranked[: _MAX_BARS - other_bars]}
    steps = [(f"{p.name} = {value(p.value, 4)}", p.mean) for p in explanation.contributions if p.name in kept]
    rest = [part.mean for part in explanation.contributions if part.name not in kept]
    return [*steps, (plural(len(rest), "other"), math.fsum(rest))] if rest else steps


def _add_levels(figure: go.Figure, keys: list[str], levels: list[float]) -> None:
    figure.add_scatter(
        x=levels,
        y=keys,
        mode="markers+text",
        marker={"symbol": "diamond", "size": 10, "color": NEUTRAL},
        text=[f" {number(level)} " for level in levels],
        textposition="middle right",
        cliponaxis=False,
        hoverinfo="skip",
    )


def _signed(values: Sequence[float], *, zero: float) -> list[str]:
    """Numbers with their sign; those that are at most `zero` in size are 0."""
    return ["0" if abs(v) <= zero else ("+" if v > 0 else "") + number(v, 3) for v in values]


def cross_validation(trust: CrossValidation) -> go.Figure:
    """Each value against its prediction by a model that has not seen it, with 95 % intervals."""
    low, high = float(np.min(trust.observed)), float(np.max(trust.observed))
    figure = go.Figure().add_scatter(
        x=[low, high], y=[low, high], mode="lines", line={"color": NEUTRAL, "dash": "dot"}, hoverinfo="skip"
    )
    figure.add_scatter(
        x=rounded(trust.mean),
        y=rounded(trust.observed),
        error_x={"type": "data", "array": rounded(trust.margin), "thickness": 1, "width": 0, "color": _BAND},
        mode="markers",
        marker={"color": BETTER, "size": 6, "opacity": 0.8},
        hovertext=[
            f"trial {i}: predicted {number(m)}, observed {number(y)}"
            for i, m, y in zip(trust.ids, trust.mean, trust.observed, strict=True)
        ],
        hoverinfo="text",
    )
    return figure.update_layout(
        xaxis={"title": {"text": "predicted from other trials"}},
        yaxis={"title": {"text": "observed"}},
        showlegend=False,
        height=380,
    )


def optima(choice: ChoiceOptima) -> go.Figure:
    """The best value seen in each option, and the best value it is believed to reach, with 80 % intervals."""
    options, figure = choice.options, go.Figure()
    keys = [numbered_key(i, str(option.option)) for i, option in enumerate(options)]
    seen = [(key, option.best) for key, option in zip(keys, options, strict=True) if option.best is not None]
    figure.add_scatter(
        x=rounded([best for _, best in seen]),
        y=[key for key, _ in seen],
        mode="markers",
        marker={"color": COLOURS[1], "size": 12, "symbol": "diamond"},
        name="best seen",
        hovertext=[number(best) for _, best in seen],
        hoverinfo="text",
    )
    above, below = [o.high - o.median for o in options], [o.median - o.low for o in options]
    interval = {"type": "data", "symmetric": False, "array": rounded(above), "arrayminus": rounded(below)}
    figure.add_scatter(
        x=rounded([option.median for option in options]),
        y=keys,
        error_x={**interval, "color": BETTER, "thickness": 3, "width": 0},
        mode="markers",
        marker={"color": BETTER, "size": 7},
        name="believed best",
        hovertext=[f"{number(o.median)} ({number(o.low)} to {number(o.high)})" for o in options],
        hoverinfo="text",
    )
    shown = [*(o.low for o in options), *(o.high for o in options), *(best for _, best in seen)]
    axis = {"type": "log"} if is_log_scale(shown) else {}
    return horizontal(figure, [str(option.option) for option in options], axis, numbered=True)


def failures(rows: Sequence[tuple[str, int, int]]) -> go.Figure:
    """The share of failed trials in each branch that has any, largest first; a row is (branch, failed, tried)."""
    shown = sorted((row for row in rows if row[1]), key=lambda row: -row[1] / row[2])[:_MAX_BARS]
    names, failed = [name for name, _, _ in shown], [failed / tried for _, failed, tried in shown]
    figure = go.Figure()
    add_share_bars(figure, names, failed, WORSE, "failed")
    figure.data[0].text = [f"{failed} of {tried}" for _, failed, tried in shown]
    figure.update_layout(showlegend=False)
    return horizontal(figure, names, share_axis(failed))
