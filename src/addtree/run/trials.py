"""The trials of one run: what was asked for, and what was told."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from addtree._types import Array, Config, Mask
from addtree.errors import AddTreeError, ConfigError, TrialError
from addtree.model.observations import Observations
from addtree.run.goals import VALUE, Goals, checked_cost
from addtree.search.hypervolume import hypervolumes, is_nondominated, reference_point
from addtree.space.encoding import Encoding
from addtree.support.numbers import MAX_SIZE, is_whole, plural

_log = logging.getLogger("addtree")

State: TypeAlias = Literal["pending", "done", "failed"]

_MARGIN = 0.1  # The default reference point is worse than the front by this share of its range.


@dataclass(frozen=True)
class Evaluation:
    """How the evaluation of a trial went.

    duration   seconds that it took, or None if nobody measured it
    error      why it failed, in one line that names file and line, or None
    traceback  the traceback of the exception that it raised, or None
    cost       what it cost, in any unit, or None if that was not told
    """

    duration: float | None = None
    error: str | None = None
    traceback: str | None = None
    cost: float | None = None

    def with_cost(self, cost: Any) -> Evaluation:
        """The same with the cost that was told, if one was, or a TrialError if it cannot be a cost."""
        checked = checked_cost(cost)
        return self if checked is None else replace(self, cost=checked)


@dataclass(frozen=True, repr=False)
class Trial:
    """A configuration that was asked for or told.

    id          its number in the run, from 0
    state       "pending", "done" or "failed"
    run         the id of the run that it belongs to
    evaluation  how the evaluation went: `duration`, `error`, `traceback` and `cost`
    """

    id: int
    _config: Mapping[str, Any]
    state: State = "pending"
    _values: Mapping[str, float] = field(default_factory=dict)
    _stds: Mapping[str, float] = field(default_factory=dict)
    _objectives: tuple[str, ...] = (VALUE,)
    run: str = field(default="", compare=False)
    evaluation: Evaluation = field(default=Evaluation(), compare=False)

    def __post_init__(self) -> None:
        for name in ("_config", "_values", "_stds"):
            object.__setattr__(self, name, dict(getattr(self, name)))

    @property
    def config(self) -> dict[str, Any]:
        """The active parameters and their values; a new dict at each access."""
        return dict(self._config)

    @property
    def values(self) -> dict[str, float]:
        """What was told, by the names of objectives and constraints; empty while the trial is pending or failed."""
        return dict(self._values)

    @property
    def stds(self) -> dict[str, float]:
        """The standard errors that were told with the values, by name."""
        return dict(self._stds)

    @property
    def value(self) -> float | None:
        """The value of the objective, if the trial is done. With several objectives it raises: see `values`."""
        return self._values.get(self._objective("value"))

    @property
    def std(self) -> float | None:
        """The standard error that was told with the value. With several objectives it raises: see `stds`."""
        return self._stds.get(self._objective("std"))

    def _objective(self, attribute: str) -> str:
        if len(self._objectives) > 1:
            raise TrialError(
                f"trial {self.id} has {len(self._objectives)} objectives and no single {attribute}; "
                f"use trial.{attribute}s[{self._objectives[0]!r}]"
            )
        return self._objectives[0]

    @property
    def duration(self) -> float | None:
        """The seconds that the evaluation took, or None if nobody measured it."""
        return self.evaluation.duration

    @property
    def cost(self) -> float | None:
        """What the evaluation cost, if that was told."""
        return self.evaluation.cost

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
        is_plain = self._objectives == (VALUE,) and self._values.keys() <= {VALUE}
        told = f"value={self.value!r}" if is_plain else f"values={self.values!r}"
        return f"Trial(id={self.id}, config={self.config!r}, state={self.state!r}, {told})"


def near_front(losses: Array) -> Array:
    """A reference point (K) for the hypervolumes of losses (n x K): worse than their front by a tenth of its range."""
    with np.errstate(over="ignore"):
        spread = np.ptp(losses, axis=0)
    unit = np.where(spread > 0.0, spread, 1.0)
    return reference_point(losses[is_nondominated(losses)], margin=_MARGIN, unit=unit)


class TrialLog:
    """The trials of a run, with their encoded rows.

    run        the id of the run, which its trials carry
    told       ids of the trials with a result, in the order they were told
    forgotten  ids of the trials that were removed; no later trial has such an id
    """

    def __init__(self, encoding: Encoding, goals: Goals) -> None:
        self.encoding = encoding
        self._goals = goals
        self._objectives = tuple(objective.name for objective in goals.objectives)
        self.run = os.urandom(8).hex()
        self.told: list[int] = []
        self.forgotten: set[int] = set()
        self._trials: dict[int, Trial] = {}
        self._rows: dict[int, Array] = {}
        self._taken: set[bytes] = set()
        self._new_rows: list[Array] = []  # Rows whose keys are not in `_taken` yet.
        self._done: list[Trial] = []  # The trials with a value among the first `_n_sorted` told.
        self._n_sorted = 0
        self._X = np.empty((0, encoding.n_columns))  # The rows of the first trials in `_done`.

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
            self._taken.update(self.encoding.keys(np.array(self._new_rows)))
            self._new_rows.clear()
        return self._taken

    @property
    def done(self) -> list[Trial]:
        """The trials with a value, in the order they were told."""
        new = [self._trials[i] for i in self.told[self._n_sorted :]]
        self._n_sorted += len(new)
        self._done += [trial for trial in new if trial.state == "done"]
        return self._done

    @property
    def has_failed(self) -> bool:
        """Whether any trial failed."""
        return len(self.done) < len(self.told)

    def pending_rows(self) -> Array:
        """The rows of the trials that have no result yet."""
        return self.rows([i for i, trial in self._trials.items() if trial.state == "pending"])

    def rows(self, ids: Collection[int] | None = None) -> Array:
        """The rows of the trials with these ids, in this order; by default of all."""
        ids = self._rows.keys() if ids is None else ids
        return np.array([self._rows[i] for i in ids]).reshape(len(ids), self.encoding.n_columns)

    def expect(self, config: Config) -> Trial:
        """Add a valid configuration as a pending trial."""
        number = len(self._trials) + len(self.forgotten)
        return self._add(Trial(number, config, _objectives=self._objectives, run=self.run))

    def _add(self, trial: Trial) -> Trial:
        self._trials[trial.id] = trial
        self._rows[trial.id] = row = self.encoding.encode_valid([trial.config])[0]
        self._new_rows.append(row)
        return trial

    def forget(self, trial: Trial) -> None:
        """Remove a pending trial."""
        del self._trials[trial.id], self._rows[trial.id]
        self.forgotten.add(trial.id)
        self._taken, self._new_rows = set(), list(self._rows.values())

    def tell(
        self,
        trial: Trial,
        values: Mapping[str, float] | None,
        stds: Mapping[str, float] | None = None,
        evaluation: Evaluation | None = None,
    ) -> Trial:
        """Record the values of a pending trial, or None if it failed; it also failed if one is NaN or infinite."""
        not_finite = [(name, value) for name, value in (values or {}).items() if not math.isfinite(value)]
        if not_finite:
            _log.warning("trial %d has %s %r; it is recorded as failed", trial.id, *not_finite[0])
        told = replace(trial, state="failed", evaluation=evaluation or Evaluation())
        if values is not None and not not_finite:
            told = replace(told, state="done", _values=values, _stds=stds or {})
        _log.debug(
            "trial %d is %s: %r, duration %r s, %r", told.id, told.state, told.values, told.duration, told.config
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
                f"trial {number!r} is unknown to this optimizer; give one that ask() gave, or its id; "
                "a value can also be told with a configuration: tell(config, value)"
            )
        known = self._trials[int(number)]
        if known.state != "pending":
            raise TrialError(
                f"trial {known.id} was already told ({known.state}, {known.values!r}); tell each trial once, "
                "forget only pending ones, or tell its configuration to add another observation"
            )
        return known

    def observations(self, name: str, n: int | None = None) -> Observations:
        """The first n values told of an objective or constraint (by default all), with its sign."""
        sign, done = self._goals.signs[self._goals.position(name)], self.done[:n]
        if new := self.done[len(self._X) :]:  # What was told never changes.
            self._X = np.concatenate([self._X, self.rows([trial.id for trial in new])])
        X = self._X[:n]
        y = np.array([sign * trial._values[name] for trial in done])
        std = np.array([trial._stds.get(name, 0.0) for trial in done])
        return Observations(X, np.clip(y, -MAX_SIZE, MAX_SIZE), std)

    def outcomes(self) -> tuple[Array, Mask]:
        """The rows of the trials that were told, in this order, and which of them succeeded."""
        return self.rows(self.told), np.array([self._trials[i].state == "done" for i in self.told], dtype=bool)

    def costs(self) -> tuple[Array, Array]:
        """The rows of the trials with a value and a cost, in the order they were told, and these costs."""
        known = [trial for trial in self.done if trial.cost is not None]
        return self.rows([trial.id for trial in known]), np.array([trial.cost for trial in known], dtype=float)

    def failed_rows(self) -> Array:
        """The rows of the trials that failed."""
        X, succeeded = self.outcomes()
        return X[~succeeded]

    def data(self) -> tuple[Observations, ...]:
        """All observations of every objective and constraint, in the order of their names."""
        return tuple(self.observations(name) for name in self._goals.names)

    def best(self, among: Collection[int] | None = None, *, what: str = "best") -> Trial:
        """The feasible trial with the best value, among those with these ids or all; of several, the first.

        what  the name of the query, for the error that is raised if there are several objectives
        """
        name = self._only_objective(what)
        sign = self._goals.objectives[0].sign
        return min(self.feasible(among), key=lambda trial: sign * trial._values[name])

    def since_best(self) -> int | None:
        """The number of trials after the best one; None if there is none, or not a single value to compare."""
        if self._goals.is_single and self.done:
            best = self.best().id
            return sum(i > best for i in self._trials)
        return None

    def _is_feasible(self, trial: Trial) -> bool:
        return trial.state == "done" and not self._goals.violation(trial._values)

    def feasible(self, among: Collection[int] | None = None) -> list[Trial]:
        """The trials that keep all constraints, by id, or an AddTreeError if there is none."""
        done = [t for t in self._trials.values() if t.state == "done" and (among is None or t.id in among)]
        if not done:
            last = next((f"; the last with: {e}" for i in self.told[::-1] if (e := self._trials[i].error)), "")
            raise AddTreeError(f"no trial has a value yet ({len(self)} asked, {len(self.told)} of them failed{last})")
        found = [trial for trial in done if self._is_feasible(trial)]
        if not found:
            nearest = done[self._goals.nearest([trial._values for trial in done])]
            raise AddTreeError(
                f"no trial keeps the constraints yet ({plural(len(done), 'trial')} with values); ask for more trials, "
                f"or relax the constraints; trial {nearest.id} comes nearest: {nearest.values!r}"
            )
        return found

    def pareto(self) -> list[Trial]:
        """The feasible trials that no other dominates, by id; none if no trial is feasible."""
        found = [trial for trial in self._trials.values() if self._is_feasible(trial)]
        losses = np.array([self._goals.losses(t._values) for t in found]).reshape(len(found), len(self._objectives))
        return [trial for trial, kept in zip(found, is_nondominated(losses), strict=True) if kept]

    def hypervolumes(self, reference: Mapping[str, float] | None) -> list[float]:
        """The hypervolume of the front after each trial told, below a reference point or one near the present front."""
        told = [self._trials[i] for i in self.told]
        feasible = [trial for trial in told if self._is_feasible(trial)]
        if not feasible:
            return [0.0] * len(told)
        losses = np.array([self._goals.losses(trial._values) for trial in feasible])
        point = near_front(losses) if reference is None else self._goals.losses(reference)
        volumes = np.concatenate([[0.0], hypervolumes(losses, point)])
        return [float(volume) for volume in volumes[np.cumsum([self._is_feasible(trial) for trial in told])]]

    def _only_objective(self, what: str) -> str:
        """The name of the objective, or an AddTreeError if there are several."""
        if len(self._objectives) > 1:
            raise AddTreeError(f"{what} needs one objective, and there are {len(self._objectives)}; use pareto")
        return self._objectives[0]

    # ------------------------------------------------------------------ JSON

    def to_dict(self) -> dict[str, Any]:
        """The log, for JSON."""
        trials = {t.id: _to_dict(t) for t in self.all}
        numbers = range(len(trials) + len(self.forgotten))
        return {"run": self.run, "trials": [trials.get(i, _FORGOTTEN) for i in numbers], "told": self.told}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any], encoding: Encoding, goals: Goals) -> TrialLog:
        """The log that `to_dict` described, in a form that `save_schema` has checked, or a ConfigError."""
        log = cls(encoding, goals)
        log.run = form["run"] or log.run
        for number, saved in enumerate(form["trials"]):
            if saved["state"] == "forgotten":
                log.forgotten.add(number)
                continue
            try:
                config = encoding.space.validate(saved["config"])
            except ConfigError as error:
                raise ConfigError(f"trial {number}: {error}") from None
            values, stds = ({name: float(n) for name, n in saved[key].items()} for key in ("values", "stds"))
            duration, cost = (None if saved[key] is None else float(saved[key]) for key in ("duration", "cost"))
            evaluation = Evaluation(duration, saved["error"], saved["traceback"], cost)
            log._add(Trial(number, config, saved["state"], values, stds, log._objectives, log.run, evaluation))
        log.told = [int(i) for i in form["told"]]
        return log


_NO_RESULT: dict[str, Any] = {"values": {}, "stds": {}}
_NO_RESULT |= dict.fromkeys(("duration", "error", "traceback", "cost"))
_FORGOTTEN: dict[str, Any] = {"config": {}, "state": "forgotten", **_NO_RESULT}


def _to_dict(trial: Trial) -> dict[str, Any]:
    return {"config": trial.config, "state": trial.state, **{key: getattr(trial, key) for key in _NO_RESULT}}
