"""Rules as forbidden clauses of ConfigSpace.

The negation of a rule is brought into a normal form: *conjunctions* of comparisons, each of which becomes one forbidden
conjunction. What ConfigSpace has no clause for, such as arithmetic, makes the rule a loss.
"""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass
from typing import Any

import ConfigSpace as CS  # noqa: N817 - its own documentation's name for it

from addtree.configspace.clauses import quoted
from addtree.errors import SpaceError
from addtree.space.choice import Choice
from addtree.space.parameters import Categorical
from addtree.space.rule_builder import COMPARISONS
from addtree.space.rule_syntax import Syntax, parse, tokenize
from addtree.space.rules import AnyRule, Rule
from addtree.space.space import Space

_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_CLAUSES: dict[type[ast.cmpop], Any] = {
    ast.Lt: CS.ForbiddenLessThanClause,
    ast.LtE: CS.ForbiddenLessThanEqualsClause,
    ast.Gt: CS.ForbiddenGreaterThanClause,
    ast.GtE: CS.ForbiddenGreaterThanEqualsClause,
    ast.Eq: CS.ForbiddenEqualsClause,
}
_RELATIONS: dict[type[ast.cmpop], Any] = {
    ast.Lt: CS.ForbiddenLessThanRelation,
    ast.LtE: CS.ForbiddenLessThanEqualsRelation,
    ast.Gt: CS.ForbiddenGreaterThanRelation,
    ast.GtE: CS.ForbiddenGreaterThanEqualsRelation,
    ast.Eq: CS.ForbiddenEqualsRelation,
}


@dataclass(frozen=True)
class _Comparison:
    """One comparison of a rule. An operand is a `_Name`, a value, or the list of values after `in`."""

    left: Any
    operator: type[ast.cmpop]
    right: Any

    @property
    def names(self) -> set[str]:
        """The parameters that it mentions."""
        return {side.text for side in (self.left, self.right) if isinstance(side, _Name)}

    def __str__(self) -> str:
        return f"{_text(self.left)} {COMPARISONS[self.operator]} {_text(self.right)}"


@dataclass(frozen=True)
class _Name:
    """The name of a parameter."""

    text: str


def _text(operand: Any) -> str:
    return quoted(operand.text) if isinstance(operand, _Name) else repr(operand)


def to_clauses(cs: CS.ConfigurationSpace, space: Space, rule: AnyRule, node: int) -> list[Any]:
    """The clauses that forbid what a rule excludes, or a SpaceError if ConfigSpace has no such clauses."""
    if not isinstance(rule, Rule):
        raise SpaceError("ConfigSpace has no rules that are functions")
    syntax = parse(rule.text, tokenize(rule.text))
    clauses = []
    for conjunction in _conjunctions(syntax.tree, syntax, negated=True):
        mentioned = set().union(*(part.names for part in conjunction))
        _check_activity(space, set(rule.names), mentioned, node)
        alternatives = [_clauses(cs, space, part) for part in conjunction]
        for parts in itertools.product(*alternatives):
            clauses.append(parts[0] if len(parts) == 1 else CS.ForbiddenAndConjunction(*parts))
    return clauses


def _check_activity(space: Space, names: set[str], mentioned: set[str], node: int) -> None:
    """Raise a SpaceError if a clause on some parameters forbids more than a rule on all of them excludes."""
    if any(space.conditions[name] != ((),) for name in names - mentioned):
        raise SpaceError("it mentions a parameter that may be inactive while one of its parts excludes something")
    places = set(space.tree.in_cells(space.nodes[node].location))
    inside = [all(any(way[: len(p)] == p for p in places) for way in space.conditions[name]) for name in mentioned]
    if not any(inside):
        raise SpaceError("it applies in one branch, and its parameters are active in others")


# ---------------------------------------------------------------------- the normal form


def _conjunctions(node: ast.expr, syntax: Syntax, *, negated: bool) -> list[list[_Comparison]]:
    """An expression, or its negation, as alternatives, each of which is a conjunction of comparisons."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _conjunctions(inner, syntax, negated=not negated)
        case ast.BoolOp(op=op, values=values):
            parts = [_conjunctions(value, syntax, negated=negated) for value in values]
            return _all_of(parts) if isinstance(op, ast.And) != negated else list(itertools.chain(*parts))
        case ast.Compare(left=left, ops=ops, comparators=rest):
            sides = [_operand(side, syntax) for side in (left, *rest)]
            pairs = zip(sides, ops, sides[1:], strict=False)
            found = [[[_Comparison(a, _NEGATED[type(op)] if negated else type(op), b)]] for a, op, b in pairs]
            return list(itertools.chain(*found)) if negated else _all_of(found)
        case ast.Name():
            return [[_Comparison(_operand(node, syntax), ast.NotEq if negated else ast.Eq, True)]]
    raise SpaceError("ConfigSpace has no arithmetic")


def _all_of(parts: list[list[list[_Comparison]]]) -> list[list[_Comparison]]:
    return [list(itertools.chain(*found)) for found in itertools.product(*parts)]


def _operand(node: ast.expr, syntax: Syntax) -> Any:
    match node:
        case ast.Name(id=placeholder):
            token = syntax.meaning[placeholder]
            return token.text if token.kind == "string" else _Name(token.text)
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if isinstance(value, (int, float)):
            return -value
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return [_operand(element, syntax) for element in elements]
    raise SpaceError("ConfigSpace has no arithmetic")


# ---------------------------------------------------------------------- clauses


def _clauses(cs: CS.ConfigurationSpace, space: Space, part: _Comparison) -> list[Any]:
    """A comparison as alternative clauses."""
    if not isinstance(part.left, _Name):
        part = _Comparison(part.right, _MIRRORED.get(part.operator, part.operator), part.left)
    if not isinstance(part.left, _Name):
        raise SpaceError("ConfigSpace has no comparison of two values")
    name = part.left.text
    if isinstance(part.right, _Name):
        return _relations(cs, space, part)
    domain = space.variables[name]
    if isinstance(domain, (Categorical, Choice)) or domain.step is not None or domain.is_constant:
        rule = Rule(str(part), {name: domain})
        values = domain.labels if isinstance(domain, (Categorical, Choice)) else domain.values
        return _in(cs[name], [value for value in values if rule.holds({name: value})])
    if part.operator is ast.In:
        return _in(cs[name], [value for value in part.right if domain.low <= value <= domain.high])
    if part.operator is ast.NotIn or not domain.low <= part.right <= domain.high:
        raise SpaceError(f"ConfigSpace has no clause for {part}")
    operators = (ast.Lt, ast.Gt) if part.operator is ast.NotEq else (part.operator,)
    return [_CLAUSES[operator](cs[name], part.right) for operator in operators]


def _in(hyperparameter: Any, values: list[Any]) -> list[Any]:
    if len(values) == 1:
        return [CS.ForbiddenEqualsClause(hyperparameter, values[0])]
    return [CS.ForbiddenInClause(hyperparameter, values)] if values else []


def _relations(cs: CS.ConfigurationSpace, space: Space, part: _Comparison) -> list[Any]:
    """A comparison of two parameters as alternative relations."""
    names = part.left.text, part.right.text
    if any(isinstance(space.variables[name], (Categorical, Choice)) for name in names):
        raise SpaceError("ConfigSpace compares the values of ordinals, not their order")
    operators = (ast.Lt, ast.Gt) if part.operator is ast.NotEq else (part.operator,)
    return [_RELATIONS[operator](*(cs[name] for name in names)) for operator in operators]
