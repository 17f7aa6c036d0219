"""Configurations as arrays: one column per variable, NaN where it is inactive.

symbol  shape   meaning
X       n x D   codes: the unit interval for real and integer columns, the position for categorical and choice columns

This is the only module that converts between configurations and arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from addtree._types import Array, Config, Index, Mask
from addtree.space.feasibility import Feasibility
from addtree.space.parameters import Integer, Real
from addtree.space.tree import Node

if TYPE_CHECKING:
    from addtree.space.space import Space

_KEY_DECIMALS = 12  # Codes that agree to this many decimals of the unit interval are one configuration.


class Encoding:
    """The columns of a space, and the conversion to and from them.

    >>> from addtree import Choice, Space
    >>> encoding = Encoding(Space(x=Real(0, 4), c=Choice(a=Space(), b=Space(k=Integer(1, 3)))))
    >>> encoding.encode([{"x": 1.0, "c": "b", "k": 3}, {"x": 2.0, "c": "a"}])
    array([[0.25, 1.  , 1.  ],
           [0.5 , 0.  ,  nan]])
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self.names = tuple(space.variables)
        self.index = {name: j for j, name in enumerate(self.names)}
        self._domains = domains = tuple(space.variables.values())
        self.is_numeric = np.array([isinstance(d, (Real, Integer)) for d in domains], dtype=bool)
        self.is_integer = np.array([isinstance(d, Integer) for d in domains], dtype=bool)
        choices = {name for node in space.nodes for name, _ in node.choices}
        self.is_choice = np.array([name in choices for name in self.names], dtype=bool)
        # the number of codes of a categorical or choice column, 0 for a numeric one
        self.n_codes = np.array([0 if isinstance(d, (Real, Integer)) else len(d.labels) for d in domains])
        integers = [d for d in domains if isinstance(d, Integer)]
        self._low = np.array([d.low for d in integers], dtype=float)
        self._high = np.array([d.high for d in integers], dtype=float)
        self._log = np.array([d.log for d in integers], dtype=bool)

    @property
    def n_columns(self) -> int:
        """D, the number of columns."""
        return len(self.names)

    def encode(self, configs: Sequence[Config]) -> Array:
        """Configurations to X; each is validated first."""
        X = np.full((len(configs), self.n_columns), np.nan)
        for row, config in zip(X, configs, strict=True):
            for name, value in self.space.validate(config).items():
                j = self.index[name]
                domain: Any = self._domains[j]
                row[j] = domain._encode(value)
        return X

    def decode(self, row: Array) -> dict[str, Any]:
        """One row of X to a configuration of plain Python values."""
        index = self.index
        return {name: self.decode_value(name, row[index[name]]) for _, node in self.walk(row) for name in node.names}

    def encode_value(self, name: str, value: Any) -> float:
        """The code of one value, or a ConfigError if the variable does not have it."""
        domain: Any = self._domains[self.index[name]]
        return float(domain._encode(domain._check(value)))

    def decode_value(self, name: str, code: float) -> Any:
        """The value of one code; a number between two integers gives the nearer one."""
        return self._domains[self.index[name]]._decode(float(code))

    def snap(self, X: Array) -> Array:
        """The same rows with every number clipped to its range and every integer at a whole value."""
        X = X.copy()
        X[:, self.is_numeric] = np.clip(X[:, self.is_numeric], 0.0, 1.0)
        if self.is_integer.any():
            U, low, high = X[:, self.is_integer], self._low, self._high
            ratio = np.where(self._log, high / np.where(self._log, low, 1.0), np.e)
            linear = np.round(U * (high - low)) / (high - low)
            value = np.clip(np.round(np.where(self._log, low, 1.0) * ratio**U), low, high)
            X[:, self.is_integer] = np.where(
                self._log, np.log(value / np.where(self._log, low, 1.0)) / np.log(ratio), linear
            )
        return X

    @cached_property
    def feasibility(self) -> Feasibility | None:
        """The rules of the space, for rows; None if it has none."""
        return Feasibility(self) if self.space.node_rules else None

    def valid(self, X: Array) -> Mask:
        """Which rows satisfy the rules of the space."""
        return np.ones(len(X), dtype=bool) if self.feasibility is None else self.feasibility.valid(X)

    def repaired(self, X: Array, rng: np.random.Generator, *, keep: Sequence[int] = ()) -> Array:
        """Valid rows made of the given ones, without changes to the columns `keep`; some may be left out."""
        return X if self.feasibility is None else self.feasibility.repaired(X, rng, keep=keep)

    def toward(self, start: Array, X: Array, *, refinements: int = 0) -> Array:
        """The farthest valid rows on the way from valid rows to others; the refinements locate the boundary."""
        return X if self.feasibility is None else self.feasibility.toward(start, X, refinements=refinements)

    def decode_column(self, column: int, codes: Array) -> Array:
        """The numbers that codes stand for, or the positions of labels; NaN for NaN."""
        domain = self._domains[column]
        if not isinstance(domain, (Real, Integer)):
            return codes
        if isinstance(domain, Real) and not domain.log:
            value = np.minimum(np.maximum(domain.low + codes * (domain.high - domain.low), domain.low), domain.high)
            return np.where(codes >= 1.0, domain.high, np.where(codes <= 0.0, domain.low, value))
        if isinstance(domain, Integer) and not domain.log:
            return domain.low + np.round(np.clip(codes, 0.0, 1.0) * (domain.high - domain.low))
        if isinstance(domain, Real):  # NumPy's powers are not always those of Python.
            ratio, low, high = domain.high / domain.low, domain.low, domain.high
            value = np.array([low * ratio**code for code in codes.tolist()])
            value = np.minimum(np.maximum(value, low), high)
            return np.where(codes >= 1.0, high, np.where(codes <= 0.0, low, value))
        distinct, where = np.unique(codes, return_inverse=True)
        values = [np.nan if np.isnan(code) else float(domain._decode(code)) for code in distinct.tolist()]
        return np.array(values, dtype=float)[where]

    def random_codes(self, column: int, n: int, rng: np.random.Generator) -> Array:
        """n random codes of a column."""
        if self.is_numeric[column]:
            return self.from_uniform(column, rng.random(n))
        return rng.integers(self.n_codes[column], size=n).astype(float)

    def settled(self, X: Array, rng: np.random.Generator) -> Array:
        """The same rows, consistent with their choices: what is missing is drawn, what is inactive is cleared."""
        X = X.copy()
        active = np.zeros(X.shape, dtype=bool)
        for i, reached in self.walk_rows(X, 0, np.arange(len(X))):
            for j in (*self.node_columns[i], *(j for j, _ in self.node_choices[i])):
                missing = reached[np.isnan(X[reached, j])]
                X[missing, j] = self.random_codes(j, len(missing), rng)
                active[reached, j] = True
        return np.where(active, X, np.nan)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n random rows: options equally likely, numbers uniform on their scale, and all of them valid."""
        return self.sample_freely(n, rng) if self.feasibility is None else self.feasibility.sample(n, rng)

    def sample_freely(self, n: int, rng: np.random.Generator) -> Array:
        """The same without regard to rules."""
        X = np.full((n, self.n_columns), np.nan)
        self.fill(X, 0, np.arange(n), rng)
        return X

    def fill(self, X: Array, node: int, rows: Index, rng: np.random.Generator) -> None:
        """Write random codes into `X[rows]` for everything at and below a node."""
        for i, reached in self.walk_rows(X, node, rows):
            k = len(reached)
            for j in self.node_columns[i]:
                if self.is_numeric[j]:
                    X[reached, j] = self.from_uniform(j, rng.random(k))
                else:
                    X[reached, j] = rng.integers(self.n_codes[j], size=k)
            for j, options in self.node_choices[i]:
                X[reached, j] = rng.integers(len(options), size=k)

    def from_uniform(self, column: int, u: Array) -> Array:
        """Codes of a numeric column from numbers in [0, 1]: uniform numbers make every value equally likely."""
        domain = self._domains[column]
        return domain._from_uniform(u) if isinstance(domain, Integer) else u

    def size(self, column: int) -> float:
        """The number of values of a numeric column; infinite for a real one."""
        domain = self._domains[column]
        return domain.size if isinstance(domain, Integer) else np.inf

    def to_uniform(self, column: int, codes: Array) -> Array:
        """The opposite: numbers in [0, 1] that `from_uniform` maps to these codes."""
        domain = self._domains[column]
        return domain._to_uniform(codes) if isinstance(domain, Integer) else codes

    # ------------------------------------------------------------------ the tree

    def walk(self, row: Array) -> Iterator[tuple[int, Node]]:
        """The nodes that a row activates, parents first; a choice is read after its node was visited."""
        return self.space.tree.walk(lambda name: int(row[self.index[name]]))

    def walk_rows(self, X: Array, node: int, rows: Index) -> Iterator[tuple[int, Index]]:
        """The nodes that `X[rows]` activate at and below a node, each with the rows that reach it, parents first.

        The choices of a node are read after it was visited, so that the caller can write them there.
        """
        queue = [(node, rows)]
        for i, reached in queue:
            yield i, reached
            for j, options in self.node_choices[i]:
                taken = X[reached, j]
                queue += [(child, chosen) for o, child in enumerate(options) if len(chosen := reached[taken == o])]

    def clear(self, X: Array, node: int, rows: Index) -> None:
        """Make everything at and below a node inactive in `X[rows]`."""
        X[np.ix_(rows, self.below[node])] = np.nan

    def enter(self, X: Array, node: int, rng: np.random.Generator) -> Array:
        """The same rows with the options that lead to a node; what these open is drawn at random."""
        X = X.copy()
        here = 0
        for name, option in self.space.nodes[node].location:
            j = self.index[name]
            options = dict(self.node_choices[here])[j]
            here = options[option]
            rows = np.flatnonzero(X[:, j] != option)
            for other in options:
                self.clear(X, other, rows)
            X[rows, j] = option
            self.fill(X, here, rows, rng)
        return X

    def inside(self, X: Array, node: int) -> Mask:
        """Which rows activate a node."""
        location = self.space.nodes[node].location
        columns, codes = [self.index[name] for name, _ in location], [option for _, option in location]
        return np.asarray(np.all(X[:, columns] == codes, axis=1))

    @cached_property
    def node_columns(self) -> tuple[tuple[int, ...], ...]:
        """Per node, the columns of its own parameters."""
        return tuple(tuple(self.index[name] for name in node.parameters) for node in self.space.nodes)

    @cached_property
    def node_choices(self) -> tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]:
        """Per node, its choices: the column, and the node each option opens."""
        return tuple(tuple((self.index[name], opts) for name, opts in node.choices) for node in self.space.nodes)

    @cached_property
    def below(self) -> tuple[Index, ...]:
        """Per node, the columns at it and below it."""

        def columns(i: int, below: list[list[set[int]]]) -> set[int]:
            own = {*self.node_columns[i], *(j for j, _ in self.node_choices[i])}
            return own.union(*(found for options in below for found in options))

        return tuple(np.array(sorted(found), dtype=np.intp) for found in self.space.tree.fold(columns))

    def single_steps(self, row: Array) -> Array:
        """The rows one step away in one integer (either way) or one plain categorical (every other value)."""
        steps = []
        for j in np.flatnonzero(~np.isnan(row) & ~self.is_choice):
            domain = self._domains[j]
            codes: list[float] = []
            if isinstance(domain, Integer):
                value = domain._decode(float(row[j]))
                codes = [domain._encode(v) for v in (value - 1, value + 1) if domain.low <= v <= domain.high]
            elif not self.is_numeric[j]:
                codes = [float(code) for code in range(self.n_codes[j]) if code != row[j]]
            steps += [_with(row, int(j), code) for code in codes]
        return np.array(steps) if steps else np.empty((0, len(row)))

    def keys(self, X: Array) -> list[bytes]:
        """A key per row; equal keys are one configuration."""
        rounded = np.round(np.where(np.isnan(X), -1.0, X), _KEY_DECIMALS) + 0.0  # -0.0 becomes 0.0
        return [row.tobytes() for row in rounded]

    def enumerate(self) -> Array:
        """Every configuration of a finite space, one row each."""

        def codes(j: int) -> list[float]:
            domain = self._domains[j]
            if isinstance(domain, Integer):
                return [domain._encode(value) for value in range(domain.low, domain.high + 1)]
            return [float(code) for code in range(int(self.n_codes[j]))]

        X = np.array(self._expand(np.full(self.n_columns, np.nan), [0], codes))
        return X[self.valid(X)]

    def paths(self) -> Array:
        """Every path, one row each, with zeros for the parameters on it."""
        return np.array(self._expand(np.full(self.n_columns, np.nan), [0], lambda j: [0.0]))

    def _expand(self, row: Array, todo: list[int], codes: Callable[[int], list[float]]) -> list[Array]:
        """All completions of a row in which the nodes `todo` are still open."""
        if not todo:
            return [row]
        node, *rest = todo
        rows = [row]
        for j in self.node_columns[node]:
            rows = [_with(r, j, code) for r in rows for code in codes(j)]
        branches: list[tuple[Array, list[int]]] = [(r, rest) for r in rows]
        for j, options in self.node_choices[node]:
            branches = [(_with(r, j, o), [*t, child]) for r, t in branches for o, child in enumerate(options)]
        return [done for r, t in branches for done in self._expand(r, t, codes)]


def _with(row: Array, column: int, code: float) -> Array:
    row = row.copy()
    row[column] = code
    return row
