"""Trials in which some parameters are fixed get the best values for the others."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
from optuna.samplers import PartialFixedSampler

from addtree import Choice, Real, Space
from addtree.optuna import AddTreeSampler

SPACE = Space(
    x=Real(0, 1), model=Choice(a=Space(y=Real(0, 1)), b=Space(z=Real(0, 1), k=Choice(u=Space(), v=Space(w=Real(0, 1)))))
)
BOTH = pytest.mark.parametrize("space", [SPACE, None], ids=["declared", "define-by-run"])


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def objective(trial: optuna.Trial) -> float:
    """The option `a` is better, and `b` has its best values elsewhere."""
    value = (trial.suggest_float("x", 0, 1) - 0.3) ** 2
    if trial.suggest_categorical("model", ["a", "b"]) == "a":
        return value + (trial.suggest_float("y", 0, 1) - 0.2) ** 2
    value += 2 + (trial.suggest_float("z", 0, 1) - 0.8) ** 2
    if trial.suggest_categorical("k", ["u", "v"]) == "v":
        value += (trial.suggest_float("w", 0, 1) - 0.6) ** 2
    return value


def filled(space: Space | None) -> optuna.Study:
    study = optuna.create_study(sampler=AddTreeSampler(space, seed=0))
    study.optimize(objective, n_trials=30)
    return study


@BOTH
@pytest.mark.parametrize("fixed", [{"model": "b"}, {"z": 0.8}, {"w": 0.6, "x": 0.3}])
def test_the_rest_of_an_enqueued_trial_is_the_best(space: Space | None, fixed: dict[str, Any]) -> None:
    study = filled(space)
    for _ in range(6):
        study.enqueue_trial(fixed)
    study.optimize(objective, n_trials=6)
    trials = study.trials[30:]
    assert all(trial.params.items() >= fixed.items() for trial in trials)
    assert min(trial.value or 9 for trial in trials) < 2.02
    assert len({str(trial.params) for trial in trials}) == 6


def test_an_enqueued_value_in_a_dynamic_range_implies_its_option() -> None:
    """Its position is known only when the objective asks for it."""

    def dynamic(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("model", ["a", "b"]) == "a":
            return trial.suggest_float("x", 0, 1)
        top = trial.suggest_float("top", 0, 1)
        return 1 + top + trial.suggest_float("other", 0, 1 - top)

    study = optuna.create_study(sampler=AddTreeSampler(seed=0))
    study.optimize(dynamic, n_trials=20)
    for _ in range(4):
        study.enqueue_trial({"other": 0.0})
    study.optimize(dynamic, n_trials=4)
    assert [trial.params.get("other") for trial in study.trials[20:]] == [0.0] * 4


@BOTH
def test_values_of_several_branches_count_where_they_are_active(space: Space | None) -> None:
    study = filled(space)
    flat = {"x": 0.25, "model": "b", "y": 0.5, "w": 0.5, "z": 0.5, "k": "u"}
    study.enqueue_trial(flat)
    study.optimize(objective, n_trials=1)
    assert study.trials[30].params == {"x": 0.25, "model": "b", "z": 0.5, "k": "u"}


@pytest.mark.filterwarnings("ignore:Fixed parameter")  # `leaves` cannot be 20 where `depth` is below 5
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")  # PartialFixedSampler is experimental
def test_a_fixed_value_in_a_dynamic_range_leaves_the_other_parameters_to_search():
    def objective(trial):
        depth = trial.suggest_int("depth", 1, 10)
        return (depth - 6) ** 2 + abs(trial.suggest_int("leaves", 2, 2**depth) - 30) / 10

    study = optuna.create_study(sampler=AddTreeSampler(seed=0))
    study.optimize(objective, n_trials=12)
    study.sampler = PartialFixedSampler({"leaves": 20}, study.sampler)
    study.optimize(objective, n_trials=10)
    assert {trial.params["depth"] for trial in study.trials[12:]} == set(range(1, 11))


@BOTH
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")  # PartialFixedSampler is experimental
def test_a_partial_fixed_sampler_gets_the_best_rest(space: Space | None) -> None:
    study = filled(space)
    study.sampler = PartialFixedSampler({"model": "b", "w": 0.6}, study.sampler)
    study.optimize(objective, n_trials=8)
    trials = study.trials[30:]
    assert {trial.params["model"] for trial in trials} == {"b"}
    assert {trial.params.get("w") for trial in trials} == {0.6, None}  # it need not be active
    assert min(trial.value or 9 for trial in trials) < 2.01


def test_a_value_that_the_objective_decides_first_counts() -> None:
    def decided(trial: optuna.Trial) -> float:
        n = trial.suggest_int("n", 0, 1) if trial.number < 25 else trial.suggest_int("n", 1, 1)
        x = trial.suggest_float("x", 0, 1)
        return (x - 0.2) ** 2 if n == 0 else 1 + (x - 0.2 - 0.6) ** 2

    study = optuna.create_study(sampler=AddTreeSampler(Space(n=Choice({0: Space(), 1: Space()}), x=Real(0, 1)), seed=0))
    study.optimize(decided, n_trials=29)
    assert min(trial.value or 9 for trial in study.trials[25:]) < 1.01


def test_the_startup_completes_them_too() -> None:
    study = optuna.create_study(sampler=AddTreeSampler(seed=0))
    study.optimize(objective, n_trials=2)
    for _ in range(4):
        study.enqueue_trial({"model": "b"})
    study.optimize(objective, n_trials=4)
    z = [trial.params["z"] for trial in study.trials[2:]]
    assert len({int(4 * value) for value in z}) >= 3


def test_a_parameter_that_the_objective_reaches_by_its_own_decision_gets_the_best_value() -> None:
    """The sampler suggests n = 0, where the best values are. The objective decides otherwise after it was asked.

    A random z would lie that close to the best one in a fifth of the trials.
    """
    space = Space(x=Real(0, 1), n=Choice({0: Space(y=Real(0, 1)), 1: Space(z=Real(0, 1))}))

    def contrary(trial: optuna.Trial) -> float:
        value = (trial.suggest_float("x", 0, 1) - 0.3) ** 2
        if trial.suggest_int("n", 0 if trial.number < 30 else 1, 1) == 0:
            return value + (trial.suggest_float("y", 0, 1) - 0.2) ** 2
        return value + 2 + (trial.suggest_float("z", 0, 1) - 0.8) ** 2

    close = []
    for seed in range(3):
        study = optuna.create_study(sampler=AddTreeSampler(space, seed=seed))
        study.optimize(contrary, n_trials=36)
        close += [abs(trial.params["z"] - 0.8) < 0.1 for trial in study.trials[30:]]
    assert sum(close) >= len(close) / 2
