"""The file format of `Optimizer.save`: versioned JSON.

There is one version number, which every change of the format increases. A newer addtree reads every older version:
`_UPGRADES` turns the state of one version into that of the next, and `tests/data/saves` holds a file of each. A version
that is newer than this addtree is refused with a clear error.

    version 1  the first
    version 2  "inference" instead of "fit"; "run", the id that the trials of the run carry
    version 3  "initial", the initial configurations that were not asked yet; trials carry "std", "duration", "error"
               and "traceback", and may be "forgotten"; the model has trend terms, so that an older one is learned again
    version 4  "objectives", "constraints" and "reference_point"; "noise" may be by name; trials carry "values" and
               "stds" by name instead of "value" and "std"; "models", one for each value, instead of "model";
               "history", the configurations and values of earlier tasks that are used
    version 5  a task in "history" has a list of values for each objective

A file may be damaged or hostile. `read` limits its size and checks every field (see `save_schema`) before anything is
built from it. A file that cannot be used is refused with a SaveFileError. The fitted model is the exception: it can be
learned again from the trials, so a damaged model is left out with a warning.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from addtree.errors import OptionError, SaveFileError
from addtree.run import save_schema
from addtree.run.goals import VALUE
from addtree.space.space import Space
from addtree.support.files import write_text
from addtree.support.numbers import is_whole

_log = logging.getLogger("addtree")

FORMAT, VERSION = "addtree optimizer", 5

MAX_BYTES = 64 * 2**20
"""The largest file that is written and read. A run of 10,000 trials with 100 parameters each has 41 MB."""

MAX_VALUES = 4_000_000
"""The largest number of JSON values in a file. With both limits, reading any file takes less than 1 GB of memory."""

_MAX_REASON = 500
"""The reason in an error message has at most this many characters."""

_DAMAGE = (ValueError, TypeError, LookupError, ArithmeticError, RecursionError, np.linalg.LinAlgError)
"""What building an optimizer from damaged data may raise. Most exceptions of addtree are ValueErrors."""


def _to_version_2(state: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {"inference" if key == "fit" else key: value for key, value in state.items()}
    return {**renamed, "run": None}


def _to_version_3(state: Mapping[str, Any]) -> dict[str, Any]:
    trials = [{**trial, **dict.fromkeys(("std", "duration", "error", "traceback"))} for trial in state["trials"]]
    return {**state, "initial": [], "trials": trials, "model": None}


def _to_version_4(state: Mapping[str, Any]) -> dict[str, Any]:
    new = {key: value for key, value in state.items() if key != "model"}
    failed = any(trial["state"] == "failed" for trial in state["trials"])  # They counted as the worst value.
    new |= {"models": None if failed or state["model"] is None else [state["model"]]}
    new |= {"objectives": None, "constraints": {}, "reference_point": None, "history": [], "cost_aware": False}
    trials = []
    for trial in state["trials"]:
        new_trial = {**trial, "cost": None}
        for old, by_name in (("value", "values"), ("std", "stds")):
            number = new_trial.pop(old)
            new_trial[by_name] = {} if number is None else {VALUE: number}
        trials.append(new_trial)
    return {**new, "trials": trials}


def _to_version_5(state: Mapping[str, Any]) -> dict[str, Any]:
    return {**state, "history": [{**task, "values": [task["values"]]} for task in state["history"]]}


_UPGRADES: dict[int, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    1: _to_version_2,
    2: _to_version_3,
    3: _to_version_4,
    4: _to_version_5,
}


def write(path: str | os.PathLike[str], state: Mapping[str, Any]) -> None:
    """Write a state, whole or not at all."""
    _check_path(path)
    text = json.dumps({"format": FORMAT, "version": VERSION, **state}, indent=1)
    if _is_too_large(text.encode()):
        raise SaveFileError(
            f"{os.fspath(path)} is not written: the run is too large for a save file, which has at most {MAX_BYTES} "
            f"bytes and {MAX_VALUES} values; use an Optuna study for a run of this size"
        )
    try:
        write_text(Path(path), text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SaveFileError(f"{os.fspath(path)} cannot be written: {reason}; give another path") from error


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The state in a file, checked and upgraded to the present version, or a SaveFileError."""
    _check_path(path)
    name, content = os.fspath(path), _content(path)
    with refusing_damage(path):
        state = json.loads(content.decode("utf-8"), object_pairs_hook=_object)
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise SaveFileError(f"{name} was not written by Optimizer.save; give the path of a file that was")
    version = state.get("version")
    with refusing_damage(path):
        while is_whole(version) and version in _UPGRADES:
            state = _UPGRADES[version](state)
            version += 1
    if not is_whole(version) or version != VERSION:
        raise SaveFileError(
            f"{name} has version {save_schema.shown(version)}, this addtree reads versions 1 to {VERSION}; "
            "upgrade addtree to read it"
        )
    with refusing_damage(path):
        save_schema.check(state)
    return dict(state)


def _check_path(path: Any) -> None:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise OptionError(f"path={path!r} must be the path of a file, such as 'run.json'")


def _content(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file; at most one more than the limit is read."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SaveFileError(f"{name} cannot be read: {reason}; check the path") from error
    if _is_too_large(content):
        raise SaveFileError(
            f"{name} is too large: a save file has at most {MAX_BYTES} bytes and {MAX_VALUES} values; "
            "give the path of a file that Optimizer.save wrote"
        )
    return content


def _is_too_large(content: bytes) -> bool:
    """Whether JSON exceeds the limits. Commas and opening brackets are counted: there are about as many values."""
    return len(content) > MAX_BYTES or sum(map(content.count, (b",", b"[", b"{"))) > MAX_VALUES


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, or a ValueError if a key occurs twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        repeated = next(key for key, count in counts.items() if count > 1)
        raise ValueError(f"the key {save_schema.shown(repeated)} occurs twice in one object")
    return found


def to_space(form: Mapping[str, Any], given: Space | None) -> Space:
    """The space of a form, or the given one if that has the same form.

    JSON does not keep the type of every label: the members of a StrEnum become strings. The given space still has them.
    """
    space = Space.from_dict(form)
    return given if given is not None and given == space and json.dumps(given.to_dict()) == json.dumps(form) else space


@contextmanager
def refusing_damage(path: str | os.PathLike[str]) -> Iterator[None]:
    """Inside the block, whatever damaged data can raise becomes a SaveFileError that names the file."""
    try:
        yield
    except _DAMAGE as error:
        raise SaveFileError(
            f"{os.fspath(path)} is damaged ({_reason(error)}); restore it from a copy, or start anew"
        ) from error


@contextmanager
def leaving_out_damage(path: str | os.PathLike[str]) -> Iterator[None]:
    """Inside the block, the model is restored; if it is damaged, a warning says that the trials are kept."""
    try:
        yield
    except _DAMAGE as error:
        _log.warning(
            "%s: the saved model is damaged (%s); every trial is kept, and the next suggestion fits the model again",
            os.fspath(path),
            _reason(error),
        )


def _reason(error: Exception) -> str:
    text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    return text if len(text) <= _MAX_REASON else text[:_MAX_REASON] + "..."
