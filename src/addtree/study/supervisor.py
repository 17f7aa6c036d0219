"""Running a study: in this process, or in several worker processes that this one supervises."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.queues import SimpleQueue
from pathlib import Path

import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from addtree.errors import AddTreeError, NoSuccessError, OptionError, StudyError
from addtree.run.goals import Goals
from addtree.run.history import EarlierTask
from addtree.study.goals import with_options
from addtree.study.history import learn_from, read_earlier_tasks
from addtree.study.pruners import check_pruner, set_pruner
from addtree.study.storage import storage_at
from addtree.study.studies import Progress, check_study, open_study, progress, progress_of
from addtree.study.task import Task, load_task, warn_of_unread
from addtree.study.tickets import ERROR, release_abandoned
from addtree.study.worker import work
from addtree.support.interrupts import Interrupt, interrupt_on
from addtree.support.processes import one_thread_each

_MAX_FAILURES = 5  # failed trials without a single success after which the objective is taken to be broken
_POLL_INTERVAL = 0.3  # seconds between two looks at the worker processes
_MAX_STARTS = 10  # processes started per worker; more deaths than that are not an accident


@dataclass(frozen=True)
class Job:
    """A study to run.

    trials   the total number of trials of the study, including those of earlier runs
    workers  the number of processes
    timeout  seconds after which no trial starts
    noise    standard deviation of repeated evaluations; None for that of the file or of the study
    pruner   name of the rule that ends unpromising trials; None for that of the study
    history  storage and name of each earlier study to learn from
    """

    file: Path
    storage: str
    study: str
    trials: int
    workers: int = 1
    timeout: float | None = None
    seed: int | None = None
    maximize: bool = False
    noise: float | None = None
    pruner: str | None = None
    history: tuple[tuple[str, str], ...] = ()


def run(job: Job, on_progress: Callable[[Progress], None] = lambda progress: None) -> Progress:
    """Run a study until it has its total number of trials, and return its progress at the end.

    A KeyboardInterrupt leaves the study in a state from which the same job continues. Raises NoSuccessError if no trial
    succeeded.

    on_progress  called after each step
    """
    deadline = None if job.timeout is None else time.monotonic() + job.timeout
    check_pruner(job.pruner)
    task = load_task(job.file)
    if job.pruner is not None and task.space is not None:
        raise OptionError(
            f"--pruner {job.pruner} cannot prune objective(config), which reports no intermediate values; "
            "write objective(trial) define-by-run, or leave it out"
        )
    _warn_of_unread(job, task)
    goals, history = _read_goals_and_history(job, task)  # what is wrong must not create a storage
    with storage_at(job.storage) as storage, interrupt_on(signal.SIGINT, signal.SIGTERM) as interrupt:
        study = _open(storage, job, task, goals, history)
        release_abandoned(study)
        on_progress(progress(study))
        if job.workers == 1:
            _run_here(job, study, task, deadline, on_progress, interrupt)
        else:
            _run_processes(job, study, deadline, on_progress, interrupt)
        result = replace(progress(study), names=tuple(study.metric_names or ()))
        on_progress(result)
        if _never_succeeds(study.get_trials(deepcopy=False), job.trials):
            n = result.failed
            told = f"all {n} trials failed, the last with" if n > 1 else "the only trial failed with"
            raise NoSuccessError(f"{job.study}: {told}: {result.error}; correct the objective")
    return result


def _warn_of_unread(job: Job, task: Task) -> None:
    """Log which options in the file are not read, except for those that the job has from elsewhere."""
    given = {"seed": job.seed is not None, "timeout": job.timeout is not None, "n_jobs": job.workers > 1}
    given["history"] = len(job.history) > 0
    warn_of_unread(job.file, [name for name in task.unread if not given.get(name)])


def _read_goals_and_history(job: Job, task: Task) -> tuple[Goals, list[EarlierTask]]:
    """The goals and the earlier studies of a job, or an error that says what is wrong with the job."""
    goals = with_options(task.goals, maximize=job.maximize, noise=job.noise)
    check_study(job.study, task.space, seed=job.seed, goals=goals)
    if (job.storage, job.study) in job.history:
        raise OptionError(f"--history {job.study} is the study itself, which knows its trials; name an earlier one")
    return goals, read_earlier_tasks(goals, job.history)


def _open(storage: BaseStorage, job: Job, task: Task, goals: Goals, history: Sequence[EarlierTask]) -> optuna.Study:
    """Open the study of a job."""
    study = open_study(
        storage, job.study, task.space, seed=job.seed, goals=goals, initial=task.initial, cost_aware=task.cost_aware
    )
    set_pruner(study, job.pruner)
    if history:
        learn_from(study, history)
    return study


def _run_here(
    job: Job,
    study: optuna.Study,
    task: Task,
    deadline: float | None,
    on_progress: Callable[[Progress], None],
    interrupt: Interrupt,
) -> None:
    """Run the trials in this process."""

    def after_trial(study: optuna.Study) -> bool:
        trials = study.get_trials(deepcopy=False)
        on_progress(progress_of(trials, study.directions))
        return _never_succeeds(trials, job.trials)

    work(study, task, total=job.trials, deadline=deadline, should_stop=after_trial, interrupt=interrupt)


def _never_succeeds(trials: Sequence[FrozenTrial], total: int) -> bool:
    """Whether every finished trial failed, and there are enough of them to give up."""
    finished = [t for t in trials if t.state.is_finished()]
    n_errors = sum(ERROR in t.user_attrs for t in finished)
    return all(t.state == TrialState.FAIL for t in finished) and n_errors >= min(_MAX_FAILURES, total)


# ---------------------------------------------------------------------- several processes


def _run_processes(
    job: Job,
    study: optuna.Study,
    deadline: float | None,
    on_progress: Callable[[Progress], None],
    interrupt: Interrupt,
) -> None:
    """Run the trials in worker processes until the total is reached; replace a worker that is killed."""
    context = multiprocessing.get_context("spawn")
    errors = context.SimpleQueue()
    alive = [_start_worker(context, job, deadline, errors) for _ in range(min(job.workers, job.trials))]
    n_started = len(alive)
    try:
        while alive:
            time.sleep(_POLL_INTERVAL)
            interrupt.check()
            for process in [p for p in alive if not p.is_alive()]:
                alive.remove(process)
                killed = process.exitcode is not None and process.exitcode < 0
                if killed and n_started < _MAX_STARTS * job.workers and progress(study).finished < job.trials:
                    release_abandoned(study)
                    alive.append(_start_worker(context, job, deadline, errors))
                    n_started += 1
            on_progress(progress(study))
    except BaseException:
        _stop_workers(alive)
        raise
    if not errors.empty() and progress(study).finished < job.trials:
        raise errors.get()


def _start_worker(
    context: SpawnContext, job: Job, deadline: float | None, errors: SimpleQueue[AddTreeError]
) -> SpawnProcess:
    timeout = None if deadline is None else max(deadline - time.monotonic(), 0.0)
    process = context.Process(target=_worker_main, args=(job, timeout, errors), daemon=False)
    with one_thread_each():
        process.start()
    return process


def _stop_workers(processes: list[SpawnProcess]) -> None:
    """Ask worker processes to stop, and wait until they have released their trials."""
    for process in processes:
        if process.is_alive() and process.pid is not None:
            os.kill(process.pid, signal.SIGTERM)
    for process in processes:
        process.join()


def _worker_main(job: Job, timeout: float | None, errors: SimpleQueue[AddTreeError]) -> None:
    """Run one worker process from start to end; an error that ends it goes into `errors`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the supervisor answers with SIGTERM
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    parent = multiprocessing.parent_process()
    succeeded = False  # Once a trial has succeeded, the study need not be read again to know that.

    def should_stop(study: optuna.Study) -> bool:
        nonlocal succeeded
        if parent is not None and not parent.is_alive():
            return True
        if succeeded:
            return False
        trials = study.get_trials(deepcopy=False)
        succeeded = any(t.state in (TrialState.COMPLETE, TrialState.PRUNED) for t in trials)
        return _never_succeeds(trials, job.trials)

    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        with storage_at(job.storage) as storage, interrupt_on(signal.SIGTERM) as interrupt:
            task = load_task(job.file)
            study = _open(storage, job, task, *_read_goals_and_history(job, task))
            work(study, task, total=job.trials, deadline=deadline, should_stop=should_stop, interrupt=interrupt)
    except KeyboardInterrupt:
        pass
    except Exception as error:
        errors.put(error if isinstance(error, AddTreeError) else StudyError(f"a worker ended with {error!r}"))
        raise SystemExit(1) from None
