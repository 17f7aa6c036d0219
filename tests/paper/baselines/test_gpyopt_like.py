"""The method of GPyOpt written anew: the gradient of its likelihood, and equal rows for equal points."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import addtree as at
from addtree.paper.baselines import gpyopt_like
from addtree.paper.baselines.gpyopt_like import GPyOptLike, negative_log_likelihood

SPACE = at.Space(a=at.Choice(p=at.Space(x=at.Real(-1, 1)), q=at.Space(k=at.Integer(3, 5))), y=at.Real(0, 2))


def test_likelihood_has_the_gradient_of_differences():
    rng = np.random.default_rng(0)
    X, y = rng.random((9, 4)), rng.standard_normal(9)
    D, theta = gpyopt_like._squared_distance(X, X), np.array([0.3, -0.5, -3.0])
    value, gradient = negative_log_likelihood(theta, D, y)
    K = np.exp(0.3) * np.exp(-D / (2 * np.exp(-1.0))) + np.exp(-3.0) * np.eye(9)
    naive = 0.5 * y @ np.linalg.solve(K, y) + 0.5 * np.linalg.slogdet(2 * np.pi * K)[1]
    assert value == pytest.approx(naive, rel=1e-6)
    numeric = approx_fprime(theta, lambda t: negative_log_likelihood(t, D, y)[0], 1e-6)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-4)


def test_codes_of_one_integer_have_one_row():
    codes = np.array([[1.0, 0.2, 0.3, 0.45], [1.0, 0.2, 0.3, 0.55]])  # a, y, x, k: both round to k = 4
    method = GPyOptLike(SPACE, 0)
    assert method._encoding.names == ("a", "y", "x", "k")
    one, two = method._one_hot(codes)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one, [0, 1, 0.2, 0.3, 0.5])


def test_it_finds_the_better_option():
    def objective(config):
        return config["y"] + (config["x"] ** 2 if config["a"] == "p" else 5 + config["k"])

    method, values = GPyOptLike(SPACE, 0), []
    for _ in range(14):
        config = SPACE.validate(method.ask())
        values.append(objective(config))
        method.tell(config, values[-1])
    assert min(values) < 0.1
