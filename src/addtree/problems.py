"""Conditional test functions with known optima."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from addtree.parameters import Real
from addtree.space import Choice, Space


@dataclass(frozen=True)
class Problem:
    """A function to minimise over a conditional space, and its least value."""

    name: str
    space: Space
    objective: Callable[[Mapping[str, Any]], float]
    optimum: float


def _two_by_two(leaf: tuple[float, float]) -> Space:
    """The tree of the paper's synthetic function: x1 opens r8 or r9, then x2 or x3 opens one of x4 .. x7."""
    low, high = leaf

    def half(choice: str, shared: str, left: str, right: str) -> Space:
        options = {0: Space({left: Real(low, high)}), 1: Space({right: Real(low, high)})}
        return Space({shared: Real(0, 1), choice: Choice(options)})

    return Space(x1=Choice({0: half("x2", "r8", "x4", "x5"), 1: half("x3", "r9", "x6", "x7")}))


def _leaf(config: Mapping[str, Any]) -> tuple[int, float, float]:
    """The leaf (0 to 3) of a configuration on that tree, its shared variable and its own."""
    side = config["x1"]
    leaf = 2 * side + config["x3" if side else "x2"]
    return leaf, config["r9" if side else "r8"], config[f"x{4 + leaf}"]


def synthetic() -> Problem:
    """The paper's synthetic function (its Figure 2, from Jenatton et al. 2017): additive, least value 0.1.

    >>> synthetic().objective({"x1": 0, "x2": 1, "r8": 0.5, "x5": 0.5})
    0.95
    """

    def objective(config: Mapping[str, Any]) -> float:
        leaf, r, x = _leaf(config)
        return float(x**2 + (0.1, 0.2, 0.3, 0.4)[leaf] + r)

    return Problem("synthetic", _two_by_two((-1, 1)), objective, 0.1)


def interaction() -> Problem:
    """The same tree with an interaction in every leaf: c + (r - r*)² + (z - 0.2 - 0.6 r)², least value 0.1.

    >>> round(interaction().objective({"x1": 0, "x2": 0, "r8": 0.3, "x4": 0.38}), 12)
    0.1
    """

    def objective(config: Mapping[str, Any]) -> float:
        leaf, r, z = _leaf(config)
        return float((0.1, 0.2, 0.3, 0.4)[leaf] + (r - (0.3, 0.7, 0.2, 0.9)[leaf]) ** 2 + (z - 0.2 - 0.6 * r) ** 2)

    return Problem("interaction", _two_by_two((0, 1)), objective, 0.1)
