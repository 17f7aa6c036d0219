"""From the text of a rule to a condition, checked against the domains of the parameters that it mentions.

Every parameter with labels stands for numbers: for the positions of its labels where these are compared, and for the
labels themselves where they are numbers.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from addtree.errors import SpaceError
from addtree.space import rule_syntax
from addtree.space.forms import did_you_mean
from addtree.space.labels import Scalar, label_key
from addtree.space.parameters import Integer
from addtree.space.rule_expressions import (
    MAX_EXPONENT,
    Arithmetic,
    Comparison,
    Condition,
    Constant,
    Junction,
    Lookup,
    Membership,
    Negative,
    Not,
    NumberExpression,
    NumericParameter,
    Same,
    Truth,
    apply,
)
from addtree.support.numbers import MAX_EXACT, is_number

_MAX_DEPTH = 100  # Levels of a rule's tree; every sum or product of two terms is one.
_LISTED = 12  # Labels that an error message lists.

_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
}


@dataclass(frozen=True)
class Variable:
    """A parameter as rules see it: a number, or one of several labels."""

    name: str
    labels: tuple[Any, ...] | None
    ordered: bool
    whole: bool


@dataclass(frozen=True)
class _Literal:
    """A number, string, bool or None in the text of a rule."""

    value: Scalar


@dataclass(frozen=True)
class _Members:
    """The list of values after `in`."""

    values: tuple[Scalar, ...]


_Operand: TypeAlias = NumberExpression | Condition | Variable | _Literal | _Members


class Builder:
    """Turns Python's syntax tree of a rule into our own expressions."""

    def __init__(self, text: str, domains: Mapping[str, Any]) -> None:
        self._text, self._domains = text, domains
        tokens = rule_syntax.tokenize(text)
        self._syntax = rule_syntax.parse(text, tokens)
        self.key = tuple((token.kind, token.text) for token in tokens)
        self.names: dict[str, None] = {}
        self.is_exact = True  # Whether floats hold every number of the rule.
        self.condition: Condition = self._condition(self._operand(self._syntax.tree, 1))

    def _refuse(self, why: str) -> NoReturn:
        raise SpaceError(f"rule {rule_syntax.shorten(self._text)}: {why}")

    # ------------------------------------------------------------------ structure

    def _operand(self, node: ast.expr, depth: int) -> _Operand:
        if depth > _MAX_DEPTH:
            self._refuse(f"it is nested more than {_MAX_DEPTH} levels deep; split it into several rules")
        match node:
            case ast.Name(id=placeholder):
                token = self._syntax.meaning[placeholder]
                return _Literal(token.text) if token.kind == "string" else self._variable(token.text)
            case ast.Constant(value=value):
                return self._literal(value)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return Not(self._condition(self._operand(inner, depth + 1)))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
                return self._signed(isinstance(sign, ast.USub), self._operand(inner, depth + 1))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                x, y = (self._number(self._operand(side, depth + 1)) for side in (left, right))
                return self._arithmetic(_ARITHMETIC[type(op)], x, y)
            case ast.BoolOp(op=op, values=values):
                parts = tuple(self._condition(self._operand(value, depth + 1)) for value in values)
                return Junction(isinstance(op, ast.And), parts)
            case ast.Compare(left=left, ops=ops, comparators=rest):
                symbols = [COMPARISONS[type(op)] for op in ops]
                return self._chain(symbols, [self._operand(side, depth + 1) for side in (left, *rest)])
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                return self._members([self._operand(element, depth + 1) for element in elements])
        rule_syntax.refuse(self._text, "it contains something that is not allowed")

    def _variable(self, name: str) -> Variable:
        if name not in self._domains:
            self._refuse(f"parameter {rule_syntax.shorten(name)} is unknown; {did_you_mean(name, self._domains)}")
        self.names[name] = None
        domain = self._domains[name]
        if isinstance(domain, Integer) and max(abs(domain.low), abs(domain.high)) > MAX_EXACT:
            self.is_exact = False
        labels, ordered = getattr(domain, "labels", None), bool(getattr(domain, "ordered", False))
        return Variable(name, labels, ordered, isinstance(domain, Integer))

    def _literal(self, value: Any) -> _Literal:
        if isinstance(value, float) and not np.isfinite(value):
            self._refuse("it contains a number that is too large for a float")
        return _Literal(value)

    def _arithmetic(self, symbol: str, x: NumberExpression, y: NumberExpression) -> NumberExpression:
        """An operation; one of two constants is carried out at once."""
        if symbol == "**" and isinstance(y, Constant) and abs(y.number) > MAX_EXPONENT:
            self._refuse(f"it contains ** with an exponent beyond {MAX_EXPONENT}")
        if isinstance(x, Constant) and isinstance(y, Constant):
            try:
                return self._constant(apply(symbol, x.number, y.number))
            except OverflowError:
                self._refuse(f"it contains {symbol} with a result that is too large, or not a real number")
            except ArithmeticError:
                pass  # It never has a value, so the rule never holds.
        return Arithmetic(symbol, x, y)

    def _signed(self, negative: bool, operand: _Operand) -> _Operand:
        if isinstance(operand, _Literal) and is_number(operand.value):
            return _Literal(-operand.value if negative else operand.value)  # type: ignore[operator]
        number = self._number(operand)
        return Negative(number) if negative else number

    def _members(self, operands: Sequence[_Operand]) -> _Members:
        values = [operand.value for operand in operands if isinstance(operand, _Literal)]
        if len(values) < len(operands):
            self._refuse("the list after in may contain numbers, strings, True, False and None only")
        return _Members(tuple(values))

    # ------------------------------------------------------------------ kinds

    def _number(self, operand: _Operand) -> NumberExpression:
        """An operand as a number, or an error."""
        match operand:
            case NumberExpression():
                return operand
            case _Literal(value=value) if is_number(value):
                return self._constant(value)
            case Variable(labels=None):
                return NumericParameter(operand.name, operand.whole)
            case Variable(labels=labels) if all(map(is_number, labels or ())):
                return self._lookup(operand, tuple(labels or ()))
        self._refuse(f"{_described(operand)} is not a number")

    def _condition(self, operand: _Operand) -> Condition:
        """An operand as a condition, or an error."""
        match operand:
            case Condition():
                return operand
            case _Literal(value=bool() as value):
                return Truth(value)
            case Variable(labels=labels) if labels and all(isinstance(label, bool) for label in labels):
                return Comparison(
                    "==", self._lookup(operand, tuple(int(label is True) for label in labels)), Constant(1)
                )
        self._refuse(f"{_described(operand)} is not a condition; compare it with something")

    def _constant(self, value: Any) -> Constant:
        if isinstance(value, int) and abs(value) > MAX_EXACT:
            self.is_exact = False
        return Constant(value)

    def _lookup(self, variable: Variable, numbers: tuple[Any, ...]) -> Lookup:
        if any(isinstance(number, int) and abs(number) > MAX_EXACT for number in numbers):
            self.is_exact = False
        return Lookup(variable.name, variable.labels or (), numbers)

    # ------------------------------------------------------------------ comparisons

    def _chain(self, symbols: list[str], operands: list[_Operand]) -> Condition:
        """a < b < c, which is a < b and b < c."""
        if len(symbols) > 1 and any(isinstance(operand, Condition) for operand in operands):
            self._refuse("a condition in brackets may be compared with one other condition only")
        parts = tuple(self._compared(*part) for part in zip(symbols, operands, operands[1:], strict=False))
        return parts[0] if len(parts) == 1 else Junction(True, parts)

    def _compared(self, symbol: str, left: _Operand, right: _Operand) -> Condition:
        if symbol in ("in", "not in"):
            inside = self._membership(left, right)
            return Not(inside) if symbol == "not in" else inside
        if isinstance(left, _Members) or isinstance(right, _Members):
            self._refuse("a list of values may stand after in only")
        positions = self._positions(symbol, left, right)
        if positions is not None:
            return Comparison(symbol, *positions)
        if symbol in ("==", "!=") and (_is_condition(left) or _is_condition(right)):
            same = Same(self._condition(left), self._condition(right))
            return Not(same) if symbol == "!=" else same
        return Comparison(symbol, self._number(left), self._number(right))

    def _positions(self, symbol: str, x: _Operand, y: _Operand) -> tuple[NumberExpression, NumberExpression] | None:
        """The two sides as positions of labels, if they are compared as labels."""
        equality = symbol in ("==", "!=")
        match x, y:
            case Variable(labels=tuple() as labels), _Literal(value=value) if equality or x.ordered:
                return self._lookup(x, tuple(range(len(labels)))), Constant(self._position(x, value))
            case _Literal(value=value), Variable(labels=tuple() as labels) if equality or y.ordered:
                return Constant(self._position(y, value)), self._lookup(y, tuple(range(len(labels))))
            case Variable(labels=tuple() as labels), Variable(labels=tuple() as others):
                keys, other_keys = list(map(label_key, labels)), list(map(label_key, others))
                if equality or (x.ordered and y.ordered and keys == other_keys):
                    common = {key: i for i, key in enumerate(dict.fromkeys(keys + other_keys))}
                    return (
                        self._lookup(x, tuple(common[key] for key in keys)),
                        self._lookup(y, tuple(common[key] for key in other_keys)),
                    )
        for side in () if equality else (x, y):
            self._check_order(side)
        return None

    def _check_order(self, side: _Operand) -> None:
        """Refuse `<` on labels that have no order, or another one than the numbers have."""
        if not isinstance(side, Variable) or side.labels is None:
            return
        numbers: list[Any] = [label for label in side.labels if is_number(label)]
        if len(numbers) < len(side.labels) and not side.ordered:
            self._refuse(f"{side.name!r} has no order; compare it by ==, != or in, or define it with ordered=True")
        if side.ordered and numbers != sorted(numbers):
            self._refuse(f"the order of {side.name!r} is not that of its numbers; compare it with its own values")

    def _position(self, variable: Variable, value: Scalar) -> int:
        """The position of a label, or an error that suggests one."""
        labels = variable.labels or ()
        keys = list(map(label_key, labels))
        if label_key(value) in keys:
            return keys.index(label_key(value))
        near = difflib.get_close_matches(str(value), [label for label in labels if isinstance(label, str)], n=1)
        known = ", ".join(map(repr, labels[:_LISTED])) + (", ..." if len(labels) > _LISTED else "")
        hint = f"did you mean {near[0]!r}?" if near else f"it has {known}"
        shown = rule_syntax.shorten(value) if isinstance(value, str) else repr(value)
        self._refuse(f"parameter {variable.name!r} has no value {shown}; {hint}")

    def _membership(self, operand: _Operand, members: _Operand) -> Membership:
        if not isinstance(members, _Members):
            self._refuse("in needs a list of values in brackets")
        if isinstance(operand, Variable) and operand.labels is not None:
            positions = tuple(self._position(operand, value) for value in members.values)
            return Membership(self._lookup(operand, tuple(range(len(operand.labels)))), positions)
        numbers = tuple(self._number(_Literal(value)) for value in members.values)
        return Membership(self._number(operand), tuple(n.number for n in numbers if isinstance(n, Constant)))


def _is_condition(operand: _Operand) -> bool:
    return isinstance(operand, Condition) or (isinstance(operand, _Literal) and isinstance(operand.value, bool))


def _described(operand: _Operand) -> str:
    match operand:
        case Variable(name=name, labels=labels):
            return f"the parameter {name!r}" + ("" if labels is None else f", one of {list(labels[:_LISTED])!r},")
        case _Literal(value=str() as text):
            return f"the string {rule_syntax.shorten(text)}"
        case _Literal(value=value):
            return rule_syntax.shorten(str(value))
        case _Members():
            return "a list of values"
        case Condition():
            return "a condition"
    return "the result of an operation"
