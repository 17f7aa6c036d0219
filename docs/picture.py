"""Make the picture of the README and of the start page: `make picture` (needs Chromium).

It runs the demo (examples/cash.py, 40 trials, seed 0), writes the report, and takes a screenshot of two sections.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import addtree as at

ROOT = Path(__file__).parents[1]
SECTIONS = ("branches", "effects")  # The picture shows these sections of the report.
N_FIGURES = 2  # The picture shows this many of their figures.


def main() -> None:
    """Make the picture."""
    sys.path.insert(0, str(ROOT))
    from examples.cash import objective, space

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    result = at.minimize(objective, space, n_trials=40, seed=0)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        page = Path(folder) / "report.html"
        result.report(page, title="Which classifier for the digits?")
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        view = browser.new_page(viewport={"width": 1000, "height": 2600})
        view.goto(page.as_uri())
        hide = "keys => document.querySelectorAll('section').forEach(s => s.hidden = !keys.includes(s.id))"
        view.evaluate(hide, list(SECTIONS))
        view.evaluate("document.querySelector('nav').remove()")
        view.evaluate("n => document.querySelectorAll('figure').forEach((f, i) => i >= n && f.remove())", N_FIGURES)
        view.wait_for_timeout(1500)
        view.locator("main").screenshot(path=ROOT / "docs" / "img" / "report.png")
        browser.close()


if __name__ == "__main__":
    main()
