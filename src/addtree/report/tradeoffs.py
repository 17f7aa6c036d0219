"""The sections of the page about fronts, constraints and failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from addtree.report import front_plots, plots
from addtree.report.feasibility import Requirement
from addtree.report.format import config_text, number, plural, value
from addtree.report.front import ChoiceFronts, Front, best_of
from addtree.report.sections import Embed, Section, caption, card, grid, row, row_group, table, tiles
from addtree.report.summary import Report
from addtree.space.forms import opened_spaces
from addtree.space.space import Choice

_MAX_ROWS = 200  # The table of the front has at most this many rows.
_MAX_ERROR = 500  # An error message is cut to this many characters in the list of failures.

_MAP_WORDS = (
    "Each map shows the two parameters that matter most in a branch; all others stay as in configurations that were"
    " tried, and the probability is an average over these."
)


# ---------------------------------------------------------------------- the front


def front_sections(report: Report, front: Front, counts: Sequence[tuple[str, str]], embed: Embed) -> Iterator[Section]:
    """The sections about the best trade-offs of several objectives, the first with these counts of trials."""
    yield Section("front", "The front", _front(report, front, counts, embed))
    if front.attainment:
        yield Section("attainment", "Progress", _attainment(report, front, embed))
    if front.trials and front.choices:
        yield Section("tradeoffs", "The trade-off within each branch", _tradeoffs(report, front.choices, embed))


def _front(report: Report, front: Front, counts: Sequence[tuple[str, str]], embed: Embed) -> str:
    extremes = []
    for objective in report.goals.objectives:
        best = best_of(report.goals, report.trials, objective.name)
        if best is not None:
            kind = "largest" if objective.maximize else "smallest"
            extremes.append((number(best.values[objective.name]), f"{kind} {objective.name}"))
    head = tiles([(str(len(front.trials)), "on the front"), *extremes, *counts])
    if not report.count("done"):
        return f"{head}<p>No trial has values yet.</p>"
    kept = " that keeps the constraints" if report.goals.constraints else ""
    words = (
        f"Each large point is a trial on the front: no other trial{kept} is at least as good in every objective and"
        " better in one. Small points are dominated; those far from the front may lie outside of the picture. Point at"
        " a trial to see its configuration, and click on it to keep the configuration below the picture."
    )
    drawn = front_plots.pairs(report.goals.objectives)
    if len(drawn) == 1:
        plot = embed(front_plots.front(report))
    else:
        plot = grid((card(f"{x.name} and {y.name}", "", embed(front_plots.front(report, (x, y)))) for x, y in drawn), 2)
    return (
        f'{head}{caption(words)}{plot}<div id="picked" class="picked" aria-live="polite"></div>{_rows(report, front)}'
    )


def _rows(report: Report, front: Front) -> str:
    """The trials of the front as a table."""
    if not front.trials:
        return ""
    names = report.goals.names
    numbers = ["num"] * (1 + len(names))
    head = row([*numbers, ""], ("trial", *names, "configuration"), "th")
    rows = (
        row([*numbers, "text"], (str(t.id), *(value(t.values[name], 5) for name in names), config_text(t)))
        for t in front.trials[:_MAX_ROWS]
    )
    return table("front", head, f"<tbody>{''.join(rows)}</tbody>")


def _attainment(report: Report, front: Front, embed: Embed) -> str:
    point = ", ".join(f"{name} {number(limit)}" for name, limit in front.reference.items())
    words = (
        "The hypervolume: how much of the space of objectives the front dominates, as a share of what it dominates now."
        f" It is measured from the reference point {point}. Each point is a trial that enlarged it."
    )
    plot = caption(words) + embed(front_plots.attainment(report))
    if len(report.goals.objectives) > 2 or len(front.moments) < 2:
        return plot
    words = "The front while the run went on. Where the lines lie close together, the later trials changed little."
    return plot + caption(words) + embed(front_plots.front_moments(report))


def _tradeoffs(report: Report, choices: Sequence[ChoiceFronts], embed: Embed) -> str:
    words = (
        "The front of each option alone. The hypervolume is what these trials dominate, as a share of what the front of"
        " all trials dominates: 100 % means that the other options add nothing."
    )
    drawn = front_plots.pairs(report.goals.objectives)
    cards = []
    for choice in choices:
        for x, y in drawn if any(option.trials for option in choice.options) else ():
            title = choice.choice if len(drawn) == 1 else f"{choice.choice}: {x.name} and {y.name}"
            cards.append(card(title, choice.condition, embed(front_plots.option_fronts(report, choice, (x, y)))))
    best = [f"{'largest' if o.maximize else 'smallest'} {o.name}" for o in report.goals.objectives]
    heads = ["option", "trials", "its own front", "on the front", "hypervolume", *best]
    kinds = ["text", *["num"] * (len(heads) - 1)]
    body = "".join(_option_rows(report, choice, kinds) for choice in choices)
    return f"{caption(words)}{grid(cards, min(len(cards), 2))}{table('optima', row(kinds, heads, 'th'), body)}"


def _option_rows(report: Report, choice: ChoiceFronts, kinds: Sequence[str]) -> str:
    rows = []
    for option in choice.options:
        cells = [str(option.option), str(option.tried), str(len(option.trials)), str(option.on_front)]
        cells.append("–" if option.share is None else f"{option.share:.0%}")
        for objective in report.goals.objectives:
            best = best_of(report.goals, option.trials, objective.name)
            cells.append("–" if best is None else number(best.values[objective.name]))
        rows.append(row(kinds, cells))
    return row_group(f"{choice.choice} {choice.condition}", len(kinds), rows)


# ---------------------------------------------------------------------- constraints and failures


def constraints_section(report: Report, embed: Embed) -> Section:
    """Where each constraint is kept."""
    parts = []
    for required in report.required:
        rule = "" if required.rule is None else f" It {required.rule.describe('is violated', 'violated it')}."
        said = f"Kept by {required.good} of {plural(required.tried, 'trial')}.{rule}"
        parts.append(f"<h3>{escape(required.text)}</h3><p>{escape(said)}</p>{_probabilities(required, embed)}")
    words = caption(
        f"The probability that a configuration keeps a constraint, from blue (certain) to orange (never). {_MAP_WORDS}"
        " Dots are trials that keep the constraint, white crosses trials that violate it."
    )
    return Section("constraints", "Constraints", words + "".join(parts))


def _probabilities(required: Requirement, embed: Embed) -> str:
    bars = embed(front_plots.option_probabilities(required.options)) if required.options else ""
    cards = []
    for shown in required.maps:
        title = shown.a.name if shown.b is None else f"{shown.a.name} × {shown.b.name}"
        cards.append(card(title, plural(len(shown.points), "trial"), embed(front_plots.probability_map(shown))))
    return bars + (grid(cards, max(len(cards), 2)) if cards else "")


def failures_section(report: Report, embed: Embed) -> Section:
    """What failed, why and where."""
    rows = _failures_by_option(report)
    plot = embed(plots.failures(rows)) if rows else ""
    messages = "".join(row(("num", "text"), (str(n), message[:_MAX_ERROR])) for message, n in report.errors)
    rule = "" if report.rule is None else f"<p>It {escape(str(report.rule))}.</p>"
    maps = ""
    if report.success is not None and (report.success.options or report.success.maps):
        maps = caption(
            f"The probability that an evaluation succeeds, from blue (certain) to orange (never). {_MAP_WORDS}"
            " Dots are trials that succeeded, white crosses trials that failed."
        ) + _probabilities(report.success, embed)
    body = (
        f"<p>{report.count('failed')} of {plural(len(report.trials), 'trial')} failed.</p>{rule}{plot}"
        '<table><thead><tr><th class="num">times</th><th>message</th></tr></thead>'
        f"<tbody>{messages}</tbody></table>{maps}"
    )
    return Section("failures", "Failures", body)


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
