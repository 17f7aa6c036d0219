"""What a user's file asks for: a space and an objective, or a define-by-run objective alone."""

from __future__ import annotations

import importlib.util
import inspect
import json
import math
import numbers
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna

from addtree.errors import ObjectiveError, SpaceError, TaskError
from addtree.space.parameters import Integer, Real
from addtree.space.space import Choice, Space


@dataclass(frozen=True)
class Task:
    """What to optimise: `space` is None where the objective takes an Optuna trial and asks for parameters itself."""

    objective: Callable[[Any], Any]
    space: Space | None

    def evaluate(self, trial: optuna.Trial, guard: AbstractContextManager[Any]) -> float:
        """The value of a trial, as a finite float; the objective itself runs inside `guard`."""
        argument = trial if self.space is None else ask_config(trial, self.space)
        with guard:
            value = self.objective(argument)
        plain = getattr(value, "item", lambda: value)()  # NumPy scalars and arrays of one number
        if isinstance(plain, bool) or not isinstance(plain, numbers.Real):
            raise ObjectiveError(f"the objective returned {value!r}; return a number")
        if not math.isfinite(plain):
            raise ObjectiveError(f"the objective returned {float(plain)!r}; return a finite number")
        return float(plain)


def load(path: Path) -> Task:
    """The target in a Python file."""
    if not path.is_file():
        raise TaskError(f"{path} is not a file; give the path of a Python file with `space` and `objective`")
    module = _run(path)
    space, objective = getattr(module, "space", None), getattr(module, "objective", None)
    if not callable(objective):
        raise TaskError(f"{path} has no function `objective`; define objective(config) beside `space`")
    if space is None:
        if list(inspect.signature(objective).parameters)[:1] == ["trial"]:
            return Task(objective, None)
        raise TaskError(
            f"{path} has no `space`; define space = addtree.Space(...), or write objective(trial) define-by-run"
        )
    if not isinstance(space, Space):
        raise TaskError(f"{path}: `space` is {space!r}; make it an addtree.Space")
    return Task(objective, space)


def load_space(path: Path) -> Space:
    """The space in a Python file, or in the JSON form that `Space.to_dict` gives."""
    if not path.is_file():
        raise TaskError(f"{path} is not a file; give a Python file with `space`, or a JSON file")
    if path.suffix == ".json":
        try:
            return Space.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except (SpaceError, ValueError) as error:
            raise TaskError(f"{path} holds no space: {error}") from None
    space = getattr(_run(path), "space", None)
    if not isinstance(space, Space):
        raise TaskError(f"{path} has no `space`; define space = addtree.Space(...)")
    return space


def _run(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise TaskError(f"{path} is no Python file; give one that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # so that what the file defines can be pickled
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise TaskError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    return module


def ask_config(trial: optuna.Trial, space: Space) -> dict[str, Any]:
    """The configuration of a declared space that a trial's sampler gives, asked for node by node."""
    config: dict[str, Any] = {}
    queue = [space]
    for node in queue:
        for name, domain in node.children.items():
            if isinstance(domain, Real):
                config[name] = trial.suggest_float(name, domain.low, domain.high, log=domain.log)
            elif isinstance(domain, Integer):
                config[name] = trial.suggest_int(name, domain.low, domain.high, log=domain.log)
            elif isinstance(domain, Choice):
                config[name] = trial.suggest_categorical(name, domain.labels)
                queue.append(domain.spaces[int(domain.encode(config[name]))])
            else:
                config[name] = trial.suggest_categorical(name, domain.values)
    return config
