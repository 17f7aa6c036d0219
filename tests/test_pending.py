"""`Optimizer.suggest` with configurations that somebody else is evaluating."""

from __future__ import annotations

import pytest

from addtree import Integer, Optimizer, Real, Space


@pytest.mark.parametrize("told", [3, 12])
def test_pending_elsewhere_counts_like_pending_here(told: int) -> None:
    """During the initial design and after it."""
    here, there = (Optimizer(Space(x=Real(-1, 1), k=Integer(0, 5)), seed=0) for _ in range(2))
    for optimizer in (here, there):
        for _ in range(told):
            trial = optimizer.ask()
            optimizer.tell(trial, trial.config["x"] ** 2)
    asked = [trial.config for trial in here.ask(3)]
    assert there.suggest(told + 4, pending=asked) == here.suggest(told + 4)
    assert len(there.trials) == told  # nothing remains of them
    assert there.suggest(told + 1) == asked[0]
