"""Pictures of fronts and of probabilities as Plotly figures; see `plots`.

A point of a front carries the id of its trial, so that the page can show the trial when somebody clicks on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from addtree.report.axes import Axis
from addtree.report.bars import LABEL_WIDTH, add_share_bars, horizontal, rounded, share_axis
from addtree.report.feasibility import OptionProbability, ProbabilityMap
from addtree.report.format import label, number, plural, value
from addtree.report.front import ChoiceFronts
from addtree.report.plots import BETTER, COLOURS, NEUTRAL, WORSE, coloured_branches, is_log_scale, label_axis
from addtree.report.records import Record
from addtree.report.summary import Report
from addtree.run.goals import Objective

_MAX_LINES = 14  # What a reader sees who points at a trial has at most this many lines.
_LINE_WIDTH = 60  # Each of these lines is cut to this many characters.
_LOG_RATIO = 100.0  # An objective is drawn on a log scale if its largest value is more than this times the smallest.
_PADDING = 0.06  # Points end this share of the range of an axis before its end.
_MAX_PAIRS = 6  # At most this many pairs of objectives are drawn: all pairs of four.
_PANEL_WIDTH, _PANEL_HEIGHT = 460, 360  # Size of one of several panels, in pixels.
_KEPT, _VIOLATED = "#1b1e22", "#ffffff"  # Trials on a map are dark if they are good, and white crosses if not.
_EARLIEST = 0.25  # The opacity of the earliest of several fronts.
_DOMINATED: dict[str, Any] = {"size": 6, "opacity": 0.4}  # The marker of a feasible trial that is not on the front.
_ON_FRONT: dict[str, Any] = {"size": 12, "opacity": 1.0, "line": {"width": 1.5, "color": "white"}}
_PROBABILITY_SCALE = [[0.0, WORSE], [0.5, "#f4e9dc"], [1.0, BETTER]]  # From never to always.


def pairs(objectives: Sequence[Objective]) -> list[tuple[Objective, Objective]]:
    """The pairs of objectives that are drawn."""
    return list(combinations(objectives, 2))[:_MAX_PAIRS]


# ---------------------------------------------------------------------- fronts


def front(report: Report, pair: tuple[Objective, Objective] | None = None) -> go.Figure:
    """All trials by two objectives, by default the first two, with the front as large points.

    With two objectives a line shows what the front attains.
    """
    assert report.front is not None
    x, y = pair or report.goals.objectives[:2]
    figure = go.Figure()
    done = [t for t in report.trials if t.state == "done"]
    infeasible = [t for t in done if not report.is_feasible(t)]
    if infeasible:
        style = {"color": NEUTRAL, "size": 7, "symbol": "x-thin-open", "opacity": 0.8}
        _add_points(figure, report, infeasible, (x, y), name="violates a constraint", marker=style)
    if len(report.goals.objectives) == 2:
        _add_attained(figure, report.front.trials, (x, y), colour=NEUTRAL, name="front")
    for branch, (colour, trials) in coloured_branches(report).items():
        name = label(branch, LABEL_WIDTH) or "trials"
        best = [t for t in trials if t.id in report.front.ids]
        dominated = [t for t in trials if t.id not in report.front.ids and report.is_feasible(t)]
        for shown, style in ((dominated, _DOMINATED), (best, _ON_FRONT)):
            if shown:
                _add_points(figure, report, shown, (x, y), name=name, marker={"color": colour, **style})
                figure.data[-1].update(legendgroup=name, showlegend=shown is best or not best)
    _set_axes(figure, done, (x, y), focus=report.front.trials)
    return figure.update_layout(height=460, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})


def fronts(report: Report) -> go.Figure:
    """The front of any number of objectives: one panel for each pair of them."""
    shown = pairs(report.goals.objectives)
    if len(shown) == 1:
        return front(report)
    columns = min(len(shown), 3)
    rows = -(-len(shown) // columns)
    figure = make_subplots(rows, columns)
    for k, pair in enumerate(shown):
        part, row, column = front(report, pair), k // columns + 1, k % columns + 1
        for trace in part.data:
            figure.add_trace(trace.update(showlegend=trace.showlegend is not False and k == 0), row, column)
        figure.update_xaxes(part.layout.xaxis.to_plotly_json(), row=row, col=column)
        figure.update_yaxes(part.layout.yaxis.to_plotly_json(), row=row, col=column)
    return figure.update_layout(width=_PANEL_WIDTH * columns, height=_PANEL_HEIGHT * rows)


def attainment(report: Report) -> go.Figure:
    """The hypervolume after each trial, as a share of the present one; a point marks each trial that enlarged it."""
    assert report.front is not None
    ids, shares = report.front.finished, report.front.attainment
    figure = go.Figure().add_scatter(
        x=list(ids), y=rounded(shares), mode="lines", line={"shape": "hv", "color": NEUTRAL}, hoverinfo="skip"
    )
    grown = [i for i in range(len(shares)) if shares[i] > (shares[i - 1] if i else 0.0)]
    figure.add_scatter(
        x=[ids[i] for i in grown],
        y=rounded([shares[i] for i in grown]),
        mode="markers",
        marker={"color": BETTER, "size": 7},
        hovertext=[f"trial {ids[i]}: {shares[i]:.1%}" for i in grown],
        hoverinfo="text",
    )
    return figure.update_layout(
        xaxis={"title": {"text": "trial"}},
        yaxis={"title": {"text": "hypervolume"}, "tickformat": ".0%", "rangemode": "tozero"},
        showlegend=False,
        height=320,
    )


def front_moments(report: Report) -> go.Figure:
    """The front of two objectives as it was after some of the trials, and after all of them: a darker line is later."""
    assert report.front is not None
    figure, moments = go.Figure(), report.front.moments
    x, y = report.goals.objectives
    for moment, opacity in zip(moments, np.linspace(_EARLIEST, 1.0, len(moments)).tolist(), strict=True):
        name = f"after {plural(moment.finished, 'trial')}"
        _add_attained(figure, moment.trials, (x, y), colour=BETTER, name=name)
        figure.data[-1].update(mode="lines+markers", opacity=opacity, line={"dash": "solid"}, marker={"size": 5})
    done = [trial for trial in report.trials if trial.state == "done"]
    _set_axes(figure, done, (x, y), focus=[trial for moment in moments for trial in moment.trials])
    return figure.update_layout(height=380, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})


def option_fronts(report: Report, choice: ChoiceFronts, pair: tuple[Objective, Objective]) -> go.Figure:
    """The best trade-offs within each option of a choice."""
    figure = go.Figure()
    branches = {branch: colour for branch, (colour, _) in coloured_branches(report).items()}
    own = [f"{choice.choice}={option.option}" for option in choice.options]
    # Where the branches are the options of this choice, they keep the colours that they have in the front.
    colours = branches if branches.keys() <= set(own) else {}
    rest = [colour for colour in COLOURS if colour not in colours.values()] or COLOURS
    for k, option in enumerate(choice.options):
        colour, name = colours.get(own[k], rest[k % len(rest)]), label(option.option, LABEL_WIDTH)
        if not option.trials:
            continue
        if len(report.goals.objectives) == 2:
            _add_attained(figure, option.trials, pair, colour=colour, name=name)
            figure.data[-1].update(legendgroup=name, showlegend=False, line={"width": 1.5, "dash": "solid"})
        _add_points(figure, report, option.trials, pair, name=name, marker={"color": colour, "size": 8})
        figure.data[-1].update(legendgroup=name)
    done = [trial for trial in report.trials if trial.state == "done"]  # as in `front`, so that the axes are the same
    _set_axes(figure, done, pair, focus=report.front.trials if report.front is not None else ())
    return figure.update_layout(height=380, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})


def _add_points(
    figure: go.Figure,
    report: Report,
    trials: Sequence[Record],
    pair: tuple[Objective, Objective],
    *,
    name: str,
    marker: dict[str, Any],
) -> None:
    x, y = pair
    figure.add_scatter(
        x=[t.values[x.name] for t in trials],
        y=[t.values[y.name] for t in trials],
        mode="markers",
        name=name,
        marker=marker,
        customdata=[t.id for t in trials],
        hovertext=[_described(report, t) for t in trials],
        hoverinfo="text",
    )


def _described(report: Report, trial: Record) -> str:
    """A trial in a few lines."""
    values = [f"{name}: {number(trial.values[name], 5)}" for name in report.goals.names]
    config = [f"{name} = {value(v, 4)}" for name, v in trial.config.items()]
    lines = [f"trial {trial.id}", *values, *config]
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES - 1], f"and {len(lines) - _MAX_LINES + 1} more"]
    return "<br>".join(label(line, _LINE_WIDTH) for line in lines)


def _add_attained(
    figure: go.Figure, trials: Sequence[Record], pair: tuple[Objective, Objective], *, colour: str, name: str
) -> None:
    """The boundary of what trials dominate: steps with the y of their left end, or right end if x is maximised."""
    x, y = pair
    ordered = sorted(trials, key=lambda t: (t.values[x.name], t.values[y.name]))
    figure.add_scatter(
        x=[t.values[x.name] for t in ordered],
        y=[t.values[y.name] for t in ordered],
        mode="lines",
        line={"shape": "vh" if x.maximize else "hv", "color": colour, "width": 2, "dash": "dot"},
        name=name,
        hoverinfo="skip",
    )


def _set_axes(
    figure: go.Figure, trials: Sequence[Record], pair: tuple[Objective, Objective], *, focus: Sequence[Record]
) -> None:
    """Titles, scales and ranges of the axes: they show the trials in focus, and others that are near."""
    for objective, update in zip(pair, (figure.update_xaxes, figure.update_yaxes), strict=True):
        aim = "larger" if objective.maximize else "smaller"
        update(title={"text": f"{label(objective.name, LABEL_WIDTH)} ({aim} is better)"})
        values = [trial.values[objective.name] for trial in trials]
        log = is_log_scale(values, _LOG_RATIO)
        if log:
            update(type="log", dtick="D2")  # ticks at 1, 2 and 5
        limits = _limits(values, [trial.values[objective.name] for trial in focus], log=log)
        if limits is not None:
            update(range=limits)


def _limits(values: Sequence[float], focus: Sequence[float], *, log: bool) -> list[float] | None:
    """The range of an axis; None if Plotly may choose it, because no value is far away from those in focus."""
    if not focus:
        return None
    every, near = (np.log10(part) if log else np.asarray(part) for part in (values, focus))
    low, high = float(np.min(near)), float(np.max(near))
    span = (high - low) or 0.5 * float(np.ptp(every))
    first, last = max(float(np.min(every)), low - span), min(float(np.max(every)), high + span)
    if not np.isfinite(span) or (first == np.min(every) and last == np.max(every)):
        return None
    padding = _PADDING * (last - first)
    return [first - padding, last + padding]


# ---------------------------------------------------------------------- probabilities


def probability_map(shown: ProbabilityMap) -> go.Figure:
    """A probability as a heat map of two parameters, or as a curve along one, with the trials as points."""
    figure = _heat_map(shown, shown.b) if shown.b is not None else _curve(shown)
    label_axis(figure.update_xaxes, shown.a)
    return figure.update_layout(height=330, showlegend=False)


def _heat_map(shown: ProbabilityMap, b: Axis) -> go.Figure:
    figure = go.Figure().add_heatmap(
        z=[rounded(row) for row in shown.mean.T],
        x=shown.a.positions,
        y=b.positions,
        zmin=0.0,
        zmax=1.0,
        colorscale=_PROBABILITY_SCALE,
        colorbar={"thickness": 10, "tickformat": ".0%"},
        hovertemplate="%{z:.0%}<extra></extra>",
    )
    for good, symbol, colour in ((True, "circle", _KEPT), (False, "x", _VIOLATED)):
        points = [point for point in shown.points if point[2] == good]
        figure.add_scatter(
            x=[shown.a.position(point[0]) for point in points],
            y=[b.position(point[1]) for point in points],
            mode="markers",
            marker={"symbol": symbol, "color": colour, "size": 6, "line": {"width": 1, "color": _KEPT}},
            hoverinfo="skip",
        )
    label_axis(figure.update_yaxes, b)
    return figure


def _curve(shown: ProbabilityMap) -> go.Figure:
    figure = go.Figure().add_scatter(
        x=shown.a.positions,
        y=rounded(shown.mean),
        mode="lines+markers",
        line={"color": BETTER, "width": 2.5},
        hovertemplate="%{y:.0%}<extra></extra>",
    )
    for good, symbol, colour in ((True, "circle", BETTER), (False, "x", WORSE)):
        places = [shown.a.position(point[0]) for point in shown.points if point[2] == good]
        figure.add_scatter(
            x=places,
            y=[float(good)] * len(places),
            mode="markers",
            marker={"symbol": symbol, "color": colour, "size": 6, "opacity": 0.6},
            hoverinfo="skip",
        )
    return figure.update_yaxes(range=[-0.05, 1.05], tickformat=".0%")


def option_probabilities(options: Sequence[OptionProbability]) -> go.Figure:
    """The probability in each option, with the number of its trials that are good."""
    names = [f"{option.choice} = {option.option}" for option in options]
    figure, shares = go.Figure(), [option.probability for option in options]
    add_share_bars(figure, names, shares, BETTER, "probability")
    figure.data[0].text = [f"{o.probability:.0%} · {o.good} of {o.tried}" for o in options]
    figure.update_layout(showlegend=False)
    return horizontal(figure, names, share_axis([*shares, 1.0]))
