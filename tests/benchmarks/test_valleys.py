import numpy as np
import pytest

from benchmarks import optima
from benchmarks.tasks import valleys


@pytest.mark.parametrize("seed", [0, 5])
def test_a_long_search_finds_the_known_best_value_of_every_option(seed):
    task, truth = valleys.problem(seed)
    found = optima._long_search(task)
    assert min(truth.values()) == task.reference == 0.0
    assert found.keys() == truth.keys()
    above = np.array([found[key] - truth[key] for key in truth])
    assert np.all(above >= 0.0)
    assert np.all(above < 0.01)


def test_scores_count_options():
    (score, *_) = optima.measure("valley/0", 0, ["default"])
    assert score.is_best.sum() == 1
    assert score.probability.sum() == pytest.approx(1.0)
    assert not np.any(score.inside & score.above)
