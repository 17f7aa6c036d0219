"""The methods that the experiments compare, by name: one protocol, one registry.

A method is made for a space, a seed and a budget, then asked and told in turn: `config = m.ask(); m.tell(config, y)`. A
regressor is the model alone. What a method needs beyond the core is imported when it is made, never before.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from addtree.errors import AddTreeError
from addtree.space.space import Config, Space

Float = NDArray[np.float64]

GPYOPT_PYTHON = "ADDTREE_GPYOPT_PYTHON"  # names the Python of an environment that has GPyOpt, which needs an old NumPy


class Method(Protocol):
    """An optimizer that is asked and told in turn."""

    def ask(self) -> dict[str, Any]:
        """The configuration to evaluate next."""

    def tell(self, config: Config, value: float) -> None:
        """Its value, to be minimised."""


class Regressor(Protocol):
    """A model of a function on a space."""

    def fit_predict(self, configs: Sequence[Config], y: Float, at: Sequence[Config]) -> Float:
        """Posterior means at `at` after seeing y at `configs`."""


@dataclass(frozen=True)
class Entry:
    """One row of the registry: how to make the method, and what must be installed for it."""

    name: str
    make: Callable[[Space, int, int], Method]
    requires: tuple[str, ...] = ()
    note: str = ""
    check: Callable[[], str] = lambda: ""  # what else may be missing

    def missing(self) -> str:
        """Why the method cannot run here; empty if it can."""
        absent = [module for module in self.requires if importlib.util.find_spec(module) is None]
        if absent:
            return f"{self.name} needs {', '.join(absent)}: pip install 'addtree[paper]'"
        return self.check()


def gpyopt_versions() -> dict[str, str]:
    """What the environment of GPyOpt holds; nothing where none is named."""
    from addtree.paper.gpyopt import installed

    python = os.environ.get(GPYOPT_PYTHON)
    return installed(python) if python else {}


def _no_gpyopt() -> str:
    try:
        found = gpyopt_versions()
    except AddTreeError as error:
        return f"gpyopt cannot run: {GPYOPT_PYTHON}: {error}"
    return "" if found else f"gpyopt needs an environment of its own: set {GPYOPT_PYTHON} to its Python (docs/paper.md)"


class _Ours:
    """An `addtree.Optimizer` behind the protocol."""

    def __init__(self, space: Space, seed: int, **options: Any) -> None:
        import addtree as at

        self._optimizer = at.Optimizer(space, seed=seed, **options)
        self._trial: Any = None

    def ask(self) -> dict[str, Any]:
        self._trial = self._optimizer.ask()
        return dict(self._trial.config)

    def tell(self, config: Config, value: float) -> None:
        self._optimizer.tell(self._trial, value)


def _paper(space: Space, seed: int, budget: int) -> Method:
    return _Ours(space, seed, covariance="additive", acquisition="additive-ucb", inference="mle")


def _default(space: Space, seed: int, budget: int) -> Method:
    return _Ours(space, seed)


def _independent(space: Space, seed: int, budget: int) -> Method:
    return _Ours(space, seed, covariance="independent")


def _random(space: Space, seed: int, budget: int) -> Method:
    from addtree.paper.random_search import Random

    return Random(space, seed)


def _smac(space: Space, seed: int, budget: int) -> Method:
    from addtree.paper.smac import Smac

    return Smac(space, seed, budget)


def _tpe(space: Space, seed: int, budget: int) -> Method:
    from addtree.paper.tpe import Tpe

    return Tpe(space, seed)


def _gpyopt(space: Space, seed: int, budget: int) -> Method:
    from addtree.paper.gpyopt import GPyOpt

    return GPyOpt(space, seed, python=os.environ[GPYOPT_PYTHON])


def _gpyopt_like(space: Space, seed: int, budget: int) -> Method:
    from addtree.paper.gpyopt import GPyOptLike

    return GPyOptLike(space, seed)


def _tree(space: Space, seed: int, budget: int) -> Method:
    from addtree.paper.jenatton import JenattonOptimizer

    return JenattonOptimizer(space, seed)


METHODS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("add-tree", _paper, note="the paper's method as published"),
        Entry("addtree", _default, note="this library's default"),
        Entry("independent", _independent, note="one Gaussian process a path, nothing shared"),
        Entry("tree", _tree, note="Jenatton et al. 2017"),
        Entry("smac", _smac, ("smac", "ConfigSpace"), note="SMAC3, random forest, conditions in ConfigSpace"),
        Entry("tpe", _tpe, ("hyperopt",), note="Hyperopt, nested hp.choice"),
        Entry("gpyopt", _gpyopt, note="GPyOpt, flattened, one-hot, SE kernel, EI", check=_no_gpyopt),
        Entry(
            "gpyopt-like", _gpyopt_like, note="the same method written anew: GP on the one-hot flattened space, SE, EI"
        ),
        Entry("random", _random, note="random search"),
    )
}


class _OurModel:
    """An `addtree.AddTreeGP` as a regressor."""

    def __init__(self, space: Space, **options: Any) -> None:
        self.space, self.options = space, options

    def fit_predict(self, configs: Sequence[Config], y: Float, at: Sequence[Config]) -> Float:
        import addtree

        mean, _ = addtree.AddTreeGP(self.space, **self.options).fit(configs, y).predict(at)
        return np.asarray(mean)


class _TreeModel:
    """Jenatton's model as a regressor."""

    def __init__(self, space: Space) -> None:
        self.space = space

    def fit_predict(self, configs: Sequence[Config], y: Float, at: Sequence[Config]) -> Float:
        from addtree.paper.jenatton import fit
        from addtree.paper.leaves import Layout

        layout = Layout.from_space(self.space)
        mean, _ = fit(layout, layout.encode(configs), y, rng=np.random.default_rng(len(y))).predict(layout.encode(at))
        return mean


REGRESSORS: dict[str, Callable[[Space], Regressor]] = {
    "add-tree": lambda space: _OurModel(space, covariance="additive", inference="mle"),
    "addtree": lambda space: _OurModel(space),
    "independent": lambda space: _OurModel(space, covariance="independent", inference="mle"),
    "tree": _TreeModel,
}
