"""Configurations as arrays: one column per variable, NaN where it is inactive.

symbol  shape   meaning
X       n x D   codes: the unit interval for real and integer columns, the position for categorical and choice columns

Only this module converts between configurations and arrays; `decoding` does so faster for the rules of a space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from addtree._types import Array, Config, Index, Mask
from addtree.errors import OptionError
from addtree.space.cells import Cells
from addtree.space.choice import Choice
from addtree.space.feasibility import Feasibility
from addtree.space.grid import Grid
from addtree.space.narrowing import narrowed_numbers
from addtree.space.parameters import Real
from addtree.space.tree import Node

if TYPE_CHECKING:
    from addtree.space.space import Space

_KEY_DECIMALS = 12  # Codes of reals that agree to this many decimals of the unit interval are one configuration.
_MAX_ENUMERATED = 20_000  # A finite space of up to this many configurations is listed where a search finds nothing.


class Encoding:
    """The columns of a space, and the conversion to and from them. A constant has no column.

    >>> from addtree import Choice, Integer, Space
    >>> encoding = Encoding(Space(x=Real(0, 4), c=Choice(a=Space(), b=Space(k=Integer(1, 3)))))
    >>> encoding.encode([{"x": 1.0, "c": "b", "k": 3}, {"x": 2.0, "c": "a"}])
    array([[0.25, 1.  , 1.  ],
           [0.5 , 0.  ,  nan]])
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        constants = {name for node in space.nodes for name in node.constants}
        self.names = tuple(name for name in space.variables if name not in constants)
        self.index = {name: j for j, name in enumerate(self.names)}
        # the domains of all variables; a number that rules confine to a small part of its range has that part alone
        self.variables: dict[str, Any] = {**space.variables, **(narrowed_numbers(space) if space.node_rules else {})}
        domains: list[Any] = [self.variables[name] for name in self.names]
        self._domains = tuple(domains)
        self.is_choice: Mask = np.array([isinstance(d, Choice) for d in domains], dtype=np.bool_)
        numeric = [domain.is_numeric for domain in domains]
        self.is_numeric: Mask = np.array(numeric, dtype=np.bool_)
        # the number of codes of a categorical or choice column, 0 for a numeric one
        self.n_codes = np.array([0 if n else len(d.labels) for n, d in zip(numeric, domains, strict=True)], dtype=int)
        # Numbers with few values are snapped to them: those on even grids all at once, others one column at a time.
        self._grids: list[Grid | None] = [d.grid if n else None for n, d in zip(numeric, domains, strict=True)]
        even = [(j, grid.n - 1) for j, grid in enumerate(self._grids) if grid is not None and not grid.is_log]
        self._even = np.array([j for j, _ in even], dtype=np.intp)
        self._intervals = np.array([n for _, n in even], dtype=float)
        self._log = [(j, grid) for j, grid in enumerate(self._grids) if grid is not None and grid.is_log]
        self._coarse = {j: d for j, d in enumerate(domains) if isinstance(d, Real) and d.is_coarse}
        self.cells: dict[int, Cells] = {
            self.index[name]: self._domains[self.index[name]].cells for node in space.nodes for name, _ in node.openers
        }
        self._highest = np.array([self.cells[j].high[-1] if j in self.cells else 1.0 for j in range(len(domains))])

    @property
    def n_columns(self) -> int:
        """D, the number of columns."""
        return len(self.names)

    def encode(self, configs: Sequence[Config]) -> Array:
        """Configurations to X; each is validated first."""
        return self.encode_valid([self.space.validate(config) for config in configs])

    def encode_valid(self, configs: Sequence[Config]) -> Array:
        """Configurations to X; they are as `validate` returns them."""
        X = np.full((len(configs), self.n_columns), np.nan)
        for row, config in zip(X, configs, strict=True):
            for name, value in config.items():
                j = self.index.get(name)
                if j is not None:
                    row[j] = self._domains[j]._encode(value)
        return X

    def decode(self, row: Array) -> dict[str, Any]:
        """One row of X to a configuration of plain Python values."""
        index = self.index
        return {
            name: self.decode_value(name, row[index[name]] if name in index else 0.0)
            for _, node in self.walk(row)
            for name in node.names
        }

    def encode_value(self, name: str, value: Any) -> float:
        """The code of one value, or a ConfigError if the variable does not have it."""
        domain: Any = self.space.variables[name]
        return float(self.variables[name]._encode(domain._check(value)))

    def decode_value(self, name: str, code: float) -> Any:
        """The value of one code; a number between two values on a grid gives the nearer one."""
        return self.variables[name]._decode(float(code))

    def snap(self, X: Array) -> Array:
        """The same rows with every number clipped to its range and at one of its values if it has few."""
        X = X.copy()
        X[:, self.is_numeric] = np.clip(X[:, self.is_numeric], 0.0, self._highest[self.is_numeric])
        if len(self._even):
            X[:, self._even] = np.round(X[:, self._even] * self._intervals) / self._intervals
        for j, grid in self._log:
            X[:, j] = grid.codes(grid.positions(X[:, j]))
        for j, real in self._coarse.items():
            X[:, j] = _to_floats(real, X[:, j])
        return X

    @cached_property
    def feasibility(self) -> Feasibility:
        """The rules of the space, for rows."""
        return Feasibility(self, self.space.node_rules)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n random rows that satisfy the rules: options equally likely, numbers uniform on their scale."""
        if not isinstance(rng, np.random.Generator):
            raise OptionError(f"rng={rng!r} must be a random generator of NumPy: give numpy.random.default_rng(0)")
        return self.feasibility.sample(n, rng)

    def sample_freely(self, n: int, rng: np.random.Generator) -> Array:
        """The same without regard to the rules."""
        X = np.full((n, self.n_columns), np.nan)
        self.fill(X, 0, np.arange(n), rng)
        return X

    def fill(self, X: Array, node: int, rows: Index, rng: np.random.Generator) -> None:
        """Write random codes into `X[rows]` for everything at and below a node."""
        for i, reached in self.walk_rows(X, node, rows):
            k = len(reached)
            for j in self.node_columns[i]:
                X[reached, j] = self.random_codes(j, k, rng)
            for j, options in self.node_choices[i]:
                X[reached, j] = rng.integers(len(options), size=k)

    def from_uniform(self, column: int, u: Array) -> Array:
        """Codes of a numeric column from numbers in [0, 1]: uniform numbers make every value equally likely."""
        grid = self._grids[column]
        if grid is not None:
            return grid.from_uniform(u)
        return _to_floats(self._coarse[column], u) if column in self._coarse else u

    def to_uniform(self, column: int, codes: Array) -> Array:
        """The opposite: numbers in [0, 1] that `from_uniform` maps to these codes."""
        grid = self._grids[column]
        return codes if grid is None else grid.to_uniform(codes)

    def size(self, column: int) -> float:
        """The number of values of a numeric column; infinite for a real one."""
        return float(self._domains[column].size)

    def random_codes(self, column: int, k: int, rng: np.random.Generator | None) -> Array:
        """k random codes of a parameter; without a generator, the middle of its range or its first category."""
        if self.is_numeric[column]:
            return self.from_uniform(column, np.full(k, 0.5) if rng is None else rng.random(k))
        return np.zeros(k) if rng is None else np.asarray(rng.integers(self.n_codes[column], size=k), dtype=float)

    def draw_in_cells(self, column: int, cells: tuple[int, int], u: Array) -> Array:
        """Codes of an opener from numbers in [0, 1], all from its first to its last cell."""
        ends = np.array([self.cells[column].low[cells[0]], self.cells[column].high[cells[1]]])
        low, high = self.to_uniform(column, ends)
        return np.asarray(np.clip(self.from_uniform(column, low + u * (high - low)), *ends))

    # ------------------------------------------------------------------ the tree

    def walk(self, row: Array) -> Iterator[tuple[int, Node]]:
        """The nodes that a row activates, parents first; a choice or opener is read after its node was visited."""

        def cell(name: str) -> int:
            j = self.index[name]
            return int(self.cells[j].of_codes(row[j])) if j in self.cells else int(row[j])

        return self.space.tree.walk(cell)

    def walk_rows(self, X: Array, node: int = 0, rows: Index | None = None) -> Iterator[tuple[int, Index]]:
        """The nodes at and below a node that `X[rows]` (by default X) activate, each with the rows that reach it.

        Parents come first. The choices and openers of a node are read after it was visited, so that the caller can
        write them there.
        """
        queue = [(node, np.arange(len(X)) if rows is None else rows)]
        for i, reached in queue:
            yield i, reached
            for j, options in self.node_choices[i]:
                taken = X[reached, j]
                queue += [(child, chosen) for o, child in enumerate(options) if len(chosen := reached[taken == o])]
            for j, children in self.node_openers[i]:
                for child in children:
                    low, high = self.gates[child][-1][1:]
                    inside = (low <= X[reached, j]) & (X[reached, j] <= high)
                    if inside.any():
                        queue.append((child, reached[inside]))

    def clear(self, X: Array, nodes: Sequence[int], rows: Index) -> None:
        """Make everything at and below some nodes inactive in `X[rows]`."""
        X[np.ix_(rows, np.concatenate([self.below[node] for node in nodes]))] = np.nan

    def enter(self, X: Array, node: int, rng: np.random.Generator) -> Array:
        """The same rows with the options and numbers that lead to a node; what these open is drawn at random."""
        X = X.copy()
        here = 0
        for (name, position), (j, low, high) in zip(self.space.nodes[node].location, self.gates[node], strict=True):
            rows = np.flatnonzero(~((low <= X[:, j]) & (X[:, j] <= high)))
            children = dict(self.space.nodes[here].branches)[name]
            here = children[position]
            if j in self.cells:
                cells = [cell for cell, opened in enumerate(self.cells[j].open) if position in opened]
                X[rows, j] = self.draw_in_cells(j, (cells[0], cells[-1]), rng.random(len(rows)))
                X[rows] = self.repair(X[rows], rng)
                continue
            self.clear(X, children, rows)
            X[rows, j] = position
            self.fill(X, here, rows, rng)
        return X

    def repair(
        self, X: Array, rng: np.random.Generator | None, *, donors: Array | None = None, donor_share: float = 0.0
    ) -> Array:
        """The same rows, snapped, with codes for exactly those variables that the choices and numbers open.

        What is missing is drawn at random, or takes the middle of its range without a generator. A share of the
        rows takes it from the first of the donors that has it. What is open in two ways keeps its codes.
        """
        X = self.snap(X)
        active = np.zeros(X.shape, dtype=bool)
        for i, reached in self.walk_rows(X):
            own = np.array([*self.node_columns[i], *(j for j, _ in self.node_choices[i])], dtype=np.intp)
            lacking = reached[np.isnan(X[np.ix_(reached, own)]).any(axis=1)]
            if len(lacking) and donors is not None and rng is not None:
                found = np.flatnonzero(self.inside(donors, i))
                if len(found):
                    block = np.ix_(lacking[rng.random(len(lacking)) < donor_share], own)
                    X[block] = np.where(np.isnan(X[block]), donors[found[0], own], X[block])
            for j in own.tolist():
                missing = lacking[np.isnan(X[lacking, j])]
                if len(missing):
                    X[missing, j] = self.random_codes(j, len(missing), rng)
            active[np.ix_(reached, own)] = True
        return np.where(active, X, np.nan)

    def inside(self, X: Array, node: int) -> Mask:
        """Which rows activate a node."""
        columns = [j for j, _, _ in self.gates[node]]
        low, high = [low for _, low, _ in self.gates[node]], [high for _, _, high in self.gates[node]]
        return np.asarray(np.all((low <= X[:, columns]) & (X[:, columns] <= high), axis=1))

    def bounds(self, X: Array) -> tuple[Array | float, Array | float]:
        """The least and the largest code of every entry of X with which the same nodes stay active (n x D, or 0, 1)."""
        if not self.cells:
            return 0.0, 1.0
        low, high = np.zeros(X.shape), np.ones(X.shape)
        for j, cells in self.cells.items():
            cell = cells.of_codes(np.nan_to_num(X[:, j]))
            low[:, j], high[:, j] = np.array(cells.low)[cell], np.array(cells.high)[cell]
        return low, high

    def branches(self, X: Array) -> Array:
        """Per row, the options and cells that decide which nodes are active; -1 where a variable is inactive."""
        taken = X[:, self.is_choice]
        if self.cells:
            cells = [np.where(np.isnan(X[:, j]), np.nan, found.of_codes(X[:, j])) for j, found in self.cells.items()]
            taken = np.column_stack([taken, *cells])
        return np.where(np.isnan(taken), -1.0, taken)

    @cached_property
    def gates(self) -> tuple[tuple[tuple[int, float, float], ...], ...]:
        """Per node, the conditions of its location: a column, with the lowest and the highest code that leads there."""
        return tuple(
            tuple(self._gate(self.index[name], position) for name, position in node.location)
            for node in self.space.nodes
        )

    def _gate(self, column: int, position: int) -> tuple[int, float, float]:
        if column in self.cells:
            return (column, *self.cells[column].gate(position))
        return (column, float(position), float(position))

    @cached_property
    def node_columns(self) -> tuple[tuple[int, ...], ...]:
        """Per node, the columns of its own parameters."""
        return tuple(tuple(self.index[name] for name in node.parameters) for node in self.space.nodes)

    @cached_property
    def node_choices(self) -> tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]:
        """Per node, its choices: the column, and the node each option opens."""
        return tuple(tuple((self.index[name], opts) for name, opts in node.choices) for node in self.space.nodes)

    @cached_property
    def node_openers(self) -> tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]:
        """Per node, its openers: the column, and the node each interval opens."""
        return tuple(tuple((self.index[name], opened) for name, opened in node.openers) for node in self.space.nodes)

    @cached_property
    def below(self) -> tuple[Index, ...]:
        """Per node, the columns at it and below it."""

        def columns(i: int, below: list[list[set[int]]]) -> set[int]:
            own = {*self.node_columns[i], *(j for j, _ in self.node_choices[i])}
            return own.union(*(found for children in below for found in children))

        return tuple(np.array(sorted(found), dtype=np.intp) for found in self.space.tree.fold(columns))

    def single_steps(self, row: Array) -> Array:
        """The rows one step away in one number on a grid (either way) or one plain categorical (every other value).

        What a step of a number opens takes the middle of its range.
        """
        steps: list[Array] = []
        for j in np.flatnonzero(~np.isnan(row) & ~self.is_choice):
            grid = self._grids[j]
            codes: list[float] = []
            if grid is not None:
                k = int(grid.positions(row[j]))
                codes = [float(grid.codes(to)) for to in (k - 1, k + 1) if 0 <= to < grid.n]
            elif not self.is_numeric[j]:
                codes = [float(code) for code in range(self.n_codes[j]) if code != row[j]]
            steps += [_with(row, int(j), code) for code in codes]
        X = np.array(steps).reshape(-1, len(row))
        return self.repair(X, None) if self.cells else X

    def keys(self, X: Array) -> list[bytes]:
        """A key per row; equal keys are one configuration."""
        found = np.round(X, _KEY_DECIMALS) + 0.0  # -0.0 becomes 0.0
        if len(self._even):
            found[:, self._even] = np.round(X[:, self._even] * self._intervals) + 0.0
        for j, grid in self._log:
            found[:, j] = grid.positions(X[:, j]) + 0.0
        for j, real in self._coarse.items():
            found[:, j] = [code if np.isnan(code) else real._decode(code) - real.low for code in X[:, j].tolist()]
        return [row.tobytes() for row in np.where(np.isnan(X), -1.0, found)]

    @property
    def is_enumerable(self) -> bool:
        """Whether the space is finite, and small enough to list its configurations."""
        return self.space.n_configs <= _MAX_ENUMERATED

    def enumerate(self) -> Array:
        """Every configuration of a finite space that satisfies the rules, one row each."""

        def codes(j: int) -> list[float]:
            return [self._domains[j]._encode(value) for value in self._domains[j].values]

        return self.feasibility.filter(self._combinations(codes))

    def paths(self) -> Array:
        """Every path, one row each, with zeros for the parameters on it.

        A number that opens parameters has the lowest code of each of its cells, so that cells that open the same
        parameters are several rows.
        """
        return self._combinations(lambda j: list(self.cells[j].low) if j in self.cells else [0.0])

    def _combinations(self, codes: Callable[[int], list[float]]) -> Array:
        """Every combination of options and of the codes `codes(j)` of each parameter, one row each."""

        def completions(row: Array, todo: list[int]) -> list[Array]:
            """The completions of a row in which the nodes `todo` are still open."""
            if not todo:
                return [row]
            node, *rest = todo
            rows = [row]
            for j in self.node_columns[node]:
                rows = [_with(r, j, code) for r in rows for code in codes(j)]
            branches = [(r, [*rest, *self._opened(r, node)]) for r in rows]
            for j, options in self.node_choices[node]:
                branches = [(_with(r, j, o), [*t, child]) for r, t in branches for o, child in enumerate(options)]
            return [done for r, t in branches for done in completions(r, t)]

        return np.array(completions(np.full(self.n_columns, np.nan), [0]))

    def _opened(self, row: Array, node: int) -> list[int]:
        """The nodes that the numbers of a node open in a row."""
        return [
            children[o]
            for j, children in self.node_openers[node]
            for o in self.cells[j].open[int(self.cells[j].of_codes(row[j]))]
        ]


def _to_floats(real: Real, codes: Array) -> Array:
    """The codes of the floats that are nearest to the given codes, in a range that holds few floats."""
    return np.array([code if np.isnan(code) else real._encode(real._decode(code)) for code in codes.tolist()])


def _with(row: Array, column: int, code: float) -> Array:
    row = row.copy()
    row[column] = code
    return row
