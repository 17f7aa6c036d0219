"""The report as one HTML page that opens offline: it contains Plotly, and loads nothing.

Names, values and messages of the user are escaped. If that failed somewhere, the page's content security policy would
still allow only the two scripts whose hashes it names.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from addtree.report import history_html, plots, tree
from addtree.report.effects import Curve, Interaction
from addtree.report.format import number, plural, probability, value
from addtree.report.importance import MIN_INTERACTION
from addtree.report.optima import ChoiceOptima
from addtree.report.records import Record
from addtree.report.summary import Explanation, Learned, Report
from addtree.report.trust import CrossValidation
from addtree.space.forms import opened_spaces
from addtree.space.space import Choice

Embed = Callable[[go.Figure], str]  # Adds a figure to the page and returns the element that shows it.

# The classes of the cells in the table of optima; a narrow page leaves details to the plots.
_OPTIMA_CELLS = ("text", "num", "num detail", "num detail", "num detail", "num", "")
_MAX_DRAWN = 1e300  # Larger numbers are drawn here, because Plotly cannot compute an axis for them.
_MAX_ERROR = 500  # An error message is cut to this many characters in the list of failures.
_MAX_ERROR_IN_TABLE = 300  # An error message is cut to this many characters in the table of trials.


class Section(NamedTuple):
    """One section of the page; the body is HTML."""

    id: str
    title: str
    body: str


def render(report: Report) -> str:
    """The whole page."""
    figures: list[dict[str, Any]] = []

    def embed(figure: go.Figure) -> str:
        form = figure.to_plotly_json()
        form["layout"].pop("template", None)
        figures.append(form)
        return f'<div class="plot" data-figure="{len(figures) - 1}"></div>'

    sections = list(_sections(report, embed))
    here = files("addtree.report")
    library, script = get_plotlyjs(), (here / "page.js").read_text(encoding="utf-8")
    scripts = f"script-src {_hash(library)} {_hash(script)}"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; {scripts}"
    links = "".join(f'<a href="#{s.id}">{escape(s.title)}</a>' for s in sections)
    bodies = "".join(f'<section id="{s.id}"><h2>{escape(s.title)}</h2>{s.body}</section>' for s in sections)
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


def _json(data: Any) -> str:
    """JSON without angle brackets, so that it cannot end the script element that contains it."""
    text = json.dumps(_drawable(data), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e")


def _drawable(data: Any) -> Any:
    """Nested dicts and sequences with clipped numbers; infinity and NaN, which JSON does not have, become None."""
    if isinstance(data, dict):
        return {key: _drawable(item) for key, item in data.items()}
    if isinstance(data, (list, tuple)):
        return [_drawable(item) for item in data]
    if isinstance(data, float):
        return min(max(data, -_MAX_DRAWN), _MAX_DRAWN) if math.isfinite(data) else None
    return data


def _sections(report: Report, embed: Embed) -> Iterator[Section]:
    """The sections that have something to show, in order."""
    yield Section("best", "Best configuration", _best(report))
    if report.best is not None:
        yield Section("progress", "Progress", embed(plots.progress(report)))
    yield Section("branches", "The tree", _tree(report))
    if report.learned is not None:
        yield from _learned(report, report.learned, embed)
    if report.history is not None:
        yield Section("history", "What became of earlier studies", history_html.body(report.history))
    if report.count("failed"):
        yield Section("failures", "Failures", _failures(report, embed))
    yield Section("table", "Trials", _table(report))


# ---------------------------------------------------------------------- what happened


def _best(report: Report) -> str:
    states = {"done": "trials with a value", "failed": "failed", "pruned": "pruned", "pending": "running"}
    counts = [(report.count(state), words) for state, words in states.items()]
    tiles = "".join(f"<div><b>{n}</b>{words}</div>" for n, words in counts if n or words == states["done"])
    if report.best is None:
        return f'<div class="tiles">{tiles}</div><p>No trial has a value yet.</p>'
    best, order = report.best, [trial.id for trial in report.trials]
    assert best.value is not None
    kind = "largest" if report.maximize else "smallest"
    found = f"trial {best.id}, the {_ordinal(order.index(best.id) + 1)} of {len(order)}"
    if best.seconds is not None:
        found += f"; it took {number(best.seconds, 3)} s"
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value(v))}</dd></div>" for name, v in best.config.items())
    return (
        f'<div class="tiles"><div><b>{number(best.value, 6)}</b>{kind} value</div>{tiles}</div>'
        f"<p>Found by {found}.</p>"
        f'<dl class="config">{rows}</dl>'
    )


def _ordinal(n: int) -> str:
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def _tree(report: Report) -> str:
    words = "Each option with the number of its trials and its best value."
    if report.learned is not None:
        words += (
            " The dot is the estimated effect of the option compared with the average of all options of the choice,"
            " averaged over everything below it; the line is its 95 % interval. The small curve is the estimated"
            " effect of a parameter."
        )
    return f"{_caption(words)}{tree.draw(report)}"


def _caption(words: str) -> str:
    return f'<p class="soft">{escape(words)}</p>'


# ---------------------------------------------------------------------- what the model learned


def _learned(report: Report, learned: Learned, embed: Embed) -> Iterator[Section]:
    is_choice = {name: isinstance(domain, Choice) for name, domain in report.space.variables.items()}
    parameters = [curve for name, curve in learned.curves.items() if not is_choice[name]]
    choices = [curve for name, curve in learned.curves.items() if is_choice[name] and len(curve.mean) > 1]
    yield Section("trust", "Can the model be trusted?", _trust(learned.trust, embed))
    if learned.optima:
        yield Section("optima", "How good can each branch get?", _optima(learned.optima, embed))
    why = _why(learned.best, embed(plots.contributions(learned.best, maximize=report.maximize)))
    yield Section("why", "Why the best configuration is expected to be good", why)
    variance = _caption(
        "Shares of the variance of the observed values; they add up to 100 %. A choice is credited with the differences"
        " between the averages of its branches, a parameter with the differences inside a branch. A negative share"
        " cancels part of another one."
    )
    variance += embed(plots.shares(learned.shares))
    yield Section("variance", "What explains the differences between trials", variance)
    if parameters:
        words = (
            "The estimated effect of each parameter on the value, averaged over configurations that were tried, with"
            " its 95 % band; the strongest come first. Each dot is one trial: its value, minus the prediction for it"
            " averaged over this parameter."
        )
        yield Section("effects", "Effect of every parameter", _effects(words, parameters, embed))
    if choices:
        words = (
            "The estimated effect of each option compared with the average of all options of the choice, averaged over"
            " everything below it."
        )
        yield Section("options", "Effect of every choice", _effects(words, choices, embed))
    yield Section("interactions", "Interactions", _interactions(learned.interactions, embed))


def _trust(trust: CrossValidation, embed: Embed) -> str:
    words = (
        f"Each of {trust.n} trials was predicted by a model fitted to other trials. The predictions explain"
        f" {max(trust.explained, 0):.0%} of the variance, with a rank correlation of"
        f" {number(trust.rank_correlation, 2)}; {trust.coverage_90:.0%} of the values lie inside their 90 % intervals,"
        f" and {trust.coverage_95:.0%} inside their 95 % intervals."
    )
    return f"<p>{escape(trust.verdict)}</p>{_caption(words)}{embed(plots.cross_validation(trust))}"


def _optima(choices: Sequence[ChoiceOptima], embed: Embed) -> str:
    words = (
        "The best value that each option is believed to reach if everything else is chosen well, without noise: the"
        f" median and the 80 % interval. {choices[0].draws} functions were drawn from the model; the probability is the"
        " share of them whose optimum takes the option, among configurations in which the choice is active."
    )
    cards = [_card(choice.choice, choice.condition, embed(plots.optima(choice))) for choice in choices]
    heads = ("option", "trials", "best seen", "believed best", "80 % interval", "optimum here", "may I drop it?")
    head = "".join(
        f'<th class="{kind}" scope="col">{name}</th>' for name, kind in zip(heads, _OPTIMA_CELLS, strict=True)
    )
    return (
        f'{_caption(words)}<div class="grid">{"".join(cards)}</div><div class="scroll"><table class="optima">'
        f"<thead><tr>{head}</tr></thead>{''.join(map(_optima_rows, choices))}</table></div>"
    )


def _optima_rows(choice: ChoiceOptima) -> str:
    rows = []
    for option in choice.options:
        cells = (
            str(option.option),
            str(option.evaluations),
            "–" if option.best is None else number(option.best),
            number(option.median),
            f"{number(option.low)} to {number(option.high)}",
            probability(option.probability, choice.draws),
            option.verdict,
        )
        row = "".join(
            f'<td class="{kind}">{escape(cell)}</td>' for cell, kind in zip(cells, _OPTIMA_CELLS, strict=True)
        )
        rows.append(f"<tr>{row}</tr>")
    name = f"{choice.choice} {choice.condition}"
    head = f'<tr><th class="text" colspan="{len(_OPTIMA_CELLS)}" scope="rowgroup">{escape(name)}</th></tr>'
    return f"<tbody>{head}{''.join(rows)}</tbody>"


def _why(explanation: Explanation, plot: str) -> str:
    words = (
        f"A random configuration is expected to give {number(explanation.expectation)}. Fixing the values of the best"
        " configuration one by one, from the root down, changes this expectation step by step, until it is the"
        f" prediction, {number(explanation.predicted)}."
    )
    return f"{_caption(words)}{plot}"


def _effects(words: str, curves: Sequence[Curve], embed: Embed) -> str:
    cards = []
    for curve in sorted(curves, key=lambda curve: -curve.range):
        caption = f"changes the value by {number(curve.range, 3)} · {plural(curve.n_active, 'trial')}"
        if not curve.n_active:
            caption = "never tried: this is a guess"
        cards.append(_card(curve.axis.name, caption, embed(plots.effect(curve))))
    return f'{_caption(words)}<div class="grid">{"".join(cards)}</div>'


def _interactions(pairs: Sequence[Interaction], embed: Embed) -> str:
    if not pairs:
        return f"<p>The model found none that explains more than {100 * MIN_INTERACTION:g} % of the variance.</p>"
    words = "Pairs in which the effect of one parameter depends on the other. The colour shows their joint effect."
    cards = [
        _card(
            f"{pair.a.name} × {pair.b.name}",
            f"their interaction explains {pair.share:.1%} of the variance",
            embed(plots.interaction(pair)),
        )
        for pair in pairs
    ]
    return f'{_caption(words)}<div class="grid">{"".join(cards)}</div>'


def _card(title: str, caption: str, plot: str) -> str:
    return f"<figure><h3>{escape(title)}</h3><figcaption>{escape(caption)}</figcaption>{plot}</figure>"


# ---------------------------------------------------------------------- failures


def _failures(report: Report, embed: Embed) -> str:
    rows = _failures_by_option(report)
    plot = embed(plots.failures(rows)) if rows else ""
    messages = "".join(
        f'<tr><td class="num">{n}</td><td class="text">{escape(message[:_MAX_ERROR])}</td></tr>'
        for message, n in report.errors
    )
    rule = "" if report.rule is None else f"<p>It {escape(str(report.rule))}.</p>"
    return (
        f"<p>{report.count('failed')} of {plural(len(report.trials), 'trial')} failed.</p>{rule}{plot}"
        f'<table><thead><tr><th class="num">times</th><th>message</th></tr></thead><tbody>{messages}</tbody></table>'
    )


def _failures_by_option(report: Report) -> list[tuple[str, int, int]]:
    """Rows (option, failed, tried) of the options and intervals with failures, added up over their nodes."""
    counts: dict[str, tuple[int, int]] = {}
    for node, tally in zip(report.space.nodes, report.tallies, strict=True):
        if node.location and tally.failed:
            variable, position = node.location[-1]
            domain = report.space.variables[variable]
            if isinstance(domain, Choice):
                name = f"{variable} = {domain.labels[position]}"
            else:
                name = f"{variable} in {opened_spaces(domain)[position][0]}"
            failed, tried = counts.get(name, (0, 0))
            counts[name] = (failed + tally.failed, tried + tally.tried)
    return [(name, failed, tried) for name, (failed, tried) in counts.items()]


# ---------------------------------------------------------------------- the table of trials


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
    shown = "" if trial.value is None else value(trial.value)
    sort_key = "" if trial.value is None else repr(float(trial.value))
    config = ", ".join(f"{name}={value(v)}" for name, v in trial.config.items())
    if trial.error:
        config += f" — {trial.error[:_MAX_ERROR_IN_TABLE]}"
    seconds = "" if trial.seconds is None else value(trial.seconds, 3)
    best = ' class="is-best"' if report.best is not None and trial.id == report.best.id else ""
    return (
        f'<tr{best} data-state="{trial.state}"><td class="num">{trial.id}</td>'
        f'<td class="num" data-key="{sort_key}">{shown}</td>'
        f'<td class="state-{trial.state}">{trial.state}</td>'
        + (f'<td class="num seconds">{seconds}</td>' if timed else "")
        + f'<td class="text">{escape(config)}</td></tr>'
    )
