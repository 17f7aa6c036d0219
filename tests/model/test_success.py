"""The probability of success: expectation propagation against quadrature, and what the model expresses."""

from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr

import addtree as at
from addtree.model.kernel_matrices import CrossCovariance, GramMatrix
from addtree.model.specification import Specification
from addtree.model.success import SuccessModel, SuccessObjective, SuccessSettings, propagate, unpack

SPACE = at.Space(
    units=at.Real(0, 1),
    depth=at.Real(0, 1),
    model=at.Choice(a=at.Space(x=at.Real(0, 1)), b=at.Space(y=at.Real(0, 1)), c=at.Space()),
)
ENCODING = SPACE.encoding
KERNEL = Specification().make_kernel(ENCODING)
EXACT = SuccessSettings(tolerance=1e-10, sweeps=1000)
RNG = np.random.default_rng(0)


def column(X, name):
    return X[:, ENCODING.index[name]]


def quadrature(K, cross, prior, t, mean, nodes=48):
    """The marginal likelihood of outcomes, and the probability of success elsewhere, by Gauss-Hermite quadrature."""
    u, w = np.polynomial.hermite_e.hermegauss(nodes)
    U, W = np.array(list(product(u, repeat=len(K)))), np.prod(list(product(w, repeat=len(K))), axis=1)
    G = U @ np.linalg.cholesky(K).T
    weights = W / W.sum() * np.prod(ndtr(t * (mean + G)), axis=1)
    reduced = np.linalg.solve(K, cross)
    elsewhere = ndtr((mean + G @ reduced) / np.sqrt(1.0 + prior - cross @ reduced))
    return weights.sum(), weights @ elsewhere / weights.sum()


@pytest.mark.parametrize(("outcomes", "mean"), [((1, -1, 1), 0.7), ((-1, -1, -1), 0.7), ((1, 1, -1), -0.5)])
def test_likelihood_and_prediction_equal_quadrature(outcomes, mean):
    X, t = ENCODING.sample(4, np.random.default_rng(1)), np.array(outcomes, dtype=float)
    rows = KERNEL.rows(X[:3])
    objective = SuccessObjective(GramMatrix(KERNEL, rows), t, EXACT)
    theta = np.append(
        objective.centre[:-1] + np.append(np.full(len(KERNEL.terms), 0.5), np.zeros(KERNEL.n_scales)), mean
    )
    hyper, _ = unpack(theta, KERNEL)
    K = GramMatrix(KERNEL, rows).value(hyper)
    query = KERNEL.rows(X[3:])
    cross = CrossCovariance(KERNEL, hyper, rows).value(query)[0]
    evidence, probability = quadrature(K, cross, KERNEL.variance(hyper, query.basis)[0], t, mean)
    score, _ = objective(theta)
    penalty, _ = objective.prior(theta)
    assert penalty - score == pytest.approx(np.log(evidence), abs=3e-3)
    model = SuccessModel.condition(KERNEL, theta, X[:3], t > 0, settings=EXACT)
    assert model.probability(X[3:])[0] == pytest.approx(probability, abs=3e-3)


def test_a_single_outcome_is_exact():
    mean, variance = 0.4, 2.0
    sites = propagate(np.array([[variance]]), np.array([-1.0]), mean, EXACT)
    g = np.linspace(-15, 15, 20001)
    density = np.exp(-0.5 * g**2 / variance) * ndtr(-(mean + g))
    density /= density.sum()
    gain = variance / (variance + sites.variance[0])
    assert gain * (sites.mean[0] - mean) == pytest.approx(density @ g, abs=1e-6)
    assert variance * (1 - gain) == pytest.approx(density @ g**2 - (density @ g) ** 2, abs=1e-6)


def test_gradient_of_the_score():
    X = ENCODING.sample(25, np.random.default_rng(2))
    t = np.where((column(X, "units") > 0.5) & (column(X, "depth") > 0.5), -1.0, 1.0)
    objective = SuccessObjective(GramMatrix(KERNEL, KERNEL.rows(X)), t, EXACT)
    theta = objective.centre + 0.3 * np.random.default_rng(3).normal(size=len(objective.centre))
    _, gradient = objective(theta)
    step = 1e-5
    numeric = [
        (objective(theta + step * e)[0] - objective(theta - step * e)[0]) / (2 * step) for e in np.eye(len(theta))
    ]
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)


def test_many_equal_rows_converge():
    X = np.repeat(ENCODING.sample(2, np.random.default_rng(4)), 60, axis=0)
    succeeded = np.repeat([True, False], 60)
    probability = SuccessModel.fit(KERNEL, X, succeeded).probability(X[[0, -1]])
    assert probability[0] > 0.97
    assert probability[1] < 0.03


def separated(fails, n, seed=0):
    """Mean probability of success where evaluations succeed and where they fail, learned from n random rows."""
    rng = np.random.default_rng(seed)
    X, other = ENCODING.sample(n, rng), ENCODING.sample(1000, rng)
    probability = SuccessModel.fit(KERNEL, X, ~fails(X)).probability(other)
    return probability[~fails(other)].mean(), probability[fails(other)].mean()


def test_a_branch_that_always_fails_is_learned_from_few_rows():
    inside, outside = separated(lambda X: column(X, "model") == 1, 15)
    assert inside > 0.8
    assert outside < 0.3


def test_thresholds_of_one_and_of_two_numbers_are_learned():
    inside, outside = separated(lambda X: column(X, "units") > 0.6, 40)
    assert inside > 0.85
    assert outside < 0.2
    inside, outside = separated(lambda X: (column(X, "units") > 0.5) & (column(X, "depth") > 0.5), 60)
    assert inside > 0.8
    assert outside < 0.4


def test_failures_at_random_close_no_region():
    rng = np.random.default_rng(0)
    X = ENCODING.sample(60, rng)
    probability = SuccessModel.fit(KERNEL, X, rng.random(60) > 0.2).probability(ENCODING.sample(1000, rng))
    assert probability.min() > 0.4
    assert probability.mean() == pytest.approx(0.8, abs=0.1)


def test_one_accident_does_not_close_its_place():
    X = ENCODING.sample(20, np.random.default_rng(0))
    model = SuccessModel.fit(KERNEL, X, np.arange(20) != 7)
    assert model.probability(X[7:8])[0] > 0.4
    assert model.probability(X).mean() > 0.85


def test_an_earlier_model_only_saves_work():
    X = ENCODING.sample(34, np.random.default_rng(5))
    succeeded = column(X, "units") < 0.7
    last = None
    for n in range(5, 35):
        last = SuccessModel.fit(KERNEL, X[:n], succeeded[:n], last=last)
    anew = SuccessModel.fit(KERNEL, X, succeeded)
    np.testing.assert_array_equal(anew.probability(X), last.probability(X))
    assert anew.n_fitted == 33


def test_pending_rows_reduce_the_variance_only():
    X = ENCODING.sample(20, np.random.default_rng(6))
    model = SuccessModel.fit(KERNEL, X[:18], column(X[:18], "units") < 0.7)
    expected = model.with_pending(X[18:])
    rows = KERNEL.rows(X)
    (mean, variance), (same, less) = (m.posterior.predict(rows) for m in (model, expected))
    np.testing.assert_allclose(mean, same, atol=1e-8)
    assert np.all(less <= variance + 1e-9)
    assert np.all(less[18:] < variance[18:])


def test_many_outcomes_are_thinned():
    X = ENCODING.sample(700, np.random.default_rng(7))
    model = SuccessModel.fit(KERNEL, X, column(X, "units") < 0.7, settings=SuccessSettings(max_rows=64, iterations=3))
    assert len(model.posterior.z) == 64
