"""The tree of the space as HTML: each parameter and option, with how often it was tried and its estimated effect."""

from __future__ import annotations

from html import escape
from typing import Any

from addtree.report.effects import Curve
from addtree.report.format import number, plural, value
from addtree.report.summary import Report, Tally
from addtree.space.forms import opened_spaces
from addtree.space.space import Choice

_WIDTH, _HEIGHT = 120, 18  # Size of the drawing of an effect, in pixels; that of a parameter has half the width.
_INSET = 5  # An interval ends at least this many pixels before the edge of its drawing.
_PADDING = 3  # A curve ends this many pixels before the edge of its drawing.


def draw(report: Report) -> str:
    """The tree as nested lists; CSS draws its lines and colours, and effects are small SVG drawings."""
    tally = report.tallies[0]
    head = f'<span class="root">{plural(tally.tried, "trial")}</span>{_best_found(report, tally)}'
    return f'<div class="tree" id="tree">{head}{_node(report, 0)}</div>'


def _node(report: Report, i: int) -> str:
    node = report.space.nodes[i]
    intervals = {name: _intervals(report, name, children) for name, children in node.openers}
    items = [_parameter(report, name, intervals.get(name, "")) for name in node.parameters]
    items += [_head(report, name) + "</li>" for name in node.constants]
    for name, options in node.choices:
        domain = report.space.variables[name]
        assert isinstance(domain, Choice)
        curve = report.learned.curves[name] if report.learned else None
        rows = [
            _option(report, label, child, _option_effect(report, curve, o))
            for o, (label, child) in enumerate(zip(domain.labels, options, strict=True))
        ]
        items.append(f'<li class="choice"><span class="name">{escape(name)}</span><ul>{"".join(rows)}</ul></li>')
    rules = [escape(str(rule)) for rule, at in report.space.node_rules if at == i]
    items += [f'<li class="rule"><span class="domain">where {rule}</span></li>' for rule in rules]
    return f"<ul>{''.join(items)}</ul>" if items else ""


def _intervals(report: Report, name: str, children: tuple[int, ...]) -> str:
    """What the intervals of a number open."""
    opened = zip(opened_spaces(report.space.variables[name]), children, strict=True)
    return f"<ul>{''.join(_option(report, text, child, '') for (text, _), child in opened)}</ul>"


def _head(report: Report, name: str) -> str:
    """The name and the domain of a parameter, in a list item that is still open."""
    domain = escape(str(report.space.variables[name]))
    return f'<li class="parameter"><span class="name">{escape(name)}</span> <span class="domain">{domain}</span>'


def _parameter(report: Report, name: str, intervals: str) -> str:
    effect = ""
    if report.learned is not None:
        curve = report.learned.curves[name]
        best = int((-curve.mean if report.maximize else curve.mean).argmin())
        effect = (
            f'<span class="effect">{_curve(curve)} changes the value by {number(curve.range, 2)}, '
            f"best near {escape(value(curve.axis.values[best], 3))}</span>"
        )
    return f"{_head(report, name)}{effect}{intervals}</li>"


def _option(report: Report, label: Any, child: int, effect: str) -> str:
    tally = report.tallies[child]
    share = tally.tried / max(report.tallies[0].tried, 1)
    tried = (
        f'<span class="tried" title="how often it was tried"><i style="width:{100 * share:.1f}%"></i>'
        f"<b>{tally.tried}×</b></span>"
    )
    failed = f'<span class="failed">{tally.failed} failed</span>' if tally.failed else ""
    where = "on the path of the best configuration" if report.front is None else "with trials on the front"
    star = f' <span class="star" title="{where}">★</span>' if tally.holds_best else ""
    kind = "option best" if tally.holds_best else "option" if tally.tried else "option untried"
    return (
        f'<li class="{kind}"><div class="row"><span class="label">{escape(str(label))}{star}</span>'
        f"{tried}{_best_found(report, tally)}{effect}{failed}</div>{_node(report, child)}</li>"
    )


def _option_effect(report: Report, curve: Curve | None, o: int) -> str:
    if curve is None or len(curve.mean) == 1:
        return ""
    mean, margin = float(curve.mean[o]), float(curve.margin[o])
    return (
        f'<span class="effect" title="compared with the average of all options">{_interval(report, curve, o)} '
        f"{'+' if mean > 0 else ''}{number(mean, 2)} ± {number(margin, 2)}</span>"
    )


def _best_found(report: Report, tally: Tally) -> str:
    """The best value, or the number of trials on the front of several objectives."""
    if report.front is not None:
        return f'<span class="bestvalue">{tally.on_front} on the front</span>'
    return "" if tally.best is None else f'<span class="bestvalue">best {number(tally.best)}</span>'


def _interval(report: Report, curve: Curve, o: int) -> str:
    """A dot with its 95 % interval; zero is in the middle, and all options of a choice share one scale."""
    largest = max(float((abs(curve.mean) + curve.margin).max()), 1e-300)
    middle, unit = _WIDTH / 2, (_WIDTH / 2 - _INSET) / largest
    x, half = middle + unit * float(curve.mean[o]), unit * float(curve.margin[o])
    better = (curve.mean[o] > 0) == report.maximize
    return (
        f'<svg class="whisker" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" aria-hidden="true">'
        f'<line class="zero" x1="{middle}" x2="{middle}" y1="1" y2="{_HEIGHT - 1}"/>'
        f'<line class="interval" x1="{x - half:.1f}" x2="{x + half:.1f}" y1="{_HEIGHT / 2}" y2="{_HEIGHT / 2}"/>'
        f'<circle class="{"better" if better else "worse"}" cx="{x:.1f}" cy="{_HEIGHT / 2}" r="4.5"/></svg>'
    )


def _curve(curve: Curve) -> str:
    """The mean of an effect as a small line without axes."""
    low, high = float(curve.mean.min()), float(curve.mean.max())
    n, width, height = len(curve.mean), _WIDTH // 2, _HEIGHT
    x_unit, depth = (width - 2 * _PADDING) / max(n - 1, 1), (high - curve.mean) / ((high - low) or 1.0)  # 0 to 1
    y = _PADDING + (height - 2 * _PADDING) * depth
    points = [f"{_PADDING + x_unit * i:.1f},{v:.1f}" for i, v in enumerate(y)]
    return (
        f'<svg class="spark" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'aria-hidden="true"><polyline points="{" ".join(points)}"/></svg>'
    )
