"""Valid rows: found where they are rare, moved back to a boundary, and conflicts that are named."""

import time

import numpy as np
import pytest

from addtree import Categorical, Choice, Integer, Real, Space
from addtree.errors import SpaceError
from addtree.search.design import initial_design
from addtree.space.feasibility import Feasibility, FeasibilitySettings

NAMES = [f"x{i}" for i in range(8)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def numbers(*rules):
    return Space({name: Real(0, 1) for name in NAMES}).where(*rules).encoding


def test_without_rules_nothing_is_drawn_or_changed(rng):
    encoding = Space({name: Real(0, 1) for name in NAMES}).encoding
    feasibility, state = encoding.feasibility, rng.bit_generator.state
    X = np.full((3, 8), 0.5)
    assert feasibility.filter(X) is X
    assert feasibility.complete(X, rng) is X
    assert feasibility.make_valid(X, rng) is X
    assert feasibility.toward(X, X) is X
    assert feasibility.valid(X).all()
    assert rng.bit_generator.state == state
    again = np.random.default_rng(0)
    np.testing.assert_array_equal(encoding.sample(5, rng), encoding.sample_freely(5, again))


@pytest.mark.parametrize(
    "rule",
    [
        " + ".join(NAMES) + " <= 0.8",  # 4e-6 of all
        " < ".join(NAMES),  # 2e-5
        "x0 * x1 * x2 > 0.9 and (x3 < 0.01 or x4 < 0.01)",
        "(x0 - 0.3) ** 2 + (x1 - 0.7) ** 2 <= 1e-4",
        "not (x0 < 0.99 or x1 < 0.99 or x2 < 0.99) or x3 > 0.9999",  # x3 keeps the others from being narrowed
        "x0 / (x1 - 0.5) > 300 or x3 > 0.9999",
    ],
)
def test_rare_rows_are_found(rule, rng):
    encoding = numbers(rule)
    assert np.mean(encoding.feasibility.valid(encoding.sample_freely(1000, rng))) < 0.01
    X = encoding.sample(200, rng)
    assert encoding.feasibility.valid(X).all()
    assert len({row.tobytes() for row in X}) > 150
    assert np.all(X.std(axis=0) > 1e-4)


def test_whole_numbers_with_a_given_sum_are_found(rng):
    space = Space({name: Integer(0, 20) for name in NAMES[:6]}).where(
        "x0 + x1 + x2 + x3 + x4 + x5 == 20", "x0 < x1 < x2"
    )
    configs = [space.sample(rng) for _ in range(20)]
    assert {sum(config.values()) for config in configs} == {20}
    assert len({tuple(config.values()) for config in configs}) > 15


def test_a_sample_is_uniform_where_rules_admit_much(rng):
    encoding = Space(a=Real(0, 1), b=Real(0, 1)).where("a <= b").encoding
    X = encoding.sample(4000, rng)
    assert X.mean(axis=0) == pytest.approx([1 / 3, 2 / 3], abs=0.02)


def test_a_walk_among_valid_rows_is_not_far_from_uniform(rng):
    """The corner x0, x1 < 0.05 is a 400th of the square."""
    encoding = Space(x0=Real(0, 1), x1=Real(0, 1), c=Categorical(["u", "v"])).where("x0 < 0.05 and x1 < 0.05").encoding
    X = encoding.sample(2000, rng)
    assert X[:, :2].mean(axis=0) == pytest.approx([0.025, 0.025], abs=0.004)
    assert X[:, 2].mean() == pytest.approx(0.5, abs=0.12)


def test_the_branch_is_left_if_no_value_satisfies_a_rule_there(rng):
    space = Space(c=Choice(a=Space(x=Real(0, 1)), b=Space(y=Real(0, 1)))).where("x > 2")
    assert {space.sample(rng)["c"] for _ in range(30)} == {"b"}
    forbidden = Space(c=Choice({"a": Space().where("False"), "b": Space(), "d": Space()}))
    assert {forbidden.sample(rng)["c"] for _ in range(30)} == {"b", "d"}


def test_the_rows_of_a_space_do_not_depend_on_earlier_uses(rng):
    space = Space({name: Real(0, 1) for name in NAMES}).where(" < ".join(NAMES))
    space.sample(rng)
    again = Space.from_dict(space.to_dict())
    assert space.sample(np.random.default_rng(1)) == again.sample(np.random.default_rng(1))


def test_a_design_sees_every_option_that_rules_admit(rng):
    space = Space(
        x=Real(0, 1),
        y=Real(0, 1),
        model=Choice({label: Space({f"z{label}": Integer(1, 50)}) for label in range(4)}),
        n=Integer(0, 3, opens={(1, 3): Space(u=Real(0, 1)), (3, 3): Space(v=Real(0, 1))}),
    ).where("x * 10 <= y", "z0 + z1 < 10", "z2 <= 100 * x", "u <= x", "z3 < 5")
    X = initial_design(space.encoding, 16, rng)
    assert space.encoding.feasibility.valid(X).all()
    assert set(X[:, space.encoding.index["model"]]) == {0, 1, 2, 3}
    assert np.sum(~np.isnan(X[:, space.encoding.index["v"]])) >= 1


# ------------------------------------------------------------------ boundaries


def test_the_way_to_an_invalid_row_ends_at_the_boundary():
    encoding = numbers("x0 + x1 <= 0.75")
    start, X = np.full((3, 8), 0.1), np.full((3, 8), 0.9)
    X[1], X[2, :2] = 0.2, 0.1
    found = encoding.feasibility.toward(start, X, parts=16, refinements=4)
    assert encoding.feasibility.valid(found).all()
    assert found[0, :2].sum() == pytest.approx(0.75, abs=1e-6)
    assert found[0, 7] == pytest.approx(0.375, abs=1e-6)
    np.testing.assert_array_equal(found[1:], X[1:])


def test_a_number_that_opens_something_else_is_not_followed():
    space = Space(n=Real(0, 1, opens={(0.4, 0.6): Space(u=Real(0, 1))}), x=Real(0, 1)).where("n + x <= 1")
    encoding = space.encoding
    start, X = encoding.encode([{"n": 0.1, "x": 0.2}] * 2), np.array([[0.5, 0.9, 0.5], [0.9, 0.9, np.nan]])
    found = encoding.feasibility.toward(start, X)
    for row in found:
        space.validate(encoding.decode(row))
    np.testing.assert_array_equal(found[0], start[0])
    assert found[1, 0] == start[1, 0]
    assert found[1, 1] > 0.8


def test_normals_point_out_of_the_valid_region():
    normal = numbers("x0 + 2 * x1 <= 0.5", "x3 <= 0.9").feasibility.normals(np.full((1, 8), 0.5))
    np.testing.assert_allclose(normal[0], np.array([1, 2, 0, 0, 0, 0, 0, 0]) / np.sqrt(5), atol=1e-3)


def test_normals_of_whole_numbers_are_measured_in_steps():
    encoding = Space(m=Integer(0, 10), n=Integer(0, 100), c=Categorical(["u", "v"])).where("m + n <= 30").encoding
    normal = encoding.feasibility.normals(np.array([[0.7, 0.52, 0.0]]))
    np.testing.assert_allclose(normal[0] / normal[0, 1], [0.1, 1.0, 0.0], rtol=0.05)
    labels = Space(x=Real(0, 1), c=Categorical(["u", "v"])).where("c == 'u'").encoding
    assert not labels.feasibility.normals(np.array([[0.5, 1.0]])).any()


# ------------------------------------------------------------------ conflicts


def test_the_rules_that_conflict_are_named():
    space = Space(a=Real(0, 1), b=Real(0, 1), c=Real(0, 1)).where("a < b", "c > 0.5", "b < c", "c < a")
    start = time.perf_counter()
    with pytest.raises(SpaceError, match="no valid configuration") as caught:
        space.sample(np.random.default_rng(0))
    assert "'a < b', 'b < c', 'c < a'" in str(caught.value)
    assert "c > 0.5" not in str(caught.value)
    assert time.perf_counter() - start < 60


def test_one_impossible_rule_is_named_alone():
    with pytest.raises(SpaceError, match="this rule excludes all that were tried: 'a > 2'"):
        Space(a=Real(0, 1)).where("a > 2", "a > 0.1").sample(np.random.default_rng(0))


def test_a_single_valid_configuration_of_a_finite_space_is_found():
    space = Space({f"i{k}": Integer(0, 9) for k in range(4)}).where("1000 * i0 + 100 * i1 + 10 * i2 + i3 == 7306")
    none = Feasibility(space.encoding, space.node_rules, FeasibilitySettings(draws=1, pool=1, long_rounds=0))
    assert space.encoding.decode(none.pool[0][0]) == {"i0": 7, "i1": 3, "i2": 0, "i3": 6}


def test_a_function_sees_the_configurations_of_all_rows_decoded_by_columns(rng):
    unit, deep = Real(0, 1), Choice({True: Space(a=Real(1e-3, 1, log=True)), 1.5: Space()})
    space = Space(
        n=Integer(1, 9, opens={(3, 9): Space(u=Real(0, 1, step=0.1)), (5, 6): Space(v=Integer(2**60, 2**60 + 9))}),
        m=Choice({"p": Space(c=Integer(3, 3), deep=deep), None: Space(s=Categorical(["l", "h"], ordered=True))}),
        x=unit,
    )
    seen = []
    encoding = space.where(lambda config: seen.append(config) or True).encoding
    X = encoding.sample_freely(200, rng)
    expected = [
        {name: config[name] for name in space.variables if name in config} for config in map(encoding.decode, X)
    ]
    assert encoding.feasibility.valid(X).all()
    assert list(map(repr, seen)) == list(map(repr, expected))
