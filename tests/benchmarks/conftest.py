"""Small results that can be checked by hand."""

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.support import regret


@pytest.fixture
def runs() -> Callable[..., regret.Runs]:
    """A function that makes the runs of one method on one task; each argument holds the values of one seed."""

    def make(*values: list[float]) -> regret.Runs:
        array = np.minimum.accumulate(np.array(values, dtype=float), axis=1)
        return regret.Runs(tuple(range(len(values))), array, np.full_like(array, 0.002))

    return make


@pytest.fixture
def results(runs: Callable[..., regret.Runs]) -> regret.Results:
    """The best value of task a/1 is 1, which `good` found; a/2 has 0 on record, which no run found."""
    by_task = {
        "a/1": {"random": runs([5, 3, 4, 3], [9, 9, 9, 7]), "good": runs([3, 2, 2, 1], [3, 3, 3, 3])},
        "a/2": {"random": runs([2, 2, 2, 2], [2, 2, 2, 2]), "good": runs([4, 1, 1, 1], [4, 4, 4, 1])},
    }
    return regret.Results(by_task, {"a/1": None, "a/2": 0.0})
