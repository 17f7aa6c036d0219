"""Where things are kept, and how they are written."""

from __future__ import annotations

import os
from pathlib import Path

RESULTS = Path(__file__).with_name("results")
REFERENCES = Path(__file__).with_name("references.json")


def write(path: Path, text: str) -> None:
    """All or nothing: a reader never sees half a file."""
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(text)
    part.replace(path)
