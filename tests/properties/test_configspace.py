"""A space that goes to ConfigSpace and back keeps its parameters, conditions and configurations."""

from __future__ import annotations

import json
import warnings
from itertools import count
from pathlib import Path
from typing import Any

import ConfigSpace as CS  # noqa: N817
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from addtree import AddTreeError, Categorical, Choice, Integer, Real, Space
from addtree.configspace import default_config, from_configspace, is_allowed, to_configspace

PUBLISHED = sorted((Path(__file__).parents[1] / "data" / "configspace").glob("*.json"))


def random_space(rng: np.random.Generator) -> Space:
    """A tree with up to two choices a node, parameters that options share, and labels of several types."""
    names = count()
    domains = [
        Real(0.5, 2),
        Real(1e-3, 1, log=True),
        Integer(-3, 9),
        Integer(1, 1000, log=True),
        Categorical(("a", "b")),
    ]

    def node(depth: int) -> Space:
        children: dict[str, Any] = {
            f"p{next(names)}": domains[rng.integers(len(domains))] for _ in range(rng.integers(3))
        }
        for _ in range(rng.integers(3) if depth else 0):
            labels = [("x", "y", "z"), (1, 2, 3), (True, False), ("only", "two")][rng.integers(4)]
            options = [node(depth - 1) for _ in labels]
            if rng.random() < 0.5:
                shared, domain = f"s{next(names)}", domains[rng.integers(len(domains))]
                options[:2] = [Space({**option.children, shared: domain}) for option in options[:2]]
            children[f"c{next(names)}"] = Choice(dict(zip(labels, options, strict=True)))
        return Space(children)

    return Space({"root": Real(0, 1), **node(2).children})


def conditions(space: Space) -> dict[str, Any]:
    """When each variable is active. ConfigSpace does not tell a choice that opens nothing from a categorical."""
    return {name: frozenset(condition) for name, condition in space.conditions.items()}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_space_survives_the_round_trip(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = random_space(rng)
    cs = to_configspace(space)
    again = from_configspace(cs)
    assert conditions(again) == conditions(space)
    for name, domain in space.variables.items():
        same = again.variables[name]
        if isinstance(domain, Choice):
            assert to_configspace(Space({name: same}))[name].choices == domain.labels
        else:
            assert same == domain
    for _ in range(5):  # A configuration of one is a configuration of the other.
        config = space.sample(rng)
        CS.Configuration(cs, values=config).check_valid_configuration()
        assert again.validate(config) == again.validate(space.validate(config))
    cs.seed(seed % 1000)
    for configuration in cs.sample_configuration(5):
        space.validate(dict(configuration))


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_published_spaces(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The files have ConfigSpace's older format.
        cs = CS.ConfigurationSpace.from_json(path)
    space = from_configspace(cs)
    form = json.loads(path.read_text())
    assert set(space.variables) == {h["name"] for h in form["hyperparameters"]}
    conditional = {(c["child"] if "child" in c else c["conditions"][0]["child"]) for c in form["conditions"]}
    assert {name for name, condition in space.conditions.items() if condition != ((),)} == conditional
    cs.seed(0)
    for configuration in cs.sample_configuration(50):
        space.validate(dict(configuration))
    back = to_configspace(space)
    rng = np.random.default_rng(0)
    for _ in range(50):
        config = space.sample(rng)
        for other in (cs, back):
            CS.Configuration(other, values=config).check_valid_configuration()
    assert conditions(from_configspace(back)) == conditions(space)
    assert space.validate(default_config(cs))


def test_there_are_three_published_spaces() -> None:
    assert len(PUBLISHED) == 3


def test_every_kind_of_hyperparameter() -> None:
    cs = CS.ConfigurationSpace()
    cs.add(
        CS.Constant("constant", "z"),
        CS.OrdinalHyperparameter("ordinal", [1, 2, 4]),
        CS.CategoricalHyperparameter("none", [None, 1.5, "x"]),
        CS.NormalFloatHyperparameter("normal", mu=0, sigma=1, lower=-2, upper=2),
        CS.BetaIntegerHyperparameter("beta", alpha=2, beta=2, lower=1, upper=9),
    )
    space = from_configspace(cs)
    assert space.variables == {
        "constant": Categorical(("z",)),
        "ordinal": Categorical((1, 2, 4)),
        "none": Categorical((None, 1.5, "x")),
        "normal": Real(-2, 2),
        "beta": Integer(1, 9),
    }
    for configuration in cs.sample_configuration(20):
        space.validate(dict(configuration))


def test_integers_and_ordinals_that_open_parameters() -> None:
    cs = CS.ConfigurationSpace()
    layers, size = CS.Integer("layers", (1, 4)), CS.OrdinalHyperparameter("size", ["S", "M", "L"])
    second, deep, big, not_small = (CS.Float(name, (0, 1)) for name in ("second", "deep", "big", "not_small"))
    cs.add(layers, size, second, deep, big, not_small)
    cs.add(CS.GreaterThanCondition(second, layers, 1), CS.GreaterThanCondition(deep, layers, 3))
    cs.add(CS.GreaterThanCondition(big, size, "M"), CS.NotEqualsCondition(not_small, size, "S"))
    space = from_configspace(cs)
    assert conditions(space)["second"] == {(("layers", 1),), (("layers", 2),), (("layers", 3),)}
    assert conditions(space)["deep"] == {(("layers", 3),)}
    assert conditions(space)["big"] == {(("size", 2),)}
    assert conditions(space)["not_small"] == {(("size", 1),), (("size", 2),)}
    for configuration in cs.sample_configuration(30):
        space.validate(dict(configuration))


def mixed() -> tuple[CS.ConfigurationSpace, Any, Any, Any, Any]:
    cs = CS.ConfigurationSpace()
    a, b = CS.Categorical("a", ["0", "1"]), CS.Categorical("b", ["0", "1"])
    x, child = CS.Float("x", (0, 1)), CS.Float("child", (0, 1))
    cs.add(a, b, x, child)
    return cs, a, b, x, child


def test_an_or_of_conditions_that_exclude_each_other() -> None:
    cs = CS.ConfigurationSpace()
    model, kernel = CS.Categorical("model", ["svm", "gp", "tree"]), CS.Categorical("kernel", ["linear", "rbf"])
    gamma = CS.Float("gamma", (0, 1))
    cs.add(model, kernel, gamma)
    cs.add(CS.EqualsCondition(kernel, model, "svm"))
    rbf, gp = CS.EqualsCondition(gamma, kernel, "rbf"), CS.EqualsCondition(gamma, model, "gp")
    cs.add(CS.OrConjunction(rbf, gp))
    space = from_configspace(cs)
    assert conditions(space)["gamma"] == {(("model", 1),), (("model", 0), ("kernel", 1))}
    again = from_configspace(to_configspace(space))
    assert conditions(again) == conditions(space)


def test_what_cannot_be_represented_is_named() -> None:
    cs, a, b, x, child = mixed()
    cs.add(CS.GreaterThanCondition(child, x, 0.5))
    with pytest.raises(AddTreeError, match=r"'child' depends on 'x' .* continuous"):
        from_configspace(cs)
    cs, a, b, x, child = mixed()
    cs.add(CS.AndConjunction(CS.EqualsCondition(child, a, "1"), CS.EqualsCondition(child, b, "1")))
    with pytest.raises(AddTreeError, match="'child' depends on several parents at once"):
        from_configspace(cs)
    cs, a, b, x, child = mixed()
    cs.add(CS.OrConjunction(CS.EqualsCondition(child, a, "1"), CS.EqualsCondition(child, b, "1")))
    with pytest.raises(AddTreeError, match="do not form a tree of choices: parameter 'child' occurs twice"):
        from_configspace(cs)


def test_forbidden_clauses_are_refused_or_left_to_the_user() -> None:
    cs, a, b, _, _ = mixed()
    cs.add(CS.ForbiddenAndConjunction(CS.ForbiddenEqualsClause(a, "1"), CS.ForbiddenEqualsClause(b, "1")))
    with pytest.raises(AddTreeError, match=r"forbidden clauses cannot be represented: .*a.*b"):
        from_configspace(cs)
    space = from_configspace(cs, ignore_forbidden=True)
    config = {"a": "1", "b": "1", "x": 0.5, "child": 0.5}
    assert space.validate(config)
    assert not is_allowed(cs, config)
    assert is_allowed(cs, {**config, "b": "0"})
