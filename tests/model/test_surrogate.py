"""The surrogate: fitted, refitted, conditioned, saved; each step against the parts it is made of."""

import json
from dataclasses import replace

import numpy as np
import pytest

from addtree import Choice, Real, Space
from addtree.model.fit import NOISE_FLOOR, FitSettings
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.model.surrogate import Surrogate
from addtree.model.transform import TransformSettings
from tests.strategies import build

TREE = Space(x=Real(0, 1), c=Choice(a=Space(y=Real(0, 1)), b=Space(z=Real(0, 1))))
DEFAULT = Specification(transform=TransformSettings())


def problem(n, covariance="additive+interactions", seed=0):
    encoding, k = build(TREE, covariance)
    X = encoding.sample(n, np.random.default_rng(seed))
    return k, Observations.exact(X, np.nansum((X - 0.3) ** 2, axis=1))


def fit(specification, n=12, settings=None, shift=0.0):
    k, data = problem(n, specification.covariance)
    data = replace(data, y=data.y + shift)
    return Surrogate.fit(specification, k, data, settings=settings, rng=np.random.default_rng(0)), k, data


def same(one, other, X):
    for a, b in zip(one.predict(X), other.predict(X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_surrogate_follows_what_it_was_fitted_to():
    surrogate, _, data = fit(DEFAULT, 30)
    np.testing.assert_allclose(surrogate.transform.inverse(surrogate.predict(data.X)[0]), data.y, atol=1e-3)


def test_conditioning_on_more_is_conditioning_on_all():
    surrogate, k, data = fit(DEFAULT, 16)
    queries = problem(20, seed=1)[1].X
    first = surrogate.with_data(data[:9])
    same(first.condition(data[9:]), surrogate, queries)
    told = replace(data, std=np.linspace(0.0, 0.3, 16))
    noisy = Surrogate.fit(DEFAULT, k, told, rng=np.random.default_rng(0))
    same(noisy.with_data(told[:9]).condition(told[9:]), noisy, queries)
    assert len(first.posterior.z) == 9  # conditioning returned a new object


def test_pending_rows_are_expected_at_their_means():
    surrogate, _, _ = fit(DEFAULT, 12)
    pending = problem(3, seed=2)[1].X
    expecting = surrogate.with_pending(pending)
    np.testing.assert_allclose(expecting.predict(pending)[0], surrogate.predict(pending)[0], atol=1e-6)
    assert np.all(expecting.predict(pending)[1] < surrogate.predict(pending)[1])


def test_a_refit_starts_from_the_last_and_uses_all_observations():
    surrogate, _, data = fit(DEFAULT, 12)
    again = surrogate.refit(problem(30)[1], rng=np.random.default_rng(0))
    assert (again.n_fitted, len(again.posterior.z)) == (30, 30)
    assert not np.array_equal(again.theta, surrogate.theta)
    still = replace(surrogate, settings=FitSettings(warm_iterations=0)).refit(data, rng=np.random.default_rng(0))
    np.testing.assert_allclose(still.theta, surrogate.theta, atol=1e-4)


def test_when_a_refit_is_due():
    surrogate, *_ = fit(DEFAULT, 12)
    assert [n for n in range(12, 16) if surrogate.is_due(n)] == [13, 14, 15]
    later = replace(surrogate, n_fitted=50)
    assert [n for n in range(50, 60) if later.is_due(n)] == [55, 56, 57, 58, 59]
    latest = replace(surrogate, n_fitted=5000)
    assert not latest.is_due(5099)
    assert latest.is_due(5100)


def test_large_data_are_thinned_for_the_fit_and_for_the_posterior():
    surrogate, _, data = fit(DEFAULT, 40, FitSettings(max_fit_rows=16, max_rows=30))
    assert (len(surrogate.posterior.z), surrogate.n_fitted) == (30, 40)
    whole, *_ = fit(DEFAULT, 40, FitSettings(max_fit_rows=None, max_rows=None))
    assert len(whole.posterior.z) == 40
    assert surrogate.posterior.z.min() == pytest.approx(surrogate.transform.forward(data.y).min())  # the best is kept


def test_a_surrogate_is_the_same_after_json():
    surrogate, k, data = fit(DEFAULT, 20)
    form = json.loads(json.dumps(surrogate.to_dict()))
    again, X = Surrogate.from_dict(form, DEFAULT, k, data, settings=FitSettings()), data.X
    assert (again.transform, again.n_fresh) == (surrogate.transform, surrogate.n_fresh)
    np.testing.assert_array_equal(again.theta, surrogate.theta)
    np.testing.assert_array_equal(again.predict(X)[0], surrogate.predict(X)[0])


@pytest.mark.parametrize("theta", [[0.0] * 3, [], [[0.0]], [float("nan")] * 9])
def test_hyperparameters_of_another_kernel_are_refused(theta):
    k, data = problem(9)
    with pytest.raises(ValueError, match="another kernel"):
        Surrogate.from_dict({"theta": theta}, DEFAULT, k, data, settings=FitSettings())


def test_declared_noise_is_held():
    noisy, *_ = fit(Specification(noise=0.2))
    assert np.sqrt(noisy.posterior.hyper.noise) * noisy.transform.scale == pytest.approx(0.2)
    exact, *_ = fit(Specification(noise=0))
    assert exact.posterior.hyper.noise == pytest.approx(NOISE_FLOOR)


def test_the_papers_covariance_is_neither_centred_nor_transformed():
    published, *_ = fit(Specification("additive", "mle", transform=TransformSettings()), shift=5.0)
    assert (published.transform.centre, published.transform.power) == (0.0, 1.0)


def test_a_fit_starts_afresh_whenever_the_observations_have_grown_by_a_third():
    surrogate, *_ = fit(DEFAULT, 12)
    fresh = []
    for n in range(13, 25):
        surrogate = surrogate.refit(problem(n)[1], rng=np.random.default_rng(0))
        fresh.append(surrogate.n_fresh)
    assert sorted(set(fresh)) == [12, 16, 21]


def test_a_value_told_with_a_standard_error_counts_less():
    k, data = problem(12)
    wrong = replace(data, y=np.where(np.arange(12) == 5, data.y + 3.0, data.y))
    trusted = Surrogate.fit(Specification(noise=0.01), k, wrong, rng=np.random.default_rng(0))
    doubted = trusted.with_data(replace(wrong, std=np.where(np.arange(12) == 5, 10.0, 0.0)))
    without = trusted.with_data(wrong[np.delete(np.arange(12), 5)])
    queries = problem(20, seed=1)[1].X
    np.testing.assert_allclose(doubted.predict(queries)[0], without.predict(queries)[0], atol=0.05)
    assert np.max(np.abs(trusted.predict(queries)[0] - without.predict(queries)[0])) > 0.2
