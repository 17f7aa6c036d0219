import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addtree.space.grid import Grid

GRIDS = [Grid(2), Grid(7), Grid(2**53), Grid(500, low=1.0), Grid(6, low=2.0**60), Grid(2**20, low=3.0)]


@pytest.mark.parametrize("grid", GRIDS)
@given(u=st.floats(0, 1))
def test_positions_and_codes_undo_each_other(grid, u):
    k = grid.positions(u)
    assert grid.positions(grid.codes(k)) == k
    assert 0 <= k <= grid.n - 1
    assert grid.positions(grid.from_uniform(grid.to_uniform(grid.codes(k)))) == pytest.approx(k, rel=1e-15, abs=0)


@pytest.mark.parametrize("grid", GRIDS)
def test_the_ends_are_exact(grid):
    assert (grid.codes(0), grid.codes(grid.n - 1)) == (0.0, 1.0)
    assert (grid.positions(-0.5), grid.positions(1.5)) == (0, grid.n - 1)


def test_every_value_is_equally_likely():
    u = (np.arange(5000) + 0.5) / 5000
    assert np.bincount(Grid(5).positions(Grid(5).from_uniform(u)).astype(int)).tolist() == [1000] * 5
