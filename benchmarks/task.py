"""What a task is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from addtree import Space


class MissingDataError(Exception):
    """The data or the library of a task are not on this machine."""


@dataclass(frozen=True)
class Task:
    """One task.

    reference  the known optimum if `exact`, or else the best value on record, or None without one
    program    the same space as define-by-run code: it takes an Optuna trial, and returns a configuration of `space`.
               None if the code follows from the space
    noise      the standard deviation of what an optimizer is told
    """

    name: str
    space: Space
    objective: Callable[[Mapping[str, Any]], float]
    reference: float | None
    exact: bool = False
    program: Callable[[Any], dict[str, Any]] | None = None
    noise: float = 0.0
