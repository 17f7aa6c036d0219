"""Writing files whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

_NAME_LENGTH = 50  # A temporary file takes this many characters of the name, so that its own name is not too long.


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`, and move it over `path` when the block ends without an error.

    A reader, or a process that is killed, sees the old file or the new one, never a part of either. A symbolic link
    stays a link. A device or a pipe cannot be replaced, so it is yielded itself.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        yield target
        return
    # Threads, processes and machines that share the folder may write to one path at the same time.
    temporary = target.with_name(f".{target.name[:_NAME_LENGTH]}.{uuid.uuid4().hex}.tmp")
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a file to write text as UTF-8, whole or not at all.

    A lone surrogate, which UTF-8 cannot encode, becomes its escape sequence: \\ud800. That is what JSON has for it.
    """
    with (
        replaced(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file
        file.flush()
        if temporary.is_file():
            os.fsync(file.fileno())  # some file systems report a full disk only now


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8, whole or not at all."""
    with open_text(path) as file:
        file.write(text)
