"""The methods of the benchmark, each through its own conditional API, behind one small protocol (`Method`).

To add one, write a class with `ask()` and `tell(config, value)` and name it in `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from addtree import Space
from addtree.paper.baselines.addtree import AS_PUBLISHED, AddTree
from addtree.paper.baselines.hyperopt import Hyperopt
from addtree.paper.baselines.method import Method
from addtree.paper.baselines.random_search import RandomSearch
from addtree.paper.baselines.smac import Smac

__all__ = ["METHODS", "Method", "Peer", "start", "versions"]

SMAC_BUDGET = 10_000  # The budget that SMAC is told is larger than any run, so that the runner stops, not SMAC.
SMAC_INITIAL = 10  # SMAC takes this many initial points, as the other peers do; its default depends on the budget.


@dataclass(frozen=True)
class Peer:
    """One method: how to begin a run from a space and a seed, and the distributions whose versions matter."""

    begin: Callable[[Space, int], Method]
    distributions: tuple[str, ...]

    def missing(self) -> list[str]:
        """The distributions that are not installed."""
        return [name for name in self.distributions if find_spec(name) is None]


def _late(module: str, name: str) -> Callable[[Space, int], Method]:
    """A function of a module of this folder that is imported only when it is called, because its library is large."""

    def begin(space: Space, seed: int) -> Method:
        function: Any = getattr(import_module(f"benchmarks.peers.{module}"), name)
        method: Method = function(space, seed)
        return method

    return begin


METHODS: dict[str, Peer] = {
    "addtree": Peer(AddTree, ("addtree", "numpy", "scipy")),
    "addtree-define-by-run": Peer(_late("optuna_peers", "addtree_define_by_run"), ("addtree", "optuna")),
    "addtree-paper": Peer(partial(AddTree, **AS_PUBLISHED), ("addtree", "numpy", "scipy")),
    "random": Peer(RandomSearch, ("addtree", "numpy")),
    "optuna-tpe": Peer(_late("optuna_peers", "tpe"), ("optuna",)),
    "optuna-tpe-group": Peer(_late("optuna_peers", "tpe_group"), ("optuna",)),
    "optuna-gp": Peer(_late("optuna_peers", "gp"), ("optuna", "torch")),
    "optuna-gp-flat": Peer(_late("optuna_peers", "gp_flat"), ("optuna", "torch")),
    "smac": Peer(partial(Smac, budget=SMAC_BUDGET, n_initial=SMAC_INITIAL), ("smac", "ConfigSpace")),
    "hyperopt": Peer(Hyperopt, ("hyperopt",)),
    "botorch-hierarchical": Peer(_late("botorch_peer", "Hierarchical"), ("botorch", "gpytorch", "torch")),
}


def start(method: str, space: Space, seed: int) -> Method:
    """Begin a run of a method; raises ImportError if its library is not installed."""
    return METHODS[method].begin(space, seed)


def versions(method: str) -> dict[str, str]:
    """The versions of the distributions that a method runs on."""
    found = {}
    for name in METHODS[method].distributions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found
