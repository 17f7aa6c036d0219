import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from addtree.search.acquisition import (
    beta,
    cheapness,
    log_expected_improvement,
    log_feasibility,
    log_success,
    lowest,
    ucb,
)
from tests.strategies import differences

MEAN = np.array([-1.0, 0.0, 0.3, 2.0, 5.0, 40.0])
VARIANCE = np.array([0.5, 1.0, 1e-3, 2.0, 0.2, 1.0])
ACQUISITIONS = {
    "ucb": ucb(np.array(1.3)),
    "ucb each": ucb(np.linspace(0.1, 2.0, 6)),
    "logei": log_expected_improvement(0.25),
    "lowest": lowest,
    "success": log_success(0.7),
    "cheapness": cheapness(1.7, -0.5),
    "cautious success": log_success(-0.4, 0.5, 10.0),
}


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_derivatives(name):
    acquisition = ACQUISITIONS[name]
    _, by_mean, by_variance = acquisition(MEAN, VARIANCE)
    numeric = np.diagonal(differences(lambda m: acquisition(m, VARIANCE)[0], MEAN, step=1e-6))
    np.testing.assert_allclose(by_mean, numeric, rtol=1e-5, atol=1e-8)
    numeric = np.diagonal(differences(lambda v: acquisition(MEAN, np.exp(v))[0], np.log(VARIANCE), step=1e-6))
    np.testing.assert_allclose(by_variance * VARIANCE, numeric, rtol=1e-5, atol=1e-8)


def test_log_ei_is_the_naive_formula_where_that_is_accurate():
    target, mean = 0.4, np.linspace(-6.0, 1.9, 40)
    sigma = np.linspace(0.5, 2.0, 40)
    u = (target - mean) / sigma
    naive = np.log(sigma * (norm.pdf(u) + u * norm.cdf(u)))
    np.testing.assert_allclose(log_expected_improvement(target)(mean, sigma**2)[0], naive, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("u", [-0.5, -0.999, -1.001, -5.0, -50.0, -9.99e3, -1.01e4, -1e5])
def test_log_ei_is_exact_where_the_improvement_underflows(u):
    """h(u) = φ(u) ∫ s exp(us - s²/2) ds over s > 0; with v = -us the integral is ∫ v exp(-v - v²/2u²) dv / u²."""
    integral = quad(lambda v: v * np.exp(-v - 0.5 * (v / u) ** 2), 0.0, np.inf, epsabs=0, epsrel=1e-12)[0]
    exact = norm.logpdf(u) + np.log(integral) - 2.0 * np.log(-u)
    value, by_mean, _ = log_expected_improvement(u)(np.zeros(1), np.ones(1))
    assert value[0] == pytest.approx(exact, rel=1e-10)
    if u <= -50:  # asymptotically φ(u)/u² (1 - 3/u² + 15/u⁴)
        series = norm.logpdf(u) - 2.0 * np.log(-u) + np.log1p(-3.0 / u**2 + 15.0 / u**4 - 105.0 / u**6)
        assert value[0] == pytest.approx(series, rel=1e-12, abs=1e-7)
        assert by_mean[0] == pytest.approx(u - 2.0 / -u, rel=1e-3)


def test_log_ei_grows_with_the_gain_and_with_the_doubt():
    acquisition = log_expected_improvement(0.0)
    means = np.linspace(-3, 300, 500)
    assert np.all(np.diff(acquisition(means, np.ones(500))[0]) < 0)
    assert np.all(np.diff(acquisition(np.full(500, 2.0), np.linspace(1e-6, 5, 500))[0]) > 0)
    assert np.all(np.isfinite(acquisition(np.array([0.0, 1.0, 1e3]), np.zeros(3))[0]))


def test_ucb_is_the_papers():
    value, _, _ = ucb(beta(np.array([2.0]), 7))(np.array([0.3]), np.array([0.25]))
    assert value[0] == pytest.approx(-0.3 + np.sqrt(0.2 * 2.0 * np.log(14.0)) * 0.5)
    assert np.isfinite(ucb(np.array(1.0))(np.zeros(1), np.zeros(1))[2]).all()


def test_a_known_point_is_worth_its_mean():
    value, _, _ = lowest(MEAN, VARIANCE)
    np.testing.assert_array_equal(value, -MEAN)


@pytest.mark.parametrize("mean", [-0.4, 0.3, 3.0])
def test_cheapness_is_minus_the_log_of_the_expected_cost(mean):
    scale, variance, sd = 1.7, 0.8, np.sqrt(0.8)
    expected = quad(lambda z: np.exp(scale * z) * norm.pdf(z, mean, sd), mean - 12 * sd, mean + 12 * sd)[0]
    value, _, _ = cheapness(scale, -0.5)(np.array([mean]), np.array([variance]))
    assert value[0] == pytest.approx(-np.log(expected), rel=1e-9)


def test_an_expected_cost_counts_as_at_least_the_least():
    value, by_mean, by_variance = cheapness(1.7, -0.5)(np.array([-2.0]), np.array([0.1]))
    assert value[0] == pytest.approx(1.7 * 0.5)
    assert by_mean[0] == by_variance[0] == 0.0


def test_log_success_is_the_expected_probability():
    """E[Φ(b + g)] for g ~ N(mean, variance), by quadrature; below `likely`, it counts `caution` times more."""
    mean, variance = np.array([-3.0, -0.5, 0.2, 2.0]), np.array([2.0, 0.1, 1.0, 0.5])
    exact = [
        quad(lambda g, m=m, v=v: norm.cdf(0.3 + g) * norm.pdf(g, m, np.sqrt(v)), -20.0, 20.0, points=[m])[0]
        for m, v in zip(mean, variance, strict=True)
    ]
    np.testing.assert_allclose(log_success(0.3)(mean, variance)[0], np.log(exact), rtol=1e-7)
    cautious = log_success(0.3, 0.5, 4.0)(mean, variance)[0]
    np.testing.assert_allclose(cautious, np.log(exact) + 4.0 * np.minimum(np.log(exact) - np.log(0.5), 0.0), rtol=1e-7)


# ---------------------------------------------------------------------- feasibility

BOUNDS = {"upper": (-np.inf, 0.4), "lower": (0.4, np.inf), "both": (-0.3, 0.6), "narrow": (0.4, 0.4001)}


def log_probability(low, high, mean, sigma):
    """log P(low <= f <= high) by quadrature of the density without its largest factor."""
    nearest = np.clip(mean, low, high)
    top = 0.5 * ((nearest - mean) / sigma) ** 2

    def density(t):
        return norm.pdf(0) * np.exp(top - 0.5 * ((t - mean) / sigma) ** 2)

    reach = 40.0 * sigma / max(1.0, abs(nearest - mean) / sigma)
    low, high = max(low, nearest - reach), min(high, nearest + reach)
    value = quad(density, low, high, points=[nearest], epsabs=0, epsrel=1e-12, limit=400)[0]
    return np.log(value / sigma) - top


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("mean", [-60.0, -3.0, 0.1, 0.45, 2.0, 60.0])
@pytest.mark.parametrize("variance", [1e-2, 1.0])
def test_feasibility_is_the_integral_of_the_density(name, mean, variance):
    low, high = BOUNDS[name]
    value = log_feasibility(low, high)(np.array([mean]), np.array([variance]))[0][0]
    assert value == pytest.approx(log_probability(low, high, mean, np.sqrt(variance)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", BOUNDS)
def test_derivatives_of_feasibility(name):
    acquisition = log_feasibility(*BOUNDS[name])
    _, by_mean, by_variance = acquisition(MEAN, VARIANCE)
    numeric = np.diagonal(differences(lambda m: acquisition(m, VARIANCE)[0], MEAN, step=1e-6))
    np.testing.assert_allclose(by_mean, numeric, rtol=1e-4, atol=1e-7)
    numeric = np.diagonal(differences(lambda v: acquisition(MEAN, np.exp(v))[0], np.log(VARIANCE), step=1e-6))
    np.testing.assert_allclose(by_variance * VARIANCE, numeric, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("name", BOUNDS)
def test_feasibility_is_finite_wherever_the_mean_is(name):
    for part in log_feasibility(*BOUNDS[name])(np.array([-1e8, 1e8, 0.4]), np.array([1.0, 1e-12, 0.0])):
        assert np.all(np.isfinite(part))
