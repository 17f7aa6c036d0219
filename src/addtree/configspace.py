"""Spaces from ConfigSpace and back.

    ConfigSpace                              addtree
    uniform float, integer (log too)         Real, Integer
    normal, beta                             Real, Integer of the same bounds (the prior is not used)
    categorical, ordinal                     Categorical (weights and order are not used)
    constant                                 Categorical with one value
    a discrete parent of conditions          Choice; an integer becomes a choice of its values
    equals, not equals, in, less, greater    the options of the parent that hold the child
    and                                      where one parent implies the others: `kernel=rbf and model=svm`
    or                                       where the ways exclude each other
    forbidden clauses                        not represented: an error, or left to `is_allowed`

Values are the same on both sides, so a configuration of one is a configuration of the other: `space.validate(dict(c))`
and `Configuration(cs, values=config)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ConfigSpace as CS  # noqa: N817 - its own documentation's name for it
import numpy as np
from ConfigSpace.exceptions import ForbiddenValueError

from addtree._optuna.structure import MAX_OPTIONS, Gate, Parent, hang
from addtree.errors import SpaceError
from addtree.space.parameters import Categorical, Integer, Parameter, Real, Scalar
from addtree.space.space import Choice, Space

_Hangs = frozenset[Parent]


def from_configspace(cs: CS.ConfigurationSpace, *, ignore_forbidden: bool = False) -> Space:
    """The same space as an addtree `Space`, or a SpaceError that says what cannot be represented and why.

    ignore_forbidden  leave forbidden clauses out; check configurations with `is_allowed`, tell the others as failed

    >>> cs = CS.ConfigurationSpace({"model": ["svm", "tree"], "C": (0.1, 10.0)})
    >>> _ = cs.add(CS.EqualsCondition(cs["C"], cs["model"], "svm"))
    >>> print(from_configspace(cs))
    model
    ├─ 'svm'
    │  └─ C: real [0.1, 10]
    └─ 'tree'
    """
    if cs.forbidden_clauses and not ignore_forbidden:
        clauses = "; ".join(str(clause) for clause in cs.forbidden_clauses[:3])
        raise SpaceError(
            f"forbidden clauses cannot be represented: {clauses}; "
            "use ignore_forbidden=True and tell configurations that are not is_allowed(cs, config) as failed"
        )
    domains = {name: _domain(hyperparameter) for name, hyperparameter in cs.items()}
    hangs = _Conditions(cs).all()
    parents = {parent[0] for found in hangs.values() for parent in found if parent is not None}
    gates = {name: Gate(len(values), ordered=False, labels=values) for name in parents if (values := _values(cs[name]))}
    try:
        return hang(hangs, domains, gates, lambda name: set())
    except SpaceError as error:
        raise SpaceError(f"the conditions form no tree of choices: {error}") from None


def to_configspace(space: Space) -> CS.ConfigurationSpace:
    """The same space as a ConfigSpace `ConfigurationSpace`; a choice becomes a categorical with conditions on it.

    >>> space = Space(model=Choice(svm=Space(C=Real(0.1, 10)), tree=Space()))
    >>> to_configspace(space).conditions
    [C | model == 'svm']
    """
    cs = CS.ConfigurationSpace()
    cs.add(_hyperparameter(name, domain) for name, domain in space.variables.items())
    for name, condition in space.conditions.items():
        options: dict[str, list[int]] = {}
        for location in condition:
            if location:
                choice, option = location[-1]
                options.setdefault(choice, []).append(option)
        ways = [_condition(cs, name, choice, space, chosen) for choice, chosen in options.items()]
        if ways:
            cs.add(ways[0] if len(ways) == 1 else CS.OrConjunction(*ways))
    return cs


def default_config(cs: CS.ConfigurationSpace) -> dict[str, Any]:
    """The default configuration as a plain dict: a good one to evaluate and tell first."""
    return {name: _plain(value) for name, value in dict(cs.get_default_configuration()).items()}


def is_allowed(cs: CS.ConfigurationSpace, config: Mapping[str, Any]) -> bool:
    """Whether a configuration violates no forbidden clause."""
    try:
        CS.Configuration(cs, values=dict(config)).check_valid_configuration()
    except ForbiddenValueError:
        return False
    return True


# ---------------------------------------------------------------------- parameters


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _domain(h: Any) -> Parameter:
    if isinstance(h, CS.Constant):
        return Categorical((_plain(h.value),))
    if isinstance(h, CS.CategoricalHyperparameter):
        return Categorical(tuple(map(_plain, h.choices)))
    if isinstance(h, CS.OrdinalHyperparameter):
        return Categorical(tuple(map(_plain, h.sequence)))
    log = bool(getattr(h, "log", False))
    if isinstance(h, CS.hyperparameters.IntegerHyperparameter):
        return Integer(int(h.lower), int(h.upper), log=log)
    if isinstance(h, CS.hyperparameters.FloatHyperparameter):
        return Real(float(h.lower), float(h.upper), log=log)
    raise SpaceError(f"parameter {h.name!r} is a {type(h).__name__}, which addtree has no domain for")


def _hyperparameter(name: str, domain: Parameter | Choice) -> Any:
    if isinstance(domain, Real):
        return CS.UniformFloatHyperparameter(name, domain.low, domain.high, log=domain.log)
    if isinstance(domain, Integer):
        return CS.UniformIntegerHyperparameter(name, domain.low, domain.high, log=domain.log)
    values = domain.labels if isinstance(domain, Choice) else domain.values
    return CS.CategoricalHyperparameter(name, list(values))


def _values(h: Any) -> tuple[Scalar, ...] | None:
    """The values of a hyperparameter that conditions may go by, in order; None where there are too many."""
    domain = _domain(h)
    if isinstance(domain, Categorical):
        return domain.values
    if isinstance(domain, Integer) and domain.size <= MAX_OPTIONS:
        return tuple(range(domain.low, domain.high + 1))
    return None


# ---------------------------------------------------------------------- conditions


def _condition(cs: CS.ConfigurationSpace, child: str, choice: str, space: Space, chosen: list[int]) -> Any:
    values = [space.variables[choice].decode(option) for option in chosen]
    if len(values) == 1:
        return CS.EqualsCondition(cs[child], cs[choice], values[0])
    return CS.InCondition(cs[child], cs[choice], values)


class _Conditions:
    """Where each hyperparameter hangs, by its conditions."""

    def __init__(self, cs: CS.ConfigurationSpace) -> None:
        self._cs = cs
        self._known: dict[str, _Hangs] = {}

    def all(self) -> dict[str, _Hangs]:
        return {name: self.of(name) for name in self._cs}

    def of(self, name: str) -> _Hangs:
        if name not in self._known:
            conditions = self._cs.parent_conditions_of[name]
            self._known[name] = self._both(name, conditions) if conditions else frozenset([None])
        return self._known[name]

    def _where(self, name: str, condition: Any) -> _Hangs:
        if isinstance(condition, CS.AndConjunction):
            return self._both(name, condition.components)
        if isinstance(condition, CS.OrConjunction):
            return frozenset().union(*(self._where(name, part) for part in condition.components))
        parent = condition.parent
        values = _values(parent)
        if values is None:
            raise SpaceError(
                f"parameter {name!r} depends on {parent.name!r} ({condition}), which is continuous or has more than "
                f"{MAX_OPTIONS} values; a choice needs few values: make {parent.name!r} a categorical"
            )
        return frozenset(
            (parent.name, i) for i, value in enumerate(values) if condition.satisfied_by_value({parent.name: value})
        )

    def _both(self, name: str, conditions: Any) -> _Hangs:
        """All conditions at once: fine where one of them implies the others."""
        ways = [self._where(name, condition) for condition in conditions]
        for way in ways:
            if all(other is way or self._implies(way, other) for other in ways):
                return way
        parts = " and ".join(str(condition) for condition in conditions)
        raise SpaceError(
            f"parameter {name!r} depends on several parents at once ({parts}), none of which decides about the others; "
            "join those parents into one categorical, or drop a condition"
        )

    def _implies(self, way: _Hangs, other: _Hangs) -> bool:
        """Whether being at any place of `way` means being at one of `other`."""
        return all(place in other or (place is not None and self._implies(self.of(place[0]), other)) for place in way)
