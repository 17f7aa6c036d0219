"""A task: the space and the objective that a user's file defines."""

from __future__ import annotations

import importlib.util
import inspect
import json
import logging
import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import optuna

from addtree._optuna.initial import read_initial_configs
from addtree._types import Config
from addtree.errors import ConfigError, ObjectiveError, OptionError, SpaceError, TaskError
from addtree.evaluation.outcome import defined, located, place_of
from addtree.model.specification import Specification
from addtree.run.goals import Goals, checked_flag
from addtree.space.parameters import Integer, Parameter, Real
from addtree.space.space import Choice, Space
from addtree.support.callables import misfit
from addtree.support.numbers import read_number, scalar

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Task:
    """What to optimize.

    objective   takes a configuration if there is a space, and an Optuna trial (define-by-run) if there is none
    space       the declared space, or None
    initial     the configurations to evaluate first
    goals       the declared objectives and constraints, and the noise of repeated evaluations if it is declared
    cost_aware  whether to look for improvement per second
    unread      the names of options of `minimize` that the file sets and that are not read
    """

    objective: Callable[[Any], Any]
    space: Space | None
    initial: tuple[Config, ...] = ()
    goals: Goals = Goals()
    cost_aware: bool = False
    unread: tuple[str, ...] = ()

    def evaluate(self, trial: optuna.Trial, guard: AbstractContextManager[Any]) -> dict[str, float]:
        """The objective's values for a trial by name, all of them finite.

        Only the objective itself runs inside `guard`; suggesting the configuration does not.
        """
        argument = trial if self.space is None else suggest_config(trial, self.space)
        try:
            with guard:
                value = self.objective(argument)
        except SystemExit as error:
            raise ObjectiveError(
                f"the objective called sys.exit({error.code!r}){place_of(error)}; raise an exception instead"
            ) from error
        names = self.goals.names
        if self.goals.is_single and not (self.goals.named and isinstance(value, Mapping)):
            return {names[0]: self._number(value, value)}
        if not isinstance(value, Mapping) or set(value) != set(names):
            raise ObjectiveError(
                f"the objective returned {value!r}{defined(self.objective)}; "
                f"return a dict with a number for each of {', '.join(map(repr, names))}, and nothing else"
            )
        return {name: self._number(value[name], value) for name in names}

    def _number(self, value: Any, returned: Any) -> float:
        """A value that the objective returned as a finite float, or an ObjectiveError."""
        number = read_number(scalar(value))
        if number is None:
            raise ObjectiveError(f"the objective returned {returned!r}{defined(self.objective)}; return a number")
        if not math.isfinite(number):
            shown = number if returned is value else returned
            raise ObjectiveError(f"the objective returned {shown!r}{defined(self.objective)}; return a finite number")
        return number


@dataclass(frozen=True)
class SpaceFile:
    """What a file says about experiments that addtree does not run itself; see `Task`."""

    space: Space
    initial: tuple[Config, ...] = ()
    goals: Goals = Goals()
    cost_aware: bool = False
    unread: tuple[str, ...] = ()


# ---------------------------------------------------------------------- loading a file

_ONLY_MINIMIZE = "only addtree.minimize has this option"
# Options of `minimize`, and directions as Optuna spells them, that a file cannot set, and what to do instead.
_NOT_READ = {
    "seed": "give --seed S",
    "history": "give --history STUDY to `addtree run`",
    "direction": "write maximize = True, or leave it out",
    "directions": "write objectives = {'name': 'min' or 'max'}",
    **dict.fromkeys(("covariance", "acquisition", "inference", "n_initial"), _ONLY_MINIMIZE),
}
# The same for options about how a run goes. They concern only files with an objective.
_NOT_READ_BY_RUN = {
    "n_trials": "give --trials N",
    "timeout": "give --timeout S",
    "n_jobs": "give --workers W",
    "resume": "the same command continues a study",
    "progress": "it is always shown",
    **dict.fromkeys(("trial_timeout", "catch", "callback"), _ONLY_MINIMIZE),
}


def load_task(path: Path) -> Task:
    """Import a Python file and return the task that it defines."""
    if not path.is_file():
        raise TaskError(f"{path} is not a file; give the path of a Python file with `space` and `objective`")
    module = _import_file(path)
    space, objective = getattr(module, "space", None), getattr(module, "objective", None)
    if not callable(objective):
        raise TaskError(f"{path} has no function `objective`; define objective(config) beside `space`")
    if (problem := misfit(objective, 1)) is not None:
        raise TaskError(f"{path}: `objective` must be a function of one argument ({problem}); define objective(config)")
    if space is None and list(inspect.signature(objective).parameters)[:1] != ["trial"]:
        raise TaskError(
            f"{path} has no `space`; define space = addtree.Space(...), or write define-by-run code, "
            "with an argument of the name `trial`: objective(trial)"
        )
    if space is not None and not isinstance(space, Space):
        raise TaskError(f"{path}: `space` is {space!r}; make it an addtree.Space")
    return Task(objective, space, **_declared(path, module, space, {**_NOT_READ, **_NOT_READ_BY_RUN}))


def load_space(path: Path) -> SpaceFile:
    """Read a space, and what else its file declares.

    path  a Python file that defines `space` and may define `initial`, `maximize`, `objectives`, `constraints`, `noise`,
          `reference_point` and `cost_aware`, or a JSON file that `Space.to_dict` describes
    """
    if not path.is_file():
        raise TaskError(f"{path} is not a file; give a Python file with `space`, or a JSON file")
    if path.suffix == ".json":
        try:
            return SpaceFile(Space.from_dict(json.loads(path.read_text(encoding="utf-8"))))
        except (SpaceError, ValueError) as error:
            raise TaskError(f"{path} does not describe a space: {error}") from None
    module = _import_file(path)
    space = getattr(module, "space", None)
    if not isinstance(space, Space):
        raise TaskError(f"{path} has no `space`; define space = addtree.Space(...)")
    return SpaceFile(space, **_declared(path, module, space, _NOT_READ))


def warn_of_unread(path: Path, names: Sequence[str]) -> None:
    """Log which names in a file are not read, if there are any."""
    remedies = {**_NOT_READ, **_NOT_READ_BY_RUN}
    shown = ", ".join(f"`{name}` ({remedies[name]})" for name in names)
    if names:
        _log.warning("%s: not read from this file: %s; rename what is not meant as an option", path, shown)


def _declared(path: Path, module: ModuleType, space: Space | None, unread: Collection[str]) -> dict[str, Any]:
    """What a file declares besides its space and its objective, by the names of the fields of `Task`."""
    return {
        "initial": _initial(path, module, space),
        "goals": _goals(path, module),
        "cost_aware": _cost_aware(path, module),
        "unread": tuple(name for name, value in vars(module).items() if name in unread and not inspect.ismodule(value)),
    }


def _initial(path: Path, module: ModuleType, space: Space | None) -> tuple[Config, ...]:
    """The list `initial` of a file."""
    try:
        return read_initial_configs(space, getattr(module, "initial", ()))
    except (ConfigError, OptionError) as error:
        raise TaskError(f"{path}: {error}") from None


def _cost_aware(path: Path, module: ModuleType) -> bool:
    """The flag `cost_aware` of a file."""
    try:
        return checked_flag("cost_aware", getattr(module, "cost_aware", False))
    except OptionError as error:
        raise TaskError(f"{path}: {error}; rename it if it is something else") from None


def _goals(path: Path, module: ModuleType) -> Goals:
    """The goals that a file declares by the names of the arguments of `Goals.read`."""
    names = ("objectives", "constraints", "noise", "reference_point")
    options = {name: getattr(module, name, None) for name in names}
    try:
        goals = Goals.read(**options, maximize=getattr(module, "maximize", False))
        for std in goals.noise.values():
            Specification(noise=std)
    except OptionError as error:
        named = next((name for name in ("maximize", *names) if str(error).startswith(name)), None)
        remedy = f"; rename `{named}` if it is something else" if named else ""
        raise TaskError(f"{path}: {error}{remedy}") from None
    return goals


class _SourceLoader(SourceFileLoader):
    """Reads the source itself. Compiled code may be of a version of the same size that was saved in the same second."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _import_file(path: Path) -> ModuleType:
    """Import a Python file by its path; like a script, it may import its neighbours."""
    if path.suffix != ".py":
        raise TaskError(f"{path} is not a Python file; give one that ends in .py")
    loader = _SourceLoader(path.stem, str(path.absolute()))
    spec = ModuleSpec(path.stem, loader, origin=loader.path)
    spec.has_location = True  # the module has a `__file__`
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # pickle finds a class or function by the name of its module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        loader.exec_module(module)
    except SystemExit as error:
        raise TaskError(
            f"{path} calls sys.exit({error.code!r}) when it is imported{place_of(error)}; "
            "move that below `if __name__ == '__main__':`"
        ) from error
    except Exception as error:
        raise TaskError(f"{path} cannot be imported: {located(error)}") from error
    finally:
        sys.path.pop(0)
    return module


# ---------------------------------------------------------------------- asking Optuna for a configuration


def suggest_config(trial: optuna.Trial, space: Space) -> dict[str, Any]:
    """Ask an Optuna trial for the active parameters of a configuration, each after the value that opens it."""
    config: dict[str, Any] = {}
    for name, domain in space.children.items():
        config[name] = suggest_parameter(trial, name, domain)
        for space_below in domain.opened(config[name]):
            config |= suggest_config(trial, space_below)
    return config


def suggest_parameter(trial: optuna.Trial, name: str, domain: Parameter | Choice) -> Any:
    """Ask an Optuna trial for the value of one parameter or choice."""
    if isinstance(domain, Real):
        return trial.suggest_float(name, domain.low, domain.high, step=domain.step, log=domain.log)
    if isinstance(domain, Integer):
        return trial.suggest_int(name, domain.low, domain.high, step=domain.step or 1, log=domain.log)
    return trial.suggest_categorical(name, domain.labels)
