"""A user's script under `mypy --strict`: the public names have types, and a misspelt argument is reported."""

import sys
from pathlib import Path

import pytest

import addtree

SCRIPT = """
from typing import Any

import addtree as at

space = at.Space(
    x=at.Real(0, 1),
    sizes=at.Categorical([None, True, "auto", (64, 64)]),
    level=at.Categorical(("low", "high"), ordered=True),
    layers=at.Integer(1, 4, opens={(2, 4): at.Space(units=at.Integer(8, 512, step=8))}),
    model=at.Choice({3: at.Space(), "x y": at.Space(z=at.Real(1e-3, 1, log=True))}),
).where("x < 0.5", lambda config: True)


def objective(config: dict[str, Any]) -> float:
    return float(config["x"])


def callback(optimizer: at.Optimizer, trial: at.Trial) -> None:
    if trial.error is not None or optimizer.expected_gain() < 1e-3:
        raise StopIteration


def losses(config: dict[str, Any]) -> dict[str, float]:
    return {"error": config["x"], "speed": 2.0, "memory": 3.0}


front = at.minimize(losses, space, 5, objectives={"error": "min", "speed": "max"}, constraints={"memory": (None, 4)})
opt = at.Optimizer(space, initial=[{"x": 0.5}], history=[[({"x": 0.1}, 1.0)]])
one: at.Trial = opt.ask()
several: list[at.Trial] = opt.ask(4)
opt.tell(one, 0.3, std=0.1, cost=2)
gp = at.AddTreeGP(space).fit([trial.config for trial in several], [1.0, 2.0, 3.0, 4.0])
print(gp.predict([one.config])[0] + 1.0, gp.effects(one.config)[0].mean, front.pareto[0].values["error"])
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
