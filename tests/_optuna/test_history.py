"""`AddTreeSampler(history=...)`: earlier studies, with a declared space and define-by-run."""

import pickle

import optuna
import pytest

from addtree import Optimizer, OptionError
from addtree.optuna import AddTreeSampler
from tests.run.test_history import SPACE, objective, pairs, study


def define_by_run(trial):
    config = {"x": trial.suggest_float("x", 0, 1), "n": trial.suggest_int("n", 1, 9)}
    config["model"] = trial.suggest_categorical("model", ["a", "b", "c"])
    if config["model"] == "a":
        config["y"] = trial.suggest_float("y", -1, 1)
    elif config["model"] == "b":
        config["z"] = trial.suggest_categorical("z", ["u", "v"])
    return objective(config)


def run(sampler, n=10):
    made = optuna.create_study(sampler=sampler)
    made.optimize(define_by_run, n_trials=n)
    return made


def test_a_declared_space_begins_as_an_optimizer_with_the_same_history():
    history = [study(n=30), pairs()]
    made = run(AddTreeSampler(SPACE, seed=0, history=history))
    optimizer = Optimizer(SPACE, seed=0, history=history)
    for trial in made.trials:
        asked = optimizer.ask()
        assert asked.config == pytest.approx(trial.params)
        optimizer.tell(asked, trial.value)


def test_define_by_run_begins_with_the_best_of_each_study_and_then_uses_them_all():
    old = study(n=40)
    made = run(AddTreeSampler(seed=0, history=[old, pairs()]), 10)
    best = min(pairs(), key=lambda pair: pair[1])[0]
    assert [t.params for t in made.trials[:2]] == [old.best_params, best]
    assert made.best_value < run(AddTreeSampler(seed=0), 10).best_value


def test_studies_carry_their_direction_and_pairs_have_that_of_the_new_study():
    up = [(config, -value) for config, value in pairs()]
    for space in (SPACE, None):
        sampler = AddTreeSampler(space, seed=0, history=[study("maximize", n=30), up])
        made = optuna.create_study(direction="maximize", sampler=sampler)
        made.optimize(lambda trial: -define_by_run(trial), n_trials=12)
        same = run(AddTreeSampler(space, seed=0, history=[study("minimize", n=30), pairs()]), 12)
        assert [t.params for t in made.trials] == [t.params for t in same.trials]


def test_a_sampler_with_history_can_be_sent_to_another_process():
    sampler = AddTreeSampler(SPACE, seed=0, history=[study(n=30)])
    again = pickle.loads(pickle.dumps(sampler))
    assert [t.params for t in run(again, 6).trials] == [t.params for t in run(sampler, 6).trials]


def two_values(trial):
    value = define_by_run(trial)
    return value, trial.params.get("y", -1.0)


def test_several_objectives_are_those_at_the_same_places():
    earlier = optuna.create_study(directions=["minimize", "maximize"], sampler=AddTreeSampler(seed=1))
    earlier.optimize(two_values, n_trials=30)
    optimizer = Optimizer(SPACE, seed=0, objectives={"loss": "min", "y": "max"})
    listed = []
    for trial in earlier.trials:
        optimizer.tell(trial.params, dict(zip(("loss", "y"), trial.values, strict=True)))
        listed.append((trial.params, trial.values))
    for space in (SPACE, None):
        runs = []
        for history in (earlier, optimizer, listed):
            made = optuna.create_study(
                directions=["minimize", "maximize"], sampler=AddTreeSampler(space, seed=0, history=[history])
            )
            made.optimize(two_values, n_trials=8)
            runs.append([trial.params for trial in made.trials])
        assert runs[0] == runs[1] == runs[2]
        assert runs[0][0] in [trial.params for trial in earlier.trials]
        assert runs[0][0]["model"] == "a"


def test_a_study_refuses_a_history_without_its_objectives():
    made = optuna.create_study(directions=["minimize", "maximize"], sampler=AddTreeSampler(history=[study()]))
    with pytest.raises(OptionError, match=r"is a study with 1 objective, and the new one has 2 \('0', '1'\)"):
        made.optimize(two_values, n_trials=1)
