"""What a sampler keeps about a study between its calls."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial

from addtree import Categorical, Choice, Integer, Optimizer, Real, Space
from addtree._optuna.model import Settings
from addtree._optuna.state import StudyState
from addtree._optuna.trials import publish
from addtree.errors import ConfigError
from addtree.study.task import suggest_config

UNIT = FloatDistribution(0, 1)
MODEL = CategoricalDistribution(["svm", "tree"])


def trial(i: int, **extra: BaseDistribution) -> FrozenTrial:
    distributions: dict[str, BaseDistribution] = {"model": MODEL, **({"C": UNIT} if i % 2 == 0 else {}), **extra}
    params = {"model": MODEL.choices[i % 2], **{name: 0.5 for name in distributions if name != "model"}}
    return optuna.create_trial(params=params, distributions=distributions, value=float(i))


def state_of(study: optuna.Study, space: Space | None = None) -> StudyState:
    state = StudyState(study, Settings(space, 0, 10))
    state.refresh(study)
    return state


def test_there_is_no_model_until_a_parameter_varies() -> None:
    study = optuna.create_study()
    state = state_of(study)
    assert state.model is None
    fixed = optuna.create_trial(params={"one": 1.0}, distributions={"one": FloatDistribution(1, 1)}, value=0.0)
    study.add_trial(fixed)
    state.refresh(study)
    assert state.model is None
    study.add_trial(trial(0))
    state.refresh(study)
    assert state.model is not None
    assert set(state.model.translation.distributions) == {"one", "model", "C"}


def test_a_declared_space_has_a_model_from_the_start() -> None:
    study = optuna.create_study()
    assert StudyState(study, Settings(Space(c=Categorical([1, 2])), 0, 10)).model is not None


def test_the_model_is_gone_if_nothing_varies_any_more() -> None:
    study = optuna.create_study()
    study.add_trial(optuna.create_trial(params={"x": 0.5}, distributions={"x": UNIT}, value=0.0))
    state = state_of(study)
    assert state.model is not None
    fixed = FloatDistribution(0.5, 0.5)
    study.add_trial(optuna.create_trial(params={"x": 0.5}, distributions={"x": fixed}, value=0.0))
    state.refresh(study)
    assert state.model is None


def test_a_settled_structure_is_inferred_again_only_if_a_trial_contradicts_it() -> None:
    study = optuna.create_study()
    study.add_trials([trial(i) for i in range(20)])
    state = state_of(study)
    assert state.model is not None
    early = state.model.translation
    study.add_trials([trial(i) for i in range(20)])
    state.refresh(study)
    settled = state.model.translation
    assert settled is early  # More than 30 trials, and all of them fit.
    study.add_trial(trial(0, new=UNIT))
    state.refresh(study)
    assert state.model.translation is not settled
    assert "new" in state.model.translation.distributions


def test_an_early_structure_is_reviewed_from_time_to_time() -> None:
    study = optuna.create_study()
    study.add_trials([trial(i) for i in range(10)])
    state = state_of(study)
    assert state.model is not None
    reviewed = []
    for i in range(10):
        before = state.model.translation
        study.add_trial(trial(i))
        state.refresh(study)
        if state.model.translation is not before:
            reviewed.append(len(study.trials))
    assert reviewed == [15, 20]


def test_a_study_is_read_once_per_trial() -> None:
    study = optuna.create_study()
    state = StudyState(study, Settings(None, 0, 10))
    study.ask()
    running = study.trials[0]
    state.begin(study, running)
    study.add_trial(trial(0))
    state.begin(study, running)
    assert state.history.finished == []
    study.ask()
    state.begin(study, study.trials[-1])
    assert len(state.history.finished) == 1


def test_a_suggestion_is_kept_while_its_trial_runs() -> None:
    study = optuna.create_study()
    first, second = study.ask(), study.ask()
    state = state_of(study)
    state.remember(study.trials[0], {"x": 0.1})
    state.remember(study.trials[1], {"x": 0.2})
    assert state.suggestions == {0: {"x": 0.1}, 1: {"x": 0.2}}
    study.tell(first, 0.0)
    study.ask()
    state.refresh(study)
    state.remember(study.trials[2], {"x": 0.3})
    assert state.suggestions == {1: {"x": 0.2}, 2: {"x": 0.3}}
    assert second.number == 1


def test_a_suggestion_is_read_from_the_storage_if_it_is_not_known() -> None:
    """A sampler keeps the state of one study at a time."""
    study = optuna.create_study()
    study.ask()
    publish(study, study.trials[0], {"x": 0.3})
    state = state_of(study)
    state.recall(study.trials[0])
    assert state.decode(study.trials[0], "x", UNIT) == 0.3
    with pytest.raises(ConfigError, match="'y' was not suggested"):
        state.decode(study.trials[0], "y", UNIT)


def test_a_parameter_that_nothing_explains_does_not_make_the_structure_inferred_again() -> None:
    def momentum(i: int) -> FrozenTrial:
        params = {"lr": (i % 10) / 10, **({"momentum": 0.9} if i % 10 > 5 else {})}
        return optuna.create_trial(params=params, distributions=dict.fromkeys(params, UNIT), value=0.0)

    study = optuna.create_study()
    study.add_trials([momentum(i) for i in range(40)])
    state = state_of(study)
    assert state.model is not None
    settled = state.model.translation
    for i in range(10):
        study.add_trial(momentum(i))
        state.refresh(study)
    assert state.model.translation is settled


def test_a_parameter_that_was_missing_once_is_not_taken_for_removed() -> None:
    """As where an objective returns before it asks for everything."""

    def observed(i: int, *names: str) -> FrozenTrial:
        params = dict.fromkeys(names, (i % 10) / 10)
        return optuna.create_trial(params=params, distributions=dict.fromkeys(names, UNIT), value=0.0)

    study = optuna.create_study()
    study.add_trials([*(observed(i, "a", "x") for i in range(40)), observed(40, "a")])
    state = state_of(study)
    study.add_trial(observed(41, "a", "x"))
    state.refresh(study)
    assert state.model is not None
    assert len({state.model.suggest(42 + i, np.random.default_rng(0))["x"] for i in range(5)}) > 1


def test_a_stepped_range_that_moves_is_told_again() -> None:
    """The space of positions stays the same, but the old positions stand for other values."""
    study = optuna.create_study()
    before, now = IntDistribution(0, 8, step=2), IntDistribution(4, 12, step=2)
    study.add_trial(optuna.create_trial(params={"x": 8}, distributions={"x": before}, value=0.0))
    state = state_of(study)
    assert state.model is not None
    assert state.model._optimizer.trials[0].config == {"x": 4}
    study.add_trial(optuna.create_trial(params={"x": 12}, distributions={"x": now}, value=1.0))
    state.refresh(study)
    assert [trial.config for trial in state.model._optimizer.trials] == [{"x": 2}, {"x": 4}]


@pytest.mark.parametrize("log", [False, True])
def test_only_floats_inside_a_continuous_range_cannot_coincide(log: bool) -> None:
    """All workers share the initial design, so that anything can coincide until it is over."""
    space = Space(x=Real(0.1, 1, log=log), k=Integer(1, 9), s=Real(0, 1, step=0.25))
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    state = StudyState(study, Settings(space, 0, 10))
    params = {"x": 0.3, "k": 2, "s": 0.25}
    assert state.can_coincide(params, {})
    study.optimize(lambda trial: suggest_config(trial, space)["x"], n_trials=30)
    state.refresh(study)
    assert not state.can_coincide(params, {})
    assert state.can_coincide({**params, "x": 1.0}, {})
    assert state.can_coincide(params, {"x": 0.3})
    first, second = (study.trials[number].params["x"] for number in (7, 8))
    assert state.can_coincide({**params, "x": first}, {})  # copied from an earlier trial
    for one, other in ((first, second), (0.1, first), (second, 1.0)):  # in the middle of a gap
        middle = (one * other) ** 0.5 if log else (one + other) / 2
        assert state.can_coincide({**params, "x": middle}, {})
        assert not state.can_coincide({**params, "x": middle + 1e-6}, {})


def test_what_two_workers_suggest_can_coincide() -> None:
    """Turns that ignore the model draw no random numbers, so that two workers reach the same new float."""
    space = Space(x=Real(-1, 1), model=Choice(a=Space(y=Real(-1, 1)), b=Space(z=Real(-1, 1))))
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: suggest_config(trial, space)["x"] ** 2, n_trials=30)
    state = state_of(study, space)
    workers = [Optimizer(space, seed=seed, noise=0.0) for seed in (0, 1)]
    for trial in study.trials:
        for optimizer in workers:
            optimizer.tell(trial.params, trial.value)
    pairs = [[optimizer.suggest(turn) for optimizer in workers] for turn in range(31, 61)]
    same = [first for first, second in pairs if first == second]
    assert same
    assert all(state.can_coincide(config, {}) for config in same)
