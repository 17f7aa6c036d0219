"""The report as one HTML page that needs nothing else: Plotly inside, no network, no script but its own.

Everything of the user's is escaped. Should that fail somewhere, the page's content security policy still runs only the
two scripts whose hashes it names.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from html import escape
from importlib.resources import files
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from addtree.report import plots, tree
from addtree.report.effects import Curve
from addtree.report.plots import number
from addtree.report.records import Record
from addtree.report.summary import Learned, Report
from addtree.space.space import Choice

Add = Callable[[go.Figure], str]
_BARELY = 0.85  # of the values inside the 95 % bands: below, say that the bands are too narrow


def render(report: Report) -> str:
    """The page."""
    figures: list[dict[str, Any]] = []

    def add(figure: go.Figure) -> str:
        form = figure.to_plotly_json()
        form["layout"].pop("template", None)
        figures.append(form)
        return f'<div class="plot" data-figure="{len(figures) - 1}"></div>'

    sections = _sections(report, add)
    here = files("addtree.report")
    library, script = get_plotlyjs(), (here / "page.js").read_text(encoding="utf-8")
    scripts = f"script-src {_hash(library)} {_hash(script)}"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; {scripts}"
    links = "".join(f'<a href="#{key}">{escape(name)}</a>' for key, name, _ in sections)
    bodies = "".join(f'<section id="{key}"><h2>{escape(name)}</h2>{body}</section>' for key, name, body in sections)
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in report.notes)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.title)} · addtree report</title>"
        f"<style>{(here / 'page.css').read_text(encoding='utf-8')}</style></head><body><main>"
        f"<header><h1>{escape(report.title)}</h1><nav>{links}</nav></header>{notes}{bodies}</main>"
        f'<script type="application/json" id="figures">{_json(figures)}</script>'
        f"<script>{library}</script><script>{script}</script></body></html>"
    )


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e")


def _sections(report: Report, add: Add) -> list[tuple[str, str, str]]:
    """Id, title and body of each section, in order; those that have something to show."""
    out = [("best", "Best configuration", _best(report))]
    if report.best is not None:
        out.append(("progress", "Progress", add(plots.progress(report))))
    out.append(("branches", "The tree", _tree(report)))
    if report.learned is not None:
        out += _learned(report, report.learned, add)
    if report.count("failed"):
        out.append(("failures", "Failures", _failures(report, add)))
    out.append(("table", "Trials", _table(report)))
    return out


def _best(report: Report) -> str:
    states = {"done": "trials with a value", "failed": "failed", "pruned": "pruned", "pending": "running"}
    counts = [(report.count(state), words) for state, words in states.items()]
    tiles = "".join(f"<div><b>{n}</b>{words}</div>" for n, words in counts if n or words == states["done"])
    if report.best is None:
        return f'<div class="tiles">{tiles}</div><p>No trial has a value yet.</p>'
    best, order = report.best, [trial.id for trial in report.trials]
    assert best.value is not None
    kind = "largest" if report.maximize else "least"
    when = f"trial {best.id}, the {_th(order.index(best.id) + 1)} of {len(order)}"
    if best.seconds is not None:
        when += f"; it took {number(best.seconds, 3)} s"
    rows = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(_brief(value))}</dd></div>" for name, value in best.config.items()
    )
    return (
        f'<div class="tiles"><div><b>{number(best.value, 6)}</b>{kind} value</div>{tiles}</div>'
        f"<p>Found by {when}.</p>"
        f'<dl class="config">{rows}</dl>'
    )


def _th(n: int) -> str:
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def _brief(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _tree(report: Report) -> str:
    words = "How often each option was tried, and its best value."
    if report.learned is not None:
        words += (
            " The dot is what the model believes the option adds, on average over what hangs below it and against the"
            " average of its alternatives, with 95 % limits; the small curve is the effect of a parameter."
        )
    return f'<p class="soft">{words}</p>{tree.draw(report)}'


def _learned(report: Report, learned: Learned, add: Add) -> list[tuple[str, str, str]]:
    why, loo = learned.best, learned.loo
    trust = f"<p>{escape(loo.verdict)} "
    trust += f"Each trial predicted from all the others: {max(loo.explained, 0):.0%} of the variance explained, "
    trust += f"rank correlation {number(loo.rank, 2)}, {loo.covered:.0%} of the values inside the 95 % bands"
    trust += " (the bands are too narrow)." if loo.covered < _BARELY else "."
    out = [
        ("trust", "Can the model be trusted?", f"{trust}</p>{add(plots.leave_one_out(loo))}"),
        (
            "why",
            "Why the best configuration is expected to be good",
            f'<p class="soft">A random configuration is expected to give {number(why.expectation)}. Each value of'
            f" the best one, fixed from the root down, moves that; together they predict {number(why.predicted)}."
            f"</p>{add(plots.contributions(why, maximize=report.maximize))}",
        ),
        (
            "variance",
            "What explains the differences between trials",
            '<p class="soft">Shares of the variance of the values; they add up to 100 %, and one below zero undoes part'
            " of another. A choice counts for the averages of its branches, parameters for what they do inside."
            f"</p>{add(plots.shares(learned.shares))}",
        ),
    ]
    curves = [learned.curves[name] for name, d in report.space.variables.items() if not isinstance(d, Choice)]
    if curves:
        curves.sort(key=lambda curve: -curve.swing)
        cards = "".join(_effect(curve, add) for curve in curves)
        out.append(
            (
                "effects",
                "Effect of every parameter",
                '<p class="soft">What the model believes each parameter adds to the value, on average over the'
                " configurations tried, with 95 % band; strongest first. Dots are single trials, less what their other"
                f' parameters explain.</p><div class="grid">{cards}</div>',
            )
        )
    choices = [learned.curves[name] for name, d in report.space.variables.items() if isinstance(d, Choice)]
    choices = sorted((c for c in choices if len(c.mean) > 1), key=lambda curve: -curve.swing)
    if choices:
        cards = "".join(_effect(curve, add) for curve in choices)
        out.append(
            (
                "options",
                "Effect of every choice",
                '<p class="soft">What each option adds against the average of its alternatives, averaged over all that'
                f' hangs below it.</p><div class="grid">{cards}</div>',
            )
        )
    pairs = "".join(
        _card(f"{j.a.name} × {j.b.name}", f"{j.share:.1%} of the variance is their interaction", add(plots.joint(j)))
        for j in learned.joints
    )
    found = (
        '<p class="soft">Parameters whose effect depends on another one. The colour is what the two add together.</p>'
        f'<div class="grid">{pairs}</div>'
        if pairs
        else "<p>The model found none that explains more than 1 % of the variance.</p>"
    )
    return [*out, ("interactions", "Interactions", found)]


def _effect(curve: Curve, add: Add) -> str:
    caption = f"moves the value by {number(curve.swing, 3)} · {curve.tried} trial{'s' if curve.tried > 1 else ''}"
    if not curve.tried:
        caption = "never tried: this is a guess"
    return _card(curve.axis.name, caption, add(plots.effect(curve)))


def _card(title: str, caption: str, plot: str) -> str:
    return f"<figure><h3>{escape(title)}</h3><figcaption>{escape(caption)}</figcaption>{plot}</figure>"


def failure_rows(report: Report) -> list[tuple[str, int, int]]:
    """Failed and tried, per option of every choice: (option, failed, tried)."""
    rows = []
    for i, node in enumerate(report.space.nodes):
        if node.location:
            choice, option = node.location[-1]
            label = f"{choice} = {report.space.variables[choice].decode(option)}"
            rows.append((label, report.tallies[i].failed, report.tallies[i].tried))
    return rows


def _failures(report: Report, add: Add) -> str:
    failed, total = report.count("failed"), len(report.trials)
    messages = "".join(
        f'<tr><td class="num">{n}</td><td class="text">{escape(message[:500])}</td></tr>'
        for message, n in report.errors
    )
    rows = [row for row in failure_rows(report) if row[1]]
    merged: dict[str, tuple[int, int]] = {}
    for name, bad, tried in rows:
        before = merged.get(name, (0, 0))
        merged[name] = (before[0] + bad, before[1] + tried)
    plot = add(plots.failures([(name, *both) for name, both in merged.items()])) if merged else ""
    return (
        f"<p>{failed} of {total} trials failed.</p>{plot}"
        f'<table><thead><tr><th class="num">times</th><th>message</th></tr></thead><tbody>{messages}</tbody></table>'
    )


def _table(report: Report) -> str:
    timed = any(trial.seconds is not None for trial in report.trials)
    heads = [
        ("trial", "num"),
        ("value", "num"),
        ("state", ""),
        *([("seconds", "num seconds")] if timed else []),
        ("configuration", ""),
    ]
    head = "".join(f'<th class="{kind}" scope="col"><button type="button">{name}</button></th>' for name, kind in heads)
    states = "".join(f"<option>{s}</option>" for s in dict.fromkeys(t.state for t in report.trials))
    rows = "".join(_row(report, trial, timed) for trial in report.trials)
    return (
        '<div class="filter"><input id="words" type="search" placeholder="filter, for instance model=svm" '
        'aria-label="filter the trials by words">'
        '<select id="state" aria-label="filter the trials by state"><option value="">all states</option>'
        f"{states}</select>"
        f'<span class="soft" id="shown">{len(report.trials)} of {len(report.trials)}</span></div>'
        f'<div class="scroll"><table id="trials"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _row(report: Report, trial: Record, timed: bool) -> str:
    value = "" if trial.value is None else f"{trial.value:.6g}"
    config = ", ".join(f"{name}={_brief(v)}" for name, v in trial.config.items())
    if trial.error:
        config += f" — {trial.error[:300]}"
    seconds = "" if trial.seconds is None else f"{trial.seconds:.3g}"
    best = ' class="is-best"' if report.best is not None and trial.id == report.best.id else ""
    return (
        f'<tr{best} data-state="{trial.state}"><td class="num">{trial.id}</td>'
        f'<td class="num" data-key="{"" if trial.value is None else repr(float(trial.value))}">{value}</td>'
        f'<td class="state-{trial.state}">{trial.state}</td>'
        + (f'<td class="num seconds">{seconds}</td>' if timed else "")
        + f'<td class="text">{escape(config)}</td></tr>'
    )
