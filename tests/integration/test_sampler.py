"""AddTreeSampler in whole studies: what it learns from, what it suggests, and that a seed reproduces it."""

from __future__ import annotations

import json
import logging
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import IntDistribution
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState

from addtree import AddTreeError, Categorical, Choice, Integer, Optimizer, Real, Space
from addtree.optuna import AddTreeSampler
from addtree.problems import synthetic
from addtree.search.hypervolume import hypervolumes
from benchmarks.sampler import DYNAMIC, define_by_run, dynamic_values, interval

TWO_BRANCHES = Space(x=Real(0, 1), m=Choice(a=Space(y=Real(0, 1)), b=Space(z=Real(0, 1))))


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def layers(trial: optuna.Trial) -> float:
    n = trial.suggest_int("n_layers", 1, 4)
    widths = [trial.suggest_int(f"units_{i}", 8, 64, step=8) for i in range(n)]
    return (n - 3) ** 2 + sum((w - 32) ** 2 for w in widths) / 1000


def params_of(study: optuna.Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def optimized(objective: Callable[[optuna.Trial], float], n: int, **settings: Any) -> optuna.Study:
    study = optuna.create_study(sampler=AddTreeSampler(**settings))
    study.optimize(objective, n_trials=n)
    return study


def test_unchanged_define_by_run_code_is_optimised_as_a_tree() -> None:
    """The median of five seeds, otherwise as in `benchmarks/sampler.py`; a single seed may be slow."""
    best = [optimized(define_by_run, 30, seed=seed).best_value for seed in range(5)]
    assert median(best) - 0.1 <= 10**-3.5


def test_an_integer_opens_layers() -> None:
    study = optimized(layers, 40, seed=1)
    assert study.best_params["n_layers"] == 3
    assert study.best_value <= 0.2  # Three widths are one step off.


@pytest.mark.parametrize("both", [True, False])
def test_a_parameter_that_two_choices_open_does_not_cause_repetitions(both: bool) -> None:
    def objective(trial: optuna.Trial) -> float:
        a, b = (trial.suggest_categorical(name, [True, False]) for name in "ab")
        if (a and b) if both else (a or b):
            return 0.1 * b + (trial.suggest_float("z", 0, 1) - 0.3) ** 2
        return 0.5

    params = params_of(optimized(objective, 40, seed=0))
    n_repeated = len(params) - len({repr(sorted(found.items())) for found in params})
    assert n_repeated <= 3  # It takes a few trials to see that nothing explains the parameter.


def test_a_choice_that_two_choices_open_does_not_cause_repetitions() -> None:
    """Where it is missing, its first option is filled in, and what that opens is missing too."""

    def objective(trial: optuna.Trial) -> float:
        a, b, n = (*(trial.suggest_categorical(name, [True, False]) for name in "ab"), trial.suggest_int("n", 1, 6))
        value = 0.05 * a + 0.03 * b + 0.1 * abs(n - 3)
        if a and b and trial.suggest_categorical("kind", ["on", "off"]) == "on":
            value += (trial.suggest_float("z", 0, 1) - 0.3) ** 2
        return value

    params = params_of(optimized(objective, 40, seed=0))
    n_repeated = len(params) - len({repr(sorted(found.items())) for found in params})
    assert n_repeated <= 3


def test_a_parameter_that_either_of_two_gates_opens_does_not_cause_repetitions() -> None:
    """The gates may both open it, so it has no place in a tree. The second one has a dynamic range beside it."""

    def objective(trial: optuna.Trial) -> float:
        a, n = trial.suggest_categorical("a", "uvw"), trial.suggest_int("n", 1, 6)
        x = trial.suggest_int("x", 0, n)
        z = trial.suggest_float("z", 0, 1) if a == "w" or n == 5 else 0.0
        return 0.3 * (a != "v") + 0.1 * abs(n - 6) + 0.05 * abs(x - 2) + z

    params = params_of(optimized(objective, 45, seed=0))
    n_repeated = len(params) - len({repr(sorted(found.items())) for found in params})
    assert n_repeated <= 3


def test_a_parameter_that_two_choices_open_does_not_prevent_repetitions_under_noise() -> None:
    rng = np.random.default_rng(0)

    def objective(trial: optuna.Trial) -> float:
        a, b = (trial.suggest_categorical(name, [True, False]) for name in "ab")
        z = trial.suggest_float("z", 0, 1) if a and b else 0.0
        return 0.2 * a - 0.5 * b + z + rng.normal(0, 0.1)

    params = params_of(optimized(objective, 40, seed=0))
    assert params.count({"a": False, "b": True}) >= 10


def test_startup_reaches_every_option() -> None:
    def objective(trial: optuna.Trial) -> float:
        return float(trial.suggest_categorical(f"under_{trial.suggest_categorical('c', range(7))}", [1, 2]))

    study = optimized(objective, 14, seed=0)
    assert {(p["c"], p[f"under_{p['c']}"]) for p in params_of(study)} == {(c, v) for c in range(7) for v in (1, 2)}


def test_a_declared_space_gives_what_the_optimizer_gives() -> None:
    problem = synthetic()
    study = optimized(define_by_run, 20, space=problem.space, seed=3)
    optimizer = Optimizer(problem.space, seed=3)
    for trial in study.trials:
        asked = optimizer.ask()
        assert asked.config == trial.params
        optimizer.tell(asked, trial.value)


def test_options_that_are_whole_numbers_may_be_suggested_as_integers() -> None:
    space = Space(n=Choice({1: Space(a=Real(0, 1)), 2: Space(b=Real(0, 1))}), k=Integer(1, 9))

    def objective(trial: optuna.Trial) -> float:
        n = trial.suggest_int("n", 1, 2)
        return trial.suggest_float("a" if n == 1 else "b", 0, 1) + trial.suggest_int("k", 1, 9) + n

    study = optimized(objective, 15, space=space, seed=0)
    assert study.best_value < 2.1


def test_a_seed_makes_it_reproducible() -> None:
    assert params_of(optimized(layers, 16, seed=5)) == params_of(optimized(layers, 16, seed=5))
    assert params_of(optimized(layers, 4, seed=5)) != params_of(optimized(layers, 4, seed=6))


def test_maximising_is_minimising_the_negative() -> None:
    least = optimized(define_by_run, 15, seed=2)
    largest = optuna.create_study(direction="maximize", sampler=AddTreeSampler(seed=2))
    largest.optimize(lambda trial: -define_by_run(trial), n_trials=15)
    assert params_of(least) == params_of(largest)


def test_failed_and_pruned_trials_are_used() -> None:
    """One option crashes, and another is pruned. The sampler still finds the best of the third."""

    def objective(trial: optuna.Trial) -> float:
        model = trial.suggest_categorical("model", ["crash", "bad", "good"])
        x = trial.suggest_float(f"{model}_x", -1, 1)
        if model == "crash":
            raise ArithmeticError
        trial.report(x**2 + (model == "bad"), 0)
        if model == "bad":
            raise optuna.TrialPruned
        return x**2

    study = optuna.create_study(sampler=AddTreeSampler(seed=0))
    study.optimize(objective, n_trials=30, catch=ArithmeticError)
    crashed = [t.number for t in study.trials if t.state == TrialState.FAIL]
    assert 2 <= len(crashed) < 12
    assert study.best_value < 1e-3


EARLY_END = Space(x=Real(-1, 1), c=Choice(bad=Space(), good=Space(y=Real(0, 1))))


@pytest.mark.parametrize("error", [ArithmeticError, optuna.TrialPruned])
@pytest.mark.parametrize("space", [None, EARLY_END])
def test_trials_that_end_early_show_where_others_would(space: Space | None, error: type[Exception]) -> None:
    """What a trial did not ask for is not the reason why it ended. No parameters are repeated."""

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", -1, 1)
        if x < -0.2:
            raise error
        if trial.suggest_categorical("c", ["bad", "good"]) == "bad":
            raise error
        return x**2 + trial.suggest_float("y", 0, 1)

    study = optuna.create_study(sampler=AddTreeSampler(space, seed=0))
    study.optimize(objective, n_trials=40, catch=ArithmeticError)
    assert sum(t.state == TrialState.COMPLETE for t in study.trials) >= 18
    assert study.best_value < 0.01
    assert len({repr(sorted(params.items())) for params in params_of(study)}) == 40


def test_trials_that_are_pruned_without_a_value_are_avoided() -> None:
    """Many write a rule between parameters like this in Optuna."""

    def objective(trial: optuna.Trial) -> float:
        low, high = trial.suggest_float("low", 0, 1), trial.suggest_float("high", 0, 1)
        if low > high:
            raise optuna.TrialPruned
        return (low - 0.6) ** 2 + (high - 0.6) ** 2

    study = optimized(objective, 40, seed=0)
    assert sum(t.state == TrialState.PRUNED for t in study.trials) <= 20
    assert study.best_value < 1e-3


def test_pruned_trials_are_not_taken_for_noise() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        y = trial.suggest_float("y", 0, 1) if trial.suggest_categorical("m", "ab") == "a" else 0.5
        for step in range(1, 10):
            trial.report((x - 0.3) ** 2 + (y - 0.6) ** 2 + 1 / step, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return (x - 0.3) ** 2 + (y - 0.6) ** 2

    study = optuna.create_study(sampler=AddTreeSampler(seed=0), pruner=optuna.pruners.SuccessiveHalvingPruner())
    study.optimize(objective, n_trials=60)
    assert len({repr(sorted(params.items())) for params in params_of(study)}) == 60


def test_an_exhausted_dynamic_range_does_not_repeat_other_options() -> None:
    def objective(trial: optuna.Trial) -> float:
        prep = trial.suggest_categorical("prep", ["none", "pca", "select"])
        most = {"none": 0, "pca": 8, "select": 50}[prep]
        return abs(trial.suggest_int("n", 1, most) - 4) if most else 3.0

    params = params_of(optimized(objective, 50, seed=0))
    assert params.count({"prep": "none"}) <= 2


def test_infeasible_trials_do_not_attract_the_search() -> None:
    """The least value is infeasible. The best feasible one is at the border, 0.5."""

    def constraint(trial: optuna.trial.FrozenTrial) -> list[float]:
        return [0.5 - trial.params["x"]]

    study = optimized(lambda t: t.suggest_float("x", 0, 1), 30, seed=0, constraints_func=constraint)
    feasible = [t.value for t in study.trials if t.value is not None and t.value >= 0.5]
    assert min(feasible) < 0.52
    assert len(feasible) >= 10
    by_trial = optuna.create_study(sampler=AddTreeSampler(seed=0))  # Optuna's own constraints give the same.

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint("border", 0.5 - x)
        return x

    by_trial.optimize(objective, n_trials=30)
    assert params_of(by_trial) == params_of(study)


def test_categories_that_optuna_takes_for_one_cause_no_repeated_trials() -> None:
    def objective(trial: optuna.Trial) -> float:
        flag = trial.suggest_categorical("flag", [True, 1, 1.0, "no"])
        return float(trial.suggest_categorical("size", [3, 5, 7]) + (flag == "no"))

    params = params_of(optimized(objective, 6, seed=0))
    assert len({repr(found) for found in params}) == 6


def test_pending_trials_are_not_repeated() -> None:
    """As long as no value is told, a finite space gives each of its configurations once."""
    study = optuna.create_study(sampler=AddTreeSampler(seed=0, n_startup_trials=2))
    asked = []
    for _ in range(12):
        trial = study.ask()
        asked.append((trial.suggest_int("a", 0, 2), trial.suggest_categorical("b", ["x", "y", "z", "w"])))
        if len(asked) == 1:
            study.tell(trial, 0.0)
    assert len(set(asked)) == 12


class RacingStorage(InMemoryStorage):
    """A storage in which another worker evaluates the first published suggestion before it is visible."""

    def __init__(self) -> None:
        super().__init__()
        self.raced: list[dict[str, Any]] = []

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        if key.startswith("addtree:suggested") and not self.raced:
            self.raced.append(json.loads(value))
            other = optuna.create_trial(
                params=self.raced[0],
                distributions={name: IntDistribution(0, 1) for name in self.raced[0]},
                value=1.0,
            )
            self.create_new_trial(self.get_study_id_from_name("s"), template_trial=other)
        super().set_trial_system_attr(trial_id, key, value)


def test_a_configuration_that_another_worker_just_took_is_not_suggested() -> None:
    """The space has four configurations: one waits, one is finished by another worker, and two are left."""
    space = Space(a=Integer(0, 1), b=Integer(0, 1))
    storage = RacingStorage()
    study = optuna.create_study(study_name="s", storage=storage, sampler=AddTreeSampler(space, seed=0))
    trials = [optuna.Trial(study, storage.create_new_trial(study._study_id)) for _ in range(2)]
    waiting = {"a": 0, "b": 1}
    study.enqueue_trial(waiting)
    got = [{name: trial.suggest_int(name, 0, 1) for name in ("a", "b")} for trial in trials]
    assert all(config not in got for config in (waiting, *storage.raced))
    assert got[0] != got[1]


def test_a_waiting_trial_counts_as_pending() -> None:
    space = Space(a=Integer(0, 1), b=Integer(0, 1))
    study = optuna.create_study(sampler=AddTreeSampler(space, seed=0))
    study.optimize(lambda t: t.suggest_int("a", 0, 1) + t.suggest_int("b", 0, 1), n_trials=1)
    first = study.trials[0].params
    waiting = {**first, "a": 1 - first["a"]}
    storage = study._storage
    running = [optuna.Trial(study, storage.create_new_trial(study._study_id)) for _ in range(2)]
    study.enqueue_trial(waiting)
    got = [{name: trial.suggest_int(name, 0, 1) for name in ("a", "b")} for trial in running]
    assert first not in got
    assert waiting not in got
    assert got[0] != got[1]


def test_threads_share_one_sampler() -> None:
    study = optuna.create_study(sampler=AddTreeSampler(seed=0))
    study.optimize(define_by_run, n_trials=24, n_jobs=2)
    assert len({tuple(sorted(p.items())) for p in params_of(study)}) == 24


def test_a_pickled_sampler_continues_and_does_not_contain_the_trials() -> None:
    study = optimized(define_by_run, 12, seed=0)
    copy = pickle.loads(pickle.dumps(study.sampler))
    assert len(pickle.dumps(copy)) < 1000
    study.sampler = copy
    study.optimize(define_by_run, n_trials=3)
    assert len(study.trials) == 15


def test_one_sampler_in_two_studies() -> None:
    sampler = AddTreeSampler(seed=0)
    for objective in (define_by_run, layers):
        study = optuna.create_study(sampler=sampler)
        study.optimize(objective, n_trials=12)
        assert len(study.trials) == 12


def test_a_database_gives_the_same_suggestions_as_memory(tmp_path: Path) -> None:
    study = optuna.create_study(storage=f"sqlite:///{tmp_path / 'a.db'}", sampler=AddTreeSampler(seed=0))
    study.optimize(define_by_run, n_trials=14)
    assert params_of(study) == params_of(optimized(define_by_run, 14, seed=0))


def test_enqueued_configurations_are_not_changed() -> None:
    study = optuna.create_study(sampler=AddTreeSampler(seed=0))
    study.optimize(define_by_run, n_trials=3)
    fixed = {"x1": 1, "r9": 0.25, "x3": 0, "x6": 0.5}
    study.enqueue_trial(fixed)
    study.enqueue_trial({"x1": 0})
    study.optimize(define_by_run, n_trials=2)
    assert study.trials[3].params == fixed
    assert study.trials[4].params["x1"] == 0


def test_an_enqueued_value_of_another_kind_does_not_stop_other_trials() -> None:
    """Optuna refuses the enqueued value when its trial asks for it. Until then the trial waits, and others run."""
    study = optuna.create_study(sampler=AddTreeSampler(seed=0))
    study.optimize(define_by_run, n_trials=3)
    other = optuna.Trial(study, study._storage.create_new_trial(study._study_id))
    study.enqueue_trial({"x1": "unknown"})
    assert define_by_run(other) > 0
    with pytest.raises(ValueError, match="'unknown' not in"):
        define_by_run(study.ask())


def test_suggestions_stay_within_a_range_that_depends_on_another_parameter() -> None:
    def objective(trial: optuna.Trial) -> float:
        high = trial.suggest_int("high", 1, 5)
        return high - trial.suggest_float("x", 0, high)

    study = optimized(objective, 20, seed=0)
    assert all(0 <= p["x"] <= p["high"] for p in params_of(study))


@pytest.mark.parametrize("objective", DYNAMIC, ids=lambda objective: objective.__name__)
def test_dynamic_ranges_have_no_duplicates_and_beat_tpe(objective: Callable[[optuna.Trial], float]) -> None:
    """As in `benchmarks/sampler.py dynamic`, with one seed."""
    ours, repeated = dynamic_values(AddTreeSampler(seed=0), objective)
    tpe, _ = dynamic_values(optuna.samplers.TPESampler(seed=0), objective)
    assert repeated == 0
    assert ours < tpe


def skips(trial: optuna.Trial) -> float:
    """58 configurations."""
    n = trial.suggest_int("n_layers", 1, 4)
    n_skips = trial.suggest_int("n_skips", 0, n - 1)
    kinds = [trial.suggest_categorical(f"skip_{i}", ["add", "concat", "none"]) for i in range(n_skips)]
    return abs(n - 3) * 0.3 + abs(n_skips - 2) * 0.2 + len(kinds) - kinds.count("add")


def leaves(trial: optuna.Trial) -> float:
    depth = trial.suggest_int("depth", 1, 5)
    n = trial.suggest_int("leaves", 2, 2**depth)
    return depth + n + (trial.suggest_float("reg", 0, 1) if n > 8 else 0.0)


@pytest.mark.parametrize("objective", [skips, leaves])
def test_a_dynamic_number_that_opens_parameters_causes_no_repeated_trials(
    objective: Callable[[optuna.Trial], float],
) -> None:
    """It is modelled by its values, so the suggested one may lie outside of the range that the code then asks for."""
    study = optimized(objective, 40, seed=0)
    assert len({repr(sorted(params.items())) for params in params_of(study)}) == 40


def test_edited_code_with_a_parameter_that_nothing_explains_causes_no_repeated_trials() -> None:
    """`a` was narrowed, so suggestions keep to its present range, also those that are drawn at random."""

    def objective(high: int) -> Callable[[optuna.Trial], float]:
        def value(trial: optuna.Trial) -> float:
            a, b = trial.suggest_int("a", 1, high), trial.suggest_categorical("b", [0, 1, 2])
            return a + b + (trial.suggest_float("x", 0, 1) if (a + b) % 3 == 0 else 1)

        return value

    study = optimized(objective(8), 12, seed=1)
    study.optimize(objective(6), n_trials=18)
    assert len({repr(sorted(params.items())) for params in params_of(study)}) == 30
    assert all(params["a"] <= 6 for params in params_of(study)[12:])


def test_two_workers_share_suggestions_for_dynamic_ranges() -> None:
    """The suggestion of a running trial is known to others as positions before its ranges are known."""
    study = optimized(interval, 15, seed=0)
    trials = [study.ask() for _ in range(4)]
    asked = [interval(trial) for trial in trials]
    assert len(set(asked)) == 4


def test_a_range_may_turn_out_to_be_dynamic_while_another_worker_asks() -> None:
    """Optuna asks for the relative search space first, and later for the values."""
    study = optuna.create_study(sampler=AddTreeSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1 + trial.number), n_trials=3)
    sampler, trial = study.sampler, study._storage.get_trial(study.ask()._trial_id)
    search_space = sampler.infer_relative_search_space(study, trial)
    assert search_space.keys() == {"x"}
    study.tell(other := study.ask(), other.suggest_float("x", 0, 1))
    assert sampler.sample_relative(study, trial, search_space) == {}
    assert 0 <= sampler.sample_independent(study, trial, "x", IntDistribution(0, 7)) <= 7


def test_a_suggestion_outside_of_the_range_keeps_its_position() -> None:
    """After one trial the range is not known to be dynamic. The suggestion then moves with the range."""
    study = optuna.create_study(sampler=AddTreeSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    copy = optuna.create_study(sampler=AddTreeSampler(seed=0))
    copy.add_trials(study.trials)
    suggested = copy.ask().suggest_float("x", 0, 1)
    assert study.ask().suggest_float("x", 10, 20) == pytest.approx(10 + 10 * suggested)


def test_the_space_of_a_study_is_the_declared_or_the_inferred_one() -> None:
    problem = synthetic()
    declared = AddTreeSampler(problem.space)
    assert declared.space(optuna.create_study()) is problem.space
    sampler = AddTreeSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    assert sampler.space(study) is None
    study.optimize(define_by_run, n_trials=12)
    found = sampler.space(study)
    assert found is not None
    assert {name: set(c) for name, c in found.conditions.items()} == {
        name: set(c) for name, c in problem.space.conditions.items()
    }


def test_a_warning_names_each_contradiction_of_a_declared_space(caplog: pytest.LogCaptureFixture) -> None:
    space = Space(
        model=Choice(a=Space(), b=Space()), kind=Categorical(["u", "v"]), x=Real(0, 1), n=Integer(1, 3), k=Integer(1, 3)
    )

    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical("model", ["b", "a"])
        trial.suggest_categorical("kind", ["u", "w"])
        trial.suggest_float("k", 1, 3)
        return trial.suggest_float("x", 0, 2) + trial.suggest_float("why", 0, 1) + trial.suggest_int("n", 1, 3)

    with caplog.at_level(logging.WARNING, "addtree"):
        optimized(objective, 4, space=space, seed=0)
    messages = [record.getMessage() for record in caplog.records if "contradicts the space" in record.getMessage()]
    assert len(messages) == 5
    problems = {
        "model": "in another order",
        "kind": "one of 'u', 'v'",
        "x": "real [0, 1]",
        "k": "integer 1..3",
        "why": "not in the declared space",
    }
    for name, problem in problems.items():
        assert sum(f", {name!r} " in message and problem in message for message in messages) == 1


def test_an_objective_with_other_active_parameters_than_declared_is_searched(caplog: pytest.LogCaptureFixture) -> None:
    space = Space(
        x=Real(0, 1), y=Real(0, 1), model=Choice(a=Space(p=Real(0, 1)), b=Space(q=Real(0, 1))), k=Integer(3, 3)
    )

    def objective(trial: optuna.Trial) -> float:  # it never asks for y and p, and asks for q also where model is a
        is_a = trial.suggest_categorical("model", ["a", "b"]) == "a"
        return is_a + (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + (trial.suggest_float("q", 0, 1) - 0.6) ** 2

    with caplog.at_level(logging.WARNING, "addtree"):
        study = optimized(objective, 25, space=space, seed=0)
    assert study.best_value < 1e-4
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 3
    for name, problem in {"y": "not asked for", "p": "not asked for", "q": "inactive"}.items():
        assert sum(f", {name!r} " in message and problem in message for message in messages) == 1


def test_categories_in_another_order_than_declared_work() -> None:
    space = Space(model=Choice(a=Space(x=Real(-1, 1)), b=Space(y=Real(-1, 1))))

    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("model", ["b", "a"]) == "a":
            return trial.suggest_float("x", -1, 1) ** 2
        return 1 + trial.suggest_float("y", -1, 1) ** 2

    study = optimized(objective, 20, space=space, seed=0)
    assert study.best_params["model"] == "a"
    assert study.best_value < 1e-3


def test_a_study_whose_code_changes_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """A range is narrowed, another one is widened, a parameter is added, and one is removed."""

    def before(trial: optuna.Trial) -> float:
        x, y, old = (trial.suggest_float(name, 0, 10) for name in ("x", "y", "old"))
        return (x - 3) ** 2 + (y - 10) ** 2 + old

    def after(trial: optuna.Trial) -> float:
        x, y, new = trial.suggest_float("x", 0, 5), trial.suggest_float("y", 0, 20), trial.suggest_float("new", 0, 1)
        return (x - 3) ** 2 + (y - 12) ** 2 + new

    study = optimized(before, 20, seed=0)
    with caplog.at_level(logging.WARNING, "addtree"):
        study.optimize(after, n_trials=25)
    found = [trial for trial in study.trials if "new" in trial.params]
    assert min(trial.value or 0.0 for trial in found) < 0.1
    assert len({tuple(trial.params.values()) for trial in found}) == 25
    assert not caplog.records  # Nothing is lost.


def two_objectives(trial: optuna.Trial) -> tuple[float, float]:
    x = trial.suggest_float("x", 0, 1)
    if trial.suggest_categorical("m", ["a", "b"]) == "a":
        y = trial.suggest_float("y", 0, 1)
        return x**2 + y**2, (x - 1) ** 2 + (y - 0.5) ** 2
    z = trial.suggest_float("z", 0, 1)
    return x**2 + z**2 + 0.05, (x - 1) ** 2 + (z - 1) ** 2


@pytest.mark.parametrize("space", [None, TWO_BRANCHES])
def test_two_directions_find_a_front(space: Space | None) -> None:
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=AddTreeSampler(space, seed=0))
    study.optimize(two_objectives, n_trials=25)
    assert len(study.best_trials) >= 8
    volume = hypervolumes(np.array([trial.values for trial in study.trials]), np.array([2.0, 2.0]))[-1]
    assert volume > 3.1


def test_sample_relative_with_two_directions() -> None:
    """The suggestion is that of an optimizer with these objectives that was told the same trials."""
    study = optuna.create_study(directions=["minimize", "maximize"])
    rng = np.random.default_rng(0)
    distributions = {
        "x": optuna.distributions.FloatDistribution(0, 1),
        "m": optuna.distributions.CategoricalDistribution(["a", "b"]),
        "y": optuna.distributions.FloatDistribution(0, 1),
        "z": optuna.distributions.FloatDistribution(0, 1),
    }
    optimizer = Optimizer(TWO_BRANCHES, seed=3, objectives={"f": "min", "g": "max"}, constraints={"c": 0.0})
    for _ in range(15):
        config = TWO_BRANCHES.sample(rng)
        f, g, c = config["x"], config["x"] ** 2 + config.get("z", 0.0), 0.2 - config["x"]
        own = {name: distributions[name] for name in config}
        study.add_trial(optuna.create_trial(params=config, distributions=own, values=[f, g], constraints={"c": c}))
        optimizer.tell(config, {"f": f, "g": g, "c": c})
    sampler = AddTreeSampler(TWO_BRANCHES, seed=3)
    running = study.ask()
    trial = study._storage.get_trial(running._trial_id)
    assert sampler.sample_relative(study, trial, distributions) == optimizer.suggest(16)


def test_parameters_are_relative_once_the_objective_asked_for_them() -> None:
    def objective(trial: optuna.Trial) -> float:
        return trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 1e-3, 1, log=True)

    old = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    old.optimize(objective, n_trials=10)
    study = optuna.create_study(sampler=AddTreeSampler(seed=0))
    study.add_trials(old.trials)
    trial = study.ask()
    assert trial.relative_params == {}
    study.tell(trial, objective(trial))
    assert study.ask().relative_params.keys() == {"x", "y"}


def test_constraints_and_two_directions_together() -> None:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        values = two_objectives(trial)
        trial.set_constraint("x", 0.4 - trial.params["x"])
        return values

    study = optuna.create_study(directions=["minimize", "minimize"], sampler=AddTreeSampler(seed=0))
    study.optimize(objective, n_trials=25)
    late = [trial for trial in study.trials[15:] if trial.params["x"] >= 0.4]
    assert len(late) >= 7
    with pytest.raises(ValueError, match="needs one objective"):
        study.sampler.recommend(study)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "wrong",
    [
        {"space": "x"},
        {"n_startup_trials": -1},
        {"n_startup_trials": None},
        {"n_startup_trials": 2.5},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": "0"},
        {"constraints_func": 3},
        {"reference_point": 0.5},
        {"reference_point": {"error": 0.5, "speed": 1.0}},
        {"reference_point": [0.5, math.inf]},
    ],
)
def test_wrong_arguments_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(AddTreeError, match=next(iter(wrong))):
        AddTreeSampler(**wrong)


@pytest.mark.parametrize("returned", [0.5, None, ["much"], [float("nan")]])
def test_wrong_constraints_are_named(returned: Any) -> None:
    study = optuna.create_study(sampler=AddTreeSampler(seed=0, constraints_func=lambda _: returned))
    with pytest.raises(AddTreeError, match=r"constraints_func returned .* for trial 0"):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)


def test_an_infinite_value_counts_as_failed_and_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", -1, 1)
        y = trial.suggest_float("y", 0, 1) if trial.suggest_categorical("m", "ab") == "a" else 0.0
        return math.inf if x < 0 else x + y

    with caplog.at_level(logging.WARNING, logger="addtree"):
        study = optimized(objective, 20, seed=0)
    (message,) = [record.getMessage() for record in caplog.records if record.name == "addtree"]
    first = next(trial for trial in study.trials if trial.value == math.inf)
    assert message.startswith(f"trial {first.number} has the values [inf] and counts as failed")


def test_a_parameter_may_have_an_empty_name() -> None:
    study = optimized(lambda trial: trial.suggest_float("", 0, 1) + trial.suggest_float("x", 0, 1), 12, seed=0)
    space = study.sampler.space(study)  # type: ignore[attr-defined]
    assert list(space.variables) == ["x"]


def test_code_may_change_its_scale_and_its_categories_between_two_studies() -> None:
    """Optuna refuses both within one study. The trials are copied to another one."""

    def objective(trial: optuna.Trial, *, log: bool, models: list[str | None]) -> float:
        rate = trial.suggest_float("rate", 1e-4, 1, log=log)
        model = trial.suggest_categorical("model", models)
        return rate + (trial.suggest_float("C", 0, 1) if model == "svm" else 0.5)

    old = optuna.create_study(sampler=AddTreeSampler(seed=0))
    old.optimize(lambda trial: objective(trial, log=False, models=["svm", None, "gone"]), n_trials=12)
    new = optuna.create_study(sampler=AddTreeSampler(seed=0))
    new.add_trials(old.trials)
    new.optimize(lambda trial: objective(trial, log=True, models=[None, "new", "svm"]), n_trials=12)
    assert "new" in {trial.params["model"] for trial in new.trials[12:]} <= {None, "new", "svm"}
    assert new.best_value < 0.05


def test_a_sampler_may_serve_two_studies_in_turn(tmp_path: Path) -> None:
    """Each trial gets what was suggested for it, even if the other study was read in between."""

    def first_half(trial: optuna.Trial) -> float:
        return trial.suggest_float("x", 0, 1)

    def both(trial: optuna.Trial) -> float:
        return first_half(trial) + trial.suggest_float("y", 0, 1)

    alone, sampler = AddTreeSampler(seed=0), AddTreeSampler(seed=0)
    values = []
    for interrupted in (False, True):
        storage = f"sqlite:///{tmp_path}/{interrupted}.db"
        study = optuna.create_study(storage=storage, sampler=sampler if interrupted else alone)
        study.optimize(both, n_trials=12)
        trial = study.ask()
        first_half(trial)
        if interrupted:
            optuna.create_study(sampler=sampler).optimize(both, n_trials=1)
        values.append(both(trial))
    assert values[0] == values[1]
