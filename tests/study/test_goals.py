"""The goals of a study: what it keeps, what it refuses, and the values of its trials."""

from __future__ import annotations

import json
import math
from typing import Any

import optuna
import pytest
from optuna.storages import InMemoryStorage

import addtree as at
from addtree._optuna.trials import is_feasible
from addtree.errors import OptionError, StudyError
from addtree.optuna import AddTreeSampler
from addtree.run.goals import Goals
from addtree.study.goals import pareto, trial_values, with_options
from addtree.study.manual import Result, add_trial, tell_trial
from addtree.study.studies import find_study, goals_of, load_study, open_study, progress
from addtree.study.task import Task
from addtree.study.worker import work

SPACE = at.Space(x=at.Real(0, 1), m=at.Choice(a=at.Space(), b=at.Space(y=at.Real(0, 1))))
GOALS = Goals.read({"error": "min", "speed": "max"}, {"memory": 0.8, "load": (0.1, 0.9), "age": (0.05, None)})


def values(config: dict[str, Any]) -> dict[str, float]:
    x, y = config["x"], config.get("y", 0.5)
    return {"error": (x - 0.3) ** 2 + y, "speed": x, "memory": x + 0.1, "load": y, "age": x}


def run(n: int = 12, goals: Goals = GOALS) -> optuna.Study:
    study = open_study(InMemoryStorage(), "s", SPACE, seed=0, goals=goals)
    work(study, Task(values, SPACE, goals=goals), total=n)
    return study


def test_trials_keep_their_values_and_optuna_sees_what_is_feasible() -> None:
    study = run()
    assert goals_of(find_study(study._storage, "s")) == GOALS
    assert study.metric_names == ["error", "speed"]
    for trial in study.trials:
        assert trial_values(GOALS, trial) == values(trial.params)
        assert is_feasible(trial) == (GOALS.violation(values(trial.params)) == 0.0)
    assert 0 < sum(map(is_feasible, study.trials)) < 12
    assert set(study.trials[0].constraints) == {"memory", "load (upper)", "load (lower)", "age"}


def test_the_front_is_that_of_optuna() -> None:
    study = run(20)
    front = progress(study).front
    assert {t.number for t in front} == {t.number for t in study.best_trials}
    assert [t.values[0] for t in front] == sorted(t.values[0] for t in front)
    assert progress(study).best is None


def test_the_study_suggests_what_an_optimizer_with_these_goals_suggests() -> None:
    """Bounds on one side are stored as a difference, which changes the models by rounding errors only."""
    goals = Goals.read({"error": "min", "speed": "max"}, {"memory": 0.8})

    def objective(config: dict[str, Any]) -> dict[str, float]:
        return {name: value for name, value in values(config).items() if name in goals.names}

    study = open_study(InMemoryStorage(), "s", SPACE, seed=0, goals=goals)
    work(study, Task(objective, SPACE, goals=goals), total=8)
    optimizer = at.Optimizer(SPACE, seed=0, objectives={"error": "min", "speed": "max"}, constraints={"memory": 0.8})
    for trial in study.trials:
        asked = optimizer.ask()
        assert asked.config["m"] == trial.params["m"]
        assert asked.config["x"] == pytest.approx(trial.params["x"], abs=1e-3)
        optimizer.tell(asked, objective(asked.config))


@pytest.mark.parametrize(
    "other",
    [
        Goals(),
        Goals.read({"error": "min"}, None),
        Goals.read({"error": "min", "speed": "min"}, None),
        Goals.read({"error": "min", "speed": "max"}, {"memory": 0.9, "load": (0.1, 0.9), "age": (0.05, None)}),
    ],
)
def test_a_study_keeps_its_goals(other: Goals) -> None:
    storage = run(1)._storage
    open_study(storage, "s", SPACE, goals=GOALS)
    with pytest.raises(StudyError, match="other goals"):
        open_study(storage, "s", SPACE, goals=other)
    open_study(storage, "plain", SPACE)
    with pytest.raises(StudyError, match="other goals"):
        open_study(storage, "plain", SPACE, goals=GOALS)
    with pytest.raises(StudyError, match="other goals"):  # the same direction, but with a name
        open_study(storage, "plain", SPACE, goals=Goals.read({"error": "min"}, None))


def test_a_plain_study_keeps_nothing_new() -> None:
    study = open_study(InMemoryStorage(), "s", SPACE, seed=0)
    assert study.user_attrs.keys() == {"addtree:space", "addtree:seed"}
    assert study.metric_names is None


@pytest.mark.parametrize("stored", [3, "{", "[]", '{"objectives": 3}', json.dumps({"objectives": {"a": "min"}})])
def test_damaged_goals_say_so(stored: Any) -> None:
    study = run(1)
    study.set_user_attr("addtree:goals", stored)
    for use in (lambda: goals_of(study), lambda: load_study(study._storage, "s", noise=0.1)):
        with pytest.raises(StudyError, match="the stored goals of study 's' are damaged"):
            use()


def test_noise_is_kept_by_name_and_reaches_the_sampler() -> None:
    storage, goals = InMemoryStorage(), Goals.read({"error": "min", "speed": "max"}, None, noise={"speed": 0.2})
    open_study(storage, "s", SPACE, goals=goals)
    assert goals_of(find_study(storage, "s")).noise == {"speed": 0.2}
    sampler = load_study(storage, "s").sampler
    assert isinstance(sampler, AddTreeSampler)
    assert sampler._settings.noise == {1: 0.2}
    with pytest.raises(OptionError, match="is for one objective"):
        load_study(storage, "s", noise=0.1)
    with pytest.raises(OptionError, match="'memory' is a constraint, whose noise is learned"):
        open_study(storage, "t", SPACE, goals=Goals.read({"e": "min"}, {"memory": 1.0}, noise={"memory": 0.1}))


TWO = {"error": "min", "speed": "max"}
POINT = {"error": 0.6, "speed": 0.7}


def test_a_study_with_a_reference_point_suggests_what_an_optimizer_suggests() -> None:
    suggested = []
    for point in (POINT, None):
        goals = Goals.read(TWO, None, reference_point=point)

        def objective(config: dict[str, Any]) -> dict[str, float]:
            return {name: values(config)[name] for name in TWO}

        study = open_study(InMemoryStorage(), "s", SPACE, seed=0, goals=goals)
        work(study, Task(objective, SPACE, goals=goals), total=12)
        optimizer = at.Optimizer(SPACE, seed=0, objectives=TWO, reference_point=point)
        for trial in study.trials:
            asked = optimizer.ask()
            assert asked.config == trial.params
            optimizer.tell(asked, objective(asked.config))
        suggested.append([trial.params for trial in study.trials])
    assert suggested[0] != suggested[1]


def test_a_study_keeps_its_reference_point_until_the_file_has_another() -> None:
    storage = InMemoryStorage()
    for point, expected in ((POINT, [0.6, 0.7]), ({**POINT, "error": 0.5}, [0.5, 0.7]), (None, None)):
        open_study(storage, "s", SPACE, goals=Goals.read(TWO, None, reference_point=point))
        study = load_study(storage, "s")
        assert goals_of(study).reference == point
        assert isinstance(study.sampler, AddTreeSampler)
        assert study.sampler._settings.reference_point == (expected and tuple(expected))


@pytest.mark.parametrize("stored", [3, {"error": 1.0}, {"error": 1.0, "speed": "far"}])
def test_a_damaged_reference_point_says_so_and_the_file_repairs_it(stored: Any) -> None:
    goals = Goals.read(TWO, None, reference_point=POINT)
    study = open_study(InMemoryStorage(), "s", SPACE, goals=goals)
    study.set_user_attr("addtree:reference_point", stored)
    for use in (lambda: goals_of(study), lambda: load_study(study._storage, "s")):
        with pytest.raises(StudyError, match="study 's' has a bad stored reference point"):
            use()
    assert goals_of(open_study(study._storage, "s", SPACE, goals=goals)).reference == POINT


def test_constraints_that_were_not_declared_need_not_be_told() -> None:
    """An objective of the user may set constraints of Optuna, which a person cannot tell."""
    study = open_study(InMemoryStorage(), "s", SPACE, seed=0)
    trial = study.ask()
    trial.set_constraint("c", 1.0)
    study.tell(trial, trial.suggest_float("x", 0, 1))
    load_study(study._storage, "s", noise=0.1)
    assert goals_of(study).noise == {"value": 0.1}
    study.ask()
    tell_trial(study, 1, Result(0.5, 0.1))
    assert [trial.value for trial in study.trials][1:] == [0.5]


def test_options_of_a_command_must_fit_the_goals() -> None:
    assert with_options(Goals(), maximize=True, noise=0.1) == Goals.read(None, None, maximize=True, noise=0.1)
    with pytest.raises(OptionError, match="--maximize is for an objective without a name"):
        with_options(GOALS, maximize=True, noise=None)


def test_values_told_by_a_person() -> None:
    study = open_study(InMemoryStorage(), "s", SPACE, seed=0, goals=GOALS)
    study.ask().suggest_float("x", 0, 1)
    told = {"error": 1.0, "speed": 2.0, "memory": 0.7, "load": 0.5, "age": 0.2}
    for wrong in (1.0, {"error": 1.0}, {**told, "more": 1.0}):
        with pytest.raises(OptionError, match="give error=NUMBER speed=NUMBER memory=NUMBER"):
            tell_trial(study, 0, Result(wrong))
    with pytest.raises(OptionError, match="is for a study with one value"):
        tell_trial(study, 0, Result(told, 0.1))
    tell_trial(study, 0, Result(told))
    add_trial(study, {"x": 0.5, "m": "a"}, Result({**told, "memory": 0.9}))
    add_trial(study, {"x": 0.6, "m": "a"}, Result(None))
    assert trial_values(GOALS, study.trials[0]) == told
    assert [is_feasible(trial) for trial in study.trials[:2]] == [True, False]
    assert trial_values(GOALS, study.trials[2]) is None
    with pytest.raises(StudyError, match="already has the value 1, 2"):
        tell_trial(study, 0, Result(told))


def test_constraints_of_other_studies() -> None:
    """Those of `constraints_func` have numbers. A trial without a constraint counts as on its bound."""
    study = optuna.create_study()
    distributions: dict[str, optuna.distributions.BaseDistribution] = {
        "x": optuna.distributions.FloatDistribution(0, 1)
    }
    attributes: list[dict[str, Any]] = [
        {"constraints": [0.5]},
        {"constraints:value": -1.0},
        {"constraints": [math.inf]},
    ]
    for attrs in attributes:
        study.add_trial(
            optuna.create_trial(params={"x": 0.5}, distributions=distributions, value=1.0, system_attrs=attrs)
        )
    goals = goals_of(study)
    assert goals.names == ("value", "constraint 0", "constraint value")
    found = [trial_values(goals, trial) for trial in study.trials]
    assert found[0] == {"value": 1.0, "constraint 0": 0.5, "constraint value": 0.0}
    assert found[1] == {"value": 1.0, "constraint 0": 0.0, "constraint value": -1.0}
    assert found[2] == {"value": 1.0, "constraint 0": 1e300, "constraint value": 0.0}


def test_no_trial_no_front() -> None:
    assert pareto([], [optuna.study.StudyDirection.MINIMIZE] * 2) == []
