"""Our docstrings list arguments as `name  what it is`, two spaces or more between; on the page that becomes a list.

Doctests become blocks of code.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_LINE = re.compile(r"^(\w+)  +(\S.*)$")


class Arguments(griffe.Extension):
    """Rewrites docstrings when the reference is built."""

    def on_instance(self, *, obj: Any, **rest: Any) -> None:
        """Called for every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = _as_list(obj.docstring.value)


def _as_list(text: str) -> str:
    out: list[str] = []
    listed = fenced = False
    for line in text.splitlines():
        found = None if fenced else _LINE.match(line)
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
