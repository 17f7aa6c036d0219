"""Labels: the values of a `Categorical` and the options of a `Choice`.

A label is any hashable value that equals itself. A label that is not a JSON scalar can be used but not saved. NaN is
refused, because it does not equal itself and so could never be found again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from addtree.errors import ConfigError, SpaceError

Scalar = str | int | float | bool | None
"""What JSON can hold as a single value."""

LabelKey: TypeAlias = tuple[bool, Any]
"""What labels are compared by; hashable."""

_MAX_SHOWN = 20  # An error message lists at most this many labels.


def label_key(value: Any) -> LabelKey:
    """Equality of labels: as in Python, but True is not 1 (they would be in a dict)."""
    return (isinstance(value, (bool, np.bool_)), value)


def plain_label(value: Any) -> Any:
    """A label of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def check_labels(labels: Iterable[Any], what: str) -> tuple[Any, ...]:
    """The labels as a tuple, or a SpaceError: at least one, all hashable and different."""
    out = tuple(map(plain_label, labels))
    if not out:
        raise SpaceError(f"{what} is empty; give at least one")
    seen: set[LabelKey] = set()
    for label in out:
        try:
            twice = label_key(label) in seen
        except TypeError:
            raise SpaceError(f"{what}: {label!r} is not hashable; use a string, a number or a tuple instead") from None
        if twice:
            raise SpaceError(f"{what}: {label!r} is there twice; remove one")
        if label != label:
            raise SpaceError(
                f"{what}: {label!r} does not equal itself, so it cannot be found again; use None or a string"
            )
        seen.add(label_key(label))
    return out


def find_label(positions: dict[LabelKey, int], value: Any) -> int:
    """The position of a label, by its `label_key`, or a ConfigError that lists the labels."""
    try:
        found = positions.get(label_key(plain_label(value)))
    except TypeError:  # not hashable, so not a label
        found = None
    if found is not None:
        return found
    known = [label for _, label in positions]
    shown = ", ".join(map(repr, known[:_MAX_SHOWN])) + (", ..." if len(known) > _MAX_SHOWN else "")
    raise ConfigError(f"{value!r} is not one of {shown}")


def check_saveable(labels: Iterable[Any]) -> None:
    """Raise a SpaceError that names the first label that JSON cannot hold."""
    for label in labels:
        if not isinstance(label, Scalar):
            raise SpaceError(
                f"{label!r} is of type {type(label).__name__} and cannot be saved; "
                "use a string, number, bool or None for it"
            )
