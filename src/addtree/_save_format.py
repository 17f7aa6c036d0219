"""The file format of `Optimizer.save`: versioned JSON.

There is one version number, which every change of the format increases. A newer addtree reads every older version:
`_UPGRADES` turns the state of one version into that of the next, and `tests/data/saves` holds a file of each. A version
that is newer than this addtree is refused with a clear error.

    version 1  the first
    version 2  "inference" instead of "fit"; "run", the id that the trials of the run carry
    version 3  "initial", the initial configurations that were not asked yet
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from addtree._files import write_text
from addtree.errors import SaveFileError

FORMAT, VERSION = "addtree optimizer", 3


def _to_version_2(state: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {"inference" if key == "fit" else key: value for key, value in state.items()}
    return {**renamed, "run": None}


def _to_version_3(state: Mapping[str, Any]) -> dict[str, Any]:
    return {**state, "initial": []}


_UPGRADES: dict[int, Callable[[Mapping[str, Any]], dict[str, Any]]] = {1: _to_version_2, 2: _to_version_3}


def write(path: str | os.PathLike[str], state: Mapping[str, Any]) -> None:
    """Write a state, whole or not at all."""
    write_text(Path(path), json.dumps({"format": FORMAT, "version": VERSION, **state}, indent=1))


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The state in a file, upgraded to the present version, or a SaveFileError."""
    name = os.fspath(path)
    state: Any
    try:
        state = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SaveFileError(f"{name} cannot be read: {error.strerror}; check the path") from error
    except ValueError as error:
        raise damaged(path, error) from error
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise SaveFileError(f"{name} was not written by Optimizer.save; give the path of a file that was")
    version = state.get("version")
    while version in _UPGRADES:
        state = _UPGRADES[version](state)
        version += 1
    if version != VERSION:
        raise SaveFileError(
            f"{name} has version {version!r}, this addtree reads versions 1 to {VERSION}; upgrade addtree to read it"
        )
    return dict(state)


def damaged(path: str | os.PathLike[str], error: Exception) -> SaveFileError:
    """The error for a file that cannot be what `write` wrote."""
    return SaveFileError(f"{os.fspath(path)} is damaged ({error!r}); restore it from a copy, or start anew")
