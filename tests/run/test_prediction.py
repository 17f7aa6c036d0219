import math

import numpy as np
import pytest

import addtree as at
from addtree.problems import synthetic
from tests.test_optimizer import SPACE, objective, run


@pytest.fixture(scope="module")
def optimizer():
    found = at.Optimizer(SPACE, seed=0, noise=0)
    run(found, 25)
    return found


def test_observed_configurations_have_their_values(optimizer):
    for trial in optimizer.trials:
        mean, std = optimizer.predict(trial.config)
        assert mean == pytest.approx(trial.value, abs=1e-3)
        assert 0 <= std < 1e-3


def test_an_unseen_configuration_is_uncertain_and_near_its_value(optimizer):
    config = {"x": 0.77, "model": "a", "y": 0.5, "shared": 3}
    mean, std = optimizer.predict(config)
    assert abs(mean - objective(config)) < 4 * std
    assert std > 1e-4


def test_maximisation_changes_the_sign_of_the_mean_alone(optimizer):
    other = at.Optimizer(SPACE, seed=0, noise=0, maximize=True)
    for trial in optimizer.trials:
        other.tell(trial.config, -trial.value)
    config = {"x": 0.7, "model": "c"}
    assert other.predict(config)[0] == pytest.approx(-optimizer.predict(config)[0], abs=0.02)


def test_an_observation_includes_the_noise():
    noisy = at.Optimizer(SPACE, seed=0, noise=0.1)
    run(noisy, 20)
    config = noisy.best.config
    (mean, std), (same, wider) = noisy.predict(config), noisy.predict(config, observed=True)
    assert same == pytest.approx(mean, abs=0.02)
    assert wider**2 - std**2 == pytest.approx(0.1**2, rel=0.5)


def test_the_expected_gain_shrinks_as_the_optimum_is_found():
    problem = synthetic()
    gains = []
    for seed in range(3):
        found = at.Optimizer(problem.space, seed=seed)
        for length in (10, 40):
            while len(found.trials) < length:
                trial = found.ask()
                found.tell(trial, problem.objective(trial.config))
            gains.append(found.expected_gain())
    assert all(gain >= 0 for gain in gains)
    early, late = np.median(gains[0::2]), np.median(gains[1::2])
    assert early > 100 * late


def test_the_gain_is_in_the_units_of_the_values(optimizer):
    scaled = at.Optimizer(SPACE, seed=0, noise=0)
    for trial in optimizer.trials[:15]:
        scaled.tell(trial.config, 1000 * trial.value)
    plain = at.Optimizer(SPACE, seed=0, noise=0)
    for trial in optimizer.trials[:15]:
        plain.tell(trial.config, trial.value)
    assert scaled.expected_gain() == pytest.approx(1000 * plain.expected_gain(), rel=0.1)


def test_a_finite_space_that_is_exhausted_has_nothing_to_gain():
    space = at.Space(k=at.Categorical(["u", "v", "w"]))
    found = at.Optimizer(space, seed=0, noise=0)
    for value in (1.0, 2.0, 3.0):
        found.tell(found.ask(), value)
    assert found.expected_gain() == 0.0


def gain_with_crashes(crashes):
    found = at.Optimizer(at.Space(x=at.Real(0, 1)), seed=0, noise=0)
    for x in range(1, 11):
        found.tell({"x": x / 10}, x / 10)
    for x in crashes:
        found.tell({"x": x}, failed=True)
    return found.expected_gain()


def test_the_gain_counts_the_probability_of_success():
    everywhere = gain_with_crashes(x / 10 for x in range(1, 11))  # about half of all evaluations fail
    where_it_is_good = gain_with_crashes(x / 120 for x in range(10))
    assert 0.3 < everywhere / gain_with_crashes([]) < 0.8
    assert 0 < where_it_is_good < 0.5 * gain_with_crashes([])


def test_queries_change_no_later_suggestion():
    one, two = (at.Optimizer(SPACE, seed=1) for _ in range(2))
    run(one, 14), run(two, 14)
    two.predict(two.best.config)
    two.expected_gain()
    assert one.ask() == two.ask()


@pytest.mark.parametrize(
    "values", [[1e300, -1e300, 0.0], [1e-300, 0.0, 2e-300], [1.0, 1.0, 1.0], [0.0], [-1e9, 0, 1, 2]]
)
def test_extreme_values_give_finite_predictions(values):
    found = at.Optimizer(at.Space(x=at.Real(0, 1)), seed=0)
    for value in values:
        found.tell(found.ask(), value)
    assert all(map(math.isfinite, (*found.predict({"x": 0.5}), found.expected_gain())))


def test_without_a_value_there_is_nothing_to_predict():
    found = at.Optimizer(SPACE, seed=0)
    for query in (lambda: found.predict({"x": 0.5, "model": "c"}), found.expected_gain):
        with pytest.raises(at.AddTreeError, match="no trial has a value yet"):
            query()


# ---------------------------------------------------------------------- forget


def test_a_forgotten_trial_is_gone_and_its_id_is_never_used_again():
    found = at.Optimizer(SPACE, seed=0, n_initial=6)
    trials = found.ask(3)
    found.forget(trials[1])
    found.forget(trials[2].id)
    assert [t.id for t in found.trials] == [0]
    assert found.ask().id == 3
    for again in (trials[1], 1, 2):
        with pytest.raises(at.TrialError, match=r"trial \d was forgotten; tell its configuration instead"):
            found.tell(again, 1.0)
        with pytest.raises(at.TrialError, match="was forgotten"):
            found.forget(again)


def test_the_configuration_of_a_forgotten_trial_is_suggested_again():
    space = at.Space(k=at.Categorical(["u", "v"]))
    found = at.Optimizer(space, seed=0, noise=0)
    first, second = found.ask(2)
    found.forget(first)
    found.tell(second, 1.0)
    assert found.ask().config == first.config


def test_a_forgotten_row_of_the_design_is_asked_again():
    found, other = (at.Optimizer(SPACE, seed=0, n_initial=6) for _ in range(2))
    planned = [t.config for t in other.ask(6)]
    trials = found.ask(4)
    found.forget(trials[1])
    assert [t.config for t in found.ask(3)] == [planned[1], *planned[4:]]


def test_only_pending_trials_can_be_forgotten():
    found = at.Optimizer(SPACE, seed=0)
    trial = found.tell(found.ask(), 1.0)
    with pytest.raises(at.TrialError, match="was already told"):
        found.forget(trial)
    with pytest.raises(at.TrialError, match="unknown"):
        found.forget(7)


def test_recommended_is_the_trial_of_least_mean():
    rng = np.random.default_rng(0)
    result = at.minimize(lambda c: objective(c) + rng.normal(0, 0.3), SPACE, 25, seed=0, noise=0.3)
    assert result.recommended == result.optimizer.recommend()
    means = [result.optimizer.predict(t.config)[0] for t in result.trials]
    assert result.optimizer.predict(result.recommended.config)[0] == pytest.approx(min(means), abs=1e-6)
