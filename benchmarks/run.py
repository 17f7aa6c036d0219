"""Run methods on tasks: `python -m benchmarks.run --tasks cash function --methods random optuna-tpe --seeds 10`.

Each run (task, method, seed) leaves one JSON file, written when it is complete. A run whose file is there is not
repeated, so an interrupted benchmark goes on where it stopped, and a failed run (its traceback lies beside) is tried
again. At the end the report is written beside the runs.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import platform
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from addtree.paper.runs import ONE_THREAD, end_with_parent
from benchmarks import peers, report, tasks
from benchmarks.files import RESULTS, write


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
        """Where its result goes."""
        return self.out / self.task.replace("/", "__") / self.method / f"{self.seed}.json"

    @property
    def marker(self) -> Path:
        """What lies there while it runs."""
        return self.path.with_suffix(".running")

    @property
    def finished(self) -> bool:
        """Whether a result with at least this budget is there."""
        return self.path.exists() and len(json.loads(self.path.read_text())["values"]) >= self.budget


_task = lru_cache(maxsize=4)(tasks.load)


def evaluate(run: Run) -> dict[str, Any]:
    """Do a run. Seconds count what the method takes, asking and telling, not the objective."""
    task = _task(run.task)
    session = peers.start(run.method, task.space, run.seed)
    values: list[float] = []
    configs: list[dict[str, Any]] = []
    seconds: list[float] = []
    for _ in range(run.budget):
        asked = time.perf_counter()
        config = session.ask()
        took = time.perf_counter() - asked
        config = task.space.validate(config)
        value = task.objective(config)
        if not math.isfinite(value):
            raise ValueError(f"{run.task} is {value} at {config}")
        told = time.perf_counter()
        session.tell(config, value)
        seconds.append(took + time.perf_counter() - told)
        values.append(value)
        configs.append(config)
    return {
        "task": run.task,
        "method": run.method,
        "seed": run.seed,
        "values": values,
        "seconds": [round(second, 6) for second in seconds],
        "configs": configs,
        "versions": {"python": platform.python_version(), **peers.versions(run.method)},
    }


def work(run: Run) -> tuple[float, float, str | None]:
    """In a worker: do a run and keep its result or its traceback; (best value, seconds, error)."""
    begun = time.perf_counter()
    error_path = run.path.with_suffix(".error.txt")
    run.path.parent.mkdir(parents=True, exist_ok=True)
    run.marker.touch()
    try:
        result = evaluate(run)
        write(run.path, json.dumps(result))
        error_path.unlink(missing_ok=True)
        return min(result["values"]), time.perf_counter() - begun, None
    except Exception as error:
        write(error_path, traceback.format_exc())
        return math.nan, time.perf_counter() - begun, f"{type(error).__name__}: {error}"
    finally:
        run.marker.unlink(missing_ok=True)


def execute(runs: Iterable[Run], jobs: int) -> Iterator[tuple[Run, float, float, str | None]]:
    """Do the runs in `jobs` processes, yielding each as it ends. One that kills its process costs only itself."""
    order = list(dict.fromkeys(runs))
    todo = set(order)
    for run in order:
        run.marker.unlink(missing_ok=True)
    while todo:
        before = len(todo)
        # spawn, not fork: libraries with threads of their own do not survive a fork
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, mp_context=spawn, initializer=end_with_parent) as pool:
            waiting = {pool.submit(work, run): run for run in order if run in todo}
            try:
                for future in as_completed(waiting):
                    outcome = future.result()
                    todo.discard(waiting[future])
                    yield waiting[future], *outcome
            except BrokenProcessPool:
                pass  # which runs were under way is seen from their markers, below
        for run in [run for run in todo if run.finished]:
            todo.discard(run)
            yield run, min(json.loads(run.path.read_text())["values"]), math.nan, None
        for run in [run for run in todo if run.marker.exists()]:
            todo.discard(run)
            run.marker.unlink()
            yield run, math.nan, math.nan, "the process died"
        if len(todo) == before:
            raise RuntimeError("the workers die before they begin a run; try one with --jobs 1 and read what it prints")


def plan(names: Sequence[str], methods: Sequence[str], seeds: Iterable[int], budget: int, out: Path) -> list[Run]:
    """The runs to do, seed by seed, so that an early stop leaves every task and method some. Says what it skips."""
    usable = []
    for name in names:
        try:
            _task(name)
            usable.append(name)
        except tasks.MissingDataError as error:
            print(f"skipping task {error}")
    present = []
    for method in methods:
        missing = [name for name in peers.METHODS[method][2] if find_spec(name) is None]
        if missing:
            print(f"skipping method {method}: {', '.join(missing)} not installed; see benchmarks/README.md")
        else:
            present.append(method)
    every = [Run(name, method, seed, budget, out) for seed in seeds for name in usable for method in present]
    return [run for run in every if not run.finished]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 when a run has failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--tasks", nargs="+", default=tasks.USUAL, help="names, families, patterns (usual: all but unseen)"
    )
    parser.add_argument("--methods", nargs="+", default=list(peers.METHODS), choices=list(peers.METHODS))
    parser.add_argument("--seeds", type=int, default=10, help="seeds 0 .. n-1 (default: 10)")
    parser.add_argument("--budget", type=int, default=100, help="evaluations a run (default: 100)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for results (default: benchmarks/results)")
    parser.add_argument("--list", action="store_true", help="list tasks and methods, and stop")
    given = parser.parse_args(arguments)
    if given.list:
        print("tasks:", *tasks.TASKS, "methods:", *peers.METHODS, sep="\n  ")
        return 0
    os.environ.update(ONE_THREAD)  # the workers inherit it before they load NumPy
    runs = plan(tasks.matching(given.tasks), given.methods, range(given.seeds), given.budget, given.out)
    failures, begun = 0, time.perf_counter()
    for done, (run, best, seconds, error) in enumerate(execute(runs, given.jobs), 1):
        failures += error is not None
        left = (time.perf_counter() - begun) / done * (len(runs) - done)
        outcome = f"best {best:.6g} in {seconds:.1f} s" if error is None else f"FAILED: {error}"
        print(f"[{done}/{len(runs)}] {run.task} {run.method} seed {run.seed}: {outcome}; {left / 60:.0f} min left")
        sys.stdout.flush()
    print(f"{len(runs) - failures} runs done, {failures} failed; results in {given.out}\n")
    report.main(["--results", str(given.out), "--budget", str(given.budget), "--tasks", *given.tasks])
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
