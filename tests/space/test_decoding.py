"""Columns of codes have exactly the values that single codes have."""

import numpy as np
import pytest

from addtree import Categorical, Choice, Integer, Real, Space
from addtree.space.decoding import decode_column, decode_list
from tests.strategies import OPENERS, opening

OPENED = [
    opening(domain, {interval: Space({f"x{i}": Real(0, 1)}) for i, interval in enumerate(intervals)})
    for domain, intervals in OPENERS
]
NUMBERS = [
    Real(-1.0, 1e-17),
    Real(1e-7, 0.3, log=True),
    Real(0.1, 0.7, step=0.1),
    Real(1.0, 1.0 + 2**-50),
    Real(-8e307, 8e307),
    Integer(-3, 2**52),
    Integer(1, 2**40, log=True),
    Integer(8, 64, step=8),
    Integer(3, 3),
]


@pytest.mark.parametrize("domain", [*OPENED, *NUMBERS], ids=str)
def test_numbers(domain):
    cells = domain.cells
    ends = np.concatenate([cells.low, cells.high, cells.starts, [-0.5, 0.0, 1.0, 1.5], np.linspace(0, 1, 57)])
    codes = np.concatenate([ends, np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf)])
    assert decode_column(domain, codes).tolist() == [float(domain._decode(code)) for code in codes.tolist()]
    values = [domain._decode(code) for code in codes.tolist()]
    assert list(map(repr, decode_list(domain, codes))) == list(map(repr, values))  # the same types as well
    assert np.isnan(decode_column(domain, np.array([np.nan, 0.5]))).tolist() == [True, False]


def test_labels_become_positions():
    codes = np.array([2.0, 0.0, np.nan])
    np.testing.assert_array_equal(decode_column(Choice(a=Space(), b=Space(), c=Space()), codes), codes)
    np.testing.assert_array_equal(decode_column(Categorical(["a", "b", "c"]), codes), codes)
    assert decode_list(Categorical(["a", None, True]), codes[:2]) == [True, "a"]
    ordered = decode_column(Categorical(["a", "b", "c"], ordered=True), np.array([1.0, 0.5, np.nan]))
    np.testing.assert_array_equal(ordered, [2.0, 1.0, np.nan])
