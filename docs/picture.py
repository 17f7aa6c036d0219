"""Make the picture of the README and of the start page: `make picture` (needs Chromium).

It runs the demo (examples/cash.py, 40 trials, seed 0), writes the report, and takes a screenshot of two sections.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import sync_playwright

import addtree as at

ROOT = Path(__file__).parents[1]
SECTIONS = ("branches", "effects")  # The picture shows these sections of the report.
N_FIGURES = 2  # The picture shows this many of their figures.


def photograph(report: Path, sections: Sequence[str], picture: Path, n_figures: int = N_FIGURES) -> None:
    """Take a screenshot of some sections of a report, with at most this many of their figures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        view = browser.new_page(viewport={"width": 1000, "height": 2600})
        view.goto(report.resolve().as_uri())
        hide = "keys => document.querySelectorAll('section').forEach(s => s.hidden = !keys.includes(s.id))"
        view.evaluate(hide, list(sections))
        view.evaluate("document.querySelector('nav').remove()")
        shown = "section:not([hidden]) figure"
        view.evaluate(f"n => document.querySelectorAll('{shown}').forEach((f, i) => i >= n && f.remove())", n_figures)
        view.wait_for_timeout(1500)
        view.locator("main").screenshot(path=picture)
        browser.close()


def main() -> None:
    """Make the picture."""
    sys.path.insert(0, str(ROOT))
    from examples.cash import objective, space

    result = at.minimize(objective, space, n_trials=40, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        result.report(report, title="Which classifier for the digits?")
        photograph(report, SECTIONS, ROOT / "docs" / "img" / "report.png")


if __name__ == "__main__":
    main()
