"""A prior mean is the mean of another process: it adds up over terms, and its derivatives are exact."""

from dataclasses import replace

import numpy as np
import pytest

from addtree.model.gp import Posterior
from addtree.model.observations import Observations
from addtree.model.prior_mean import PriorMean
from addtree.model.specification import Specification
from addtree.model.surrogate import Surrogate
from addtree.search.pathwise import SamplePath
from tests.model.test_surrogate import problem


@pytest.fixture
def both():
    """A posterior with a prior mean, the prior mean, and rows to ask for."""
    kernel, data = problem(20)
    earlier = Surrogate.fit(Specification(), kernel, data[:12], rng=np.random.default_rng(0)).posterior
    mean = PriorMean(kernel, earlier.hyper, earlier.rows, earlier.alpha, 0.5)
    informed = replace(data[12:], prior_mean=mean)
    posterior = Surrogate.fit(Specification(), kernel, informed, rng=np.random.default_rng(0)).posterior
    return posterior, mean, earlier, problem(30)[1].X


def test_the_posterior_is_that_of_the_residuals_plus_the_prior_mean(both):
    posterior, mean, _, X = both
    residuals = posterior.z - mean.value(posterior.rows)
    plain = Posterior.from_data(posterior.kernel, posterior.hyper, posterior.rows, residuals, noise=posterior.noise)
    rows = posterior.kernel.rows(X)
    m, v = posterior.predict(rows)
    np.testing.assert_allclose(m, plain.predict(rows)[0] + mean.value(rows))
    np.testing.assert_allclose(v, plain.predict(rows)[1])
    np.testing.assert_allclose(posterior.mean(rows), m)
    np.testing.assert_allclose(posterior.joint(rows)[0], m)
    weights = np.eye(len(X))[:3]
    np.testing.assert_allclose(posterior.sums(weights, rows)[0], m[:3])
    np.testing.assert_allclose(posterior.means(), posterior.predict(posterior.rows)[0], atol=1e-8)


def test_a_prior_mean_is_the_mean_of_the_process_that_it_is_from(both):
    _, mean, earlier, X = both
    rows = earlier.kernel.rows(X)
    np.testing.assert_allclose(mean.value(rows) - 0.5, earlier.predict(rows)[0])


def test_moving_points_have_the_same_means_and_exact_gradients(both):
    posterior, _, _, X = both
    rows = posterior.kernel.rows(X)
    function = posterior.moments(X, rows.active)
    mean, _, pull_back = function(X)
    np.testing.assert_allclose(mean, posterior.predict(rows)[0], atol=1e-9)
    gradient = pull_back(np.ones(len(X)), np.zeros(len(X)))
    moves = ~np.isnan(X) & ~posterior.kernel.categorical
    for j in np.flatnonzero(moves.any(axis=0)):
        step = np.where(moves[:, [j]] & (np.arange(X.shape[1]) == j), 1e-6, 0.0)
        numeric = (function(X + step)[0] - function(X - step)[0]) / 2e-6
        np.testing.assert_allclose(gradient[moves[:, j], j], numeric[moves[:, j]], rtol=1e-4, atol=1e-5)


def test_conditioning_again_equals_conditioning_at_once(both):
    posterior, mean, _, X = both
    n = len(posterior.rows) // 2
    first, rest = posterior.rows[:n], posterior.rows[n:]
    part = Posterior.from_data(
        posterior.kernel, posterior.hyper, first, posterior.z[:n], noise=posterior.noise[:n], prior_mean=mean
    )
    again = part.condition(rest, posterior.z[n:], posterior.noise[n:])
    rows = posterior.kernel.rows(X)
    np.testing.assert_allclose(again.predict(rows), posterior.predict(rows), atol=1e-7)


def test_a_draw_has_the_prior_mean_and_goes_through_the_observations(both):
    posterior, _, _, X = both
    posterior = replace(posterior, noise=np.full_like(posterior.noise, 1e-10))
    draw = SamplePath(posterior, np.random.default_rng(0))
    np.testing.assert_allclose(draw.predict(posterior.rows)[0], posterior.z, atol=0.02)
    rows = posterior.kernel.rows(X)
    value, _, _ = draw.moments(X, rows.active)(X)
    np.testing.assert_allclose(value, draw.predict(rows)[0], atol=1e-8)


def test_a_slice_of_observations_keeps_the_prior_mean(both):
    _, mean, _, X = both
    data = Observations(X, np.zeros(len(X)), np.zeros(len(X)), mean)
    assert data[:3].prior_mean is mean
