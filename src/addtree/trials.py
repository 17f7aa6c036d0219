"""The trials of one run: what was asked for, and what was told."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from addtree._numbers import as_float, is_number, is_whole
from addtree._types import Array, Config
from addtree.errors import AddTreeError, ConfigError, TrialError
from addtree.model.observations import Observations
from addtree.space.encoding import Encoding

_log = logging.getLogger("addtree")

State: TypeAlias = Literal["pending", "done", "failed"]

_HUGE = 1e300  # Values beyond this count as this: sums and differences of larger ones are not representable.


@dataclass(frozen=True)
class Evaluation:
    """How the evaluation of a trial went.

    duration   seconds that it took, or None if nobody measured it
    error      why it failed, in one line that names file and line, or None
    traceback  the traceback of the exception that it raised, or None
    """

    duration: float | None = None
    error: str | None = None
    traceback: str | None = None


@dataclass(frozen=True, repr=False)
class Trial:
    """A configuration that was asked for or told.

    id          its number in the run, from 0
    state       "pending", "done" or "failed"
    value       the value told, if it is done
    std         the standard error that was told with it
    run         the id of the run that it belongs to
    evaluation  how long the evaluation took, and why it failed: `duration`, `error` and `traceback`
    """

    id: int
    _config: Mapping[str, Any]
    state: State = "pending"
    value: float | None = None
    std: float | None = None
    run: str = field(default="", compare=False)
    evaluation: Evaluation = field(default=Evaluation(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_config", dict(self._config))

    @property
    def config(self) -> dict[str, Any]:
        """The active parameters and their values; a new dict at each access."""
        return dict(self._config)

    @property
    def duration(self) -> float | None:
        """The seconds that the evaluation took, or None if nobody measured it."""
        return self.evaluation.duration

    @property
    def error(self) -> str | None:
        """Why the trial failed, in one line that names file and line, or None."""
        return self.evaluation.error

    @property
    def traceback(self) -> str | None:
        """The traceback of the exception that the objective raised, or None."""
        return self.evaluation.traceback

    def __hash__(self) -> int:
        return hash((self.run, self.id))

    def __repr__(self) -> str:
        return f"Trial(id={self.id}, config={self.config!r}, state={self.state!r}, value={self.value!r})"


class TrialLog:
    """The trials of a run, with their encoded rows.

    run        the id of the run, which its trials carry
    told       ids of the trials with a result, in the order they were told
    forgotten  ids of the trials that were removed; no later trial has such an id
    """

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self.run = os.urandom(8).hex()
        self.told: list[int] = []
        self.forgotten: set[int] = set()
        self._trials: dict[int, Trial] = {}
        self._rows: dict[int, Array] = {}
        self._taken: set[bytes] = set()
        self._new_rows: list[Array] = []  # Rows whose keys are not in `_taken` yet.
        # Rows, values (NaN if failed) and standard errors of the first trials told.
        self._results = np.empty((0, encoding.n_columns)), np.empty(0), np.empty(0)

    def __len__(self) -> int:
        return len(self._trials)

    @property
    def all(self) -> list[Trial]:
        """Every trial, by id."""
        return list(self._trials.values())

    @property
    def taken(self) -> set[bytes]:
        """The keys of the rows of all trials."""
        if self._new_rows:
            self._taken.update(self._encoding.keys(np.array(self._new_rows)))
            self._new_rows.clear()
        return self._taken

    @property
    def has_value(self) -> bool:
        """Whether any trial has a value."""
        return any(self._trials[i].state == "done" for i in self.told)

    @property
    def done(self) -> list[Trial]:
        """The trials with a value, in the order they were told."""
        return [trial for i in self.told if (trial := self._trials[i]).state == "done"]

    def pending_rows(self) -> list[Array]:
        """The rows of the trials that have no result yet."""
        return [self._rows[i] for i, trial in self._trials.items() if trial.state == "pending"]

    @property
    def rows(self) -> list[Array]:
        """The rows of all trials, by id."""
        return list(self._rows.values())

    def expect(self, config: Config) -> Trial:
        """Add a valid configuration as a pending trial."""
        return self._add(Trial(len(self._trials) + len(self.forgotten), config, run=self.run))

    def _add(self, trial: Trial) -> Trial:
        self._trials[trial.id] = trial
        self._rows[trial.id] = row = self._encoding.encode_valid([trial.config])[0]
        self._new_rows.append(row)
        return trial

    def forget(self, trial: Trial) -> None:
        """Remove a pending trial."""
        del self._trials[trial.id], self._rows[trial.id]
        self.forgotten.add(trial.id)
        self._taken, self._new_rows = set(), self.rows

    def tell(
        self, trial: Trial, value: float | None, std: float | None = None, evaluation: Evaluation | None = None
    ) -> Trial:
        """Record the value of a pending trial, or None if it failed. NaN and infinite values count as failures."""
        if value is not None and not math.isfinite(value):
            _log.warning("trial %d has value %r; it is recorded as failed", trial.id, value)
            value = None
        told = replace(trial, state="failed") if value is None else replace(trial, state="done", value=value, std=std)
        told = replace(told, evaluation=evaluation or Evaluation())
        _log.debug(
            "trial %d is %s: value %r, duration %r s, %r", told.id, told.state, value, told.duration, told.config
        )
        self._trials[told.id] = told
        self.told.append(told.id)
        return told

    def find_pending(self, trial: Any) -> Trial:
        """The pending trial with this id, or a TrialError; another trial object must belong to this run."""
        if isinstance(trial, Trial) and trial.run != self.run:
            raise TrialError(
                f"trial {trial.id} belongs to another run; tell it to the optimizer that asked for it, "
                "or tell its configuration: tell(trial.config, value)"
            )
        number = trial.id if isinstance(trial, Trial) else trial
        if is_whole(number) and int(number) in self.forgotten:
            raise TrialError(f"trial {number} was forgotten; tell its configuration instead: tell(config, value)")
        if not is_whole(number) or int(number) not in self._trials:
            raise TrialError(
                f"trial {number!r} is unknown to this optimizer; tell one that ask() gave, its id, or a configuration"
            )
        known = self._trials[int(number)]
        if known.state != "pending":
            raise TrialError(
                f"trial {known.id} was already told ({known.state}, value {known.value!r}); tell each trial once, "
                "or tell its configuration to add another observation"
            )
        return known

    def observations(self, n: int | None = None, *, maximize: bool) -> Observations:
        """The first n values told (by default all), to be minimised. A failed trial counts as the worst of them."""
        X, y, std = (part[:n] for part in self._told_results())
        sign = -1.0 if maximize else 1.0  # the one place where maximisation becomes minimisation
        y = np.clip(sign * y, -_HUGE, _HUGE)
        worst = np.max(y, initial=-np.inf, where=~np.isnan(y))
        return Observations(X, np.where(np.isnan(y), worst, y), std)

    def _told_results(self) -> tuple[Array, Array, Array]:
        """Rows, values (NaN if failed) and standard errors of all trials told. What was told never changes."""
        new = [self._trials[i] for i in self.told[len(self._results[1]) :]]
        if new:
            X = np.array([self._rows[trial.id] for trial in new])
            y = np.array([np.nan if trial.value is None else trial.value for trial in new])
            std = np.array([trial.std or 0.0 for trial in new])
            old = self._results
            self._results = np.concatenate([old[0], X]), np.concatenate([old[1], y]), np.concatenate([old[2], std])
        return self._results

    def best(self, among: Collection[int] | None = None, *, maximize: bool) -> Trial:
        """The trial with the best value, among those with these ids or all; of several, the first asked for."""
        done = [t for t in self._trials.values() if t.state == "done" and (among is None or t.id in among)]
        if not done:
            last = next((f"; the last with: {e}" for i in self.told[::-1] if (e := self._trials[i].error)), "")
            raise AddTreeError(f"no trial has a value yet ({len(self)} asked, {len(self.told)} of them failed{last})")
        pick = max if maximize else min
        return pick(done, key=lambda trial: trial.value if trial.value is not None else math.nan)

    # ------------------------------------------------------------------ JSON

    def to_dict(self) -> dict[str, Any]:
        """The log, for JSON."""
        trials = {t.id: _to_dict(t) for t in self.all}
        numbers = range(len(trials) + len(self.forgotten))
        return {"run": self.run, "trials": [trials.get(i, _FORGOTTEN) for i in numbers], "told": self.told}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any], encoding: Encoding) -> TrialLog:
        """The log that `to_dict` described, in a form that `_save_schema` has checked, or a ConfigError."""
        log = cls(encoding)
        log.run = form["run"] or log.run
        for number, saved in enumerate(form["trials"]):
            if saved["state"] == "forgotten":
                log.forgotten.add(number)
                continue
            try:
                config = encoding.space.validate(saved["config"])
            except ConfigError as error:
                raise ConfigError(f"trial {number}: {error}") from None
            value, std, duration = (
                None if saved[key] is None else float(saved[key]) for key in ("value", "std", "duration")
            )
            evaluation = Evaluation(duration, saved["error"], saved["traceback"])
            log._add(Trial(number, config, saved["state"], value, std, log.run, evaluation))
        log.told = [int(i) for i in form["told"]]
        return log


_NO_RESULT: dict[str, Any] = {"value": None, "std": None, "duration": None, "error": None, "traceback": None}
# A forgotten trial keeps its place in the list, because the place of a trial is its id.
_FORGOTTEN: dict[str, Any] = {"config": {}, "state": "forgotten", **_NO_RESULT}


def _to_dict(trial: Trial) -> dict[str, Any]:
    return {"config": trial.config, "state": trial.state, **{key: getattr(trial, key) for key in _NO_RESULT}}


def checked_value(value: Any) -> float:
    """The value as a float, or a TrialError if it is not a number."""
    if not is_number(value):
        raise TrialError(
            f"value {value!r} is not a number; tell a float, or failed=True where the evaluation gave none"
        )
    return as_float(value)


def checked_std(std: Any) -> float | None:
    """The standard error of a value as a float, or a TrialError if it cannot be one."""
    if std is None:
        return None
    if not is_number(std) or not 0.0 <= as_float(std) < math.inf:
        raise TrialError(
            f"std={std!r} must be the standard error of the value, a finite number of zero or more, or None"
        )
    return as_float(std)
