"""Reading a study: what is new, what it is worth, and what was suggested."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.storages import RetryHeartbeatStaleTrialCallback
from optuna.trial import FrozenTrial, TrialState

from addtree import Categorical, Integer, Space
from addtree._optuna.ranges import as_suggestion
from addtree._optuna.trials import (
    LOST,
    StudyGoals,
    TrialHistory,
    is_feasible,
    objective_values,
    publish,
    published,
    standard_errors,
)
from addtree.errors import OptionError, TrialError
from addtree.optuna import AddTreeSampler

UNIT = FloatDistribution(0, 1)


def finished(x: float = 0.5, **settings: Any) -> FrozenTrial:
    return optuna.create_trial(params={"x": x}, distributions={"x": UNIT}, **{"value": x, **settings})


def infeasible(violation: float, value: float = 0.0) -> FrozenTrial:
    return finished(value=value, system_attrs={"constraints": [violation, -1.0]})


def numbers(trials: list[FrozenTrial]) -> list[int]:
    return [trial.number for trial in trials]


class LookedAt(optuna.trial.FrozenTrial):
    """A trial that counts how often its state is asked for."""

    looks = 0

    @property
    def state(self) -> TrialState:
        self.looks += 1
        return self._state

    @state.setter
    def state(self, state: TrialState) -> None:
        self._state = state


class ListedStudy(optuna.Study):
    """A study whose trials are a list, which a test may change."""

    def __init__(self, trials: list[FrozenTrial]) -> None:
        self.listed = trials

    def get_trials(self, deepcopy: bool = True, states: Container[TrialState] | None = None) -> list[FrozenTrial]:
        return list(self.listed)


def looked_at(number: int, state: TrialState = TrialState.COMPLETE) -> LookedAt:
    value = 0.0 if state == TrialState.COMPLETE else None
    found = LookedAt(
        number=number,
        state=state,
        value=value,
        datetime_start=None,
        datetime_complete=None,
        params={"x": 0.5},
        distributions={"x": UNIT},
        user_attrs={},
        system_attrs={},
        intermediate_values={},
        trial_id=number,
    )
    found.looks = 0
    return found


# ---------------------------------------------------------------------- reading


def test_each_finished_trial_is_new_once() -> None:
    study, history = optuna.create_study(), TrialHistory()
    running = study.ask({"x": UNIT})
    study.add_trial(finished())
    assert numbers(history.read(study)) == [1]
    assert numbers(history.unfinished) == [0]
    assert history.read(study) == []
    study.tell(running, 1.0)
    study.add_trial(finished())
    assert numbers(history.read(study)) == [0, 2]
    assert history.unfinished == []
    assert numbers(history.finished) == [1, 0, 2]


def test_trials_that_wait_are_unfinished() -> None:
    study, history = optuna.create_study(), TrialHistory()
    study.enqueue_trial({"x": 0.5})
    study.ask()
    study.enqueue_trial({"x": 0.6})
    history.read(study)
    assert numbers(history.unfinished) == [0, 1]


def test_lost_trials_and_trials_without_parameters_are_not_informative() -> None:
    study, history = optuna.create_study(), TrialHistory()
    study.add_trial(finished(state=TrialState.FAIL, value=None, system_attrs={LOST: True}))
    study.add_trial(optuna.create_trial(value=1.0))
    study.add_trial(finished(state=TrialState.FAIL, value=None))
    assert numbers(history.read(study)) == [2]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")  # The callback is experimental.
def test_a_trial_that_optuna_retries_because_its_worker_died_is_not_informative() -> None:
    study, history, retry = optuna.create_study(), TrialHistory(), RetryHeartbeatStaleTrialCallback(max_retry=1)
    study.add_trial(finished(state=TrialState.FAIL, value=None))
    retry(study, study.trials[0])
    assert numbers(history.read(study)) == []
    study.tell(study.ask(), state=TrialState.FAIL)
    retry(study, study.trials[1])  # It was retried often enough.
    assert numbers(history.read(study)) == numbers(TrialHistory().read(study)) == [1]


def test_a_finished_trial_is_looked_at_once() -> None:
    """The cost of a call is in proportion to what is new, not to all trials."""
    trials: list[LookedAt] = [looked_at(number) for number in range(100)]
    study, history = ListedStudy([*trials, looked_at(100, TrialState.RUNNING)]), TrialHistory()
    assert len(history.read(study)) == 100
    before = [trial.looks for trial in trials]
    study.listed = [*trials, looked_at(100), looked_at(101)]
    assert numbers(history.read(study)) == [100, 101]
    assert [trial.looks for trial in trials] == before


def test_trials_that_are_hidden_or_shown_late_are_read_when_they_appear() -> None:
    """Hyperband's pruner shows a sampler the trials of one bracket; a database may show number 2 before number 1."""
    trials = [finished() for _ in range(4)]
    for number, trial in enumerate(trials):
        trial.number = number
    study, history = ListedStudy([trials[0], trials[2]]), TrialHistory()
    assert numbers(history.read(study)) == [0, 2]
    study.listed = trials[:3]
    assert numbers(history.read(study)) == [1]
    study.listed = trials[1:]
    assert numbers(history.read(study)) == [3]
    study.listed = trials[:1]
    assert history.read(study) == []
    study.listed = trials
    assert history.read(study) == []


def test_a_storage_may_show_fewer_trials_than_before() -> None:
    study, history = ListedStudy([looked_at(0), looked_at(1, TrialState.RUNNING)]), TrialHistory()
    history.read(study)
    study.listed = [looked_at(0)]
    assert history.read(study) == []
    assert history.unfinished == []
    study.listed = [looked_at(0), looked_at(1)]
    assert numbers(history.read(study)) == [1]


def test_values_are_counted_by_their_internal_representation() -> None:
    study, history = optuna.create_study(), TrialHistory()
    distribution = CategoricalDistribution(["a", None])
    for value in ("a", None, None):
        study.add_trial(optuna.create_trial(params={"c": value}, distributions={"c": distribution}, value=0.0))
    history.read(study)
    assert history.counts == {"c": {0.0: 1, 1.0: 2}}


# ---------------------------------------------------------------------- suggestions


@pytest.mark.parametrize("length", [1, 3000, 10_000])
def test_a_published_suggestion_is_read_back(length: int) -> None:
    study = optuna.create_study()
    study.ask()
    params = {"x": 0.1, "name": "ü" * length, "none": None}
    publish(study, study.trials[0], params)
    assert published(study.trials[0]) == params


def test_what_json_cannot_hold_is_not_published() -> None:
    study = optuna.create_study()
    study.ask()
    publish(study, study.trials[0], {"x": object()})
    assert published(study.trials[0]) == {}


def test_a_suggestion_that_is_being_written_is_empty() -> None:
    study = optuna.create_study()
    study.ask()
    publish(study, study.trials[0], {"name": "x" * 5000})
    trial = study.trials[0]
    del trial.system_attrs[max(trial.system_attrs)]
    assert published(trial) == {}


# ---------------------------------------------------------------------- values and constraints


def test_the_value_of_each_state() -> None:
    pruned = finished(state=TrialState.PRUNED, value=None, intermediate_values={0: 1.0, 5: 3.0, 2: 2.0})
    assert objective_values(finished(value=2.0)) == [2.0]
    assert objective_values(finished(value=None, values=[2.0, 1.0])) == [2.0, 1.0]
    assert objective_values(pruned) == [3.0]
    assert objective_values(finished(state=TrialState.PRUNED, value=None)) is None
    assert (
        objective_values(finished(state=TrialState.PRUNED, value=None, intermediate_values={0: float("nan")})) is None
    )
    assert objective_values(finished(state=TrialState.FAIL, value=None)) is None


def test_one_value_is_told_as_it_is() -> None:
    assert is_feasible(infeasible(0.0))
    goals = StudyGoals((True,))
    assert goals.told(finished(value=2.0), {}) == 2.0
    assert goals.told(finished(state=TrialState.FAIL, value=None), {}) is None
    assert goals.options(0.5) == {"maximize": True, "noise": 0.5}


def test_several_values_and_constraints_are_told_by_name() -> None:
    trials = [
        finished(value=None, values=[1.0, 2.0], constraints={"b": 3.0, "a": -1.0}),
        finished(value=None, values=[4.0, 5.0], constraints={"b": float("inf"), "a": float("-inf")}),
        finished(value=None, values=[6.0, 7.0]),
    ]
    goals = StudyGoals((False, True)).including(trials)
    assert goals.options({1: 0.5}) == {
        "objectives": {"objective 0": "min", "objective 1": "max"},
        "constraints": {"constraint a": 0.0, "constraint b": 0.0},
        "noise": {"objective 1": 0.5},
    }
    told = [goals.told(trial, {"a": -2.0}) for trial in trials]
    names = ("objective 0", "objective 1", "constraint a", "constraint b")
    rows = [(1.0, 2.0, -1.0, 3.0), (4.0, 5.0, -2.0, 1e300), (6.0, 7.0, -2.0, 0.0)]
    assert told == [dict(zip(names, row, strict=True)) for row in rows]
    assert goals.told(finished(state=TrialState.FAIL, value=None), {}) is None


@pytest.mark.parametrize("noise", [0.1, {2: 0.1}, {"a": 0.1}])
def test_noise_of_several_objectives_is_by_number(noise: Any) -> None:
    with pytest.raises(OptionError, match=r"by the numbers of the 2 objectives, such as \{0: 0.1\}"):
        StudyGoals((False, False)).options(noise)


def test_a_reference_point_has_a_number_for_each_of_several_objectives() -> None:
    options = StudyGoals((False, True)).options(None, (0.5, 10.0))
    assert options["reference_point"] == {"objective 0": 0.5, "objective 1": 10.0}
    assert "reference_point" not in StudyGoals((False, True)).options(None)
    for goals, shown in ((StudyGoals((False,)), "1 objective;"), (StudyGoals((False,) * 3), "3 objectives;")):
        with pytest.raises(OptionError, match=rf"reference_point=\[0.5, 10.0\] must have .* the study has {shown}"):
            goals.options(None, (0.5, 10.0))


def test_standard_errors_of_several_values_are_a_list() -> None:
    assert standard_errors(finished(user_attrs={"addtree:std": 0.1}), 1) == [0.1]
    assert standard_errors(finished(), 2) == [None, None]
    assert standard_errors(finished(user_attrs={"addtree:std": [0.1, None]}), 2) == [0.1, None]
    for wrong in (0.1, [0.1], [0.1, -1.0]):
        with pytest.raises(TrialError, match="'addtree:std' of trial"):
            standard_errors(finished(user_attrs={"addtree:std": wrong}), 2)


@pytest.mark.parametrize("space", [Space(k=Integer(10**17, 10**17 + 5)), None])
def test_whole_numbers_that_optuna_rounds_are_told_as_they_were_suggested(space: Space | None) -> None:
    """Optuna stores all six values as 10**17; the sampler still gives each of them once."""
    study = optuna.create_study(sampler=AddTreeSampler(space, seed=0, n_startup_trials=2))
    given: list[int] = []

    def objective(trial: optuna.Trial) -> float:
        given.append(trial.suggest_int("k", 10**17, 10**17 + 5))
        return float(given[-1] - 10**17)

    study.optimize(objective, n_trials=6)
    assert {trial.params["k"] for trial in study.trials} == {10**17}
    first = 0 if space is not None else 1  # without a space, the first trial is not a suggestion
    assert len(set(given[first:])) == 6 - first
    assert all(10**17 <= k <= 10**17 + 5 for k in given)


# ---------------------------------------------------------------------- what is stored


def branches(trial: optuna.Trial) -> float:
    if trial.suggest_categorical("model", ["line", "curve"]) == "line":
        return 1 + trial.suggest_float("slope", -1, 1) ** 2
    return (trial.suggest_float("bend", -1, 1) - 0.3) ** 2


def test_a_study_in_memory_has_no_attributes_of_ours() -> None:
    study = optuna.create_study(sampler=AddTreeSampler(seed=0, n_startup_trials=3))
    study.optimize(branches, n_trials=8)
    columns = pytest.importorskip("pandas").DataFrame(study.trials_dataframe()).columns
    assert [name for name in columns if "attrs" in name] == []


def test_threads_see_the_suggestions_of_a_study_in_memory() -> None:
    """The objective of the first trial has asked for nothing yet."""
    space = Space(a=Categorical([1, 2]))
    study = optuna.create_study(sampler=AddTreeSampler(space, seed=0))
    trials = [study.ask(), study.ask()]
    assert {trial.suggest_categorical("a", [1, 2]) for trial in trials} == {1, 2}


def test_suggestions_are_the_same_in_memory_and_in_a_database(tmp_path: Path) -> None:
    """Three trials run at a time; attributes in a database are read back by name, also those of earlier versions."""
    runs = []
    for storage in (None, f"sqlite:///{tmp_path}/study.db"):
        study = optuna.create_study(storage=storage, sampler=AddTreeSampler(seed=0, n_startup_trials=3))
        for _ in range(4):
            trials = [study.ask() for _ in range(3)]
            for trial in trials:
                study.tell(trial, branches(trial))
        runs.append([trial.params for trial in study.trials])
        stored = {name for trial in study.trials for name in trial.system_attrs}
        assert stored == (set() if storage is None else {"addtree:suggested:0"})
    assert runs[0] == runs[1]


def test_what_a_finished_trial_does_not_tell_is_stored_in_memory_too() -> None:
    study = optuna.create_study()
    trial = study.ask()
    TrialHistory().publish(study, study.trials[0], {"a": 2**60 + 1, "b": 0.5, "c": as_suggestion(0.25)})
    study.tell(trial, 1.0)
    assert published(study.trials[0]) == {"a": 2**60 + 1, "c": as_suggestion(0.25)}
