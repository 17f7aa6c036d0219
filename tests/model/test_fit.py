import numpy as np
import pytest

from addtree import Choice, Real, Space
from addtree.errors import OptionError
from addtree.model.fit import NOISE_FLOOR, PRIOR, Specification, _Objective, fit, restore
from addtree.model.kernel_matrices import GramMatrix
from addtree.problems import synthetic
from tests.strategies import COVARIANCES, build, data, differences

TREE = Space(x=Real(0, 1), c=Choice(a=Space(y=Real(0, 1)), b=Space(z=Real(0, 1))), d=Choice({1: Space(), 2: Space()}))


def objective(covariance, kind, **options):
    encoding, k = build(TREE, covariance)
    rows, y = data(encoding, k, 12, 0)
    return _Objective(Specification(covariance, kind, **options), GramMatrix(k, rows), np.exp(y))


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("kind", ["map", "mle"])
@pytest.mark.parametrize("warp", [False, True])
def test_gradient_by_every_hyperparameter(covariance, kind, warp):
    function = objective(covariance, kind, warp=warp)
    theta = function.centre + 0.3 * np.random.default_rng(1).normal(size=len(function.centre))
    theta[-2] = np.log(1e-2)  # the prior's noise is so small that differences have no digits
    if not function.warp:
        theta[-1] = 1.0
    value, gradient = function(theta)
    assert np.isfinite(value)
    numeric = differences(lambda t: function(t)[0], theta)
    if not function.warp:
        numeric[-1] = gradient[-1]  # the exponent is held at 1
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-4)


def test_prior_is_normal_with_a_common_unknown_mean():
    """v ~ N(m·1, s²·I + p²·11ᵀ) in each group: the gradient is the inverse of that, written out, times v - m."""
    function = objective("additive+interactions", "map")
    mains = np.array(function.covariance.of_kind("main"))
    m, s, p = PRIOR["main"]
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
    recipe = Specification(inference=kind, warp=True)
    fitted = fit(recipe, GramMatrix(k, rows), y, restarts=1, rng=np.random.default_rng(0))
    function = _Objective(recipe, GramMatrix(k, rows), y)
    assert function(fitted.theta)[0] < function(function.centre)[0]
    low, high = np.array(function.bounds).T
    assert np.all((low <= fitted.theta) & (fitted.theta <= high))
    np.testing.assert_allclose(fitted.hyper.amplitudes, np.exp(fitted.theta[: len(k.terms)]))


def test_restore_gives_the_fit_again():
    encoding, k = build(TREE, "additive+interactions")
    rows, y = data(encoding, k, 12, 0)
    recipe = Specification(warp=True)
    fitted = fit(recipe, GramMatrix(k, rows), y, restarts=0, rng=np.random.default_rng(0))
    again = restore(recipe, k, y, fitted.theta)
    assert again.output == fitted.output
    np.testing.assert_array_equal(again.hyper.amplitudes, fitted.hyper.amplitudes)
    np.testing.assert_array_equal(again.hyper.lengthscales, fitted.hyper.lengthscales)
    assert again.hyper.noise == fitted.hyper.noise


def test_declared_noise_is_held():
    encoding, k = build(TREE, "additive+interactions")
    rows, y = data(encoding, k, 12, 0)
    fitted = fit(Specification(noise=0.2), GramMatrix(k, rows), y, restarts=0, rng=np.random.default_rng(0))
    assert np.sqrt(fitted.hyper.noise) * fitted.output.scale == pytest.approx(0.2)
    exact = fit(Specification(noise=0), GramMatrix(k, rows), y, restarts=0, rng=np.random.default_rng(0))
    assert exact.hyper.noise == pytest.approx(NOISE_FLOOR)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_declared_noise_on_any_scale_of_values(scale):
    encoding, k = build(TREE, "additive+interactions")
    rows, y = data(encoding, k, 6, 0)
    fitted = fit(Specification(noise=0.2), GramMatrix(k, rows), scale * y, restarts=0, rng=np.random.default_rng(0))
    assert np.all(np.isfinite(fitted.theta))


def test_the_papers_covariance_is_neither_centred_nor_warped():
    recipe = Specification("additive", "mle", warp=True)
    assert not recipe.warps
    encoding, k = build(TREE, "additive")
    rows, y = data(encoding, k, 10, 0)
    fitted = fit(recipe, GramMatrix(k, rows), y + 5.0, restarts=0, rng=np.random.default_rng(0))
    assert (fitted.output.centre, fitted.output.power) == (0.0, 1.0)


def test_fits_are_reproducible():
    problem = synthetic()
    encoding, k = build(problem.space, "additive+interactions")
    X = encoding.sample(20, np.random.default_rng(0))
    rows, y = k.rows(X), np.array([problem.objective(encoding.decode(row)) for row in X])
    found = [fit(Specification(), GramMatrix(k, rows), y, rng=np.random.default_rng(5)).theta for _ in range(2)]
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"covariance": "rbf"}, ["'rbf'", "'additive'", "use one of"]),
        ({"inference": "mcmc"}, ["'mcmc'", "'map', 'mle'"]),
        ({"noise": -1.0}, ["-1.0", "standard deviation", "None"]),
        ({"noise": float("nan")}, ["nan", "standard deviation"]),
        ({"noise": "low"}, ["'low'", "standard deviation"]),
    ],
)
def test_options_that_cannot_work_say_what_would(options, words):
    with pytest.raises(OptionError) as caught:
        Specification(**options)
    for word in words:
        assert word in str(caught.value)
