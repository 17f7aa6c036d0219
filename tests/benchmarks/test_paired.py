"""Two versions on the same tasks and seeds."""

import json

import numpy as np
import pytest

from benchmarks import paired


def write(folder, task, method, seed, values):
    path = folder / task.replace("/", "__") / method / f"{seed}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    run = {"task": task, "method": method, "seed": seed, "values": list(values), "seconds": [0.0] * len(values)}
    path.write_text(json.dumps(run))


@pytest.fixture
def folders(tmp_path):
    """On `function/synthetic` the new version is much better on every seed; on the other task both are the same."""
    rng = np.random.default_rng(0)
    old, new = tmp_path / "old", tmp_path / "new"
    for task, gain in (("function/synthetic", 0.5), ("function/interaction", 0.0)):
        for seed in range(12):
            values = 1.1 + rng.random(30)
            write(old, task, "random", seed, 3 * values)
            write(old, task, "addtree", seed, values)
            write(new, task, "addtree", seed, 0.1 + (values - 0.1) * (1 - gain))
    return old, new


def test_a_difference_on_every_seed_is_found_and_its_direction_told(folders, capsys):
    paired.main([*map(str, folders), "--budget", "30"])
    said = capsys.readouterr().out
    assert "2 tasks, 12 paired seeds" in said
    assert "| new is better on | 1 of 2, p = 1 |" in said
    assert "identical runs on 1 tasks; significantly different (Holm): 3 of 6" in said
    assert "- function/synthetic at 30: better by" in said
    paired.main([*map(str, folders), "--budget", "10"])
    assert "significantly different (Holm): 1 of 2" in capsys.readouterr().out


def test_nothing_to_compare_says_what_is_missing(tmp_path):
    with pytest.raises(SystemExit, match="no task has runs of addtree in both folders"):
        paired.main([str(tmp_path), str(tmp_path)])


def test_holm_multiplies_by_the_number_of_tests_left_and_never_decreases():
    corrected = paired.holm({("a", 1): 0.01, ("b", 1): 0.04, ("c", 1): 0.03})
    assert corrected == pytest.approx({("a", 1): 0.03, ("c", 1): 0.06, ("b", 1): 0.06})
    assert paired.holm({("a", 1): 0.6, ("b", 1): 0.7}) == {("a", 1): 1.0, ("b", 1): 1.0}
