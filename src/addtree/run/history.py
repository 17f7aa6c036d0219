"""Earlier studies of related problems: reading them, and fitting them to a new space.

A *task* is one earlier study: its configurations, and their values to be minimised. Its space may differ from the new
one. What agrees by name and domain is used:

    a parameter that the new space lacks              is left out
    a parameter whose values are all unusable         is left out: its domain is another one
    a trial with another unusable value               is left out: the value is outside the range, or the option is gone
    a number between two values of a grid             becomes the nearer value
    a parameter that the trial lacks                  is drawn at random: the task does not depend on it
"""

from __future__ import annotations

import logging
import math
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
from addtree.run.goals import Goals
from addtree.run.trials import Trial
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
    """One earlier study: configurations, and their values to be minimised; the name is for reports."""

    configs: tuple[Config, ...]
    values: tuple[float, ...]
    name: str = field(default="", compare=False)

    @classmethod
    def from_values(cls, configs: Sequence[Config], values: Sequence[float | None], *, maximize: bool) -> EarlierTask:
        """A task whose values are to be minimised or maximised; one that failed counts as the worst of them."""
        sign = -1.0 if maximize else 1.0
        y = np.array([math.nan if value is None else sign * as_float(value) for value in values])
        y = np.clip(np.where(np.isfinite(y), y, np.nan), -MAX_SIZE, MAX_SIZE)
        worst = np.max(y, initial=-np.inf, where=~np.isnan(y))
        known = worst > -np.inf
        return cls(tuple(configs) if known else (), tuple(np.where(np.isnan(y), worst, y).tolist()) if known else ())

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"configs": [dict(config) for config in self.configs], "values": list(self.values)}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> EarlierTask:
        """The task that `to_dict` described, in a form that `save_schema` has checked."""
        return cls(tuple(form["configs"]), tuple(map(float, form["values"])))


# ---------------------------------------------------------------------- reading


def read_history(history: Any, *, maximize: bool) -> tuple[EarlierTask, ...]:
    """The tasks of the argument `history`, or an OptionError that names the entry that is wrong.

    An entry is an Optimizer, the path of a file that `Optimizer.save` wrote, an Optuna study, or a list of pairs of a
    configuration and its value. The first three carry their direction.

    maximize  the direction of the pairs
    """
    if not isinstance(history, Sequence) or isinstance(history, (str, bytes)):
        raise OptionError(f"history={history!r} must be a list of earlier studies, such as history=[optimizer]")
    places = [f"history[{number}]" for number in range(len(history))]
    tasks = [_read(entry, where, maximize) for entry, where in zip(history, places, strict=True)]
    return tuple(replace(task, name=task.name or where) for task, where in zip(tasks, places, strict=True))


def read_for(goals: Goals, history: Any) -> tuple[EarlierTask, ...]:
    """The tasks of the argument `history` for a run with these goals."""
    tasks = read_history(history, maximize=goals.objectives[0].maximize)
    check_goals(goals, tasks)
    return tasks


def check_goals(goals: Goals, history: Sequence[Any]) -> None:
    """Raise an OptionError if a run with these goals cannot use a history."""
    if history and len(goals.objectives) > 1:
        raise OptionError(f"history= is for one objective, and there are {len(goals.objectives)}; leave it out")


def check_history(history: Any) -> tuple[Any, ...]:
    """The history with its studies read and its lists of pairs as they are, or an OptionError.

    The direction of pairs is that of the new run, which is not known yet.
    """
    tasks = read_history(history, maximize=False)
    is_pairs = [isinstance(entry, Sequence) and not isinstance(entry, str) for entry in history]
    return tuple(tuple(entry) if own else task for entry, task, own in zip(history, tasks, is_pairs, strict=True))


def _read(entry: Any, where: str, maximize: bool) -> EarlierTask:
    from addtree.optimizer import Optimizer  # imported here because it imports this module

    if isinstance(entry, EarlierTask):
        return entry
    if isinstance(entry, (str, os.PathLike)):
        return replace(_read(Optimizer.load(entry), where, maximize), name=Path(entry).name)
    if isinstance(entry, Optimizer):
        return _read_optimizer(entry.trials, entry.goals, where)
    if hasattr(entry, "trials") and hasattr(entry, "directions"):
        return _read_study(entry, where)
    return _read_pairs(entry, where, maximize)


def _read_optimizer(trials: Sequence[Trial], goals: Goals, where: str) -> EarlierTask:
    """The trials that ended; one that violates a constraint counts as failed."""
    if len(goals.objectives) != 1:
        raise OptionError(f"{where} is an optimizer with {len(goals.objectives)} objectives; give a study with one")
    ended = [trial for trial in trials if trial.state != "pending"]
    is_feasible = [trial.state == "done" and not goals.violation(trial.values) for trial in ended]
    values = [trial.value if feasible else None for trial, feasible in zip(ended, is_feasible, strict=True)]
    return EarlierTask.from_values([trial.config for trial in ended], values, maximize=goals.objectives[0].maximize)


def _read_study(study: Any, where: str) -> EarlierTask:
    """The complete trials of an Optuna study; one that violates a constraint counts as failed.

    Only the attributes of the study are used, so that Optuna need not be imported.
    """
    if len(study.directions) != 1:
        raise OptionError(f"{where} is a study with {len(study.directions)} objectives; give a study with one")
    complete = [trial for trial in study.trials if trial.state.name == "COMPLETE"]
    maximize = study.directions[0].name == "MAXIMIZE"
    is_feasible = [all(number <= 0.0 for number in trial.constraints.values()) for trial in complete]
    values = [trial.value if feasible else None for trial, feasible in zip(complete, is_feasible, strict=True)]
    task = EarlierTask.from_values([trial.params for trial in complete], values, maximize=maximize)
    return replace(task, name=str(study.study_name))


def _read_pairs(pairs: Any, where: str, maximize: bool) -> EarlierTask:
    remedy = "give an Optimizer, a path, an Optuna study, or a list of pairs: history=[[(config, value), ...]]"
    if not isinstance(pairs, Sequence):
        remedy = "give its optimizer: result.optimizer" if hasattr(pairs, "optimizer") else remedy
        raise OptionError(f"{where}={pairs!r} is not an earlier study; {remedy}")
    for number, pair in enumerate(pairs):
        is_pair = isinstance(pair, Sequence) and len(pair) == 2 and isinstance(pair[0], Mapping)
        if not is_pair or (pair[1] is not None and read_number(pair[1]) is None):
            raise OptionError(f"{where}[{number}]={pair!r} is not a pair of a configuration and a number; {remedy}")
    values = [read_number(value) for _, value in pairs]
    return EarlierTask.from_values([dict(config) for config, _ in pairs], values, maximize=maximize)


def best_configs(tasks: Sequence[EarlierTask]) -> tuple[dict[str, Any], ...]:
    """The best configuration of each task, as far as they differ."""
    best = [dict(task.configs[int(np.argmin(task.values))]) for task in tasks if task.configs]
    return tuple(config for k, config in enumerate(best) if config not in best[:k])


# ---------------------------------------------------------------------- fitting to a space


def adapt(tasks: Sequence[EarlierTask], encoding: Encoding) -> tuple[EarlierTask, ...]:
    """The tasks with configurations of a new space. One log line says what was not used."""
    adapted, notes = [], _Notes()
    for task in tasks:
        found = _adapt(task, encoding, notes)
        if len(set(found.values)) >= _MIN_VALUES:
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
    y = np.array([task.values[k] for k in kept])
    rng, configs, values = np.random.default_rng(0), [], []
    notes.trials += len(task.configs) - len(kept)
    for k in thin(y, MAX_TRIALS).tolist() if shared else ():
        config = _completed(encoding, partial[kept[k]], rng)
        if config is None:
            notes.trials += 1
        else:
            configs.append(config)
            values.append(float(y[k]))
    return EarlierTask(tuple(configs), tuple(values), task.name)


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
    observations = [Observations.exact(encoding.encode(task.configs), np.array(task.values)) for task in tasks]
    return EarlierTasks.fit(specification, kernel, observations, settings) if observations else None


def portfolio(earlier: EarlierTasks | None, encoding: Encoding) -> Array:
    """The rows to evaluate first."""
    return encoding.encode([]) if earlier is None else encoding.feasibility.filter(earlier.X[earlier.portfolio()])
