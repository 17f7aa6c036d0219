"""The methods compared, each through its own conditional API, behind one small protocol.

A method is a function `(space, seed) -> Session`; each lives in the module that imports its library, and is imported
only when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

from addtree import Space

Config = Mapping[str, Any]


class Session(Protocol):
    """One run: suggest a configuration, hear its value. Strictly one after the other."""

    def ask(self) -> Config:
        """The next configuration, its active parameters only."""
        ...

    def tell(self, config: Config, value: float) -> None:
        """The value of the configuration just asked for."""
        ...


# name: module, what to call there, the distributions whose versions matter
METHODS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "addtree": ("own", "AddTree", ("addtree", "numpy", "scipy")),
    "addtree-paper": ("own", "Paper", ("addtree", "numpy", "scipy")),
    "random": ("own", "Random", ("addtree", "numpy")),
    "optuna-tpe": ("optuna_peers", "tpe", ("optuna",)),
    "optuna-tpe-group": ("optuna_peers", "tpe_group", ("optuna",)),
    "optuna-gp": ("optuna_peers", "gp", ("optuna", "torch")),
    "optuna-gp-flat": ("optuna_peers", "gp_flat", ("optuna", "torch")),
    "smac": ("smac_peer", "Smac", ("smac", "ConfigSpace")),
    "hyperopt": ("hyperopt_peer", "Hyperopt", ("hyperopt",)),
    "botorch-hierarchical": ("botorch_peer", "Hierarchical", ("botorch", "gpytorch", "torch")),
}


def start(method: str, space: Space, seed: int) -> Session:
    """Begin a run of a method; ImportError where its library is not installed."""
    module, name, _ = METHODS[method]
    begin: Callable[[Space, int], Session] = getattr(import_module(f"benchmarks.peers.{module}"), name)
    return begin(space, seed)


def versions(method: str) -> dict[str, str]:
    """Versions of what a method runs on."""
    found = {}
    for name in METHODS[method][2]:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found
