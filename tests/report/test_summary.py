"""The data of a report: counts, clipping, thinning."""

from __future__ import annotations

from dataclasses import replace

import pytest

import addtree as at
from addtree.problems import synthetic
from addtree.report import Limits, Record, build
from addtree.report.summary import build_without_models
from addtree.run.goals import Goals
from tests.report.cases import evaluated, paper_trials


def test_tallies_best_and_progress() -> None:
    space = at.Space(m=at.Choice(a=at.Space(x=at.Real(0, 1)), b=at.Space()))
    known = [
        Record(0, {"m": "a", "x": 0.5}, "done", 3.0),
        Record(1, {"m": "b"}, "failed", error="boom"),
        Record(2, {"m": "b"}, "done", 2.0),
        Record(3, {"m": "a"}, "failed"),  # it ended before x was suggested
        Record(4, {"m": "a", "x": 0.1}, "pending"),
        Record(5, {"m": "a", "x": 0.2}, "done", 5.0),
    ]
    least, most = build(space, known), build(space, known, maximize=True)
    assert least.best is not None
    assert most.best is not None
    assert (least.best.id, most.best.id) == (2, 5)
    assert [(t.tried, t.failed, t.best) for t in least.tallies] == [(6, 2, 2.0), (4, 1, 3.0), (2, 1, 2.0)]
    assert [t.holds_best for t in least.tallies] == [True, False, True]
    assert [t.holds_best for t in most.tallies] == [True, True, False]
    assert least.best_so_far == [(0, 3.0), (2, 2.0)]
    assert most.best_so_far == [(0, 3.0), (5, 5.0)]
    assert dict(least.errors) == {"boom": 1, "no message": 1}


def test_an_extreme_value_does_not_hide_the_others() -> None:
    known = paper_trials(40)
    known[7] = replace(known[7], value=1e9)
    report = build(synthetic().space, known)
    assert report.learned is not None
    assert any("(1 trial) count as" in note for note in report.notes)
    assert report.learned.curves["r9"].range == pytest.approx(1, abs=0.5)


def test_values_that_are_all_too_large_are_the_same() -> None:
    report = build(at.Space(x=at.Real(0, 1)), [{"config": {"x": i / 9}, "value": (1 + i) * 1e305} for i in range(9)])
    assert not report.models
    assert [note.split(" (")[0] for note in report.notes] == [
        "Values beyond ±1e+300",
        "All values are the same, so there is nothing to explain.",
    ]


def test_maximizing_the_negative_is_the_mirror_image() -> None:
    known = paper_trials(30)
    one = build(synthetic().space, known).learned
    negative = [replace(trial, value=-(trial.value or 0.0)) for trial in known]
    other = build(synthetic().space, negative, maximize=True).learned
    assert one is not None
    assert other is not None
    assert one.curves["r8"].mean == pytest.approx(-other.curves["r8"].mean, abs=1e-3)


def test_too_many_values_are_thinned_and_a_note_says_so() -> None:
    report = build(synthetic().space, paper_trials(100), limits=Limits(fit=30, condition=40))
    assert report.learned is not None
    assert report.best is not None
    assert report.notes == ("The model uses 40 of 100 values: the best ones, and a sample of the others.",)
    assert len(report.learned.trust.ids) == 40
    assert report.best.id in report.learned.trust.ids
    assert report.learned.best.predicted == pytest.approx(report.best.value, abs=1e-3)


def test_the_part_without_models_is_that_of_the_whole_report() -> None:
    space = at.Space(x=at.Real(0, 1))
    trials = evaluated(space, lambda c: c["x"], 10)
    part, whole = build_without_models(Goals(), space, trials), build(space, trials)
    assert (part.models, part.rule, part.notes) == ({}, None, ())
    assert (part.best, part.best_so_far, part.tallies) == (whole.best, whole.best_so_far, whole.tallies)


def test_many_branches_of_a_choice_that_is_not_always_active() -> None:
    choice = at.Choice({f"o{i}": at.Space({f"p{i}": at.Real(0, 1)}) for i in range(12)})
    space = at.Space(n=at.Integer(1, 2, opens={(2, 2): at.Space(m=choice)}))
    trials = [{"id": i, "config": {"n": 2, "m": f"o{i}", f"p{i}": 0.5}, "value": i / 7} for i in range(12)]
    trials.append({"id": 12, "config": {"n": 1}, "value": 3.0})
    branches = build(space, trials).branches
    assert len(set(branches)) == 8
    assert {"m=o0", "other"} < set(branches)


def test_too_many_branches_are_reduced_to_one_choice() -> None:
    choices = {f"c{i}": at.Choice({"a": at.Space(), "b": at.Space()}) for i in range(5)}
    space = at.Space(choices)
    report = build(space, evaluated(space, lambda c: 5.0 * (c["c3"] == "b") + (c["c0"] == "a"), 60))
    assert set(report.branches) == {"c3=a", "c3=b"}
    many = at.Space(c=at.Choice({i: at.Space() for i in range(20)}))
    branches = build(many, evaluated(many, lambda c: float(c["c"]), 100)).branches
    assert len(set(branches)) == 8
    assert "other" in branches
