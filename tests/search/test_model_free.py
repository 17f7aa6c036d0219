from dataclasses import replace

import numpy as np
import pytest

from addtree import Categorical, Choice, Integer, Real, Space
from addtree.search.candidates import Observed
from addtree.search.model_free import beside_best, branches_to_search, fresh_row, in_widest_gap
from addtree.space.encoding import Encoding
from addtree.space.restriction import Restriction

unit = Real(0, 1)


def observe(space, *pairs):
    """The space's encoding, and observations of pairs of a configuration and its value, in this order."""
    encoding = Encoding(space)
    X = encoding.encode([config for config, _ in pairs])
    return encoding, Observed(encoding, X, np.array([value for _, value in pairs]), set(encoding.keys(X)))


def test_a_number_moves_into_its_widest_gap():
    encoding = Encoding(Space(x=unit, c=Choice(a=Space(y=unit), b=Space(), e=Space())))
    configs = [{"x": x, "c": "a", "y": y} for x, y in ((0.1, 0.5), (0.3, 0.55), (0.9, 0.6))]
    X, y = encoding.encode([*configs, {"x": 0.6, "c": "b"}]), np.array([2.0, 1.0, 3.0, 0.0])
    observed = Observed(encoding, X, y, set(encoding.keys(X)))
    row = in_widest_gap(observed, 1)
    assert encoding.decode(row) == pytest.approx({"x": 0.6, "c": "a", "y": 0.55})  # b does not count
    again = Observed(encoding, X, y, {*observed.taken, *encoding.keys(row[None])})
    assert encoding.decode(in_widest_gap(again, 1)) == pytest.approx({"x": 0.3, "c": "a", "y": 0.25})
    assert in_widest_gap(observed, 3) is None  # nothing was seen there


def test_a_move_into_a_gap_keeps_rules_and_restrictions():
    space = Space(x=unit, c=Choice(a=Space(y=unit), b=Space())).where("x <= 0.5")
    encoding = Encoding(space)
    X = encoding.encode([{"x": 0.1, "c": "a", "y": 0.2}])
    observed = Observed(encoding, X, np.zeros(1), set(encoding.keys(X)))
    assert encoding.decode(in_widest_gap(observed, 1)) == pytest.approx({"x": 0.1, "c": "a", "y": 0.6})
    restriction = Restriction.of(encoding, {"y": 0.2})
    assert in_widest_gap(replace(observed, restriction=restriction), 1) is None


def test_a_move_into_a_gap_opens_nothing_else():
    opener = Real(0, 1, opens={(0.5, 1): Space(y=unit)})
    encoding = Encoding(Space(c=Choice(a=Space(r=opener), b=Space())))
    X = encoding.encode([{"c": "a", "r": 0.1}])
    assert in_widest_gap(Observed(encoding, X, np.zeros(1), set()), 1) is None  # 0.55 would open y
    X = encoding.encode([{"c": "a", "r": 0.1}, {"c": "a", "r": 0.8, "y": 0.5}])
    row = in_widest_gap(Observed(encoding, X, np.arange(2.0), set(encoding.keys(X))), 1)
    assert encoding.decode(row) == pytest.approx({"c": "a", "r": 0.45})


def test_a_fresh_row_is_where_its_branch_was_not_seen():
    space = Space(x=unit, c=Choice(a=Space(y=unit, k=Integer(1, 4)), b=Space(z=unit)))
    pairs = [({"x": 0.3, "c": "b", "z": 0.5}, 0.0), ({"x": 0.9, "c": "a", "y": 0.1, "k": 1}, 2.0)]
    encoding, observed = observe(space, *pairs)
    for seed in range(20):
        config = encoding.decode(fresh_row(observed, 1, np.random.default_rng(seed), enough=2))
        assert config["c"] == "a"
        assert config["x"] == 0.9  # what is not the option's own is as in its best row
        assert 0.5 <= config["y"] <= 1.0
        assert config["k"] > 2
    encoding, observed = observe(space, pairs[0])
    assert encoding.decode(fresh_row(observed, 1, np.random.default_rng(0), enough=2))["x"] == 0.3  # or in that of all


def test_the_model_decides_below_an_option_that_was_seen_enough():
    space = Space(c=Choice(a=Space(y=unit, d=Choice(p=Space(u=unit), q=Space(v=unit))), b=Space(z=unit)))
    pairs = [({"c": "a", "y": y, "d": "p", "u": 0.5}, y) for y in (0.4, 0.6)]
    encoding, observed = observe(space, *pairs)
    rng = np.random.default_rng(0)
    node = [found.location for found in encoding.space.nodes].index((("c", 0), ("d", 1)))
    assert fresh_row(observed, node, rng, enough=2) is None
    config = encoding.decode(fresh_row(observed, node, rng, enough=3))
    assert config["d"] == "q"
    assert config["y"] == 0.4  # as in the best row of the option above


def test_a_fresh_row_keeps_rules_and_restrictions():
    space = Space(x=unit, c=Choice(a=Space(y=unit), b=Space()))
    encoding, observed = observe(space, ({"x": 0.1, "c": "b"}, 0.0))
    rng = np.random.default_rng(0)
    assert fresh_row(observed, 1, rng, enough=2) is not None
    assert fresh_row(replace(observed, restriction=Restriction.of(encoding, {"c": "b"})), 1, rng, enough=2) is None
    encoding, observed = observe(space.where("y >= 2"), ({"x": 0.1, "c": "b"}, 0.0))
    assert fresh_row(observed, 1, rng, enough=2) is None


def test_the_best_branch_is_searched_until_that_fails():
    space = Space(c=Choice(a=Space(y=unit), b=Space(z=unit), e=Space()))
    better, worse = [({"c": "a", "y": 0.5}, 0.0)], [({"c": "b", "z": 0.2}, 1.0), ({"c": "b", "z": 0.6}, 2.0)]
    in_vain = [({"c": "a", "y": y}, 0.5) for y in (0.1, 0.9, 0.4, 0.6)]
    lone = [({"c": "e"}, -1.0)]

    def order(*pairs):
        encoding, observed = observe(space, *pairs)
        return [encoding.decode(observed.X[branch.best])["c"] for branch in branches_to_search(observed)]

    assert order(*lone) == []  # nothing can be changed there
    assert order(*lone, *better, *worse) == ["a", "b"]
    assert order(*lone, *better, *worse, *in_vain[:3]) == ["a", "b"]  # one failure: level, and the better one is first
    assert order(*lone, *better, *worse, *in_vain) == ["b", "a"]
    assert order(*lone, *worse, *in_vain, *better) == ["a", "b"]  # the best came last


def test_a_number_moves_into_the_wider_gap_beside_the_best():
    space = Space(x=unit, c=Choice(a=Space(y=unit), b=Space(z=unit)), k=Categorical(["u", "v"]))
    pairs = [
        ({"x": x, "c": "a", "y": y, "k": "u"}, v) for x, y, v in ((0.5, 0.0, 0.0), (0.4, 0.2, 1.0), (0.7, 0.9, 2.0))
    ]
    encoding, observed = observe(space, *pairs, ({"x": 0.45, "c": "b", "z": 0.1, "k": "v"}, -1.0))
    branch = next(found for found in branches_to_search(observed) if found.best == 0)
    found = []
    for _ in range(4):
        row = beside_best(observed, branch)
        if row is not None:
            found.append(encoding.decode(row))
            observed = replace(observed, taken={*observed.taken, *encoding.keys(row[None])})
    moved = [{name: config[name] for name in ("x", "y")} for config in found]
    assert moved[0] in ({"x": 0.5, "y": 0.1}, {"x": pytest.approx(0.6), "y": 0.0})  # both gaps are 0.2 wide
    assert moved[2] == {"x": pytest.approx(0.45), "y": 0.0}
    assert len(moved) == 3  # below y = 0 there is nothing
    assert all(config["c"] == "a" and config["k"] == "u" for config in found)


def test_narrow_gaps_beside_the_best_are_not_worth_an_evaluation():
    _, observed = observe(Space(x=unit), *(({"x": x}, abs(x - 0.5)) for x in (0.485, 0.5, 0.515)))
    (branch,) = branches_to_search(observed)
    assert beside_best(observed, branch) is None
