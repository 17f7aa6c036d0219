"""Conditional test functions with known optima."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from addtree.space.parameters import Integer, Real
from addtree.space.space import Choice, Space


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


def shared_offset() -> Problem:
    """The objective of optuna issue 5299: (t - leaf)², where both options share t; its least value is 0, on a line.

    A model that treats t and the option's own parameter separately can learn nothing.

    >>> shared_offset().objective({"t": 1.5, "x": "A", "y": 1.25})
    0.0625
    """

    def objective(config: Mapping[str, Any]) -> float:
        return float((config["y" if config["x"] == "A" else "z"] - config["t"]) ** 2)

    space = Space(t=Real(-2, 2), x=Choice(A=Space(y=Real(1, 2)), B=Space(z=Real(-2, 1))))
    return Problem("shared_offset", space, objective, 0.0)


def goldstein() -> Problem:
    """The hierarchical Goldstein function of SMT, without constraint: two choices in one node.

    `w1` decides which of x3, x4 are numbers and which are levels (z1, z2) of 20, 50, 80; `w2` adds a cosine in x5. From
    J. Pelamatti, L. Brevault, M. Balesdent, E.-G. Talbi, Y. Guerin: "Bayesian optimization of variable-size design
    space problems", Optimization and Engineering 22 (2021), with the coefficients of SMT's `HierarchicalGoldstein`.

    >>> config = {"x1": 100.0, "x2": 100.0, "z3": 0, "z4": 0, "w1": 3, "x3": 100.0, "x4": 100.0, "w2": 1, "x5": 50.0}
    >>> round(goldstein().objective(config), 6)
    8.94193
    """

    def objective(config: Mapping[str, Any]) -> float:
        x1, x2 = config["x1"], config["x2"]
        x3 = config["x3"] if "x3" in config else (20, 50, 80)[config["z1"]]
        x4 = config["x4"] if "x4" in config else (20, 50, 80)[config["z2"]]
        value = (
            53.3108
            + 0.184901 * x1
            - 5.02914e-6 * x1**3
            + 7.72522e-8 * x1 ** config["z3"]
            - 0.0870775 * x2
            - 0.106959 * x3
            + 7.98772e-6 * x3 ** config["z4"]
            + 0.00242482 * x4
            + 1.32851e-6 * x4**3
            - 0.00146393 * x1 * x2
            - 0.00301588 * x1 * x3
            - 0.00272291 * x1 * x4
            + 0.0017004 * x2 * x3
            + 0.0038428 * x2 * x4
            - 0.000198969 * x3 * x4
            + 1.86025e-5 * x1 * x2 * x3
            - 1.88719e-6 * x1 * x2 * x4
            + 2.50923e-5 * x1 * x3 * x4
            - 5.62199e-5 * x2 * x3 * x4
        )
        if config["w2"]:
            value += 5 * np.cos(2 * np.pi * config["x5"] / 100) - 2
        return float(value)

    real, level = Real(0, 100), Integer(0, 2)
    options = {
        0: Space(z1=level, z2=level),
        1: Space(x3=real, z2=level),
        2: Space(z1=level, x4=real),
        3: Space(x3=real, x4=real),
    }
    space = Space(x1=real, x2=real, z3=level, z4=level, w1=Choice(options), w2=Choice({0: Space(), 1: Space(x5=real)}))
    return Problem("goldstein", space, objective, 8.941930064972205)


def rosenbrock() -> Problem:
    """The variable-size Rosenbrock function of the same paper (its appendix C), without constraints.

    Two choices in one node: `w1` appends x7, x8 to the chain, and `w2` decides whether it continues with x3, x4 or with
    x5, x6 and the bonus 35 z3.

    >>> config = {"x1": 0.5, "x2": 0.5, "z1": 0, "z2": 1, "w1": 0, "w2": 1, "x5": 0.5, "x6": 0.5, "z3": 2}
    >>> round(rosenbrock().objective(config), 6)
    -69.925
    """

    def objective(config: Mapping[str, Any]) -> float:
        a1, a2 = (7, 10)[config["w1"]], (9, 6)[config["w2"]]
        names = ["x1", "x2", *(("x3", "x4"), ("x5", "x6"))[config["w2"]], *((), ("x7", "x8"))[config["w1"]]]
        x = np.array([config[name] for name in names])
        scale, sign = (1.0, 1) if config["z2"] == 0 else (0.7, -1)
        chain = scale * a1 * a2 * (x[1:] - x[:-1]) ** 2 + (a1 + sign * a2) / 10 * (1 - x[:-1]) ** 2
        return float(100 * config["z1"] + chain.sum() - 35 * config.get("z3", 0))

    odd, even, bit = Real(-1, 0.5), Real(0, 1.5), Integer(0, 1)
    space = Space(
        x1=odd,
        x2=even,
        z1=bit,
        z2=bit,
        w1=Choice({0: Space(), 1: Space(x7=odd, x8=even)}),
        w2=Choice({0: Space(x3=odd, x4=even), 1: Space(x5=odd, x6=even, z3=Integer(0, 2))}),
    )
    return Problem("rosenbrock", space, objective, -69.92504244482173)
