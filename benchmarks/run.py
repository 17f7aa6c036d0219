"""Run methods on tasks: `python -m benchmarks.run --tasks cash function --methods random optuna-tpe --seeds 10`.

Each run (task, method, seed) leaves one JSON file, written when the run is complete. A run whose file exists is not
repeated, so an interrupted benchmark continues where it stopped. A failed run leaves its traceback instead, and is run
again by the next command. At the end the report is written beside the runs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from addtree.support.files import write_text
from addtree.support.processes import worker_pool
from benchmarks import peers, report, tasks
from benchmarks.support.files import RESULTS

Begin: TypeAlias = Callable[[str, tasks.Task, int], peers.Method]  # from a method's name, a task and a seed
Outcome: TypeAlias = tuple[float, float, str | None]  # best value, seconds, error


@dataclass(frozen=True)
class Run:
    """One method on one task with one seed, for `budget` evaluations."""

    task: str
    method: str
    seed: int
    budget: int
    out: Path

    @property
    def path(self) -> Path:
        """The file of its result."""
        return self.out / self.task.replace("/", "__") / self.method.replace(" ", "-") / f"{self.seed}.json"

    @property
    def marker(self) -> Path:
        """A file that exists while the run is under way."""
        return self.path.with_suffix(".running")

    @property
    def finished(self) -> bool:
        """Whether there is a result with at least this budget."""
        return self.path.exists() and len(json.loads(self.path.read_text())["values"]) >= self.budget


_load = lru_cache(maxsize=32)(tasks.load)  # A worker meets the same tasks again with every seed.


def evaluate(run: Run, begin: Begin = peers.start) -> dict[str, Any]:
    """Do a run; returns its result. The seconds are those of the processor for asking and telling.

    On a noisy task the values are the true ones. The result also holds what the method was told, and the true value of
    what it would return after each evaluation.
    """
    task = _load(run.task)
    method = begin(run.method, task, run.seed)
    rng = np.random.default_rng([run.seed, zlib.crc32(run.task.encode())])
    record: dict[str, list[Any]] = {key: [] for key in ("values", "seconds", "configs", "told", "returned")}
    for _ in range(run.budget):
        asked = time.process_time()
        config = method.ask()
        took = time.process_time() - asked
        config = task.space.validate(config)
        value = task.objective(config)
        if not math.isfinite(value):
            raise ValueError(f"{run.task} is {value} at {config}")
        told = value + task.noise * float(rng.normal())
        begun = time.process_time()
        method.tell(config, told)
        took += time.process_time() - begun
        for key, entry in zip(record, (value, round(took, 6), config, told), strict=False):
            record[key].append(entry)
        if task.noise:
            record["returned"].append(task.objective(_returned(method, record)))
    return {
        "task": run.task,
        "method": run.method,
        "seed": run.seed,
        **{key: entries for key, entries in record.items() if task.noise or key not in ("told", "returned")},
        "versions": {"python": platform.python_version(), **peers.versions(run.method)},
    }


def _returned(method: peers.Method, record: Mapping[str, list[Any]]) -> dict[str, Any]:
    """What a method would return now: its own recommendation, or the configuration with the least value it was told."""
    if isinstance(method, peers.Recommends):
        return method.recommend()
    config: dict[str, Any] = record["configs"][int(np.argmin(record["told"]))]
    return config


def work(run: Run, begin: Begin = peers.start) -> Outcome:
    """Do a run in a worker and save its result, or its traceback."""
    begun = time.perf_counter()
    error_path = run.path.with_suffix(".error.txt")
    run.path.parent.mkdir(parents=True, exist_ok=True)
    run.marker.touch()
    try:
        result = evaluate(run, begin)
        write_text(run.path, json.dumps(result))
        error_path.unlink(missing_ok=True)
        return min(result["values"]), time.perf_counter() - begun, None
    except Exception as error:
        write_text(error_path, traceback.format_exc())
        return math.nan, time.perf_counter() - begun, f"{type(error).__name__}: {error}"
    finally:
        run.marker.unlink(missing_ok=True)


def execute(
    runs: Iterable[Run], jobs: int, worker: Callable[[Run], Outcome] = work
) -> Iterator[tuple[Run, float, float, str | None]]:
    """Do the runs in `jobs` processes and yield each as it ends. A run that kills its process does not stop the others.

    `worker` does one run in a process; it must be a function of a module.
    """
    order = list(dict.fromkeys(runs))
    todo = set(order)
    for run in order:
        run.marker.unlink(missing_ok=True)
    while todo:
        before = len(todo)
        with worker_pool(jobs) as pool:
            waiting = {pool.submit(worker, run): run for run in order if run in todo}
            try:
                for future in as_completed(waiting):
                    outcome = future.result()
                    todo.discard(waiting[future])
                    yield waiting[future], *outcome
            except BrokenProcessPool:
                pass  # the markers, below, tell which runs were under way
        for run in [run for run in todo if run.finished]:
            todo.discard(run)
            yield run, min(json.loads(run.path.read_text())["values"]), math.nan, None
        for run in [run for run in todo if run.marker.exists()]:
            todo.discard(run)
            run.marker.unlink()
            yield run, math.nan, math.nan, "the process died"
        if len(todo) == before:
            raise RuntimeError("the workers die before they begin a run; try one with --jobs 1 and read what it prints")


def with_data(names: Sequence[str], load: Callable[[str], tasks.Task] = _load) -> list[str]:
    """The tasks whose data are on this machine. Prints which ones are skipped, and why."""
    usable = []
    for name in names:
        try:
            load(name)
            usable.append(name)
        except tasks.MissingDataError as error:
            print(f"skipping task {error}")
    return usable


def installed(methods: Mapping[str, peers.Peer]) -> list[str]:
    """The methods whose libraries are installed. Prints which ones are skipped, and why."""
    present = []
    for name, peer in methods.items():
        if missing := peer.missing():
            print(f"skipping method {name}: {', '.join(missing)} not installed; see benchmarks/README.md")
        else:
            present.append(name)
    return present


def plan(names: Sequence[str], methods: Sequence[str], seeds: Iterable[int], budget: int, out: Path) -> list[Run]:
    """The runs that are left to do, seed by seed, so that an early stop leaves some runs of every task and method."""
    every = [Run(name, method, seed, budget, out) for seed in seeds for name in names for method in methods]
    return [run for run in every if not run.finished]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns 1 if a run has failed."""
    given = _parser().parse_args(arguments)
    if given.list:
        print("tasks:", *tasks.TASKS, "methods:", *peers.METHODS, sep="\n  ")
        return 0
    names = with_data(tasks.matching(given.tasks))
    methods = installed({name: peers.METHODS[name] for name in given.methods})
    runs = plan(names, methods, range(given.seeds), given.budget, given.out)
    failures, begun = 0, time.perf_counter()
    for done, (run, best, seconds, error) in enumerate(execute(runs, given.jobs), 1):
        failures += error is not None
        left = (time.perf_counter() - begun) / done * (len(runs) - done)
        outcome = f"best {best:.6g} in {seconds:.1f} s" if error is None else f"FAILED: {error}"
        print(f"[{done}/{len(runs)}] {run.task} {run.method} seed {run.seed}: {outcome}; {left / 60:.0f} min left")
        sys.stdout.flush()
    print(f"{len(runs) - failures} runs done, {failures} failed; results in {given.out}\n")
    options = ["--results", str(given.out), "--budget", str(given.budget), "--tasks", *given.tasks]
    report.main([*options, *(["--no-plots"] if given.no_plots else [])])
    return int(failures > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=tasks.USUAL, help=tasks.HELP)
    parser.add_argument("--methods", nargs="+", default=list(peers.METHODS), choices=list(peers.METHODS))
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds, from 0 on (default: 10)")
    parser.add_argument("--budget", type=int, default=100, help="evaluations per run (default: 100)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for results (default: benchmarks/results)")
    parser.add_argument("--list", action="store_true", help="list the tasks and methods, and stop")
    parser.add_argument("--no-plots", action="store_true", help="write the report without plots")
    return parser


if __name__ == "__main__":
    sys.exit(main())
