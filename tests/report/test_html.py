"""The page: its sections, little or hostile data, its size."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import addtree as at
from addtree.problems import synthetic
from addtree.report import Limits, Record, build, write
from addtree.report.format import number
from addtree.report.html import render
from addtree.report.text import explain
from benchmarks.report_size import LIMIT_MB, large
from tests.report.cases import evaluated, paper_report, paper_trials
from tests.report.hostile import HOSTILE, hostile_report
from tests.strategies import sample

SECTIONS = {
    "best",
    "progress",
    "branches",
    "trust",
    "optima",
    "why",
    "variance",
    "effects",
    "options",
    "interactions",
    "table",
}
TAGS = (
    "html head meta title style body main header nav section script h1 h2 h3 p a div dl dt dd span b i ul li svg line "
    "circle polyline figure figcaption table thead tbody tr th td button input select option"
)


class Page(HTMLParser):
    """Tags, attributes, ids, scripts and text of a page; styles and scripts are not text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.ids: set[str] = set()
        self.text = ""
        self.scripts: list[str] = []
        self._inside: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids |= {value for name, value in attrs if name == "id" and value}
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data


def test_every_section_is_there() -> None:
    html = render(paper_report(25))
    page = Page(html)
    assert page.ids >= SECTIONS
    assert len(page.scripts) == 3
    figures = json.loads(page.scripts[0])
    assert len(figures) == html.count('class="plot"')
    assert not re.search(r"(src|href)=\"(?!#)", html.split("<script")[0])  # nothing is loaded from elsewhere


def test_the_star_marks_the_path_of_the_best_configuration() -> None:
    space = at.Space(m=at.Choice(a=at.Space(), b=at.Space()))
    html = render(build(space, [Record(0, {"m": "a"}, "done", 2.0), Record(1, {"m": "b"}, "done", 1.0)]))
    assert re.search(r'class="label">b <span class="star"', html)
    assert not re.search(r'class="label">a <span class="star"', html)


def test_the_trust_and_the_optima_are_in_words() -> None:
    report = paper_report(25)
    page = Page(render(report))
    assert report.learned is not None
    trust, choices = report.learned.trust, report.learned.optima
    assert trust.verdict in page.text
    assert f"{trust.coverage_95:.0%} inside their 95 % intervals" in page.text
    assert [choice.choice for choice in choices] == ["x1", "x2", "x3"]
    assert "x2 when x1=0" in page.text
    for choice in choices:
        for option in choice.options:
            assert option.verdict in page.text
            assert number(option.median) in page.text


def test_one_trial_is_called_one_trial() -> None:
    space = at.Space(x=at.Real(0, 1))
    trial = Record(0, {"x": 0.5}, "done", {"value": 1.0, "size": 1.0})
    text = Page(render(build(space, [trial], constraints={"size": 2.0}))).text
    assert "1trial with a value1keeps the constraint" in text  # without the tags between them
    assert "1 trials" not in text


def test_hostile_names_labels_and_messages_are_text() -> None:
    html = render(hostile_report())
    page = Page(html)
    assert set(page.tags) <= set(TAGS.split())
    assert page.tags.count("b") == html.count("<b>")
    assert not {name for name in page.attributes if name.startswith("on")}
    assert len(page.scripts) == 3
    for text in HOSTILE:
        assert text in page.text, text
    labels = json.dumps(json.loads(page.scripts[0]), ensure_ascii=False)
    assert "<img" not in labels  # Plotly would read it as HTML
    assert "&lt;img" in labels


def test_figures_have_no_angle_bracket_that_could_end_their_script() -> None:
    space = at.Space(lr=at.Real(0, 1), opt=at.Choice(sgd=at.Space(), adam=at.Space()))
    report = build(space, evaluated(space, lambda c: (c["lr"] - (c["opt"] == "sgd")) ** 2, 20))
    assert report.learned is not None
    assert report.learned.interactions  # whose template for hover texts has a tag
    assert not {"<", ">"} & set(Page(render(report)).scripts[0])


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_few_trials(n: int) -> None:
    report = build(synthetic().space, paper_trials(n))
    page = Page(render(report))
    assert {"best", "branches", "table"} <= page.ids
    assert (report.learned is None) == (n < 4)
    assert ("effects need at least 4" in page.text) == (n < 4)


def test_only_failures() -> None:
    known = [Record(i, c, "failed", error="out of memory") for i, c in enumerate(sample(synthetic().space, 9, 0))]
    page = Page(render(build(synthetic().space, known)))
    assert "No trial has a value yet" in page.text
    assert "9 of 9 trials failed" in page.text
    assert "out of memory" in page.text


def test_a_space_without_choices() -> None:
    space = at.Space(x=at.Real(0, 1), k=at.Integer(1, 3), c=at.Categorical(["u", "v"]))
    page = Page(render(build(space, evaluated(space, lambda c: c["x"] ** 2 + c["k"], 15))))
    assert "options" not in page.ids
    assert "optima" not in page.ids
    assert "effects" in page.ids


def test_equal_values_and_extreme_values() -> None:
    space = at.Space(x=at.Real(0, 1))
    assert "All values are the same" in Page(render(build(space, evaluated(space, lambda c: 1.5, 8)))).text
    for scale in (1e300, 1e-300):
        wide = build(space, evaluated(space, lambda c, scale=scale: scale * c["x"], 8))
        assert wide.learned is not None
        assert math.isfinite(wide.learned.trust.explained)
        assert "effects" in Page(render(wide)).ids


@pytest.mark.parametrize("n_choices", [5, pytest.param(25, marks=pytest.mark.slow)])
def test_a_large_report_is_small_enough(n_choices: int, tmp_path: Path) -> None:
    space, known = large(n_trials=1000, n_choices=n_choices)
    assert len(space.vertices) >= 2 * n_choices
    # Only 60 of 1,000 trials have a value: that saves most of the time and hardly changes the size of the page.
    known = [{**t, "state": "done" if i < 60 else "pruned"} for i, t in enumerate(known)]
    write(tmp_path / "large.html", space, known)
    assert (tmp_path / "large.html").stat().st_size < LIMIT_MB * 1e6


def no_constant(name: str) -> float:
    raise AssertionError(f"JSON has no {name}")


def strict_figures(page: str) -> list[dict[str, object]]:
    """The figures in a page; fails if they are not JSON that a browser accepts."""
    text = next(script for script in Page(page).scripts if script.startswith("["))
    found: list[dict[str, object]] = json.loads(text, parse_constant=no_constant)
    return found


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0, 4.0, 5.0], [2.0] * 5])
def test_an_empty_space(values: list[float]) -> None:
    known = [Record(i, {}, "done", value) for i, value in enumerate(values)]
    known.append(Record(len(values), {}, "failed", error="boom"))
    report = build(at.Space(), known)
    assert report.notes
    assert report.tallies[0].tried == len(known)
    assert {"best", "branches", "table"} <= Page(render(report)).ids
    strict_figures(render(report))


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("size", [1.7e308, 1e-310])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.filterwarnings("error")
def test_values_that_arithmetic_cannot_handle(size: float, maximize: bool, mixed: bool) -> None:
    space = at.Space(x=at.Real(-1, 1), model=at.Choice(a=at.Space(), b=at.Space(k=at.Integer(1, 9))))
    configs = sample(space, 16, 0)
    values = [config["x"] if mixed and i % 3 == 0 else size * (-1) ** i for i, config in enumerate(configs)]
    known = [Record(i, config, "done", value) for i, (config, value) in enumerate(zip(configs, values, strict=True))]
    report = build(space, known, maximize=maximize, limits=Limits(draws=2))
    page = render(report)
    strict_figures(page)
    for text in (Page(page).text, explain(report)):
        assert not re.search(r"\b(nan|inf)\b", text)
    assert not re.search(r'points="[^"]*(nan|inf)', page)
    if size > 1:
        assert any("count as ±1e+300" in note for note in report.notes)


def test_lone_surrogates(tmp_path: Path) -> None:
    space = at.Space(x=at.Real(0, 1), c=at.Choice({"a\ud800": at.Space(), "b": at.Space()}))
    known = [Record(i, c, "done", float(c["x"])) for i, c in enumerate(sample(space, 8, 0))]
    known.append(Record(8, known[0].config, "failed", error="bad \udcff"))
    write(tmp_path / "report.html", space, known, title="title \ud800")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "title \\ud800" in page
    assert "bad \\udcff" in page
    strict_figures(page)


def test_numbers_that_open_parameters_and_constants_are_in_the_tree() -> None:
    space = at.Space(
        n=at.Integer(1, 3, opens={(2, 3): at.Space(u=at.Real(0, 1)), (3, 3): at.Space(v=at.Integer(8, 64, step=8))}),
        size=at.Categorical(["low", "mid", "high"], ordered=True),
        k=at.Integer(4, 4),
    )
    trials = evaluated(space, lambda c: c["n"] + c.get("u", 0.5), 20)
    trials.append(Record(20, {**trials[0].config, "n": 3, "u": 0.1, "v": 8}, "failed", error="no"))
    page = render(build(space, trials))
    for text in ("2..3", "3..3", "constant 4", "integer 8..64 step 8", "n in 3..3"):
        assert text in page
