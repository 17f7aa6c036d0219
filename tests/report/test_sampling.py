"""Stratified samples, and rows moved to another value or option."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import addtree as at
from addtree.report.axes import make_axis
from addtree.report.sampling import columns_below, evenly_spaced, move_to, stratified_sample
from addtree.space.encoding import Encoding
from tests.strategies import sample, seeds, spaces


def test_a_stratified_sample_visits_every_interval_and_every_option_equally_often() -> None:
    space = at.Space(
        x=at.Real(0, 1), c=at.Categorical([*"abcd"]), m=at.Choice(a=at.Space(y=at.Real(0, 1)), b=at.Space())
    )
    encoding = Encoding(space)
    X = stratified_sample(encoding, 12)
    np.testing.assert_allclose(np.sort(X[:, encoding.index["x"]]), (np.arange(12) + 0.5) / 12)
    assert np.bincount(X[:, encoding.index["c"]].astype(int)).tolist() == [3, 3, 3, 3]
    assert np.bincount(X[:, encoding.index["m"]].astype(int)).tolist() == [6, 6]
    y = X[:, encoding.index["y"]]
    np.testing.assert_allclose(np.sort(y[~np.isnan(y)]), (np.arange(6) + 0.5) / 6)


@given(spaces(), st.integers(1, 9))
def test_samples_are_valid_and_repeatable(space: at.Space, size: int) -> None:
    encoding = Encoding(space)
    X = stratified_sample(encoding, size)
    np.testing.assert_allclose(encoding.encode([encoding.decode(row) for row in X]), X, atol=1e-9)
    np.testing.assert_array_equal(stratified_sample(encoding, size), X)


@given(spaces(), seeds)
def test_moved_rows_are_valid_and_change_nothing_else(space: at.Space, seed: int) -> None:
    encoding = Encoding(space)
    X = encoding.encode(sample(space, 5, seed))
    for name in encoding.names:
        column = encoding.index[name]
        active = X[~np.isnan(X[:, column])]
        others = [j for j in range(encoding.n_columns) if j not in columns_below(encoding, column)]
        for code in make_axis(encoding, name).codes[:3]:
            moved = move_to(encoding, active, column, code)
            np.testing.assert_allclose(moved[:, column], code, rtol=1e-12)
            np.testing.assert_allclose(moved[:, others], active[:, others], atol=1e-12)
            decoded = [encoding.decode(row) for row in moved]
            np.testing.assert_allclose(encoding.encode(decoded).reshape(moved.shape), moved, atol=1e-9)


def test_evenly_spaced_keeps_both_ends() -> None:
    chosen = evenly_spaced(np.arange(100), 7)
    assert len(chosen) == 7
    assert (chosen[0], chosen[-1]) == (0, 99)
    assert evenly_spaced(np.arange(3), 7).tolist() == [0, 1, 2]
