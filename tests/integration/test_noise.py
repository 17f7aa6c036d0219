"""Noise in Optuna studies: repeated suggestions, the recommended trial, standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from addtree import Categorical, Optimizer, OptionError, Real, Space, TrialError
from addtree.optuna import AddTreeSampler

LINE = Space(x=Real(0, 1))
ARMS = Space(arm=Categorical(tuple(range(4))))


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def trial(x: float, value: float | None = 0.0, **settings: Any) -> FrozenTrial:
    return optuna.create_trial(params={"x": x}, distributions={"x": FloatDistribution(0, 1)}, value=value, **settings)


def noisy_trials(n: int = 60, sd: float = 0.3, sign: float = 1.0) -> list[FrozenTrial]:
    """Values of (x - 0.3)² with noise on a grid, and one that was lucky far from there."""
    rng = np.random.default_rng(0)
    trials = [trial(x, sign * ((x - 0.3) ** 2 + sd * rng.normal())) for x in np.linspace(0, 1, n).tolist()]
    return [*trials, trial(0.95, sign * -1.0)]


def study_of(trials: list[FrozenTrial], **settings: Any) -> tuple[optuna.Study, AddTreeSampler]:
    sampler = AddTreeSampler(LINE, seed=0, **settings)
    study = optuna.create_study(sampler=sampler)
    study.add_trials(trials)
    return study, sampler


def arms(noise: float | None, sd: float, n: int) -> optuna.Study:
    """A study of four configurations; the best is 0."""
    rng = np.random.default_rng(0)
    study = optuna.create_study(sampler=AddTreeSampler(ARMS, seed=0, noise=noise))
    study.optimize(lambda t: 0.5 * t.suggest_categorical("arm", [0, 1, 2, 3]) + sd * rng.normal(), n_trials=n)
    return study


@pytest.mark.parametrize("noise", [0.3, None])
def test_under_noise_the_best_is_evaluated_most_often(noise: float | None) -> None:
    counts = np.bincount([trial.params["arm"] for trial in arms(noise, 0.3, 48).trials], minlength=4)
    assert counts.argmax() == 0
    assert counts.min() >= 1


@pytest.mark.parametrize(("noise", "n"), [(0.0, 4), (None, 4)])
def test_without_noise_nothing_is_repeated(noise: float | None, n: int) -> None:
    assert sorted(trial.params["arm"] for trial in arms(noise, 0.0, n).trials) == [0, 1, 2, 3]


def test_declared_noise_gives_what_the_optimizer_gives() -> None:
    def value(x: float, rng: np.random.Generator) -> float:
        return (x - 0.3) ** 2 + 0.3 * float(rng.normal())

    rng, optimizer = np.random.default_rng(0), Optimizer(LINE, seed=0, noise=0.3)
    for _ in range(25):
        asked = optimizer.ask()
        optimizer.tell(asked, value(asked.config["x"], rng))
    rng, sampler = np.random.default_rng(0), AddTreeSampler(LINE, seed=0, noise=0.3)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: value(t.suggest_float("x", 0, 1), rng), n_trials=25)
    assert [t.params for t in study.trials] == [t.config for t in optimizer.trials]
    assert sampler.recommend(study).params == optimizer.recommend().config


@pytest.mark.parametrize("noise", [0.3, None])
def test_the_recommended_trial_is_not_the_lucky_one(noise: float | None) -> None:
    study, sampler = study_of(noisy_trials(), noise=noise)
    assert study.best_params == {"x": 0.95}
    assert abs(sampler.recommend(study).params["x"] - 0.3) < 0.15


def test_without_noise_the_best_trial_is_recommended() -> None:
    study, sampler = study_of(noisy_trials(), noise=0.0)
    assert sampler.recommend(study) == study.best_trial


def test_maximising_recommends_the_same_trial_as_minimising_the_negative() -> None:
    study, sampler = study_of(noisy_trials())
    opposite = optuna.create_study(sampler=sampler, direction="maximize")
    opposite.add_trials(noisy_trials(sign=-1.0))
    assert sampler.recommend(opposite).number == sampler.recommend(study).number


def test_neither_pruned_nor_infeasible_trials_are_recommended() -> None:
    bad = [trial(0.1, -5.0, system_attrs={"constraints": [1.0]})]
    pruned: dict[str, Any] = {"state": TrialState.PRUNED, "intermediate_values": {0: -5.0}}
    bad += [trial(x, None, **pruned) for x in (0.65, 0.66, 0.67)]
    study, sampler = study_of([*noisy_trials(20), *bad], noise=0.3)
    assert sampler.recommend(study).number < 21


def test_recommending_changes_no_later_suggestion() -> None:
    params = []
    for asks in (False, True):
        study, sampler = study_of(noisy_trials(20))
        for _ in range(4):
            running = study.ask()
            params.append((asks, running.suggest_float("x", 0, 1)))
            study.tell(running, 0.1)
            if asks:
                sampler.recommend(study)
    assert [x for asks, x in params if asks] == [x for asks, x in params if not asks]


def test_a_recommended_trial_may_be_changed_without_harm() -> None:
    study, sampler = study_of(noisy_trials(20))
    sampler.recommend(study).params["x"] = 7.0
    assert sampler.recommend(study).params["x"] <= 1.0


def test_an_empty_study_has_nothing_to_recommend() -> None:
    study, sampler = study_of([])
    with pytest.raises(ValueError, match="No trials are completed yet"):
        sampler.recommend(study)


def test_a_standard_error_says_which_value_to_doubt() -> None:
    values = [(x - 0.3) ** 2 for x in np.linspace(0, 1, 15).tolist()]
    trials = [trial(x, y) for x, y in zip(np.linspace(0, 1, 15).tolist(), values, strict=True)]
    lucky = trial(0.95, -0.5, user_attrs={"addtree:std": 1.0})
    study, sampler = study_of([*trials, lucky], noise=0.0)
    assert study.best_params == {"x": 0.95}
    assert abs(sampler.recommend(study).params["x"] - 0.3) < 0.1
    certain, sampler = study_of([*trials, trial(0.95, -0.5)], noise=0.0)
    assert sampler.recommend(certain).params == {"x": 0.95}


@pytest.mark.parametrize("std", [-1.0, float("nan"), "0.1"])
def test_an_impossible_standard_error_raises_when_its_trial_ends(std: Any) -> None:
    study, sampler = study_of(noisy_trials(5))
    running = study.ask()
    running.suggest_float("x", 0, 1)
    running.set_user_attr("addtree:std", std)
    with pytest.raises(TrialError, match=r"'addtree:std' of trial 6: std=.* must be the standard error"):
        study.tell(running, 0.0)
    assert sampler.recommend(study).number <= 6  # the study stays usable


@pytest.mark.parametrize("noise", [-0.1, float("nan"), float("inf"), "0.1", True])
def test_impossible_noise_is_refused(noise: Any) -> None:
    with pytest.raises(OptionError, match=r"noise=.* must be None \(learn it\), or a standard deviation"):
        AddTreeSampler(LINE, noise=noise)
