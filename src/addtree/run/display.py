"""How a run is shown: as text, as HTML in a notebook, as a table of pandas, and as a Plotly figure."""

from __future__ import annotations

import html as _html
import math
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from addtree.errors import AddTreeError, DependencyError
from addtree.run.goals import VALUE
from addtree.run.trials import Trial
from addtree.search.hypervolume import MAX_OBJECTIVES
from addtree.support.numbers import plural

if TYPE_CHECKING:
    from addtree.optimizer import Optimizer

_WIDTH, _HEIGHT = 320, 90  # The size of the small picture in pixels.
_MARGIN = 6  # Pixels between the edge of the picture and its points.
_SHARE_SHOWN = 0.9  # The picture shows the best values up to this quantile: a few extreme ones would flatten it.
_MAX_POINTS = 2000  # The picture has at most this many points.


def text(name: str, optimizer: Optimizer, message: str = "") -> str:
    """One line: how many trials there are, and the best of them."""
    return f"<{name}: {_headline(optimizer.trials, message)}; {_best(optimizer)}>"


def html(name: str, optimizer: Optimizer, message: str = "") -> str:
    """The best trial, the progress and the space, for a notebook. Every text of the user is escaped."""
    headline = _headline(optimizer.trials, message)
    return (
        f"<div><p><b>addtree.{name}</b>: {_html.escape(headline)}</p><p>{_html.escape(_best(optimizer))}</p>"
        f"{_progress_picture(optimizer)}"
        f"<details><summary>space</summary><pre>{_html.escape(str(optimizer.space))}</pre></details></div>"
    )


def _headline(trials: Sequence[Trial], message: str) -> str:
    """The message, or else the number of trials, and how many of them failed or are pending."""
    states = Counter(trial.state for trial in trials)
    head = message or plural(len(trials), "trial")
    others = [f"{states[state]} {state}" for state in ("failed", "pending") if states[state]]
    return f"{head} ({', '.join(others)})" if others else head


def _best(optimizer: Optimizer) -> str:
    if len(optimizer.goals.objectives) > 1:
        ids = [str(trial.id) for trial in optimizer.pareto]
        return f"{plural(len(ids), 'trial')} on the front: {', '.join(ids)}" if ids else "no trial on the front yet"
    try:
        best = optimizer.best
    except AddTreeError:
        return "no value yet" if optimizer.goals.is_single else "no feasible trial yet"
    return f"best value {best.value!r} in trial {best.id}: {best.config!r}"


def _progress_picture(optimizer: Optimizer) -> str:
    """The values and the best so far that keeps the constraints; with several objectives, the hypervolume so far.

    Empty if the number of objectives makes the hypervolume too slow to compute.
    """
    n = len(optimizer.goals.objectives)
    if n > MAX_OBJECTIVES:
        return ""
    if n == 1:
        known = [trial for trial in optimizer.trials if trial.value is not None]
        done = [(trial.id, trial.value) for trial in known if trial.value is not None]
        violating = {trial.id for trial in known if optimizer.goals.violation(trial.values)}
        return _picture(done, violating, maximize=optimizer.maximize, label="values by trial and the best so far")
    volumes = list(enumerate(optimizer.hypervolumes()))
    return _picture(volumes, (), maximize=True, label="hypervolume of the front by trial")


def _picture(done: Sequence[tuple[int, float]], violating: Collection[int], *, maximize: bool, label: str) -> str:
    """Numbers by trial as dots and the best so far as a line, as SVG; nothing before the second number.

    The dots of trials that violate a constraint are paler, and the line leaves them out. The hypervolume of very large
    values is infinite, which no picture can show.
    """
    done = [(number, value) for number, value in done if math.isfinite(value)]
    if len(done) < 2:
        return ""
    ranked = sorted((value for _, value in done), reverse=maximize)
    limit = ranked[int(_SHARE_SHOWN * (len(ranked) - 1))]
    top, bottom = (ranked[0], limit) if maximize else (limit, ranked[0])
    last = done[-1][0]

    def x(number: int) -> str:
        return f"{_MARGIN + (_WIDTH - 2 * _MARGIN) * number / max(last, 1):.1f}"

    def y(value: float) -> str:
        share = (0.5 * min(max(value, bottom), top) - 0.5 * bottom) / ((0.5 * top - 0.5 * bottom) or 1.0)
        return f"{_HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * share:.1f}"

    best, line = -math.inf if maximize else math.inf, ""
    for number, value in done:
        if number not in violating and ((value > best) if maximize else (value < best)):
            best = value
            line += f"H{x(number)}V{y(value)}" if line else f"M{x(number)} {y(value)}"
    shown = done[:: 1 + len(done) // _MAX_POINTS]
    dots = "".join(
        f'<circle cx="{x(i)}" cy="{y(v)}" r="2" fill="#0072b2" fill-opacity="{0.2 if i in violating else 0.5}"/>'
        for i, v in shown
    )
    path = f'<path d="{line}H{x(last)}" fill="none" stroke="#8a8f98" stroke-width="2"/>' if line else ""
    return f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{label}">{dots}{path}</svg>'


def dataframe(optimizer: Optimizer) -> Any:
    """One row per trial, indexed by id: what was told, then one column per parameter, which is None where inactive."""
    try:
        import pandas
    except ImportError as error:
        raise DependencyError("to_dataframe() needs pandas; pip install pandas") from error
    trials, values = optimizer.trials, optimizer.goals.names
    names = dict.fromkeys(name for trial in trials for name in trial.config)
    columns: dict[str, list[Any]] = {"state": [trial.state for trial in trials]}
    for name in values:
        columns[new_column(name, "values", columns)] = [trial.values.get(name) for trial in trials]
    for name in values:
        std = "std" if values == (VALUE,) else f"{name}_std"
        columns[new_column(std, "values", columns)] = [trial.stds.get(name) for trial in trials]
    columns[new_column("duration", "trial", columns)] = [trial.duration for trial in trials]
    reason = "failure" if "error" in columns else "error"
    columns[new_column(reason, "trial", columns)] = [trial.error for trial in trials]
    for name in names:
        columns[new_column(name, "params", columns)] = [trial.config.get(name) for trial in trials]
    return pandas.DataFrame(columns, index=pandas.Index([trial.id for trial in trials], name="trial"))


def new_column(name: str, prefix: str, taken: Collection[str]) -> str:
    """The name of a further column of a table, with a prefix if another column has it."""
    while name in taken:
        name = f"{prefix}_{name}"
    return name


def figure(optimizer: Optimizer) -> Any:
    """The progress of a run, or the front of several objectives, as a Plotly figure."""
    try:
        from addtree.report import front_plots
        from addtree.report.progress import progress
        from addtree.report.summary import build_without_models
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] not in ("plotly", "optuna"):
            raise
        raise DependencyError("plot() needs Plotly; pip install 'addtree[cli]'") from error
    report = build_without_models(optimizer.goals, optimizer.space, optimizer.trials)
    return progress(report) if report.front is None else front_plots.fronts(report)
