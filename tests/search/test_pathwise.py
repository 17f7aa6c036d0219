import numpy as np
import pytest

from addtree import Categorical, Choice, Real, Space
from addtree.model.gp import Posterior
from addtree.model.kernel import Hyperparameters
from addtree.search.pathwise import SamplePath, SamplePaths
from tests.strategies import COVARIANCES, build, data

SPACE = Space(
    x=Real(0, 1),
    m=Categorical(["p", "q"]),
    c=Choice(a=Space(y=Real(0, 1)), b=Space()),
    d=Choice({1: Space(z=Real(0, 1)), 2: Space()}),
)
DRAWS = 400


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_many_draws_have_the_moments_of_the_posterior(covariance):
    encoding, k = build(SPACE, covariance)
    rows, z = data(encoding, k, 6, 0)
    hyper = Hyperparameters(np.linspace(0.5, 1.5, len(k.terms)), np.full(k.n_scales, 0.4), 0.05)
    posterior = Posterior.from_data(k, hyper, rows, z)
    queries = k.rows(encoding.sample(12, np.random.default_rng(2)))
    rng = np.random.default_rng(3)
    draws = np.array([SamplePath(posterior, rng).predict(queries)[0] for _ in range(DRAWS)])
    mean, variance = posterior.predict(queries)
    away = (draws.mean(axis=0) - mean) / np.sqrt(variance / DRAWS)
    assert np.max(np.abs(away)) < 4.5
    assert np.sqrt(np.mean(away**2)) < 2.5
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.3)
    assert np.mean(draws.var(axis=0) / variance) == pytest.approx(1.0, abs=0.1)


def test_a_draw_goes_through_data_without_noise_and_is_reproducible():
    encoding, k = build(SPACE, "additive+interactions")
    rows, z = data(encoding, k, 6, 0)
    hyper = Hyperparameters(np.ones(len(k.terms)), np.full(k.n_scales, 0.4), 1e-10)
    posterior = Posterior.from_data(k, hyper, rows, z)
    one, other = (SamplePath(posterior, np.random.default_rng(5)).predict(rows) for _ in range(2))
    np.testing.assert_allclose(one[0], z, atol=1e-3)
    np.testing.assert_array_equal(one, other)
    assert not one[1].any()


def test_a_draw_of_an_additive_model_adds_up_over_terms():
    encoding, k = build(SPACE, "additive")
    rows, z = data(encoding, k, 6, 0)
    hyper = Hyperparameters(np.ones(len(k.terms)), np.full(k.n_scales, 0.4), 1e-2)
    path = SamplePath(Posterior.from_data(k, hyper, rows, z), np.random.default_rng(5))
    X = encoding.sample(8, np.random.default_rng(6))
    whole = k.rows(X)
    total = np.zeros(8)
    for t in range(len(k.terms)):
        counted = np.zeros_like(whole.active)
        counted[:, t] = whole.active[:, t]
        total += path.moments(X, counted)(X)[0]
    np.testing.assert_allclose(total, path.predict(whole)[0], atol=1e-6)


def shared_posterior(covariance):
    encoding, k = build(SPACE, covariance)
    rows, z = data(encoding, k, 6, 0)
    hyper = Hyperparameters(np.linspace(0.5, 1.5, len(k.terms)), np.full(k.n_scales, 0.4), 1.0)
    return encoding, Posterior.from_data(k, hyper, rows, z)


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_draws_that_share_their_cosines_have_the_moments_of_the_posterior(covariance):
    encoding, posterior = shared_posterior(covariance)
    elsewhere = posterior.kernel.rows(encoding.sample(12, np.random.default_rng(2)))
    paths = SamplePaths(posterior, DRAWS, np.random.default_rng(3))
    for queries in (posterior.rows, elsewhere):
        draws, m = paths.values(queries), len(queries)
        mean, expected = posterior.sums(np.eye(m), queries)
        variance = np.diagonal(expected)
        assert np.max(np.abs(draws.mean(axis=1) - mean) / np.sqrt(variance / DRAWS)) < 4.5
        assert np.mean(draws.var(axis=1) / variance) == pytest.approx(1.0, abs=0.1)
        np.testing.assert_allclose(np.cov(draws), expected, atol=0.25 * variance.max())


def test_student_draws_keep_the_mean_and_exact_observations_and_vary_more():
    encoding, k = build(SPACE, COVARIANCES[0])
    rows, z = data(encoding, k, 6, 0)
    hyper = Hyperparameters(np.linspace(0.5, 1.5, len(k.terms)), np.full(k.n_scales, 0.4), 1e-12)
    posterior = Posterior.from_data(k, hyper, rows, z)
    queries = k.rows(encoding.sample(12, np.random.default_rng(2)))
    paths = SamplePaths(posterior, 10 * DRAWS, np.random.default_rng(3), freedom=6.0)
    np.testing.assert_allclose(paths.values(rows), np.tile(z[:, None], 10 * DRAWS), atol=1e-3)
    mean, variance = posterior.predict(queries)
    apart = (paths.values(queries) - mean[:, None]) / np.sqrt(variance)[:, None]
    np.testing.assert_allclose(apart.mean(axis=1), 0.0, atol=0.12)
    assert np.mean(apart**2) == pytest.approx(6.0 / (6.0 - 2.0), rel=0.15)  # the variance of Student's t
    assert np.mean(np.abs(apart) > 3.707) == pytest.approx(0.01, abs=0.004)  # its 99 % interval


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_each_moving_point_follows_its_own_draw(covariance):
    encoding, posterior = shared_posterior(covariance)
    X, draw = np.repeat(encoding.sample(5, np.random.default_rng(2)), 2, axis=0), np.arange(10) % 4
    paths = SamplePaths(posterior, 4, np.random.default_rng(3))
    function = paths.functions(X, draw)
    value, gradient = function(X)
    np.testing.assert_allclose(value, paths.values(posterior.kernel.rows(X))[np.arange(10), draw], atol=1e-9)
    for j in np.flatnonzero(encoding.is_numeric):
        step = 1e-6 * (np.arange(X.shape[1]) == j)
        difference = (function(X + step)[0] - function(X - step)[0]) / 2e-6
        on = ~np.isnan(X[:, j])
        np.testing.assert_allclose(gradient()[on, j], difference[on], rtol=1e-4, atol=1e-5)
