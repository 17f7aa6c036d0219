"""What the report shows, against the truth and against brute force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import addtree as at
from addtree.problems import interaction, synthetic
from addtree.report import Record, build, summary
from addtree.report.effects import Effects
from addtree.report.importance import shares
from tests.strategies import sample, seeds, spaces


def fitted(problem: Any, n: int, seed: int = 0) -> tuple[at.AddTreeGP, list[dict[str, Any]], np.ndarray]:
    configs = sample(problem.space, n, seed)
    y = np.array([problem.objective(c) for c in configs])
    return at.AddTreeGP(problem.space).fit(configs, y, restarts=1), configs, y


def trials(space: at.Space, objective: Any, n: int, seed: int = 0) -> list[dict[str, Any]]:
    return [{"config": c, "value": objective(c)} for c in sample(space, n, seed)]


def smooth(config: dict[str, Any]) -> float:
    """Some function of any configuration."""
    return sum(math.sin(len(name) + (v if isinstance(v, float) else len(str(v)))) for name, v in config.items())


# ---------------------------------------------------------------------- the model's new methods


@pytest.mark.parametrize("noise", [None, 0.1])
def test_leave_one_out_is_refitting_without_each(noise: float | None) -> None:
    problem = interaction()
    configs = sample(problem.space, 18, 3)
    y = [problem.objective(c) for c in configs]
    gp = at.AddTreeGP(problem.space, noise=noise).fit(configs, y, restarts=0)
    mean, std = gp.leave_one_out()
    for i in range(len(y)):
        without = gp.condition(configs[:i] + configs[i + 1 :], y[:i] + y[i + 1 :])
        m, s = without.predict([configs[i]])
        assert mean[i] == pytest.approx(m[0], rel=1e-5, abs=1e-6)
        of_value = math.hypot(s[0], gp.scale * math.sqrt(gp.hyperparameters.noise))  # noise included
        assert std[i] == pytest.approx(of_value, rel=1e-4, abs=1e-6)


def test_condition_on_the_same_is_the_same_and_leaves_the_model_alone() -> None:
    gp, configs, y = fitted(synthetic(), 20)
    before = gp.predict(configs[:3])
    fewer = gp.condition(configs[:10], y[:10])
    assert np.all(fewer.predict(configs[10:])[1] >= gp.predict(configs[10:])[1] - 1e-9)
    np.testing.assert_array_equal(gp.predict(configs[:3]), before)
    np.testing.assert_allclose(gp.condition(configs, y).predict(configs[:3]), before, atol=1e-6)


@given(spaces(), seeds)
def test_sums_are_predictions_and_components(space: at.Space, seed: int) -> None:
    configs = sample(space, 8, seed)
    gp = at.AddTreeGP(space).fit(configs, np.random.default_rng(seed).normal(size=8), restarts=0)
    queries = gp.posterior.covariance.rows(gp.encoding.encode(sample(space, 5, seed + 1)))
    mean, covariance = gp.posterior.sums(np.eye(5), queries)
    expected, variance = gp.posterior.predict(queries)
    np.testing.assert_allclose(mean, expected, atol=1e-7)
    np.testing.assert_allclose(np.diagonal(covariance), variance, atol=1e-7)
    weights = np.random.default_rng(seed).normal(size=(2, 5))
    np.testing.assert_allclose(gp.posterior.sums(weights, queries)[0], weights @ expected, atol=1e-6)
    np.testing.assert_allclose(
        gp.posterior.sums(weights, queries)[1], weights @ covariance @ weights.T, atol=1e-6 * np.sum(weights**2)
    )


# ---------------------------------------------------------------------- effects


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_effects_on_the_papers_function_are_the_truth(seed: int) -> None:
    problem = synthetic()
    report = build(problem.space, trials(problem.space, problem.objective, 40, seed))
    assert report.learned is not None
    for name, truth in (("r8", lambda x: x), ("x4", lambda x: x**2)):
        curve = report.learned.curves[name]
        x = truth(np.array(curve.axis.values))
        error = curve.mean - (x - curve.axis.weights @ x)
        assert np.all(np.abs(error) <= 3 * curve.std + 1e-5), name  # 99.7 %
        assert np.max(np.abs(error)) < 0.02
        assert np.max(curve.std) < 0.05
        for i, value, y in curve.points:  # no noise: every trial lies on its curve
            assert y == pytest.approx(truth(value) - curve.axis.weights @ x, abs=0.02), i


def test_the_effect_of_an_option_is_the_truth() -> None:
    problem = synthetic()
    report = build(problem.space, trials(problem.space, problem.objective, 40))
    assert report.learned is not None
    curve = report.learned.curves["x1"]  # offsets (0.1 + 0.2) / 2 against (0.3 + 0.4) / 2, r and x² alike on average
    assert curve.mean == pytest.approx([-0.1, 0.1], abs=0.005)
    assert report.learned.curves["x2"].mean == pytest.approx([-0.05, 0.05], abs=0.005)


def test_interactions_are_found_where_they_are() -> None:
    without = build(synthetic().space, trials(synthetic().space, synthetic().objective, 40))
    problem = interaction()
    with_them = build(problem.space, trials(problem.space, problem.objective, 60))
    assert without.learned is not None
    assert with_them.learned is not None
    assert without.learned.joints == ()
    found = {frozenset((j.a.name, j.b.name)) for j in with_them.learned.joints}
    assert found & {frozenset(pair) for pair in (("r8", "x4"), ("r8", "x5"), ("r9", "x6"), ("r9", "x7"))}
    joint = next(j for j in with_them.learned.joints if {j.a.name, j.b.name} <= {"r8", "x4", "r9", "x6", "x5", "x7"})
    assert joint.a.weights @ joint.mean @ joint.b.weights == pytest.approx(0, abs=1e-9)


def test_a_choice_that_turns_an_effect_round_is_an_interaction() -> None:
    space = at.Space(lr=at.Real(0, 1), opt=at.Choice(sgd=at.Space(), adam=at.Space()))

    def objective(c: dict[str, Any]) -> float:
        return float((c["lr"] - (0.1 if c["opt"] == "sgd" else 0.9)) ** 2)

    report = build(space, trials(space, objective, 30))
    assert report.learned is not None
    (joint,) = report.learned.joints
    assert {joint.a.name, joint.b.name} == {"lr", "opt"}
    assert joint.share > 0.5


# ---------------------------------------------------------------------- sums that must add up


@given(spaces(), seeds)
def test_contributions_add_up_to_the_prediction(space: at.Space, seed: int) -> None:
    configs = sample(space, 12, seed)
    gp = at.AddTreeGP(space, noise=0.01).fit(configs, [smooth(c) for c in configs], restarts=0)
    beliefs = Effects(gp, gp.encoding.encode(configs))
    for config in configs[:2]:
        expectation, parts = beliefs.contributions(config)
        assert [p.name for p in parts] == list(space.validate(config))
        total = expectation + math.fsum(p.mean for p in parts)
        assert total == pytest.approx(gp.predict([config])[0][0], abs=1e-5 * gp.scale)


@given(spaces(), seeds)
def test_shares_add_up_to_one(space: at.Space, seed: int) -> None:
    configs = sample(space, 12, seed)
    gp = at.AddTreeGP(space, noise=0.05).fit(configs, np.random.default_rng(seed).normal(size=12), restarts=0)
    beliefs = Effects(gp, gp.encoding.encode(configs))
    assert math.fsum(s.share for s in shares(beliefs)) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(beliefs.term_means.sum(axis=0), gp.posterior.means(), atol=1e-6)


@given(spaces(), st.integers(0, 5))
def test_curves_of_any_space_average_to_zero(space: at.Space, seed: int) -> None:
    configs = sample(space, 6, seed)
    gp = at.AddTreeGP(space).fit(configs, [smooth(c) for c in configs], restarts=0)
    beliefs = Effects(gp, gp.encoding.encode(configs))
    for name in space.variables:
        curve = beliefs.curve(name)
        assert curve.axis.weights @ curve.mean == pytest.approx(0, abs=1e-9 + 1e-9 * np.max(np.abs(curve.mean)))
        assert np.all(np.isfinite(curve.std))
        assert len(curve.points) == (0 if curve.axis.kind == "choice" else sum(name in c for c in configs))


# ---------------------------------------------------------------------- counting


def test_tallies_best_and_progress() -> None:
    space = at.Space(m=at.Choice(a=at.Space(x=at.Real(0, 1)), b=at.Space()))
    known = [
        Record(0, {"m": "a", "x": 0.5}, "done", 3.0),
        Record(1, {"m": "b"}, "failed", error="boom"),
        Record(2, {"m": "b"}, "done", 2.0),
        Record(3, {"m": "a"}, "failed"),  # ended before x was asked for
        Record(4, {"m": "a", "x": 0.1}, "pending"),
        Record(5, {"m": "a", "x": 0.2}, "done", 5.0),
    ]
    least, most = build(space, known), build(space, known, maximize=True)
    assert (least.best, most.best) == (known[2], known[5])
    assert [(t.tried, t.failed, t.best) for t in least.tallies] == [(6, 2, 2.0), (4, 1, 3.0), (2, 1, 2.0)]
    assert least.best_so_far == [(0, 3.0), (2, 2.0)]
    assert most.best_so_far == [(0, 3.0), (5, 5.0)]
    assert dict(least.errors) == {"boom": 1, "no message": 1}


def test_a_wild_value_does_not_drown_the_others() -> None:
    problem = synthetic()
    known = trials(problem.space, problem.objective, 40)
    known[7] = {"config": known[7]["config"], "value": 1e9}
    report = build(problem.space, known)
    assert report.learned is not None
    assert any("(1) count as" in note for note in report.notes)
    assert report.learned.curves["r9"].swing == pytest.approx(1, abs=0.5)


def test_maximizing_the_negative_is_the_mirror_image() -> None:
    problem = synthetic()
    known = trials(problem.space, problem.objective, 30)
    one = build(problem.space, known).learned
    other = build(problem.space, [{"config": t["config"], "value": -t["value"]} for t in known], maximize=True).learned
    assert one is not None
    assert other is not None
    assert one.curves["r8"].mean == pytest.approx(-other.curves["r8"].mean, abs=1e-3)


def test_many_values_are_thinned_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "_CONDITION", 40)
    monkeypatch.setattr(summary, "_FIT", 30)
    problem = synthetic()
    report = build(problem.space, trials(problem.space, problem.objective, 100))
    assert report.learned is not None
    assert report.best is not None
    assert report.notes == ("The model is conditioned on 40 of 100 values: the best, and a sample of the others.",)
    assert len(report.learned.loo.ids) == 40
    assert report.best.id in report.learned.loo.ids
    assert report.learned.best.predicted == pytest.approx(report.best.value, abs=1e-3)


@pytest.mark.parametrize(
    ("trial", "says"),
    [
        ({"config": {"x": 2.0}, "value": 1.0}, "out of bounds"),
        ({"config": {"x": 0.5}, "value": math.nan, "state": "done"}, "give a number"),
        ({"config": {"x": 0.5}, "value": 1.0, "state": "lost"}, "use one of"),
        ({"value": 1.0}, "no configuration"),
    ],
)
def test_wrong_trials_are_named(trial: dict[str, Any], says: str) -> None:
    with pytest.raises(at.AddTreeError, match=says):
        build(at.Space(x=at.Real(0, 1)), [trial])
