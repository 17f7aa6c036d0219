"""The page in headless Chromium; skipped if it is not installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import addtree as at
from addtree.problems import interaction
from addtree.report import Record, build, write_page
from tests.report.hostile import HOSTILE, hostile_report
from tests.report.test_html import SECTIONS
from tests.strategies import sample

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as p:
        found = p.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    problem = interaction()
    known = [
        Record(i, c, "done", problem.objective(c), None, i / 10) for i, c in enumerate(sample(problem.space, 40, 0))
    ]
    known += [Record(40 + i, c, "failed", error="diverged") for i, c in enumerate(sample(problem.space, 4, 1))]
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_page(path, build(problem.space, known, title="interaction"))
    return path


def wait(view: Any, condition: str) -> None:
    """Wait until a condition holds. Playwright's own method uses eval, which the page does not allow."""
    for _ in range(600):
        if view.evaluate(condition):
            return
        view.wait_for_timeout(50)
    raise AssertionError(f"after 30 s this still does not hold: {condition}")


def opened(browser: Any, path: Path, *, width: int = 1280, dark: bool = False) -> tuple[Any, list[str]]:
    """The page, scrolled through until everything is drawn, and its errors and requests to other addresses."""
    view = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light")
    wrong: list[str] = []
    view.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
    view.on("pageerror", lambda error: wrong.append(str(error)))
    view.on("request", lambda request: request.url.startswith(("file:", "data:", "blob:")) or wrong.append(request.url))
    view.goto(path.as_uri())
    drawn = "[...document.querySelectorAll('.plot')].every(p => p.querySelector('svg.main-svg'))"
    for _ in range(3):
        for y in range(0, view.evaluate("document.documentElement.scrollHeight"), 700):
            view.evaluate(f"window.scrollTo(0, {y})")
            view.screenshot()  # makes the browser render what is visible now, also on a busy machine
        if view.evaluate(drawn):
            break
    wait(view, drawn)
    return view, wrong


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_it_opens_and_draws_everything(browser: Any, page_file: Path, width: int, dark: bool) -> None:
    view, wrong = opened(browser, page_file, width=width, dark=dark)
    assert wrong == []
    for key in SECTIONS:
        assert view.locator(f"section#{key}").is_visible(), key
    assert view.locator("section#failures").is_visible()
    assert view.evaluate("document.documentElement.scrollWidth") == width  # nothing is wider than the page
    tree = view.locator("#tree").bounding_box()
    assert tree["height"] > 150
    assert view.locator("#tree li.option").count() == 6
    assert view.locator("#tree .whisker circle").count() == 6
    assert view.locator("#optima .plot path.point").count() >= 6
    assert view.locator("#optima tbody tr").count() == 3 + 6  # a title per choice, a row per option
    assert view.locator("#optima td.detail").first.is_visible() == (width > 560)
    curve = view.locator("#effects .plot path.js-line").first
    assert curve.bounding_box()["width"] > 100
    background = view.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 200) == dark
    view.close()


@pytest.mark.parametrize("width", [1280, 400])
def test_long_names_leave_room_for_values_and_intervals(browser: Any, tmp_path: Path, width: int) -> None:
    model = at.Choice(**{f"option {i} with a rather long name": at.Space() for i in range(12)})
    space = at.Space(**{"a_long_name_" * 4: at.Integer(1000, 9999), "model": model})
    known = [Record(i, c, "done", float(i % 7)) for i, c in enumerate(sample(space, 24, 0))]
    write_page(tmp_path / "long.html", build(space, known))
    view, wrong = opened(browser, tmp_path / "long.html", width=width)
    assert wrong == []
    number = view.locator("#best .config dd").first.bounding_box()
    assert number["height"] < number["width"]  # its digits stand side by side
    intervals = view.locator("#optima .plot .cartesianlayer .gridlayer").first.bounding_box()
    assert intervals["width"] > width / 3
    view.close()


def column(view: Any, number: int) -> list[str]:
    rows = view.locator("#trials tbody tr:not([hidden])")
    return [str(text) for text in rows.locator(f"td:nth-child({number})").all_inner_texts()]


def test_the_table_sorts_and_filters(browser: Any, page_file: Path) -> None:
    view, wrong = opened(browser, page_file)
    head = view.locator("#trials th button", has_text="value")
    head.click()
    up = [float(text) for text in column(view, 2) if text]
    assert up == sorted(up)
    assert column(view, 2)[-4:] == [""] * 4  # failed trials come last in either order
    head.click()
    assert [float(text) for text in column(view, 2) if text] == up[::-1]
    assert column(view, 2)[-4:] == [""] * 4
    view.locator("#state").select_option("failed")
    assert column(view, 3) == ["failed"] * 4
    view.locator("#state").select_option("")
    view.locator("#words").fill("x1=0 x2=1")
    kept = column(view, 5)
    assert 0 < len(kept) < 44
    assert all("x1=0" in text and "x2=1" in text for text in kept)
    assert view.locator("#shown").inner_text() == f"{len(kept)} of 44"
    assert wrong == []
    view.close()


def test_changing_the_theme_draws_again(browser: Any, page_file: Path) -> None:
    view, wrong = opened(browser, page_file)
    colour = "getComputedStyle(document.querySelector('#progress .xtick text')).fill"
    light = view.evaluate(colour)
    view.emulate_media(color_scheme="dark")
    wait(view, f"{colour} !== '{light}'")
    assert wrong == []
    view.close()


def test_hostile_text_runs_nothing(browser: Any, tmp_path: Path) -> None:
    write_page(tmp_path / "hostile.html", hostile_report())
    view, wrong = opened(browser, tmp_path / "hostile.html")
    assert wrong == []
    assert view.evaluate("window.hacked") is None
    for tag in ("img", "iframe", "object", "embed"):
        assert view.locator(tag).count() == 0
    assert view.locator("a[href^='javascript']").count() == 0
    text = view.locator("body").text_content()
    for hostile in HOSTILE:
        assert hostile in text
    labels = " ".join(view.locator(".plot text").all_text_contents())
    assert "<img src=x" in labels  # the labels of Plotly are text, too
    view.close()


def test_a_click_on_the_front_shows_the_configuration(browser: Any, tmp_path: Path) -> None:
    space = at.Space(m=at.Choice(a=at.Space(x=at.Real(0, 1)), b=at.Space(y=at.Real(0, 1))))
    known = [
        {"config": c, "value": {"f": c.get("x", 0.5), "g": -c.get("x", c.get("y", 0.0))}} for c in sample(space, 12, 0)
    ]
    report = build(space, known, objectives={"f": "min", "g": "min"}, constraints={})
    assert report.front is not None
    write_page(tmp_path / "front.html", report)
    view, wrong = opened(browser, tmp_path / "front.html")
    assert view.locator("#picked").inner_text() == ""
    view.locator("#front .plot .point").last.click(force=True)
    wait(view, "document.querySelector('#picked').textContent !== ''")
    shown = view.locator("#picked").inner_text()
    trial = report.trials[int(shown.split()[1])]
    for name in (*trial.values, *trial.config):
        assert name in shown.split()
    assert view.evaluate("document.documentElement.scrollWidth") == 1280
    assert wrong == []
    view.close()
