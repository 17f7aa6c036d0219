"""Where parameters belong, by the trials that have them."""

from __future__ import annotations

import numpy as np
import optuna

from addtree._optuna.structure import ObservedTrial, infer_structure
from addtree.space.assembly import Gate
from benchmarks.structure import is_right, programs, trials_of


def test_layers_belong_to_the_numbers_of_layers_that_have_them() -> None:
    trials = [ObservedTrial({"n_layers": n - 1, **{f"units_{i}": None for i in range(n)}}) for n in (1, 2, 3)]
    found = infer_structure(trials, {"n_layers": Gate(3, ordered=True)}).parents
    assert found["units_0"] == {None}
    assert found["units_1"] == {("n_layers", 1), ("n_layers", 2)}
    assert found["units_2"] == {("n_layers", 2)}


def test_without_trials_there_is_no_structure() -> None:
    assert infer_structure([], {}).parents == {}


def test_a_trial_that_ended_early_is_not_evidence_of_absence() -> None:
    trials = [
        ObservedTrial({"model": 0, "C": None}),
        ObservedTrial({"model": 0}, complete=False),
        ObservedTrial({"model": 1}),
    ]
    assert infer_structure(trials, {"model": Gate(2, ordered=False)}).parents["C"] == {("model", 0)}


def test_a_gate_that_came_before_the_parameter_is_preferred() -> None:
    trials = [ObservedTrial({"early": 0, "x": None, "late": 0}), ObservedTrial({"early": 1, "late": 1})]
    gates = {"early": Gate(2, ordered=False), "late": Gate(2, ordered=False)}
    assert infer_structure(trials, gates).parents["x"] == {("early", 0)}


def test_a_categorical_gate_is_preferred_to_a_number() -> None:
    trials = [ObservedTrial({"model": 0, "n": 0, "x": None}), ObservedTrial({"model": 1, "n": 1})]
    gates = {"model": Gate(2, ordered=False), "n": Gate(2, ordered=True)}
    assert infer_structure(trials, gates).parents["x"] == {("model", 0)}


def test_of_two_equal_gates_the_nearer_one_is_preferred() -> None:
    with_x = ObservedTrial({"far": 0, "near": 0, "x": None})
    gates = {"far": Gate(2, ordered=False), "near": Gate(2, ordered=False)}
    assert infer_structure([with_x, ObservedTrial({"far": 1, "near": 1})], gates).parents["x"] == {("near", 0)}
    assert infer_structure([ObservedTrial({"near": 1, "far": 1}), with_x], gates).parents["x"] == {("near", 0)}


def test_what_a_shared_choice_opens_belongs_to_the_choice() -> None:
    """Three of four models share k, and one of them was only seen with k = 0. Nevertheless x belongs to k."""
    seen = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 0)]
    trials = [ObservedTrial({"model": m, "k": k, **({"x": None} if k == 0 else {})}) for m, k in seen]
    gates = {"model": Gate(4, ordered=False), "k": Gate(2, ordered=False)}
    found = infer_structure([*trials, ObservedTrial({"model": 3})], gates).parents
    assert found["k"] == {("model", 0), ("model", 1), ("model", 2)}
    assert found["x"] == {("k", 0)}


def test_a_parameter_may_belong_to_several_gates() -> None:
    trials = [
        ObservedTrial({"model": 0, "x": None}),
        ObservedTrial({"model": 1, "k": 0, "x": None}),
        ObservedTrial({"model": 1, "k": 1}),
        ObservedTrial({"model": 2, "j": 0}),
        ObservedTrial({"model": 2, "j": 1, "x": None}),
    ]
    gates = {"model": Gate(3, ordered=False), "k": Gate(2, ordered=False), "j": Gate(2, ordered=False)}
    found = infer_structure(trials, gates)
    assert found.parents["x"] == {("model", 0), ("k", 0), ("j", 1)}
    assert not found.unexplained


def test_a_parameter_that_nothing_explains_is_named() -> None:
    """Here x depends on a number that is not a gate, within one model. It stays with that model."""
    trials = [ObservedTrial({"model": i % 2, "lr": None, **({"x": None} if i % 4 == 0 else {})}) for i in range(20)]
    found = infer_structure(trials, {"model": Gate(2, ordered=False)})
    assert found.unexplained == {"x"}
    assert found.parents["x"] == {("model", 0)}


def test_random_programs_are_recovered() -> None:
    """As in `benchmarks/structure.py`, with fewer programs and random trials."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    right = []
    for i, program in enumerate(programs(12)):
        fresh = trials_of(program, optuna.samplers.RandomSampler(seed=1000 + i), 200)
        trials = trials_of(program, optuna.samplers.RandomSampler(seed=i), 100)
        right.append((is_right(trials[:40], fresh), is_right(trials, fresh)))
    early, late = np.mean(right, axis=0)
    assert early >= 0.9
    assert late == 1.0
