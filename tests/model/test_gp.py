import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from addtree import Choice, Real, Space
from addtree.model.gp import Likelihood, Posterior
from addtree.model.kernel import Hyperparameters
from addtree.model.kernel_matrices import GramMatrix
from tests.strategies import build, data

FLAT = Space(x=Real(-2, 3), y=Real(1e-3, 1e2, log=True), w=Real(0, 1))


@pytest.mark.parametrize("covariance", ["additive", "independent", "additive+interactions"])
def test_a_flat_space_is_the_gp_of_scikit_learn(covariance):
    encoding, k = build(FLAT, covariance)
    rows, z = data(encoding, k, 15, 0)
    lengthscales, noise = np.array([0.3, 0.7, 1.1]), 1e-3
    amplitudes = np.array([{"main": 1.7, "path": 1.7, "interaction": 0.6}.get(term.kind, 1e-300) for term in k.terms])
    hyper = Hyperparameters(amplitudes, lengthscales, noise)  # scikit-learn has no trends
    scaled = np.sqrt(3.0) * lengthscales  # r² is divided by the number of columns
    kernel = ConstantKernel(1.7) * RBF(scaled)
    if k.of_kind("interaction"):
        kernel = kernel + ConstantKernel(0.6) * Matern(scaled, nu=2.5)
    reference = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(rows.X, z)
    queries = k.rows(encoding.sample(20, np.random.default_rng(1)))
    mean, variance = Posterior.from_data(k, hyper, rows, z).predict(queries)
    expected_mean, expected_std = reference.predict(queries.X, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(np.sqrt(variance), expected_std, rtol=1e-5, atol=1e-6)
    value = Likelihood(GramMatrix(k, rows)).value_and_gradient(hyper, z, np.full(15, noise))[0]
    assert value == pytest.approx(reference.log_marginal_likelihood_value_, rel=1e-9)


def test_the_gradient_of_the_likelihood_is_that_of_scikit_learn():
    encoding, k = build(FLAT, "additive")
    rows, z = data(encoding, k, 12, 3)
    lengthscales = np.array([0.3, 0.7, 1.1])
    kernel = ConstantKernel(1.7) * RBF(np.sqrt(3.0) * lengthscales)
    reference = GaussianProcessRegressor(kernel, alpha=1e-2, optimizer=None).fit(rows.X, z)
    _, gradient = reference.log_marginal_likelihood(reference.kernel_.theta, eval_gradient=True)
    hyper = Hyperparameters(np.array([1.7]), lengthscales, 1e-2)
    _, by_amplitude, by_scale, _, _ = Likelihood(GramMatrix(k, rows)).value_and_gradient(hyper, z, np.full(12, 1e-2))
    np.testing.assert_allclose(np.concatenate([by_amplitude, by_scale]), gradient, rtol=1e-6)


def test_without_noise_the_posterior_goes_through_the_data():
    encoding, k = build(FLAT, "additive+interactions")
    rows, z = data(encoding, k, 10, 0)
    posterior = Posterior.from_data(k, Hyperparameters(np.ones(len(k.terms)), np.full(3, 0.3), 1e-10), rows, z)
    mean, variance = posterior.predict(rows)
    np.testing.assert_allclose(mean, z, atol=1e-5)
    assert np.all(variance < 1e-5)
    np.testing.assert_allclose(posterior.means(), mean, atol=1e-5)


def test_conditioning_returns_a_new_posterior():
    encoding, k = build(FLAT, "additive")
    rows, z = data(encoding, k, 6, 0)
    posterior = Posterior.from_data(k, Hyperparameters(np.ones(1), np.ones(3), 1e-4), rows[:4], z[:4])
    before = posterior.predict(rows)
    posterior.condition(rows[4:], z[4:])
    np.testing.assert_array_equal(posterior.predict(rows), before)


def test_conditioning_an_almost_singular_posterior_keeps_its_predictions():
    """What is left of the new variances may be far below zero by rounding, if it is computed from the old factor."""
    _, k = build(Space(x=Real(0, 1)), "additive")
    X, hyper = np.linspace(0, 1, 24)[:, None], Hyperparameters(np.full(1, 1e4), np.full(k.n_scales, 5.0), 1e-12)
    rows, z = k.rows(X), np.sin(3 * X[:, 0])
    posterior = Posterior.from_data(k, hyper, rows[:12], z[:12])
    for i in (12, 13, 14):
        posterior = posterior.condition(rows[i : i + 1], z[i : i + 1])
    again = posterior.condition(rows[:4], z[:4])
    mean, variance = again.predict(k.rows(X[:15] + 0.01))
    np.testing.assert_allclose(mean, np.sin(3 * (X[:15, 0] + 0.01)), atol=0.01)
    assert np.all(variance < 1e-2)


def test_conditioning_on_a_duplicate_without_noise_equals_a_posterior_from_scratch():
    """Nothing is left of the new variance, so the factor is computed anew."""
    _, k = build(Space(x=Real(0, 1)), "additive")
    rows, z = k.rows(np.full((2, 1), 0.3)), np.ones(2)
    hyper = Hyperparameters(np.ones(1), np.ones(k.n_scales), 0.0)
    appended = Posterior.from_data(k, hyper, rows[:1], z[:1]).condition(rows[1:], z[1:])
    fresh = Posterior.from_data(k, hyper, rows, z)
    queries = k.rows(np.linspace(0, 1, 5)[:, None])
    np.testing.assert_allclose(appended.predict(queries), fresh.predict(queries), atol=1e-6)


def test_a_value_in_another_block_changes_nothing():
    space = Space(c=Choice(a=Space(x=Real(0, 1)), b=Space(y=Real(0, 1))))
    encoding, k = build(space, "additive")
    configs = [{"c": "a", "x": u} for u in (0.1, 0.6)] + [{"c": "b", "y": u} for u in (0.2, 0.9)]
    rows = k.rows(encoding.encode(configs))
    hyper = Hyperparameters(np.ones(2), np.full(k.n_scales, 0.3), 1e-6)
    queries = k.rows(encoding.encode([{"c": "a", "x": 0.3}]))
    one = Posterior.from_data(k, hyper, rows, np.array([1.0, 2.0, 3.0, 4.0]))
    other = Posterior.from_data(k, hyper, rows, np.array([1.0, 2.0, -300.0, 4e5]))
    assert len(one.cholesky.blocks) == 2
    np.testing.assert_array_equal(one.predict(queries), other.predict(queries))
