"""Hyperparameters of ConfigSpace and domains of addtree."""

from __future__ import annotations

import math
from typing import Any

import ConfigSpace as CS  # noqa: N817 - its own documentation's name for it
import numpy as np
from ConfigSpace.hyperparameters import FloatHyperparameter, IntegerHyperparameter

from addtree.errors import SpaceError
from addtree.space.choice import Choice
from addtree.space.parameters import Categorical, Integer, Parameter, Real
from addtree.space.space import Space

_META = "addtree"
"""Entry of a hyperparameter's `meta`: the JSON form of a number with steps, which ConfigSpace does not have."""

_MAX_STEPS = 10_000
"""A number with more steps than this becomes a number without steps, because an ordinal lists all of its values."""


def plain(value: Any) -> Any:
    """A value as a Python object."""
    return value.item() if isinstance(value, np.generic) else value


def to_domain(h: Any, losses: list[str]) -> Parameter:
    """The domain of a hyperparameter; what it cannot express is added to the losses."""
    name = f"parameter {h.name!r}"
    if isinstance(h, CS.Constant):
        return _constant(plain(h.value))
    if isinstance(h, CS.CategoricalHyperparameter):
        if h.weights is not None:
            losses.append(f"{name}: its weights are lost; all values are equally likely")
        return Categorical(tuple(map(plain, h.choices)))
    if isinstance(h, CS.OrdinalHyperparameter):
        if h.meta is not None and _META in h.meta:
            stepped = Space.from_dict({h.name: h.meta[_META]}).variables[h.name]
            if not isinstance(stepped, Choice) and list(stepped.values) == list(map(plain, h.sequence)):
                return stepped
        return Categorical(tuple(map(plain, h.sequence)), ordered=len(h.sequence) > 1)
    if not isinstance(h, (FloatHyperparameter, IntegerHyperparameter)):
        raise SpaceError(f"{name} is a {type(h).__name__}, which addtree cannot represent")
    if not isinstance(h, (CS.UniformFloatHyperparameter, CS.UniformIntegerHyperparameter)):
        prior = "normal" if "Normal" in type(h).__name__ else "beta"
        losses.append(f"{name}: its {prior} prior is lost; all values within its bounds are equally likely")
    low, high, log = plain(h.lower), plain(h.upper), bool(getattr(h, "log", False))
    return Integer(low, high, log=log) if isinstance(h, IntegerHyperparameter) else Real(low, high, log=log)


def _constant(value: Any) -> Parameter:
    if isinstance(value, int) and not isinstance(value, bool):
        return Integer(value, value)
    return Real(value, value) if isinstance(value, float) else Categorical((value,))


def to_hyperparameter(name: str, domain: Parameter | Choice, losses: list[str], **default: Any) -> Any:
    """The hyperparameter of a domain; what it cannot express is added to the losses.

    Raises a SpaceError if ConfigSpace refuses the domain: labels such as 0 and False, or bounds that are too close.

    default  the default value, as `default_value`; ConfigSpace's own if it is left out
    """
    try:
        return _hyperparameter(name, domain, losses, **default)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise SpaceError(f"parameter {name!r}: ConfigSpace cannot represent {domain!r}: {error}") from error


def _hyperparameter(name: str, domain: Parameter | Choice, losses: list[str], **default: Any) -> Any:
    if isinstance(domain, Choice):
        return CS.CategoricalHyperparameter(name, list(domain.labels), **default)
    if domain.is_constant:
        return CS.Constant(name, next(iter(domain.values)))
    if isinstance(domain, Categorical):
        if domain.ordered:
            return CS.OrdinalHyperparameter(name, list(domain.values), **default)
        return CS.CategoricalHyperparameter(name, list(domain.values), **default)
    if domain.step is not None:
        if domain.size <= _MAX_STEPS:
            form = {key: value for key, value in domain.to_dict().items() if key != "opens"}
            return CS.OrdinalHyperparameter(name, list(domain.values), meta={_META: form}, **default)
        losses.append(f"parameter {name!r}: its steps of {domain.step!r} are lost, because there are {domain.size}")
    if isinstance(domain, Real):
        with np.errstate(over="ignore", invalid="ignore"):  # It rounds by a factor that can overflow.
            found = CS.UniformFloatHyperparameter(name, domain.low, domain.high, log=domain.log, **default)
        if not (math.isfinite(found.lower) and math.isfinite(found.upper)):
            raise ValueError("it rounds the bounds to infinity")
        return found
    return CS.UniformIntegerHyperparameter(name, domain.low, domain.high, log=domain.log, **default)
