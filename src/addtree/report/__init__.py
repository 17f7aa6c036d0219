"""Let people see what a run found and what the model learned.

`write` makes one HTML page that opens offline; `build` the same as plain data; `plots` the pictures for notebooks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from addtree.errors import ReportError
from addtree.report.records import Record
from addtree.report.summary import Report, build
from addtree.space.space import Space

__all__ = ["Record", "Report", "ReportError", "build", "write", "write_page"]


def write(
    path: str | os.PathLike[str], space: Space, trials: Iterable[Any], *, maximize: bool = False, title: str = "addtree"
) -> Report:
    """Write the report of some trials to an HTML file; returns what it shows.

    trials  `Trial`s of an optimizer, `Record`s, or mappings with the names of a `Record`
    """
    report = build(space, trials, maximize=maximize, title=title)
    write_page(path, report)
    return report


def write_page(path: str | os.PathLike[str], report: Report) -> None:
    """Write a report that was built already."""
    try:
        from addtree.report.html import render
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] != "plotly":
            raise
        raise ReportError("the report needs Plotly; pip install 'addtree[cli]'") from error
    page = render(report)
    try:
        Path(path).write_text(page, encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{os.fspath(path)} cannot be written: {error.strerror}; give another path") from error
