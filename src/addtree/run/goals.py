"""What a run looks for: the objectives and constraints of an evaluation, and the values that must be told of them.

An evaluation gives one number for each. A run without names has one objective, which is called "value".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from addtree._types import Array
from addtree.errors import OptionError, TrialError
from addtree.model.specification import check_noise
from addtree.support.numbers import MAX_SIZE, as_float, is_finite, is_flag, is_number, read_number

VALUE = "value"
"""The name of the objective of a run without names."""

Bounds: TypeAlias = float | tuple[float | None, float | None]
Noise: TypeAlias = float | Mapping[str, float | None] | None

_DIRECTIONS = ("min", "max")
_UNBOUNDED = (-math.inf, math.inf)


@dataclass(frozen=True)
class Objective:
    """A value that is to be small, or large."""

    name: str
    maximize: bool = False

    @property
    def sign(self) -> float:
        """What a value is multiplied by so that less is better: the one place where maximising becomes minimising."""
        return -1.0 if self.maximize else 1.0


@dataclass(frozen=True)
class Constraint:
    """A value that must lie between two bounds, one of which may be infinite."""

    name: str
    low: float
    high: float

    @property
    def sign(self) -> float:
        """What a value is multiplied by before it is modelled: the model is most exact for low values."""
        return -1.0 if self.high == math.inf else 1.0

    @property
    def signed_bounds(self) -> tuple[float, float]:
        """The bounds of the value times its sign."""
        return (self.low, self.high) if self.sign > 0 else (-self.high, -self.low)

    def violation(self, value: float) -> float:
        """How far a value is outside of the bounds; 0 if it is not."""
        return max(self.low - value, value - self.high, 0.0)


@dataclass(frozen=True)
class Goals:
    """The objectives and constraints of a run.

    named      whether the user named the objectives
    noise      by name, the standard deviation of repeated evaluations that was declared
    reference  by name of an objective, the worst value that is of interest; None if the run chooses it
    """

    objectives: tuple[Objective, ...] = (Objective(VALUE),)
    constraints: tuple[Constraint, ...] = ()
    named: bool = False
    noise: Mapping[str, float] = field(default_factory=dict)
    reference: Mapping[str, float] | None = None

    @classmethod
    def read(
        cls,
        objectives: Mapping[str, str] | None,
        constraints: Mapping[str, Bounds] | None,
        *,
        maximize: bool = False,
        noise: Noise = None,
        reference_point: Mapping[str, float] | None = None,
    ) -> Goals:
        """The goals that a user gave, or an OptionError that names what is wrong with them."""
        if checked_flag("maximize", maximize) and objectives is not None:
            raise OptionError("maximize=True is for one objective without a name; write objectives={name: 'max'}")
        sought = (Objective(VALUE, bool(maximize)),) if objectives is None else _read_objectives(objectives)
        bounded = () if constraints is None else _read_constraints(constraints)
        both = sorted({o.name for o in sought} & {c.name for c in bounded})
        if both:
            raise OptionError(f"constraints={constraints!r}: {both[0]!r} is the name of an objective; give another")
        goals = cls(sought, bounded, objectives is not None)
        return replace(goals, noise=goals._read_noise(noise), reference=goals._read_reference(reference_point))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all values of an evaluation, objectives first."""
        return (*(o.name for o in self.objectives), *(c.name for c in self.constraints))

    @property
    def is_single(self) -> bool:
        """Whether an evaluation gives one number."""
        return len(self.names) == 1

    @property
    def signs(self) -> tuple[float, ...]:
        """What each value is multiplied by before it is modelled."""
        return (*(o.sign for o in self.objectives), *(c.sign for c in self.constraints))

    def position(self, name: str | None) -> int:
        """The position of a value among the names, or an OptionError; None stands for the only objective."""
        if name is None and len(self.objectives) == 1:
            return 0
        if name not in self.names:
            raise OptionError(f"name={name!r} must be one of {_listed(self.names)}")
        return self.names.index(name)

    def with_reference(self, point: Any) -> Goals:
        """The same with another reference point, if one is given."""
        return self if point is None else replace(self, reference=self._read_reference(point))

    def _read_noise(self, noise: Any) -> dict[str, float]:
        if noise is None:
            return {}
        if not isinstance(noise, Mapping):
            if not self.is_single:
                raise OptionError(
                    f"noise={noise!r} is not a dict; give a standard deviation for some of {_listed(self.names)}"
                )
            return {self.names[0]: noise}
        unknown = [name for name in noise if name not in self.names]
        if unknown:
            raise OptionError(f"noise={noise!r}: {unknown[0]!r} is not one of {_listed(self.names)}")
        for name, std in noise.items():
            check_noise(std, f"noise[{name!r}]")
        return {name: std for name, std in noise.items() if std is not None}

    def _read_reference(self, point: Any) -> dict[str, float] | None:
        if point is None:
            return None
        names = tuple(o.name for o in self.objectives)
        if len(names) == 1:
            raise OptionError(f"reference_point={point!r} is for several objectives; leave it out")
        if not isinstance(point, Mapping) or set(point) != set(names) or not all(map(is_finite, point.values())):
            raise OptionError(
                f"reference_point={point!r} must be a dict with a finite number for each of {_listed(names)}"
            )
        return {name: as_float(point[name]) for name in names}

    # ------------------------------------------------------------------ what is told

    def read_values(self, told: Any) -> dict[str, float]:
        """The values told, by name, or a TrialError; they may be NaN or infinite."""
        if self.is_single and not (self.named and isinstance(told, Mapping)):
            return {self.names[0]: checked_value(told)}
        if not isinstance(told, Mapping):
            raise TrialError(
                f"value {told!r} is not a dict; tell a dict with a number for each of {_listed(self.names)}"
            )
        self._check_names("value", told)
        missing = [name for name in self.names if name not in told]
        if missing:
            raise TrialError(f"value {told!r} lacks {missing[0]!r}; tell a number for each of {_listed(self.names)}")
        return {name: checked_value(told[name], f" of {name!r}") for name in self.names}

    def read_stds(self, std: Any) -> dict[str, float]:
        """The standard errors told, by name, or a TrialError."""
        if std is None:
            return {}
        if not isinstance(std, Mapping):
            if not self.is_single:
                raise TrialError(
                    f"std={std!r} is not a dict; give a dict with a standard error for some of {_listed(self.names)}"
                )
            return {} if (error := checked_std(std)) is None else {self.names[0]: error}
        self._check_names("std", std)
        found = {name: checked_std(error, f"std[{name!r}]") for name, error in std.items()}
        return {name: error for name, error in found.items() if error is not None}

    def _check_names(self, what: str, told: Mapping[str, Any]) -> None:
        unknown = [name for name in told if name not in self.names]
        if unknown:
            raise TrialError(f"{what} {told!r}: {unknown[0]!r} is not one of {_listed(self.names)}; leave it out")

    # ------------------------------------------------------------------ what values are worth

    def violation(self, values: Mapping[str, float]) -> float:
        """The sum of the violations of all constraints; 0 if the values are feasible."""
        return sum(constraint.violation(values[constraint.name]) for constraint in self.constraints)

    def nearest(self, told: Sequence[Mapping[str, float]]) -> int:
        """The position of the values that violate the constraints least. Constraints may have different units.

        The unit of each constraint is the median of its violations.
        """
        total = np.zeros(len(told))
        for constraint in self.constraints:
            by = np.array([min(constraint.violation(values[constraint.name]), MAX_SIZE) for values in told])
            if by.any():
                total += by / np.median(by[by > 0.0])
        return int(np.argmin(total))

    def losses(self, values: Mapping[str, float]) -> Array:
        """The objectives (K), each with the sign for which less is better."""
        return np.array([o.sign * values[o.name] for o in self.objectives])

    def to_dict(self) -> dict[str, Any]:
        """The goals for JSON, in the form of the arguments of `Optimizer`."""
        noise = {name: float(std) for name, std in self.noise.items()}
        return {
            "maximize": not self.named and self.objectives[0].maximize,
            "objectives": {o.name: _DIRECTIONS[o.maximize] for o in self.objectives} if self.named else None,
            "constraints": {c.name: [_or_none(c.low), _or_none(c.high)] for c in self.constraints},
            "noise": noise.get(VALUE) if self.is_single and not self.named else noise,
            "reference_point": None if self.reference is None else dict(self.reference),
        }


def _read_objectives(given: Any) -> tuple[Objective, ...]:
    if not isinstance(given, Mapping) or not given:
        raise OptionError(f"objectives={given!r} must be a dict of names and directions, such as {{'error': 'min'}}")
    for name, direction in given.items():
        _check_name("objectives", name)
        if direction not in _DIRECTIONS:
            raise OptionError(f"objectives={given!r}: the direction of {name!r} must be 'min' or 'max'")
    return tuple(Objective(name, direction == "max") for name, direction in given.items())


def _read_constraints(given: Any) -> tuple[Constraint, ...]:
    if not isinstance(given, Mapping):
        raise OptionError(f"constraints={given!r} must be a dict of names and bounds, such as {{'memory': 16.0}}")
    found = []
    for name, bounds in given.items():
        _check_name("constraints", name)
        pair = bounds if isinstance(bounds, (tuple, list)) else (None, bounds)
        if len(pair) != 2 or not all(bound is None or is_number(bound) for bound in pair):
            raise OptionError(f"constraints={given!r}: {name!r} needs an upper bound, or a pair (low, high)")
        low, high = (
            missing if bound is None else as_float(bound) for bound, missing in zip(pair, _UNBOUNDED, strict=True)
        )
        if not (low < high and low < math.inf and high > -math.inf and (low, high) != _UNBOUNDED):
            raise OptionError(f"constraints={given!r}: {name!r} needs bounds low < high, at least one of them finite")
        found.append(Constraint(name, low, high))
    return tuple(found)


def _check_name(argument: str, name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise OptionError(f"{argument}=: the name {name!r} must be a string that is not empty")


def _or_none(bound: float) -> float | None:
    return bound if math.isfinite(bound) else None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def checked_flag(name: str, value: Any) -> bool:
    """An option that is True or False, or an OptionError."""
    if not is_flag(value):
        raise OptionError(f"{name}={value!r} must be True or False")
    return bool(value)


def checked_value(value: Any, owner: str = "") -> float:
    """The value as a float, or a TrialError if it is not a number."""
    number = read_number(value)
    if number is None:
        raise TrialError(
            f"value {value!r}{owner} is not a number; tell a float, or failed=True where the evaluation gave none"
        )
    return number


def checked_cost(cost: Any) -> float | None:
    """The cost of an evaluation as a float, or a TrialError if it cannot be one."""
    if cost is None:
        return None
    number = read_number(cost)
    if number is None or not 0.0 < number < math.inf:
        raise TrialError(f"cost={cost!r} must be a finite number above zero, such as seconds, or None")
    return number


def checked_std(std: Any, argument: str = "std") -> float | None:
    """The standard error of a value as a float, or a TrialError if it cannot be one."""
    if std is None:
        return None
    number = read_number(std)
    if number is None or not 0.0 <= number < math.inf:
        raise TrialError(
            f"{argument}={std!r} must be the standard error of the value, a finite number of zero or more, or None"
        )
    return number
