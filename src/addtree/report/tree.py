"""The tree, drawn: every parameter and option with what was tried there and what the model believes."""

from __future__ import annotations

from html import escape
from typing import Any

from addtree.report.effects import Curve
from addtree.report.plots import number
from addtree.report.summary import Report
from addtree.space.space import Choice

_WIDTH, _HEIGHT = 120, 18  # of a belief, in pixels


def draw(report: Report) -> str:
    """The tree as nested lists; lines and colours are CSS's, beliefs are SVG."""
    tally = report.tallies[0]
    head = f'<span class="root">{tally.tried} trial{"" if tally.tried == 1 else "s"}</span>{_best(report, tally.best)}'
    return f'<div class="tree" id="tree">{head}{_node(report, 0, on_best=report.best is not None)}</div>'


def _node(report: Report, i: int, *, on_best: bool) -> str:
    node = report.space.nodes[i]
    items = [_parameter(report, name) for name in node.parameters]
    for name, options in node.choices:
        domain = report.space.variables[name]
        assert isinstance(domain, Choice)
        curve = report.learned.curves[name] if report.learned else None
        chosen = report.best.config.get(name, _nothing) if report.best is not None and on_best else _nothing
        rows = []
        for o, (label, child) in enumerate(zip(domain.labels, options, strict=True)):
            best_here = on_best and chosen is not _nothing and chosen == label and type(chosen) is type(label)
            rows.append(_option(report, label, child, curve, o, on_best=best_here))
        items.append(f'<li class="choice"><span class="name">{escape(name)}</span><ul>{"".join(rows)}</ul></li>')
    return f"<ul>{''.join(items)}</ul>" if items else ""


_nothing = object()


def _parameter(report: Report, name: str) -> str:
    domain = report.space.variables[name]
    believed = ""
    if report.learned is not None:
        curve = report.learned.curves[name]
        best = int((-curve.mean if report.maximize else curve.mean).argmin())
        believed = (
            f'<span class="believed">{_sparkline(curve)} moves the value by {number(curve.swing, 2)}, '
            f"best near {escape(_brief(curve.axis.values[best]))}</span>"
        )
    return (
        f'<li class="parameter"><span class="name">{escape(name)}</span> '
        f'<span class="domain">{escape(str(domain))}</span>{believed}</li>'
    )


def _option(report: Report, label: Any, child: int, curve: Curve | None, o: int, *, on_best: bool) -> str:
    tally = report.tallies[child]
    share = tally.tried / max(report.tallies[0].tried, 1)
    tried = (
        f'<span class="tried" title="how often it was tried"><i style="width:{100 * share:.1f}%"></i>'
        f"<b>{tally.tried}×</b></span>"
    )
    failed = f'<span class="failed">{tally.failed} failed</span>' if tally.failed else ""
    believed = ""
    if curve is not None and len(curve.mean) > 1:
        m, s = float(curve.mean[o]), 1.96 * float(curve.std[o])
        sign = "+" if m > 0 else ""
        believed = (
            f'<span class="believed" title="against the average of its alternatives">{_whisker(report, curve, o)} '
            f"{sign}{number(m, 2)} ± {number(s, 2)}</span>"
        )
    mark = ' <span class="star" title="on the path of the best configuration">★</span>' if on_best else ""
    kind = "option best" if on_best else "option" if tally.tried else "option untried"
    return (
        f'<li class="{kind}"><div class="row"><span class="label">{escape(str(label))}{mark}</span>'
        f"{tried}{_best(report, tally.best)}{believed}{failed}</div>{_node(report, child, on_best=on_best)}</li>"
    )


def _best(report: Report, value: float | None) -> str:
    return "" if value is None else f'<span class="bestvalue">best {number(value)}</span>'


def _brief(value: Any) -> str:
    return number(value, 3) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def _whisker(report: Report, curve: Curve, o: int) -> str:
    """A dot with its 95 % interval on a scale that the options of one choice share; zero in the middle."""
    most = max(float((abs(curve.mean) + 1.96 * curve.std).max()), 1e-300)
    middle, unit = _WIDTH / 2, (_WIDTH / 2 - 5) / most
    x, half = middle + unit * float(curve.mean[o]), unit * 1.96 * float(curve.std[o])
    good = (curve.mean[o] > 0) == report.maximize
    return (
        f'<svg class="whisker" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" aria-hidden="true">'
        f'<line class="zero" x1="{middle}" x2="{middle}" y1="1" y2="{_HEIGHT - 1}"/>'
        f'<line class="interval" x1="{x - half:.1f}" x2="{x + half:.1f}" y1="{_HEIGHT / 2}" y2="{_HEIGHT / 2}"/>'
        f'<circle class="{"better" if good else "worse"}" cx="{x:.1f}" cy="{_HEIGHT / 2}" r="4.5"/></svg>'
    )


def _sparkline(curve: Curve) -> str:
    """The mean of an effect, small."""
    low, high = float(curve.mean.min()), float(curve.mean.max())
    n, span = len(curve.mean), (high - low) or 1.0
    points = [
        f"{3 + (_WIDTH / 2 - 6) * i / max(n - 1, 1):.1f},{3 + (_HEIGHT - 6) * (high - float(v)) / span:.1f}"
        for i, v in enumerate(curve.mean)
    ]
    return (
        f'<svg class="spark" width="{_WIDTH // 2}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH // 2} {_HEIGHT}" '
        f'aria-hidden="true"><polyline points="{" ".join(points)}"/></svg>'
    )
