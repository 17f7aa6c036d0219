"""The progress bar and the summary of a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from optuna.trial import FrozenTrial
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar

from addtree.study.studies import Progress


class Terminal(Console):
    """A console that leaves a closed pipe to the caller; Rich would end the process."""

    def on_broken_pipe(self) -> None:
        """Raise the BrokenPipeError that is being handled."""
        raise


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[Progress], None]]:
    """Show a progress bar on stderr while the block runs; yields the function that updates it."""
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TaskProgressColumn(),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(),
    )
    with ProgressBar(*columns, console=Terminal(stderr=True, highlight=False)) as bar:
        line = bar.add_task("", total=total)

        def update(p: Progress) -> None:
            text = "no value yet" if p.best is None else f"best {p.best.value:.6g}  {describe_path(p.best)}"
            failed = f"  {p.failed} failed" if p.failed else ""
            bar.update(line, completed=p.finished, description=text + failed)

        yield update


def describe_path(trial: FrozenTrial) -> str:
    """Return the strings and booleans among a trial's parameters, which name its path in one line."""
    return " ".join(f"{name}={value}" for name, value in trial.params.items() if isinstance(value, (str, bool)))


def print_summary(study: str, p: Progress) -> None:
    """Print the result of a run."""
    lost = f", {p.lost} interrupted and run again" if p.lost else ""
    print(f"{study}: {p.finished} trials finished ({p.failed} failed{lost})")
    if p.error is not None:
        print(f"the last failure: {p.error}")
    if p.best is not None:
        print(f"best {p.best.value:.10g}: {json.dumps(p.best.params)}")
