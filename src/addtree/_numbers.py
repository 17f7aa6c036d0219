"""What counts as a number when a user gives one."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

MAX_EXACT = 2**53  # Floats represent every whole number up to this one.


def is_number(value: Any) -> bool:
    """Whether a value is a real number of Python or NumPy; a bool does not count."""
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def is_whole(value: Any) -> bool:
    """Whether a value is an integer of Python or NumPy; a bool does not count."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def as_float(value: Any) -> float:
    """A number as a float; a number beyond the range of floats (10**400) becomes infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
