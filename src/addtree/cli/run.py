"""The command `run`."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Annotated

import typer

from addtree.cli.display import print_summary, progress_bar
from addtree.cli.options import (
    DEFAULT_STORAGE,
    EarlierStorages,
    EarlierStudies,
    Maximize,
    Noise,
    StorageUrl,
    earlier_studies,
)
from addtree.errors import InterruptedRunError, OptionError
from addtree.study import supervisor
from addtree.study.pruners import PRUNERS
from addtree.support.numbers import plural


def run(
    file: Annotated[
        Path,
        typer.Argument(help="A Python file with `space` and `objective(config)`, or with `objective(trial)` alone."),
    ],
    trials: Annotated[int, typer.Option(min=1, help="Total number of trials, including those of earlier runs.")] = 100,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes that run trials.")] = 1,
    storage: StorageUrl = DEFAULT_STORAGE,
    study: Annotated[str | None, typer.Option(help="Name of the study; by default, the name of the file.")] = None,
    timeout: Annotated[float | None, typer.Option(min=0, help="Seconds after which no further trial starts.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Makes the run of one worker reproducible.")] = None,
    noise: Noise = None,
    pruner: Annotated[
        str | None,
        typer.Option(
            help=f"Ends unpromising trials of objective(trial) early: {', '.join(PRUNERS)}. The study keeps it; "
            "a new one has median."
        ),
    ] = None,
    maximize: Maximize = False,
    history: EarlierStudies = None,
    history_storage: EarlierStorages = None,
) -> None:
    """Run the objective of FILE until the study has --trials trials. The same command continues an interrupted run."""
    if timeout is not None and math.isnan(timeout):
        raise OptionError("--timeout nan is not a number of seconds")
    earlier = earlier_studies(history, history_storage, storage)
    name = file.stem if study is None else study
    start = time.monotonic()
    job = supervisor.Job(file, storage, name, trials, workers, timeout, seed, maximize, noise, pruner, earlier)
    try:
        with progress_bar(trials) as on_progress:
            result = supervisor.run(job, on_progress)
    except KeyboardInterrupt:
        raise InterruptedRunError("interrupted; the same command continues from here") from None
    print_summary(job.study, result)
    if timeout is not None and result.finished < trials and time.monotonic() - start >= timeout:
        print(f"the timeout of {timeout:g} s was reached before {plural(trials, 'trial')}; the same command continues")
