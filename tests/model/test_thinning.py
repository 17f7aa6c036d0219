import numpy as np
import pytest

from addtree.model.thinning import thin


@pytest.mark.parametrize("size", [8, 40, 99])
def test_the_best_and_a_fair_sample_of_the_rest(size):
    y = np.random.default_rng(0).normal(size=200)
    kept = thin(y, size)
    assert len(kept) == size
    assert np.all(np.diff(kept) > 0)  # in order, none twice
    assert set(np.argsort(y)[: size // 4]) <= set(kept.tolist())
    assert np.mean(y[kept]) < np.mean(y)
    assert np.max(y[kept]) > np.median(y)


def test_it_is_the_same_whenever_it_is_asked_and_all_where_they_fit():
    y = np.arange(50.0)
    np.testing.assert_array_equal(thin(y, 20), thin(y, 20))
    np.testing.assert_array_equal(thin(y, 50), np.arange(50))
    assert len(thin(np.empty(0), 5)) == 0
