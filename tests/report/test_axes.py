"""Axes: positions, their values and their weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import addtree as at
from addtree.report.axes import make_axis
from addtree.space.encoding import Encoding
from tests.strategies import spaces


@given(spaces(), st.sampled_from([1, 5, 6, 25]))
def test_positions_are_valid_and_weights_add_up_to_one(space: at.Space, positions: int) -> None:
    encoding = Encoding(space)
    for name in encoding.names:
        domain = space.variables[name]
        axis = make_axis(encoding, name, positions=positions)
        assert len(axis.codes) == len(axis.weights) == len(axis.values)
        assert np.sum(axis.weights) == pytest.approx(1)
        for code, value in zip(axis.codes, axis.values, strict=True):
            assert repr(domain._decode(float(code))) == repr(value)


@pytest.mark.parametrize("positions", [3, 5, 25])
def test_the_weights_of_a_real_axis_integrate(positions: int) -> None:
    axis = make_axis(Encoding(at.Space(x=at.Real(0, 1))), "x", positions=positions)
    assert axis.weights @ axis.codes == pytest.approx(1 / 2)
    assert axis.weights @ axis.codes**2 == pytest.approx(1 / 3, abs=1e-3)


def test_an_integer_axis_has_every_value_or_evenly_spaced_ones() -> None:
    space = at.Space(few=at.Integer(1, 9, log=True), many=at.Integer(0, 1000))
    encoding = Encoding(space)
    assert make_axis(encoding, "few").values == tuple(range(1, 10))
    many = make_axis(encoding, "many").values
    assert len(many) == 25
    assert (many[0], many[-1]) == (0, 1000)
