"""The gallery in the documentation shows every example as it is now."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from docs import gallery

PAGE = gallery.PAGE.read_text(encoding="utf-8")


def test_every_example_has_an_entry() -> None:
    files = {path.name for path in gallery.EXAMPLES.iterdir() if path.is_file()}
    assert {entry.file for entry in gallery.ENTRIES} == files


@pytest.mark.parametrize("entry", gallery.ENTRIES, ids=lambda entry: entry.file)
def test_the_page_shows_the_example_as_it_is_now(entry: Any) -> None:
    assert gallery.head(entry) in PAGE, f"examples/{entry.file} has changed; run `make gallery`"
    assert entry.picture is None or (entry.picture.is_file() and f"(img/{entry.picture.name})" in PAGE)


def test_every_example_that_runs_has_an_output() -> None:
    assert PAGE.startswith(gallery.INTRODUCTION)
    sections = PAGE.split("\n## ")[1:]
    assert len(sections) == len(gallery.ENTRIES)
    for entry, section in zip(gallery.ENTRIES, sections, strict=True):
        assert bool(re.search(r"```text\n.+?\n```", section, re.DOTALL)) == entry.runs, entry.file


def test_a_fast_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    (entry,) = (entry for entry in gallery.ENTRIES if entry.file == "compressor.json")
    (tmp_path / "examples").symlink_to(gallery.EXAMPLES)
    assert f"```text\n{gallery.output(entry, tmp_path)}\n```" in PAGE
