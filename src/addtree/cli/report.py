"""The commands that show what the model learned: `report` and `explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from addtree.cli.options import DEFAULT_STORAGE, AnyStudyName, StorageUrl
from addtree.report import Report, write_page
from addtree.report.study import build_study
from addtree.report.text import explain as explain_report
from addtree.study.storage import storage_at
from addtree.study.studies import find_study


def report(
    study: AnyStudyName = None,
    storage: StorageUrl = DEFAULT_STORAGE,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
) -> None:
    """Write an HTML page that shows what the study found and what the model learned."""
    write_page(output, _build_report(study, storage))
    print(output)


def explain(study: AnyStudyName = None, storage: StorageUrl = DEFAULT_STORAGE) -> None:
    """Print a summary of what the study found and what the model learned."""
    print(explain_report(_build_report(study, storage)))


def _build_report(study: str | None, storage: str) -> Report:
    with storage_at(storage) as opened:
        return build_study(find_study(opened, study))
