"""Fits that the workers of a study share."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest

from addtree import Choice, Optimizer, Real, Space
from addtree._optuna.shared_fit import FIT, SharedFit
from addtree.optuna import AddTreeSampler

SPACE = Space(x=Real(0, 1), c=Choice(a=Space(), b=Space(y=Real(0, 1))))


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    if trial.suggest_categorical("c", ["a", "b"]) == "a":
        return (x - 0.3) ** 2 + 0.1
    return (x - 0.6) ** 2 + (trial.suggest_float("y", 0, 1) - 0.2) ** 2


def study_of(n: int) -> optuna.Study:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=n)
    study.sampler = AddTreeSampler(SPACE, seed=0)
    return study


def stored(study: optuna.Study) -> Any:
    return study._storage.get_study_system_attrs(study._study_id).get(FIT)


def n_fitted(study: optuna.Study) -> int:
    (fit,) = stored(study)["fits"]
    return int(fit["n"])


def changed(before: Any, **fields: Any) -> Any:
    """What is stored with other fields of its fit."""
    return {**before, "fits": [{**before["fits"][0], **fields}]}


def test_a_new_worker_does_not_fit_what_another_one_fitted() -> None:
    study = study_of(60)
    study.optimize(objective, n_trials=1)
    assert n_fitted(study) == 60
    study.sampler = AddTreeSampler(SPACE, seed=1)
    study.optimize(objective, n_trials=1)
    assert n_fitted(study) == 60  # a worker stores every fit of its own


def test_the_shared_fit_is_nearly_that_of_the_first_worker() -> None:
    study = study_of(60)
    frozen = study.ask()
    first, second = (AddTreeSampler(SPACE, seed=0) for _ in range(2))
    found = []
    for sampler in (first, second):
        trial = study._storage.get_trial(frozen._trial_id)
        space = sampler.infer_relative_search_space(study, trial)
        sampler.sample_relative(study, trial, space)
        found.append(sampler.sample_independent(study, trial, "x", optuna.distributions.FloatDistribution(0, 1)))
    assert found[1] == pytest.approx(found[0], abs=0.01)


def test_an_outdated_fit_is_where_the_next_one_starts() -> None:
    study = study_of(60)
    study.optimize(objective, n_trials=1)
    study.sampler = optuna.samplers.RandomSampler(seed=1)
    study.optimize(objective, n_trials=20)
    study.sampler = AddTreeSampler(SPACE, seed=1)
    study.optimize(objective, n_trials=1)
    assert n_fitted(study) == 81


def test_fits_to_few_trials_and_of_one_worker_alone_change_nothing() -> None:
    study = study_of(20)
    study.optimize(objective, n_trials=5)
    assert stored(study) is None
    plain, shared = study_of(60), study_of(60)
    shared._storage.set_study_system_attr(shared._study_id, FIT, "damaged")
    for each in (plain, shared):
        each.optimize(objective, n_trials=12)
    assert [trial.params for trial in plain.trials] == [trial.params for trial in shared.trials]


@pytest.mark.parametrize(
    "damage",
    [
        None,
        [],
        "text",
        {},
        {"n": 0},
        {"n": 10**30},
        {"n": "60"},
        {"n_fresh": None},
        {"theta": None},
        {"theta": []},
        {"theta": [0.0]},
        {"theta": ["a"]},
        {"theta": [float("nan")] * 100},
        {"more": 1},
    ],
)
def test_a_damaged_fit_is_not_used(damage: Any) -> None:
    study = study_of(60)
    study.optimize(objective, n_trials=1)
    value = changed(stored(study), **damage) if isinstance(damage, dict) and damage else damage
    study._storage.set_study_system_attr(study._study_id, FIT, value)
    study.sampler = AddTreeSampler(SPACE, seed=1)
    study.optimize(objective, n_trials=1)
    assert n_fitted(study) == 61


@pytest.mark.parametrize("entry", [-1e308, 1e308, 1e6])
def test_hyperparameters_beyond_their_bounds_are_moved_to_them(entry: float) -> None:
    study = study_of(60)
    study.optimize(objective, n_trials=1)
    before = stored(study)
    study._storage.set_study_system_attr(
        study._study_id, FIT, changed(before, theta=[entry] * len(before["fits"][0]["theta"]))
    )
    study.sampler = AddTreeSampler(SPACE, seed=1)
    study.optimize(objective, n_trials=15)
    assert len(study.trials) == 76
    assert np.all(np.isfinite([trial.value for trial in study.trials]))  # type: ignore[arg-type]


@pytest.mark.parametrize("damage", [{"space": 1}, {"fits": None}, {"fits": [1]}, {"fits": []}])
def test_a_damaged_list_of_fits_is_not_used(damage: dict[str, Any]) -> None:
    study = study_of(60)
    study.optimize(objective, n_trials=1)
    study._storage.set_study_system_attr(study._study_id, FIT, {**stored(study), **damage})
    study.sampler = AddTreeSampler(SPACE, seed=1)
    study.optimize(objective, n_trials=1)
    assert n_fitted(study) == 61


def test_another_space_does_not_use_the_fit() -> None:
    study = study_of(60)
    study.optimize(objective, n_trials=1)
    shared = SharedFit(study._storage, study._study_id)
    assert shared.read(SPACE) is not None
    assert shared.read(Space(x=Real(0, 2), c=Choice(a=Space(), b=Space(y=Real(0, 1))))) is None


def test_a_long_fit_is_not_stored() -> None:
    study = optuna.create_study()
    shared = SharedFit(study._storage, study._study_id)
    shared.write(SPACE, [{"n": 60, "n_fresh": 60, "theta": [-27.12345] * 500}])
    assert stored(study) is None
    shared.write(SPACE, [{"n": 60, "n_fresh": 60, "theta": [-27.12345] * 50}])
    assert len(stored(study)["fits"][0]["theta"]) == 50


def test_a_model_that_is_taken_over_can_be_limited_to_some_rows() -> None:
    rng = np.random.default_rng(0)
    first, second = (Optimizer(SPACE, seed=0) for _ in range(2))
    for config in [SPACE.sample(rng) for _ in range(60)]:
        for optimizer in (first, second):
            optimizer.tell(config, config["x"])
    first.suggest(61, keep_fit=True)
    second.learn_from(lambda: first.learned, max_rows=30)
    assert first._models is not None
    assert second._models is not None
    assert len(first._models.values[0].posterior.z) == 60
    assert len(second._models.values[0].posterior.z) == 30
    assert second.learned == first.learned


def test_nothing_is_fetched_before_a_fit_is_due() -> None:
    rng, fetched = np.random.default_rng(0), []
    optimizer = Optimizer(SPACE, seed=0)
    optimizer.learn_from(lambda: fetched.append("without values"))  # type: ignore[func-returns-value]
    for config in [SPACE.sample(rng) for _ in range(60)]:
        optimizer.tell(config, config["x"])
    optimizer.suggest(61, keep_fit=True)
    optimizer.learn_from(lambda: fetched.append("fitted"))  # type: ignore[func-returns-value]
    assert fetched == []
    for config in [SPACE.sample(rng) for _ in range(10)]:
        optimizer.tell(config, config["x"])
    optimizer.learn_from(lambda: fetched.append("due"))  # type: ignore[func-returns-value]
    assert fetched == ["due"]
