"""A user's script under `mypy --strict`: the public names have types, and a misspelt argument is reported."""

import sys
from pathlib import Path

import pytest

import addtree

SCRIPT = """
from typing import Any

import addtree as at

space = at.Space(x=at.Real(0, 1))


def objective(config: dict[str, Any]) -> float:
    return float(config["x"])


def callback(optimizer: at.Optimizer, trial: at.Trial) -> None:
    if trial.error is not None or optimizer.expected_gain() < 1e-3:
        raise StopIteration


result = at.minimize(objective, space, 20, seed=0, n_jobs=2, resume="run.json", callback=callback)
mean, std = result.optimizer.predict(result.best_config)
print(mean + std, result.recommended.duration)
"""


def test_mypy_reports_a_misspelt_argument_and_nothing_else(tmp_path):
    api = pytest.importorskip("mypy.api", reason="mypy is not installed")
    source = Path(addtree.__file__).parents[1]
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(SCRIPT)
    wrong.write_text(SCRIPT.replace("seed=0", "seeed=0"))
    config = tmp_path / "mypy.ini"
    config.write_text(f"[mypy]\nstrict = true\nmypy_path = {source}\nfollow_imports = silent\n")
    options = ["--config-file", str(config), "--cache-dir", str(tmp_path), "--python-executable", sys.executable]
    out, _, code = api.run([*options, str(right), str(wrong)])
    assert code == 1
    errors = [line for line in out.splitlines() if ": error:" in line]
    assert len(errors) == 1
    assert "wrong.py" in errors[0]
    assert 'Unexpected keyword argument "seeed" for "minimize"' in errors[0]
