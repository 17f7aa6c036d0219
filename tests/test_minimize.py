import logging

import numpy as np
import pytest

import addtree as at
from addtree.errors import OptionError
from tests.test_optimizer import SPACE, objective


def test_it_is_a_loop_over_ask_and_tell():
    result = at.minimize(objective, SPACE, n_trials=12, seed=3)
    optimizer = at.Optimizer(SPACE, seed=3)
    for _ in range(12):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.config))
    assert result.trials == optimizer.trials
    assert result.best_value == optimizer.best.value == objective(result.best_config)
    assert result.message == "12 trials done"


def test_maximize_and_other_settings_are_passed_on():
    low = at.minimize(objective, SPACE, n_trials=9, seed=3, acquisition="ucb", n_initial=4)
    high = at.minimize(
        lambda c: -objective(c), SPACE, n_trials=9, seed=3, acquisition="ucb", n_initial=4, maximize=True
    )
    assert [t.config for t in low.trials] == [t.config for t in high.trials]
    assert high.best_value == -low.best_value


@pytest.mark.parametrize(
    "bad", [ValueError("no"), StopIteration(), "a string", None, float("nan"), float("inf")], ids=repr
)
def test_an_objective_that_fails_fails_that_trial_and_the_run_goes_on(bad, caplog):
    calls = []

    def flaky(config):
        calls.append(config)
        if len(calls) % 3 == 0:
            if isinstance(bad, Exception):
                raise bad
            return bad
        return objective(config)

    with caplog.at_level(logging.WARNING, logger="addtree"):
        result = at.minimize(flaky, SPACE, n_trials=11, seed=0, n_initial=5)
    assert [t.state for t in result.trials] == ["failed" if i % 3 == 2 else "done" for i in range(11)]
    assert sum(record.levelno == logging.WARNING for record in caplog.records) == 3
    assert "trial 2" in caplog.text


def test_an_objective_that_always_fails():
    def broken(config):
        raise RuntimeError("out of memory")

    result = at.minimize(broken, SPACE, n_trials=10, seed=0, n_initial=3)
    assert all(t.state == "failed" for t in result.trials)
    with pytest.raises(at.AddTreeError, match=r"no trial has a value yet"):
        _ = result.best_value


def test_an_interrupt_is_not_swallowed():
    def interrupted(config):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        at.minimize(interrupted, SPACE, n_trials=3, seed=0)


def test_an_objective_may_do_what_it_likes_with_its_configuration():
    def greedy(config):
        value = objective(config)
        config.clear()
        return value

    assert (
        at.minimize(greedy, SPACE, n_trials=9, seed=2).trials
        == at.minimize(objective, SPACE, n_trials=9, seed=2).trials
    )


def test_the_callback_sees_every_finished_trial_and_may_stop():
    seen = []

    def callback(trial):
        seen.append(trial)
        if trial.id == 4:
            raise StopIteration

    result = at.minimize(objective, SPACE, n_trials=50, seed=0, callback=callback)
    assert [t.id for t in seen] == [0, 1, 2, 3, 4]
    assert seen == result.trials
    assert "stopped by the callback" in result.message
    assert result.optimizer.ask().id == 5


def test_any_other_exception_of_the_callback_is_the_users():
    def callback(trial):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        at.minimize(objective, SPACE, n_trials=3, seed=0, callback=callback)


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_at_least_one_trial(n):
    with pytest.raises(OptionError, match=rf"n_trials={n} must be a whole number, at least 1"):
        at.minimize(objective, SPACE, n_trials=n)


def test_numpy_values_are_values():
    result = at.minimize(lambda c: np.float32(c["x"]), at.Space(x=at.Real(0, 1)), n_trials=3, seed=0)
    assert all(type(t.value) is float for t in result.trials)
