"""Ray Tune runs AddTreeSampler with two trials at a time. The test is slow because Ray takes long to start."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "ray_tune.py"


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'addtree[ray]'")
def test_thirty_trials_two_at_a_time(tmp_path: Path) -> None:
    environment = {**os.environ, "RAY_AIR_NEW_OUTPUT": "0", "HOME": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0"}
    ran = subprocess.run(
        [sys.executable, str(EXAMPLE), "30"],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "30 trials, 0 failed" in ran.stdout
    loss, config = re.search(r"best loss (\S+) with (.*)", ran.stdout).groups()  # type: ignore[union-attr]
    assert float(loss) < 0.05
    assert "svm" in config
