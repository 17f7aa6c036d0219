"""The methods that the experiments compare, by name.

A method is made for a space, a seed and a budget, then asked and told in turn: `config = m.ask(); m.tell(config, y)`. A
regressor is a model alone. A library that a method needs beyond the core is imported when the method is made, never
before.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from addtree._types import Array, Config
from addtree.errors import AddTreeError
from addtree.paper.baselines.addtree import AS_PUBLISHED, AddTree
from addtree.paper.baselines.gpyopt import GPyOpt, installed
from addtree.paper.baselines.gpyopt_like import GPyOptLike
from addtree.paper.baselines.hyperopt import Hyperopt
from addtree.paper.baselines.jenatton import JenattonOptimizer, fit
from addtree.paper.baselines.leaves import Layout
from addtree.paper.baselines.method import Method
from addtree.paper.baselines.random_search import RandomSearch
from addtree.paper.baselines.smac import Smac
from addtree.regression import AddTreeGP
from addtree.space.space import Space

# This environment variable names the Python of an environment that has GPyOpt, which needs an old NumPy.
GPYOPT_PYTHON = "ADDTREE_GPYOPT_PYTHON"


class Regressor(Protocol):
    """A model of a function on a space."""

    def fit_predict(self, configs: Sequence[Config], y: Array, at: Sequence[Config]) -> Array:
        """Posterior means at `at` after seeing y at `configs`."""
        ...


@dataclass(frozen=True)
class Entry:
    """One row of the registry.

    make      makes the method from a space, a seed and a budget
    note      what the results page says about it
    requires  the modules that must be installed for it
    check     says what else is missing; empty if nothing is
    """

    name: str
    make: Callable[[Space, int, int], Method]
    note: str
    requires: tuple[str, ...] = ()
    check: Callable[[], str] = lambda: ""

    def missing(self) -> str:
        """Why the method cannot run here; empty if it can."""
        absent = [module for module in self.requires if importlib.util.find_spec(module) is None]
        if absent:
            return f"{self.name} needs {', '.join(absent)}: pip install 'addtree[paper]'"
        return self.check()


def gpyopt_versions() -> dict[str, str]:
    """The versions in the environment of GPyOpt; empty if no environment is named."""
    python = os.environ.get(GPYOPT_PYTHON)
    return installed(python) if python else {}


def _no_gpyopt() -> str:
    try:
        found = gpyopt_versions()
    except AddTreeError as error:
        return f"gpyopt cannot run: {GPYOPT_PYTHON}: {error}"
    return "" if found else f"gpyopt needs an environment of its own: set {GPYOPT_PYTHON} to its Python (docs/paper.md)"


METHODS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "add-tree",
            lambda space, seed, budget: AddTree(space, seed, **AS_PUBLISHED),
            "the paper's method as published",
        ),
        Entry(
            "addtree",
            lambda space, seed, budget: AddTree(space, seed),
            "this library's default",
        ),
        Entry(
            "independent",
            lambda space, seed, budget: AddTree(space, seed, covariance="independent"),
            "one Gaussian process per path, nothing shared",
        ),
        Entry(
            "tree",
            lambda space, seed, budget: JenattonOptimizer(space, seed),
            "Jenatton et al. 2017",
        ),
        Entry(
            "smac",
            lambda space, seed, budget: Smac(space, seed, budget=budget),
            "SMAC3, random forest, conditions in ConfigSpace",
            requires=("smac", "ConfigSpace"),
        ),
        Entry(
            "tpe",
            lambda space, seed, budget: Hyperopt(space, seed),
            "Hyperopt, nested hp.choice",
            requires=("hyperopt",),
        ),
        Entry(
            "gpyopt",
            lambda space, seed, budget: GPyOpt(space, seed, python=os.environ[GPYOPT_PYTHON]),
            "GPyOpt, flattened, one-hot, SE kernel, EI",
            check=_no_gpyopt,
        ),
        Entry(
            "gpyopt-like",
            lambda space, seed, budget: GPyOptLike(space, seed),
            "the same method written anew: GP on the one-hot flattened space, SE, EI",
        ),
        Entry(
            "random",
            lambda space, seed, budget: RandomSearch(space, seed),
            "random search",
        ),
    )
}


class _AddTreeModel:
    """An `AddTreeGP` as a regressor."""

    def __init__(self, space: Space, **options: Any) -> None:
        self.space, self.options = space, options

    def fit_predict(self, configs: Sequence[Config], y: Array, at: Sequence[Config]) -> Array:
        mean, _ = AddTreeGP(self.space, **self.options).fit(configs, y).predict(at)
        return np.asarray(mean)


class _JenattonModel:
    """Jenatton's model as a regressor."""

    def __init__(self, space: Space) -> None:
        self.space = space

    def fit_predict(self, configs: Sequence[Config], y: Array, at: Sequence[Config]) -> Array:
        layout = Layout.from_space(self.space)
        mean, _ = fit(layout, layout.encode(configs), y, rng=np.random.default_rng(len(y))).predict(layout.encode(at))
        return mean


REGRESSORS: dict[str, Callable[[Space], Regressor]] = {
    "add-tree": lambda space: _AddTreeModel(space, covariance="additive", inference="mle"),
    "addtree": lambda space: _AddTreeModel(space),
    "independent": lambda space: _AddTreeModel(space, covariance="independent", inference="mle"),
    "tree": _JenattonModel,
}
