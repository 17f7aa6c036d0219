"""Improvement per unit of cost."""

import numpy as np
import pytest

import addtree as at
from addtree.errors import TrialError
from addtree.model.specification import Specification
from addtree.search.cost import cost_criterion, fit_cost
from addtree.search.policy import Policy

SPACE = at.Space(x=at.Real(0, 1), m=at.Choice(slow=at.Space(), fast=at.Space(y=at.Real(0, 1))))
KERNEL = Specification().make_kernel(SPACE.encoding)


def cost_of(config):
    return 100.0 if config["m"] == "slow" else 1.0 + config["x"]


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    configs = [SPACE.sample(rng) for _ in range(n)]
    return SPACE.encoding.encode(configs), np.array([cost_of(config) for config in configs])


def test_where_costs_are_known_the_criterion_is_the_negative_log_cost_up_to_a_constant():
    X, cost = rows(30)
    criterion = cost_criterion(fit_cost(KERNEL, X, cost), X, cost)
    other, true = rows(40, seed=1)
    values = criterion.values(other) + np.log(true)
    assert np.std(values) < 0.1


def test_nothing_is_cheaper_than_the_least_cost_told():
    X, cost = rows(30)
    criterion = cost_criterion(fit_cost(KERNEL, X, cost), X, cost)
    least = criterion.values(X[[np.argmin(cost)]])[0]
    assert np.max(criterion.values(rows(200, seed=2)[0])) <= least + 1e-3


def mean_log_cost(cost_aware, turns):
    """The mean log10 cost of suggestions, where the value depends on x alone and the cost on another number."""
    space, found = at.Space(m=at.Choice({n: at.Space({n: at.Real(0, 1)}) for n in "ab"}), x=at.Real(0, 1)), []

    def log_cost(config):
        return 3 * config[config["m"]]

    for seed in range(6):
        optimizer, rng = at.Optimizer(space, seed=seed, cost_aware=cost_aware), np.random.default_rng(seed)
        for config in [space.sample(rng) for _ in range(20)]:
            optimizer.tell(config, (config["x"] - 0.3) ** 2, cost=10 ** log_cost(config))
        found += [log_cost(optimizer.suggest(turn)) for turn in turns]
    return np.mean(found)


@pytest.mark.parametrize("turns", [(15, 28, 45, 66), (9, 12, 18, 24)])
def test_costs_count_in_every_turn(turns):
    """Also in those of neglected branches, which are the first four."""
    assert {Policy().explores(turn) for turn in turns} == {turns[0] == 15}
    assert mean_log_cost(True, turns) < mean_log_cost(False, turns) - 0.3


def test_an_earlier_model_only_saves_work_and_few_costs_give_none():
    X, cost = rows(27)
    last = None
    for n in range(1, 28):
        last = fit_cost(KERNEL, X[:n], cost[:n], last=last)
        assert (last is None) == (n < 4)
    anew = fit_cost(KERNEL, X, cost)
    np.testing.assert_array_equal(anew.theta, last.theta)


def spend(cost_aware, seed):
    """The cost of 20 evaluations of a function with several optima, of which one is cheap, and the best value."""
    optimizer = at.Optimizer(at.Space(x=at.Real(0, 1), y=at.Real(0, 1)), seed=seed, n_initial=6, cost_aware=cost_aware)
    for _ in range(20):
        trial = optimizer.ask()
        x, y = trial.config["x"], trial.config["y"]
        optimizer.tell(trial, (y - 0.5) ** 2 + 0.1 * np.sin(6 * x) ** 2, cost=10 ** (2 * x))
    return sum(trial.cost for trial in optimizer.trials), optimizer.best.value


@pytest.mark.parametrize("seed", range(3))
def test_a_cost_aware_run_spends_less_for_as_much(seed):
    (cost, value), (usual, _) = spend(True, seed), spend(False, seed)
    assert cost < 0.95 * usual
    assert value < 1e-3


@pytest.mark.parametrize("cost", [0.0, -1.0, float("nan"), float("inf"), "1", True])
def test_an_impossible_cost_is_refused_and_the_trial_stays_pending(cost):
    optimizer = at.Optimizer(SPACE, seed=0)
    trial = optimizer.ask()
    with pytest.raises(TrialError, match="must be a finite number above zero"):
        optimizer.tell(trial, 1.0, cost=cost)
    assert optimizer.tell(trial, 1.0, cost=2).cost == 2.0


def test_a_cost_without_cost_aware_changes_nothing_and_is_saved(tmp_path):
    runs = []
    for cost in (None, 3.5):
        optimizer = at.Optimizer(SPACE, seed=0, n_initial=4)
        for _ in range(8):
            trial = optimizer.ask()
            optimizer.tell(trial, trial.config["x"], cost=cost)
        runs.append([trial.config for trial in optimizer.trials])
    assert runs[0] == runs[1]
    optimizer.save(tmp_path / "run.json")
    assert [trial.cost for trial in at.Optimizer.load(tmp_path / "run.json").trials] == [3.5] * 8


def test_a_cost_aware_run_continues_after_loading(tmp_path):
    optimizer = at.Optimizer(SPACE, seed=0, n_initial=4, cost_aware=True)
    for _ in range(12):
        trial = optimizer.ask()
        optimizer.tell(trial, trial.config["x"], cost=cost_of(trial.config))
    optimizer.save(tmp_path / "run.json")
    loaded = at.Optimizer.load(tmp_path / "run.json")
    assert [trial.config for trial in loaded.ask(2)] == [trial.config for trial in optimizer.ask(2)]


def test_minimize_takes_durations_for_costs():
    result = at.minimize(lambda config: config["x"], SPACE, 6, seed=0, cost_aware=True)
    assert all(trial.cost == trial.duration for trial in result.trials)
