"""Turns our docstrings into Markdown for the API reference.

Our docstrings list arguments as `name  meaning`, with two or more spaces between the two. On the page they become a
list. Doctests become blocks of code.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ARGUMENT = re.compile(r"^(\w+)  +(\S.*)$")


class Arguments(griffe.Extension):
    """Rewrites every docstring when the reference is built."""

    def on_instance(self, *, obj: Any, **rest: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = _as_markdown(obj.docstring.value)


def _as_markdown(text: str) -> str:
    """The docstring with arguments as a list and doctests as blocks of code."""
    out: list[str] = []
    listed = fenced = False
    for line in text.splitlines():
        found = None if fenced else _ARGUMENT.match(line)
        if line.startswith(">>>") and not fenced:
            out.append("```pycon")
            fenced = True
        if fenced and not line:
            out.append("```")
            fenced = False
        if found:
            out += [] if listed or not out or not out[-1] else [""]
            out.append(f"- `{found[1]}`: {found[2]}")
        else:
            out.append(line)
        listed = bool(found) or (listed and line.startswith(" "))
    return "\n".join([*out, "```"] if fenced else out)
