"""The OptunaHub package loads from its folder, its example runs, and Optuna's tests for samplers pass through it."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase, MultiObjectiveSamplerTestCase, RelativeSamplerTestCase

import addtree.optuna

optunahub = pytest.importorskip("optunahub", reason="optunahub is missing; pip install 'addtree[dev]' installs it")

PACKAGE = Path(__file__).resolve().parents[1]
REGISTRY = PACKAGE.parents[1]


def load() -> Any:
    return optunahub.load_local_module("samplers/addtree", registry_root=str(REGISTRY))


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.mark.slow  # tests/integration/test_optuna_contract.py tests the same class, as the next test asserts
class TestContract(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: load().AddTreeSampler(seed=0, n_startup_trials=0)


def test_it_is_the_sampler_of_addtree() -> None:
    module = load()
    assert module.AddTreeSampler is addtree.optuna.AddTreeSampler
    assert module.__all__ == ["AddTreeSampler"]


def test_the_example_finds_the_best() -> None:
    done = subprocess.run([sys.executable, PACKAGE / "example.py", "40"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    best = re.search(r"best value (\S+) with", done.stdout)
    assert best is not None
    assert float(best[1]) < 0.01
    assert "└─ 'network'" in done.stdout


def test_the_example_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    download = 'optunahub.load_module("samplers/addtree")'
    assert download in code
    exec(
        code.replace(download, f'optunahub.load_local_module("samplers/addtree", registry_root={str(REGISTRY)!r})'), {}
    )
    assert "'model': 'svm'" in capsys.readouterr().out


def test_the_front_matter() -> None:
    """The registry needs these six fields. All are text or lists of texts, and a sampler has the tag `sampler`."""
    head = re.match(r"---\n(.*?)\n---\n", (PACKAGE / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert head is not None
    fields = dict(line.split(": ", 1) for line in head[1].splitlines())
    assert list(fields) == ["author", "title", "description", "tags", "optuna_versions", "license"]
    assert all(": " not in value for value in fields.values())  # YAML would take a text with a colon for a mapping
    assert "sampler" in fields["tags"].strip("[]").split(", ")
    assert optuna.__version__ in fields["optuna_versions"].strip("[]").split(", ")


WITHOUT_ADDTREE = """
import sys
import optunahub

class Missing:
    def find_spec(self, name, path, target=None):
        if name == "addtree":
            raise ModuleNotFoundError("No module named 'addtree'", name="addtree")

sys.meta_path.insert(0, Missing())
optunahub.load_local_module("samplers/addtree", registry_root=sys.argv[1])
"""


def test_a_missing_addtree_is_named() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_ADDTREE, str(REGISTRY)], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: AddTreeSampler needs the package addtree; run pip install 'addtree[optuna]'"
    )


def test_the_readme_describes_every_argument() -> None:
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    arguments = list(inspect.signature(addtree.optuna.AddTreeSampler).parameters)
    assert re.findall(r"^  - `(\w+)`:", text, re.MULTILINE) == arguments
    signature = re.search(r"^- `AddTreeSampler\((.*)\)`$", text, re.MULTILINE)
    assert signature is not None
    assert re.findall(r"(\w+)=", signature[1]) == arguments
