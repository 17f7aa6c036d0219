"""What all numbers have in common, real or whole: bounds, scale, steps, and the intervals that open parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from addtree.errors import ConfigError, SpaceError
from addtree.space.cells import Cells
from addtree.space.grid import Grid
from addtree.support.numbers import is_finite

if TYPE_CHECKING:
    from addtree.space.space import Space

MIN_LOG_RANGE = 1e-3  # If high exceeds low by less than this share, a log scale cannot be told from a linear one.


def show(value: Any) -> str:
    """A value in an error message; Python refuses to print whole numbers of thousands of digits."""
    try:
        return repr(value)
    except ValueError:
        return "a number of thousands of digits"


def read_float(value: Any, what: str) -> float:
    """A finite Python float, or a SpaceError that says which bound is not one."""
    if not is_finite(value):
        raise SpaceError(f"{what} must be a finite number, got {show(value)}")
    return float(value) + 0.0  # -0.0 becomes 0.0


def read_whole(value: Any, what: str) -> int:
    """A Python int, or a SpaceError."""
    read_float(value, what)
    if int(value) != value:
        raise SpaceError(f"{what} must be a whole number, got {value!r}; use Real for fractions")
    return int(value)


def out_of_bounds(value: Any, low: float, high: float) -> ConfigError:
    """The error for a value outside of its range."""
    return ConfigError(f"{show(value)} is out of bounds [{low!r}, {high!r}]; use a value inside, or widen them")


class Number(ABC):
    """What `Real` and `Integer` have in common. Subclasses are frozen dataclasses with these fields."""

    low: Any
    high: Any
    log: bool
    step: Any
    opens: Mapping[tuple[Any, Any], Space]

    def _check_definition(self, read: Callable[[Any, str], Any]) -> None:
        """Normalise the fields, or raise a SpaceError; `read(value, what)` reads one number."""
        kind = type(self).__name__
        if not isinstance(self.opens, Mapping):
            raise SpaceError(f"opens={self.opens!r}: give a mapping of intervals (low, high) to spaces")
        for name in ("low", "high"):
            object.__setattr__(self, name, read(getattr(self, name), f"{name} of {kind}"))
        if not isinstance(self.log, (bool, np.bool_)):
            raise SpaceError(f"{kind}: log must be True or False, got {self.log!r}")
        object.__setattr__(self, "log", bool(self.log))
        text = f"{kind}({self.low!r}, {self.high!r}"
        if self.low > self.high:
            raise SpaceError(f"{text}): low must not exceed high; swap them")
        if self.log and self.low <= 0:
            raise SpaceError(f"{text}, log=True): a log scale needs low > 0; raise low, or leave log out")
        if self.step is not None:
            object.__setattr__(self, "step", read(self.step, f"step of {kind}"))
            if self.log:
                raise SpaceError(f"{text}, log=True, step={self.step!r}): steps need a linear scale; leave one out")
            if self.step <= 0:
                raise SpaceError(f"{text}, step={self.step!r}): step must be greater than zero")

    def _off_grid(self) -> SpaceError:
        return SpaceError(
            f"{type(self).__name__}({self.low!r}, {self.high!r}, step={self.step!r}): high is not on the grid of steps "
            "from low; change high or step"
        )

    def _check_opens(self, read: Callable[[Any, str], Any]) -> None:
        """Normalise `opens`, or raise a SpaceError."""
        from addtree.space.space import Space  # a space consists of parameters

        opens = {}
        for interval, space in self.opens.items():
            if not isinstance(interval, tuple) or len(interval) != 2:
                raise SpaceError(f"opens: {interval!r} is not an interval; give (low, high)")
            low, high = (read(end, f"interval {interval!r} of opens: each end") for end in interval)
            if not isinstance(space, Space):
                raise SpaceError(f"opens: interval {low!r}..{high!r} must open a Space, got {space!r}")
            if not self.low <= low <= high <= self.high:
                raise SpaceError(
                    f"opens: interval {low!r}..{high!r} is empty or not within {self.low!r}..{self.high!r}; "
                    "give (low, high) within the bounds"
                )
            first, last = self._key_range(low, high)
            if first > last:
                raise SpaceError(f"opens: interval {low!r}..{high!r} contains no value of the grid; widen it")
            opens[low, high] = space
        object.__setattr__(self, "opens", MappingProxyType(opens))

    # ------------------------------------------------------------------ what subclasses define

    @property
    @abstractmethod
    def size(self) -> float:
        """The number of values."""

    @property
    @abstractmethod
    def grid(self) -> Grid | None:
        """The values as a grid; None if they are not on one."""

    @abstractmethod
    def _key(self, value: Any) -> Any:
        """What values are compared by: the position on the grid, or the value itself."""

    @abstractmethod
    def _value(self, key: Any) -> Any:
        """The value of a key."""

    @abstractmethod
    def _key_range(self, low: Any, high: Any) -> tuple[Any, Any]:
        """The first and the last key between two values."""

    def _next_key(self, key: Any, direction: int) -> Any:
        """The key after (direction 1) or before (direction -1) another one."""
        return key + direction

    # ------------------------------------------------------------------ codes

    is_numeric = True

    @property
    def is_constant(self) -> bool:
        """Whether there is a single value."""
        return bool(self.low == self.high)

    @cached_property
    def cells(self) -> Cells:
        """The parts of the range in which the same intervals are open."""
        intervals = [self._key_range(low, high) for low, high in self.opens]
        return Cells.from_intervals(
            intervals, self._key_range(self.low, self.high), next_key=self._next_key, code=self._code
        )

    @property
    def cell_sizes(self) -> list[float]:
        """The number of values in each cell."""
        return [self._count(first, last) for first, last in zip(self.cells.first, self.cells.last, strict=True)]

    def _count(self, first: Any, last: Any) -> float:
        """The number of values from one key to another."""
        return float(last - first + 1)

    def _code(self, key: Any) -> float:
        """The code of a key, whatever the intervals."""
        return 0.0 if self.grid is None else float(self.grid.codes(key))

    def _nearest_key(self, code: float) -> Any:
        """The key that is nearest to a code, whatever the intervals."""
        return 0 if self.grid is None else int(self.grid.positions(code))

    def _encode(self, value: Any) -> float:
        """Value to unit interval: low is 0, high is 1."""
        key = self._key(value)
        return self.cells.clip_code(key, self._code(key)) if self.opens else self._code(key)

    def _decode(self, code: float) -> Any:
        """Unit interval to the nearest value; the ends come out exactly."""
        key = self._nearest_key(code)
        return self._value(self.cells.clip_key(code, key) if self.opens else key)

    def opened(self, value: Any) -> list[Space]:
        """The spaces that are open at a value."""
        spaces = list(self.opens.values())
        return [spaces[o] for o in self.cells.open[self._cell(value)]] if spaces else []

    def _cell(self, value: Any) -> int:
        """The cell of a value."""
        return self.cells.of_key(self._key(value))

    @property
    def values(self) -> Iterator[Any]:
        """Every value, in ascending order."""
        return (self._value(k) for k in range(int(self.size)))

    # ------------------------------------------------------------------ forms

    @property
    def _options(self) -> dict[str, Any]:
        """The keyword arguments that differ from their defaults."""
        given = {"log": self.log, "step": self.step, "opens": dict(self.opens)}
        return {name: value for name, value in given.items() if value}

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        options = self._options
        if self.opens:
            options["opens"] = [[low, high, space.to_dict()] for (low, high), space in self.opens.items()]
        return {"type": type(self).__name__.lower(), "low": self.low, "high": self.high, **options}

    def __hash__(self) -> int:
        return hash((type(self), self.low, self.high, self.log, self.step, frozenset(self.opens.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._options), (self.low, self.high)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        return f"{type(self).__name__}({self.low!r}, {self.high!r}{options})"

    def _suffix(self) -> str:
        return (" log" if self.log else "") + (f" step {self.step:g}" if self.step is not None else "")
