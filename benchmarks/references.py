"""Improve the best values on record: `python -m benchmarks.references --samples 20000 --seconds 60`.

For every task without a known optimum, this takes the best of many random configurations and of all runs on disk. An
entry of `references.json` is only replaced by a better one; if an objective has changed, remove its entry first.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from addtree.support.files import write_text
from benchmarks import tasks
from benchmarks.support.files import REFERENCES, RESULTS


def search(task: tasks.Task, *, samples: int, seconds: float, seed: int) -> tuple[float, dict[str, Any]]:
    """The best of `samples` random configurations, or of those that the time allows."""
    rng = np.random.default_rng(seed)
    end = time.perf_counter() + seconds
    best: tuple[float, dict[str, Any]] = (np.inf, {})
    for _ in range(samples):
        config = task.space.sample(rng)
        value = task.objective(config)
        if value < best[0]:
            best = value, config
        if time.perf_counter() > end:
            break
    return best


def from_runs(name: str, results: Path) -> Iterator[tuple[float, dict[str, Any]]]:
    """The best of each run on disk."""
    for path in sorted((results / name.replace("/", "__")).glob("*/*.json")):
        run = json.loads(path.read_text())
        best = int(np.argmin(run["values"]))
        yield run["values"][best], run["configs"][best]


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.references", description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=tasks.USUAL, help=tasks.HELP)
    parser.add_argument("--samples", type=int, default=20_000, help="random configurations per task")
    parser.add_argument("--seconds", type=float, default=60, help="the most time per task")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder with runs")
    given = parser.parse_args(arguments)
    for name in tasks.matching(given.tasks):
        try:
            task = tasks.load(name)
        except tasks.MissingDataError as error:
            print(f"skipping task {error}")
            continue
        if task.exact:
            continue
        found = list(from_runs(name, given.results))
        if given.samples:
            found.append(search(task, samples=given.samples, seconds=given.seconds, seed=given.seed))
        known = json.loads(REFERENCES.read_text()) if REFERENCES.exists() else {}
        value, config = min(found, key=lambda pair: pair[0], default=(np.inf, {}))
        if value < known.get(name, {"value": np.inf})["value"]:
            print(f"{name}: {known.get(name, {}).get('value')} -> {value}", flush=True)
            known[name] = {"value": value, "config": config}
            write_text(REFERENCES, json.dumps(dict(sorted(known.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
