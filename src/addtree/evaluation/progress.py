"""The progress of a run in a terminal or a notebook: a bar if Rich is installed, else a line per trial on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from addtree.errors import AddTreeError
from addtree.optimizer import Optimizer
from addtree.trials import Trial

Show: TypeAlias = Callable[[Trial], None]


@contextmanager
def show_progress(optimizer: Optimizer, total: int, *, wanted: bool) -> Iterator[Show]:
    """Yield a function to call with each trial that has ended; it does nothing unless progress is wanted."""
    if not wanted:
        yield lambda trial: None
        return
    try:
        import rich.progress
    except ImportError:
        yield lambda trial: print(_line(optimizer, trial, total), file=sys.stderr, flush=True)
        return
    columns = (
        rich.progress.BarColumn(),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TextColumn("{task.description}", markup=False),
        rich.progress.TimeElapsedColumn(),
    )
    with rich.progress.Progress(*columns) as bar:
        task = bar.add_task(_best(optimizer), total=total, completed=n_ended(optimizer))

        def show(trial: Trial) -> None:
            bar.update(task, completed=n_ended(optimizer), description=_best(optimizer))

        yield show


def n_ended(optimizer: Optimizer) -> int:
    """The number of trials that are not pending."""
    return sum(trial.state != "pending" for trial in optimizer.trials)


def _best(optimizer: Optimizer) -> str:
    if len(optimizer.goals.objectives) > 1:
        return f"{len(optimizer.pareto)} on the front"
    try:
        best = optimizer.best
    except AddTreeError:
        return "no value yet" if optimizer.goals.is_single else "nothing feasible yet"
    return f"best {best.value:.6g} (trial {best.id})"


def _line(optimizer: Optimizer, trial: Trial, total: int) -> str:
    told = [
        f"{value:.6g}" if optimizer.goals.is_single else f"{name} {value:.6g}" for name, value in trial.values.items()
    ]
    outcome = ", ".join(told) or f"failed: {trial.error}"
    return f"{n_ended(optimizer)}/{total}  trial {trial.id}: {outcome}  {_best(optimizer)}"
