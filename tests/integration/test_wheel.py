"""The wheel, built and installed into an empty environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_wheel_needs_only_numpy_and_scipy(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("addtree-*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "empty")], check=True)
    python = tmp_path / "empty" / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "--quiet", "install", str(wheel)], check=True)
    listed = subprocess.run(
        [str(python), "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True
    )
    names = {line.split("==")[0].lower() for line in listed.stdout.split()}
    assert names - {"pip", "setuptools", "wheel"} == {"addtree", "numpy", "scipy"}
    code = "import addtree as at; r = at.minimize(lambda c: c['x'], at.Space(x=at.Real(0, 1)), n_trials=3, seed=0)"
    subprocess.run([str(python), "-c", code], check=True, cwd=tmp_path)
