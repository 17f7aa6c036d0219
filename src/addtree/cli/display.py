"""The progress bar, the summary of a run, and suggestions that wait for a value."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from optuna.trial import FrozenTrial
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar

from addtree._optuna.trials import published
from addtree.study.studies import Progress
from addtree.support.numbers import plural

_MAX_FRONT = 20  # trials of the front that the summary of a run lists
_MAX_UNTOLD = 20  # suggestions of a study that `status` lists


class Terminal(Console):
    """A console that leaves a closed pipe to the caller; Rich would end the process."""

    def on_broken_pipe(self) -> None:
        """Raise the BrokenPipeError that is being handled."""
        raise


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[Progress], None]]:
    """Yield a function that shows the progress in a bar on stderr; the bar appears at its first call."""
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TaskProgressColumn(),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(),
    )
    bar = ProgressBar(*columns, console=Terminal(stderr=True, highlight=False))
    line = bar.add_task("", total=total)

    def update(p: Progress) -> None:
        text = "nothing feasible yet" if p.complete else "no value yet"
        if p.best is not None:
            text = f"best {p.best.value:.6g}  {describe_path(p.best)}"
        if p.front:
            text = f"front of {len(p.front)}"
        failed = f"  {p.failed} failed" if p.failed else ""
        bar.update(line, completed=p.finished, total=max(total, p.finished), description=text + failed)
        bar.start()  # does nothing if it has started

    try:
        yield update
    finally:
        if bar.live.is_started:
            bar.stop()


def describe_path(trial: FrozenTrial) -> str:
    """The strings and booleans among a trial's parameters, which name its path in one line."""
    labels = (f"{name}={value}" for name, value in trial.params.items() if isinstance(value, (str, bool)))
    return " ".join(" ".join(labels).split())


def print_untold(waiting: Mapping[str, Sequence[FrozenTrial]]) -> None:
    """Print the suggestions of each study that wait for a value, and what to do about them."""
    if not any(waiting.values()):
        return
    print("Suggested, without a value so far:")
    for study, trials in waiting.items():
        for trial in trials[:_MAX_UNTOLD]:
            since = "" if trial.datetime_start is None else f"  since {trial.datetime_start:%Y-%m-%d %H:%M}"
            print(f"  {study} {trial.number}{since}  {_shown({**published(trial), **trial.params})}")
        if len(trials) > _MAX_UNTOLD:
            print(f"  {study}: {len(trials) - _MAX_UNTOLD} more")
    print("Report a value with `addtree tell STUDY ID VALUE`, or drop a suggestion with `addtree forget STUDY ID`.")


def print_summary(study: str, p: Progress) -> None:
    """Print the result of a run."""
    lost = f", {p.lost} interrupted and run again" if p.lost else ""
    print(f"{study}: {plural(p.finished, 'trial')} finished ({p.failed} failed{lost})")
    if p.error is not None:
        print(f"the last failure: {p.error}")
    if p.best is not None:
        print(f"best {p.best.value:.10g}: {_shown(p.best.params)}")
    elif p.complete and not p.front:
        print("no trial keeps the constraints yet; run more trials, or relax the constraints")
    if p.front:
        names = f" ({', '.join(p.names)})" if p.names else ""
        print(f"front of {plural(len(p.front), 'trial')}{names}:")
    for trial in p.front[:_MAX_FRONT]:
        print(f"  {', '.join(f'{value:.6g}' for value in trial.values)}: {_shown(trial.params)}")
    if len(p.front) > _MAX_FRONT:
        print(f"  {len(p.front) - _MAX_FRONT} more: see `addtree best`")


def _shown(params: Mapping[str, Any]) -> str:
    """Parameters as a line for a reader: JSON, with letters as they are."""
    return json.dumps(params, ensure_ascii=False)
