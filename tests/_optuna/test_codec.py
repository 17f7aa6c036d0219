"""Distributions and domains, parameters of trials and configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from addtree import Categorical, Choice, Integer, Real, Space
from addtree._optuna.codec import Codec, Declared, Inferred, to_distribution, to_domain
from addtree.errors import ConfigError

UNIT = FloatDistribution(0, 1)


def trial(params: Mapping[str, Any], distributions: Mapping[str, BaseDistribution], **settings: Any) -> FrozenTrial:
    """A finished trial; a parameter without a distribution is a float in the unit interval."""
    known = {name: distributions.get(name, UNIT) for name in params}
    return optuna.create_trial(params=dict(params), distributions=known, **{"value": 0.0, **settings})


@pytest.mark.parametrize(
    "domain",
    [
        Real(-1, 2),
        Real(1e-3, 1, log=True),
        Real(0, 1, step=0.1),
        Real(0.5, 0.5),
        Integer(0, 9),
        Integer(1, 100, log=True),
        Integer(8, 64, step=8),
        Integer(3, 3),
        Integer(10**17, 10**17 + 5),
        Categorical(["a", 2, None, True]),
        Categorical(["adam"]),
    ],
)
def test_a_domain_becomes_a_distribution_and_back(domain: Real | Integer | Categorical) -> None:
    assert to_domain(to_distribution(domain)) == domain


def test_an_unknown_distribution_is_named() -> None:
    class Other(BaseDistribution):
        def to_internal_repr(self, param_value_in_external_repr: Any) -> float:
            return 0.0

        def single(self) -> bool:
            return False

        def _contains(self, param_value_in_internal_repr: float) -> bool:
            return False

    with pytest.raises(TypeError, match="Other, which addtree cannot convert"):
        to_domain(Other())


def test_a_choice_becomes_a_categorical_distribution() -> None:
    assert to_distribution(Choice(a=Space(), b=Space())) == CategoricalDistribution(("a", "b"))


@pytest.mark.parametrize(
    "distribution",
    [
        CategoricalDistribution([None, True, 1.5, "x"]),
        IntDistribution(8, 64, step=8),
        IntDistribution(3, 7),
        FloatDistribution(0, 1, step=0.1),
    ],
)
def test_positions_and_values_of_a_grid(distribution: BaseDistribution) -> None:
    codec = Codec(distribution)
    values = [codec.value(position) for position in range(int(codec.n_values))]
    assert [codec.position(value) for value in values] == list(range(len(values)))
    assert all(distribution._contains(distribution.to_internal_repr(value)) for value in values)


@pytest.mark.parametrize(
    ("distribution", "domain"),
    [
        (FloatDistribution(0, 1), Real(0, 1)),
        (FloatDistribution(0, 1, step=0.25), Integer(0, 4)),
        (IntDistribution(3, 7), Integer(3, 7)),
        (IntDistribution(8, 64, step=8), Integer(0, 7)),
        (CategoricalDistribution(["a", "b"]), Categorical((0, 1))),
        (IntDistribution(3, 3), None),
        (FloatDistribution(-1.7e308, 1.7e308), None),
    ],
)
def test_the_domain_in_an_inferred_space(distribution: BaseDistribution, domain: Any) -> None:
    assert Codec(distribution).domain == domain


def test_options_that_are_whole_numbers_have_no_distribution_until_a_trial_shows_it() -> None:
    space = Space(n=Choice({1: Space(), 2: Space()}), x=Real(0, 1))
    assert set(Declared(space, {}).distributions) == {"x"}
    seen = {"n": IntDistribution(1, 2)}
    assert Declared(space, seen).distributions["n"] == seen["n"]


def test_an_unobserved_number_of_layers_opens_what_the_nearest_one_opens() -> None:
    def layers(n: int) -> FrozenTrial:
        return trial({"n": n, **{f"units_{i}": 0.5 for i in range(n)}}, {"n": IntDistribution(1, 6)})

    choice = Inferred([layers(1), layers(5)]).space.variables["n"]
    assert isinstance(choice, Choice)
    assert [len(option.children) for option in choice.spaces] == [0, 0, 0, 4, 4, 4]  # units_0 belongs to the root.


def test_a_parameter_that_no_gate_explains_is_filled_in() -> None:
    """Here the parameter depends on a continuous one."""

    def momentum(lr: float) -> FrozenTrial:
        return trial({"lr": lr, **({"momentum": 0.9} if lr > 0.5 else {})}, {})

    inferred = Inferred([momentum(lr) for lr in (0.1, 0.4, 0.6, 0.9)])
    assert inferred.config({"lr": 0.1}, complete=True) == {"lr": 0.1, "momentum": 0.5}
    assert inferred.config({"lr": 0.9, "momentum": 0.2}, complete=True) == {"lr": 0.9, "momentum": 0.2}


@pytest.mark.parametrize(
    ("ranges", "now"),
    [
        ([(0, 10), (0, 10), (0, 5)], (0, 5)),  # The user narrowed the range.
        ([(0, 10), (20, 30)], (20, 30)),
        ([(0, 3), (0, 7), (0, 3), (0, 5)], (0, 7)),  # The range depends on another parameter.
        ([(0, 3), (0, 7), (0, 3)], (0, 7)),  # It does so whenever an earlier range returns.
    ],
)
@pytest.mark.parametrize("kind", [FloatDistribution, IntDistribution])
def test_ranges_that_change(
    kind: type[FloatDistribution | IntDistribution], ranges: list[tuple[int, int]], now: tuple[int, int]
) -> None:
    trials = [trial({"x": low}, {"x": kind(low, high)}) for low, high in ranges]
    assert Inferred(trials).distributions["x"] == kind(*now)


def test_categories_of_any_type_and_single_values() -> None:
    anything = CategoricalDistribution([None, True, 1.5, "x"])
    distributions = {"a": anything, "b": FloatDistribution(2.0, 2.0)}
    inferred = Inferred([trial({"a": value, "b": 2.0}, distributions) for value in anything.choices])
    assert list(inferred.space.variables) == ["a"]
    for value in anything.choices:
        assert inferred.params(inferred.config({"a": value, "b": 2.0}, complete=True)) == {"a": value}


MODEL = CategoricalDistribution(["svm", "tree"])
SVM, TREE = trial({"model": "svm", "C": 0.5}, {"model": MODEL}), trial({"model": "tree"}, {"model": MODEL})


def test_a_trial_that_ended_early_must_have_every_choice() -> None:
    inferred = Inferred([SVM, TREE])
    assert inferred.config({}, complete=True) == {"model": 0, "C": 0.5}
    with pytest.raises(ConfigError, match="'model' is missing"):
        inferred.config({"C": 0.5}, complete=False)


def test_which_trials_fit_an_inferred_space() -> None:
    inferred = Inferred([SVM, TREE])
    failed = {"state": TrialState.FAIL, "value": None}
    assert inferred.fits(SVM)
    assert inferred.fits(trial({"model": "svm"}, {"model": MODEL}, **failed))  # It ended before it asked for C.
    assert not inferred.fits(trial({"model": "svm"}, {"model": MODEL}))
    assert not inferred.fits(trial({"model": "tree", "C": 0.5}, {"model": MODEL}))
    assert not inferred.fits(trial({"model": "svm", "C": 0.5}, {"model": MODEL, "C": FloatDistribution(0, 2)}))
    assert not inferred.fits(trial({"model": "svm", "C": 0.5, "new": 0.5}, {"model": MODEL}))


def test_a_value_outside_of_the_present_range_is_not_a_configuration() -> None:
    layers = IntDistribution(1, 2)
    trials = [trial({"n": n, **{f"u{i}": 0.5 for i in range(n)}}, {"n": layers}) for n in (1, 2)]
    with pytest.raises(ConfigError, match="'n': 7 is not a value of IntDistribution"):
        Inferred(trials).config({"n": 7}, complete=True)
    with pytest.raises(ConfigError, match=r"'u0': 7\.0 is out of bounds"):
        Inferred(trials).config({"n": 1, "u0": 7}, complete=True)


@pytest.mark.parametrize(
    "wrong", [{"model": "unknown"}, {"model": "svm", "k": "text"}, {"model": "svm", "k": float("nan")}]
)
def test_a_value_of_another_kind_is_not_a_configuration(wrong: dict[str, Any]) -> None:
    distributions = {"model": MODEL, "k": IntDistribution(0, 8, step=2)}
    inferred = Inferred([trial({"model": model, "k": 2}, distributions) for model in MODEL.choices])
    with pytest.raises(ConfigError, match=f"'{list(wrong)[-1]}': .* is not a value of"):
        inferred.config(wrong, complete=True)


def test_whole_numbers_that_optuna_rounded_stay_in_their_range() -> None:
    space = Space(a=Integer(10**17, 10**17 + 9), b=Integer(2**60, 2**60 + 64, step=8), k=Integer(3, 3))
    declared = Declared(space, {})
    rounded = {"a": int(float(10**17 + 9)), "b": 2**60 + 3}
    assert rounded["a"] > 10**17 + 9
    assert declared.config(rounded, complete=True) == {"a": 10**17 + 9, "b": 2**60, "k": 3}
    codec = Codec(IntDistribution(2**60, 2**60 + 64, step=8))
    assert [codec.value(codec.position(2**60 + 8 * k)) for k in range(9)] == [2**60 + 8 * k for k in range(9)]


def test_a_declared_constant_need_not_be_asked_for() -> None:
    declared = Declared(Space(c=Choice(a=Space(k=Integer(3, 3)), b=Space(x=Real(0, 1)))), {})
    assert declared.config({"c": "a"}, complete=True) == {"c": "a", "k": 3}
    assert declared.config({"c": "b", "x": 0.5}, complete=True) == {"c": "b", "x": 0.5}
    with pytest.raises(ConfigError, match="'c' is missing"):
        declared.config({}, complete=True)
