"""Draws of the hyperparameters against distributions that are known, and mixtures against their definition."""

import logging
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student_t

from addtree.model.fit import Objective, fit_theta
from addtree.model.kernel_matrices import GramMatrix
from addtree.model.marginal import (
    LOCAL_FACTORS,
    ChainSettings,
    Mixture,
    draw_theta,
    hessian_times,
    marginalize,
    pool,
)
from addtree.model.observations import Observations
from addtree.model.priors import LogPrior, Priors
from addtree.model.specification import Specification
from addtree.model.surrogate import Surrogate
from addtree.problems import synthetic
from tests.strategies import sample, seeds

SPACE = synthetic().space


def training(n, noise=0.0):
    configs = sample(SPACE, n, 0)
    y = np.array([synthetic().objective(c) for c in configs])
    return SPACE.encoding.encode(configs), y + noise * np.random.default_rng(0).normal(size=n)


def make_objective(n=14, **options):
    specification = Specification(**options)
    kernel = specification.make_kernel(SPACE.encoding)
    data = Observations.exact(*training(n, noise=0.1))
    gram = GramMatrix(kernel, kernel.rows(data.X))
    return Objective(specification, gram, data), fit_theta(specification, gram, data, rng=np.random.default_rng(0))


def group(name, size):
    """A prior of `size` hyperparameters that all belong to one group."""
    return LogPrior(Priors(), [name] * size)


@dataclass
class Normal:
    """A posterior that is exactly normal: the prior times a normal likelihood with this precision, around its mode."""

    mode: np.ndarray
    precision: np.ndarray
    prior: LogPrior
    bounds: list = field(default_factory=list)

    def __call__(self, theta):
        move = theta - self.mode
        return 0.5 * move @ self.precision @ move, self.precision @ move


def normal(size, bound=1e6):
    prior = group("lengthscale", size)
    direction = np.linspace(1.0, 2.0, size)
    prior_precision = np.array([prior(prior.median + unit)[1] for unit in np.eye(size)])
    precision = prior_precision + 30.0 * np.outer(direction, direction)
    return Normal(prior.median.copy(), precision, prior, [(m - bound, m + bound) for m in prior.median])


# ---------------------------------------------------------------------- draws


def test_the_hessian_equals_second_differences_of_the_objective():
    objective, theta = make_objective(noise=0.1)
    theta = theta + 0.2 * np.random.default_rng(1).normal(size=len(theta))
    theta[-2:] = np.log(1e-2), 1.0
    found, step = hessian_times(objective, theta, np.eye(len(theta))), 1e-3
    np.testing.assert_allclose(found, found.T, rtol=1e-2, atol=1e-2)
    for i in range(0, len(theta) - 2, 5):
        move = step * np.eye(len(theta))[i]
        values = [objective(theta + sign * move)[0] for sign in (-1, 0, 1)]
        assert found[i, i] == pytest.approx((values[0] - 2 * values[1] + values[2]) / step**2, rel=1e-2, abs=1e-3)
    direction = np.random.default_rng(2).normal(size=(len(theta), 2))
    np.testing.assert_allclose(hessian_times(objective, theta, direction), found @ direction, rtol=1e-2, atol=0.05)


# Fewer and more hyperparameters than the directions of the Hessian; steps so long that many paths must be rejected.
@pytest.mark.parametrize(("size", "step"), [(3, 0.4), (40, 0.4), (3, 1.2)])
def test_draws_have_the_distribution_of_the_posterior(size, step):
    target = normal(size)
    settings = ChainSettings(draws=4000, thinning=1, step=step, acceptance=0.0)
    draws = draw_theta(target, target.mode, settings, np.random.default_rng(0))
    covariance = np.linalg.inv(target.precision)
    scale = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((draws.mean(axis=0) - target.mode) / scale, 0.0, atol=0.15)
    np.testing.assert_allclose(np.cov(draws.T) / np.outer(scale, scale), covariance / np.outer(scale, scale), atol=0.15)


def test_draws_stay_within_the_bounds():
    target = normal(3, bound=0.1)
    draws = draw_theta(target, target.mode, ChainSettings(), np.random.default_rng(0))
    assert np.all(np.abs(draws - target.mode) <= 0.1 + 1e-12)
    assert len(np.unique(draws[:, 0])) > 2


def test_fixed_hyperparameters_are_not_drawn_and_the_same_seed_gives_the_same_draws():
    objective, theta = make_objective(noise=0.1)
    one, other = (draw_theta(objective, theta, ChainSettings(draws=5), np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert one.shape == (5, len(theta))
    np.testing.assert_array_equal(one[:, -2:], np.tile(theta[-2:], (5, 1)))  # declared noise, no power transform
    assert np.all(np.std(one[:, :-2], axis=0) > 0)
    low, high = np.array(objective.bounds).T
    assert np.all((one >= low) & (one <= high))


def test_the_mode_is_used_alone_if_nothing_can_be_computed(caplog):
    target = normal(2)
    target.precision = np.full((2, 2), np.nan)
    with caplog.at_level(logging.WARNING, logger="addtree"):
        draws = draw_theta(target, target.mode, ChainSettings(draws=3), np.random.default_rng(0))
    np.testing.assert_array_equal(draws, np.tile(target.mode, (3, 1)))
    assert "most probable ones" in caplog.text


def test_members_are_surrogates_with_their_own_hyperparameters():
    data = Observations.exact(*training(12))
    specification = Specification()
    rng = np.random.default_rng(0)
    surrogate = Surrogate.fit(specification, specification.make_kernel(SPACE.encoding), data, rng=rng)
    for member in marginalize(surrogate, data, settings=ChainSettings(draws=3), rng=rng):
        again = surrogate.with_data(data, theta=member.theta)
        np.testing.assert_array_equal(member.predict(data.X), again.predict(data.X))
        assert not np.array_equal(member.theta, surrogate.theta)


# ---------------------------------------------------------------------- mixtures


def test_a_mixture_of_equal_parts_is_one_of_them():
    mean, variance = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    mixture = Mixture(np.tile(mean, (4, 1)), np.tile(variance, (4, 1)))
    np.testing.assert_allclose(mixture.moments(), (mean, variance))
    for probability in (0.025, 0.5, 0.9):
        np.testing.assert_allclose(mixture.quantile(probability), norm.ppf(probability, mean, np.sqrt(variance)))


@given(seeds, st.floats(0.01, 0.99))
def test_quantiles_invert_the_distribution_function(seed, probability):
    rng = np.random.default_rng(seed)
    mixture = Mixture(rng.normal(size=(5, 3)), rng.uniform(0.01, 4.0, size=(5, 3)))
    below = norm.cdf(mixture.quantile(probability), mixture.mean, np.sqrt(mixture.variance)).mean(axis=0)
    np.testing.assert_allclose(below, probability, atol=1e-9)


def test_moments_are_those_of_a_sample():
    rng = np.random.default_rng(0)
    mixture = Mixture(rng.normal(size=(3, 2)), rng.uniform(0.1, 1.0, size=(3, 2)))
    values = mixture.mean[:, None] + np.sqrt(mixture.variance)[:, None] * rng.normal(size=(3, 100_000, 2))
    mean, variance = mixture.moments()
    np.testing.assert_allclose(mean, values.mean(axis=(0, 1)), atol=0.01)
    np.testing.assert_allclose(variance, values.var(axis=(0, 1)), rtol=0.02)


def test_pooled_vectors_have_the_moments_of_their_entries():
    rng = np.random.default_rng(0)
    means, roots = rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 3))
    covariances = roots @ roots.transpose(0, 2, 1)
    mean, covariance = pool(means, covariances)
    expected = Mixture(means, np.diagonal(covariances, axis1=1, axis2=2)).moments()
    np.testing.assert_allclose((mean, np.diagonal(covariance)), expected)
    contrast = np.array([1.0, -1.0, 0.0])  # a sum of entries is a mixture too
    alone = Mixture((means @ contrast)[:, None], (contrast @ covariances @ contrast)[:, None]).moments()
    assert contrast @ covariance @ contrast == pytest.approx(alone[1][0])


def test_the_factors_make_a_normal_distribution_a_student_t_distribution():
    factors = np.array(LOCAL_FACTORS)
    mixture = Mixture(np.zeros((len(factors), 1)), factors[:, None])
    for probability in (0.75, 0.95, 0.975):
        assert mixture.quantile(probability)[0] == pytest.approx(student_t.ppf(probability, 6), rel=0.05)


def test_a_quantile_without_variance_is_the_value():
    mixture = Mixture(np.array([[2.0], [2.0]]), np.zeros((2, 1)))
    assert mixture.quantile(0.9) == pytest.approx(2.0)
