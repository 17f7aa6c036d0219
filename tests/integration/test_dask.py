"""Dask workers share a study."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "dask_workers.py"
INSTALLED = all(importlib.util.find_spec(name) for name in ("distributed", "optuna_integration"))


@pytest.mark.slow
@pytest.mark.skipif(not INSTALLED, reason="Dask is not installed: pip install 'addtree[dask]'")
def test_two_workers_run_twenty_trials() -> None:
    ran = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=400, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.startswith("20 {'model': 'curve'")
