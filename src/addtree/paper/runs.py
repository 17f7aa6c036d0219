"""Running jobs: one JSON file per job, written whole or not at all, so that a killed run continues where it stopped."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from addtree.errors import AddTreeError
from addtree.paper.experiments import Job
from addtree.paper.methods import gpyopt_versions
from addtree.support.files import write_text
from addtree.support.processes import worker_pool

PACKAGE = Path(__file__).parents[1]  # The folder whose commit a record names.
PACKAGES = ("addtree", "numpy", "scipy", "smac", "ConfigSpace", "hyperopt")  # A record holds the versions of these.

Report = Callable[[str], None]


def path_of(out: Path, job: Job) -> Path:
    """The path of a job's record. It holds the job's length, so that a quick run is never taken for a full one."""
    return out / "raw" / job.experiment / job.method / f"{job.length}-seed{job.seed:02d}.json"


def save(path: Path, record: dict[str, Any]) -> None:
    """Write a record whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(record, indent=1) + "\n")


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that matter, and the commit of this package."""
    out = {"python": platform.python_version()}
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            out[name] = metadata.version(name)
    with suppress(AddTreeError):  # GPyOpt cannot run then, which the command says when it lists the methods
        out |= {name if name.startswith("GPy") else f"{name} of GPyOpt": v for name, v in gpyopt_versions().items()}
    return out | {"commit": commit(PACKAGE)}


def commit(folder: Path) -> str:
    """The commit of a folder's files, marked "-dirty" if they differ from it; files outside the folder do not count."""

    def git(*command: str) -> str:
        asked = ["git", "-C", str(folder), *command]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "--short=10", "HEAD") + ("-dirty" if git("status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown (no checkout)"


def _do(job: Job, out: Path, about: dict[str, str]) -> float:
    """Run a job, save its record, and return the seconds that this took."""
    start = time.perf_counter()
    record = {
        "experiment": job.experiment,
        "method": job.method,
        "seed": job.seed,
        "versions": about,
        **job.run(),
    }
    save(path_of(out, job), record)
    return time.perf_counter() - start


def run_all(jobs: Sequence[Job], *, out: Path, workers: int, report: Report = print) -> dict[Job, str]:
    """Run the jobs that are not done yet, save their records, and return those that failed, each with the reason.

    `workers` is the number of processes, each with one BLAS thread; 0 runs the jobs in this process.
    """
    todo = [job for job in jobs if not path_of(out, job).exists()]
    if len(todo) < len(jobs):
        report(f"{len(jobs) - len(todo)} of {len(jobs)} jobs are done already")
    failed: dict[Job, str] = {}
    about = versions()

    def note(job: Job, result: Callable[[], float], k: int) -> None:
        head = f"[{k}/{len(todo)}] {job.experiment} {job.method} seed {job.seed}"
        try:
            report(f"{head}: {result():.1f} s")
        except Exception as error:  # a method that fails must not take the results of the others with it
            failed[job] = f"{type(error).__name__}: {error}"
            report(f"{head}: FAILED, {failed[job]}")

    if workers == 0:
        for k, job in enumerate(todo, 1):
            note(job, lambda job=job: _do(job, out, about), k)  # type: ignore[misc]
        return failed
    with worker_pool(workers) as pool:
        futures = {pool.submit(_do, job, out, about): job for job in todo}
        for k, future in enumerate(as_completed(futures), 1):
            note(futures[future], future.result, k)
    return failed


def to_stderr(line: str) -> None:
    """Print progress to standard error, where it does not mix with results."""
    print(line, file=sys.stderr, flush=True)
