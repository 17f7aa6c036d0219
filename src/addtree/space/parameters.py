"""Parameters: numbers and categories.

A parameter has two representations. A *value* is what the user sees (`0.003`, `"gini"`). Its *code* is a float: in the
unit interval for `Real` and `Integer`, the position of the value for `Categorical`. Private methods convert between the
two; the rest of the package uses `Encoding`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from addtree._numbers import as_float, is_number
from addtree._types import Array
from addtree.errors import ConfigError, SpaceError

Scalar = str | int | float | bool | None


def _bound(value: Any, what: str) -> float:
    """A finite Python float, or a SpaceError that says which bound is not one."""
    if not is_number(value) or not math.isfinite(as_float(value)):
        raise SpaceError(f"{what} must be a finite number, got {value!r}")
    return float(value)


def _check_bounds(kind: str, low: float, high: float, log: bool) -> None:
    if not low < high:
        raise SpaceError(f"{kind}({low!r}, {high!r}): low must be less than high; swap them or widen the range")
    if log and low <= 0:
        raise SpaceError(f"{kind}({low!r}, {high!r}, log=True): a log scale needs low > 0; raise low, or leave log out")


def _out_of_bounds(value: float, low: float, high: float) -> ConfigError:
    return ConfigError(f"{value!r} is out of bounds [{low!r}, {high!r}]; use a value inside, or widen them")


@dataclass(frozen=True)
class Real:
    """A real number in [low, high]; `log=True` where its order of magnitude is what matters.

    >>> print(Real(1e-4, 1, log=True))
    real [0.0001, 1] log
    """

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", _bound(self.low, "low of Real"))
        object.__setattr__(self, "high", _bound(self.high, "high of Real"))
        _check_bounds("Real", self.low, self.high, self.log)
        if not math.isfinite(self.high / self.low if self.log else self.high - self.low):
            raise SpaceError(f"Real({self.low!r}, {self.high!r}): the range is too wide for a float; narrow it")

    def _check(self, value: Any) -> float:
        """The value as a float, or a ConfigError."""
        number = as_float(value) if is_number(value) else math.nan
        if math.isnan(number):
            raise ConfigError(f"{value!r} is not a real number; give a float in [{self.low!r}, {self.high!r}]")
        if not self.low <= number <= self.high:
            raise _out_of_bounds(number, self.low, self.high)
        return number

    def _encode(self, value: float) -> float:
        """Value to unit interval."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def _decode(self, code: float) -> float:
        """Unit interval to value; the ends come out exactly."""
        if code <= 0:
            return self.low
        if code >= 1:
            return self.high
        value = self.low * (self.high / self.low) ** code if self.log else self.low + code * (self.high - self.low)
        return float(min(max(value, self.low), self.high))

    @property
    def size(self) -> float:
        """The number of values."""
        return math.inf

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"type": "real", "low": self.low, "high": self.high, **({"log": True} if self.log else {})}

    def __str__(self) -> str:
        return f"real [{self.low:g}, {self.high:g}]{' log' if self.log else ''}"


@dataclass(frozen=True)
class Integer:
    """A whole number in {low, ..., high}; `log=True` where its order of magnitude is what matters.

    >>> print(Integer(1, 500, log=True))
    integer 1..500 log
    """

    low: int
    high: int
    log: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = _bound(getattr(self, name), f"{name} of Integer")
            if not value.is_integer():
                raise SpaceError(f"{name} of Integer must be a whole number, got {value!r}; use Real for fractions")
            object.__setattr__(self, name, int(getattr(self, name)))
        _check_bounds("Integer", self.low, self.high, self.log)
        if self.high - self.low > 2**53:
            raise SpaceError(f"Integer({self.low}, {self.high}): more than 2^53 values; use Real")

    def _check(self, value: Any) -> int:
        """The value as an int (3.0 counts as 3), or a ConfigError."""
        whole = isinstance(value, numbers.Integral) or (is_number(value) and as_float(value).is_integer())
        if not whole or isinstance(value, (bool, np.bool_)):
            raise ConfigError(f"{value!r} is not a whole number; give an int in [{self.low}, {self.high}]")
        if not self.low <= value <= self.high:
            raise _out_of_bounds(int(value), self.low, self.high)
        return int(value)

    def _encode(self, value: int) -> float:
        """Value to unit interval: low is 0, high is 1."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def _decode(self, code: float) -> int:
        """Unit interval to the nearest value."""
        code = min(max(code, 0.0), 1.0)
        if self.log:
            value = round(self.low * (self.high / self.low) ** code)
        else:
            value = self.low + round(code * (self.high - self.low))
        return int(min(max(value, self.low), self.high))

    def _from_uniform(self, u: Array) -> Array:
        """Codes from uniform numbers, such that on its scale every value has a cell of its own, the ends too."""
        if not self.log:
            position = np.minimum(np.floor(u * self.size), self.size - 1)
            return np.asarray(position / (self.high - self.low))
        low, high = math.log(self.low - 0.5), math.log(self.high + 0.5)
        value = np.clip(np.round(np.exp(low + u * (high - low))), self.low, self.high)
        return np.asarray(np.log(value / self.low) / math.log(self.high / self.low))

    def _to_uniform(self, codes: Array) -> Array:
        """A uniform number in the cell of each code."""
        if not self.log:
            return np.asarray((np.round(codes * (self.high - self.low)) + 0.5) / self.size)
        low, high = math.log(self.low - 0.5), math.log(self.high + 0.5)
        return np.asarray((np.log(self.low * (self.high / self.low) ** codes) - low) / (high - low))

    @property
    def size(self) -> float:
        """The number of values."""
        return self.high - self.low + 1

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"type": "integer", "low": self.low, "high": self.high, **({"log": True} if self.log else {})}

    def __str__(self) -> str:
        return f"integer {self.low}..{self.high}{' log' if self.log else ''}"


def label_key(value: Any) -> Hashable:
    """Equality of labels: as in Python, but True is not 1 (they would be in a dict)."""
    return (isinstance(value, (bool, np.bool_)), value)


def same_labels(one: tuple[Scalar, ...], other: tuple[Scalar, ...]) -> bool:
    """Whether two lists of labels are equal, in order."""
    return tuple(map(label_key, one)) == tuple(map(label_key, other))


def check_labels(labels: Iterable[Any], what: str) -> tuple[Scalar, ...]:
    """Labels (values of a Categorical, options of a Choice): JSON scalars, at least one, all different."""
    out: list[Scalar] = []
    for value in labels:
        plain = value.item() if isinstance(value, np.generic) else value
        if not isinstance(plain, (str, int, float, bool, type(None))) or plain != plain:
            raise SpaceError(f"{what}: {value!r} must be a string, number, bool or None, so that it can be saved")
        out.append(plain)
    if not out:
        raise SpaceError(f"{what} is empty; give at least one")
    seen: set[Hashable] = set()
    for plain in out:
        if label_key(plain) in seen:
            raise SpaceError(f"{what}: {plain!r} is there twice; remove one")
        seen.add(label_key(plain))
    return tuple(out)


def find_label(labels: tuple[Scalar, ...], value: Any) -> int:
    """Position of `value` among labels, or a ConfigError that lists them."""
    plain = value.item() if isinstance(value, np.generic) else value
    for i, label in enumerate(labels) if isinstance(plain, Scalar) else ():
        if isinstance(label, bool) == isinstance(plain, bool) and label == plain:
            return i
    known = ", ".join(map(repr, labels[:20])) + (", ..." if len(labels) > 20 else "")
    raise ConfigError(f"{value!r} is not one of {known}")


@dataclass(frozen=True, eq=False)
class Categorical:
    """One of several values without order that open nothing; a `Choice` is one whose options open subspaces.

    >>> print(Categorical(["gini", "entropy"]))
    one of 'gini', 'entropy'
    """

    values: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        if isinstance(self.values, str) or not isinstance(self.values, Iterable):
            raise SpaceError(f"Categorical({self.values!r}): give a list of values, not one")
        object.__setattr__(self, "values", check_labels(self.values, "Categorical values"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Categorical) and same_labels(self.values, other.values)

    def __hash__(self) -> int:
        return hash(self.values)

    def _check(self, value: Any) -> Scalar:
        """The value as it stands in the definition, or a ConfigError."""
        return self.values[find_label(self.values, value)]

    def _encode(self, value: Any) -> float:
        """Value to position."""
        return float(find_label(self.values, value))

    def _decode(self, code: float) -> Scalar:
        """Position to value."""
        return self.values[int(code)]

    @property
    def labels(self) -> tuple[Scalar, ...]:
        """The values, under the name that they have in a `Choice`."""
        return self.values

    @property
    def size(self) -> float:
        """The number of values."""
        return len(self.values)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"type": "categorical", "values": list(self.values)}

    def __str__(self) -> str:
        return "one of " + ", ".join(map(repr, self.values))


Parameter = Real | Integer | Categorical
