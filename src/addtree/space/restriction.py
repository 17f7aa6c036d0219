"""Restrictions: the configurations that agree with a partial one.

A partial configuration gives values to some parameters, and thereby implies the options and intervals that lead to
them: a choice or a number that opens parameters may only be in the cells in which all given parameters can be active at
once. A search that completes a partial configuration makes every candidate agree with the restriction, and leaves the
given columns alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from addtree._types import Array, Config, Index, Mask
from addtree.errors import ConfigError, OptionError
from addtree.space.encoding import Encoding
from addtree.space.forms import condition_text
from addtree.space.rules import AnyRule, FunctionRule

_TOLERANCE = 1e-12  # Codes of the unit interval that differ by less than this are one value.
_DRAWS = 64  # Random rows among which a row that satisfies all rules is looked for.
_REPAIRS = 3  # Times that rows that violate rules are changed, and then made to agree again.
_ROUNDS = 12  # Rounds of changes each time.


@dataclass(frozen=True, eq=False)
class Restriction:
    """The configurations with given values.

    values  the given values by name
    codes   D, their codes; NaN in the columns that are free
    cells   by node and column of a choice or opener at that node, the allowed cells: in these, everything that must be
            active below the node can be active

    >>> from addtree import Choice, Real, Space
    >>> space = Space(x=Real(0, 1), c=Choice(a=Space(), b=Space(y=Real(0, 1))))
    >>> restriction = Restriction.of(space.encoding, {"y": 0.5})
    >>> space.encoding.decode(restriction.conform(np.array([[0.25, 0.0, np.nan]]), np.random.default_rng(0))[0])
    {'x': 0.25, 'c': 'b', 'y': 0.5}
    """

    encoding: Encoding
    values: Mapping[str, Any]
    codes: Array
    cells: Mapping[tuple[int, int], tuple[int, ...]]

    @classmethod
    def of(
        cls, encoding: Encoding, partial: Config, *, optional: Collection[str] = (), active: Collection[str] = ()
    ) -> Restriction:
        """The restriction to a partial configuration, or a ConfigError that says what is wrong with it.

        optional  names whose values count where the parameter is active, but which need not be active
        active    names of further parameters that must be active
        """
        if not isinstance(partial, Mapping):
            raise ConfigError(f"a configuration is a mapping of parameter names to values, got {partial!r}")
        values = {name: encoding.space._check_value(name, value) for name, value in partial.items()}
        codes = np.full(encoding.n_columns, np.nan)
        for name in values.keys() & encoding.index.keys():  # a constant has no column
            codes[encoding.index[name]] = encoding.encode_value(name, values[name])
        required = [*(name for name in values if name not in optional), *active]
        cells = _allowed_cells(encoding, codes, required)
        if cells is None:
            raise ConfigError(_conflict(encoding, codes, required, values))
        restriction = cls(encoding, values, codes, cells)
        if encoding.feasibility.rules:
            _ = restriction._example  # raises a ConfigError if there is none
        return restriction

    @cached_property
    def fixed(self) -> Mask:
        """Which columns have a given value."""
        return ~np.isnan(self.codes)

    @cached_property
    def row(self) -> Array | None:
        """The only row that agrees; None if there may be several."""
        row = np.full(self.encoding.n_columns, np.nan)
        for i, _ in self.encoding.walk(row):
            for j in self.encoding.node_columns[i]:
                if not self.fixed[j]:
                    return None
                row[j] = self.codes[j]
            for j, _ in self.encoding.node_choices[i]:
                if len(self.cells[i, j]) > 1:
                    return None
                row[j] = self.cells[i, j][0]
        return row

    def allowed(self, node: int, column: int) -> Mask:
        """Per cell of a choice or opener at a node, whether it is allowed."""
        name = self.encoding.names[column]
        return np.isin(np.arange(len(self.encoding.space.tree.cells[name])), self.cells[node, column])

    def allowed_anywhere(self, column: int) -> Mask:
        """Per cell of a choice or opener, whether it is allowed at one of the nodes that hold it."""
        nodes = [node for node, j in self.cells if j == column]
        return np.asarray(np.any([self.allowed(node, column) for node in nodes], axis=0))

    def narrowed(self, excluded: Mapping[str, Collection[int]], preferred: Config) -> Restriction:
        """The same restriction without some cells, and with values for further parameters, where it allows these.

        excluded   by the names of choices and openers, the cells to leave out
        preferred  values for parameters that have no given value, where they are active
        """
        encoding, codes, cells = self.encoding, self.codes.copy(), {}
        for name, value in preferred.items():
            j = encoding.index[name]
            codes[j] = self.codes[j] if self.fixed[j] else encoding.encode_value(name, value)
        for (node, j), allowed in self.cells.items():
            own = range(len(encoding.space.tree.cells[encoding.names[j]]))
            own = own if np.isnan(codes[j]) else _cells_of(encoding, j, codes[[j]]).tolist()
            kept = (set(allowed) & set(own)) - set(excluded.get(encoding.names[j], ()))
            cells[node, j] = tuple(sorted(kept)) or allowed
            codes[j] = codes[j] if kept else self.codes[j]
        return replace(self, values={**preferred, **self.values}, codes=codes, cells=cells)

    def allows(self, name: str, value: Any) -> bool:
        """Whether a variable may have a value at one of the nodes that hold it."""
        j = self.encoding.index[name]
        code = np.array([self.encoding.encode_value(name, value)])
        if self.fixed[j]:
            return bool(abs(code[0] - self.codes[j]) < _TOLERANCE)
        has_cells = any(column == j for _, column in self.cells)
        return not has_cells or bool(self.allowed_anywhere(j)[_cells_of(self.encoding, j, code)[0]])

    def reaches(self, node: int) -> bool:
        """Whether some row that agrees activates a node."""
        tree, here = self.encoding.space.tree, 0
        for name, position in tree.nodes[node].location:
            cells = self.cells[here, self.encoding.index[name]]
            if not any(position in tree.cells[name][cell] for cell in cells):
                return False
            here = dict(tree.nodes[here].branches)[name][position]
        return True

    def agrees(self, X: Array) -> Mask:
        """Which rows agree: they are in an allowed branch, and every given column that is active has its code."""
        same = np.isnan(X) | np.isnan(self.codes) | (np.abs(X - self.codes) < _TOLERANCE)
        return np.asarray(self.in_allowed_branch(X) & np.all(same, axis=1))

    def in_allowed_branch(self, X: Array) -> Mask:
        """Which rows have only allowed options and cells."""
        inside = np.ones(len(X), dtype=bool)
        for i, rows in self.encoding.walk_rows(X):
            for name, _ in self.encoding.space.nodes[i].branches:
                j = self.encoding.index[name]
                inside[rows] &= np.isin(_cells_of(self.encoding, j, X[rows, j]), self.cells[i, j])
        return inside

    def overwrite(self, X: Array) -> Array:
        """The same rows with the given values in the columns that are active."""
        return np.where(np.isnan(X) | np.isnan(self.codes), X, self.codes)

    def conform(self, X: Array, rng: np.random.Generator) -> Array:
        """The same rows, made to agree: with the given values, allowed options, and random values where these open.

        Rows that violate rules are changed in free columns. Some of them may violate rules nevertheless.
        """
        X, feasibility = self._adjusted(X, rng), self.encoding.feasibility
        fixed = np.flatnonzero(self.fixed).tolist()
        for _ in range(_REPAIRS if feasibility.rules else 0):
            bad = ~feasibility.valid(X)
            if not bad.any():
                break
            X[bad] = self._adjusted(feasibility.change(X[bad], rng, rounds=_ROUNDS, keep=fixed)[0], rng)
        return X

    def complete(self, X: Array, rng: np.random.Generator) -> Array:
        """At least one row that agrees and satisfies all rules; as many as can be made of the given ones."""
        found = self.encoding.feasibility.filter(self.conform(X, rng))
        return found if len(found) else self._example[None]

    @cached_property
    def _example(self) -> Array:
        """Some row that agrees and satisfies all rules; a ConfigError if none is found."""
        encoding, rng = self.encoding, np.random.default_rng(0)
        if self.row is not None:
            encoding.space.validate(self._with_values(encoding.decode(self.row)))
            return self.row
        found = encoding.feasibility.filter(self.conform(encoding.sample(_DRAWS, rng), rng))
        if not len(found) and encoding.is_enumerable:
            found = encoding.enumerate()
            found = found[self.agrees(found)]
        if not len(found):
            given = ", ".join(f"{name!r} = {value!r}" for name, value in self.values.items())
            rules = ", ".join(repr(str(rule)) for rule in self._rules_on_values())
            raise ConfigError(
                f"no valid configuration with {given} was found; the rules on them are {rules}: change a value, or "
                "leave it out"
            )
        return np.asarray(found[0])

    def _rules_on_values(self) -> list[AnyRule]:
        """The rules that the given values violate by themselves. If there are none, the rules that may count here and
        mention a given parameter, what it depends on, a parameter that such a rule mentions, and so on.
        """
        space, rules = self.encoding.space, self.encoding.feasibility.rules
        given = [rule for rule, i in rules if self.values.keys() >= set(rule.names) and self._always_counts(rule, i)]
        if violated := [rule for rule in given if not rule.holds(self.values)]:
            return violated
        possible = {name for i, node in enumerate(space.nodes) if self.reaches(i) for name in node.names}

        def related(names: Iterable[str]) -> set[str]:
            locations = [location for name in names for location in space.conditions[name]]
            return set(names).union(*([gate for gate, _ in location] for location in locations))

        mentioned: dict[AnyRule, set[str]] = {}
        for rule, i in rules:
            if self.reaches(i) and (isinstance(rule, FunctionRule) or possible.issuperset(rule.names)):
                own = related(rule.names).union(gate for gate, _ in space.nodes[i].location)
                mentioned[rule] = mentioned.get(rule, set()) | own
        names = related(self.values)
        for _ in mentioned:  # each round reaches at least one further rule, or none is left to reach
            names.update(*(own for own in mentioned.values() if not names.isdisjoint(own)))
        return [rule for rule, own in mentioned.items() if not names.isdisjoint(own)]

    def _always_counts(self, rule: AnyRule, node: int) -> bool:
        """Whether some parameter that a rule mentions is active only where the rule applies."""
        nodes = self.encoding.space.nodes
        where = nodes[node].location
        outside = {name for other in nodes if other.location[: len(where)] != where for name in other.names}
        return not outside.issuperset(rule.names)

    def _adjusted(self, X: Array, rng: np.random.Generator) -> Array:
        """The same rows, made to agree, whatever the rules."""
        X, encoding = X.copy(), self.encoding
        active = np.zeros(X.shape, dtype=bool)
        for i, rows in encoding.walk_rows(X):
            for j in (*encoding.node_columns[i], *(j for j, _ in encoding.node_choices[i])):
                X[rows, j] = self.adjust(i, j, X[rows, j], rng)
                active[rows, j] = True
        return np.where(active, X, np.nan)

    def adjust(self, node: int, column: int, codes: Array, rng: np.random.Generator) -> Array:
        """Codes of one column at a node, changed as little as it takes to agree; a missing one is drawn at random."""
        if self.fixed[column]:
            return np.full(len(codes), self.codes[column])
        encoding, missing = self.encoding, np.isnan(codes)
        codes = np.where(missing, encoding.random_codes(column, len(codes), rng) if missing.any() else 0.0, codes)
        if (node, column) not in self.cells:
            return codes
        cells = _cells_of(encoding, column, codes)
        wrong = np.flatnonzero(~np.isin(cells, self.cells[node, column]))
        cells[wrong] = rng.choice(self.cells[node, column], size=len(wrong))
        if column not in encoding.cells:
            return cells.astype(float)
        for k in wrong.tolist():
            codes[k] = encoding.draw_in_cells(column, (cells[k], cells[k]), rng.random(1))[0]
        return codes

    def restore(self, config: Config) -> dict[str, Any]:
        """A valid configuration that agrees, with the given values exactly as they are, not as their codes decode.

        Where a rule is satisfied only up to the last digit of a given value, the decoded value is kept.
        """
        restored = self._with_values(config)
        with suppress(ConfigError):
            return self.encoding.space.validate(restored) if self.encoding.feasibility.rules else restored
        return dict(config)

    def _with_values(self, config: Config) -> dict[str, Any]:
        return {name: self.values.get(name, value) for name, value in config.items()}


def read_initial(encoding: Encoding, initial: Any) -> tuple[Restriction, ...]:
    """The restrictions of a list of initial configurations, or an error that names the entry that is wrong."""
    restrictions = []
    for number, entry in enumerate(check_initial(initial)):
        try:
            restrictions.append(Restriction.of(encoding, entry))
        except ConfigError as error:
            raise ConfigError(f"initial[{number}]: {error}") from None
    return tuple(restrictions)


def check_initial(initial: Any) -> Sequence[Any]:
    """The argument `initial`, or an OptionError if it is not a list."""
    if not isinstance(initial, Sequence) or isinstance(initial, str):
        raise OptionError(f"initial={initial!r} must be a list of configurations, such as initial=[{{'x': 0.5}}]")
    return initial


def _cells_of(encoding: Encoding, column: int, codes: Array) -> Index:
    """The options of a choice, or the cells of an opener, that codes stand for."""
    cells = encoding.cells[column].of_codes(codes) if column in encoding.cells else codes
    return cells.astype(np.intp)


def _allowed_cells(
    encoding: Encoding, codes: Array, required: Collection[str]
) -> dict[tuple[int, int], tuple[int, ...]] | None:
    """The allowed cells of a `Restriction`; None if the required parameters cannot all be active."""
    tree = encoding.space.tree
    allowed: dict[tuple[int, int], tuple[int, ...]] = {}
    possible = [True] * len(tree.nodes)  # whether everything that is required below a node can be active at once

    def required_below(i: int, below: list[list[set[str]]]) -> set[str]:
        """The required names at and below a node."""
        for (name, children), sets in zip(tree.nodes[i].branches, below, strict=True):
            j, wanted = encoding.index[name], set().union(*sets)
            own = None if np.isnan(codes[j]) else int(_cells_of(encoding, j, codes[[j]])[0])
            allowed[i, j] = tuple(
                cell
                for cell, opened in enumerate(tree.cells[name])
                if own in (None, cell)
                and all(possible[children[o]] for o in opened)
                and wanted == set().union(*(sets[o] for o in opened))
            )
            possible[i] &= bool(allowed[i, j])
        return set(tree.nodes[i].names).intersection(required).union(*(names for sets in below for names in sets))

    tree.fold(required_below)
    return allowed if possible[0] else None


def _conflict(encoding: Encoding, codes: Array, required: Sequence[str], values: Mapping[str, Any]) -> str:
    """Which given parameters cannot be active at once, with as few of them as possible."""
    conflicting = list(required)
    for name in required:
        others = [other for other in conflicting if other != name]
        kept = np.array([code if n in others else np.nan for n, code in zip(encoding.names, codes, strict=True)])
        if _allowed_cells(encoding, kept, others) is None:
            conflicting = others
    space = encoding.space
    given = " and ".join(f"{name!r} = {values[name]!r}" if name in values else repr(name) for name in conflicting)
    when = ", ".join(
        f"{name!r} is active {condition_text(space.conditions[name], space.variables)}" for name in conflicting
    )
    return f"parameters {given} are never active together: {when}; leave one of them out, or change the choice"
