"""The largest JSON form of a space that is accepted, checked before anything is built from it.

A form may come from a damaged or hostile file. Its nesting must not exhaust the stack, and its size must not exhaust
the memory of the model that is built for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from addtree.errors import SpaceError

MAX_DEPTH = 200
"""Levels of mappings and lists inside each other. One choice inside another adds three levels, so 66 choices fit."""

MAX_VALUES = 20_000
"""Values of a form, mappings and lists included. A tree of 1,023 vertices has 8,692."""


def check_form(form: Any) -> None:
    """Raise a SpaceError if the form of a space is nested too deeply, or too large."""
    level: list[Any] = [form]
    n_values = depth = 0
    while level:
        n_values += len(level)
        if n_values > MAX_VALUES:
            raise SpaceError(f"the form of the space has more than {MAX_VALUES} values; describe a smaller space")
        depth += 1
        if depth > MAX_DEPTH:
            raise SpaceError(f"the form of the space is nested deeper than {MAX_DEPTH} levels; nest fewer choices")
        level = [inner for outer in level for inner in _inside(outer)]


def _inside(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else []
