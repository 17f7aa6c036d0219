"""Structure inference: the trials of define-by-run code show the space that was declared."""

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
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import BaseDistribution, IntDistribution

from addtree import Categorical, Choice, Integer, Real, Space
from addtree._optuna.codec import to_distribution
from addtree._optuna.inferred import Inferred
from addtree.configspace import from_configspace
from addtree.problems import synthetic
from addtree.space.tree import Location
from benchmarks.tasks import load, matching

PUBLISHED = Path(__file__).parents[1] / "data" / "configspace"

VISITS = 6  # Visits to every node. With fewer, two choices may agree by chance.


@st.composite
def spaces(draw: st.DrawFn, depth: int = 3) -> Space:
    """Random trees with up to two choices a node, parameters that options share, and whole-number options."""
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
    """The trial of code that asks for a configuration depth first, and for whole-number options as integers."""
    distributions: dict[str, BaseDistribution] = {}

    def ask(node: Space) -> None:
        for name, domain in node.children.items():
            distributions[name] = to_distribution(domain)
            if isinstance(domain, Choice):
                if isinstance(domain.labels[0], int):
                    distributions[name] = IntDistribution(domain.labels[0], int(domain.labels[-1] or 0))
                ask(domain.spaces[domain.labels.index(config[name])])

    ask(space)
    params = {name: config[name] for name in distributions}
    return optuna.create_trial(params=params, distributions=distributions, value=0.0)


def trials_of(space: Space, seed: int, visits: int = VISITS) -> list[optuna.trial.FrozenTrial]:
    """Random trials until every node was visited that often."""
    rng, visited, trials = np.random.default_rng(seed), Counter[Location](), []
    while min(visited[node.location] for node in space.nodes) < visits:
        config = space.sample(rng)
        visited.update(node.location for node in space.active_nodes(config))
        trials.append(frozen(space, config))
    return trials


def located(space: Space) -> dict[str, frozenset[Location]]:
    """When each variable is active."""
    return {name: frozenset(condition) for name, condition in space.conditions.items()}


@given(space=spaces(), seed=st.integers(0, 2**32 - 1))
def test_the_structure_inferred_is_the_one_declared(space: Space, seed: int) -> None:
    inferred, rng = Inferred(trials_of(space, seed)), np.random.default_rng(seed)
    assert inferred.space.variables.keys() == space.variables.keys()
    for _ in range(50):
        params = frozen(space, space.sample(rng)).params
        assert inferred.space.validate(inferred.config(params, complete=True)).keys() == params.keys()


@given(space=spaces(), seed=st.integers(0, 2**32 - 1))
def test_the_order_of_trials_does_not_matter(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    trials = [frozen(space, space.sample(rng)) for _ in range(10)]
    shuffled = [trials[i] for i in rng.permutation(len(trials))]
    assert located(Inferred(trials).space) == located(Inferred(shuffled).space)


@given(space=spaces(), seed=st.integers(0, 2**32 - 1))
def test_a_configuration_translates_back_to_the_parameters(space: Space, seed: int) -> None:
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
        distributions = {name: to_distribution(space.variables[name]) for name in config}
        trials.append(optuna.create_trial(params=config, distributions=distributions, value=0.0))
    assert located(Inferred(trials).space) == located(space)


@pytest.mark.parametrize("name", matching(["function", "cash"]))
def test_the_tasks_of_the_benchmarks(name: str) -> None:
    """One visit to each option is enough there. (The test below covers the spaces of yahpo, without their data.)"""
    space = load(name).space
    for seed in range(5):
        assert located(Inferred(trials_of(space, seed, visits=1)).space) == located(space)


@pytest.mark.parametrize("path", sorted(PUBLISHED.glob("*.json")), ids=lambda path: path.stem)
def test_published_spaces(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The files have ConfigSpace's older format.
        space = from_configspace(ConfigSpace.ConfigurationSpace.from_json(path))
    for seed in range(5):
        assert located(Inferred(trials_of(space, seed, visits=1)).space) == located(space)
