"""Runs that the repository keeps."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.support import recorded


def run(task: str, seed: int, values: list[float], **more: Any) -> dict[str, Any]:
    about = {"task": task, "method": "m", "seed": seed, "versions": {"m": "1.0"}}
    return about | {"values": values, "seconds": [0.001, 0.003] * (len(values) // 2)} | more


def test_a_run_counts_by_what_it_returns() -> None:
    assert recorded.returned({"values": [3.0, 1.0, 2.0]}).tolist() == [3.0, 1.0, 1.0]
    assert recorded.returned({"values": [3.0, 1.0, 2.0], "returned": [3.0, 3.0, 1.0]}).tolist() == [3.0, 3.0, 1.0]


def test_what_is_recorded_comes_back(tmp_path: Path) -> None:
    noisy = run("a/noisy", 0, [3.0, 1.0, 2.0, 4.0], returned=[3.0, 3.0, 1.0, 2.0])
    recorded.record([run("a/1", 1, [4.0, 5.0, 1 / 3, 0.1]), run("a/1", 0, [1.0, 2.0]), noisy], tmp_path)
    found = {(each["task"], each["seed"]): each for each in recorded.read(tmp_path)}
    assert found.keys() == {("a/1", 0), ("a/1", 1), ("a/noisy", 0)}
    np.testing.assert_allclose(recorded.returned(found["a/1", 1]), [4.0, 4.0, 1 / 3, 0.1], rtol=1e-11)
    assert recorded.returned(found["a/1", 0]).tolist() == [1.0, 1.0]
    assert recorded.returned(found["a/noisy", 0]).tolist() == [3.0, 3.0, 1.0, 2.0]
    assert found["a/noisy", 0]["seconds"] == [0.002] * 4
    assert found["a/noisy", 0]["method"] == "m"
    assert found["a/noisy", 0]["versions"] == {"m": "1.0"}


def test_new_runs_replace_those_of_the_same_method_and_task(tmp_path: Path) -> None:
    recorded.record([run(task, seed, [1.0, 0.5]) for task in ("a/1", "a/2") for seed in range(2)], tmp_path)
    recorded.record([run("a/1", 0, [9.0, 8.0])], tmp_path)
    found = [(each["task"], each["seed"], each["values"]) for each in recorded.read(tmp_path)]
    assert found == [("a/1", 0, [9.0, 8.0]), ("a/2", 0, [1.0, 0.5]), ("a/2", 1, [1.0, 0.5])]
