import numpy as np
import pytest

from addtree.search.ascent import Box, ascend


def bowl(centre):
    """-(x - centre)ᵀ A (x - centre) of every row, and its gradient; NaN entries do not count."""

    def function(X):
        delta = np.nan_to_num(X - centre, nan=0.0)
        weight = 1.0 + 3.0 * np.arange(X.shape[1])
        return -np.sum(weight * delta**2, axis=1), np.where(np.isnan(X), np.nan, -2.0 * weight * delta)

    return function


def test_every_point_finds_the_top():
    rng = np.random.default_rng(0)
    X, centre = rng.random((5, 3)), np.array([0.2, 0.7, 0.4])
    found, value = ascend(bowl(centre), X, Box(np.ones((5, 3), dtype=bool)))
    np.testing.assert_allclose(found, np.tile(centre, (5, 1)), atol=1e-5)
    np.testing.assert_allclose(value, 0.0, atol=1e-8)


def test_the_box_is_kept_and_its_edge_found():
    centre = np.array([1.7, 0.5, -0.3])
    found, _ = ascend(bowl(centre), np.full((1, 3), 0.4), Box(np.ones((1, 3), dtype=bool)))
    np.testing.assert_allclose(found, [[1.0, 0.5, 0.0]], atol=1e-5)


def test_only_free_entries_move_and_nothing_given_is_changed():
    X = np.array([[0.9, 0.1, np.nan], [0.9, 2.0, 0.3]])
    before = X.copy()
    free = np.array([[True, False, False], [True, False, True]])
    found, _ = ascend(bowl(np.array([0.2, 0.5, 0.6])), X, Box(free))
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(found[~free], X[~free])
    np.testing.assert_allclose(found[free], [0.2, 0.2, 0.6], atol=1e-5)


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 40])
def test_never_worse_than_the_start_and_the_value_is_that_of_the_point(steps):
    rng = np.random.default_rng(1)

    def rough(X):
        return np.sum(np.sin(37 * X) + np.cos(11 * X[:, ::-1]), axis=1), 37 * np.cos(37 * X) - 11 * np.sin(11 * X)

    X = rng.random((20, 4))
    found, value = ascend(rough, X, Box(np.ones(X.shape, dtype=bool)), steps=steps)
    assert np.all(value >= rough(X)[0])
    np.testing.assert_allclose(rough(found)[0], value)
    assert found.min() >= 0.0
    assert found.max() <= 1.0


def test_nothing_to_move():
    X = np.array([[0.5, np.nan]])
    found, _ = ascend(bowl(np.zeros(2)), X, Box(np.zeros((1, 2), dtype=bool)))
    np.testing.assert_array_equal(found, X)


def test_a_flat_function_stays_where_it_is():
    X = np.full((2, 2), 0.3)
    found, value = ascend(lambda X: (np.ones(len(X)), np.zeros_like(X)), X, Box(np.ones(X.shape, dtype=bool)))
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(value, [1.0, 1.0])


def test_points_that_share_a_row_climb_each_on_its_own():
    """Two points in one row, each with a column of its own: f_b = -(x_b - centre_b)²."""
    centre = np.array([0.2, 0.9])

    def function(X):
        return -((X[0] - centre) ** 2), -2.0 * (X - centre)

    free = np.eye(2, dtype=bool)
    found, value = ascend(function, np.full((1, 2), 0.5), Box(free), np.zeros(2, dtype=np.intp))
    np.testing.assert_allclose(found, [centre], atol=1e-5)
    np.testing.assert_allclose(value, 0.0, atol=1e-8)


def counting(function):
    """The function, and the list of its evaluations."""
    seen = []

    def counted(X):
        seen.append(X.copy())
        return function(X)

    return counted, seen


def test_rivals_stop_when_the_best_has_arrived():
    rng = np.random.default_rng(0)
    X, centre, free = rng.random((5, 3)), np.array([0.2, 0.7, 0.4]), np.ones((5, 3), dtype=bool)
    to_the_end, every = counting(bowl(centre))
    ascend(to_the_end, X, Box(free))
    as_rivals, fewer = counting(bowl(centre))
    _, value = ascend(as_rivals, X, Box(free), tolerance=0.01)
    assert len(fewer) < len(every)
    np.testing.assert_allclose(value.max(), 0.0, atol=0.01)


def test_a_rival_that_can_still_win_goes_on():
    """The first stands on a low top; the second climbs a long even slope to a higher one."""

    def function(X):
        low, slope = 1.0 - (X[:, 0] - 0.5) ** 2, 3.0 * X[:, 0]
        return np.array([low[0], slope[1]]), np.array([-2.0 * (X[0] - 0.5), np.full(1, 3.0)])

    _, value = ascend(function, np.array([[0.5], [0.0]]), Box(np.ones((2, 1), dtype=bool)), tolerance=0.01)
    np.testing.assert_allclose(value, [1.0, 3.0])


def test_a_rival_that_cannot_win_holds_up_nobody():
    """The second still gains, but far below the first."""

    def function(X):
        return np.array([0.0, -1e6 + X[1, 0]]), np.array([[0.0], [1.0]])

    counted, seen = counting(function)
    ascend(counted, np.array([[0.5], [0.0]]), Box(np.ones((2, 1), dtype=bool)), tolerance=0.01)
    assert len(seen) < 10
