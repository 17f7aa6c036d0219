"""Running jobs: one JSON file a job, written whole or not at all, so that a killed run goes on where it stopped."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from importlib import metadata
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

from addtree.errors import AddTreeError
from addtree.paper.experiments import Job
from addtree.paper.methods import gpyopt_versions

PACKAGE = Path(__file__).parents[1]
PACKAGES = ("addtree", "numpy", "scipy", "smac", "ConfigSpace", "hyperopt")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Report = Callable[[str], None]


def path_of(out: Path, job: Job) -> Path:
    """Where a job's record lies; its length is part of the name, so a quick run never stands for a full one."""
    return out / "raw" / job.experiment / job.method / f"{job.length}-seed{job.seed:02d}.json"


def load(out: Path, job: Job) -> dict[str, Any] | None:
    """The record of a job that is done."""
    path = path_of(out, job)
    if not path.exists():
        return None
    record: dict[str, Any] = json.loads(path.read_text())
    return record


def save(path: Path, record: dict[str, Any]) -> None:
    """Write to a neighbour, then rename: a reader sees the whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(record, indent=1) + "\n")
    part.replace(path)


def versions() -> dict[str, str]:
    """What ran: Python, the packages that matter, and the commit if this is a checkout."""
    out = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    with suppress(AddTreeError):  # then it cannot run, which is said where it is asked to
        out |= {name if name.startswith("GPy") else f"{name} of GPyOpt": v for name, v in gpyopt_versions().items()}
    return out | {"commit": _commit()}


def _commit() -> str:
    """The commit of the package's files, marked if they differ from it; the page that a run writes does not count."""

    def git(*command: str) -> str:
        asked = ["git", "-C", str(PACKAGE), *command]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "--short=10", "HEAD") + ("-dirty" if git("status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown (no checkout)"


def _do(job: Job, out: Path, about: dict[str, str]) -> float:
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


def end_with_parent() -> None:
    """A worker ends when interrupted, and when its parent is gone, even if that was killed: nothing goes on unseen."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_all(jobs: Sequence[Job], *, out: Path, workers: int, report: Report = print) -> dict[Job, str]:
    """Run what is not done yet; returns the jobs that failed and why. The others are saved.

    `workers` processes at a time, each with one BLAS thread; 0 runs the jobs in this process.
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
        except Exception as error:  # one method that breaks must not take the others' results with it
            failed[job] = f"{type(error).__name__}: {error}"
            report(f"{head}: FAILED, {failed[job]}")

    if workers == 0:
        for k, job in enumerate(todo, 1):
            note(job, lambda job=job: _do(job, out, about), k)  # type: ignore[misc]
        return failed
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)  # read by BLAS when a child starts
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=end_with_parent)
    try:
        futures = {pool.submit(_do, job, out, about): job for job in todo}
        for k, future in enumerate(as_completed(futures), 1):
            note(futures[future], future.result, k)
    finally:
        pool.shutdown(cancel_futures=True)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return failed


def to_stderr(line: str) -> None:
    """Progress where it does not mix with results."""
    print(line, file=sys.stderr, flush=True)
