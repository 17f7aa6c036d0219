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


def table(kind: str, head: str, body: str) -> str:
    """A table that scrolls if the page is narrow; `kind` is its CSS class, `head` a row, `body` one tbody or more."""
    return f'<div class="scroll"><table class="{kind}"><thead>{head}</thead>{body}</table></div>'


def row(kinds: Iterable[str], cells: Iterable[str], tag: str = "td") -> str:
    """A row of a table; `kinds` are the CSS classes of its cells."""
    scope = ' scope="col"' if tag == "th" else ""
    filled = (f'<{tag} class="{k}"{scope}>{escape(cell)}</{tag}>' for k, cell in zip(kinds, cells, strict=True))
    return f"<tr>{''.join(filled)}</tr>"


def row_group(title: str, columns: int, rows: Iterable[str]) -> str:
    """Rows of a table below a heading that spans all columns."""
    head = f'<tr><th class="text" colspan="{columns}" scope="rowgroup">{escape(title)}</th></tr>'
    return f"<tbody>{head}{''.join(rows)}</tbody>"
