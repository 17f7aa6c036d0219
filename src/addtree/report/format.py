"""Numbers, values and labels as people read them, on the page and in a terminal."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

from addtree.report.records import Record
from addtree.support.numbers import plural as plural

_MAX_PLAIN = 1e6  # Numbers from 1 up to this one are written without an exponent.


def number(value: float, digits: int = 4) -> str:
    """A number with this many significant digits and a typographic minus sign.

    >>> number(0.000123456), number(-12.0), number(1234.5, 2)
    ('0.0001235', '−12', '1200')
    """
    return _significant(value, digits).replace("-", "−")


def value(value: Any, digits: int = 6) -> str:
    """The value of a parameter, in a form that can be copied: floats are rounded, everything else is as `str` has it.

    >>> value(-0.12345678), value(512), value("adam"), value(None)
    ('-0.123457', '512', 'adam', 'None')
    """
    return _significant(value, digits) if isinstance(value, float) else str(value)


def _significant(value: float, digits: int) -> str:
    short = f"{value:.{digits}g}"
    return f"{float(short):.0f}" if "e" in short and 1 <= abs(value) < _MAX_PLAIN else short


def probability(share: float, draws: int) -> str:
    """A share of independent draws as a probability; a very small or large one says only what the draws can tell.

    >>> probability(0.25, 128), probability(0.0, 128), probability(1.0, 128)
    ('25 %', 'under 3 %', 'over 97 %')
    """
    percent = 100.0 * share
    bound = math.ceil(300.0 / draws)  # rule of three: an event that never occurs in n draws has p < 3/n, at 95 %
    if percent < bound:
        return f"under {bound} %"
    return f"over {100 - bound} %" if percent > 100 - bound else f"{percent:.0f} %"


def label(value: Any, width: int = 400) -> str:
    """Text that Plotly shows literally, cut to at most `width` characters; Plotly reads some HTML in labels.

    >>> label("<b>x</b>")
    '&lt;b&gt;x&lt;/b&gt;'
    """
    plain = str(value).replace("\n", " ")
    return html.escape(plain if len(plain) <= width else plain[: width - 1] + "…", quote=False)


def config_text(trial: Record) -> str:
    """The configuration of a trial in one line."""
    return ", ".join(f"{name}={value(v)}" for name, v in trial.config.items())


def values_text(names: Sequence[str], trial: Record) -> str:
    """The values of a trial in one line."""
    return ", ".join(f"{name} {number(trial.values[name], 5)}" for name in names)
