"""Distributions and domains, parameters of trials and configurations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from addtree import Categorical, Choice, Integer, Real, Space
from addtree._optuna.codec import Codec, Declared, to_distribution, to_domain
from addtree._optuna.independent import draw_value
from addtree.errors import ConfigError, SpaceError
from addtree.optuna import AddTreeSampler

UNIT = FloatDistribution(0, 1)


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


def test_categories_that_optuna_takes_for_one_are_one() -> None:
    d = CategoricalDistribution([True, "a", 1, math.nan, 1.0, math.nan])
    codec = Codec(d)
    assert codec.domain == Categorical([0, 1, 2])
    assert [codec.position(choice) for choice in d.choices] == [0, 1, 0, 2, 0, 2]
    assert [repr(codec.value(k)) for k in range(3)] == ["True", "'a'", "nan"]
    assert Codec(CategoricalDistribution([1, 1.0])).domain is None
    assert to_domain(CategoricalDistribution([1, 1.0, "b"])) == Categorical([1, "b"])
    drawn = {draw_value(CategoricalDistribution([True, 1, "a"]), {0.0: 1}, np.random.default_rng(k)) for k in range(9)}
    assert drawn == {"a"}


def test_a_declared_space_whose_categories_optuna_takes_for_one_is_refused() -> None:
    with pytest.raises(SpaceError, match="parameter 'c': Optuna takes 1 and True for the same category; use strings"):
        AddTreeSampler(Space(c=Categorical([1, "a", True])))


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


def test_whole_numbers_that_optuna_rounded_stay_in_their_range() -> None:
    space = Space(a=Integer(10**17, 10**17 + 9), b=Integer(2**60, 2**60 + 64, step=8), k=Integer(3, 3))
    declared = Declared(space)
    rounded = {"a": int(float(10**17 + 9)), "b": 2**60 + 3}
    assert rounded["a"] > 10**17 + 9
    assert declared.config(rounded, complete=True) == {"a": 10**17 + 9, "b": 2**60, "k": 3}
    codec = Codec(IntDistribution(2**60, 2**60 + 64, step=8))
    assert [codec.value(codec.position(2**60 + 8 * k)) for k in range(9)] == [2**60 + 8 * k for k in range(9)]


def test_a_declared_constant_need_not_be_asked_for() -> None:
    declared = Declared(Space(c=Choice(a=Space(k=Integer(3, 3)), b=Space(x=Real(0, 1)))))
    assert declared.config({"c": "a"}, complete=True) == {"c": "a", "k": 3}
    assert declared.config({"c": "b", "x": 0.5}, complete=True) == {"c": "b", "x": 0.5}
    with pytest.raises(ConfigError, match="'c' is missing"):
        declared.config({}, complete=True)
