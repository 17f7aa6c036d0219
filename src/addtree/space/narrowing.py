"""Numbers that rules confine to a small part of their range.

On the scale of the whole range, a model cannot tell the values in such a part from one another, and random values miss
it. The part is found by interval arithmetic: as long as no value near an end of the range can satisfy some rule, that
end is cut off.

symbol  meaning
box     by name, the least and the largest value of every number
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

from addtree.space.parameters import Integer, Real
from addtree.space.rule_expressions import (
    OPERATIONS,
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
)
from addtree.space.rules import Rule

if TYPE_CHECKING:
    from addtree.space.space import Space

Interval: TypeAlias = tuple[Any, Any]  # Python's own numbers, as rules use them
Box: TypeAlias = Mapping[str, Interval]

_SMALL = 0.05  # A number is narrowed if it is confined to this share of its range or less; in 0.03, runs repeat trials.
_CUT = 0.25  # Share of what is left of a range that is cut off at once.
_SHORTEST = 1e-13  # What is left is not cut further if it is shorter than this share of the range.
_ROUNDS = 10  # Passes over all numbers; a cut of one may permit cuts of others.

_ANYTHING: Interval = (-math.inf, math.inf)


def narrowed_numbers(space: Space) -> dict[str, Real | Integer]:
    """By name, the numbers that are confined to a small part of their range, with that part as their range.

    An end of the part is an end of the whole range, or violates a rule. So a value beyond the part, which counts as its
    end, is still invalid.

    >>> from addtree import Space
    >>> part = narrowed_numbers(Space(x=Real(0, 1), y=Real(0, 1)).where("x + y < 1e-3"))["x"]
    >>> part.low, 1e-3 <= part.high < 2e-3
    (0.0, True)
    """
    numbers = {name: d for name, d in space.variables.items() if isinstance(d, (Real, Integer))}
    movable = [name for name, d in numbers.items() if not d.is_constant and not d.opens]
    rules = {name: found for name in movable if (found := _binding(space, name))}
    box: dict[str, Interval] = {name: (d.low, d.high) for name, d in numbers.items()}
    left = dict.fromkeys(rules, (0.0, 1.0))
    for _ in range(_ROUNDS):
        before = dict(left)
        for name, binding in rules.items():
            for upper in (True, False):
                left[name], box[name] = _cut(name, numbers[name], left[name], box, binding, upper=upper)
        if left == before:
            break
    if not all(_may_hold(rule, box) for binding in rules.values() for rule in binding):
        return {}  # The rules conflict. The search for valid rows says so, and names them.
    small = [name for name, (low, high) in left.items() if high - low <= _SMALL]
    return {name: replace(numbers[name], low=box[name][0], high=box[name][1]) for name in small}


def _binding(space: Space, name: str) -> list[Rule]:
    """The rules that bind a parameter wherever it is active: all that they mention is active there too."""

    def places(other: str) -> list[Any]:
        return [node.location for node in space.nodes if other in node.names]

    def covers(above: Sequence[Any]) -> bool:
        return all(any(own[: len(place)] == place for place in above) for own in places(name))

    own_rules = [(rule, at) for rule, at in space.node_rules if isinstance(rule, Rule) and name in rule.names]
    return [
        rule
        for rule, at in own_rules
        if covers([space.nodes[at].location]) and all(covers(places(other)) for other in rule.names)
    ]


def _cut(
    name: str, domain: Real | Integer, left: Interval, box: Box, rules: Sequence[Rule], *, upper: bool
) -> tuple[Interval, Interval]:
    """What is left of a number, as codes and as values, after one end was cut off as often as possible."""
    (low, high), (first, last) = left, box[name]
    while high - low > _SHORTEST:
        middle = high - _CUT * (high - low) if upper else low + _CUT * (high - low)
        value = domain._decode(middle)
        if not first < value < last:
            break
        end = {**box, name: (value, last) if upper else (first, value)}
        if all(_may_hold(rule, end) for rule in rules):
            break
        low, high, first, last = (low, middle, first, value) if upper else (middle, high, value, last)
    return (low, high), (first, last)


# ---------------------------------------------------------------------- interval arithmetic


def _may_hold(rule: Rule, box: Box) -> bool:
    return _truths(rule.condition, box)[0]


def _truths(condition: Condition, box: Box) -> tuple[bool, bool]:
    """Whether a condition may hold somewhere in a box, and whether it may not."""
    if isinstance(condition, Truth):
        return condition.truth, not condition.truth
    if isinstance(condition, Comparison):
        return _compared(condition.symbol, _bounds(condition.left, box), _bounds(condition.right, box))
    if isinstance(condition, Membership):
        low, high = _bounds(condition.operand, box)
        return any(low <= member <= high for member in condition.members), True
    if isinstance(condition, Not):
        holds, fails = _truths(condition.operand, box)
        return fails, holds
    if isinstance(condition, Junction):
        parts = [_truths(operand, box) for operand in condition.operands]
        some, every = (any, all) if condition.every else (all, any)
        return every(holds for holds, _ in parts), some(fails for _, fails in parts)
    if isinstance(condition, Same):
        (x, no_x), (y, no_y) = _truths(condition.left, box), _truths(condition.right, box)
        return (x and y) or (no_x and no_y), (x and no_y) or (no_x and y)
    return True, True


def _compared(symbol: str, x: Interval, y: Interval) -> tuple[bool, bool]:
    """Whether x < y (and the like) may hold for some values of two intervals, and whether it may not."""
    if symbol in (">", ">="):
        return _compared({">": "<", ">=": "<="}[symbol], y, x)
    if symbol == "<":
        return x[0] < y[1], x[1] >= y[0]
    if symbol == "<=":
        return x[0] <= y[1], x[1] > y[0]
    equal = x[0] <= y[1] and y[0] <= x[1], not x[0] == x[1] == y[0] == y[1]
    return equal if symbol == "==" else equal[::-1]


def _bounds(expression: NumberExpression, box: Box) -> Interval:
    """The least and the largest value of an expression in a box, or more. Rounding is monotonic, so floats will do."""
    if isinstance(expression, Constant):
        return expression.number, expression.number
    if isinstance(expression, NumericParameter):
        return box[expression.name]
    if isinstance(expression, Lookup):
        return min(expression.numbers), max(expression.numbers)
    if isinstance(expression, Negative):
        low, high = _bounds(expression.operand, box)
        return -high, -low
    if isinstance(expression, Arithmetic) and expression.symbol in ("+", "-", "*", "/"):
        x, y = _bounds(expression.left, box), _bounds(expression.right, box)
        if expression.symbol != "/" or not y[0] <= 0 <= y[1]:
            return _extremes(OPERATIONS[expression.symbol], x, y)
    return _ANYTHING


def _extremes(operation: Callable[[Any, Any], Any], x: Interval, y: Interval) -> Interval:
    """The least and the largest result at the corners of two intervals."""
    try:
        results = [operation(a, b) for a, b in product(x, y)]
        return _ANYTHING if any(math.isnan(result) for result in results) else (min(results), max(results))
    except OverflowError:  # a whole number beyond the range of floats
        return _ANYTHING
