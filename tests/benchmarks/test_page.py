"""The page of results in the documentation."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import page, report
from benchmarks.support import recorded, regret
from benchmarks.support.files import RECORDED

TASK, OTHER = "function/synthetic", "options/2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """addtree beats the peer on one task and loses on the other; a third method has short runs of one task."""
    rng = np.random.default_rng(0)
    ends = {"random": (1.0, 1.0), "addtree": (0.2, 0.6), "addtree-define-by-run": (0.3, 0.6), "peer": (0.6, 0.2)}
    for method, levels in ends.items():
        for task, level in zip((TASK, OTHER), levels, strict=True):
            for seed in range(12):
                write(tmp_path, task, method, seed, 0.1 + level * (1 + 0.1 * rng.random(100)))
    write(tmp_path, TASK, "slow", 0, np.full(40, 0.15))
    return tmp_path


def write(folder: Path, task: str, method: str, seed: int, values: np.ndarray) -> None:
    path = folder / task.replace("/", "__") / method / f"{seed}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    run = {"task": task, "method": method, "seed": seed, "values": values.tolist(), "seconds": [0.001] * len(values)}
    path.write_text(json.dumps(run | {"versions": {"python": "3.11", method: "1.0", "x": "unknown"}}))


@pytest.mark.filterwarnings("ignore:.*Matplotlib.*")
def test_the_page_names_what_is_significant_and_the_shares(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the figures need matplotlib, from the extra bench")
    docs = tmp_path / "docs"
    docs.mkdir()
    (tmp_path / "README.md").write_text(f"before\n\n{page.BEGIN}\n\nold\n\n{page.END}\n\nafter\n")
    page.main(["--results", str(folder), "--recorded", str(tmp_path / "recorded"), "--docs", str(docs)])
    text = (docs / "benchmark-results.md").read_text()
    assert (docs / "benchmark" / "regret.svg").exists()
    assert f"| addtree | 100 | 4 | 3 | 1 | peer on {OTHER} |" in text
    assert "| all tasks: addtree / best peer |" in text
    assert "| all tasks: addtree / best peer, medians over tasks |" in text
    short = text.split("## Methods with fewer runs")[1].split("## Task by task")[0]
    assert [line.split(" | ")[:2] for line in short.split("\n") if TASK in line] == [
        [f"| {TASK}", "slow"],
        [f"| {TASK}", "addtree"],
    ]
    assert "peer 1.0, python 3.11" in text
    assert page.FEWER_RUNS not in text
    readme = (tmp_path / "README.md").read_text()
    assert readme.startswith(f"before\n\n{page.BEGIN}\n\n| method | at 20 |")
    assert readme.endswith(f"|\n\n{page.END}\n\nafter\n")


def test_few_seeds_are_not_tested(folder: Path) -> None:
    runs = regret.read(folder, 100)
    assert page.tested(runs, "addtree", 100) == {
        ("random", TASK): (False, True),
        ("random", OTHER): (False, True),
        ("peer", TASK): (False, True),
        ("peer", OTHER): (True, True),
    }
    few = {
        task: {m: regret.Runs(r.seeds[:9], r.values[:9], r.seconds[:9]) for m, r in each.items()}
        for task, each in runs.items()
    }
    assert page.tested(few, "addtree", 100) == {}


def test_holm_corrects_for_the_tasks_of_a_peer(folder: Path) -> None:
    runs = regret.read(folder, 100)
    ten = {m: regret.Runs(r.seeds[:10], r.values[:10], r.seconds[:10]) for m, r in runs[TASK].items()}
    for n, significant in ((25, True), (26, False)):  # the least p-value of ten pairs is 2^-9
        many = {f"function/{i}": ten for i in range(n)}
        assert {verdict[1] for verdict in page.tested(many, "addtree", 100).values()} == {significant}


def test_the_page_needs_random_search(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no runs of random search"):
        page.main(["--recorded", str(tmp_path)])


def test_the_page_and_the_recorded_runs_belong_together() -> None:
    runs = regret.arranged(recorded.read(RECORDED), 100)
    results = regret.Results.from_runs(runs)
    text = (page.DOCS / "benchmark-results.md").read_text()
    assert report.task_table(results, results.complete) in text


def test_the_readme_shows_the_first_table_of_the_page() -> None:
    root = Path(__file__).parents[2]
    readme, text = (root / "README.md").read_text(), (root / "docs" / "benchmark-results.md").read_text()
    assert page.with_table(readme, text) == readme
    assert page.with_table(readme, text.replace("| random |", "| chance |", 1)) != readme
