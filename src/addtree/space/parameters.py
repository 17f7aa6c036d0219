"""Parameters: numbers and categories.

A parameter has two representations. A *value* is what the user sees (`0.003`, `"gini"`). Its *code* is a float: in the
unit interval for numbers and ordered categories, the position of the value for other categories. Private methods
convert between the two; the rest of the package uses `Encoding`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from addtree.errors import ConfigError, SpaceError
from addtree.space.grid import Grid
from addtree.space.labels import LabelKey, check_labels, check_saveable, find_label, label_key
from addtree.space.number import MIN_LOG_RANGE, Number, out_of_bounds, read_float, read_whole
from addtree.support.numbers import MAX_EXACT, as_float, is_finite, is_number, is_whole

if TYPE_CHECKING:
    from addtree.space.space import Space

_TOLERANCE = 1e-9  # A value within this distance of a value on the grid is taken for it.
_COARSE = 1e-12  # If the floats of a range are further apart than this share of it, they are treated one by one.
_MAX_LOG_RESOLUTION = 2.0**49  # high · log(high / low) of an Integer up to which codes tell all values apart.
_DECIMAL = Context(prec=50)  # Values on a grid are computed in decimals, so that 0.1 + 2 · 0.1 is 0.3.


def _decimal(value: float) -> Decimal:
    """A float as the decimal number that it is written as."""
    return Decimal(repr(value))


def _ordinal(value: float) -> int:
    """The number of a float among all floats in ascending order; zero is number 0."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & (2**63 - 1))


@dataclass(frozen=True, repr=False)
class Real(Number):
    """A real number in [low, high]; `log=True` where its order of magnitude is what matters.

    step   the distance between its values, if it has finitely many
    opens  spaces that are open while the number lies in a closed interval: {(low, high): Space(...)}

    >>> print(Real(1e-4, 1, log=True))
    real [0.0001, 1] log
    >>> print(Real(0, 1, step=0.25))
    real [0, 1] step 0.25
    """

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    step: float | None = field(default=None, kw_only=True)
    opens: Mapping[tuple[float, float], Space] = field(default_factory=dict, kw_only=True)

    __hash__ = Number.__hash__

    def __post_init__(self) -> None:
        self._check_definition(read_float)
        if not math.isfinite(self.high / self.low if self.log else self.high - self.low):
            raise SpaceError(f"Real({self.low!r}, {self.high!r}): the range is too wide for a float; narrow it")
        if self.step is not None and not self.is_constant:
            if self.step < math.ulp(max(abs(self.low), abs(self.high))):
                raise SpaceError(f"{self!r}: floats cannot tell such small steps apart here; use larger steps")
            if (self.high - self.low) / self.step > MAX_EXACT:
                raise SpaceError(f"{self!r}: more than 2^53 values; use larger steps, or leave step out")
            if (
                not self._is_near(self.high, self._on_grid(self._position(self.high)))
                or self.step > self.high - self.low
            ):
                raise self._off_grid()
        self._check_opens(read_float)

    @property
    def _is_continuous(self) -> bool:
        """Whether there is neither a step nor a single value; keys are then the values themselves."""
        return self.step is None and not self.is_constant

    @cached_property
    def size(self) -> float:
        """The number of values; infinite where they are too many to treat them one by one."""
        if self.is_constant:
            return 1
        if self.grid is not None:
            return self.grid.n
        return self._count(self.low, self.high)

    @cached_property
    def grid(self) -> Grid | None:
        """The values as a grid; None without a step."""
        return None if self.step is None or self.is_constant else Grid(self._position(self.high) + 1)

    @cached_property
    def is_coarse(self) -> bool:
        """Whether the range is so narrow that it holds few floats."""
        spacing = math.ulp(max(abs(self.low), abs(self.high)))
        return self.grid is None and spacing > _COARSE * (self.high - self.low)

    def _count(self, first: Any, last: Any) -> float:
        if not self._is_continuous:
            return super()._count(first, last)
        return float(_ordinal(last) - _ordinal(first) + 1) if self.is_coarse or first == last else math.inf

    @cached_property
    def _is_curved(self) -> bool:
        return self.log and self.high - self.low > MIN_LOG_RANGE * self.low

    def _check(self, value: Any) -> float:
        """The value as a float, or a ConfigError."""
        number = as_float(value) if is_number(value) else math.nan
        if math.isnan(number):
            raise ConfigError(f"{value!r} is not a real number; give a float in [{self.low!r}, {self.high!r}]")
        if self.step is not None and math.isfinite(number):
            near = self._value(min(max(self._position(number), 0), int(self.size) - 1))
            if self._is_near(number, near):
                return near
            if self.low <= number <= self.high:
                raise ConfigError(f"{number!r} is not on the grid of steps of {self.step!r}; the nearest is {near!r}")
        if not self.low <= number <= self.high:
            raise out_of_bounds(number, self.low, self.high)
        return number + 0.0

    def _position(self, value: float) -> int:
        """The nearest position on the endless grid of steps from low."""
        steps = _DECIMAL.divide(_DECIMAL.subtract(_decimal(value), _decimal(self.low)), _decimal(self.step or 1.0))
        return int(steps.to_integral_value(context=_DECIMAL))

    def _is_near(self, value: float, other: float) -> bool:
        """Whether two values are one up to rounding: the tolerance is less than a step, apart from a few floats."""
        return abs(value - other) <= min(_TOLERANCE, 0.25 * (self.step or 1.0)) + 4.0 * math.ulp(value)

    def _key(self, value: float) -> Any:
        return value if self.grid is None else self._position(value)

    def _value(self, key: Any) -> float:
        if self.is_constant:
            return self.low
        if self.grid is None:
            return float(key)
        return self.high if key == self.grid.n - 1 else self._on_grid(key)

    def _on_grid(self, position: int) -> float:
        """The value at a position of the endless grid of steps from low."""
        steps = _DECIMAL.multiply(Decimal(position), _decimal(self.step or 1.0))
        return float(_DECIMAL.add(_decimal(self.low), steps))

    def _next_key(self, key: Any, direction: int) -> Any:
        if self._is_continuous:
            return math.nextafter(key, math.copysign(math.inf, direction)) + 0.0
        return super()._next_key(key, direction)

    def _key_range(self, low: float, high: float) -> tuple[Any, Any]:
        if self.grid is None:
            return low, high
        first, last = self._position(low), self._position(high)
        first += self._on_grid(first) < low and not self._is_near(low, self._on_grid(first))
        last -= self._on_grid(last) > high and not self._is_near(high, self._on_grid(last))
        return first, last

    def _code(self, key: Any) -> float:
        if not self._is_continuous:
            return super()._code(key)
        if self._is_curved:
            return math.log(key / self.low) / math.log(self.high / self.low)
        return float((key - self.low) / (self.high - self.low))

    def _nearest_key(self, code: float) -> Any:
        if not self._is_continuous:
            return super()._nearest_key(code)
        if code <= 0:
            return self.low
        if code >= 1:
            return self.high
        curved = self._is_curved
        value = self.low * (self.high / self.low) ** code if curved else self.low + code * (self.high - self.low)
        return float(min(max(value, self.low), self.high))

    @property
    def values(self) -> Iterator[float]:
        """Every value, in ascending order."""
        if not self._is_continuous:
            yield from super().values
            return
        value = self.low
        while value < self.high:
            yield value
            value = math.nextafter(value, math.inf) + 0.0
        yield self.high

    def __str__(self) -> str:
        if self.is_constant:
            return f"constant {self.low!r}"
        low, high = f"{self.low:g}", f"{self.high:g}"
        ends = f"{self.low!r}, {self.high!r}" if low == high else f"{low}, {high}"  # a narrow range needs all digits
        return f"real [{ends}]{self._suffix()}"


@dataclass(frozen=True, repr=False)
class Integer(Number):
    """A whole number in {low, ..., high}; `log=True` where its order of magnitude is what matters.

    step   the distance between its values
    opens  spaces that are open while the number lies in a closed interval: {(low, high): Space(...)}

    >>> print(Integer(1, 500, log=True))
    integer 1..500 log
    >>> Integer(8, 512, step=8).size
    64
    """

    low: int
    high: int
    log: bool = field(default=False, kw_only=True)
    step: int | None = field(default=None, kw_only=True)
    opens: Mapping[tuple[int, int], Space] = field(default_factory=dict, kw_only=True)

    __hash__ = Number.__hash__

    def __post_init__(self) -> None:
        self._check_definition(read_whole)
        if self.step == 1:
            object.__setattr__(self, "step", None)
        if (self.high - self.low) % (self.step or 1):
            raise self._off_grid()
        if self.size > MAX_EXACT + 1:
            raise SpaceError(f"Integer({self.low}, {self.high}): more than 2^53 values; use Real, or larger steps")
        if self._is_curved and self.high * math.log1p((self.high - self.low) / self.low) > _MAX_LOG_RESOLUTION:
            raise SpaceError(
                f"{self!r}: floats cannot distinguish all values on a log scale; use Real, or leave log out"
            )
        self._check_opens(read_whole)

    @property
    def size(self) -> int:
        """The number of values."""
        return (self.high - self.low) // (self.step or 1) + 1

    @cached_property
    def grid(self) -> Grid | None:
        """The values as a grid; None for a constant."""
        if self.is_constant:
            return None
        return Grid(self.size, low=float(self.low) if self._is_curved else None)

    @property
    def _is_curved(self) -> bool:
        return self.log and self.high - self.low > Fraction(MIN_LOG_RANGE) * self.low

    def _check(self, value: Any) -> int:
        """The value as an int (3.0 counts as 3), or a ConfigError."""
        if is_whole(value):
            number = int(value)
        elif is_finite(value) and abs(value - round(value)) <= _TOLERANCE + math.ulp(value):  # for rounding
            number = round(value)
        else:
            raise ConfigError(f"{value!r} is not a whole number; give an int in [{self.low}, {self.high}]")
        if not self.low <= number <= self.high:
            raise out_of_bounds(number, self.low, self.high)
        if (number - self.low) % (self.step or 1):
            near = self._value(round(Fraction(number - self.low, self.step or 1)))
            raise ConfigError(f"{number!r} is not on the grid of steps of {self.step!r}; the nearest is {near!r}")
        return number

    def _key(self, value: int) -> int:
        return (value - self.low) // (self.step or 1)

    def _value(self, key: int) -> int:
        return int(self.low + key * (self.step or 1))

    def _key_range(self, low: int, high: int) -> tuple[int, int]:
        return -((self.low - low) // (self.step or 1)), (high - self.low) // (self.step or 1)

    def __str__(self) -> str:
        if self.is_constant:
            return f"constant {self.low}"
        return f"integer {self.low}..{self.high}{self._suffix()}"


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Categorical:
    """One of several values that open nothing; a `Choice` is one whose options open subspaces.

    values   any hashable values but NaN, which does not equal itself; only JSON scalars can be saved
    ordered  whether neighbouring values are alike; the model then treats them as evenly spaced numbers

    >>> print(Categorical(["gini", "entropy"]))
    one of 'gini', 'entropy'
    >>> print(Categorical(["low", "mid", "high"], ordered=True))
    one of 'low' < 'mid' < 'high'
    """

    values: tuple[Any, ...]
    ordered: bool = field(default=False, kw_only=True)

    def __init__(self, values: Iterable[Any], *, ordered: bool = False) -> None:
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise SpaceError(f"Categorical({values!r}): give a list of values, not one")
        if not isinstance(ordered, (bool, np.bool_)):
            raise SpaceError(f"Categorical: ordered must be True or False, got {ordered!r}")
        object.__setattr__(self, "ordered", bool(ordered))
        object.__setattr__(self, "values", check_labels(values, "Categorical values"))

    @cached_property
    def _positions(self) -> dict[LabelKey, int]:
        return {label_key(label): i for i, label in enumerate(self.values)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Categorical) or self.ordered != other.ordered:
            return False
        if self.ordered:
            return list(self._positions) == list(other._positions)
        return self._positions.keys() == other._positions.keys()

    def __hash__(self) -> int:
        return hash((self.ordered, tuple(self._positions) if self.ordered else frozenset(self._positions)))

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers for the model."""
        return self.ordered

    @property
    def is_constant(self) -> bool:
        """Whether there is a single value."""
        return len(self.values) == 1

    @property
    def grid(self) -> Grid | None:
        """Ordered values as a grid; None if they have no order, or if there is only one."""
        return Grid(len(self.values)) if self.ordered and not self.is_constant else None

    def _check(self, value: Any) -> Any:
        """The value as it stands in the definition, or a ConfigError."""
        return self.values[self.position(value)]

    def position(self, value: Any) -> int:
        """The position of a value, or a ConfigError."""
        return find_label(self._positions, value)

    def _encode(self, value: Any) -> float:
        """Value to position, or to the unit interval if the values are ordered."""
        position = self.position(value)
        return float(position) if self.grid is None else float(self.grid.codes(position))

    def _decode(self, code: float) -> Any:
        """The opposite."""
        return self.values[int(code) if self.grid is None else int(self.grid.positions(code))]

    def opened(self, value: Any) -> list[Space]:
        """The spaces that are open at a value: none."""
        return []

    @property
    def labels(self) -> tuple[Any, ...]:
        """The values, under the name that they have in a `Choice`."""
        return self.values

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.values)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        check_saveable(self.values)
        return {"type": "categorical", "values": list(self.values), **({"ordered": True} if self.ordered else {})}

    def __repr__(self) -> str:
        return f"Categorical({list(self.values)!r}{', ordered=True' if self.ordered else ''})"

    def __str__(self) -> str:
        if self.is_constant:
            return f"constant {self.values[0]!r}"
        return "one of " + (" < " if self.ordered else ", ").join(map(repr, self.values))


Parameter = Real | Integer | Categorical
