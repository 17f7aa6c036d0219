"""How a run is shown: as text, as HTML in a notebook, as a table of pandas, and as a Plotly figure."""

from __future__ import annotations

import html as _html
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from addtree.errors import AddTreeError, DependencyError
from addtree.trials import Trial

if TYPE_CHECKING:
    from addtree.optimizer import Optimizer

_WIDTH, _HEIGHT = 320, 90  # The size of the small picture in pixels.
_MARGIN = 6  # Pixels between the edge of the picture and its points.
_SHARE_SHOWN = 0.9  # The picture shows the best values up to this quantile, so that a few wild ones do not flatten it.
_MAX_POINTS = 2000  # The picture has at most this many points.


def text(name: str, optimizer: Optimizer, message: str = "") -> str:
    """One line: how many trials there are, and the best of them."""
    return f"<{name}: {_headline(optimizer.trials, message)}; {_best(optimizer)}>"


def html(name: str, optimizer: Optimizer, message: str = "") -> str:
    """The best trial, the progress and the space, for a notebook. Every text of the user is escaped."""
    headline = _headline(optimizer.trials, message)
    return (
        f"<div><p><b>addtree.{name}</b>: {_html.escape(headline)}</p><p>{_html.escape(_best(optimizer))}</p>"
        f"{_picture(optimizer.trials, maximize=optimizer.maximize)}"
        f"<details><summary>space</summary><pre>{_html.escape(str(optimizer.space))}</pre></details></div>"
    )


def _headline(trials: Sequence[Trial], message: str) -> str:
    """The message, or else the number of trials, and how many of them failed or are pending."""
    states = Counter(trial.state for trial in trials)
    head = message or f"{len(trials)} trial{'' if len(trials) == 1 else 's'}"
    others = [f"{states[state]} {state}" for state in ("failed", "pending") if states[state]]
    return f"{head} ({', '.join(others)})" if others else head


def _best(optimizer: Optimizer) -> str:
    try:
        best = optimizer.best
    except AddTreeError:
        return "no value yet"
    return f"best value {best.value!r} in trial {best.id}: {best.config!r}"


def _picture(trials: Sequence[Trial], *, maximize: bool) -> str:
    """The values by trial as dots and the best value so far as a line, as SVG; nothing before the second value."""
    done = [(trial.id, trial.value) for trial in trials if trial.value is not None]
    if len(done) < 2:
        return ""
    ranked = sorted((value for _, value in done), reverse=maximize)
    limit = ranked[int(_SHARE_SHOWN * (len(ranked) - 1))]
    top, bottom = (ranked[0], limit) if maximize else (limit, ranked[0])
    last = trials[-1].id

    def x(number: int) -> str:
        return f"{_MARGIN + (_WIDTH - 2 * _MARGIN) * number / max(last, 1):.1f}"

    def y(value: float) -> str:
        share = (0.5 * min(max(value, bottom), top) - 0.5 * bottom) / ((0.5 * top - 0.5 * bottom) or 1.0)
        return f"{_HEIGHT - _MARGIN - (_HEIGHT - 2 * _MARGIN) * share:.1f}"

    best, line = done[0][1], f"M{x(done[0][0])} {y(done[0][1])}"
    for number, value in done:
        if (value > best) if maximize else (value < best):
            best = value
            line += f"H{x(number)}V{y(value)}"
    shown = done[:: 1 + len(done) // _MAX_POINTS]
    dots = "".join(f'<circle cx="{x(i)}" cy="{y(v)}" r="2" fill="#0072b2" fill-opacity="0.5"/>' for i, v in shown)
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="values by trial and the best so far">'
        f'{dots}<path d="{line}H{x(last)}" fill="none" stroke="#8a8f98" stroke-width="2"/></svg>'
    )


def dataframe(trials: Sequence[Trial]) -> Any:
    """One row per trial, indexed by id: what was told, then one column per parameter, which is None where inactive."""
    try:
        import pandas
    except ImportError as error:
        raise DependencyError("to_dataframe() needs pandas; pip install pandas") from error
    told = ("state", "value", "std", "duration", "error")
    names = dict.fromkeys(name for trial in trials for name in trial.config)
    columns: dict[Any, list[Any]] = {key: [getattr(trial, key) for trial in trials] for key in told}
    for name in names:
        column = f"params_{name}" if name in told else name
        columns[column] = [trial.config.get(name) for trial in trials]
    return pandas.DataFrame(columns, index=pandas.Index([trial.id for trial in trials], name="trial"))


def figure(optimizer: Optimizer) -> Any:
    """The progress of a run as a Plotly figure."""
    try:
        from addtree.report import build, plots
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] not in ("plotly", "optuna"):
            raise
        raise DependencyError("plot() needs Plotly; pip install 'addtree[cli]'") from error
    return plots.progress(build(optimizer.space, optimizer.trials, maximize=optimizer.maximize))
