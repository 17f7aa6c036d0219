"""Initial configurations in a study: each is evaluated once, whatever the workers do."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from addtree import AddTreeError, Choice, Optimizer, Real, Space
from addtree._optuna.initial import InitialConfigs
from addtree._optuna.trials import LOST
from addtree.optuna import AddTreeSampler
from addtree.study.storage import open_storage
from addtree.study.studies import open_study
from addtree.study.task import Task, suggest_config
from addtree.study.tickets import claim, release
from addtree.study.worker import work

SPACE = Space(x=Real(0, 1), model=Choice(a=Space(), b=Space(y=Real(0, 1))))
INITIAL: list[dict[str, Any]] = [{"x": 0.3, "model": "a"}, {"y": 0.7}, {"x": 0.1, "model": "b", "y": 0.2}]


def objective(trial: optuna.Trial) -> float:
    x, model = trial.suggest_float("x", 0, 1), trial.suggest_categorical("model", ["a", "b"])
    return x if model == "a" else x + trial.suggest_float("y", 0, 1)


def has(trial: FrozenTrial, config: Mapping[str, Any]) -> bool:
    return trial.params.items() >= config.items()


def new_trial(study: optuna.Study) -> FrozenTrial:
    study._storage.create_new_trial(study._study_id)
    return study.trials[-1]


@pytest.mark.parametrize("space", [SPACE, None], ids=["declared", "define-by-run"])
def test_they_are_evaluated_first_and_a_resumed_study_does_not_repeat_them(space: Space | None) -> None:
    study = optuna.create_study(sampler=AddTreeSampler(space, seed=0, initial=INITIAL))
    for n_trials in (2, 10):
        study.optimize(objective, n_trials=n_trials)
        study.sampler = AddTreeSampler(space, seed=0, initial=INITIAL)
    assert study.trials[0].params == INITIAL[0]
    assert all(has(trial, config) for trial, config in zip(study.trials, INITIAL, strict=False))
    assert sum(has(trial, INITIAL[1]) for trial in study.trials) == 1
    assert len({str(trial.params) for trial in study.trials}) == 12


def test_a_declared_space_gives_what_the_optimizer_gives() -> None:
    study = optuna.create_study(sampler=AddTreeSampler(SPACE, seed=0, initial=INITIAL))
    study.optimize(objective, n_trials=14)
    optimizer = Optimizer(SPACE, seed=0, initial=INITIAL)
    for trial in study.trials:
        asked = optimizer.ask()
        assert asked.config == trial.params
        optimizer.tell(asked, trial.value)


def test_workers_that_start_together_take_different_ones() -> None:
    """The later trial decides first: it leaves the first configuration to the earlier one."""
    study = optuna.create_study()
    one, other, third = new_trial(study), new_trial(study), new_trial(study)
    initial = [InitialConfigs(INITIAL[:2]) for _ in range(3)]
    assert initial[0].take(study, other) == INITIAL[1]
    assert initial[1].take(study, third) == {}
    assert initial[2].take(study, one) == INITIAL[0]
    assert initial[0].take(study, other) == INITIAL[1]  # the same trial, asked again


def test_a_configuration_that_a_trial_has_is_skipped() -> None:
    study = optuna.create_study()
    study.enqueue_trial(INITIAL[0])
    study.optimize(objective, n_trials=1)
    study.enqueue_trial(INITIAL[2])
    assert InitialConfigs(INITIAL).take(study, new_trial(study)) == INITIAL[1]
    assert InitialConfigs(INITIAL).take(study, new_trial(study)) == {}


def test_an_enqueued_trial_keeps_its_own_parameters() -> None:
    study = optuna.create_study(sampler=AddTreeSampler(SPACE, seed=0, initial=INITIAL[:1]))
    study.enqueue_trial({"model": "b"})
    study.optimize(objective, n_trials=2)
    assert study.trials[0].params["model"] == "b"
    assert study.trials[1].params == INITIAL[0]


def test_a_list_may_grow_between_two_runs() -> None:
    study = optuna.create_study(sampler=AddTreeSampler(SPACE, seed=0, initial=INITIAL[1:]))
    study.optimize(objective, n_trials=5)
    study.sampler = AddTreeSampler(SPACE, seed=0, initial=INITIAL)
    study.optimize(objective, n_trials=2)
    assert study.trials[5].params == INITIAL[0]
    assert not has(study.trials[6], INITIAL[1])


def test_a_lost_trial_gives_its_configuration_to_its_replacement(tmp_path: Path) -> None:
    study = open_study(open_storage(str(tmp_path / "a.db")), "s", SPACE, seed=0, initial=INITIAL)
    first, second = claim(study, 3), claim(study, 3)
    assert first is not None
    assert second is not None
    first.suggest_float("x", 0, 1)  # the second is lost before it decides
    for number in (0, 1):
        release(study, study.trials[number])
    work(study, Task(lambda config: config["x"], SPACE), total=3)
    done = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
    assert [sum(has(trial, config) for trial in done) for config in INITIAL] == [1, 1, 1]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")  # threads share the warning filters
def test_several_workers_evaluate_each_once(tmp_path: Path) -> None:
    url = str(tmp_path / "a.db")
    initial = [{"x": i / 10, "model": "a"} for i in range(6)] + [{"y": 0.25}]

    def worker() -> None:
        study = open_study(open_storage(url), "s", SPACE, seed=0, initial=initial)
        work(study, Task(lambda config: config["x"], SPACE), total=12)

    open_study(open_storage(url), "s", SPACE, seed=0)
    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    trials = open_study(open_storage(url), "s", SPACE).trials
    takers = [trial for trial in trials if "addtree:initial" in trial.system_attrs]
    assert [sum(has(trial, config) for trial in takers) for config in initial] == [1] * 7


def test_values_outside_the_ranges_of_the_objective_become_the_nearest_ones() -> None:
    study = optuna.create_study(sampler=AddTreeSampler(seed=0, initial=[{"x": 3.0, "model": "a"}]))
    study.optimize(objective, n_trials=1)
    assert study.trials[0].params == {"x": 1.0, "model": "a"}


@pytest.mark.parametrize("space", [SPACE, None], ids=["declared", "define-by-run"])
@pytest.mark.parametrize("initial", [{"x": 0.5}, [3], [{3: 0.5}]])
def test_a_list_that_is_not_one_of_configurations_is_refused(space: Space | None, initial: Any) -> None:
    with pytest.raises(AddTreeError, match="initial"):
        AddTreeSampler(space, initial=initial)


def test_a_declared_space_checks_them() -> None:
    with pytest.raises(AddTreeError, match=r"initial\[1\]: parameter 'y': 7.0 is out of bounds"):
        AddTreeSampler(SPACE, initial=[{"x": 0.5}, {"y": 7}])


def test_suggest_config_gives_them() -> None:
    study = optuna.create_study(sampler=AddTreeSampler(SPACE, seed=0, initial=INITIAL))
    assert suggest_config(study.ask(), SPACE) == INITIAL[0]


def test_a_trial_that_was_lost_before_its_suggestion_was_known_gives_its_configuration_back() -> None:
    study, initial = optuna.create_study(), InitialConfigs(INITIAL)
    lost = new_trial(study)
    assert initial.take(study, lost) == INITIAL[0]
    study._storage.set_trial_system_attr(lost._trial_id, LOST, True)
    study.tell(lost.number, state=TrialState.FAIL)
    assert initial.take(study, new_trial(study)) == INITIAL[0]
