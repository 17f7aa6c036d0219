"""Writing files whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`, and move it over `path` when the block ends without an error.

    A reader, or a process that is killed, sees the old file or the new one, never a part of either.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8, whole or not at all."""
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
