"""Forbidden clauses of ConfigSpace, and rules.

A rule that mentions an inactive parameter holds, and a forbidden conjunction that mentions one forbids nothing. So each
conjunction becomes one rule, `not (a and b)`, and the alternatives of an OR become several.

Clauses on one parameter with labels are turned into the list of forbidden labels. This keeps the order of ordinals, and
does not depend on how labels compare.
"""

from __future__ import annotations

import itertools
import keyword
from collections.abc import Mapping
from typing import Any

import ConfigSpace as CS  # noqa: N817 - its own documentation's name for it
from ConfigSpace.forbidden import ForbiddenClause, ForbiddenConjunction, ForbiddenOrConjunction, ForbiddenRelation

from addtree.configspace.domains import plain
from addtree.space.choice import Choice
from addtree.space.parameters import Categorical, Parameter

_OPERATORS = {
    "ForbiddenEqualsClause": "==",
    "ForbiddenGreaterThanClause": ">",
    "ForbiddenGreaterThanEqualsClause": ">=",
    "ForbiddenLessThanClause": "<",
    "ForbiddenLessThanEqualsClause": "<=",
    "ForbiddenEqualsRelation": "==",
    "ForbiddenGreaterThanRelation": ">",
    "ForbiddenGreaterThanEqualsRelation": ">=",
    "ForbiddenLessThanRelation": "<",
    "ForbiddenLessThanEqualsRelation": "<=",
}


def to_rules(clause: Any, domains: Mapping[str, Parameter | Choice]) -> list[str]:
    """The rules that exclude what a clause forbids."""
    return [f"not ({' and '.join(parts)})" for parts in _conjunctions(clause, domains)]


def _conjunctions(clause: Any, domains: Mapping[str, Parameter | Choice]) -> list[list[str]]:
    """The conjunctions of conditions, each of which a clause forbids."""
    if isinstance(clause, ForbiddenOrConjunction):
        return [found for part in clause.components for found in _conjunctions(part, domains)]
    if isinstance(clause, ForbiddenConjunction):
        parts = [_conjunctions(part, domains) for part in clause.components]
        return [list(itertools.chain(*found)) for found in itertools.product(*parts)]
    if isinstance(clause, ForbiddenRelation):
        return _relation(clause, domains)
    return [[condition] for condition in _conditions(clause, domains[clause.hyperparameter.name])]


def _conditions(clause: ForbiddenClause, domain: Parameter | Choice) -> list[str]:
    """The condition that a clause on one parameter forbids; none if it forbids no value."""
    name = clause.hyperparameter.name
    if isinstance(domain, (Categorical, Choice)):
        forbidden = [label for label in domain.labels if clause.is_forbidden_value({name: label})]
        return [_one_of(name, forbidden)] if forbidden else []
    if isinstance(clause, CS.ForbiddenInClause):
        return [_one_of(name, list(map(plain, clause.values)))]
    value: Any = clause.value  # type: ignore[attr-defined]
    return [f"{quoted(name)} {_OPERATORS[type(clause).__name__]} {plain(value)!r}"]


def _relation(clause: ForbiddenRelation, domains: Mapping[str, Parameter | Choice]) -> list[list[str]]:
    """The conjunctions that a relation of two parameters forbids, one for each label that they have."""
    names = clause.left.name, clause.right.name
    left, right = (domains[name] for name in names)
    if isinstance(left, (Categorical, Choice)) and isinstance(right, (Categorical, Choice)):
        pairs = itertools.product(left.labels, right.labels)
        forbidden = [pair for pair in pairs if clause.is_forbidden_value(dict(zip(names, pair, strict=True)))]
        return [[_one_of(names[0], [a]), _one_of(names[1], [b])] for a, b in forbidden]
    sides: list[list[tuple[str, list[str]]]] = []  # per side, what stands in the comparison, and what it assumes
    for name, domain in zip(names, (left, right), strict=True):
        if isinstance(domain, (Categorical, Choice)):
            sides.append([(repr(label), [_one_of(name, [label])]) for label in domain.labels])
        else:
            sides.append([(quoted(name), [])])
    operator = _OPERATORS[type(clause).__name__]
    return [
        [*assumed, *others, f"{one} {operator} {other}"]
        for (one, assumed), (other, others) in itertools.product(*sides)
    ]


def _one_of(name: str, values: list[Any]) -> str:
    if len(values) == 1:
        return f"{quoted(name)} == {values[0]!r}"
    return f"{quoted(name)} in [{', '.join(map(repr, values))}]"


def quoted(name: str) -> str:
    """A name as rules write it: in backticks if it is not an identifier.

    >>> quoted("C"), quoted("svm:C"), quoted("not")
    ('C', '`svm:C`', '`not`')
    """
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    return "`" + name.replace("`", "``") + "`"
