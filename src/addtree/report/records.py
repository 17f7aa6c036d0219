"""Trials as the report sees them, whichever optimizer ran them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from addtree._goals import checked_std
from addtree._types import Array
from addtree.errors import ConfigError, TrialError
from addtree.space.encoding import Encoding
from addtree.space.space import Space

State = Literal["done", "failed", "pruned", "pending"]
STATES: tuple[State, ...] = ("done", "failed", "pruned", "pending")


@dataclass(frozen=True)
class Record:
    """One trial.

    The model uses trials that are done, which have a value and a complete configuration. The configuration of any
    other trial may be incomplete.

    error    why the trial failed, if that is known
    seconds  how long the trial took, if that is known
    std      the standard error of the value, if that is known
    """

    id: int
    config: Mapping[str, Any]
    state: State
    value: float | None = None
    error: str | None = None
    seconds: float | None = None
    std: float | None = None


def make_records(space: Space, trials: Iterable[Any]) -> tuple[Record, ...]:
    """Trials as records; a trial is a `Record`, a `Trial` of an optimizer, or a mapping with the keys of a `Record`.

    Without an id, a trial takes its position; without a state, it is done if it has a value, else failed.
    """
    return tuple(_make_record(space, i, trial) for i, trial in enumerate(trials))


def _make_record(space: Space, position: int, trial: Any) -> Record:
    got = trial if isinstance(trial, Mapping) else {name: getattr(trial, name, None) for name in Record.__annotations__}
    known, config, value = got.get("id"), got.get("config"), got.get("value")
    number = position if known is None else int(known)
    if not isinstance(config, Mapping):
        raise TrialError(f"trial {number} has no configuration: {trial!r}; give trials with config, state and value")
    state = got.get("state") or ("failed" if value is None else "done")
    if state not in STATES:
        raise TrialError(f"trial {number}: state {state!r} is unknown; use one of {', '.join(map(repr, STATES))}")
    finite = None if value is None or not math.isfinite(value) else float(value)
    if state == "done":
        config = space.validate(config)
        if finite is None:
            raise TrialError(f"trial {number} is done but its value is {value!r}; give a number, or state 'failed'")
    seconds = got.get("seconds") or getattr(trial, "duration", None)
    std = checked_std(got.get("std"))
    return Record(number, dict(config), state, finite, got.get("error"), seconds, std)


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
