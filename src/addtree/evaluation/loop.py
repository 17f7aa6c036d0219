"""The loop of `minimize`: start trials, collect their values, save, and know when to stop."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from addtree.errors import NoSuccessError, OptionError, TrialError
from addtree.evaluation.outcome import Catch, Outcome
from addtree.evaluation.progress import Show, n_ended, show_progress
from addtree.evaluation.workers import Evaluator, InThisProcess, WorkerPool
from addtree.optimizer import Optimizer
from addtree.run.goals import checked_flag
from addtree.support.callables import misfit
from addtree.support.interrupts import Interrupt, interrupt_on
from addtree.support.numbers import as_float, is_number, is_whole, plural
from addtree.trials import Trial

_log = logging.getLogger("addtree")

Objective: TypeAlias = Callable[[dict[str, Any]], float | Mapping[str, float]]
Callback: TypeAlias = Callable[[Optimizer, Trial], object]

_MAX_FAILURES = 5  # If this many trials fail for the same reason before any has a value, the objective is broken.


@dataclass(frozen=True)
class RunOptions:
    """How a run goes; the names are those of `minimize`.

    began  when `minimize` was called, by the clock `time.monotonic`
    """

    n_trials: int
    timeout: float | None = None
    trial_timeout: float | None = None
    n_jobs: int = 1
    progress: bool = False
    resume: str | os.PathLike[str] | None = None
    catch: Catch = (Exception,)
    callback: Callback | None = None
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if not is_whole(self.n_trials) or self.n_trials < 1:
            raise OptionError(f"n_trials={self.n_trials!r} must be a whole number, at least 1")
        if not is_whole(self.n_jobs) or (self.n_jobs < 1 and self.n_jobs != -1):
            raise OptionError(f"n_jobs={self.n_jobs!r} must be a whole number, at least 1, or -1 for one per core")
        for name in ("timeout", "trial_timeout"):
            seconds = getattr(self, name)
            if seconds is not None and not (is_number(seconds) and as_float(seconds) > 0):
                raise OptionError(f"{name}={seconds!r} must be a number of seconds above zero, or None for no limit")
        if self.resume is not None and not isinstance(self.resume, (str, os.PathLike)):
            raise OptionError(f"resume={self.resume!r} must be the path of a file, such as 'run.json', or None")
        if not isinstance(self.catch, tuple) or not all(
            isinstance(kind, type) and issubclass(kind, BaseException) for kind in self.catch
        ):
            raise OptionError(f"catch={self.catch!r} must be a tuple of exception classes, such as (ValueError,)")
        checked_flag("progress", self.progress)
        if self.callback is not None and (problem := misfit(self.callback, 2)) is not None:
            raise OptionError(
                f"callback={self.callback!r} must be a function of the optimizer and the trial: "
                f"def callback(optimizer, trial) ({problem})"
            )

    @property
    def n_processes(self) -> int:
        """The number of trials that run at the same time."""
        return (os.cpu_count() or 1) if self.n_jobs == -1 else int(self.n_jobs)


def run(optimizer: Optimizer, objective: Objective, options: RunOptions) -> str:
    """Evaluate trials until the run ends, and return why it ended."""
    evaluator: Evaluator
    if options.n_processes > 1 or options.trial_timeout is not None:
        evaluator = WorkerPool(objective, options.catch, size=options.n_processes, time_limit=options.trial_timeout)
    else:
        evaluator = InThisProcess(objective, options.catch)
    try:
        with (
            interrupt_on(signal.SIGINT) as interrupt,
            show_progress(optimizer, options.n_trials, wanted=options.progress) as show,
        ):
            return _Run(optimizer, evaluator, options, show).evaluate_all(interrupt)
    finally:
        evaluator.close()


class _Run:
    """The state of a run.

    again    trials that were pending in the file that is resumed; they are evaluated again
    causes   for each trial that ended in this run, why it failed; None if it has a value
    stopped  why no further trial starts, or None
    """

    def __init__(self, optimizer: Optimizer, evaluator: Evaluator, options: RunOptions, show: Show) -> None:
        self.optimizer, self.evaluator, self.options, self.show = optimizer, evaluator, options, show
        trials = optimizer.trials
        self.n_started = n_ended(optimizer)
        self.again = [trial for trial in trials if trial.state == "pending"]
        self.has_value = any(trial.state == "done" for trial in trials)
        self.causes: list[str | None] = []
        self.stopped: str | None = None
        self.deadline = None if options.timeout is None else options.began + as_float(options.timeout)

    def evaluate_all(self, interrupt: Interrupt) -> str:
        """Start and collect trials until none is left, and return why the run ended."""
        self.save()
        try:
            while True:
                while self.evaluator.n_free and (trial := self.next_trial()) is not None:
                    self.evaluator.start(trial)
                if not self.evaluator.n_running:
                    return self.stopped or f"{plural(self.n_started, 'trial')} done"
                for told in self.record_all(self.evaluator.collect(interrupt)):
                    self.follow_up(told)
                interrupt.check()
        except KeyboardInterrupt:
            self.record_all(self.evaluator.arrived())
            return f"interrupted after {plural(n_ended(self.optimizer), 'trial')}"
        except BaseException:
            self.record_all(self.evaluator.arrived())
            raise

    def next_trial(self) -> Trial | None:
        """The trial to start next, or None if the run is to end."""
        if self.deadline is not None and self.stopped is None and time.monotonic() >= self.deadline:
            started = plural(self.n_started, "trial")
            self.stopped = f"the timeout of {self.options.timeout} s was reached after {started}"
        if self.stopped is not None or self.n_started >= self.options.n_trials:
            return None
        self.n_started += 1
        if self.again:
            return self.again.pop(0)
        trial = self.optimizer.ask()
        self.save()
        return trial

    def record_all(self, ended: Iterable[tuple[Trial, Outcome]]) -> list[Trial]:
        """Record outcomes, all of them before anything that may end the run; return the trials."""
        return [self.record(trial, outcome) for trial, outcome in ended]

    def record(self, trial: Trial, outcome: Outcome) -> Trial:
        """Tell, save and show an outcome, and return the trial."""
        outcome = self.checked(outcome)
        failed = outcome.value is None
        known = outcome.evaluation
        cost = known.duration or None  # A duration of zero is not a cost; the clock was too coarse.
        told = self.optimizer.tell(trial, outcome.value, failed=failed, cost=cost, evaluation=known)
        self.save()
        self.show(told)
        if failed:
            _log.warning("trial %d failed: %s", told.id, told.error)
        self.has_value = self.has_value or not failed
        self.causes.append(outcome.cause)
        return told

    def follow_up(self, told: Trial) -> None:
        """Call the callback with a trial that was recorded, and check that the objective works."""
        if self.options.callback is not None:
            try:
                self.options.callback(self.optimizer, told)
            except StopIteration:
                self.stopped = self.stopped or f"stopped by the callback after trial {told.id}"
        self.check_success(told)

    def checked(self, outcome: Outcome) -> Outcome:
        """The outcome, which is a failure if it does not have a number for each objective and constraint."""
        if outcome.value is None:
            return outcome
        try:
            self.optimizer.goals.read_values(outcome.value)
        except TrialError as error:
            problem = f"a wrong result: {error}"
            goals = self.optimizer.goals
            if goals.is_single and not goals.named:
                problem = f"{outcome.value!r}, which is a dict; return a number, or name its values by objectives="
            evaluation = replace(outcome.evaluation, error=f"the objective returned {problem}")
            return Outcome(None, evaluation, "returned a wrong result")
        return outcome

    def check_success(self, told: Trial) -> None:
        """Raise a NoSuccessError if the objective is broken."""
        n = len(self.causes)
        if not self.has_value and n >= _MAX_FAILURES and len(set(self.causes)) == 1 and self.stopped is None:
            names, remedy = self.optimizer.goals.names, "correct the objective"
            if len(names) > 1 and str(self.causes[-1]).startswith("returned "):
                remedy += f", which has to return a dict with a number for each of {', '.join(map(repr, names))}"
            elif told.traceback is not None:
                remedy += ", or give catch=() to see the exception itself"
            elif self.options.trial_timeout is not None:
                remedy += ", or give a longer trial_timeout"
            raise NoSuccessError(
                f"the first {n} trials all failed for the same reason: {told.error}; {remedy}",
                told.error,
                told.traceback,
            )

    def save(self) -> None:
        """Write the run to the file that a later call resumes."""
        if self.options.resume is not None:
            self.optimizer.save(self.options.resume)
