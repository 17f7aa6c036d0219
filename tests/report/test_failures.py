"""Where trials fail, in words."""

import numpy as np
import pytest

import addtree as at
from addtree.report.failures import failure_rule
from addtree.report.html import render
from addtree.report.records import Record
from addtree.report.summary import build
from addtree.report.text import explain

SPACE = at.Space(
    units=at.Integer(8, 512, log=True),
    depth=at.Integer(1, 8),
    rate=at.Real(1e-5, 0.1, log=True),
    model=at.Choice(a=at.Space(x=at.Real(0, 1)), b=at.Space()),
)


def records(fails, n=60, seed=0):
    rng = np.random.default_rng(seed)
    configs = [SPACE.sample(rng) for _ in range(n)]
    return [Record(i, c, "failed" if fails(c) else "done", None if fails(c) else 0.0) for i, c in enumerate(configs)]


@pytest.mark.parametrize(
    ("fails", "words"),
    [
        (lambda c: c["model"] == "b", ("model = b",)),
        (lambda c: c["rate"] > 1e-3, ("rate > 0.001",)),
        (lambda c: c["units"] > 100 and c["depth"] > 5, ("depth > 5", "units > 100")),
        (lambda c: c.get("x", 0) > 0.6, ("x > 0.6",)),
    ],
)
def test_rules_are_found_and_separate_the_trials(fails, words):
    trials = records(fails, 300)
    rule = failure_rule(SPACE, trials)
    assert [condition.split()[0] for condition in sorted(rule.conditions)] == [word.split()[0] for word in words]
    n_failed = sum(trial.state == "failed" for trial in trials)
    assert rule.failed + rule.elsewhere[0] == n_failed
    assert rule.tried + rule.elsewhere[1] == 300
    assert rule.failed >= 0.9 * rule.tried
    assert rule.elsewhere[0] <= 0.05 * rule.elsewhere[1]


@pytest.mark.parametrize("seed", range(10))
def test_failures_at_random_have_no_rule(seed):
    rng = np.random.default_rng(seed)
    assert failure_rule(SPACE, records(lambda c: False, 1)) is None
    trials = [Record(i, SPACE.sample(rng), "failed" if rng.random() < 0.3 else "done", 0.0) for i in range(80)]
    assert failure_rule(SPACE, trials) is None


def test_integers_are_compared_with_integers():
    trials = records(lambda c: c["depth"] > 5)
    assert failure_rule(SPACE, trials).conditions == ("depth > 5",)


def test_pending_trials_do_not_count_and_pruned_ones_have_not_failed():
    trials = records(lambda c: c["depth"] > 5)
    others = [Record(100 + i, {"depth": 8}, "pending") for i in range(20)]
    assert failure_rule(SPACE, trials + others) == failure_rule(SPACE, trials)
    pruned = [Record(100 + i, {"depth": 8}, "pruned") for i in range(20)]
    assert failure_rule(SPACE, trials + pruned).conditions != ("depth > 5",)


def test_the_rule_is_in_the_text_and_on_the_page():
    report = build(SPACE, records(lambda c: c["model"] == "b"))
    assert "  fails where model = b: " in explain(report)
    assert "fails where model = b: " in render(report)
