import numpy as np
import pytest

from addtree import AddTreeGP, Choice, Real, Space
from addtree.errors import AddTreeError, ConfigError, OptionError
from addtree.model.kernel import Hyperparameters
from addtree.model.kernel_matrices import CrossCovariance
from addtree.model.specification import Specification
from addtree.problems import synthetic
from tests.strategies import COVARIANCES, sample

PROBLEM = synthetic()


def training(n, seed=0):
    configs = sample(PROBLEM.space, n, seed)
    return configs, [PROBLEM.objective(c) for c in configs]


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("inference", ["map", "mle"])
def test_effects_add_up_to_the_prediction(covariance, inference):
    gp = AddTreeGP(PROBLEM.space, covariance=covariance, inference=inference).fit(*training(16))
    for config in sample(PROBLEM.space, 5, 1):
        mean, _ = gp.predict([config])
        effects = gp.effects(config)
        assert sum(e.mean for e in effects) == pytest.approx(mean[0], rel=1e-6, abs=1e-6)
        assert effects[0].component == "mean"
        assert all(e.std >= 0 for e in effects)
    assert (effects[0].mean == 0.0) == (covariance == "additive")


def test_it_learns_across_branches_what_independent_models_cannot():
    configs, y = training(40)
    queries, truth = training(50, seed=1)
    error = {
        c: np.mean((AddTreeGP(PROBLEM.space, covariance=c).fit(configs, y).predict(queries)[0] - truth) ** 2)
        for c in ("additive+interactions", "independent")
    }
    assert error["additive+interactions"] < 1e-3
    assert error["additive+interactions"] < 0.1 * error["independent"]


def test_an_observation_is_wider_than_the_function_by_the_noise():
    gp = AddTreeGP(PROBLEM.space, noise=0.3).fit(*training(20))
    queries = sample(PROBLEM.space, 5, 1)
    (mean, std), (same, wider) = gp.predict(queries), gp.predict(queries, observed=True)
    np.testing.assert_array_equal(mean, same)
    np.testing.assert_allclose(wider**2, std**2 + 0.3**2)
    (low, high), (lower, higher) = gp.interval(queries), gp.interval(queries, observed=True)
    assert np.all((lower < low) & (low < mean) & (mean < high) & (high < higher))


def test_without_draws_it_is_the_model_with_the_most_probable_hyperparameters():
    configs, y = training(20)
    queries = sample(PROBLEM.space, 5, 1)
    gp = AddTreeGP(PROBLEM.space).fit(configs, y, draws=0)
    mean, variance = gp.posterior.predict(gp.posterior.kernel.rows(gp.encoding.encode(queries)))
    np.testing.assert_allclose(gp.predict(queries)[0], gp.centre + gp.scale * mean)
    np.testing.assert_allclose(gp.predict(queries)[1], gp.scale * np.sqrt(variance))
    low, high = gp.interval(queries, 0.95)
    np.testing.assert_allclose(low, gp.predict(queries)[0] - 1.959964 * gp.predict(queries)[1], rtol=1e-6)
    np.testing.assert_allclose(high, gp.predict(queries)[0] + 1.959964 * gp.predict(queries)[1], rtol=1e-6)


def test_the_published_mode_averages_over_nothing():
    configs, y = training(16)
    gp, alone = (
        AddTreeGP(PROBLEM.space, covariance="additive", inference="mle").fit(configs, y, draws=draws)
        for draws in (16, 0)
    )
    assert len(gp.posteriors) == 1
    np.testing.assert_array_equal(gp.predict(configs), alone.predict(configs))


def test_predictions_average_over_the_draws():
    gp = AddTreeGP(PROBLEM.space).fit(*training(16), draws=4)
    rows = gp.posterior.kernel.rows(gp.encoding.encode(sample(PROBLEM.space, 5, 1)))
    assert len(gp.posteriors) == 4
    means, variances = (np.array(part) for part in zip(*(p.predict(rows) for p in gp.posteriors), strict=True))
    mean, std = gp.predict(sample(PROBLEM.space, 5, 1))
    np.testing.assert_allclose(mean, gp.centre + gp.scale * means.mean(axis=0))
    variance = np.mean(gp.local_factors) * variances.mean(axis=0) + means.var(axis=0)
    np.testing.assert_allclose(std, gp.scale * np.sqrt(variance), rtol=1e-5)  # small variances are differences

    terms = next(group for group in gp.posterior.kernel.components if rows.active[0, group[0]])
    means, variances = (np.array(p) for p in zip(*(p.component(terms, rows[:1]) for p in gp.posteriors), strict=True))
    effect = gp.effects(sample(PROBLEM.space, 5, 1)[0])[1]
    assert effect.mean == pytest.approx(gp.scale * np.mean(means))
    assert effect.std == pytest.approx(
        gp.scale * np.sqrt(np.mean(gp.local_factors) * np.mean(variances) + np.var(means))
    )


def test_intervals_cover_functions_drawn_from_the_model():
    space = Space(x=Real(0, 1), c=Choice(a=Space(y=Real(0, 1)), b=Space(z=Real(0, 1))))
    kernel = Specification().make_kernel(space.encoding)
    hyper = Hyperparameters(np.full(len(kernel.terms), 0.3), np.full(kernel.n_scales, 0.4), 1e-3)
    shares = []
    for seed in range(20):
        configs = sample(space, 130, seed)
        rows, rng = kernel.rows(space.encoding.encode(configs)), np.random.default_rng(seed)
        K = CrossCovariance(kernel, hyper, rows).value(rows)
        f = np.linalg.cholesky(K + 1e-9 * np.eye(len(K))) @ rng.normal(size=len(K))
        y = f[:30] + np.sqrt(hyper.noise) * rng.normal(size=30)
        low, high = AddTreeGP(space).fit(configs[:30], y, restarts=0).interval(configs[30:], 0.9)
        shares.append(np.mean((low <= f[30:]) & (f[30:] <= high)))
    assert np.mean(shares) == pytest.approx(0.9, abs=3 * np.std(shares) / np.sqrt(len(shares)))


def test_units_are_those_of_y():
    configs, y = training(20)
    queries = sample(PROBLEM.space, 5, 3)
    mean, std = AddTreeGP(PROBLEM.space).fit(configs, y, draws=0).predict(queries)
    scaled = AddTreeGP(PROBLEM.space).fit(configs, 1000.0 * np.array(y) + 7.0, draws=0).predict(queries)
    np.testing.assert_allclose(scaled[0], 1000.0 * mean + 7.0, rtol=1e-3)
    np.testing.assert_allclose(scaled[1], 1000.0 * std, rtol=0.05, atol=1e-2)


def test_a_fit_is_reproducible_and_returns_itself():
    configs, y = training(12)
    one, other = (AddTreeGP(PROBLEM.space, seed=4) for _ in range(2))
    assert one.fit(configs, y) is one
    other.fit(configs, np.array(y))
    np.testing.assert_array_equal(one.predict(configs), other.predict(configs))
    np.testing.assert_array_equal(one.hyperparameters.amplitudes, other.hyperparameters.amplitudes)


@pytest.mark.parametrize("y", [[1.0], [2.0, 2.0, 2.0], [1e300, -1e300], [1e-300, 0.0], [1.7e308, -1.7e308, 1.0, 2.0]])
@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("inference", ["map", "mle"])
def test_degenerate_values_never_raise(y, covariance, inference):
    gp = AddTreeGP(PROBLEM.space, covariance=covariance, inference=inference).fit(sample(PROBLEM.space, len(y), 0), y)
    configs = sample(PROBLEM.space, 4, 1)
    for found in (*gp.predict(configs), *gp.predict(configs, observed=True), *gp.interval(configs)):
        assert np.all(np.isfinite(found))


def test_duplicates_never_raise():
    (config,) = sample(PROBLEM.space, 1, 0)
    mean, _ = AddTreeGP(PROBLEM.space, noise=0).fit([config] * 6, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]).predict([config])
    assert 1.0 <= mean[0] <= 2.0


def test_a_space_without_parameters():
    space = Space(c=Choice(a=Space(), b=Space()))
    configs, y = [{"c": "a"}, {"c": "b"}] * 4, [0.0, 1.0] * 4
    mean, _ = AddTreeGP(space).fit(configs, y).predict([{"c": "a"}, {"c": "b"}])
    assert mean[0] < 0.2 < 0.8 < mean[1]


def test_bad_input_says_what_to_do():
    gp = AddTreeGP(Space(x=Real(0, 1)))
    with pytest.raises(AddTreeError, match=r"no data.*fit\(configs, y\)"):
        gp.predict([{"x": 0.5}])
    with pytest.raises(ConfigError, match="2 configurations need as many values"):
        gp.fit([{"x": 0.5}, {"x": 0.6}], [1.0])
    with pytest.raises(ConfigError, match=r"all finite.*leave failed evaluations out"):
        gp.fit([{"x": 0.5}], [float("nan")])
    with pytest.raises(ConfigError, match=r"y must be a list of numbers \(int too large"):
        gp.fit([{"x": 0.5}], [10**400])
    with pytest.raises(ConfigError, match="y has masked values; leave failed evaluations out"):
        gp.fit([{"x": 0.5}], np.ma.array([1.0], mask=[True]))
    with pytest.raises(ConfigError, match="at least one value"):
        gp.fit([], [])
    with pytest.raises(ConfigError, match="'x'"):
        gp.fit([{"x": 2}], [1.0])
    for draws in (-1, 2.5):
        with pytest.raises(OptionError, match=f"draws={draws}"):
            gp.fit([{"x": 0.5}], [1.0], draws=draws)
    with pytest.raises(OptionError, match=r"probability=1\.5.*between 0 and 1"):
        gp.interval([{"x": 0.5}], 1.5)
    with pytest.raises(OptionError, match="'rbf'"):
        AddTreeGP(Space(x=Real(0, 1)), covariance="rbf")
