"""The section of the page about earlier studies."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from addtree.report.format import number, value
from addtree.report.history import EarlierStudy, HistoryReport

_MAX_BELIEFS = 8  # Of each earlier study, at most this many beliefs are listed.

_STUDY_HEADS = ("study", "trials", "agreement", "repeated here", "confirmed", "overturned", "open")
_BELIEF_HEADS = ("belief about", "best there", "best here", "verdict")


def body(history: HistoryReport) -> str:
    """A table of the studies, and a table of what they were sure of."""
    words = (
        "The agreement is the rank correlation of what a study predicts for the trials of this page with their values."
        " A belief is an effect that a study was sure of. It is compared with the effect in the trials of this page"
        " alone, and is open as long as they are not sure of it."
    )
    studies = "".join(_row(("text", *["num"] * 6), _counts(study)) for study in history.studies)
    beliefs = "".join(map(_beliefs, history.studies))
    return (
        f'<p>{escape(history.verdict)}</p><p class="soft">{escape(words)}</p>'
        f'<div class="scroll"><table><thead>{_row(("text", *["num"] * 6), _STUDY_HEADS, "th")}</thead>'
        f"<tbody>{studies}</tbody></table></div>"
        f'<div class="scroll"><table class="optima"><thead>{_row(["text"] * 4, _BELIEF_HEADS, "th")}</thead>'
        f"{beliefs}</table></div>"
    )


def _counts(study: EarlierStudy) -> tuple[str, ...]:
    verdicts = (study.count("confirmed"), study.count("overturned"), study.count("open"))
    return (study.name, str(study.trials), number(study.agreement, 2), str(study.repeated), *map(str, verdicts))


def _beliefs(study: EarlierStudy) -> str:
    rows = "".join(
        _row(["text"] * 4, (b.name, value(b.earlier, 3), "–" if b.verdict == "open" else value(b.here, 3), b.verdict))
        for b in study.beliefs[:_MAX_BELIEFS]
    )
    head = f'<tr><th class="text" colspan="4" scope="rowgroup">{escape(study.name)}</th></tr>'
    return f"<tbody>{head}{rows}</tbody>" if rows else ""


def _row(kinds: Iterable[str], cells: Iterable[str], tag: str = "td") -> str:
    scope = ' scope="col"' if tag == "th" else ""
    filled = (f'<{tag} class="{k}"{scope}>{escape(cell)}</{tag}>' for k, cell in zip(kinds, cells, strict=True))
    return f"<tr>{''.join(filled)}</tr>"
