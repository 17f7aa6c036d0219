from dataclasses import astuple

import numpy as np
import pytest

from addtree import Choice, Real, Space
from addtree.model.fit import NOISE_FLOOR, FitSettings, Objective, fit_theta, unpack
from addtree.model.kernel_matrices import GramMatrix
from addtree.model.observations import Observations
from addtree.model.priors import Priors
from addtree.model.specification import Specification
from addtree.model.transform import TransformSettings
from addtree.problems import synthetic
from tests.strategies import COVARIANCES, build, data, differences

TREE = Space(x=Real(0, 1), c=Choice(a=Space(y=Real(0, 1)), b=Space(z=Real(0, 1))), d=Choice({1: Space(), 2: Space()}))


def objective(covariance, kind, *, std=0.0, **options):
    encoding, k = build(TREE, covariance)
    rows, y = data(encoding, k, 12, 0)
    observations = Observations(rows.X, np.exp(y), std * np.arange(12.0))
    return Objective(Specification(covariance, kind, **options), GramMatrix(k, rows), observations)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("kind", ["map", "mle"])
@pytest.mark.parametrize("transform", [None, TransformSettings()])
@pytest.mark.parametrize("std", [0.0, 0.1])
def test_gradient_by_every_hyperparameter(covariance, kind, transform, std):
    function = objective(covariance, kind, std=std, transform=transform)
    theta = function.centre + 0.3 * np.random.default_rng(1).normal(size=len(function.centre))
    theta[-2] = np.log(1e-2)  # the prior's noise is so small that differences have no digits
    if not function.learns_power:
        theta[-1] = 1.0
    value, gradient = function(theta)
    assert np.isfinite(value)
    numeric = differences(lambda t: function(t)[0], theta)
    if not function.learns_power:
        numeric[-1] = gradient[-1]  # the exponent is held at 1
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-4)


def test_prior_is_normal_with_a_common_unknown_mean():
    """v ~ N(m·1, s²·I + p²·11ᵀ) in each group: the gradient is the inverse of that, written out, times v - m."""
    function = objective("additive+interactions", "map")
    mains = np.array(function.kernel.of_kind("main"))
    m, s, p = astuple(Priors().main)
    precision = np.linalg.inv(s**2 * np.eye(len(mains)) + p**2 * np.ones((len(mains), len(mains))))
    away = np.random.default_rng(0).normal(size=len(mains))
    theta = function.prior.median.copy()
    np.testing.assert_array_equal(theta[mains], m)
    theta[mains] += away
    value, gradient = function.prior(theta)
    assert value == pytest.approx(0.5 * away @ precision @ away)
    np.testing.assert_allclose(gradient[mains], precision @ away, atol=1e-12)
    np.testing.assert_allclose(np.delete(gradient, mains), 0.0, atol=1e-12)


def test_mle_has_no_prior():
    theta = objective("additive", "mle").centre
    value_map, value_mle = (objective("additive", kind)(theta + 0.5)[0] for kind in ("map", "mle"))
    assert value_map > value_mle


@pytest.mark.parametrize("kind", ["map", "mle"])
def test_a_fit_improves_on_its_start_and_keeps_to_the_bounds(kind):
    encoding, k = build(TREE, "additive+interactions")
    rows, y = data(encoding, k, 12, 0)
    specification = Specification(inference=kind, transform=TransformSettings())
    gram, values = GramMatrix(k, rows), Observations.exact(rows.X, y)
    theta = fit_theta(specification, gram, values, settings=FitSettings(restarts=1), rng=np.random.default_rng(0))
    function = Objective(specification, gram, values)
    assert function(theta)[0] < function(function.centre)[0]
    low, high = np.array(function.bounds).T
    assert np.all((low <= theta) & (theta <= high))
    hyper = unpack(theta, k)
    np.testing.assert_allclose(hyper.amplitudes, np.exp(theta[: len(k.terms)]))
    np.testing.assert_allclose(hyper.noise, np.exp(theta[-2]))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_declared_noise_on_any_scale_of_values(scale):
    encoding, k = build(TREE, "additive+interactions")
    rows, y = data(encoding, k, 6, 0)
    values = Observations.exact(rows.X, scale * y)
    theta = fit_theta(Specification(noise=0.2), GramMatrix(k, rows), values, rng=np.random.default_rng(0))
    assert np.all(np.isfinite(theta))


def test_fits_are_reproducible():
    problem = synthetic()
    encoding, k = build(problem.space, "additive+interactions")
    X = encoding.sample(20, np.random.default_rng(0))
    rows, y = k.rows(X), np.array([problem.objective(encoding.decode(row)) for row in X])
    values = Observations.exact(X, y)
    found = [fit_theta(Specification(), GramMatrix(k, rows), values, rng=np.random.default_rng(5)) for _ in range(2)]
    np.testing.assert_array_equal(found[0], found[1])


def test_a_refit_leaves_the_lower_bound_of_the_noise():
    """Noisy values are followed exactly by a short lengthscale; a descent from there alone never finds the noise."""
    encoding, k = build(Space(x=Real(0, 1)), "additive+interactions")
    rng = np.random.default_rng(0)
    X = encoding.sample(60, rng)
    values = Observations.exact(X, (X[:, 0] - 0.3) ** 2 + 0.3 * rng.normal(size=60))
    specification, gram = Specification(), GramMatrix(k, k.rows(X))
    T = len(k.terms)
    stuck = np.concatenate([np.zeros(T), np.full(k.n_scales, np.log(0.02)), [np.log(NOISE_FLOOR), 1.0]])
    warm, fresh = (fit_theta(specification, gram, values, start=stuck, fresh=fresh, rng=rng) for fresh in (False, True))
    assert np.exp(warm[-2]) < 1e-3
    assert np.sqrt(np.exp(fresh[-2])) * np.std(values.y) == pytest.approx(0.3, rel=0.2)


def test_noise_is_not_invented():
    problem = synthetic()
    encoding, k = build(problem.space, "additive+interactions")
    X = encoding.sample(40, np.random.default_rng(0))
    values = Observations.exact(X, np.array([problem.objective(encoding.decode(row)) for row in X]))
    theta = fit_theta(Specification(), GramMatrix(k, k.rows(X)), values, rng=np.random.default_rng(0))
    assert np.exp(theta[-2]) < 1e-9
