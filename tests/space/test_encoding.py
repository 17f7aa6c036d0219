import numpy as np
import pytest

from addtree import Categorical, Choice, Integer, Real, Space
from addtree.errors import ConfigError
from addtree.space.encoding import Encoding


@pytest.fixture
def encoding():
    return Encoding(
        Space(
            x=Real(0, 4),
            c=Choice(a=Space(), b=Space(k=Integer(1, 3), d=Choice({1: Space(y=Real(0, 1)), 2: Space()}))),
            m=Categorical(["p", "q"]),
        )
    )


def test_columns_are_variables_breadth_first(encoding):
    assert encoding.names == ("x", "c", "m", "k", "d", "y")
    assert encoding.n_codes.tolist() == [0, 2, 2, 0, 2, 0]
    assert encoding.is_numeric.tolist() == [True, False, False, True, False, True]
    assert encoding.is_choice.tolist() == [False, True, False, False, True, False]


def test_inactive_is_nan(encoding):
    X = encoding.encode([{"x": 1, "c": "a", "m": "q"}, {"x": 4, "c": "b", "m": "p", "k": 2, "d": 1, "y": 0.25}])
    nan = np.nan
    np.testing.assert_array_equal(X, [[0.25, 0, 1, nan, nan, nan], [1.0, 1, 0, 0.5, 0, 0.25]])


def test_encode_validates(encoding):
    with pytest.raises(ConfigError, match="'k'"):
        encoding.encode([{"x": 1, "c": "a", "m": "q", "k": 2}])


def test_equal_keys_are_one_configuration(encoding):
    X = encoding.encode([{"x": 1, "c": "a", "m": "q"}] * 2 + [{"x": 1, "c": "a", "m": "p"}])
    X[1, 0] += 1e-14
    X[2, 0] += 1e-6
    one, other, third = encoding.keys(X)
    assert one == other != third
    zero = np.array([[0.0, 0.0, 0.0, np.nan, np.nan, np.nan]])
    assert encoding.keys(-zero) == encoding.keys(zero)


def test_clear_and_fill_keep_to_what_hangs_below_a_node(encoding):
    X = encoding.encode([{"x": 4, "c": "b", "m": "p", "k": 2, "d": 1, "y": 0.25}])
    b = encoding.node_choices[0][0][1][1]
    assert [encoding.names[j] for j in encoding.below[b]] == ["k", "d", "y"]
    encoding.clear(X, [b], np.array([0]))
    np.testing.assert_array_equal(np.isnan(X[0]), [False, False, False, True, True, True])
    encoding.fill(X, b, np.array([0]), np.random.default_rng(0))
    encoding.space.validate(encoding.decode(encoding.snap(X)[0]))


def test_options_are_drawn_alike(encoding):
    X = encoding.sample(2000, np.random.default_rng(0))
    assert np.mean(X[:, 1]) == pytest.approx(0.5, abs=0.05)
    assert np.nanmean(X[:, 0]) == pytest.approx(0.5, abs=0.05)


def test_entering_a_node_takes_the_options_to_it_and_keeps_the_rest():
    unit = Real(0, 1)
    nested = Space(x=unit, c=Choice(a=Space(y=unit), b=Space(d=Choice(p=Space(u=unit), q=Space(v=unit)))))
    encoding, rng = Encoding(nested), np.random.default_rng(0)
    X = encoding.sample(30, rng)
    before = X.copy()
    for node, entry in enumerate(nested.nodes):
        found = encoding.enter(X, node, rng)
        assert encoding.inside(found, node).all()
        np.testing.assert_array_equal(found[:, encoding.index["x"]], X[:, encoding.index["x"]])
        already = encoding.inside(X, node)
        np.testing.assert_array_equal(found[already], X[already])
        assert 0 < already.sum() <= 30 - 5 * (len(entry.location) > 0)
        for row in found:
            nested.validate(encoding.decode(row))
    np.testing.assert_array_equal(X, before)


def test_single_steps_change_one_integer_or_category_by_one():
    space = Space(k=Integer(1, 9), m=Categorical("abc" for _ in range(1)), n=Categorical(["u", "v", "w"]), x=Real(0, 1))
    encoding = Encoding(space)
    row = encoding.encode([{"k": 1, "m": "abc", "n": "v", "x": 0.5}])[0]
    steps = [encoding.decode(r) for r in encoding.single_steps(row)]
    assert steps == [
        {"k": 2, "m": "abc", "n": "v", "x": 0.5},
        {"k": 1, "m": "abc", "n": "u", "x": 0.5},
        {"k": 1, "m": "abc", "n": "w", "x": 0.5},
    ]
    flat = Encoding(Space(x=Real(0, 1)))
    assert flat.single_steps(np.array([0.5])).shape == (0, 1)


def shares(codes, domain):
    values = [domain._decode(code) for code in codes]
    return np.bincount(np.array(values) - domain.low, minlength=int(domain.size)) / len(values)


def test_every_value_of_an_integer_is_drawn_equally_often():
    k = Integer(0, 2)
    encoding, rng = Encoding(Space(k=k)), np.random.default_rng(0)
    np.testing.assert_allclose(shares(encoding.sample(6000, rng)[:, 0], k), 1 / 3, atol=0.02)
    values = [encoding.space.sample(rng)["k"] for _ in range(3000)]
    np.testing.assert_allclose(np.bincount(values) / 3000, 1 / 3, atol=0.03)


def test_a_single_value_is_converted_or_refused():
    encoding = Encoding(Space(k=Integer(1, 3), c=Choice(a=Space(), b=Space())))
    assert (encoding.encode_value("k", 2.0), encoding.decode_value("k", 0.4)) == (0.5, 2)
    assert (encoding.encode_value("c", "b"), encoding.decode_value("c", 1)) == (1.0, "b")
    with pytest.raises(ConfigError, match="9 is out of bounds"):
        encoding.encode_value("k", 9)


# ------------------------------------------------------------------ numbers that open parameters

LAYERS = Space(
    n=Integer(1, 4, opens={(2, 4): Space(u2=Real(0, 1)), (3, 4): Space(u3=Real(0, 1), m=Categorical(["p", "q"]))}),
    rate=Real(0, 1, opens={(0, 0.2): Space(s=Real(0, 1)), (0.5, 0.5): Space(s=Real(0, 1))}),
    k=Integer(3, 3),
)


def test_an_opener_is_a_number_and_a_constant_has_no_column():
    encoding = LAYERS.encoding
    assert encoding.names == ("n", "rate", "u2", "u3", "m", "s")
    assert encoding.is_numeric.tolist() == [True, True, True, True, False, True]
    assert not encoding.is_choice.any()


def test_entering_an_interval_moves_the_number_into_it():
    encoding, rng = LAYERS.encoding, np.random.default_rng(0)
    X = encoding.sample(40, rng)
    before = X.copy()
    for node in range(1, len(LAYERS.nodes)):
        found = encoding.enter(X, node, rng)
        assert encoding.inside(found, node).all()
        already = encoding.inside(X, node)
        np.testing.assert_array_equal(found[already], X[already])
        for row in found:
            LAYERS.validate(encoding.decode(row))
    np.testing.assert_array_equal(X, before)


def test_repair_opens_and_closes_and_keeps_what_stays_open():
    encoding, rng = LAYERS.encoding, np.random.default_rng(0)
    row = encoding.encode([{"n": 3, "u2": 0.25, "u3": 0.75, "m": "q", "rate": 0.1, "s": 0.4, "k": 3}])[0]
    moved = np.tile(row, (3, 1))
    moved[:, encoding.index["n"]] = [0.0, 1 / 3, 1.0]
    moved[:, encoding.index["rate"]] = [0.5, 0.3, 0.1]
    repaired = encoding.repair(moved, rng)
    configs = [encoding.decode(r) for r in repaired]
    np.testing.assert_allclose(repaired, encoding.encode(configs), rtol=1e-12)  # what is closed is NaN
    assert configs[0] == {"n": 1, "rate": 0.5, "k": 3, "s": 0.4}
    assert configs[1] == {"n": 2, "rate": 0.3, "k": 3, "u2": 0.25}
    assert configs[2] == {"n": 4, "rate": 0.1, "k": 3, "u2": 0.25, "u3": 0.75, "m": "q", "s": 0.4}
    opened = np.tile(encoding.encode([{"n": 1, "rate": 0.3, "k": 3}]), (200, 1))
    opened[:, encoding.index["n"]] = 2 / 3
    given = encoding.repair(opened, rng, donors=row[None], donor_share=0.5)[:, encoding.index["u3"]]
    assert 60 < np.sum(given == 0.75) < 140
    middle = encoding.decode(encoding.repair(opened[:1], None)[0])
    assert middle == {"n": 3, "rate": 0.3, "k": 3, "u2": 0.5, "u3": 0.5, "m": "p"}


def test_single_steps_of_an_opener_open_and_close():
    encoding = LAYERS.encoding
    row = encoding.encode([{"n": 2, "u2": 0.25, "rate": 0.3, "k": 3}])[0]
    steps = [encoding.decode(r) for r in encoding.single_steps(row)]
    assert steps == [
        {"n": 1, "rate": 0.3, "k": 3},
        {"n": 3, "rate": 0.3, "k": 3, "u2": 0.25, "u3": 0.5, "m": "p"},
    ]


def test_bounds_keep_a_number_where_the_same_intervals_are_open():
    encoding = LAYERS.encoding
    X = encoding.encode(
        [{"n": 4, "u2": 0.25, "u3": 0.1, "m": "p", "rate": 0.3, "k": 3}, {"n": 1, "rate": 0.5, "s": 0.1, "k": 3}]
    )
    low, high = encoding.bounds(X)
    assert low[:, 0].tolist() == pytest.approx([2 / 3, 0])
    assert high[:, 0].tolist() == pytest.approx([1, 0])
    for u in (0.0, 0.3, 1.0):
        moved = encoding.snap(np.where(np.isnan(X), X, np.clip(low + u * (high - low), low, high)))
        for before, after in zip(X, moved, strict=True):
            assert LAYERS.validate(encoding.decode(after)).keys() == encoding.decode(before).keys()


def test_steps_and_ordered_categories_are_stepped_by_one():
    space = Space(x=Real(0, 1, step=0.25), o=Categorical(["low", "mid", "high", "top"], ordered=True))
    row = space.encoding.encode([{"x": 0.25, "o": "top"}])[0]
    steps = [space.encoding.decode(r) for r in space.encoding.single_steps(row)]
    assert steps == [{"x": 0.0, "o": "top"}, {"x": 0.5, "o": "top"}, {"x": 0.25, "o": "high"}]


def test_values_that_floats_cannot_tell_apart_by_code_have_different_keys():
    space = Space(a=Integer(0, 2**53), b=Real(1.0, 1.0 + 2**-50))
    X = space.encoding.encode([{"a": 2**52 + i, "b": 1.0 + j * 2**-52} for i in range(3) for j in range(5)])
    assert len(set(space.encoding.keys(X))) == 15
    for row in X:
        np.testing.assert_array_equal(space.encoding.snap(row[None])[0], row)
