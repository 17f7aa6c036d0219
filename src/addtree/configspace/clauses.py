"""Forbidden clauses of ConfigSpace, and rules.

A rule that mentions an inactive parameter holds, and a forbidden conjunction that mentions one forbids nothing. So each
conjunction becomes one rule, `not (a and b)`, and the alternatives of an OR become several. A conjunction of a single
comparison becomes the opposite comparison, so that `a <= b` is the same rule again after a round trip.

Clauses on one parameter with labels are turned into the list of forbidden labels. This keeps the order of ordinals, and
does not depend on how labels compare.
"""

from __future__ import annotations

import itertools
import keyword
from collections.abc import Mapping
from typing import Any, NamedTuple

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
_OPPOSITES = {"==": "!=", ">": "<=", ">=": "<", "<": ">=", "<=": ">"}


class _Comparison(NamedTuple):
    """A comparison that is forbidden, and the opposite, as texts."""

    text: str
    opposite: str

    @classmethod
    def of(cls, left: str, operator: str, right: str) -> _Comparison:
        """The comparison of two numbers."""
        return cls(f"{left} {operator} {right}", f"{left} {_OPPOSITES[operator]} {right}")


def to_rules(clause: Any, domains: Mapping[str, Parameter | Choice]) -> list[str]:
    """The rules that exclude what a clause forbids."""
    return [
        parts[0].opposite if len(parts) == 1 else f"not ({' and '.join(part.text for part in parts)})"
        for parts in _conjunctions(clause, domains)
    ]


def _conjunctions(clause: Any, domains: Mapping[str, Parameter | Choice]) -> list[list[_Comparison]]:
    """The conjunctions of comparisons, each of which a clause forbids."""
    if isinstance(clause, ForbiddenOrConjunction):
        return [found for part in clause.components for found in _conjunctions(part, domains)]
    if isinstance(clause, ForbiddenConjunction):
        parts = [_conjunctions(part, domains) for part in clause.components]
        return [list(itertools.chain(*found)) for found in itertools.product(*parts)]
    if isinstance(clause, ForbiddenRelation):
        return _relation(clause, domains)
    return [[comparison] for comparison in _comparisons(clause, domains[clause.hyperparameter.name])]


def _comparisons(clause: ForbiddenClause, domain: Parameter | Choice) -> list[_Comparison]:
    """The comparison that a clause on one parameter forbids; none if it forbids no value."""
    name = clause.hyperparameter.name
    if isinstance(domain, (Categorical, Choice)):
        forbidden = [label for label in domain.labels if clause.is_forbidden_value({name: label})]
        return [_one_of(name, forbidden)] if forbidden else []
    if isinstance(clause, CS.ForbiddenInClause):
        return [_one_of(name, list(map(plain, clause.values)))]
    value: Any = clause.value  # type: ignore[attr-defined]
    return [_Comparison.of(quoted(name), _OPERATORS[type(clause).__name__], repr(plain(value)))]


def _relation(clause: ForbiddenRelation, domains: Mapping[str, Parameter | Choice]) -> list[list[_Comparison]]:
    """The conjunctions that a relation of two parameters forbids, one for each label that they have."""
    names = clause.left.name, clause.right.name
    left, right = (domains[name] for name in names)
    if isinstance(left, (Categorical, Choice)) and isinstance(right, (Categorical, Choice)):
        pairs = itertools.product(left.labels, right.labels)
        forbidden = [pair for pair in pairs if clause.is_forbidden_value(dict(zip(names, pair, strict=True)))]
        return [[_one_of(names[0], [a]), _one_of(names[1], [b])] for a, b in forbidden]
    sides: list[list[tuple[str, list[_Comparison]]]] = []  # per side, what is compared, and what it assumes
    for name, domain in zip(names, (left, right), strict=True):
        if isinstance(domain, (Categorical, Choice)):
            sides.append([(repr(label), [_one_of(name, [label])]) for label in domain.labels])
        else:
            sides.append([(quoted(name), [])])
    operator = _OPERATORS[type(clause).__name__]
    return [
        [*assumed, *others, _Comparison.of(one, operator, other)]
        for (one, assumed), (other, others) in itertools.product(*sides)
    ]


def _one_of(name: str, values: list[Any]) -> _Comparison:
    if len(values) == 1:
        return _Comparison.of(quoted(name), "==", repr(values[0]))
    listed = f"[{', '.join(map(repr, values))}]"
    return _Comparison(f"{quoted(name)} in {listed}", f"{quoted(name)} not in {listed}")


def quoted(name: str) -> str:
    """A name as rules write it: in backticks if it is not an identifier.

    >>> quoted("C"), quoted("svm:C"), quoted("not")
    ('C', '`svm:C`', '`not`')
    """
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    return "`" + name.replace("`", "``") + "`"
