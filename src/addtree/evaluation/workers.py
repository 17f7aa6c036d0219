"""Evaluators: where trials are evaluated, in this process or in processes of their own.

Each worker is one process of the standard library's multiprocessing, because a trial that exceeds its time limit is
ended by killing its process; executors can only kill all of their processes at once. Processes are spawned, or come
from a fork server if the program has chosen that. They are never forked, because libraries with threads of their own do
not survive a fork. With cloudpickle installed (extra `parallel`), the objective may be a lambda, or a function of a
notebook. No worker outlives this process, whatever ends it.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from addtree.errors import OptionError, WorkerError
from addtree.evaluation.outcome import Catch, Outcome, described, evaluate, failure, located
from addtree.support.interrupts import Interrupt
from addtree.support.numbers import as_float
from addtree.support.processes import end_with_parent, one_thread_each
from addtree.trials import Trial

_READY = b"ready"  # What a worker sends when it has loaded the objective.
_LONGEST_WAIT = 3600.0  # Seconds of one wait; a longer one is repeated, because the system refuses to wait for days.
_GUARD = "put the call of minimize under `if __name__ == '__main__':`, so that other processes can import the script"


class Evaluator(Protocol):
    """What evaluates trials: `start` one while `n_free` is positive, then `collect` those that have ended."""

    @property
    def n_free(self) -> int:
        """The number of trials that can start now."""

    @property
    def n_running(self) -> int:
        """The number of trials that have started and were not collected."""

    def start(self, trial: Trial) -> None:
        """Start the evaluation of a trial."""

    def collect(self, interrupt: Interrupt) -> list[tuple[Trial, Outcome]]:
        """Wait until trials have ended, and return them; an interrupt raises KeyboardInterrupt."""

    def arrived(self) -> list[tuple[Trial, Outcome]]:
        """The trials that have ended and were not collected, without waiting for others. It raises nothing."""

    def close(self) -> None:
        """End everything that runs."""


class InThisProcess:
    """Evaluates one trial at a time, here."""

    def __init__(self, objective: Callable[[dict[str, Any]], Any], catch: Catch) -> None:
        self._objective, self._catch = objective, catch
        self._trial: Trial | None = None

    @property
    def n_free(self) -> int:
        """One, unless a trial has started."""
        return 1 - self.n_running

    @property
    def n_running(self) -> int:
        """One if a trial has started."""
        return int(self._trial is not None)

    def start(self, trial: Trial) -> None:
        """Remember the trial; `collect` evaluates it."""
        self._trial = trial

    def collect(self, interrupt: Interrupt) -> list[tuple[Trial, Outcome]]:
        """Evaluate the trial."""
        assert self._trial is not None
        with interrupt:
            ended = [(self._trial, evaluate(self._objective, self._trial.config, self._catch))]
        self._trial = None
        return ended

    def arrived(self) -> list[tuple[Trial, Outcome]]:
        """None: a trial is collected as soon as it has ended."""
        return []

    def close(self) -> None:
        """Nothing runs."""


@dataclass
class _Worker:
    """A process, and the trial that it evaluates.

    ready  whether the process has loaded the objective
    since  when the trial started, or when the process became ready if that was later
    """

    process: multiprocessing.process.BaseProcess
    connection: Connection
    trial: Trial | None = None
    ready: bool = False
    since: float = field(default_factory=time.monotonic)

    @property
    def is_evaluating(self) -> bool:
        """Whether the time limit of the trial runs."""
        return self.trial is not None and self.ready

    @property
    def age(self) -> float:
        """The seconds that the trial has run."""
        return time.monotonic() - self.since


class WorkerPool:
    """Evaluates trials in up to `size` processes, and kills those that exceed `time_limit` seconds."""

    def __init__(
        self, objective: Callable[[dict[str, Any]], Any], catch: Catch, *, size: int, time_limit: float | None = None
    ) -> None:
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise WorkerError(f"minimize was called while a worker process imported the script; {_GUARD}")
        self._task = _packed_task(objective, catch)
        self._size, self._time_limit = size, time_limit
        self._workers: list[_Worker] = []
        self._ended: list[tuple[Trial, Outcome]] = []  # Outcomes that were read and not returned yet.

    @property
    def n_free(self) -> int:
        """The number of workers that evaluate nothing, or were not started yet."""
        return self._size - self.n_running

    @property
    def n_running(self) -> int:
        """The number of workers that evaluate a trial."""
        return sum(worker.trial is not None for worker in self._workers)

    def start(self, trial: Trial) -> None:
        """Give the trial to a worker that is free, or to a new one."""
        config = _dumps(trial.config)
        worker = next((w for w in self._workers if w.trial is None), None) or self._start_worker()
        worker.trial, worker.since = trial, time.monotonic()
        with suppress(OSError):  # it has ended, which `collect` will find
            worker.connection.send_bytes(config)

    def _start_worker(self) -> _Worker:
        method = multiprocessing.get_start_method(allow_none=True)
        context = multiprocessing.get_context("forkserver" if method == "forkserver" else "spawn")
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(there, self._task))  # type: ignore[attr-defined]
        with one_thread_each():
            process.start()
        there.close()  # so that the end of the worker is the end of the connection
        self._workers.append(_Worker(process, here))
        return self._workers[-1]

    def collect(self, interrupt: Interrupt) -> list[tuple[Trial, Outcome]]:
        """Wait until trials have ended, or have exceeded their time limit, and return them."""
        while not self._ended:
            with interrupt:
                answered = wait([w.connection for w in self._workers], self._seconds_left())
            for worker in list(self._workers):
                if worker.connection in answered:
                    self._ended += self._read(worker)
                elif worker.is_evaluating and self._time_limit is not None and worker.age >= self._time_limit:
                    outcome = failure(f"it took longer than trial_timeout={self._time_limit} s", worker.age)
                    self._ended += self._end(worker, outcome)
        return self._take_ended()

    def arrived(self) -> list[tuple[Trial, Outcome]]:
        """The trials that have ended and were not collected. Errors are dropped: another one ends the run."""
        for worker in list(self._workers):
            with suppress(BaseException):
                while worker in self._workers and worker.connection.poll():
                    self._ended += self._read(worker)
        return self._take_ended()

    def _take_ended(self) -> list[tuple[Trial, Outcome]]:
        ended, self._ended = self._ended, []
        return ended

    def _seconds_left(self) -> float | None:
        """The seconds until the first trial exceeds its limit; None without a limit."""
        if self._time_limit is None:
            return None
        ages = [worker.age for worker in self._workers if worker.is_evaluating]
        return min(max(0.0, as_float(self._time_limit) - max(ages)), _LONGEST_WAIT) if ages else None

    def _read(self, worker: _Worker) -> list[tuple[Trial, Outcome]]:
        """What a worker has sent: that it is ready, an outcome, an error to raise, or that it has ended."""
        try:
            message = worker.connection.recv_bytes()
        except (EOFError, OSError):
            return self._died(worker)
        if message == _READY:
            worker.ready, worker.since = True, time.monotonic()
            return []
        answer = pickle.loads(message)
        if isinstance(answer, _Raised):
            raise answer.error from answer.cause
        assert worker.trial is not None
        trial, worker.trial = worker.trial, None
        return [(trial, answer)]

    def _died(self, worker: _Worker) -> list[tuple[Trial, Outcome]]:
        worker.process.join()
        code = worker.process.exitcode or 0
        if code == -signal.SIGINT:  # Ctrl-C reaches every process of a terminal
            raise KeyboardInterrupt
        if not worker.ready:
            raise WorkerError(f"a worker process ended with exit code {code} before it was ready; {_GUARD}")
        how = f"was killed by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
        return self._end(worker, failure(f"the process of the objective {how}", worker.age))

    def _end(self, worker: _Worker, outcome: Outcome) -> list[tuple[Trial, Outcome]]:
        """End a worker; its trial, if it has one, ends with this outcome."""
        self._workers.remove(worker)
        _kill(worker)
        return [] if worker.trial is None else [(worker.trial, outcome)]

    def close(self) -> None:
        """Kill every worker."""
        for worker in self._workers:
            _kill(worker)
        self._workers = []


@dataclass(frozen=True)
class _Raised:
    """An exception for the parent to raise.

    cause  its traceback as text, because exceptions lose theirs on the way to another process
    """

    error: BaseException
    cause: WorkerError | None = None


def _signal_name(number: int) -> str:
    """The name of a signal; real-time signals have only a number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _kill(worker: _Worker) -> None:
    worker.process.kill()
    worker.process.join()
    worker.connection.close()


def _packed_task(objective: Callable[[dict[str, Any]], Any], catch: Catch) -> bytes:
    """The objective and the exceptions to catch, for other processes."""
    try:
        return _dumps((objective, catch))
    except Exception as error:
        remedy = "define it at the top of a module, and create what cannot be sent inside it"
        if "cloudpickle" not in _pickler().__name__:
            remedy = "define it at the top of a module, or pip install 'addtree[parallel]', which sends lambdas as well"
        raise OptionError(
            f"objective={objective!r} cannot be sent to other processes ({described(error)}); {remedy}, "
            "or use n_jobs=1 without trial_timeout"
        ) from error


def _pickler() -> Any:
    """cloudpickle if it is installed, else pickle."""
    try:
        import cloudpickle
    except ImportError:
        return pickle
    return cloudpickle


def _dumps(value: Any) -> bytes:
    found: bytes = _pickler().dumps(value)
    return found


# ---------------------------------------------------------------------- in a worker process


def _work(connection: Connection, task: bytes) -> None:
    """Evaluate one configuration after the other, until the connection ends."""
    end_with_parent()
    with suppress(EOFError, OSError):  # the parent has closed the connection, or has ended
        try:
            objective, catch = pickle.loads(task)
        except BaseException as error:
            reason = f"a worker process cannot load the objective ({described(error)})"
            remedy = "define it at the top of a module, or pip install 'addtree[parallel]'"
            connection.send_bytes(pickle.dumps(_Raised(WorkerError(f"{reason}; {remedy}"))))
            return
        connection.send_bytes(_READY)
        while True:
            config = pickle.loads(connection.recv_bytes())
            try:
                answer = _dumps(evaluate(objective, config, catch))
            except BaseException as error:
                answer = _packed_error(error)
            connection.send_bytes(answer)


def _packed_error(error: BaseException) -> bytes:
    """An exception that is not a failed trial, for the parent to raise."""
    cause = WorkerError("the traceback in the worker process:\n" + "".join(traceback.format_exception(error)))
    try:
        packed = _dumps(_Raised(error, cause))
        pickle.loads(packed)
    except Exception:
        packed = pickle.dumps(_Raised(WorkerError(f"the objective raised {located(error)}"), cause))
    return packed
