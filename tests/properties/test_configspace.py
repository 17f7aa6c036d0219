"""A space that goes to ConfigSpace and back keeps its parameters, conditions and configurations."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import ConfigSpace as CS  # noqa: N817
import numpy as np
import pytest
from ConfigSpace.exceptions import ForbiddenValueError
from hypothesis import given
from hypothesis import strategies as st

from addtree import Categorical, Choice, ConfigError, Integer, Optimizer, Real, Space, SpaceError
from addtree.configspace import default_config, from_configspace, to_configspace
from addtree.space.restriction import Restriction

FOLDER = Path(__file__).parents[1] / "data" / "configspace"
PUBLISHED = sorted(FOLDER.glob("*.json")) + sorted(FOLDER.glob("*.pcs"))
# Parameters whose condition is named as lost: they are active more often than in ConfigSpace.
LOSSES = {"lpg": {"tabu_act", "tabu_fct", "tabu_length"}, "examples": {"example_param_1"}}
NEVER_ACTIVE = {"examples": {"x2"}}


def random_space(rng: np.random.Generator) -> Space:
    """A tree with choices and numbers that open parameters, shared parameters, and labels of several types."""
    names = count()
    domains = [
        Real(0.5, 2),
        Real(1e-3, 1, log=True),
        Real(0, 1, step=0.25),
        Integer(-3, 9),
        Integer(1, 1000, log=True),
        Integer(8, 64, step=8),
        Integer(3, 3),
        Categorical(("a", "b")),
        Categorical(("low", "mid", "high"), ordered=True),
    ]
    openers: list[tuple[Any, list[tuple[Any, Any]]]] = [
        (Integer(1, 4), [(2, 4), (3, 4)]),
        (Integer(1, 100, log=True), [(1, 9), (50, 50)]),
        (Integer(0, 8, step=2), [(2, 4), (4, 8)]),
        (Real(0, 1), [(0.5, 1), (0.25, 0.75)]),
    ]

    def node(depth: int) -> Space:
        children: dict[str, Any] = {
            f"p{next(names)}": domains[rng.integers(len(domains))] for _ in range(rng.integers(3))
        }
        for _ in range(rng.integers(3) if depth else 0):
            if rng.random() < 0.3:
                number, intervals = openers[rng.integers(len(openers))]
                children[f"n{next(names)}"] = replace(number, opens={pair: node(depth - 1) for pair in intervals})
                continue
            labels = [("x", "y", "z"), (1, 2, 3), (True, False), ("only", "two")][rng.integers(4)]
            options = [node(depth - 1) for _ in labels]
            if rng.random() < 0.5:
                shared, domain = f"s{next(names)}", domains[rng.integers(len(domains))]
                options[:2] = [Space({**option.children, shared: domain}) for option in options[:2]]
            children[f"c{next(names)}"] = Choice(dict(zip(labels, options, strict=True)))
        return Space(children)

    return Space({"root": Real(0, 1), **node(2).children})


def without_openings(domain: Any) -> Any:
    return domain if isinstance(domain, Categorical) else replace(domain, opens={})


def activity(space: Space, config: dict[str, Any]) -> list[str]:
    return sorted(space.validate(config))


@given(seed=st.integers(0, 2**32 - 1))
def test_a_space_survives_the_round_trip(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = random_space(rng)
    cs = to_configspace(space)
    again = from_configspace(cs)
    for name, domain in space.variables.items():
        if not isinstance(domain, Choice) and not domain.is_constant:
            found = again.variables[name]
            assert not isinstance(found, Choice)
            assert without_openings(found) == without_openings(domain)
    for _ in range(10):  # A configuration of one is a configuration of the other.
        config = space.sample(rng)
        CS.Configuration(cs, values=config).check_valid_configuration()
        assert activity(again, config) == activity(space, config)
    cs.seed(seed % 1000)
    for configuration in cs.sample_configuration(10):
        space.validate(_plain(configuration))
    assert from_configspace(to_configspace(again)) == again


RULES = [
    "root <= 0.7",
    "not (root > 0.2 and c == 'x')",
    "a < b",
    "a != b or c in ['x', 'y']",
    "0.2 < root < 0.9",
    "size >= 'mid'",
    "not (size < 'mid' and k == 3)",
    "k in (1, 2, 5) or k > 7",
    "step > 16 or root < 0.5",
    "inner + 1 > 2 * root",
    "inner < root or k == 2",
    "k == 4 and inner < 0.3",
    "flag or k > 2",
]
RULED = Space(
    {
        "root": Real(0, 1),
        "a": Integer(0, 9),
        "b": Integer(0, 9),
        "k": Integer(0, 9),
        "size": Categorical(["low", "mid", "high"], ordered=True),
        "flag": Categorical([True, False]),
        "step": Integer(8, 64, step=8),
        "c": Choice(x=Space(), y=Space(), z=Space(inner=Real(0, 1))),
    }
)
LOST_RULES = {"inner + 1 > 2 * root", "k == 4 and inner < 0.3", "k in (1, 2, 5) or k > 7"}


@pytest.mark.parametrize("rule", ["a <= b", "root > 0.2", "k != 3", "flag != True", "not (root > 0.2 and k == 3)"])
def test_a_rule_as_people_write_it_is_the_same_after_the_round_trip(rule: str) -> None:
    space = RULED.where(rule)
    assert from_configspace(to_configspace(space)).rules == space.rules


@given(rules=st.lists(st.sampled_from(RULES), max_size=3, unique=True), seed=st.integers(0, 2**32 - 1))
def test_rules_survive_the_round_trip_or_are_named(rules: list[str], seed: int) -> None:
    space, kept = RULED.where(*rules), RULED.where(*(rule for rule in rules if rule not in LOST_RULES))
    try:
        space.sample(np.random.default_rng(0))
    except SpaceError:
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cs = to_configspace(space)
    assert len(caught) == len(LOST_RULES.intersection(rules))
    again, rng = from_configspace(cs), np.random.default_rng(seed)
    for config in map(RULED.sample, [rng] * 40):
        valid = is_valid(kept, config)
        assert is_valid(again, config) == valid
        try:
            CS.Configuration(cs, values=config).check_valid_configuration()
        except ForbiddenValueError:
            assert not valid
        else:
            assert valid


def is_valid(space: Space, config: dict[str, Any]) -> bool:
    try:
        return bool(space.validate(config))
    except ConfigError:
        return False


def _plain(configuration: Any) -> dict[str, Any]:
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in configuration.items()}


def read(path: Path) -> CS.ConfigurationSpace:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The files have older formats.
        if path.suffix == ".json":
            return CS.ConfigurationSpace.from_json(path)
        from ConfigSpace.read_and_write import pcs, pcs_new

        lines = path.read_text().splitlines()
        reader = pcs_new if " integer " in path.read_text() or "categorical" in path.read_text() else pcs
        return reader.read(lines)


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_published_spaces_are_imported_without_loss_or_with_a_named_one(path: Path) -> None:
    cs = read(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        space = from_configspace(cs)
    lost = LOSSES.get(path.stem, set())
    words = [str(warning.message) for warning in caught]
    never = NEVER_ACTIVE.get(path.stem, set())
    assert {name for name in cs for word in words if f"parameter {name!r}: its condition" in word} == lost | never
    assert not any("forbidden clause" in word for word in words)
    assert space.variables.keys() == set(cs) - never
    cs.seed(0)
    for configuration in cs.sample_configuration(50):
        config = _plain(configuration)
        if lost:
            config = completed(space, config)
            assert config.keys() - set(configuration) <= lost
        space.validate(config)
    back = to_configspace(space)
    rng = np.random.default_rng(0)
    for _ in range(50):
        config = space.sample(rng)
        CS.Configuration(back, values=config).check_valid_configuration()
        if not lost:
            CS.Configuration(cs, values=config).check_valid_configuration()
    if not lost:
        assert space.validate(default_config(cs))


def completed(space: Space, config: dict[str, Any]) -> dict[str, Any]:
    """A configuration with random values for the parameters that it lacks."""
    rng = np.random.default_rng(0)
    restriction = Restriction.of(space.encoding, config)
    return restriction.restore(space.encoding.decode(restriction.conform(space.encoding.sample(1, rng), rng)[0]))


def test_there_are_ten_published_spaces() -> None:
    assert len(PUBLISHED) == 10


def imported(cs: CS.ConfigurationSpace, *losses: str) -> Space:
    """The space of a ConfigurationSpace, whose warnings must be those that match, in order."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        space = from_configspace(cs)
    assert len(caught) == len(losses), [str(warning.message) for warning in caught]
    for warning, loss in zip(caught, losses, strict=True):
        assert re.search(loss, str(warning.message)), warning.message
    return space


def test_every_kind_of_hyperparameter() -> None:
    cs = CS.ConfigurationSpace()
    cs.add(
        CS.Constant("constant", "z"),
        CS.Constant("three", 3),
        CS.OrdinalHyperparameter("ordinal", [1, 2, 4]),
        CS.CategoricalHyperparameter("none", [None, 1.5, "x"]),
        CS.CategoricalHyperparameter("weighted", ["a", "b"], weights=[1, 3]),
        CS.NormalFloatHyperparameter("normal", mu=0, sigma=1, lower=-2, upper=2),
        CS.BetaIntegerHyperparameter("beta", alpha=2, beta=2, lower=1, upper=9),
    )
    losses = [
        "'beta': its beta prior is lost",
        "'normal': its normal prior is lost",
        "'weighted': its weights are lost",
    ]
    space = imported(cs, *losses)
    assert space.variables == {
        "constant": Categorical(("z",)),
        "three": Integer(3, 3),
        "ordinal": Categorical((1, 2, 4), ordered=True),
        "none": Categorical((None, 1.5, "x")),
        "weighted": Categorical(("a", "b")),
        "normal": Real(-2, 2),
        "beta": Integer(1, 9),
    }
    for configuration in cs.sample_configuration(20):
        space.validate(_plain(configuration))


def test_numbers_that_open_parameters_stay_numbers() -> None:
    cs = CS.ConfigurationSpace()
    layers, rate = CS.Integer("layers", (1, 4)), CS.Float("rate", (0.0, 1.0))
    names = ("second", "deep", "some", "high", "not_half", "between")
    second, deep, some, high, not_half, between = (CS.Float(name, (0, 1)) for name in names)
    cs.add(layers, rate, second, deep, some, high, not_half, between)
    cs.add(CS.GreaterThanCondition(second, layers, 1), CS.GreaterThanCondition(deep, layers, 3))
    cs.add(CS.InCondition(some, layers, [1, 2, 4]), CS.GreaterThanCondition(high, rate, 0.5))
    cs.add(CS.NotEqualsCondition(not_half, rate, 0.5))
    cs.add(CS.AndConjunction(CS.GreaterThanCondition(between, rate, 0.25), CS.LessThanCondition(between, rate, 0.5)))
    space = imported(cs)
    unit = Real(0, 1)
    assert space.variables["layers"] == Integer(
        1, 4, opens={(2, 4): Space(second=unit), (4, 4): Space(deep=unit, some=unit), (1, 2): Space(some=unit)}
    )
    base = {"layers": 3, "second": 0.5}
    for value, expected in (
        (0.5, set()),
        (0.4, {"not_half", "between"}),
        (0.6, {"not_half", "high"}),
        (0.25, {"not_half"}),
    ):
        config = {**base, "rate": value, **dict.fromkeys(expected, 0.5)}
        assert space.validate(config)
        CS.Configuration(cs, values=config).check_valid_configuration()


def test_an_ordinal_that_opens_parameters_loses_its_order() -> None:
    cs = CS.ConfigurationSpace()
    size = CS.OrdinalHyperparameter("size", ["S", "M", "L"])
    big, not_small = (CS.Float(name, (0, 1)) for name in ("big", "not_small"))
    cs.add(size, big, not_small)
    cs.add(CS.GreaterThanCondition(big, size, "M"), CS.NotEqualsCondition(not_small, size, "S"))
    unit = Real(0, 1)
    assert imported(cs, "'size': its order is lost") == Space(
        size=Choice(S=Space(), M=Space(not_small=unit), L=Space(big=unit, not_small=unit))
    )


def mixed() -> tuple[CS.ConfigurationSpace, Any, Any, Any, Any]:
    cs = CS.ConfigurationSpace()
    a, b = CS.Categorical("a", ["0", "1"]), CS.Categorical("b", ["0", "1"])
    x, child = CS.Float("x", (0, 1)), CS.Float("child", (0, 1))
    cs.add(a, b, x, child)
    return cs, a, b, x, child


def kernels() -> tuple[CS.ConfigurationSpace, Any, Any, Any]:
    cs = CS.ConfigurationSpace()
    model, kernel = CS.Categorical("model", ["svm", "gp", "tree"]), CS.Categorical("kernel", ["linear", "rbf"])
    gamma = CS.Float("gamma", (0, 1))
    cs.add(model, kernel, gamma)
    cs.add(CS.EqualsCondition(kernel, model, "svm"))
    return cs, model, kernel, gamma


def test_an_or_of_conditions_that_exclude_each_other() -> None:
    cs, model, kernel, gamma = kernels()
    cs.add(CS.OrConjunction(CS.EqualsCondition(gamma, kernel, "rbf"), CS.EqualsCondition(gamma, model, "gp")))
    unit = Real(0, 1)
    space = imported(cs)
    assert space == Space(
        model=Choice(
            svm=Space(kernel=Choice(linear=Space(), rbf=Space(gamma=unit))), gp=Space(gamma=unit), tree=Space()
        )
    )
    assert from_configspace(to_configspace(space)) == space


def test_conditions_that_follow_from_another_are_left_out() -> None:
    cs, model, kernel, gamma = kernels()
    cs.add(CS.AndConjunction(CS.EqualsCondition(gamma, kernel, "rbf"), CS.InCondition(gamma, model, ["svm", "gp"])))
    assert imported(cs).conditions["gamma"] == ((("model", 0), ("kernel", 1)),)
    cs, model, kernel, gamma = kernels()
    cs.add(CS.OrConjunction(CS.EqualsCondition(gamma, kernel, "rbf"), CS.InCondition(gamma, model, ["svm", "gp"])))
    assert imported(cs).conditions["gamma"] == ((("model", 0),), (("model", 1),))


def test_conditions_without_a_place_are_named() -> None:
    cs, a, b, _, child = mixed()
    cs.add(CS.AndConjunction(CS.EqualsCondition(child, a, "1"), CS.EqualsCondition(child, b, "1")))
    space = imported(cs, r"'child': its condition .*a == '1' .* is kept for 'a' alone; it is active more often")
    assert space.conditions["child"] == ((("a", 1),),)
    cs, a, b, _, child = mixed()
    cs.add(CS.OrConjunction(CS.EqualsCondition(child, a, "1"), CS.EqualsCondition(child, b, "1")))
    assert imported(cs, "'child': its condition .* is lost; it is always active").conditions["child"] == ((),)
    cs, _, _, x, child = mixed()
    cs.add(CS.AndConjunction(CS.LessThanCondition(child, x, 0.25), CS.GreaterThanCondition(child, x, 0.5)))
    assert "child" not in imported(cs, "'child': its condition .* never holds; it is left out").variables


def test_every_kind_of_forbidden_clause() -> None:
    cs = CS.ConfigurationSpace()
    a, b = CS.Categorical("a:1", ["0", "1", None]), CS.OrdinalHyperparameter("b", [3, 1, 2], default_value=3)
    x, y, k = CS.Float("x", (0, 1), default=0.1), CS.Float("y", (0, 1), default=0.9), CS.Integer("k", (0, 5), default=1)
    inner = CS.Float("inner", (0, 1), default=0.05)
    cs.add(a, b, x, y, k, inner)
    cs.add(CS.EqualsCondition(inner, a, "0"))
    cs.add(
        CS.ForbiddenAndConjunction(CS.ForbiddenEqualsClause(a, "1"), CS.ForbiddenInClause(k, [2, 3])),
        CS.ForbiddenAndConjunction(
            CS.ForbiddenEqualsClause(k, 4),
            CS.ForbiddenOrConjunction(CS.ForbiddenGreaterThanClause(inner, 0.5), CS.ForbiddenEqualsClause(b, 2)),
        ),
        CS.ForbiddenLessThanRelation(y, x),
        CS.ForbiddenGreaterThanEqualsRelation(inner, x),
        CS.ForbiddenAndConjunction(CS.ForbiddenGreaterThanClause(b, 1), CS.ForbiddenEqualsClause(a, None)),
        CS.ForbiddenEqualsRelation(b, k),
    )
    space, rng = imported(cs), np.random.default_rng(0)
    found = set()
    for config in map(from_configspace(_without_clauses(cs)).sample, [rng] * 400):
        try:
            CS.Configuration(cs, values=config).check_valid_configuration()
            found.add(True)
            assert is_valid(space, config), config
        except ForbiddenValueError:
            found.add(False)
            assert not is_valid(space, config), config
    assert found == {True, False}


def _without_clauses(cs: CS.ConfigurationSpace) -> CS.ConfigurationSpace:
    free = CS.ConfigurationSpace()
    free.add(list(cs.values()))
    free.add(list(cs.conditions))
    return free


def test_steps_that_are_too_many_are_named() -> None:
    with pytest.warns(UserWarning, match="'k': its steps of 2 are lost"):
        cs = to_configspace(Space(k=Integer(0, 10**6, step=2)))
    assert cs["k"].upper == 10**6


def test_the_default_is_an_initial_configuration() -> None:
    cs, _, kernel, gamma = kernels()
    cs.add(CS.EqualsCondition(gamma, kernel, "rbf"))
    cs["kernel"].default_value = "rbf"
    optimizer = Optimizer(from_configspace(cs), seed=0, initial=[default_config(cs)])
    assert optimizer.ask().config == {"model": "svm", "kernel": "rbf", "gamma": 0.5}


@pytest.mark.parametrize("domain", [Real(1.0, 1.0 + 2**-50), Real(-8e307, 8e307), Categorical([0, False])])
def test_what_configspace_refuses_is_named(domain: Any) -> None:
    with pytest.raises(SpaceError, match="parameter 'p': ConfigSpace cannot represent"):
        to_configspace(Space(p=domain))


def test_a_default_at_the_end_of_an_interval_is_replaced() -> None:
    opened = Space(momentum=Real(0, 1), version=Real(0.5, 0.5))
    space = Space(rate=Real(1e-4, 1, log=True, opens={(1e-3, 1e-2): opened}))
    cs = to_configspace(space)  # The middle of the range is 1e-2.
    assert from_configspace(cs) == space
    space.validate(default_config(cs))


@pytest.mark.parametrize("convert", [from_configspace, to_configspace, default_config])
def test_what_is_not_a_space_is_named(convert: Any) -> None:
    with pytest.raises(SpaceError, match="got 3; give one"):
        convert(3)
