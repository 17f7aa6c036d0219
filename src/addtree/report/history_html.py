"""The section of the page about earlier studies."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from addtree.report.format import number, value
from addtree.report.history import EarlierStudy, HistoryReport
from addtree.report.sections import Section, caption, row, row_group, table

_MAX_BELIEFS = 8  # Of each earlier study, at most this many beliefs are listed.

_STUDY_HEADS = ("study", "trials", "agreement", "repeated here", "confirmed", "overturned", "open")
_STUDY_CELLS = ("text", *["num"] * 6)
_BELIEF_HEADS = ("belief about", "best there", "best here", "verdict")
_BELIEF_CELLS = ["text"] * 4


def history_section(history: Mapping[str, HistoryReport]) -> Section:
    """For each objective, a table of the studies, and a table of what they were sure of."""
    words = (
        "The weight is 0 if the history is not used, and 1 if its predictions are used as they are."
        " The agreement is the rank correlation of what a study predicts for the trials of this page with their values."
        " A belief is an effect that a study was sure of. It is compared with the effect in the trials of this page"
        " alone, and is open as long as they are not sure of it."
    )
    several = len(history) > 1
    parts = (f"<h3>{escape(name)}</h3>" * several + _tables(found) for name, found in history.items())
    return Section("history", "What became of earlier studies", caption(words) + "".join(parts))


def _tables(history: HistoryReport) -> str:
    studies = "".join(row(_STUDY_CELLS, _counts(study)) for study in history.studies)
    beliefs = "".join(map(_beliefs, history.studies))
    return (
        f"<p>{escape(history.verdict)}</p>"
        + table("", row(_STUDY_CELLS, _STUDY_HEADS, "th"), f"<tbody>{studies}</tbody>")
        + table("optima", row(_BELIEF_CELLS, _BELIEF_HEADS, "th"), beliefs)
    )


def _counts(study: EarlierStudy) -> tuple[str, ...]:
    verdicts = (study.count("confirmed"), study.count("overturned"), study.count("open"))
    return (study.name, str(study.trials), number(study.agreement, 2), str(study.repeated), *map(str, verdicts))


def _beliefs(study: EarlierStudy) -> str:
    rows = [
        row(_BELIEF_CELLS, (b.name, value(b.earlier, 3), "–" if b.verdict == "open" else value(b.here, 3), b.verdict))
        for b in study.beliefs[:_MAX_BELIEFS]
    ]
    return row_group(study.name, len(_BELIEF_CELLS), rows) if rows else ""
