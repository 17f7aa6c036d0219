"""What the sections of the page share: HTML for captions, cards, configurations and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any, NamedTuple

import plotly.graph_objects as go

from addtree.report.format import value

Embed = Callable[[go.Figure], str]  # Adds a figure to the page and returns the element that shows it.

_MAX_COLUMNS = 4  # Up to this many values have a column each, so that a row of cards compares them.


class Section(NamedTuple):
    """One section of the page; the body is HTML."""

    id: str
    title: str
    body: str


def caption(words: str) -> str:
    """A paragraph that explains what follows."""
    return f'<p class="soft">{escape(words)}</p>'


def card(title: str, words: str, plot: str) -> str:
    """A figure with its title and a caption."""
    return f"<figure><h3>{escape(title)}</h3><figcaption>{escape(words)}</figcaption>{plot}</figure>"


def grid(cards: Iterable[str], columns: int = 0) -> str:
    """Cards in as many columns as fit, or in a given number of columns if that is small."""
    if 0 < columns <= _MAX_COLUMNS:
        return f'<div class="grid columns" style="--columns:{columns}">{"".join(cards)}</div>'
    return f'<div class="grid">{"".join(cards)}</div>'


def definitions(items: Mapping[str, Any]) -> str:
    """Names and values of a configuration."""
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value(v))}</dd></div>" for name, v in items.items())
    return f'<dl class="config">{rows}</dl>'


def tiles(items: Iterable[tuple[str, str]]) -> str:
    """Large numbers, each with a few words."""
    return f'<div class="tiles">{"".join(f"<div><b>{n}</b>{escape(words)}</div>" for n, words in items)}</div>'
