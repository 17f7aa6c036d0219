"""The page: what it holds, that nothing of the user's runs, that little data make a sensible one."""

from __future__ import annotations

import builtins
import json
import math
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import optuna
import pytest

import addtree as at
from addtree import cli
from addtree.errors import ReportError
from addtree.problems import synthetic
from addtree.report import Record, build, plots, write
from addtree.report.html import render
from addtree.report.study import build_study
from addtree.report.text import explain
from tests.report.hostile import HOSTILE, hostile_report
from tests.strategies import sample

SECTIONS = {"best", "progress", "branches", "trust", "why", "variance", "effects", "options", "interactions", "table"}


class Seen(HTMLParser):
    """Tags, attributes, ids and text of a page, scripts apart."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.ids: set[str] = set()
        self.text = ""
        self.scripts: list[str] = []
        self._in: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids |= {value for name, value in attrs if name == "id" and value}
        self._in = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in = None

    def handle_data(self, data: str) -> None:
        if self._in == "script":
            self.scripts[-1] += data
        elif self._in != "style":
            self.text += data


def paper_trials(n: int) -> list[dict[str, Any]]:
    problem = synthetic()
    return [{"config": c, "value": problem.objective(c)} for c in sample(problem.space, n, 0)]


def test_every_section_is_there() -> None:
    page = render(build(synthetic().space, paper_trials(25)))
    seen = Seen(page)
    assert seen.ids >= SECTIONS
    assert len(seen.scripts) == 3
    figures = json.loads(seen.scripts[0])
    assert len(figures) == page.count('class="plot"')
    assert not re.search(r"(src|href)=\"(?!#)", page.split("<script")[0])  # nothing is loaded from anywhere


def test_hostile_names_labels_and_messages_are_text() -> None:
    report = hostile_report()
    page = render(report)
    seen = Seen(page)
    assert set(seen.tags) <= {
        *("html", "head", "meta", "title", "style", "body", "main", "header", "nav", "section", "script", "h1", "h2"),
        *(
            "h3",
            "p",
            "a",
            "div",
            "dl",
            "dt",
            "dd",
            "span",
            "b",
            "i",
            "ul",
            "li",
            "svg",
            "line",
            "circle",
            "polyline",
            "figure",
        ),
        *("figcaption", "table", "thead", "tbody", "tr", "th", "td", "button", "input", "select", "option"),
    }
    assert "b" not in seen.tags or seen.tags.count("b") == page.count("<b>")
    assert not {name for name in seen.attributes if name.startswith("on")}
    assert len(seen.scripts) == 3
    for text in HOSTILE:
        assert text in seen.text, text
    figures = json.loads(seen.scripts[0])
    labels = json.dumps(figures, ensure_ascii=False)
    assert "<img" not in labels  # Plotly would read HTML in labels
    assert "&lt;img" in labels


def test_hostile_names_in_a_terminal() -> None:
    assert HOSTILE[0] in explain(hostile_report())


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_few_trials(n: int) -> None:
    report = build(synthetic().space, paper_trials(n))
    seen = Seen(render(report))
    assert {"best", "branches", "table"} <= seen.ids
    assert (report.learned is None) == (n < 4)
    if n < 4:
        assert "effects need at least 4" in seen.text
        assert "effects need at least 4" in explain(report)


def test_only_failures() -> None:
    known = [Record(i, c, "failed", error="out of memory") for i, c in enumerate(sample(synthetic().space, 9, 0))]
    report = build(synthetic().space, known)
    seen = Seen(render(report))
    assert "No trial has a value yet" in seen.text
    assert "9 of 9 trials failed" in seen.text
    assert "out of memory" in seen.text
    assert "9 × out of memory" in explain(report)


def test_a_space_without_choices() -> None:
    space = at.Space(x=at.Real(0, 1), k=at.Integer(1, 3), c=at.Categorical(["u", "v"]))
    known = [{"config": c, "value": c["x"] ** 2 + c["k"]} for c in sample(space, 15, 0)]
    report = build(space, known)
    seen = Seen(render(report))
    assert "options" not in seen.ids
    assert "effects" in seen.ids
    assert "options" not in explain(report)


def test_one_value_for_all_and_extreme_values() -> None:
    space = at.Space(x=at.Real(0, 1))
    configs = sample(space, 8, 0)
    same = build(space, [{"config": c, "value": 1.5} for c in configs])
    assert "All values are the same" in Seen(render(same)).text
    for scale in (1e300, 1e-300):
        wide = build(space, [{"config": c, "value": scale * c["x"]} for c in configs])
        assert wide.learned is not None
        assert math.isfinite(wide.learned.loo.explained)
        assert "effects" in Seen(render(wide)).ids


def test_figures_for_notebooks() -> None:
    report = build(synthetic().space, paper_trials(20))
    assert report.learned is not None
    curve = report.learned.curves["r8"]
    figure = plots.effect(curve)
    assert list(figure.data[-1].y) == pytest.approx(curve.mean, rel=1e-5)
    bars = plots.shares(report.learned.shares)
    assert sum(x for trace in bars.data for x in trace.x) == pytest.approx(1, abs=1e-3)
    why = plots.contributions(report.learned.best)
    steps = why.data[0]
    assert report.learned.best.expectation + sum(steps.x) == pytest.approx(report.learned.best.observed)


def test_result_report_and_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = at.minimize(synthetic().objective, synthetic().space, n_trials=6, seed=0)
    result.report(tmp_path / "r.html", title="mine")
    assert "mine" in (tmp_path / "r.html").read_text(encoding="utf-8")
    with pytest.raises(ReportError, match="cannot be written"):
        result.report(tmp_path / "nowhere" / "r.html")
    monkeypatch.delitem(sys.modules, "addtree.report.html")
    real = builtins.__import__

    def without_plotly(name: str, *rest: Any, **more: Any) -> Any:
        if name == "plotly" or name.startswith("plotly."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest, **more)

    for name in [name for name in sys.modules if name.startswith("addtree.report.plots")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without_plotly)
    with pytest.raises(ReportError, match=r"pip install 'addtree\[cli\]'"):
        result.report(tmp_path / "r.html")


def test_importing_the_data_needs_no_plotly() -> None:
    code = (
        "import sys, addtree.report; assert not {'plotly', 'optuna', 'pandas'} & {m.split('.')[0] for m in sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---------------------------------------------------------------------- studies


def test_a_define_by_run_study_with_its_own_labels() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: optuna.Trial) -> float:
        layers = trial.suggest_int("layers", 1, 3)
        kind = trial.suggest_categorical("kind", ["relu", None, True])
        width = trial.suggest_int("width", 8, 64, step=8)
        rate = trial.suggest_float("rate", 0.1, 0.5, step=0.1)
        if trial.number == 3:
            raise RuntimeError("no")
        units = [trial.suggest_float(f"u{i}", 0, 1) for i in range(layers)]
        return sum(units) + width / 64 + rate + (kind is None)

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=30, catch=RuntimeError)
    report = build_study(study)
    assert report.count("done") == 29
    assert report.count("failed") == 1
    assert report.best is not None
    assert report.best.config == study.best_params
    assert report.best.seconds is not None
    layers = report.space.variables["layers"]
    assert isinstance(layers, at.Choice)
    assert layers.labels == (1, 2, 3)
    assert report.space.variables["kind"] == at.Categorical(["relu", None, True])
    assert set(report.learned.curves) == {"layers", "kind", "width", "rate", "u0", "u1", "u2"} if report.learned else 0


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.py").write_text(
        "import addtree as at\n"
        "space = at.Space(m=at.Choice(a=at.Space(x=at.Real(0, 1)), b=at.Space()))\n"
        "def objective(config):\n"
        "    if config['m'] == 'b': raise MemoryError('too large')\n"
        "    return config['x']\n"
    )

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["addtree", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0)

    assert run("run", "task.py", "--trials", "12", "--seed", "0", "--maximize") == 0
    assert run("report", "task", "-o", "out.html") == 0
    page = Path("out.html").read_text(encoding="utf-8")
    assert "MemoryError: too large" in page
    assert "largest value" in page
    capsys.readouterr()
    assert run("explain") == 0
    said = capsys.readouterr().out
    assert "task: 12 trials" in said
    assert "x=" in said
    assert run("report", "other") == 4
    assert run("report", "-o", "nowhere/out.html") == 2


# ---------------------------------------------------------------------- size


def test_a_large_report_is_small_enough(tmp_path: Path) -> None:
    from benchmarks.report_size import LIMIT_MB, large

    space, known = large(n_trials=1000, n_choices=25)
    assert len(space.vertices) >= 50
    # a thousand trials but values for 60: the size of the page hardly depends on the model, the time does
    known = [{**t, "state": "done" if i < 60 else "pruned"} for i, t in enumerate(known)]
    write(tmp_path / "large.html", space, known)
    assert (tmp_path / "large.html").stat().st_size < LIMIT_MB * 1e6
