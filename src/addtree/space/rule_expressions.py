"""The expressions that rules consist of, and their two evaluations.

    number     Constant, NumericParameter, Lookup (a number per label of a parameter), Negative, Arithmetic
    condition  Truth, Comparison, Membership, Same, Not, Junction

`value(config)` evaluates an expression for one configuration, with Python's own numbers. `rows(columns)` evaluates it
for n rows at once, with floats, and gives the same answers: a row in which an integer leaves the range that floats hold
exactly is marked as doubtful, and the caller evaluates it by `value`. An expression that has no value (1 / 0, a result
beyond every bound) raises an ArithmeticError in the first evaluation, and is undefined in the second. As in Python,
`and` and `or` do not look at their later operands once an earlier one has decided.

`distance(columns)` estimates how far n rows are from satisfying a condition, from 0 to 1. The search for valid
configurations follows it downhill.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from addtree._types import Array, Config, Mask
from addtree.space.labels import label_key
from addtree.support.numbers import MAX_EXACT

Numeral: TypeAlias = int | float

MAX_EXPONENT = 1024  # `**` with an integer exponent beyond this has no value.
_MAX_BITS = 8192  # An integer of more bits than this is not computed.
LEAST_DISTANCE = 0.05  # The distance of a row that violates a condition by almost nothing.

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
NOWHERE: Mask = np.zeros((), dtype=bool)  # A mask without rows, which broadcasts.
_BY_ELEMENT = ("//", "%", "**")  # NumPy may round these differently from Python.
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_OPPOSITES = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def apply(symbol: str, left: Numeral, right: Numeral) -> Numeral:
    """The result of one operation, or an ArithmeticError if it has none within the bounds."""
    result = _power(left, right) if symbol == "**" else OPERATIONS[symbol](left, right)
    if isinstance(result, int):
        if result.bit_length() > _MAX_BITS:
            raise OverflowError(f"{left} {symbol} {right} is too large")
    elif isinstance(result, complex) or not math.isfinite(result):
        raise OverflowError(f"{left} {symbol} {right} is not a finite number")
    return result  # type: ignore[no-any-return]


def _power(base: Numeral, exponent: Numeral) -> Any:
    """base ** exponent; the size of an integer result is known before it is computed."""
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and (abs(exponent) > MAX_EXPONENT or base.bit_length() * abs(exponent) > _MAX_BITS):  # type: ignore[union-attr]
        raise OverflowError("the power is too large")
    return base**exponent


@dataclass
class Columns:
    """The values of n rows by name: numbers, or the positions of labels. Every value is that of an active parameter.

    doubtful  the rows whose integers have become too large for floats; evaluations add to it
    """

    n: int
    values: Mapping[str, Array]
    doubtful: Mask = field(init=False)

    def __post_init__(self) -> None:
        self.doubtful = np.zeros(self.n, dtype=bool)


# ---------------------------------------------------------------------- numbers


class NumberExpression(ABC):
    """An expression whose value is a number."""

    whole: bool  # whether the value may be an integer, which Python computes exactly

    @abstractmethod
    def value(self, config: Config) -> Numeral:
        """The value for one configuration."""

    @abstractmethod
    def rows(self, columns: Columns) -> tuple[Array, Mask]:
        """The values, and where they are undefined; both broadcast to n."""


@dataclass(frozen=True)
class Constant(NumberExpression):
    """A number."""

    number: Numeral

    @property
    def whole(self) -> bool:  # type: ignore[override]
        """Whether it is an integer."""
        return isinstance(self.number, int)

    def value(self, config: Config) -> Numeral:
        """The number itself."""
        return self.number

    def rows(self, columns: Columns) -> tuple[Array, Mask]:
        """The number, which broadcasts."""
        return np.asarray(float(self.number)), NOWHERE


@dataclass(frozen=True)
class NumericParameter(NumberExpression):
    """A numeric parameter."""

    name: str
    whole: bool

    def value(self, config: Config) -> Numeral:
        """Its value."""
        return config[self.name]  # type: ignore[no-any-return]

    def rows(self, columns: Columns) -> tuple[Array, Mask]:
        """Its values."""
        return columns.values[self.name], NOWHERE


@dataclass(frozen=True)
class Lookup(NumberExpression):
    """A parameter with labels, each of which stands for a number."""

    name: str
    labels: tuple[Any, ...]
    numbers: tuple[Numeral, ...]

    @property
    def whole(self) -> bool:  # type: ignore[override]
        """Whether some number is an integer."""
        return any(isinstance(number, int) for number in self.numbers)

    def value(self, config: Config) -> Numeral:
        """The number of its label."""
        key = label_key(config[self.name])
        return next(n for label, n in zip(self.labels, self.numbers, strict=True) if label_key(label) == key)

    def rows(self, columns: Columns) -> tuple[Array, Mask]:
        """The numbers of its labels."""
        return np.array(self.numbers, dtype=float)[columns.values[self.name].astype(np.intp)], NOWHERE


@dataclass(frozen=True)
class Negative(NumberExpression):
    """-x."""

    operand: NumberExpression

    @property
    def whole(self) -> bool:  # type: ignore[override]
        """Whether x may be an integer."""
        return self.operand.whole

    def value(self, config: Config) -> Numeral:
        """-x for one configuration."""
        return -self.operand.value(config)

    def rows(self, columns: Columns) -> tuple[Array, Mask]:
        """-x for n rows."""
        values, undefined = self.operand.rows(columns)
        return -values, undefined


@dataclass(frozen=True)
class Arithmetic(NumberExpression):
    """x + y, and the like."""

    symbol: str
    left: NumberExpression
    right: NumberExpression

    @property
    def whole(self) -> bool:  # type: ignore[override]
        """Whether the result may be an integer."""
        return self.symbol != "/" and self.left.whole and self.right.whole

    def value(self, config: Config) -> Numeral:
        """The result for one configuration."""
        return apply(self.symbol, self.left.value(config), self.right.value(config))

    def rows(self, columns: Columns) -> tuple[Array, Mask]:
        """The results for n rows."""
        (x, no_x), (y, no_y) = self.left.rows(columns), self.right.rows(columns)
        undefined = no_x | no_y
        if self.symbol in _BY_ELEMENT:
            x, y = np.broadcast_to(x, columns.n), np.broadcast_to(y, columns.n)
            result = self._by_element(x, y, np.broadcast_to(undefined, columns.n))
        else:
            result = OPERATIONS[self.symbol](x, y)
        if self.whole:
            columns.doubtful |= ~(np.abs(result) < MAX_EXACT) & ~undefined
        return result, undefined | ~np.isfinite(result)

    def _by_element(self, x: Array, y: Array, undefined: Mask) -> Array:
        """The results one by one; infinite where Python has none."""
        results = np.full(len(x), np.inf)
        for i, (left, right, skip) in enumerate(zip(x.tolist(), y.tolist(), undefined.tolist(), strict=True)):
            if skip:
                continue
            if self.whole and left.is_integer() and right.is_integer():
                left, right = int(left), int(right)
            try:
                results[i] = apply(self.symbol, left, right)
            except ArithmeticError:
                continue
        return results


# ---------------------------------------------------------------------- conditions


class Condition(ABC):
    """An expression that holds or does not."""

    @abstractmethod
    def value(self, config: Config) -> bool:
        """Whether it holds for one configuration."""

    @abstractmethod
    def rows(self, columns: Columns) -> tuple[Mask, Mask]:
        """Where it holds, and where that is undefined; both broadcast to n."""

    def distance(self, columns: Columns, wanted: bool = True) -> Array:
        """How far n rows are from it, or from its opposite; zero where that holds, at most 1 (n)."""
        holds, undefined = self.rows(columns)
        return np.broadcast_to(np.where((holds == wanted) & ~undefined, 0.0, 1.0), columns.n)


@dataclass(frozen=True)
class Truth(Condition):
    """True or False."""

    truth: bool

    def value(self, config: Config) -> bool:
        """The truth itself."""
        return self.truth

    def rows(self, columns: Columns) -> tuple[Mask, Mask]:
        """The truth, which broadcasts."""
        return np.asarray(self.truth), NOWHERE


@dataclass(frozen=True)
class Comparison(Condition):
    """x < y, and the like."""

    symbol: str
    left: NumberExpression
    right: NumberExpression

    def value(self, config: Config) -> bool:
        """Whether it holds for one configuration."""
        return bool(_COMPARISONS[self.symbol](self.left.value(config), self.right.value(config)))

    def rows(self, columns: Columns) -> tuple[Mask, Mask]:
        """Where it holds."""
        (x, no_x), (y, no_y) = self.left.rows(columns), self.right.rows(columns)
        return _COMPARISONS[self.symbol](x, y), no_x | no_y

    def distance(self, columns: Columns, wanted: bool = True) -> Array:
        """The difference of the two sides, relative to its mean over the rows."""
        (x, no_x), (y, no_y) = self.left.rows(columns), self.right.rows(columns)
        symbol = self.symbol if wanted else _OPPOSITES[self.symbol]
        difference = np.broadcast_to(np.nan_to_num(np.abs(x - y), nan=np.inf), columns.n)
        finite = difference[np.isfinite(difference)]
        scale = float(np.mean(finite)) if len(finite) else 0.0
        share = np.where(np.isfinite(difference), difference / (difference + scale + 1e-300), 1.0)
        far = np.where(_COMPARISONS[symbol](x, y), 0.0, LEAST_DISTANCE + (1.0 - LEAST_DISTANCE) * share)
        return np.where(no_x | no_y, 1.0, far)


@dataclass(frozen=True)
class Membership(Condition):
    """x in (1, 2, 3)."""

    operand: NumberExpression
    members: tuple[Numeral, ...]

    def value(self, config: Config) -> bool:
        """Whether it holds for one configuration."""
        return self.operand.value(config) in self.members

    def rows(self, columns: Columns) -> tuple[Mask, Mask]:
        """Where it holds."""
        values, undefined = self.operand.rows(columns)
        return np.isin(values, np.array(self.members, dtype=float)), undefined


@dataclass(frozen=True)
class Same(Condition):
    """Two conditions that are compared by `==`."""

    left: Condition
    right: Condition

    def value(self, config: Config) -> bool:
        """Whether both hold or neither does."""
        return self.left.value(config) == self.right.value(config)

    def rows(self, columns: Columns) -> tuple[Mask, Mask]:
        """Where both hold or neither does."""
        (x, no_x), (y, no_y) = self.left.rows(columns), self.right.rows(columns)
        return x == y, no_x | no_y


@dataclass(frozen=True)
class Not(Condition):
    """The opposite of a condition."""

    operand: Condition

    def value(self, config: Config) -> bool:
        """Whether the condition does not hold."""
        return not self.operand.value(config)

    def rows(self, columns: Columns) -> tuple[Mask, Mask]:
        """Where the condition does not hold."""
        holds, undefined = self.operand.rows(columns)
        return ~holds, undefined

    def distance(self, columns: Columns, wanted: bool = True) -> Array:
        """The distance from the opposite of the condition."""
        return self.operand.distance(columns, not wanted)


@dataclass(frozen=True)
class Junction(Condition):
    """Conditions joined by `and` (`every` is true) or by `or`."""

    every: bool
    operands: tuple[Condition, ...]

    def value(self, config: Config) -> bool:
        """Whether it holds; the first operand that decides ends the evaluation."""
        return (all if self.every else any)(operand.value(config) for operand in self.operands)

    def rows(self, columns: Columns) -> tuple[Mask, Mask]:
        """Where it holds; an operand after one that decides may be undefined."""
        undefined, decided = NOWHERE, NOWHERE
        for operand in self.operands:
            holds, unknown = operand.rows(columns)
            still_open = ~(decided | undefined)
            undefined = undefined | (still_open & unknown)
            decided = decided | (still_open & ~unknown & (holds != self.every))
        return decided != self.every, undefined

    def distance(self, columns: Columns, wanted: bool = True) -> Array:
        """The mean distance from all operands, or the smallest distance from any."""
        far = np.array([operand.distance(columns, wanted) for operand in self.operands])
        return np.asarray(far.mean(axis=0) if self.every == wanted else far.min(axis=0))
