"""What a task is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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


Values = dict[str, float]


@dataclass(frozen=True)
class MultiTask:
    """A task whose evaluation gives several values.

    evaluate    all values of a configuration, by name
    objectives  the names of those that are to be minimised
    limits      upper limits of others, by name
    """

    space: Space
    evaluate: Callable[[Mapping[str, Any]], Values]
    objectives: tuple[str, ...]
    limits: Mapping[str, float] = field(default_factory=dict)

    def is_feasible(self, values: Values) -> bool:
        """Whether values keep to the limits."""
        return all(values[name] <= limit for name, limit in self.limits.items())
