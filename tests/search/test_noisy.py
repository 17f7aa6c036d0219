import zlib

import numpy as np
import pytest

from addtree import Categorical, Choice, Integer, Optimizer, Real, Space
from addtree.model.gp import Posterior
from addtree.model.kernel import Hyperparameters
from addtree.search.candidates import Observed
from addtree.search.joint import JointSearch
from addtree.search.noisy import TopTwo, best_of_draws, by_mean, top_two
from tests.strategies import build

SPACE = Space(x=Real(0, 1), c=Choice(a=Space(y=Real(0, 1)), b=Space()))


def posterior_of(n, noise, seed=0):
    encoding, k = build(SPACE, "additive+interactions")
    rng = np.random.default_rng(seed)
    X = encoding.sample(n, rng)
    z = X[:, 0] - X[:, 0].mean() + np.sqrt(noise) * rng.normal(size=n)
    hyper = Hyperparameters(np.full(len(k.terms), 0.3), np.full(k.n_scales, 0.7), noise)
    return encoding, k, X, Posterior.from_data(k, hyper, k.rows(X), z)


def test_the_best_of_draws_is_distributed_as_the_joint_posterior_says():
    """Of two candidates, the first is the better one with probability Φ((μ₂ - μ₁) / sd(f₁ - f₂))."""
    from scipy.stats import norm

    encoding, k, _, posterior = posterior_of(12, 0.3)
    rows = k.rows(encoding.sample(2, np.random.default_rng(5)))
    mean, covariance = posterior.joint(rows)
    sd = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1])
    expected = norm.cdf((mean[1] - mean[0]) / sd)
    found = np.mean(best_of_draws(posterior, rows, 20_000, np.random.default_rng(0)) == 0)
    assert found == pytest.approx(expected, abs=0.015)


def test_the_joint_posterior_has_the_moments_of_the_prediction():
    encoding, k, _, posterior = posterior_of(12, 0.3)
    rows = k.rows(encoding.sample(9, np.random.default_rng(5)))
    mean, covariance = posterior.joint(rows)
    np.testing.assert_allclose(mean, posterior.predict(rows)[0], atol=1e-10)
    np.testing.assert_allclose(np.diagonal(covariance), posterior.predict(rows)[1], atol=1e-8)


def test_draws_of_equal_candidates_do_not_raise():
    encoding, k, _, posterior = posterior_of(12, 1e-12)
    rows = k.rows(np.repeat(encoding.sample(1, np.random.default_rng(5)), 8, axis=0))
    assert best_of_draws(posterior, rows, 3, np.random.default_rng(0)).shape == (3,)


def test_it_applies_where_noise_is_a_large_share_of_the_variance():
    assert TopTwo().applies_to(posterior_of(30, 0.3)[3])
    assert not TopTwo().applies_to(posterior_of(30, 1e-4)[3])


def test_learned_noise_is_trusted_only_with_enough_observations():
    few, many = posterior_of(12, 0.3)[3], posterior_of(30, 0.3)[3]
    assert [TopTwo().may_repeat(posterior, None) for posterior in (few, many)] == [False, True]
    assert [TopTwo().may_repeat(few, declared) for declared in (0.0, 0.3)] == [False, True]


def test_leader_and_challenger_are_evaluated_equally_often():
    """Of two configurations, the better one leads in most draws; the other one is then the challenger."""
    encoding, k = build(Space(c=Categorical(["good", "bad"])), "additive+interactions")
    X = np.repeat([[0.0], [1.0]], 8, axis=0)
    hyper = Hyperparameters(np.ones(len(k.terms)), np.full(k.n_scales, 0.5), 1.0)
    posterior = Posterior.from_data(k, hyper, k.rows(X), np.repeat([-0.3, 0.3], 8))
    observed = by_mean(Observed(encoding, X, posterior.z, set()), posterior)
    found = [
        top_two(posterior, observed, X[:1], settings=TopTwo(), search=JointSearch(), rng=np.random.default_rng(seed))[0]
        for seed in range(200)
    ]
    assert np.mean(np.array(found) == 0.0) == pytest.approx(0.5, abs=0.12)


def test_pending_configurations_are_not_repeated():
    rng, opt = np.random.default_rng(0), Optimizer(Space(c=Categorical(range(12))), seed=0, noise=0.5)
    for _ in range(12):
        opt.tell(opt.ask(), rng.normal())
    assert len({trial.config["c"] for trial in opt.ask(12)}) == 12


def test_incumbents_are_those_of_least_mean():
    encoding, k, X, posterior = posterior_of(30, 0.3)
    ranked = by_mean(Observed(encoding, X, posterior.z, set()), posterior).ranked
    means = posterior.predict(k.rows(ranked))[0]
    assert np.all(np.diff(means) >= 0)


@pytest.mark.parametrize("declared", [0.3, None])
def test_the_best_of_eight_noisy_configurations_gets_most_evaluations(declared):
    counts = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        opt = Optimizer(Space(c=Categorical(range(8))), seed=seed, noise=declared)
        for _ in range(72):
            trial = opt.ask()
            opt.tell(trial, (0.3 + 0.1 * trial.config["c"] if trial.config["c"] else 0.0) + 0.3 * rng.normal())
        counts.append(sum(trial.config["c"] == 0 for trial in opt.trials[8:]))
        assert opt.recommend().config["c"] == 0
    assert np.median(counts) >= 32


def test_without_noise_nothing_is_evaluated_twice():
    opt = Optimizer(SPACE, seed=0)
    for _ in range(40):
        trial = opt.ask()
        opt.tell(trial, trial.config["x"] ** 2 + trial.config.get("y", 0.5))
    assert len({tuple(trial.config.items()) for trial in opt.trials}) == 40
    assert opt.recommend() == opt.best


@pytest.mark.parametrize("names", [{"constraints": {"kept": 1.0}}, {"objectives": {"value": "min", "kept": "max"}}])
def test_a_value_that_never_changes_is_no_noise(names):
    opt = Optimizer(Space(a=Integer(0, 9), b=Integer(0, 9)), seed=0, **names)
    for _ in range(40):
        trial = opt.ask()
        opt.tell(trial, {"value": trial.config["a"] + trial.config["b"], "kept": 0.1})
    assert len({tuple(trial.config.items()) for trial in opt.trials}) == 40


@pytest.mark.parametrize(
    ("keys", "y", "refuted"),
    [
        ("abc", [1.0, 2.0, 3.0], False),  # nothing was evaluated again
        ("abca", [1.0, 2.0, 3.0, 1.0], False),  # one coincidence
        ("abcaa", [1.0, 2.0, 3.0, 1.0, 1.0], True),
        ("abcab", [1.0, 2.0, 3.0, 1.0, 2.0 + 1e-12], True),  # rounding
        ("abcab", [1.0, 2.0, 3.0, 1.0, 2.01], False),
        ("", [], False),
    ],
)
def test_noise_is_refuted_by_evaluations_that_gave_the_same_value_again(keys, y, refuted):
    assert TopTwo().is_refuted([key.encode() for key in keys], np.array(y)) is refuted


def jagged(config):
    """Looks like noise, but every configuration has one value."""
    return zlib.crc32(repr(sorted(config.items())).encode()) / 2**32


def test_values_that_only_look_noisy_soon_end_repeated_evaluations():
    optimizer = Optimizer(Space(n=Integer(1, 10**6), m=Choice(a=Space(), b=Space(k=Integer(1, 100)))), seed=0)
    for _ in range(45):
        trial = optimizer.ask()
        optimizer.tell(trial, jagged(trial.config))
    different = {repr(trial.config) for trial in optimizer.trials}
    assert 45 - len(different) == TopTwo().proof
