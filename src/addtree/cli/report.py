"""The commands that show what the model learned: `report` and `explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from addtree.cli.options import (
    DEFAULT_STORAGE,
    AnyStudyName,
    EarlierStorages,
    EarlierStudies,
    StorageUrl,
    earlier_studies,
)
from addtree.report import Report, write_page
from addtree.report.study import build_study
from addtree.report.text import explain as explain_report
from addtree.study.goals import study_goals
from addtree.study.history import read_earlier_tasks
from addtree.study.storage import storage_at
from addtree.study.studies import find_study

AssumedNoise = Annotated[
    float | None,
    typer.Option(
        min=0, help="Standard deviation of repeated evaluations; by default that of the study, or a learned one."
    ),
]


def report(
    study: AnyStudyName = None,
    storage: StorageUrl = DEFAULT_STORAGE,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
    noise: AssumedNoise = None,
    history: EarlierStudies = None,
    history_storage: EarlierStorages = None,
) -> None:
    """Write an HTML page that shows what the study found and what the model learned.

    With --history, it also compares what earlier studies said with what the study found.
    """
    write_page(output, _build_report(study, storage, noise, history, history_storage))
    print(output)


def explain(
    study: AnyStudyName = None,
    storage: StorageUrl = DEFAULT_STORAGE,
    noise: AssumedNoise = None,
    history: EarlierStudies = None,
    history_storage: EarlierStorages = None,
) -> None:
    """Print a summary of what the study found and what the model learned."""
    print(explain_report(_build_report(study, storage, noise, history, history_storage)))


def _build_report(
    study: str | None, storage: str, noise: float | None, history: list[str] | None, history_storage: list[str] | None
) -> Report:
    """The report of a study, from the options of a command."""
    earlier = earlier_studies(history, history_storage, storage)
    with storage_at(storage, "read") as opened:
        found = find_study(opened, study)
        return build_study(found, noise=noise, history=read_earlier_tasks(study_goals(found, ()), earlier))
