"""The methods of the benchmark, each through its own conditional API, behind one small protocol (`Method`).

To add one, write a class with `ask()` and `tell(config, value)` and name it in `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, Protocol, runtime_checkable

from addtree import Space
from addtree.paper.baselines.addtree import AS_PUBLISHED, AddTree
from addtree.paper.baselines.hyperopt import Hyperopt
from addtree.paper.baselines.method import Method
from addtree.paper.baselines.random_search import RandomSearch
from addtree.paper.baselines.smac import Smac
from benchmarks.tasks.task import Task

__all__ = ["METHODS", "Method", "Peer", "Recommends", "start", "versions"]

SMAC_BUDGET = 10_000  # The budget that SMAC is told is larger than any run, so that the runner stops, not SMAC.
SMAC_INITIAL = 10  # SMAC takes this many initial points, as the other peers do; its default depends on the budget.


@runtime_checkable
class Recommends(Protocol):
    """A method that says itself which configuration it would return after noisy evaluations."""

    def recommend(self) -> dict[str, Any]:
        """The configuration that it takes for the best."""
        ...


@dataclass(frozen=True)
class Peer:
    """One method.

    begin          begins a run from a task and a seed
    distributions  the distributions whose versions matter
    release        the releases of some of them that the method needs, by the beginning of the version
    """

    begin: Callable[[Task, int], Method]
    distributions: tuple[str, ...]
    release: Mapping[str, str] = field(default_factory=dict)

    def missing(self) -> list[str]:
        """The distributions that are not installed."""
        absent = [name for name in self.distributions if find_spec(name) is None]
        others = [name for name in self.release if name not in absent and not self._fits(name)]
        return absent + [f"{name} {self.release[name]}" for name in others]

    def _fits(self, name: str) -> bool:
        return str(import_module(name).__version__).startswith(self.release[name])


def _declared(begin: Callable[[Space, int], Method]) -> Callable[[Task, int], Method]:
    """A method that takes a declared space."""
    return lambda task, seed: begin(task.space, seed)


def _late(module: str, name: str, *, define_by_run: bool = False) -> Callable[[Task, int], Method]:
    """A function of a module of this folder that is imported only when it is called, because its library is large."""

    def begin(task: Task, seed: int) -> Method:
        function: Any = getattr(import_module(f"benchmarks.peers.{module}"), name)
        method: Method = function(task.space, seed, task.program) if define_by_run else function(task.space, seed)
        return method

    return begin


def _optuna(name: str, *distributions: str, release: str = "5.", define_by_run: bool = True) -> Peer:
    """A method of `optuna_peers`."""
    begin = _late("optuna_peers", name, define_by_run=define_by_run)
    return Peer(begin, ("optuna", *distributions), {"optuna": release})


_ADDTREE = ("addtree", "numpy", "scipy")
METHODS: dict[str, Peer] = {
    "addtree": Peer(_declared(AddTree), _ADDTREE),
    "addtree-define-by-run": _optuna("addtree", *_ADDTREE),
    "addtree-paper": Peer(_declared(partial(AddTree, **AS_PUBLISHED)), _ADDTREE),
    "random": Peer(_declared(RandomSearch), ("addtree", "numpy")),
    "optuna-tpe": _optuna("tpe"),
    "optuna-tpe-group": _optuna("tpe_group"),
    "optuna-tpe-union": _optuna("tpe_union", "tpe_union_multivariate", define_by_run=False),  # no dynamic ranges
    "optuna-tpe-hierarchical": _optuna("tpe_hierarchical", "hierarchical_tpe", release="4.8"),
    "optuna-gp": _optuna("gp", "torch"),
    "optuna-gp-flat": _optuna("gp_flat", "torch", define_by_run=False),
    "smac": Peer(_declared(partial(Smac, budget=SMAC_BUDGET, n_initial=SMAC_INITIAL)), ("smac", "ConfigSpace")),
    "hyperopt": Peer(_declared(Hyperopt), ("hyperopt",)),
    "botorch-hierarchical": Peer(_late("botorch_peer", "Hierarchical"), ("botorch", "gpytorch", "torch")),
}


def start(method: str, task: Task, seed: int) -> Method:
    """Begin a run of a method; raises ImportError if its library is not installed."""
    return METHODS[method].begin(task, seed)


def versions(method: str) -> dict[str, str]:
    """The versions of the distributions that a method runs on; none for a method that is not listed."""
    found = {}
    for name in METHODS[method].distributions if method in METHODS else ():
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found
