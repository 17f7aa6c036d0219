"""The ladder from the paper's method to the default."""

from pathlib import Path

import numpy as np

from addtree.optimizer import Settings
from addtree.paper.baselines.addtree import AS_PUBLISHED
from benchmarks import additions, run, tasks
from benchmarks.support import regret


def test_the_ladder_leads_from_the_paper_to_the_default() -> None:
    first, *_, last = additions.STEPS.values()
    assert first == AS_PUBLISHED
    assert last == {"settings": Settings()}


def test_each_step_differs_from_the_one_before(tmp_path: Path) -> None:
    runs = [run.Run("function/interaction", step, 0, 14, tmp_path) for step in additions.STEPS]
    values = [tuple(run.evaluate(one, additions.begin)["values"]) for one in runs]
    assert len(set(values)) == len(values)


def test_the_table_compares_each_step_with_the_one_before() -> None:
    def constant(level: float) -> regret.Runs:
        return regret.Runs((0, 1), np.full((2, 100), level), np.full((2, 100), 0.004))

    levels = {"random": 1.0, **{step: 0.8 / 2**i for i, step in enumerate(additions.STEPS)}}
    optimum = tasks.reference("function/synthetic")
    assert optimum is not None
    runs = {"function/synthetic": {name: constant(optimum + level) for name, level in levels.items()}}
    note, _, *lines = additions.table(runs).splitlines()
    assert "the paper as published (at least 2);" in note
    assert len(lines) == 2 + len(additions.STEPS)
    assert lines[2].startswith("| the paper as published | 0.80 | ")
    assert all("| 0.50 | 4.0 | 2 |" in line for line in lines[3:])
