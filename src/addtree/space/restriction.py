"""Restrictions: the configurations that agree with a partial one.

A partial configuration gives values to some parameters. It implies the options that lead to them: of each choice, those
options remain below which all of the given parameters can be active at once. A search that completes a partial
configuration makes every candidate agree with the restriction, and leaves the given columns alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from addtree._types import Array, Config, Mask
from addtree.errors import ConfigError, OptionError
from addtree.space.encoding import Encoding

_TOLERANCE = 1e-12  # Codes of the unit interval that differ by less than this are one value.


@dataclass(frozen=True, eq=False)
class Restriction:
    """The configurations with given values.

    values    the given values by name
    codes     D, their codes; NaN in the columns that are free
    possible  per node, whether a configuration may activate it: whether all that must be active below it can be

    >>> from addtree import Choice, Real, Space
    >>> space = Space(x=Real(0, 1), c=Choice(a=Space(), b=Space(y=Real(0, 1))))
    >>> restriction = Restriction.of(space.encoding, {"y": 0.5})
    >>> space.encoding.decode(restriction.conform(np.array([[0.25, 0.0, np.nan]]), np.random.default_rng(0))[0])
    {'x': 0.25, 'c': 'b', 'y': 0.5}
    """

    encoding: Encoding
    values: Mapping[str, Any]
    codes: Array
    possible: Mask

    @classmethod
    def of(cls, encoding: Encoding, partial: Config, *, optional: Collection[str] = ()) -> Restriction:
        """The restriction to a partial configuration, or a ConfigError that says what is wrong with it.

        optional  names whose values count where the parameter is active, but which need not be active
        """
        values = _checked_values(encoding, partial)
        codes = np.full(encoding.n_columns, np.nan)
        for name, value in values.items():
            codes[encoding.index[name]] = encoding.encode_value(name, value)
        required = {name: encoding.index[name] for name in values if name not in optional}
        possible = _possible_nodes(encoding, codes, set(required.values()))
        if not possible[0]:
            raise ConfigError(_conflict(encoding, codes, required, values))
        return cls(encoding, values, codes, possible)

    @cached_property
    def fixed(self) -> Mask:
        """Which columns have a given value."""
        return ~np.isnan(self.codes)

    @cached_property
    def row(self) -> Array | None:
        """The only row that agrees; None if there are several."""
        row = np.full(self.encoding.n_columns, np.nan)
        for i, _ in self.encoding.walk(row):
            for j in self.encoding.node_columns[i]:
                if not self.fixed[j]:
                    return None
                row[j] = self.codes[j]
            for j, children in self.encoding.node_choices[i]:
                options = self.options(children)
                if len(options) > 1:
                    return None
                row[j] = options[0]
        return row

    def options(self, children: Sequence[int]) -> list[int]:
        """The possible options of a choice that opens these nodes."""
        return [option for option, child in enumerate(children) if self.possible[child]]

    def reaches(self, node: int) -> bool:
        """Whether some row that agrees activates a node."""
        encoding, here = self.encoding, 0
        for name, option in encoding.space.nodes[node].location:
            here = dict(encoding.node_choices[here])[encoding.index[name]][option]
            if not self.possible[here]:
                return False
        return True

    def agrees(self, X: Array) -> Mask:
        """Which rows agree: every node that they activate is possible, and every given column has its code."""
        same = np.isnan(X) | np.isnan(self.codes) | (np.abs(X - self.codes) < _TOLERANCE)
        return np.asarray(self.in_possible_branch(X) & np.all(same, axis=1))

    def in_possible_branch(self, X: Array) -> Mask:
        """Which rows activate only possible nodes."""
        inside = np.ones(len(X), dtype=bool)
        for i, rows in self.encoding.walk_rows(X, 0, np.arange(len(X))):
            inside[rows] &= self.possible[i]
        return inside

    def overwrite(self, X: Array) -> Array:
        """The same rows with the given values in the columns that are active."""
        return np.where(np.isnan(X) | np.isnan(self.codes), X, self.codes)

    def conform(self, X: Array, rng: np.random.Generator) -> Array:
        """The same rows with the given values; options that are not possible change, and what opens is random."""
        X, encoding = X.copy(), self.encoding
        for i, rows in encoding.walk_rows(X, 0, np.arange(len(X))):
            for j in encoding.node_columns[i]:
                if self.fixed[j]:
                    X[rows, j] = self.codes[j]
            for j, children in encoding.node_choices[i]:
                options = self.options(children)
                wrong = rows[~np.isin(X[rows, j], options)]
                if len(wrong):
                    for child in children:
                        encoding.clear(X, child, wrong)
                    X[wrong, j] = rng.choice(options, size=len(wrong))
                    for option in options:
                        encoding.fill(X, children[option], wrong[X[wrong, j] == option], rng)
        return X

    def restore(self, config: Config) -> dict[str, Any]:
        """A configuration that agrees, with the given values exactly as they are, not as their codes decode."""
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


def _checked_values(encoding: Encoding, partial: Any) -> dict[str, Any]:
    """The values as plain Python values, or a ConfigError."""
    space = encoding.space
    if not isinstance(partial, Mapping):
        raise ConfigError(f"a configuration is a mapping of parameter names to values, got {partial!r}")
    values = {}
    for name, value in partial.items():
        if name not in space.variables:
            raise ConfigError(space._why_not(name, value))
        try:
            values[name] = space.variables[name]._check(value)
        except ConfigError as error:
            raise ConfigError(f"parameter {name!r}: {error}") from None
    return values


def _possible_nodes(encoding: Encoding, codes: Array, required: set[int]) -> Mask:
    """Per node, whether all required columns below it can be active at once; node 0 tells whether there is a way."""
    possible = np.ones(len(encoding.space.nodes), dtype=bool)
    below = [required.intersection(columns.tolist()) for columns in encoding.below]
    for i in range(len(possible) - 1, -1, -1):  # children come after their parents
        for j, children in encoding.node_choices[i]:
            wanted = set().union(*(below[child] for child in children))
            for option, child in enumerate(children):
                possible[child] &= below[child] == wanted and (np.isnan(codes[j]) or option == codes[j])
            possible[i] &= any(possible[child] for child in children)
    return possible


def _conflict(encoding: Encoding, codes: Array, required: Mapping[str, int], values: Mapping[str, Any]) -> str:
    """Which given parameters cannot be active at once, with as few of them as possible."""
    conflicting = dict(required)
    for name in required:
        others = {other: j for other, j in conflicting.items() if other != name}
        kept = np.where(np.isin(np.arange(len(codes)), list(others.values())), codes, np.nan)
        if not _possible_nodes(encoding, kept, set(others.values()))[0]:
            conflicting = others
    space = encoding.space
    given = " and ".join(f"{name!r} = {values[name]!r}" for name in conflicting)
    when = ", ".join(f"{name!r} is active {space._when(space.conditions[name])}" for name in conflicting)
    return f"parameters {given} are never active together: {when}; leave one of them out, or change the choice"
