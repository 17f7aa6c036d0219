"""The report as one HTML page that opens offline: it contains Plotly, and loads nothing.

Names, values and messages of the user are escaped. If that failed somewhere, the page's content security policy would
still allow only the two scripts whose hashes it names.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from addtree.report import tree
from addtree.report.feasibility import bounds_text
from addtree.report.format import config_text, number, value, values_text
from addtree.report.front import nearest
from addtree.report.history_html import history_section
from addtree.report.learned import learned_sections
from addtree.report.progress import key, progress
from addtree.report.records import Record
from addtree.report.sections import Embed, Section, caption, definitions, tiles
from addtree.report.summary import Report
from addtree.report.tradeoffs import constraints_section, failures_section, front_sections

_MAX_DRAWN = 1e300  # Larger numbers are drawn here, because Plotly cannot compute an axis for them.
_MAX_ERROR_IN_TABLE = 300  # An error message is cut to this many characters in the table of trials.


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
        f'<script type="application/json" id="figures">{_json(figures)}</script>{_details(report)}'
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


def _details(report: Report) -> str:
    """What the page shows of a trial of a front when somebody clicks on it, by id."""
    if report.front is None:
        return ""
    details = {
        str(trial.id): {
            "values": [[name, value(trial.values[name])] for name in report.goals.names],
            "config": [[name, value(v)] for name, v in trial.config.items()],
        }
        for trial in report.trials
        if trial.state == "done"
    }
    return f'<script type="application/json" id="details">{_json(details)}</script>'


def _sections(report: Report, embed: Embed) -> Iterator[Section]:
    """The sections that have something to show, in order."""
    if report.front is not None:
        yield from front_sections(report, report.front, _counts(report), embed)
    else:
        yield Section("best", "Best configuration", _best(report))
        if report.count("done"):
            words = key(report)
            yield Section("progress", "Progress", (caption(words) if words else "") + embed(progress(report)))
    yield Section("branches", "The tree", _tree(report))
    if report.required and report.count("done"):
        yield constraints_section(report, embed)
    yield from learned_sections(report, embed)
    if report.history:
        yield history_section(report.history)
    if report.count("failed"):
        yield failures_section(report, embed)
    yield Section("table", "Trials", _table(report))


# ---------------------------------------------------------------------- what happened


def _counts(report: Report) -> list[tuple[str, str]]:
    """The numbers of trials in each state that occurs."""
    n_done = report.count("done")
    counts = [(n_done, "trial with a value" if n_done == 1 else "trials with a value")]
    if report.goals.constraints:
        n_kept = sum(map(report.is_feasible, report.trials))
        what = "constraints" if len(report.goals.constraints) > 1 else "constraint"
        counts.append((n_kept, f"{'keeps' if n_kept == 1 else 'keep'} the {what}"))
    others = {"failed": "failed", "pruned": "pruned", "pending": "running"}
    counts += [(n, words) for state, words in others.items() if (n := report.count(state))]
    return [(str(n), words) for n, words in counts]


def _best(report: Report) -> str:
    best, order = report.best, [trial.id for trial in report.trials]
    if best is None:
        closest = nearest(report.goals, report.trials)
        if closest is None:
            return f"{tiles(_counts(report))}<p>No trial has a value yet.</p>"
        bounds = " and ".join(map(bounds_text, report.goals.constraints))
        told = values_text(report.goals.names, closest)
        words = f"No trial keeps {bounds} yet. Trial {closest.id} comes nearest: {told}."
        return f"{tiles(_counts(report))}<p>{escape(words)}</p>{definitions(closest.config)}"
    assert best.value is not None
    kind = "largest" if report.maximize else "smallest"
    found = f"trial {best.id}, the {_ordinal(order.index(best.id) + 1)} of {len(order)}"
    if best.seconds is not None:
        found += f"; it took {number(best.seconds, 3)} s"
    bounded = [(number(best.values[c.name]), f"its {c.name}") for c in report.goals.constraints]
    return (
        tiles([(number(best.value, 6), f"{kind} {report.goals.objectives[0].name}"), *bounded, *_counts(report)])
        + f"<p>Found by {found}.</p>{definitions(best.config)}"
    )


def _ordinal(n: int) -> str:
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def _tree(report: Report) -> str:
    what = "its best value" if report.front is None else "how many of them are on the front"
    words = f"Each option with the number of its trials and {what}."
    if report.learned is not None:
        words += (
            " The dot is the estimated effect of the option compared with the average of all options of the choice,"
            " averaged over everything below it; the line is its 95 % interval. The small curve is the estimated"
            " effect of a parameter."
        )
    return f"{caption(words)}{tree.draw(report)}"


# ---------------------------------------------------------------------- the table of trials


def _table(report: Report) -> str:
    timed = any(trial.seconds is not None for trial in report.trials)
    heads = [
        ("trial", "num"),
        *((escape(name), "num") for name in report.goals.names),
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
    cells = "".join(_cell(trial.values.get(name)) for name in report.goals.names)
    config = config_text(trial)
    if trial.error:
        config += f" — {trial.error[:_MAX_ERROR_IN_TABLE]}"
    seconds = "" if trial.seconds is None else value(trial.seconds, 3)
    is_best = (report.best is not None and trial.id == report.best.id) or (
        report.front is not None and trial.id in report.front.ids
    )
    best = ' class="is-best"' if is_best else ""
    return (
        f'<tr{best} data-state="{trial.state}"><td class="num">{trial.id}</td>{cells}'
        f'<td class="state-{trial.state}">{trial.state}</td>'
        + (f'<td class="num seconds">{seconds}</td>' if timed else "")
        + f'<td class="text">{escape(config)}</td></tr>'
    )


def _cell(told: float | None) -> str:
    """A value of a trial, with all its digits to sort by."""
    sort_key, shown = ("", "") if told is None else (repr(float(told)), value(told))
    return f'<td class="num" data-key="{sort_key}">{shown}</td>'
