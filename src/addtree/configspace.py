"""Conversion of spaces from and to ConfigSpace.

    ConfigSpace                              addtree
    uniform float, integer (log too)         Real, Integer
    normal, beta                             Real, Integer with the same bounds (the prior is not used)
    categorical, ordinal                     Categorical (weights and order are not used)
    constant                                 Categorical with one value
    a discrete parent of conditions          Choice; an integer becomes a choice of its values
    equals, not equals, in, less, greater    the options of the parent that open the child
    and                                      only if one condition implies the others: `kernel=rbf and model=svm`
    or                                       only if the conditions exclude each other
    forbidden clauses                        not represented: an error, or left to `is_allowed`

Both sides use the same values, so a configuration of one is a configuration of the other: `space.validate(dict(c))` and
`Configuration(cs, values=config)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ConfigSpace as CS  # noqa: N817 - its own documentation's name for it
import numpy as np
from ConfigSpace.exceptions import ForbiddenValueError

from addtree.errors import SpaceError
from addtree.space.assembly import MAX_OPTIONS, Gate, Parents, assemble_strictly
from addtree.space.labels import Scalar
from addtree.space.parameters import Categorical, Integer, Parameter, Real
from addtree.space.space import Choice, Space


def from_configspace(cs: CS.ConfigurationSpace, *, ignore_forbidden: bool = False) -> Space:
    """The same space as an addtree `Space`, or a SpaceError that says what cannot be represented and why.

    ignore_forbidden  leave out the forbidden clauses; check each configuration with `is_allowed`, and tell a forbidden
                      one as failed

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
    parents = _Conditions(cs).all_parents()
    names = {parent[0] for found in parents.values() for parent in found if parent is not None}
    gates = {name: Gate(len(values), ordered=False, labels=values) for name in names if (values := _values(cs[name]))}
    try:
        return assemble_strictly(parents, domains, gates)
    except SpaceError as error:
        raise SpaceError(f"the conditions do not form a tree of choices: {error}") from None


def to_configspace(space: Space) -> CS.ConfigurationSpace:
    """The same space as a ConfigSpace `ConfigurationSpace`; a choice becomes a categorical with conditions on it.

    >>> space = Space(model=Choice(svm=Space(C=Real(0.1, 10)), tree=Space()))
    >>> to_configspace(space).conditions
    [C | model == 'svm']
    """
    cs = CS.ConfigurationSpace()
    cs.add(_hyperparameter(name, domain) for name, domain in space.variables.items())
    for name, locations in space.conditions.items():
        options: dict[str, list[int]] = {}
        for location in locations:
            if location:
                choice, option = location[-1]
                options.setdefault(choice, []).append(option)
        conditions = [_condition(cs[name], cs[choice], chosen) for choice, chosen in options.items()]
        if conditions:
            cs.add(conditions[0] if len(conditions) == 1 else CS.OrConjunction(*conditions))
    return cs


def default_config(cs: CS.ConfigurationSpace) -> dict[str, Any]:
    """The default configuration as a plain dict. It is a good configuration to evaluate first."""
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
    raise SpaceError(f"parameter {h.name!r} is a {type(h).__name__}, which addtree cannot represent")


def _hyperparameter(name: str, domain: Parameter | Choice) -> Any:
    if isinstance(domain, Real):
        return CS.UniformFloatHyperparameter(name, domain.low, domain.high, log=domain.log)
    if isinstance(domain, Integer):
        return CS.UniformIntegerHyperparameter(name, domain.low, domain.high, log=domain.log)
    return CS.CategoricalHyperparameter(name, list(domain.labels))


def _values(h: Any) -> tuple[Scalar, ...] | None:
    """The values of a hyperparameter that can be the parent of conditions, in order; None if there are too many."""
    domain = _domain(h)
    if isinstance(domain, Categorical):
        return domain.values
    if isinstance(domain, Integer) and domain.size <= MAX_OPTIONS:
        return tuple(range(domain.low, domain.high + 1))
    return None


# ---------------------------------------------------------------------- conditions


def _condition(child: Any, choice: Any, options: list[int]) -> Any:
    """The condition that a choice, which is a categorical there, takes one of these options."""
    values = [_plain(choice.choices[option]) for option in options]
    if len(values) == 1:
        return CS.EqualsCondition(child, choice, values[0])
    return CS.InCondition(child, choice, values)


class _Conditions:
    """The conditions of a ConfigurationSpace as parents: the positions of gates that each parameter belongs to."""

    def __init__(self, cs: CS.ConfigurationSpace) -> None:
        self._cs = cs
        self._known: dict[str, Parents] = {}

    def all_parents(self) -> dict[str, Parents]:
        """The parents of every parameter."""
        return {name: self._parents(name) for name in self._cs}

    def _parents(self, name: str) -> Parents:
        if name not in self._known:
            conditions = self._cs.parent_conditions_of[name]
            self._known[name] = self._conjunction(name, conditions) if conditions else frozenset([None])
        return self._known[name]

    def _condition(self, name: str, condition: Any) -> Parents:
        """Where one condition allows the parameter."""
        if isinstance(condition, CS.AndConjunction):
            return self._conjunction(name, condition.components)
        if isinstance(condition, CS.OrConjunction):
            return frozenset().union(*(self._condition(name, part) for part in condition.components))
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

    def _conjunction(self, name: str, conditions: Any) -> Parents:
        """Where all conditions allow the parameter at once. One of them must imply the others."""
        allowed = [self._condition(name, condition) for condition in conditions]
        for one in allowed:
            if all(other is one or self._implies(one, other) for other in allowed):
                return one
        parts = " and ".join(str(condition) for condition in conditions)
        raise SpaceError(
            f"parameter {name!r} depends on several parents at once ({parts}), and no condition implies the others; "
            "join those parents into one categorical, or drop a condition"
        )

    def _implies(self, one: Parents, other: Parents) -> bool:
        """Whether every parent in `one` is in `other`, or belongs to one that is."""
        return all(
            parent in other or (parent is not None and self._implies(self._parents(parent[0]), other)) for parent in one
        )
