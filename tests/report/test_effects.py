"""Effects, against the truth and against brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import addtree as at
from addtree.problems import interaction, synthetic
from addtree.report import build
from addtree.report.axes import make_axis
from addtree.report.effects import Effects
from tests.report.cases import effects_of, evaluated, fitted, paper_report, smooth
from tests.strategies import sample, seeds, spaces

# ---------------------------------------------------------------------- what the model provides


@pytest.mark.parametrize("noise", [None, 0.1])
def test_leave_one_out_equals_conditioning_without_each_observation(noise: float | None) -> None:
    problem = interaction()
    configs = sample(problem.space, 18, 3)
    y = [problem.objective(c) for c in configs]
    gp = at.AddTreeGP(problem.space, noise=noise).fit(configs, y, restarts=0)
    mean, std = gp.leave_one_out()
    for i in range(len(y)):
        without = gp.condition(configs[:i] + configs[i + 1 :], y[:i] + y[i + 1 :])
        m, s = without.predict([configs[i]], observed=True)
        assert mean[i] == pytest.approx(m[0], rel=1e-5, abs=1e-6)
        assert std[i] == pytest.approx(s[0], rel=1e-4, abs=1e-6)


def test_conditioning_on_the_same_data_gives_the_same_model_and_leaves_the_old_one_alone() -> None:
    gp, configs, y = fitted(synthetic(), 20)
    before = gp.predict(configs[:3])
    fewer = gp.condition(configs[:10], y[:10])
    assert np.all(fewer.predict(configs[10:])[1] >= gp.predict(configs[10:])[1] - 1e-9)
    np.testing.assert_array_equal(gp.predict(configs[:3]), before)
    np.testing.assert_allclose(gp.condition(configs, y).predict(configs[:3]), before, atol=1e-6)


@given(spaces(), seeds)
def test_sums_agree_with_predictions(space: at.Space, seed: int) -> None:
    values = iter(np.random.default_rng(seed).normal(size=8))
    effects, _ = effects_of(space, lambda _: next(values), 8, seed)
    posterior = effects.posterior
    queries = effects.kernel.rows(effects.encoding.encode(sample(space, 5, seed + 1)))
    mean, covariance = posterior.sums(np.eye(5), queries)
    expected, variance = posterior.predict(queries)
    np.testing.assert_allclose(mean, expected, atol=1e-7)
    np.testing.assert_allclose(np.diagonal(covariance), variance, atol=1e-7)
    weights = np.random.default_rng(seed).normal(size=(2, 5))
    mean, combined = posterior.sums(weights, queries)
    np.testing.assert_allclose(mean, weights @ expected, atol=1e-6)
    np.testing.assert_allclose(combined, weights @ covariance @ weights.T, atol=1e-6 * np.sum(weights**2))


# ---------------------------------------------------------------------- the truth


@pytest.mark.parametrize("seed", [1, 2])
def test_effects_on_the_papers_function_are_the_truth(seed: int) -> None:
    problem = synthetic()
    report = build(problem.space, evaluated(problem.space, problem.objective, 40, seed))
    assert report.learned is not None
    for name, truth in (("r8", lambda x: x), ("x4", lambda x: x**2)):
        curve = report.learned.curves[name]
        x = truth(np.array(curve.axis.values))
        error = curve.mean - (x - curve.axis.weights @ x)
        assert np.all(np.abs(error) <= 3 * curve.std + 1e-5), name  # 99.7 %
        assert np.max(np.abs(error)) < 0.02
        assert np.max(curve.std) < 0.05
        np.testing.assert_allclose(curve.margin, 1.96 * curve.std)
        for i, value, residual in curve.partial_residuals:  # without noise, every trial lies on its curve
            assert residual == pytest.approx(truth(value) - curve.axis.weights @ x, abs=0.02), i


def test_the_effect_of_an_option_is_the_truth() -> None:
    report = paper_report(40)
    assert report.learned is not None
    curve = report.learned.curves["x1"]  # offsets (0.1 + 0.2) / 2 and (0.3 + 0.4) / 2; the rest is equal on average
    assert curve.mean == pytest.approx([-0.1, 0.1], abs=0.005)
    assert report.learned.curves["x2"].mean == pytest.approx([-0.05, 0.05], abs=0.005)


def test_a_curve_averages_over_the_draws_of_the_hyperparameters() -> None:
    space = at.Space(c=at.Choice(a=at.Space(), b=at.Space()))
    configs = [{"c": option} for option in "aab"]
    gp = at.AddTreeGP(space).fit(configs, [0.0, 0.3, 1.0], draws=5)
    rows = gp.posterior.kernel.rows(gp.encoding.encode([{"c": "a"}, {"c": "b"}]))
    found = [posterior.sums(np.array([[0.5, -0.5]]), rows) for posterior in gp.posteriors]
    means, variances = np.array([mean[0] for mean, _ in found]), np.array([float(cov[0, 0]) for _, cov in found])
    curve = Effects(gp, gp.encoding.encode(configs)).curve("c")
    assert curve.mean[0] == pytest.approx(gp.scale * np.mean(means))
    expected = np.mean(gp.local_factors) * np.mean(variances) + np.var(means)
    assert curve.std[0] == pytest.approx(gp.scale * np.sqrt(expected))


# ---------------------------------------------------------------------- identities


@given(spaces(), seeds)
def test_contributions_add_up_to_the_prediction(space: at.Space, seed: int) -> None:
    effects, configs = effects_of(space, smooth, 12, seed, noise=0.01)
    for config in configs[:2]:
        expectation, parts = effects.contributions(config)
        assert [p.name for p in parts] == [name for name in space.validate(config) if name in effects.encoding.index]
        total = expectation + math.fsum(p.mean for p in parts)
        assert total == pytest.approx(effects.gp.predict([config])[0][0], abs=1e-5 * effects.gp.scale)


@given(spaces(), st.integers(0, 5))
def test_curves_average_to_zero(space: at.Space, seed: int) -> None:
    effects, configs = effects_of(space, smooth, 6, seed)
    for name in effects.encoding.names:
        curve = effects.curve(name)
        assert curve.axis.weights @ curve.mean == pytest.approx(0, abs=1e-9 + 1e-9 * np.max(np.abs(curve.mean)))
        assert np.all(np.isfinite(curve.std))
        assert curve.n_active == sum(name in c for c in configs)
        assert len(curve.partial_residuals) == (0 if curve.axis.kind == "choice" else curve.n_active)


@given(spaces(), st.integers(0, 5))
def test_partial_residuals_are_values_minus_averaged_predictions(space: at.Space, seed: int) -> None:
    effects, configs = effects_of(space, smooth, 6, seed, noise=0.1)
    for name in effects.encoding.names:
        domain = space.variables[name]
        if isinstance(domain, at.Choice) or name in space.tree.cells:
            continue
        axis = make_axis(effects.encoding, name, positions=5)
        for i, value, residual in effects.curve(name).partial_residuals:
            assert value == pytest.approx(configs[i][name]) if axis.is_number else value == configs[i][name]
            moved = [{**configs[i], name: v} for v in axis.values]
            expected = smooth(configs[i]) - axis.weights @ effects.gp.predict(moved)[0]
            assert residual == pytest.approx(expected, abs=1e-6 * max(effects.gp.scale, 1))


@given(spaces(), st.integers(0, 5))
def test_the_interaction_of_two_axes_has_no_effect_of_either(space: at.Space, seed: int) -> None:
    effects, _ = effects_of(space, smooth, 6, seed)
    axes = [make_axis(effects.encoding, name, positions=4) for name in effects.encoding.names[:3]]
    terms = np.ones(len(effects.terms), dtype=bool)
    for a, b in itertools.pairwise(axes):
        if effects.active([a.column, b.column]).any():
            joint, interaction = effects.joint_effect(a, b, terms, size=3)
            assert joint.shape == (len(a.codes), len(b.codes))
            for mean in (a.weights @ joint @ b.weights, a.weights @ interaction, interaction @ b.weights):
                np.testing.assert_allclose(mean, 0.0, atol=1e-9)
