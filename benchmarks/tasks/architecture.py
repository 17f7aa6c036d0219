"""Hierarchical problems of system architecture, from SMT and SBArchOpt: both libraries are optional.

SMT's network has a number of layers that opens their sizes. SBArchOpt's problems list all valid combinations of their
discrete variables; the tree of choices is read from that list.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from addtree import Categorical, Choice, Integer, Real, Space
from addtree.problems import Problem, goldstein
from addtree.space.parameters import Parameter
from benchmarks.tasks.task import MissingDataError, MultiTask, Task, Values

UNITS = (8, 16, 32, 64, 128, 256)
ACTIVATIONS = ("ReLU", "SELU", "ISRLU")


def require(library: str, distribution: str, task: str) -> None:
    """Raise a MissingDataError that names the remedy if a library is not installed."""
    if find_spec(library) is None:
        raise MissingDataError(f"architecture/{task}: {distribution} is not installed; pip install {distribution}")


def network() -> Problem:
    """SMT's `HierarchicalNeuralNetwork`; linear and cubic, so that its least value is in a corner."""
    require("smt", "smt", "network")
    from smt.problems import HierarchicalNeuralNetwork

    problem = HierarchicalNeuralNetwork()
    size = Integer(0, 5)
    layers = Choice({1: Space(), 2: Space(x6=size), 3: Space(x6=size, x7=size)})
    units, activation = Categorical(UNITS, ordered=True), Categorical(ACTIVATIONS)
    space = Space(x1=Real(-5, 2), x2=Real(-5, 2), units=units, activation=activation, x5=size, layers=layers)

    def objective(config: Mapping[str, Any]) -> float:
        row = [
            *(config["layers"] - 1, config["x1"], config["x2"]),
            *(UNITS.index(config["units"]), ACTIVATIONS.index(config["activation"])),
            *(config.get(name, 0) for name in ("x5", "x6", "x7")),
        ]
        return float(problem(np.array([row], dtype=float)).item())

    best = {"x1": -5.0, "x2": -5.0, "units": 256, "activation": "ReLU", "x5": 0, "layers": 3, "x6": 0, "x7": 5}
    return Problem("network", space, objective, objective(best))


def sb_arch_opt(name: str) -> Task:
    """A problem with one objective of `sb_arch_opt.problems.hierarchical`, by the name of its class.

    SBArchOpt finds the constants of some problems by a search, so that values differ by 1e-7 between machines.
    """
    problem, tree = _with_tree(name)
    return Task(name, tree.space, lambda config: float(_evaluate(problem, tree.columns, config)["F"].item()), None)


def several_objectives(name: str) -> MultiTask:
    """The same with two objectives, f1 and f2, and with constraints g1, g2, ... that are kept if they are at most 0."""
    if name in SPACES:
        problem, (space, columns) = _load(name), SPACES[name]()
    else:
        problem, tree = _with_tree(name)
        space, columns = tree.space, tree.columns

    def evaluate(config: Mapping[str, Any]) -> Values:
        found = _evaluate(problem, columns, config)
        f, g = found["F"].reshape(-1), found.get("G", np.empty(0)).reshape(-1)
        return {f"f{k + 1}": float(v) for k, v in enumerate(f)} | {f"g{k + 1}": float(v) for k, v in enumerate(g)}

    limits = {f"g{k + 1}": 0.0 for k in range(problem.n_ieq_constr)}
    return MultiTask(space, evaluate, ("f1", "f2"), limits)


def _goldstein() -> tuple[Space, dict[str, int]]:
    """The space of `MOHierarchicalGoldstein`, and the column of each variable."""
    names = ("x1", "x2", "x3", "x4", "x5", "z1", "z2", "z3", "z4", "w1", "w2")
    return goldstein().space, {name: j for j, name in enumerate(names)}


def _rosenbrock() -> tuple[Space, dict[str, int]]:
    """The same of `MOHierarchicalRosenbrock`. Its second constraint reads variables that the objectives do not."""
    odd, even, bit = Real(-1, 0.5), Real(0, 1.5), Integer(0, 1)
    first: dict[str, Any] = {"x3": odd, "x4": even}
    second: dict[str, Any] = {"x5": odd, "x6": even, "z3": Integer(0, 2)}
    third: dict[str, Any] = {"x7": odd, "x8": even}
    one = Choice({0: Space(first), 1: Space(first | second | third)})
    other = Choice({0: Space(first | third), 1: Space(second | third)})
    space = Space(x1=odd, x2=even, z1=bit, z2=bit, w1=Choice({0: Space({"w2.0": one}), 1: Space({"w2.1": other})}))
    names = (*(f"x{k}" for k in range(1, 9)), "z1", "z2", "z3", "w1")
    return space, {name: j for j, name in enumerate(names)} | {"w2.0": 12, "w2.1": 12}


SPACES = {"MOHierarchicalGoldstein": _goldstein, "MOHierarchicalRosenbrock": _rosenbrock}


def _load(name: str) -> Any:
    """A problem of SBArchOpt."""
    require("sb_arch_opt", "sb-arch-opt", name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sb_arch_opt.problems import hierarchical

        return getattr(hierarchical, name)()


def _with_tree(name: str) -> tuple[Any, _Tree]:
    """A problem of SBArchOpt and its tree of choices."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):  # building prints progress
        warnings.simplefilter("ignore")
        problem = _load(name)
        return problem, _Tree(problem, *problem.design_space.all_discrete_x)


def _evaluate(problem: Any, columns: Mapping[str, int], config: Mapping[str, Any]) -> Any:
    """The objectives F and constraints G of a configuration; SBArchOpt ignores what is inactive."""
    row = np.zeros(problem.n_var)
    for key, value in config.items():
        row[columns[key]] = value
    return problem.evaluate(row[None], return_as_dictionary=True)


class _Tree:
    """The space of a problem, and for each of its names the column of the problem's variable.

    A discrete variable that combines with all others is a plain categorical. The others are nested in their order: the
    options of one decide which values of the next are valid. The name of such a choice ends with the options above it.

    table   the valid combinations of all variables, one per row; numbers have an arbitrary value
    active  which variables are active in each row
    """

    def __init__(self, problem: Any, table: NDArray[Any], active: NDArray[Any]) -> None:
        self.columns: dict[str, int] = {}
        self._nested: list[int] = []
        children: dict[str, Parameter | Choice] = {}
        for j, variable in enumerate(problem.des_vars):
            if not active[:, j].all() or not (problem.is_cont_mask[j] or _combines(table, j)):
                self._nested.append(j)
                continue
            self.columns[f"x{j}"] = j
            if problem.is_cont_mask[j]:
                children[f"x{j}"] = Real(*map(float, variable.bounds))
            else:
                children[f"x{j}"] = Categorical(tuple(int(value) for value in np.unique(table[:, j])))
        if problem.is_cont_mask[self._nested].any():
            raise ValueError("a number that is not always active is not implemented")
        rows = np.where(active, table, np.nan)[:, self._nested]
        self.space = Space(children | self._nest(rows, 0, ""))

    def _nest(self, rows: NDArray[Any], first: int, above: str) -> dict[str, Choice]:
        """The next choice among the valid combinations `rows`; `above` holds the options that lead to them."""
        for k in range(first, len(self._nested)):
            values = np.unique(rows[:, k])
            if len(values) == 1:  # inactive, or with one valid value
                continue
            if np.isnan(values).any():
                raise ValueError(f"variable {self._nested[k]} depends on a later one")
            name = f"x{self._nested[k]}{above}"
            self.columns[name] = self._nested[k]
            return {
                name: Choice(
                    {int(v): Space(self._nest(rows[rows[:, k] == v], k + 1, f"{above}.{int(v)}")) for v in values}
                )
            }
        return {}


def _combines(table: NDArray[Any], column: int) -> bool:
    """Whether every value of a column is valid with every combination of the others."""
    others = np.unique(np.delete(table, column, axis=1), axis=0)
    return len(table) == len(others) * len(np.unique(table[:, column]))
