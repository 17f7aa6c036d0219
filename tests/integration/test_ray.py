"""Ray Tune drives AddTreeSampler, two trials at a time. Slow: Ray is large and takes its time to start."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
import ray_tune
results = ray_tune.main(30)
best = results.get_best_result()
rows = [[r.config, r.metrics["loss"]] for r in results]
print("RESULT" + json.dumps({"rows": rows, "errors": results.num_errors, "best": best.config}))
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'addtree[ray]'")
def test_thirty_trials_two_at_a_time(tmp_path: Path) -> None:
    environment = {**os.environ, "RAY_AIR_NEW_OUTPUT": "0", "HOME": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0"}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(EXAMPLES)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = json.loads(ran.stdout.split("RESULT")[1])
    assert found["errors"] == 0
    assert len(found["rows"]) == 30
    assert all(("C" in config) == (config["model"] == "svm") for config, _ in found["rows"])
    assert found["best"]["model"] == "svm"
    assert min(loss for _, loss in found["rows"]) < 0.05
