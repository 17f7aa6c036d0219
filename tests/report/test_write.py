"""Writing a report: where it goes, and what happens when it cannot be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import addtree as at
from addtree.errors import OptionError, ReportError
from addtree.problems import synthetic
from addtree.report import write
from tests.report.cases import paper_trials

WRITE = """
import sys
from addtree.errors import ReportError
from addtree.problems import synthetic
from addtree.report import write
{before}
try:
    write(sys.argv[1], synthetic().space, [])
except ReportError as error:
    print(error)
"""


def write_elsewhere(path: Path, before: str) -> str:
    """Try to write a report in a process of its own, after running some code there; returns the ReportError."""
    command = [sys.executable, "-c", WRITE.format(before=before), str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_report_of_a_result(tmp_path: Path) -> None:
    result = at.minimize(synthetic().objective, synthetic().space, n_trials=6, seed=0)
    result.report(tmp_path / "r.html", title="mine")
    assert "mine" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.parametrize("path", ["nowhere/r.html", ".", "folder", "", "null\0byte"])
def test_a_path_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    with pytest.raises(ReportError, match="cannot be written"):
        write(path, synthetic().space, paper_trials(1))
    assert [found.name for found in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(("path", "title", "message"), [(None, "mine", "path=None"), ("r.html", 3, "title=3")])
def test_a_wrong_argument_is_named(tmp_path: Path, path: Any, title: Any, message: str) -> None:
    result = at.minimize(synthetic().objective, synthetic().space, n_trials=1, seed=0)
    with pytest.raises(OptionError, match=f"^{message} must be"):
        result.report(path, title=title)


def test_a_failed_write_leaves_the_old_report_alone(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="a limit on the size of files needs POSIX")
    path = tmp_path / "r.html"
    path.write_text("the old report", encoding="utf-8")
    too_small = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"
    assert "cannot be written: File too large" in write_elsewhere(path, too_small)
    assert path.read_text(encoding="utf-8") == "the old report"
    assert [found.name for found in tmp_path.iterdir()] == ["r.html"]


def test_without_plotly_the_error_names_the_extra(tmp_path: Path) -> None:
    without_plotly = "sys.modules['plotly'] = None  # what an import finds if a package is not installed"
    assert "pip install 'addtree[cli]'" in write_elsewhere(tmp_path / "r.html", without_plotly)
    assert not (tmp_path / "r.html").exists()


def test_the_data_need_no_plotly() -> None:
    code = (
        "import sys, addtree.report; assert not {'plotly', 'optuna', 'pandas'} & {m.split('.')[0] for m in sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
