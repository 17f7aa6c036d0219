"""Structure inference: what define-by-run code shows is what was declared."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ConfigSpace
import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from addtree import Categorical, Choice, Integer, Real, Space
from addtree._optuna.codec import Inferred, distribution_of
from addtree._optuna.structure import Gate, Seen, infer
from addtree.configspace import from_configspace
from addtree.problems import synthetic
from addtree.space.tree import Location
from benchmarks.tasks import load, matching

PUBLISHED = Path(__file__).parents[1] / "data" / "configspace"

VISITS = 6  # to every node: enough that two choices do not agree by chance


@st.composite
def spaces(draw: st.DrawFn, depth: int = 3) -> Space:
    """Random trees: up to two choices a node, parameters shared between options now and then, whole-number options."""
    count = iter(range(1000))

    def parameter() -> Real | Integer | Categorical:
        return draw(st.sampled_from([Real(0, 1), Integer(0, 40), Categorical(["a", "b", "c"])]))

    def node(depth: int) -> Space:
        children: dict[str, Any] = {f"p{next(count)}": parameter() for _ in range(draw(st.integers(0, 2)))}
        for _ in range(draw(st.integers(0, 2 if depth else 0))):
            n = draw(st.integers(2, 3))
            labels = list(range(1, n + 1)) if draw(st.booleans()) else [f"o{i}" for i in range(n)]
            name = f"c{next(count)}"
            options = [node(depth - 1) for _ in labels]
            if draw(st.booleans()):  # a parameter that the first two options share
                shared, domain = f"s{next(count)}", parameter()
                options[:2] = [Space({**option.children, shared: domain}) for option in options[:2]]
            children[name] = Choice(dict(zip(labels, options, strict=True)))
        return Space(children)

    return Space({"root": Real(0, 1), **node(depth).children})


def frozen(space: Space, config: Mapping[str, Any]) -> optuna.trial.FrozenTrial:
    """The trial of code that asks for a configuration, depth first; whole-number options are asked for as integers."""
    distributions: dict[str, BaseDistribution] = {}

    def ask(node: Space) -> None:
        for name, domain in node.children.items():
            distributions[name] = distribution_of(domain)
            if isinstance(domain, Choice):
                if isinstance(domain.labels[0], int):
                    distributions[name] = IntDistribution(domain.labels[0], int(domain.labels[-1] or 0))
                ask(domain.spaces[domain.labels.index(config[name])])

    ask(space)
    params = {name: config[name] for name in distributions}
    return optuna.create_trial(params=params, distributions=distributions, value=0.0)


def trials_of(space: Space, seed: int, visits: int = VISITS) -> list[optuna.trial.FrozenTrial]:
    """Random trials until every node was visited so many times."""
    rng, visited, trials = np.random.default_rng(seed), Counter[Location](), []
    while min(visited[node.location] for node in space.nodes) < visits:
        config = space.sample(rng)
        visited.update(node.location for node in space.active_nodes(config))
        trials.append(frozen(space, config))
    return trials


def located(space: Space) -> dict[str, frozenset[Location]]:
    """When each variable is active."""
    return {name: frozenset(condition) for name, condition in space.conditions.items()}


@settings(max_examples=30, deadline=None)
@given(space=spaces(), seed=st.integers(0, 2**32 - 1))
def test_the_structure_inferred_is_the_one_declared(space: Space, seed: int) -> None:
    assert located(Inferred(trials_of(space, seed)).space) == located(space)


@settings(max_examples=30, deadline=None)
@given(space=spaces(), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_trials_does_not_matter(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    trials = [frozen(space, space.sample(rng)) for _ in range(10)]
    shuffled = [trials[i] for i in rng.permutation(len(trials))]
    assert located(Inferred(trials).space) == located(Inferred(shuffled).space)


@settings(max_examples=30, deadline=None)
@given(space=spaces(), seed=st.integers(0, 2**32 - 1))
def test_translation_there_and_back(space: Space, seed: int) -> None:
    trials = trials_of(space, seed)
    inferred = Inferred(trials)
    for trial in trials:
        there = inferred.space.validate(inferred.config(trial.params, complete=True))
        assert inferred.params(there) == trial.params


def test_four_trials_of_the_papers_function_show_its_tree() -> None:
    space = synthetic().space
    trials = []
    for side, leaf in [(0, 0), (0, 1), (1, 0), (1, 1)]:
        choice, shared = ("x3", "r9") if side else ("x2", "r8")
        config = {"x1": side, shared: 0.5, choice: leaf, f"x{4 + 2 * side + leaf}": 0.1}
        distributions = {name: distribution_of(space.variables[name]) for name in config}
        trials.append(optuna.create_trial(params=config, distributions=distributions, value=0.0))
    assert located(Inferred(trials).space) == located(space)


@pytest.mark.parametrize("name", matching(["function", "cash"]))
def test_the_benchmarks_tasks(name: str) -> None:
    """Each option seen once is enough there. (The spaces of yahpo are below, without their data.)"""
    space = load(name).space
    for seed in range(5):
        assert located(Inferred(trials_of(space, seed, visits=1)).space) == located(space)


@pytest.mark.parametrize("path", sorted(PUBLISHED.glob("*.json")), ids=lambda path: path.stem)
def test_published_spaces(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the files are of ConfigSpace's older format
        space = from_configspace(ConfigSpace.ConfigurationSpace.from_json(path))
    for seed in range(5):
        assert located(Inferred(trials_of(space, seed, visits=1)).space) == located(space)


def test_layers_hang_under_their_number() -> None:
    trials = [Seen({"n_layers": n - 1, **{f"units_{i}": None for i in range(n)}}) for n in (1, 2, 3)]
    found = infer(trials, {"n_layers": Gate(3, ordered=True)})
    assert found["units_0"] == {None}
    assert found["units_1"] == {("n_layers", 1), ("n_layers", 2)}
    assert found["units_2"] == {("n_layers", 2)}


def test_a_number_of_layers_not_seen_yet_opens_what_the_nearest_one_does() -> None:
    def trial(n: int) -> optuna.trial.FrozenTrial:
        params = {"n": n, **{f"units_{i}": 0.5 for i in range(n)}}
        distributions = {name: FloatDistribution(0, 1) for name in params} | {"n": IntDistribution(1, 6)}
        return optuna.create_trial(params=params, distributions=distributions, value=0.0)

    space = Inferred([trial(1), trial(5)]).space
    choice = space.variables["n"]
    assert isinstance(choice, Choice)
    assert [len(option.children) for option in choice.spaces] == [0, 0, 0, 4, 4, 4]  # units_0 is always there


def test_a_trial_that_broke_off_is_no_evidence_of_absence() -> None:
    trials = [Seen({"model": 0, "C": None}), Seen({"model": 0}, complete=False), Seen({"model": 1})]
    assert infer(trials, {"model": Gate(2, ordered=False)})["C"] == {("model", 0)}


def test_what_nothing_explains_stays_and_is_filled_in() -> None:
    """A parameter that depends on a continuous one has no gate."""
    unit = FloatDistribution(0, 1)

    def trial(lr: float) -> optuna.trial.FrozenTrial:
        params = {"lr": lr, **({"momentum": 0.9} if lr > 0.5 else {})}
        return optuna.create_trial(params=params, distributions=dict.fromkeys(params, unit), value=lr)

    inferred = Inferred([trial(lr) for lr in (0.1, 0.4, 0.6, 0.9)])
    assert inferred.config({"lr": 0.1}, complete=True) == {"lr": 0.1, "momentum": 0.5}
    assert inferred.config({"lr": 0.9, "momentum": 0.2}, complete=True) == {"lr": 0.9, "momentum": 0.2}


@pytest.mark.parametrize(
    ("ranges", "now"),
    [
        ([(0, 10), (0, 10), (0, 5)], (0, 5)),  # narrowed for good
        ([(0, 10), (20, 30)], (20, 30)),
        ([(0, 3), (0, 7), (0, 3), (0, 5)], (0, 7)),  # depends on something: comes and goes
    ],
)
def test_ranges_that_change(ranges: list[tuple[float, float]], now: tuple[float, float]) -> None:
    trials = [
        optuna.create_trial(params={"x": low}, distributions={"x": FloatDistribution(low, high)}, value=0.0)
        for low, high in ranges
    ]
    assert Inferred(trials).distributions["x"] == FloatDistribution(*now)


def test_categories_of_any_type_and_single_values() -> None:
    anything = CategoricalDistribution([None, True, 1.5, "x"])
    fixed = FloatDistribution(2.0, 2.0)
    trials = [
        optuna.create_trial(params={"a": v, "b": 2.0}, distributions={"a": anything, "b": fixed}, value=0.0)
        for v in anything.choices
    ]
    inferred = Inferred(trials)
    assert list(inferred.space.variables) == ["a"]
    for value in anything.choices:
        assert inferred.params(inferred.config({"a": value, "b": 2.0}, complete=True)) == {"a": value}
