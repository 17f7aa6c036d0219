"""Reports: what a run found, and what a model learned from its trials.

`write` makes one HTML page that opens offline, `build` gives the same content as plain data, and `plots` draws single
pictures for notebooks.

    records       trials in one form, whoever ran them
    model         models of the trials
    axes          a parameter or choice as positions that configurations can be moved to
    sampling      configurations that nobody evaluated
    effects       effects of parameters and options under a model
    importance    shares of the variance, and interactions
    trust         how well the model predicts trials that it has not seen
    optima        how good each branch can get
    front         the best trade-offs of several objectives
    feasibility   where constraints are kept and evaluations succeed
    failures      where trials fail, as a rule in words
    history       what became of what earlier studies said
    summary       everything that a report shows, as plain data
    format        numbers and labels as people read them
    bars          horizontal bars and intervals with long labels
    plots         the pictures
    progress      the picture of a run with one objective
    front_plots   pictures of fronts and probabilities
    tree          the tree with what was tried and learned
    sections      what the sections of the page share
    learned       the sections about what the models learned
    tradeoffs     the sections about fronts, constraints and failures
    history_html  the section about earlier studies
    html          the page
    text          the short form for a terminal
    study         the report of an Optuna study
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from addtree.errors import OptionError, ReportError
from addtree.report.model import DEFAULT_LIMITS, Limits
from addtree.report.records import Record
from addtree.report.summary import Report, build, build_for
from addtree.run.goals import Bounds, Goals, Noise
from addtree.space.space import Space
from addtree.support.files import write_text

__all__ = ["Limits", "Record", "Report", "ReportError", "build", "build_for", "write", "write_page"]


def write(
    path: str | os.PathLike[str],
    space: Space,
    trials: Iterable[Any],
    *,
    maximize: bool = False,
    objectives: Mapping[str, str] | None = None,
    constraints: Mapping[str, Bounds] | None = None,
    title: str = "addtree",
    limits: Limits = DEFAULT_LIMITS,
    noise: Noise = None,
    reference_point: Mapping[str, float] | None = None,
    history: Sequence[Any] = (),
) -> Report:
    """Write the report of some trials to an HTML file, and return its content. The arguments are those of `build`."""
    goals = Goals.read(objectives, constraints, maximize=maximize, noise=noise, reference_point=reference_point)
    report = build_for(goals, space, trials, title=title, limits=limits, history=history)
    write_page(path, report)
    return report


def write_page(path: str | os.PathLike[str], report: Report) -> None:
    """Write a report to an HTML file. If that fails, a file that was there before stays as it is."""
    try:
        from addtree.report.html import render
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] != "plotly":
            raise
        raise ReportError("the report needs Plotly; pip install 'addtree[cli]'") from error
    if not isinstance(path, (str, os.PathLike)):
        raise OptionError(f"path={path!r} must be the path of a file, such as 'report.html'")
    page = render(report)
    try:
        if Path(path).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        write_text(Path(path), page)
    except (OSError, ValueError) as error:  # a ValueError if the path has a null byte
        reason = getattr(error, "strerror", None) or error
        raise ReportError(f"{Path(path)} cannot be written: {reason}; give another path") from error
