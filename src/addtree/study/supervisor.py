"""Running a study: in this process, or in several that this one watches over."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import TrialState

from addtree.errors import AddTreeError, NoSuccessError, StudyError
from addtree.study.storage import storage_at
from addtree.study.studies import ERROR, Interrupt, Progress, open_study, progress, release_dead, work
from addtree.study.task import load

GIVE_UP = 5  # trials: when so many failed and none succeeded, the objective is broken
_POLL = 0.3  # seconds between two looks at the workers
_BORN = 10  # processes per worker: more deaths than that are no accident
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Job:
    """What to run. `trials` is the total of the study, those of earlier runs included."""

    file: Path
    storage: str
    study: str
    trials: int
    workers: int = 1
    timeout: float | None = None
    seed: int | None = None
    maximize: bool = False


def run(job: Job, watch: Callable[[Progress], None] = lambda progress: None) -> Progress:
    """Run a study to its total; `watch` sees every step. A KeyboardInterrupt leaves the study ready to go on."""
    target = load(job.file)
    with storage_at(job.storage) as storage, interruptible(signal.SIGINT, signal.SIGTERM) as interrupt:
        study = open_study(storage, job.study, target, seed=job.seed, maximize=job.maximize)
        release_dead(study)
        watch(progress(study))
        until = None if job.timeout is None else time.monotonic() + job.timeout
        if job.workers == 1:

            def step(study: optuna.Study) -> bool:
                watch(progress(study))
                return hopeless(study, job.trials)

            work(study, target, total=job.trials, until=until, stop=step, interrupt=interrupt)
        else:
            _supervise(job, study, until, watch, interrupt)
        done = progress(study)
        watch(done)
        if hopeless(study, job.trials):
            raise NoSuccessError(f"{job.study}: all {done.failed} trials failed, the last with: {done.error}")
    return done


def hopeless(study: optuna.Study, total: int) -> bool:
    """Whether the objective never worked, and was tried often enough."""
    finished = [t for t in study.get_trials(deepcopy=False) if t.state.is_finished()]
    errors = sum(ERROR in t.user_attrs for t in finished)
    return all(t.state == TrialState.FAIL for t in finished) and errors >= min(GIVE_UP, total)


@contextlib.contextmanager
def interruptible(*numbers: signal.Signals) -> Iterator[Interrupt]:
    """Turn the first of these signals into a request to stop in order; a second one does it the hard way."""
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = {number: signal.getsignal(number) for number in numbers}

    def handle(number: int, frame: Any) -> None:
        signal.signal(number, signal.SIG_DFL)
        interrupt.request()

    for number in before:
        signal.signal(number, handle)
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# ---------------------------------------------------------------------- several processes


def _supervise(
    job: Job, study: optuna.Study, until: float | None, watch: Callable[[Progress], None], interrupt: Interrupt
) -> None:
    """Keep the workers going until the total is reached; replace one that was killed."""
    context = multiprocessing.get_context("spawn")
    errors = context.SimpleQueue()
    started = 0

    def start() -> SpawnProcess:
        nonlocal started
        started += 1
        left = None if until is None else max(until - time.monotonic(), 0.0)
        process = context.Process(target=_worker, args=(job, left, errors), daemon=False)
        with _one_thread_each():
            process.start()
        return process

    alive = [start() for _ in range(min(job.workers, job.trials))]
    try:
        while alive:
            time.sleep(_POLL)
            interrupt.check()
            for process in [p for p in alive if not p.is_alive()]:
                alive.remove(process)
                killed = process.exitcode is not None and process.exitcode < 0
                if killed and started < _BORN * job.workers and progress(study).finished < job.trials:
                    release_dead(study)
                    alive.append(start())
            watch(progress(study))
    except BaseException:
        for process in alive:
            if process.is_alive() and process.pid is not None:
                os.kill(process.pid, signal.SIGTERM)
        for process in alive:
            process.join()
        raise
    if not errors.empty() and progress(study).finished < job.trials:
        raise StudyError(errors.get())


def _worker(job: Job, timeout: float | None, errors: Any) -> None:
    """The life of one worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent passes it on as SIGTERM
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    parent = multiprocessing.parent_process()

    def stop(study: optuna.Study) -> bool:
        return (parent is not None and not parent.is_alive()) or hopeless(study, job.trials)

    try:
        with storage_at(job.storage) as storage, interruptible(signal.SIGTERM) as interrupt:
            target = load(job.file)
            study = open_study(storage, job.study, target, seed=job.seed, maximize=job.maximize)
            until = None if timeout is None else time.monotonic() + timeout
            work(study, target, total=job.trials, until=until, stop=stop, interrupt=interrupt)
    except KeyboardInterrupt:
        pass
    except Exception as error:
        errors.put(str(error) if isinstance(error, AddTreeError) else f"a worker ended with {error!r}")
        raise SystemExit(1) from None


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started inside use one BLAS thread, unless the user said otherwise: they share the cores."""
    mine = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(mine, "1"))
    try:
        yield
    finally:
        for name in mine:
            del os.environ[name]
