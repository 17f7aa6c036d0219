"""What the documentation says, done: every Python block of every page, the commands, the links, the examples."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

from addtree import cli
from addtree.study.storage import storage_at
from addtree.study.studies import load_study
from addtree.study.task import load_task

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
NAMES = [page.name for page in PAGES]


def blocks(page: Path, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_every_python_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, in one scope, as a reader would type them. Only Hyperopt's may be left out, where it is missing."""
    monkeypatch.chdir(tmp_path)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    scope: dict[str, Any] = {"__name__": "__docs__"}
    ran = 0
    for i, code in enumerate(blocks(page, "python")):
        if "hyperopt" in code and importlib.util.find_spec("hyperopt") is None:
            continue
        exec(compile(code, f"{page.name}, block {i}", "exec"), scope)
        ran += 1
    assert ran >= len(blocks(page, "python")) - (page.name == "coming-from.md")


def test_the_first_example_finds_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    exec(blocks(ROOT / "README.md", "python")[0], scope)
    assert scope["result"].best_config["model"] == "svm"
    assert scope["result"].best_value < 1e-4


def test_the_example_for_optuna_finds_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    code, space, *_ = blocks(DOCS / "optuna.md", "python")
    scope: dict[str, object] = {}
    exec(code, scope)
    study = scope["study"]
    assert isinstance(study, optuna.Study)
    assert study.best_params["model"] == "curve"
    assert study.best_value < 1e-3
    assert "bend" in capsys.readouterr().out
    exec(space, scope)
    (printed,) = blocks(DOCS / "optuna.md", "text")
    assert capsys.readouterr().out.strip() == printed.strip()


def write_task() -> None:
    (task,) = blocks(DOCS / "command-line.md", "python")
    Path("task.py").write_text(task)


def succeed(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code, command


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    write_task()
    lines = [line for block in blocks(DOCS / "command-line.md", "console") for line in block.splitlines()]
    commands = [line[2:] for line in lines if line.startswith("$ ")]
    assert len(commands) == 15
    for command in commands:
        succeed(command, monkeypatch)
    assert "lr" in capsys.readouterr().out
    assert len(Path("trials.csv").read_text().splitlines()) == 31
    assert "Effect of every parameter" in Path("report.html").read_text(encoding="utf-8")


def test_the_commands_with_a_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_task()
    for study in ("last-year", "spring"):
        succeed(f"addtree run task.py --trials 8 --seed 0 --storage archive.db --study {study}", monkeypatch)
    run, explain = (block.strip() for block in blocks(DOCS / "history.md", "sh"))
    succeed(f"{run} --trials 8 --seed 0", monkeypatch)
    succeed(explain, monkeypatch)
    assert "what became of earlier studies" in capsys.readouterr().out


# ---------------------------------------------------------------------- links


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        there = page if not path else (page.parent / path)
        assert there.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(there), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_files_that_are_named_exist(page: Path) -> None:
    named = re.findall(r"(?:examples|benchmarks)/[\w.]+\.\w+", page.read_text(encoding="utf-8"))
    assert all((ROOT / name).is_file() for name in named), named


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_the_rows_of_a_table_have_as_many_cells_as_its_head(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({row.count("|") for row in table.splitlines()}) == 1, table


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_functions_that_are_named_exist(page: Path) -> None:
    for name in re.findall(r"`(addtree(?:\.\w+)+)\(", page.read_text(encoding="utf-8")):
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), f"{page.name}: {name}"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_scripts_that_are_named_take_the_options_that_are_named(page: Path) -> None:
    named = re.findall(
        r"python (?:-m )?((?:benchmarks|tests)[./]\S+?)(?=[`\s])([^`\n]*)", page.read_text(encoding="utf-8")
    )
    for name, options in named:
        script = ROOT / (name if name.endswith(".py") else name.replace(".", "/") + ".py")
        script = script if script.is_file() else script.with_suffix("") / "__main__.py"
        code = script.read_text(encoding="utf-8")
        assert "ArgumentParser(" in code, f"{page.name}: {name} --help"
        for option in re.findall(r"--[a-z][a-z-]*", options):
            assert f'"{option}"' in code, f"{page.name}: {name} {option}"


def test_every_page_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(page.name in menu for page in DOCS.glob("*.md"))


def test_make_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        named = re.findall(r"(?:`|^)make ([\w-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(named) <= targets, page.name


# ---------------------------------------------------------------------- examples


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["cash", "pipeline"])
def test_objectives_of_examples_take_any_configuration(name: str) -> None:
    target = load_task(ROOT / "examples" / f"{name}.py")
    assert target.space is not None
    rng = np.random.default_rng(0)
    seen: set[str] = set()
    while len(seen) < 3:  # every model once
        config = target.space.sample(rng)
        if config["model"] not in seen:
            seen.add(config["model"])
            assert 0 <= target.objective(config) <= 1


def test_accuracy_against_speed() -> None:
    target = load_task(ROOT / "examples" / "accuracy_and_speed.py")
    assert target.goals.names == ("error", "milliseconds", "megabytes")
    for model in (
        {"model": "svm", "C": 1.0, "gamma": 1e-3},
        {"model": "forest", "trees": 5, "depth": 3},
        {"model": "neighbours", "k": 3, "weights": "uniform"},
        {"model": "tree", "leaves": 10},
    ):
        values = target.objective({"components": 4, **model})
        assert values.keys() == set(target.goals.names)
        assert 0 < values["error"] < 1
        assert values["milliseconds"] > 0


@pytest.mark.slow  # trains the network
@pytest.mark.skipif("ADDTREE_DATA" not in os.environ, reason="MNIST: set ADDTREE_DATA to a folder that contains mnist/")
def test_the_compression_of_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    target = load_task(ROOT / "examples" / "compression.py")
    assert target.space is not None
    assert target.space.n_paths == 4
    whole = {"method1": "wp", "threshold1": 0.0, "method2": "wp", "threshold2": 0.0}
    assert target.objective(whole) == pytest.approx(1.0)  # nothing pruned: all weights, no distance
    front = load_task(ROOT / "examples" / "compression_front.py")
    assert front.goals.names == ("error", "size")
    assert front.objective(whole) == pytest.approx({"error": 0.0, "size": 1.0})


def test_the_variable_number_of_layers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = example("layers").main(6, str(tmp_path / "layers.html"))
    assert len(study.trials) == 6
    assert "layers: 6 trials" in capsys.readouterr().out
    assert (tmp_path / "layers.html").exists()


def test_the_search_of_a_pipeline(capsys: pytest.CaptureFixture[str]) -> None:
    search = example("sklearn_search").main(8, 200)
    assert len(search.cv_results_["params"]) == 8
    assert "in cross-validation" in capsys.readouterr().out


def test_the_flaky_worker_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flaky = example("flaky_worker")
    first = flaky.main(15, tmp_path / "state.json")
    again = flaky.main(40, tmp_path / "state.json")
    assert [t.config for t in again.trials[: len(first.trials)]] == [t.config for t in first.trials]
    assert any(t.state == "failed" for t in again.trials)
    assert again.best.config["catalyst"] == "enzyme"
    assert again.best.value > 85
    assert "best yield" in capsys.readouterr().out


@pytest.mark.skipif(
    not all(map(shutil.which, ("bash", "gzip", "bzip2", "xz"))), reason="needs bash, gzip, bzip2 and xz"
)
def test_the_shell_command(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("what is compressed\n" * 2000)
    script = ROOT / "examples" / "shell_command.sh"
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", script, "data", "2"],
        cwd=tmp_path,
        env={"PATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "program" in done.stdout
    with storage_at(str(tmp_path / "compressor.db")) as storage:
        trials = load_study(storage, "compressor").trials
    assert [t.state.name for t in trials] == ["COMPLETE"] * 2
