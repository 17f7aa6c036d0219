"""`from_configspace`, `to_configspace` and `default_config`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import ConfigSpace as CS  # noqa: N817 - its own documentation's name for it
import numpy as np

from addtree.configspace.clauses import to_rules
from addtree.configspace.conditions import Alternative, Conditions, to_condition
from addtree.configspace.domains import plain, to_domain, to_hyperparameter
from addtree.configspace.rule_clauses import to_clauses
from addtree.errors import SpaceError
from addtree.space.choice import Choice
from addtree.space.parameters import Categorical, Parameter, Real
from addtree.space.space import Space, check_space


def from_configspace(cs: CS.ConfigurationSpace) -> Space:
    """The same space as an addtree `Space`. A warning names each thing that it cannot express.

    >>> cs = CS.ConfigurationSpace({"model": ["svm", "tree"], "C": (0.1, 10.0)})
    >>> _ = cs.add(CS.EqualsCondition(cs["C"], cs["model"], "svm"))
    >>> print(from_configspace(cs))
    model
    ├─ 'svm'
    │  └─ C: real [0.1, 10]
    └─ 'tree'
    """
    _check(cs)
    losses: list[str] = []
    domains = {name: to_domain(hyperparameter, losses) for name, hyperparameter in cs.items()}
    builder = _Builder(domains, Conditions(cs, domains, losses).places(), losses)
    space = _with_rules(builder.space(), cs, losses)
    _warn("from_configspace", losses)
    return space


def _with_rules(space: Space, cs: CS.ConfigurationSpace, losses: list[str]) -> Space:
    """The space with the rules that its forbidden clauses stand for."""
    rules: list[str] = []
    for clause in cs.forbidden_clauses:
        try:
            found = to_rules(clause, space.variables)
            space.where(*found)
        except (SpaceError, KeyError, TypeError) as error:
            losses.append(f"forbidden clause {clause}: it is lost: {error}")
        else:
            rules += found
    return space.where(*rules) if rules else space


def to_configspace(space: Space) -> CS.ConfigurationSpace:
    """The same space as a ConfigSpace `ConfigurationSpace`. A warning names each thing that it cannot express.

    A choice becomes a categorical with conditions on it.

    >>> space = Space(model=Choice(svm=Space(C=Real(0.1, 10)), tree=Space()))
    >>> to_configspace(space).conditions
    [C | model == 'svm']
    """
    space, losses = check_space(space), list[str]()
    cs = CS.ConfigurationSpace()
    # ConfigSpace requires of its default configuration that no clause forbids it. It also rounds real numbers: if the
    # middle of a range, its usual default, is the end of an interval that opens parameters, it may be refused.
    chosen = space.node_rules or any(isinstance(d, Real) and d.opens for d in space.variables.values())
    defaults = space.sample(np.random.default_rng(0)) if chosen else {}
    given = {name: {"default_value": value} for name, value in defaults.items()}
    cs.add([to_hyperparameter(name, d, losses, **given.get(name, {})) for name, d in space.variables.items()])
    conditions = (to_condition(cs, space, name) for name in space.variables)
    _add(cs, [condition for condition in conditions if condition is not None])
    clauses: list[Any] = []
    for rule, node in space.node_rules:
        try:
            clauses += to_clauses(cs, space, rule, node)
        except SpaceError as error:
            losses.append(f"rule {str(rule)!r}: it is lost: {error}")
    _add(cs, clauses)
    _warn("to_configspace", losses)
    return cs


def _add(cs: CS.ConfigurationSpace, parts: Sequence[Any]) -> None:
    """Add conditions or forbidden clauses, or raise a SpaceError if ConfigSpace refuses them."""
    try:
        cs.add(parts)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise SpaceError(f"ConfigSpace cannot represent {', '.join(map(str, parts))}: {error}") from error


def _check(cs: object) -> None:
    if not isinstance(cs, CS.ConfigurationSpace):
        raise SpaceError(f"cs must be a ConfigSpace.ConfigurationSpace, got {cs!r}; give one")


def default_config(cs: CS.ConfigurationSpace) -> dict[str, Any]:
    """The default configuration as a plain dict. It is a good configuration to evaluate first.

    >>> default_config(CS.ConfigurationSpace({"model": ["svm", "tree"], "C": (0.0, 10.0)}))
    {'C': 5.0, 'model': 'svm'}
    """
    _check(cs)
    return {name: plain(value) for name, value in dict(cs.get_default_configuration()).items()}


def _warn(function: str, losses: list[str]) -> None:
    for loss in losses:
        warnings.warn(f"{function}: {loss}", UserWarning, stacklevel=3)


class _Builder:
    """Builds each variable once, together with everything that it opens."""

    def __init__(self, domains: Mapping[str, Parameter], places: Mapping[str, Alternative], losses: list[str]) -> None:
        self._domains, self._places, self._losses = domains, places, losses
        self._built: dict[str, Parameter | Choice] = {}

    def space(self) -> Space:
        """The space of the parameters that are always active."""
        return Space({name: self._variable(name) for name, place in self._places.items() if not place})

    def _variable(self, name: str) -> Parameter | Choice:
        if name not in self._built:
            children = {child: place[name] for child, place in self._places.items() if name in place}
            domain = self._domains[name]
            self._built[name] = self._opening(name, domain, children) if children else domain
        return self._built[name]

    def _opening(self, name: str, domain: Parameter, children: Alternative) -> Parameter | Choice:
        """The domain with the parameters that its regions open."""
        if not isinstance(domain, Categorical):
            intervals = {interval: None for allowed in children.values() for interval in allowed}
            values = list(domain.values) if domain.step is not None else None
            opens = {
                (low, high) if values is None else (values[int(low)], values[int(high)]): Space(
                    {child: self._variable(child) for child, allowed in children.items() if (low, high) in allowed}
                )
                for low, high in intervals
            }
            number: Any = domain
            return replace(number, opens=opens)  # type: ignore[no-any-return]
        if domain.ordered:
            self._losses.append(f"parameter {name!r}: its order is lost, because it opens parameters")
        return Choice(
            {
                label: Space(
                    {
                        child: self._variable(child)
                        for child, allowed in children.items()
                        if any(low <= i <= high for low, high in allowed)
                    }
                )
                for i, label in enumerate(domain.values)
            }
        )
