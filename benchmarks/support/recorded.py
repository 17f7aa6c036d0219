"""Runs that the repository keeps, so that anyone can write the page of results again without running the peers.

Each method has one file: the versions of its libraries and, for each task and seed, what the run returned. Instead of
all values it holds [evaluation, value] wherever the value changes, with 12 digits, and the mean milliseconds of a
suggestion. Configurations are not kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from addtree._types import Array
from addtree.support.files import write_text

Run: TypeAlias = Mapping[str, Any]  # as `benchmarks.run` writes it


def returned(run: Run) -> Array:
    """The value of the configuration that a run returns after each evaluation."""
    return np.array(run["returned"]) if "returned" in run else np.minimum.accumulate(run["values"])


def read_runs(folder: Path) -> list[Run]:
    """The runs that `benchmarks.run` wrote into a folder."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*/*/*.json"))]


def record(runs: Iterable[Run], folder: Path) -> None:
    """Keep runs; they replace all earlier runs of the same method on the same task."""

    def method(run: Run) -> str:
        return str(run["method"])

    for name, of_method in groupby(sorted(runs, key=method), key=method):
        path = folder / f"{name}.json"
        kept = json.loads(path.read_text()) if path.exists() else {"tasks": {}}
        new: dict[str, dict[str, Any]] = {}
        for run in of_method:
            new.setdefault(run["task"], {})[str(run["seed"])] = _shortened(run)
            kept["versions"] = run["versions"]
        kept["tasks"] = dict(sorted((kept["tasks"] | new).items()))
        write_text(path, _one_line_each(kept))


def read(folder: Path) -> Iterator[Run]:
    """The runs that are kept, as `benchmarks.run` writes them, without configurations."""
    for path in sorted(folder.glob("*.json"), key=lambda path: path.stem):
        kept = json.loads(path.read_text())
        for task, each in kept["tasks"].items():
            for seed, run in each.items():
                about = {"task": task, "method": path.stem, "seed": int(seed), "versions": kept["versions"]}
                yield about | _lengthened(run)


def _shortened(run: Run) -> dict[str, Any]:
    values = [float(f"{value:.12g}") for value in returned(run)]
    changes = [[i + 1, value] for i, value in enumerate(values) if i == 0 or value != values[i - 1]]
    milliseconds = round(1e3 * float(np.mean(run["seconds"])), 3)
    return {"evaluations": len(values), "milliseconds": milliseconds, "returned": changes}


def _lengthened(run: Mapping[str, Any]) -> dict[str, Any]:
    n, changes = run["evaluations"], run["returned"]
    lengths = np.diff([*(first for first, _ in changes), n + 1])
    values = np.repeat([value for _, value in changes], lengths).tolist()
    return {"values": values, "returned": values, "seconds": [run["milliseconds"] / 1e3] * n}


def _one_line_each(kept: Mapping[str, Any]) -> str:
    """JSON with a line for each run."""
    tasks = [
        f"  {json.dumps(task)}: {{\n"
        + ",\n".join(f'   "{seed}": {json.dumps(run)}' for seed, run in each.items())
        + "}"
        for task, each in kept["tasks"].items()
    ]
    return f'{{"versions": {json.dumps(kept["versions"])},\n "tasks": {{\n' + ",\n".join(tasks) + "}}\n"
