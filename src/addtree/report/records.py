"""Trials as the report sees them, whichever optimizer ran them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from addtree._types import Array
from addtree.errors import ConfigError, TrialError
from addtree.run.goals import Goals
from addtree.space.encoding import Encoding
from addtree.space.space import Space
from addtree.trials import Trial

State = Literal["done", "failed", "pruned", "pending"]
STATES: tuple[State, ...] = ("done", "failed", "pruned", "pending")


@dataclass(frozen=True)
class Record:
    """One trial.

    The model uses trials that are done, which have a value and a complete configuration. The configuration of any
    other trial may be incomplete.

    value    the value of the objective; None with several objectives
    error    why the trial failed, if that is known
    seconds  how long the trial took, if that is known
    std      the standard error of the value, if that is known
    values   by name, the values of all objectives and constraints
    stds     by name, their standard errors, if these are known
    """

    id: int
    config: Mapping[str, Any]
    state: State
    value: float | None = None
    error: str | None = None
    seconds: float | None = None
    std: float | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    stds: Mapping[str, float] = field(default_factory=dict)


def make_records(space: Space, trials: Iterable[Any], goals: Goals) -> tuple[Record, ...]:
    """Trials as records; a trial is a `Record`, a `Trial` of an optimizer, or a mapping with the keys of a `Record`.

    Without an id, a trial takes its position; without a state, it is done if it has a finite value, else failed. With
    several objectives or constraints, the value is a dict with a number for each, under the key `value` or `values`.
    """
    return tuple(_make_record(space, goals, i, trial) for i, trial in enumerate(trials))


def with_value(trials: Iterable[Record], name: str) -> list[Record]:
    """The trials with one of their values, and its standard error, as their `value` and `std`."""
    return [replace(trial, value=trial.values.get(name), std=trial.stds.get(name)) for trial in trials]


def _make_record(space: Space, goals: Goals, position: int, trial: Any) -> Record:
    got = _fields(trial)
    known, config, told = got.get("id"), got.get("config"), _told(goals, got, "value")
    number = position if known is None else int(known)
    if not isinstance(config, Mapping):
        raise TrialError(f"trial {number} has no configuration: {trial!r}; give trials with config, state and value")
    values = {} if told is None else goals.read_values(told)
    finite = {name: value for name, value in values.items() if math.isfinite(value)}
    state = got.get("state") or ("done" if len(finite) == len(goals.names) else "failed")
    if state not in STATES:
        raise TrialError(f"trial {number}: state {state!r} is unknown; use one of {', '.join(map(repr, STATES))}")
    if state == "done":
        config = space.validate(config)
        if len(finite) < len(goals.names):
            raise TrialError(f"trial {number} is done but its value is {told!r}; give a number, or state 'failed'")
    stds = goals.read_stds(_told(goals, got, "std"))
    only = goals.objectives[0].name if len(goals.objectives) == 1 else None
    value, std = (None, None) if only is None else (finite.get(only), stds.get(only))
    return Record(number, dict(config), state, value, got.get("error"), got.get("seconds"), std, finite, stds)


def _fields(trial: Any) -> Mapping[str, Any]:
    """The fields of a trial by name."""
    if isinstance(trial, Mapping):
        return trial
    names = [name for name in Record.__annotations__ if name not in ("value", "std") or not isinstance(trial, Trial)]
    found = {name: getattr(trial, name, None) for name in names}
    return {**found, "seconds": found["seconds"] or getattr(trial, "duration", None)}


def _told(goals: Goals, got: Mapping[str, Any], key: str) -> Any:
    """The values of a trial, or their standard errors, as they would be told to an optimizer with these goals."""
    told = got.get(f"{key}s") or got.get(key)
    return told.get(goals.names[0]) if goals.is_single and isinstance(told, Mapping) else told


def standard_errors(trials: Iterable[Record]) -> Array:
    """The standard error of the value of each trial; 0 where it is not known."""
    return np.array([trial.std or 0.0 for trial in trials])


def encode_records(encoding: Encoding, trials: Iterable[Record]) -> Array:
    """The trials as encoded rows (n x D); a parameter that is missing or outside the space is NaN."""
    rows = [_encode(encoding, trial.config) for trial in trials]
    return np.array(rows).reshape(len(rows), encoding.n_columns)


def _encode(encoding: Encoding, config: Mapping[str, Any]) -> Array:
    row = np.full(encoding.n_columns, np.nan)
    for name in config.keys() & encoding.index.keys():
        with contextlib.suppress(ConfigError):
            row[encoding.index[name]] = encoding.encode_value(name, config[name])
    return row
