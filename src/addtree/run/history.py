"""Earlier studies of related problems: reading them, and fitting them to a new space.

A *task* is one earlier study: its configurations, and the values of each objective, to be minimised. With several
objectives, those of the new run are looked up by name, or by position if they have no names.

The space of a task may differ from the new one. What agrees by name and domain is used:

    a parameter that the new space lacks              is left out
    a parameter whose values are all unusable         is left out: its domain is another one
    a trial with another unusable value               is left out: the value is outside the range, or the option is gone
    a number between two values of a grid             becomes the nearer value
    a parameter that the trial lacks                  is drawn at random: the task does not depend on it
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from addtree._types import Array, Config
from addtree.errors import ConfigError, OptionError
from addtree.model.kernel import Kernel
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.model.thinning import thin
from addtree.model.transfer import EarlierTasks, TransferSettings
from addtree.run.goals import Goals, Objective
from addtree.run.trials import Trial
from addtree.search.hypervolume import domination_counts
from addtree.space.encoding import Encoding
from addtree.space.parameters import Integer, Real
from addtree.space.restriction import Restriction
from addtree.support.numbers import MAX_SIZE, as_float, is_number, is_whole, plural, read_number
from addtree.support.threads import one_blas_thread

_log = logging.getLogger("addtree")

MAX_TRIALS = 64
"""Trials of one task that are used: the best ones and a sample of the others. `benchmarks.history` measures with it."""

_MIN_VALUES = 2  # A task with fewer different values is not used: it ranks no configurations.


@dataclass(frozen=True)
class EarlierTask:
    """One earlier study.

    configs     its configurations, n
    values      the values of each objective, to be minimised: K x n
    objectives  the names of the objectives; None if they have none
    name        for reports
    """

    configs: tuple[Config, ...]
    values: tuple[tuple[float, ...], ...]
    objectives: tuple[str, ...] | None = field(default=None, compare=False)
    name: str = field(default="", compare=False)

    @classmethod
    def from_values(
        cls, configs: Sequence[Config], values: Sequence[Sequence[Any] | None], objectives: Sequence[Objective]
    ) -> EarlierTask:
        """A task from the values of each trial (n x K, None for a trial that failed).

        A failed trial, or one of whose values is not a number, counts as the worst of all in every objective.
        """
        y = np.full((len(configs), len(objectives)), np.nan)
        for row, own in zip(y, values, strict=True):
            if own is not None:
                row[:] = [np.nan if v is None else o.sign * as_float(v) for o, v in zip(objectives, own, strict=True)]
        y[~np.isfinite(y).all(axis=1)] = np.nan
        y = np.clip(y, -MAX_SIZE, MAX_SIZE)
        names = tuple(o.name for o in objectives)
        if np.isnan(y).all():
            return cls((), ((),) * len(objectives), names)
        y = np.where(np.isnan(y), np.nanmax(y, axis=0), y)
        return cls(tuple(configs), tuple(map(tuple, y.T.tolist())), names)

    def of_objectives(self, objectives: Sequence[Objective]) -> EarlierTask:
        """The task with the values of the objectives of a new run, or an OptionError."""
        wanted = tuple(o.name for o in objectives)
        if len(wanted) == len(self.values) and (len(wanted) == 1 or self.objectives in (None, wanted)):
            return self
        if self.objectives is not None and set(wanted) <= set(self.objectives):
            chosen = tuple(self.values[self.objectives.index(name)] for name in wanted)
            return replace(self, values=chosen, objectives=wanted)
        own = plural(len(self.values), "objective")
        if self.objectives is not None:
            own += f" ({', '.join(map(repr, self.objectives))})"
        raise OptionError(
            f"{self.name} is a study with {own}, and the new one has {len(wanted)} ({', '.join(map(repr, wanted))}); "
            "give studies with the objectives of the new one"
        )

    def take(self, positions: Sequence[int]) -> EarlierTask:
        """The task with some of its configurations."""
        values = tuple(tuple(own[k] for k in positions) for own in self.values)
        return replace(self, configs=tuple(self.configs[k] for k in positions), values=values)

    @property
    def merits(self) -> Array:
        """How good each configuration is; less is better. With several objectives, by how many it is dominated."""
        y = np.array(self.values)
        return np.asarray(y[0] if len(y) == 1 else domination_counts(y.T).astype(float))

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"configs": [dict(config) for config in self.configs], "values": [list(own) for own in self.values]}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> EarlierTask:
        """The task that `to_dict` described, in a form that `save_schema` has checked."""
        return cls(tuple(form["configs"]), tuple(tuple(map(float, own)) for own in form["values"]))


# ---------------------------------------------------------------------- reading


def read_history(history: Any, objectives: Sequence[Objective]) -> tuple[EarlierTask, ...]:
    """The tasks of the argument `history` for a run with these objectives.

    An entry is an Optimizer, the path of a file that `Optimizer.save` wrote, an Optuna study, or a list of pairs of a
    configuration and its value. The first three carry their directions, and pairs have those of the run. An OptionError
    names the entry that is wrong.
    """
    tasks = []
    for number, entry in enumerate(check_history(history)):
        where = f"history[{number}]"
        task = entry if isinstance(entry, EarlierTask) else _read_pairs(entry, where, objectives)
        tasks.append(replace(task, name=task.name or where).of_objectives(objectives))
    return tuple(tasks)


def check_history(history: Any) -> tuple[Any, ...]:
    """The history with its studies read, or an OptionError.

    Lists of pairs stay as they are, because their directions are those of a run that is not known yet.
    """
    if not isinstance(history, Sequence) or isinstance(history, (str, bytes)):
        raise OptionError(f"history={history!r} must be a list of earlier studies, such as history=[optimizer]")
    return tuple(_read(entry, f"history[{number}]") for number, entry in enumerate(history))


def without_names(history: Sequence[Any]) -> list[Any]:
    """A checked history for a run whose objectives have no names: they are those at the same places."""
    return [replace(entry, objectives=None) if isinstance(entry, EarlierTask) else entry for entry in history]


def _read(entry: Any, where: str) -> EarlierTask | tuple[Any, ...]:
    """A task, or checked pairs."""
    from addtree.optimizer import Optimizer  # imported here because it imports this module

    if isinstance(entry, EarlierTask):
        return entry
    if isinstance(entry, (str, os.PathLike)):
        optimizer = Optimizer.load(entry)
        return replace(_read_optimizer(optimizer.trials, optimizer.goals), name=Path(entry).name)
    if isinstance(entry, Optimizer):
        return _read_optimizer(entry.trials, entry.goals)
    if hasattr(entry, "trials") and hasattr(entry, "directions"):
        return _read_study(entry)
    return _checked_pairs(entry, where)


def _read_optimizer(trials: Sequence[Trial], goals: Goals) -> EarlierTask:
    """The trials that ended; one that violates a constraint counts as failed."""
    ended = [trial for trial in trials if trial.state != "pending"]
    is_feasible = [trial.state == "done" and not goals.violation(trial.values) for trial in ended]
    values = [
        [trial.values[o.name] for o in goals.objectives] if feasible else None
        for trial, feasible in zip(ended, is_feasible, strict=True)
    ]
    return EarlierTask.from_values([trial.config for trial in ended], values, goals.objectives)


def _read_study(study: Any) -> EarlierTask:
    """The complete trials of an Optuna study; one that violates a constraint counts as failed.

    Only the attributes of the study are used, so that Optuna need not be imported.
    """
    complete = [trial for trial in study.trials if trial.state.name == "COMPLETE"]
    is_feasible = [all(number <= 0.0 for number in trial.constraints.values()) for trial in complete]
    values = [trial.values if feasible else None for trial, feasible in zip(complete, is_feasible, strict=True)]
    objectives = [Objective(str(k), direction.name == "MAXIMIZE") for k, direction in enumerate(study.directions)]
    task = EarlierTask.from_values([trial.params for trial in complete], values, objectives)
    names = None if study.metric_names is None else tuple(study.metric_names)
    return replace(task, objectives=names, name=str(study.study_name))


_REMEDY = "give an Optimizer, a path, an Optuna study, or a list of pairs: history=[[(config, value), ...]]"
_TOLD = (Mapping, list, tuple, type(None))  # What a pair may have instead of a number.


def _checked_pairs(pairs: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(pairs, Sequence):
        remedy = "give its optimizer: result.optimizer" if hasattr(pairs, "optimizer") else _REMEDY
        raise OptionError(f"{where}={pairs!r} is not an earlier study; {remedy}")
    for number, pair in enumerate(pairs):
        is_pair = isinstance(pair, Sequence) and len(pair) == 2 and isinstance(pair[0], Mapping)
        if not is_pair or not (read_number(pair[1]) is not None or isinstance(pair[1], _TOLD)):
            raise OptionError(f"{where}[{number}]={pair!r} is not a pair of a configuration and a number; {_REMEDY}")
    return tuple(pairs)


def _read_pairs(pairs: Sequence[Any], where: str, objectives: Sequence[Objective]) -> EarlierTask:
    """The task of checked pairs. With several objectives, a value is a dict by name, or one number for each."""
    values = []
    for number, (_, told) in enumerate(pairs):
        own = None if told is None else _numbers(told, objectives)
        if own is None and told is not None:
            wanted = ", ".join(repr(o.name) for o in objectives)
            raise OptionError(f"{where}[{number}] has the value {told!r}; give a number for each objective: {wanted}")
        values.append(own)
    return EarlierTask.from_values([dict(config) for config, _ in pairs], values, objectives)


def _numbers(told: Any, objectives: Sequence[Objective]) -> list[float] | None:
    """A number for each objective; None if something else was told."""
    if isinstance(told, Mapping):
        told = [told.get(o.name) for o in objectives]
    elif not isinstance(told, (list, tuple)):
        told = [told]
    numbers = [number for number in map(read_number, told) if number is not None]
    return numbers if len(numbers) == len(told) == len(objectives) else None


def best_configs(tasks: Sequence[EarlierTask]) -> tuple[dict[str, Any], ...]:
    """The best configuration of each task, as far as they differ; of several objectives, by its mean rank."""
    best = []
    for task in tasks:
        if task.configs:
            ranks = np.argsort(np.argsort(task.values, axis=1, kind="stable"), axis=1)
            best.append(dict(task.configs[int(np.argmin(ranks.sum(axis=0)))]))
    return tuple(config for k, config in enumerate(best) if config not in best[:k])


# ---------------------------------------------------------------------- fitting to a space


def adapt(tasks: Sequence[EarlierTask], encoding: Encoding) -> tuple[EarlierTask, ...]:
    """The tasks with configurations of a new space. One log line says what was not used."""
    adapted, notes = [], _Notes()
    for task in tasks:
        found = _adapt(task, encoding, notes)
        if all(len(set(own)) >= _MIN_VALUES for own in found.values):
            adapted.append(found)
        else:
            notes.tasks += 1
    if text := str(notes):
        _log.warning("history: this was not used: %s", text)
    return tuple(adapted)


class _Notes:
    """What was not used of a history."""

    def __init__(self) -> None:
        self.tasks = self.trials = 0
        self.parameters: set[str] = set()

    def __str__(self) -> str:
        studies = "study" if self.tasks == 1 else "studies"
        parts = [f"{self.tasks} {studies} with fewer than two different usable values"] if self.tasks else []
        parts += [plural(self.trials, "trial")] if self.trials else []
        if self.parameters:
            parts.append(f"the parameters {', '.join(map(repr, sorted(self.parameters)))}")
        return ", ".join(parts)


def _adapt(task: EarlierTask, encoding: Encoding, notes: _Notes) -> EarlierTask:
    """A task with configurations of a new space."""
    variables: Mapping[str, Any] = encoding.space.variables
    usable = [{name: _usable(variables.get(name), value) for name, value in config.items()} for config in task.configs]
    shared = {name for values in usable for name, value in values.items() if value is not _UNUSABLE}
    notes.parameters |= {str(name) for values in usable for name in values} - shared
    partial = [{name: value for name, value in values.items() if name in shared} for values in usable]
    kept = [k for k, values in enumerate(partial) if all(value is not _UNUSABLE for value in values.values())]
    notes.trials += len(task.configs) - len(kept)
    rng, completed = np.random.default_rng(0), dict[int, Config]()
    for k in thin(task.take(kept).merits, MAX_TRIALS).tolist() if shared else ():
        config = _completed(encoding, partial[kept[k]], rng)
        if config is None:
            notes.trials += 1
        else:
            completed[kept[k]] = config
    return replace(task.take([*completed]), configs=tuple(completed.values()))


_UNUSABLE = object()  # Stands for a value that the new space does not have.


def _usable(domain: Any, value: Any) -> Any:
    """The value of a domain that a value of an earlier study stands for."""
    if domain is None:
        return _UNUSABLE
    with suppress(ConfigError):
        return domain._check(value)
    if isinstance(domain, (Real, Integer)) and is_number(value) and domain.low <= value <= domain.high:
        exact = Fraction(int(value) if is_whole(value) else as_float(value))
        steps = (exact - Fraction(domain.low)) / Fraction(domain.step or 1)
        return domain._value(round(steps))  # The value is between two values of a grid.
    return _UNUSABLE


def _completed(encoding: Encoding, partial: Config, rng: np.random.Generator) -> dict[str, Any] | None:
    """A valid configuration with these values, as far as they can be active at once; None if rules forbid it."""
    with suppress(ConfigError):
        return encoding.space.validate(partial)
    for optional in ((), partial.keys()):
        with suppress(ConfigError):
            restriction = Restriction.of(encoding, partial, optional=tuple(optional))
            row = restriction.complete(encoding.sample(1, rng), rng)[0]
            return encoding.space.validate(restriction.restore(encoding.decode(row)))
    return None


# ---------------------------------------------------------------------- learning


@one_blas_thread()
def learn(
    tasks: Sequence[EarlierTask],
    encoding: Encoding,
    specification: Specification,
    kernel: Kernel,
    settings: TransferSettings,
) -> EarlierTasks | None:
    """What adapted tasks tell about a new one; None if there are none."""
    if not tasks:
        return None
    rows = [encoding.encode(task.configs) for task in tasks]
    observations = [
        [Observations.exact(X, np.array(own)) for own in task.values] for X, task in zip(rows, tasks, strict=True)
    ]
    return EarlierTasks.fit(specification, kernel, observations, [task.merits for task in tasks], settings)


def portfolio(earlier: EarlierTasks | None, encoding: Encoding) -> Array:
    """The rows to evaluate first."""
    return encoding.encode([]) if earlier is None else encoding.feasibility.filter(earlier.X[earlier.portfolio()])
