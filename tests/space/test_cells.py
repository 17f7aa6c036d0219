"""Values and codes of a number must agree about which intervals are open."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addtree import Integer, Real, Space

EMPTY = Space()


def test_cells_are_where_the_same_intervals_are_open():
    cells = Integer(1, 9, opens={(2, 7): EMPTY, (4, 9): EMPTY, (5, 5): EMPTY}).cells
    assert cells.open == ((), (0,), (0, 1), (0, 1, 2), (0, 1), (1,))
    assert cells.first == (0, 1, 3, 4, 5, 7)  # positions, from 0
    assert cells.last == (0, 2, 3, 4, 6, 8)
    assert [cells.of_key(k) for k in range(9)] == [0, 1, 1, 2, 3, 4, 4, 5, 5]


def test_the_cells_of_a_real_are_closed_at_the_ends_of_intervals():
    real = Real(0, 1, opens={(0.1, 0.5): EMPTY})
    below, above = math.nextafter(0.1, 0), math.nextafter(0.5, 1)
    assert [real._cell(v) for v in (0.0, below, 0.1, 0.3, 0.5, above, 1.0)] == [0, 0, 1, 1, 1, 2, 2]


bounds = st.sampled_from([(0.0, 1.0), (-3.7, 11.3), (1e-9, 2e-9), (1.0, 1.0 + 2**-48), (-1e300, 1e300), (0.0, 3e-322)])


@given(bounds, st.booleans(), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.integers(-2, 2))
def test_a_value_and_its_code_are_in_the_same_cell(ends, log, a, b, u, ulps):
    """Also for the floats next to the ends of an interval, whatever the conversion rounds."""
    low, high = ends
    plain = Real(low, high, log=log and low > 0)
    first, last = sorted((plain._decode(a), plain._decode(b)))
    real = Real(low, high, log=plain.log, opens={(first, last): EMPTY})
    near = [first, last, real._decode(u)]
    for _ in range(abs(ulps)):
        near = [math.nextafter(v, math.copysign(math.inf, ulps)) for v in near]
    for value in near:
        if low <= value <= high:
            code = real._encode(value)
            gate = real.cells.gate(0)
            assert (first <= value <= last) == (gate[0] <= code <= gate[1]) == (0 in real.cells.open[real._cell(value)])
            again = real._decode(code)
            assert real._cell(again) == real._cell(value) == int(real.cells.of_codes(code))
    code = u
    value = real._decode(code)
    assert real._cell(value) == int(real.cells.of_codes(code))


@pytest.mark.parametrize("low", [0, 2**53, 10**17, -(2**62), 10**200])
def test_large_whole_numbers_are_compared_exactly(low):
    integer = Integer(low, low + 9, opens={(low + 1, low + 3): EMPTY, (low + 3, low + 3): EMPTY})
    for value in range(low, low + 10):
        code = integer._encode(value)
        assert integer._decode(code) == value
        opened = tuple(i for i, (a, b) in enumerate(integer.opens) if a <= value <= b)
        assert integer.cells.open[int(integer.cells.of_codes(code))] == opened
        assert [g[0] <= code <= g[1] for g in map(integer.cells.gate, (0, 1))] == [i in opened for i in (0, 1)]


def test_the_ends_of_a_cell_come_out_exactly():
    real = Real(1e-4, 1, log=True, opens={(0.1, 0.3): EMPTY})
    cells = real.cells
    assert [real._decode(code) for code in (cells.low[1], cells.high[1])] == [0.1, 0.3]
    assert np.all(np.diff([x for pair in zip(cells.low, cells.high, strict=True) for x in pair]) > 0)


def test_an_interval_of_a_grid_holds_the_values_on_the_grid():
    real = Real(0, 1, step=0.1, opens={(0.3, 0.3): EMPTY, (0.25, 0.75): EMPTY})
    opened = {round(v, 1): real.cells.open[real._cell(v)] for v in real.values}
    assert opened == {v: (0, 1) if v == 0.3 else (1,) if 0.25 < v < 0.75 else () for v in opened}
    assert len(opened) == 11
