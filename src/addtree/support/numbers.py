"""What counts as a number when a user gives one, and how a count is written."""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from typing import Any

import numpy as np

MAX_EXACT = 2**53  # Floats represent every whole number up to this one.
MAX_SIZE = 1e300  # Larger values, positive or negative, count as this: their sums and differences would overflow.


def is_number(value: Any) -> bool:
    """Whether a value is a real number of Python or NumPy; a bool does not count."""
    return isinstance(value, numbers.Real) and not is_flag(value)


def is_finite(value: Any) -> bool:
    """Whether a value is a number that is neither infinite nor NaN as a float."""
    return is_number(value) and math.isfinite(as_float(value))


def is_flag(value: Any) -> bool:
    """Whether a value is True or False, of Python or NumPy."""
    return isinstance(value, (bool, np.bool_))


def is_whole(value: Any) -> bool:
    """Whether a value is an integer of Python or NumPy; a bool does not count."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def scalar(value: Any) -> Any:
    """The number in an array or a tensor with one element; any other value as it is, such as a masked number."""
    if np.ma.is_masked(value):
        return value
    try:
        return value.item()  # NumPy, PyTorch, JAX and pandas have this method
    except Exception:
        return value


def as_float(value: Any) -> float:
    """A number as a float; a number beyond the range of floats (10**400) becomes infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def read_number(value: Any) -> float | None:
    """A number that an evaluation gave, as a float; None if it is not a real number. A Decimal is one.

    >>> from decimal import Decimal
    >>> read_number(Decimal("1.5")), read_number(2), read_number("1.5")
    (1.5, 2.0, None)
    """
    if isinstance(value, Decimal):
        return math.nan if value.is_nan() else float(value)
    return as_float(value) if is_number(value) else None


def plural(n: int, noun: str) -> str:
    """A count with its noun.

    >>> plural(1, "trial"), plural(12, "trial")
    ('1 trial', '12 trials')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
