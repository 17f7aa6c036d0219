"""Shares of the variance, and interactions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import addtree as at
from addtree.report import build
from addtree.report.importance import shares
from tests.report.cases import effects_of, evaluated, interaction_report, paper_report
from tests.strategies import seeds, spaces


@given(spaces(), seeds)
def test_shares_add_up_to_one(space: at.Space, seed: int) -> None:
    values = iter(np.random.default_rng(seed).normal(size=12))
    effects, _ = effects_of(space, lambda _: next(values), 12, seed, noise=0.05)
    assert math.fsum(s.share for s in shares(effects)) == pytest.approx(1, abs=1e-6)
    explained = effects.posterior.z - effects.residuals
    np.testing.assert_allclose(effects.term_means.sum(axis=0), explained, atol=1e-6)


def test_interactions_are_found_where_they_are() -> None:
    without, with_them = paper_report(40), interaction_report()
    assert without.learned is not None
    assert with_them.learned is not None
    assert without.learned.interactions == ()
    found = {frozenset((pair.a.name, pair.b.name)): pair for pair in with_them.learned.interactions}
    true = [frozenset(names) for names in (("r8", "x4"), ("r8", "x5"), ("r9", "x6"), ("r9", "x7"))]
    (pair, *_) = [found[names] for names in true if names in found]
    assert pair.a.weights @ pair.mean @ pair.b.weights == pytest.approx(0, abs=1e-9)


def test_a_choice_that_reverses_an_effect_is_an_interaction() -> None:
    space = at.Space(lr=at.Real(0, 1), opt=at.Choice(sgd=at.Space(), adam=at.Space()))

    def objective(c: dict[str, Any]) -> float:
        return float((c["lr"] - (0.1 if c["opt"] == "sgd" else 0.9)) ** 2)

    report = build(space, evaluated(space, objective, 30))
    assert report.learned is not None
    (pair,) = report.learned.interactions
    assert {pair.a.name, pair.b.name} == {"lr", "opt"}
    assert pair.share > 0.5
