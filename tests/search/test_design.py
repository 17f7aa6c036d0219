import numpy as np

from addtree import Categorical, Choice, Integer, Real, Space
from addtree.search.design import (
    DesignSettings,
    _deal,
    initial_design,
    next_row,
    node_shares,
    rows_needed,
)
from addtree.space.encoding import Encoding

unit = Real(0, 1)


def test_cover_counts_what_it_takes_to_see_every_option():
    nested = Choice(a=Space(d=Choice({1: Space(), 2: Space(), 3: Space()})), b=Space())
    assert rows_needed(Encoding(Space(c=nested)))[0] == 4
    assert rows_needed(Encoding(Space(c=nested, e=Choice({i: Space() for i in range(6)}))))[0] == 6
    assert rows_needed(Encoding(Space(x=unit)))[0] == 1


def test_the_default_design_is_short_and_maximum_likelihood_visits_every_option_thrice():
    small, large = Encoding(Space(x=unit)), Encoding(Space(c=Choice({i: Space() for i in range(100)})))
    four = Encoding(Space(c=Choice({i: Space() for i in range(4)})))
    assert [DesignSettings().size(encoding) for encoding in (small, four, large)] == [6, 6, 6]
    assert [DesignSettings().size(encoding, "mle") for encoding in (small, four, large)] == [8, 12, 24]


def test_a_node_has_a_share_in_proportion_to_what_lies_below():
    nested = Choice(a=Space(d=Choice({1: Space(), 2: Space(), 3: Space()})), b=Space())
    np.testing.assert_allclose(node_shares(Encoding(Space(c=nested))), [1, 3 / 4, 1 / 4, 1 / 4, 1 / 4, 1 / 4])
    encoding = Encoding(Space(c=nested, e=Choice(u=Space(), v=Space())))
    X = initial_design(encoding, 40, np.random.default_rng(0))
    found = [np.mean(encoding.inside(X, i)) for i in range(len(encoding.space.nodes))]
    np.testing.assert_allclose(found, node_shares(encoding), atol=0.06)


def test_no_option_gets_two_before_every_one_has_one():
    rng = np.random.default_rng(0)
    for n in range(1, 12):
        counts = np.bincount(_deal(np.array([5.0, 1.0, 1.0]), n, rng).astype(int), minlength=3)
        assert counts.sum() == n
        assert np.all(counts[counts > 1].size == 0 or counts.min() >= 1)
    assert np.bincount(_deal(np.array([5.0, 1.0, 1.0]), 14, rng).astype(int)).tolist() == [10, 2, 2]


def test_numbers_are_a_latin_hypercube_in_every_branch_and_categories_are_balanced():
    space = Space(x=unit, m=Categorical(["u", "v"]), c=Choice(a=Space(y=unit), b=Space(z=unit)))
    encoding = Encoding(space)
    X = initial_design(encoding, 12, np.random.default_rng(0))
    for name, n in (("x", 12), ("y", 6), ("z", 6)):
        u = X[:, encoding.index[name]]
        u = u[~np.isnan(u)]
        assert sorted(np.floor(u * n)) == list(range(n))
    assert np.sum(X[:, encoding.index["m"]] == 0) == 6


def test_a_design_is_reproducible():
    encoding = Encoding(Space(x=unit, c=Choice(a=Space(y=unit), b=Space())))
    one, other, third = (initial_design(encoding, 9, np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, third, equal_nan=True)


def test_designs_draw_every_value_of_an_integer_equally_often():
    encoding, rng = Encoding(Space(k=Integer(0, 2))), np.random.default_rng(0)
    at_once = np.concatenate([initial_design(encoding, 9, rng) for _ in range(40)])
    assert np.bincount((2 * at_once[:, 0]).astype(int)).tolist() == [120] * 3
    X = np.empty((0, 1))
    for _ in range(30):
        X = np.concatenate([X, next_row(encoding, X, rng)[None]])
    assert np.bincount((2 * X[:, 0]).astype(int)).tolist() == [10] * 3


def test_designs_see_every_interval():
    """Also one that a random number never hits, and one that holds a choice."""
    unit = Real(0, 1)
    space = Space(
        x=Real(0, 1, opens={(0.5, 0.5): Space(a=unit), (0.9, 1): Space(c=Choice(p=Space(b=unit), q=Space()))}),
        n=Integer(1, 100, opens={(100, 100): Space(d=unit)}),
    )
    encoding = Encoding(space)
    assert rows_needed(encoding)[0] == 3
    for seed in range(10):
        X = initial_design(encoding, 8, np.random.default_rng(seed))
        for node in range(len(space.nodes)):
            assert encoding.inside(X, node).sum() >= (2 if len(space.nodes[node].location) < 2 else 1)
        for row in X:
            space.validate(encoding.decode(row))
        assert np.sum(X[:, encoding.index["n"]] < 1) >= 6  # the number still covers its range
    X, rng = np.empty((0, encoding.n_columns)), np.random.default_rng(0)
    for _ in range(6):
        X = np.concatenate([X, next_row(encoding, X, rng)[None]])
    assert all(encoding.inside(X, i).any() for i in range(len(encoding.space.nodes)))
    assert node_shares(encoding).min() > 0
