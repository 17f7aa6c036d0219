"""The report as text for a terminal."""

from __future__ import annotations

import addtree as at
from addtree.problems import synthetic
from addtree.report import Record, build
from addtree.report.importance import Share
from addtree.report.text import _variance, explain
from tests.report.cases import evaluated, paper_trials
from tests.report.hostile import HOSTILE, hostile_report
from tests.strategies import sample


def test_it_says_what_was_found_and_why() -> None:
    report = build(synthetic().space, paper_trials(25), title="paper")
    text = explain(report)
    assert report.learned is not None
    assert text.startswith("paper: 25 trials, 0 failed\nbest ")
    assert "a random configuration" in text
    assert "options, compared with the average of all options" in text
    assert report.learned.trust.verdict in text
    assert f"a rank correlation of {report.learned.trust.rank_correlation:.2f}" in text  # the verdict depends on it
    assert "how good can each branch get?" in text
    assert "  x2 when x1=0\n" in text
    for choice in report.learned.optima:
        for option in choice.options:
            assert option.verdict in text


def test_few_trials() -> None:
    text = explain(build(synthetic().space, paper_trials(1)))
    assert "1 trial, 0 failed" in text
    assert "effects need at least 4" in text


def test_only_failures() -> None:
    known = [Record(i, c, "failed", error="out of memory") for i, c in enumerate(sample(synthetic().space, 9, 0))]
    assert "9 × out of memory" in explain(build(synthetic().space, known))


def test_a_space_without_choices_has_no_options() -> None:
    space = at.Space(x=at.Real(0, 1), k=at.Integer(1, 3))
    text = explain(build(space, evaluated(space, lambda c: c["x"] ** 2 + c["k"], 15)))
    assert "options" not in text
    assert "branch" not in text


def test_many_choices_are_cut_short() -> None:
    space = at.Space({f"c{i}": at.Choice(a=at.Space(), b=at.Space()) for i in range(10)})
    text = explain(build(space, evaluated(space, lambda c: sum(v == "a" for v in c.values()), 15)))
    assert "  2 more choices: see the report" in text


def test_what_is_cut_ends_with_dots_and_no_share_is_minus_zero() -> None:
    shares = (Share("a" * 80, "vertex", 0.5), Share("b", "vertex", -1e-5))
    long, none = list(_variance(shares, ""))[2:]
    assert long.endswith("a" * 59 + "…")
    assert none.split() == ["0.0%", "b"]
    *_, explained = _variance((*shares, Share("c", "interaction", -0.05)), "")
    assert explained == "  A negative share cancels part of another one."


def test_names_are_printed_as_they_are() -> None:
    assert HOSTILE[0] in explain(hostile_report())
