"""The model of one study: what it is told, and how much work a suggestion takes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from addtree import Choice, Optimizer, Real, Space
from addtree._optuna.codec import Declared
from addtree._optuna.inferred import Inferred
from addtree._optuna.model import Settings, StudyModel
from addtree._optuna.trials import StudyGoals, TrialHistory
from addtree.optuna import AddTreeSampler
from addtree.space.space import Config

DISTRIBUTIONS: dict[str, BaseDistribution] = {
    "x": FloatDistribution(0, 1),
    "c": CategoricalDistribution(["a", "b"]),
    "y": FloatDistribution(0, 1),
}
SPACE = Space(x=Real(0, 1), c=Choice(a=Space(), b=Space(y=Real(0, 1))))


def trial(params: Mapping[str, Any], **settings: Any) -> FrozenTrial:
    distributions = {name: DISTRIBUTIONS[name] for name in params}
    return optuna.create_trial(params=dict(params), distributions=distributions, **{"value": 0.0, **settings})


def random_trials(n: int, seed: int = 0) -> list[FrozenTrial]:
    rng = np.random.default_rng(seed)
    return [trial(config, value=config["x"]) for config in (SPACE.sample(rng) for _ in range(n))]


def study_of(trials: list[FrozenTrial]) -> tuple[optuna.Study, TrialHistory]:
    study, history = optuna.create_study(), TrialHistory()
    study.add_trials(trials)
    history.read(study)
    return study, history


def declared(history: TrialHistory, n_startup: int = 10) -> StudyModel:
    return StudyModel(Declared(SPACE), history, Settings(SPACE, 0, n_startup), StudyGoals((False,)))


class CountingSpace(Space):
    """A space that counts how often a configuration is validated; encoding one begins with that."""

    n_validated = 0

    def validate(self, config: Config) -> dict[str, Any]:
        self.n_validated += 1
        return super().validate(config)


class CountingTranslation(Inferred):
    """A translation that counts how often a trial is translated, with a space that counts too."""

    n_translated = 0
    space: CountingSpace

    def __init__(self, trials: list[FrozenTrial]) -> None:
        super().__init__(trials)
        self.space = CountingSpace(self.space.children)

    def config(self, params: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        self.n_translated += 1
        return super().config(params, **options)


@pytest.mark.parametrize("n_startup", [10, 1000])
def test_a_suggestion_translates_and_encodes_only_the_new_trial(n_startup: int) -> None:
    """With 10 startup trials the model is in use, with 1000 the startup goes on."""
    work = []
    for n in (50, 200):
        study, history = study_of(random_trials(n))
        translation = CountingTranslation(study.trials)
        model = StudyModel(translation, history, Settings(None, 0, n_startup), StudyGoals((False,)))
        model.tell_new()
        model.suggest(n, np.random.default_rng(0))
        study.add_trial(trial({"x": 0.5, "c": "a"}))
        history.read(study)
        before = translation.n_translated, translation.space.n_validated
        model.tell_new()
        params = model.suggest(n + 1, np.random.default_rng(1))
        assert not model.is_taken(params, except_for=n + 1, since=len(history.finished))
        work.append((translation.n_translated - before[0], translation.space.n_validated - before[1]))
    assert work[0] == work[1]
    assert work[0][0] == 2  # the new trial, and the suggestion that is compared with the others


def test_a_declared_space_gives_what_the_optimizer_gives() -> None:
    trials = random_trials(12)
    _, history = study_of(trials)
    model, optimizer = declared(history), Optimizer(SPACE, seed=0)
    model.tell_new()
    for done in trials:
        optimizer.tell(done.params, done.value)
    assert model.suggest(12, np.random.default_rng(0)) == optimizer.suggest(13)


def test_an_inferred_space_uses_the_optimizer_once_the_startup_is_over() -> None:
    study, history = study_of(random_trials(12))
    translation = Inferred(study.trials)
    model = StudyModel(translation, history, Settings(None, 0, 4), StudyGoals((False,)))
    model.tell_new()
    optimizer = Optimizer(translation.space, seed=0, n_initial=1)
    for done in study.trials:
        optimizer.tell(translation.config(done.params, complete=True), done.value)
    assert model.suggest(12, np.random.default_rng(0)) == translation.params(optimizer.suggest(13))


def test_constraints_that_appear_later_are_told_again() -> None:
    """The result is the same as if all trials had been read at once."""

    def infeasible(x: float) -> FrozenTrial:
        return trial({"x": x, "c": "a"}, value=x, system_attrs={"constraints": [0.9 - x]})

    first, rest = random_trials(6), [*(infeasible(x) for x in (0.1, 0.3, 0.7)), *random_trials(2, seed=1)]
    study, history = study_of(first)
    step_by_step = declared(history, n_startup=1)
    step_by_step.tell_new()
    study.add_trials(rest)
    history.read(study)
    step_by_step.tell_new()
    at_once = declared(study_of([*first, *rest])[1], n_startup=1)
    at_once.tell_new()
    numbers = [np.random.default_rng(0) for _ in range(2)]
    assert step_by_step.suggest(11, numbers[0]) == at_once.suggest(11, numbers[1])


def test_unfinished_trials_are_pending() -> None:
    study, history = study_of(random_trials(3))
    running = study.ask()
    running.suggest_float("x", 0.25, 0.25)
    running.suggest_categorical("c", ["a"])
    study.enqueue_trial({"x": 0.5, "c": "b", "y": 0.75})
    study.enqueue_trial({"x": 0.5})  # The rest is suggested when a worker takes it, so it is not yet a configuration.
    history.read(study)
    model = declared(history)
    assert model.pending(except_for=99) == [{"x": 0.25, "c": "a"}, {"x": 0.5, "c": "b", "y": 0.75}]
    assert model.pending(except_for=running.number) == [{"x": 0.5, "c": "b", "y": 0.75}]


def test_a_configuration_that_is_pending_or_was_just_finished_is_taken() -> None:
    study, history = study_of(random_trials(3))
    since = len(history.finished)
    study.add_trial(trial({"x": 0.5, "c": "a"}))
    study.enqueue_trial({"x": 0.25, "c": "a"})
    history.read(study)
    model = declared(history)
    assert model.is_taken({"x": 0.5, "c": "a"}, except_for=99, since=since)
    assert not model.is_taken({"x": 0.5, "c": "a"}, except_for=99, since=since + 1)
    assert model.is_taken({"x": 0.25, "c": "a"}, except_for=99, since=since)
    assert not model.is_taken({"x": 0.25, "c": "a"}, except_for=4, since=since)
    assert not model.is_taken({"x": 0.25}, except_for=99, since=since)


def test_which_fixed_parameters_leave_nothing_to_suggest() -> None:
    model = declared(study_of([])[1])
    assert model.covers({"x": 0.5, "c": "a"})
    assert model.covers({"x": 0.5, "c": "a", "unknown": 1})
    assert not model.covers({"x": 0.5, "c": "b"})
    assert not model.covers({})


def test_a_trial_that_does_not_fit_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    foreign = [trial({"x": 0.5, "y": 0.5}) for _ in range(3)]
    cut_short = trial({"x": 0.5}, state=TrialState.FAIL, value=None)
    model = declared(study_of([cut_short, *foreign, *random_trials(2)])[1])
    with caplog.at_level(logging.WARNING, logger="addtree"):
        model.tell_new()
    (message,) = [record.getMessage() for record in caplog.records if record.name == "addtree"]
    assert message.startswith("trial 1 is left out")
    assert "'c' is missing" in message


@pytest.mark.parametrize("storage", ["memory", "sqlite"])
def test_a_code_that_does_not_ask_for_a_declared_parameter_repeats_nothing(storage: str, tmp_path: Path) -> None:
    url = None if storage == "memory" else f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(sampler=AddTreeSampler(SPACE, seed=0), storage=url)
    study.optimize(lambda t: (t.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=12)
    assert len({each.params["x"] for each in study.trials}) > 8  # Suggestions may differ in the other parameters alone.
    assert study.best_value < 1e-2


def test_durations_are_costs() -> None:
    """As `Optimizer` with the same costs suggests; a trial that took no time has none."""
    trials = [trial(each.params, value=np.sin(6 * each.params["x"]) ** 2) for each in random_trials(30)]
    for i, each in enumerate(trials):
        assert each.datetime_start is not None
        seconds = 0.0 if i == 3 else 10 ** (3 - 3 * each.params["x"])
        each.datetime_complete = each.datetime_start + timedelta(seconds=seconds)
    _, history = study_of(trials)
    suggested = []
    for cost_aware in (True, False):
        settings = replace(Settings(SPACE, 0, 10), cost_aware=cost_aware)
        model = StudyModel(Declared(SPACE), history, settings, StudyGoals((False,)))
        model.tell_new()
        optimizer = Optimizer(SPACE, seed=0, n_initial=6, cost_aware=cost_aware)
        for each in history.finished:
            assert each.duration is not None
            optimizer.tell(each.params, each.value, cost=each.duration.total_seconds() or None)
        suggested.append([model.suggest(number, np.random.default_rng(0)) for number in (30, 31, 32)])
        assert suggested[-1] == [optimizer.suggest(turn, keep_fit=True) for turn in (31, 32, 33)]
    assert suggested[0] != suggested[1]
