"""Where parameters belong, by the trials that have them."""

from __future__ import annotations

from addtree._optuna.structure import ObservedTrial, infer_structure
from addtree.space.assembly import Gate


def test_layers_belong_to_the_numbers_of_layers_that_have_them() -> None:
    trials = [ObservedTrial({"n_layers": n - 1, **{f"units_{i}": None for i in range(n)}}) for n in (1, 2, 3)]
    found = infer_structure(trials, {"n_layers": Gate(3, ordered=True)}).parents
    assert found["units_0"] == {None}
    assert found["units_1"] == {("n_layers", 1), ("n_layers", 2)}
    assert found["units_2"] == {("n_layers", 2)}


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
