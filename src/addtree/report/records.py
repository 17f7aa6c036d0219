"""Trials as the report sees them, whoever ran them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from addtree._types import Array
from addtree.errors import ConfigError, TrialError
from addtree.space.encoding import Encoding
from addtree.space.space import Choice, Space

State = Literal["done", "failed", "pruned", "pending"]
STATES: tuple[State, ...] = ("done", "failed", "pruned", "pending")


@dataclass(frozen=True)
class Record:
    """One trial. Only one that is done counts for the model; of the others the configuration may be incomplete.

    error    why it failed, where that is known
    seconds  how long it took, where that is known
    """

    id: int
    config: Mapping[str, Any]
    state: State
    value: float | None = None
    error: str | None = None
    seconds: float | None = None


def records(space: Space, trials: Iterable[Any]) -> tuple[Record, ...]:
    """Trials, each a `Record`, a `Trial` of an optimizer, or a mapping with the names of a record, as records."""
    return tuple(_record(space, i, trial) for i, trial in enumerate(trials))


def _record(space: Space, position: int, trial: Any) -> Record:
    got = trial if isinstance(trial, Mapping) else {name: getattr(trial, name, None) for name in Record.__annotations__}
    known, config, value = got.get("id"), got.get("config"), got.get("value")
    number = position if known is None else int(known)
    if not isinstance(config, Mapping):
        raise TrialError(f"trial {number} has no configuration: {trial!r}; give trials with config, state and value")
    state = got.get("state") or ("failed" if value is None else "done")
    if state not in STATES:
        raise TrialError(f"trial {number}: state {state!r} is unknown; use one of {', '.join(map(repr, STATES))}")
    if state == "done":
        config = space.validate(config)
        if value is None or not math.isfinite(value):
            raise TrialError(f"trial {number} is done but its value is {value!r}; give a number, or state 'failed'")
    number_or_none = None if value is None or not math.isfinite(value) else float(value)
    return Record(number, dict(config), state, number_or_none, got.get("error"), got.get("seconds"))


def encode(encoding: Encoding, trials: Iterable[Record]) -> Array:
    """The trials as rows of codes; what an incomplete configuration lacks, or has outside the space, is NaN."""
    rows = []
    for trial in trials:
        row = np.full(encoding.n_columns, np.nan)
        for name, value in trial.config.items():
            if name in encoding.index:
                domain: Any = encoding.space.variables[name]
                with contextlib.suppress(ConfigError):
                    checked = value if isinstance(domain, Choice) else domain.check(value)
                    row[encoding.index[name]] = domain.encode(checked)
        rows.append(row)
    return np.array(rows).reshape(-1, encoding.n_columns)
