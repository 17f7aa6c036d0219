"""The regret after a given time."""

import numpy as np
import pytest

from addtree import Real, Space
from benchmarks import cost
from benchmarks.tasks.task import MultiTask


def test_a_value_counts_from_the_time_when_it_is_known():
    assert cost.least_at_marks([(3.0, 1.0), (2.0, 5.0), (1.0, 5.1), (4.0, 6.0)]) == [3.0, 2.0, 1.0, 1.0]
    assert cost.least_at_marks([(3.0, 7.0)]) == [np.inf, np.inf, 3.0, 3.0]


def test_regrets_count_from_the_best_run_up_to_the_median():
    found = {
        ("p", "addtree", 0, 9): [(3.0, 1.0), (2.0, 8.0)],
        ("p", "addtree", 1, 9): [(9.0, 1.0)],
        ("p", "TPE", 0, 9): [(4.0, 1.0)],
    }
    regrets = cost.regrets(found, {"p": 4.0}, seeds=2)
    assert list(regrets) == [("p", "addtree")]
    np.testing.assert_allclose(regrets["p", "addtree"], [[0.25, 0.25, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])


@pytest.mark.parametrize("method", [cost.NOW, cost.RANDOM])
def test_what_exceeds_the_time_is_not_told(method):
    task = MultiTask(Space(x=Real(0, 1)), lambda config: {"y": config["x"], cost.COST: 7.0}, ("y", cost.COST))
    run = cost.run(task, 1.0, cost.make_method(method, task.space, 0), 50)
    assert [passed for _, passed in run] == [7.0, 14.0]
