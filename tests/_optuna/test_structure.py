"""Where parameters belong, by the trials that have them."""

from __future__ import annotations

import numpy as np
import optuna

from addtree import Categorical, Integer, Real
from addtree._optuna.structure import ObservedTrial, infer_structure
from benchmarks.structure import is_right, make_program, trials_of


def test_layers_belong_to_the_numbers_of_layers_that_have_them() -> None:
    trials = [ObservedTrial({"n_layers": n, **{f"units_{i}": None for i in range(n)}}) for n in (1, 2, 3)]
    found = infer_structure(trials, {"n_layers": Integer(1, 3)}).parents
    assert found["units_0"] == {None}
    assert found["units_1"] == {("n_layers", (2, 3))}
    assert found["units_2"] == {("n_layers", (3, 3))}


def test_without_trials_there_is_no_structure() -> None:
    assert infer_structure([], {}).parents == {}


def test_a_trial_that_ended_early_is_not_evidence_of_absence() -> None:
    trials = [
        ObservedTrial({"model": 0, "C": None}),
        ObservedTrial({"model": 0}, complete=False),
        ObservedTrial({"model": 1}),
    ]
    assert infer_structure(trials, {"model": Categorical(range(2))}).parents["C"] == {("model", 0)}


def test_a_gate_that_came_before_the_parameter_is_preferred() -> None:
    trials = [ObservedTrial({"early": 0, "x": None, "late": 0}), ObservedTrial({"early": 1, "late": 1})]
    gates = {"early": Categorical(range(2)), "late": Categorical(range(2))}
    assert infer_structure(trials, gates).parents["x"] == {("early", 0)}


def test_a_categorical_gate_is_preferred_to_a_number() -> None:
    trials = [ObservedTrial({"model": 0, "n": 0, "x": None}), ObservedTrial({"model": 1, "n": 1})]
    gates = {"model": Categorical(range(2)), "n": Integer(0, 1)}
    assert infer_structure(trials, gates).parents["x"] == {("model", 0)}


def test_of_two_equal_gates_the_nearer_one_is_preferred() -> None:
    with_x = ObservedTrial({"far": 0, "near": 0, "x": None})
    gates = {"far": Categorical(range(2)), "near": Categorical(range(2))}
    assert infer_structure([with_x, ObservedTrial({"far": 1, "near": 1})], gates).parents["x"] == {("near", 0)}
    assert infer_structure([ObservedTrial({"near": 1, "far": 1}), with_x], gates).parents["x"] == {("near", 0)}


def test_what_a_shared_choice_opens_belongs_to_the_choice() -> None:
    """Three of four models share k, and one of them was only seen with k = 0. Nevertheless x belongs to k."""
    seen = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 0)]
    trials = [ObservedTrial({"model": m, "k": k, **({"x": None} if k == 0 else {})}) for m, k in seen]
    gates = {"model": Categorical(range(4)), "k": Categorical(range(2))}
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
    gates = {"model": Categorical(range(3)), "k": Categorical(range(2)), "j": Categorical(range(2))}
    found = infer_structure(trials, gates)
    assert found.parents["x"] == {("model", 0), ("k", 0), ("j", 1)}
    assert not found.unexplained


def test_a_parameter_may_depend_on_a_real_number() -> None:
    rng = np.random.default_rng(0)
    trials = [ObservedTrial({"lr": lr, **({"x": None} if lr > 0.1 else {})}) for lr in rng.random(40) * 0.3]
    found = infer_structure(trials, {"lr": Real(0, 0.3)})
    assert found.parents["x"] == {("lr", (np.nextafter(0.1, 1), 0.3))}  # The threshold is a round number.
    assert not found.unexplained


def test_a_few_trials_are_not_evidence_for_a_real_number() -> None:
    """The only trial without x has the least lr, as it happens."""
    trials = [ObservedTrial({"lr": 0.1 * i, **({"x": None} if i else {})}) for i in (3, 8, 4, 0, 2, 9, 1, 5, 7, 6)]
    found = infer_structure(trials, {"lr": Real(0, 1)})
    assert found.parents["x"] == {None}
    assert found.unexplained == {"x"}


def test_a_parameter_that_was_added_does_not_depend_on_a_real_number() -> None:
    """As it happens, the trials since then have other rates than those before."""
    trials = [ObservedTrial({"lr": 0.01 * i, **({"x": None} if i >= 20 else {})}) for i in range(40)]
    found = infer_structure(trials, {"lr": Real(0, 1)})
    assert found.parents["x"] == {None}
    assert not found.unexplained


def test_a_number_may_open_a_parameter_in_several_intervals() -> None:
    trials = [ObservedTrial({"n": n, **({"x": None} if n != 3 else {})}) for n in range(1, 7)]
    assert infer_structure(trials, {"n": Integer(1, 6)}).parents["x"] == {("n", (1, 2)), ("n", (4, 6))}


def test_values_outside_of_the_present_range_are_evidence_but_not_part_of_the_space() -> None:
    """The number of layers was up to 4 in earlier trials."""
    trials = [ObservedTrial({"n": n, **{f"u{i}": None for i in range(1, n)}}) for n in (1, 2, 3, 4, 1, 2)]
    found = infer_structure(trials, {"n": Integer(1, 2)})
    assert found.parents["u1"] == {("n", (2, 2))}
    assert found.parents["u2"] == found.parents["u3"] == frozenset()
    assert not found.unexplained


def test_a_parameter_that_nothing_explains_is_named() -> None:
    """Here x depends on a number that is not a gate, within one model. It stays with that model."""
    trials = [ObservedTrial({"model": i % 2, "lr": None, **({"x": None} if i % 4 == 0 else {})}) for i in range(20)]
    found = infer_structure(trials, {"model": Categorical(range(2))})
    assert found.unexplained == {"x"}
    assert found.parents["x"] == {("model", 0)}


def test_random_programs_are_recovered() -> None:
    """As in `benchmarks/structure.py`, with fewer programs and random trials."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    right = []
    for i in range(12):
        program = make_program(i)
        fresh = trials_of(program, optuna.samplers.RandomSampler(seed=1000 + i), 200)
        trials = trials_of(program, optuna.samplers.RandomSampler(seed=i), 100)
        right.append((is_right(trials[:40], fresh), is_right(trials, fresh)))
    early, late = np.mean(right, axis=0)
    assert early >= 0.9
    assert late == 1.0
