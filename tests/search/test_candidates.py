from dataclasses import replace

import numpy as np

from addtree import Choice, Integer, Real, Space
from addtree.search.candidates import (
    CandidateSettings,
    Observed,
    candidates,
    neglected_nodes,
    within_node,
)
from addtree.space.encoding import Encoding
from addtree.space.restriction import Restriction

unit = Real(0, 1)
DEFAULT = CandidateSettings()
SPACE = Space(x=unit, c=Choice(a=Space(y=unit, s=unit), b=Space(z=unit, s=unit), e=Space()))


def test_candidates_lie_anywhere_near_the_best_and_across_branches():
    encoding = Encoding(SPACE)
    X = encoding.encode([{"x": 0.5, "c": "a", "y": 0.25, "s": 0.75}, {"x": 0.1, "c": "b", "z": 0.9, "s": 0.2}])
    rng = np.random.default_rng(0)
    found = encoding.snap(candidates(Observed(encoding, X, np.array([0.0, 1.0]), set()), DEFAULT, rng))
    j = {name: i for i, name in enumerate(encoding.names)}
    best = X[0]
    with np.errstate(invalid="ignore"):
        near = np.nanmax(np.abs(found - best), axis=1) < 0.05
    assert np.sum(near & (found[:, j["c"]] == 0)) > 10
    flipped = (found[:, j["c"]] == 1) & (found[:, j["x"]] == 0.5) & (found[:, j["s"]] == 0.75)
    assert flipped.any()  # what both options have in common stays
    assert np.any((found[:, j["c"]] == 2) & (found[:, j["x"]] == 0.5))
    assert {0.0, 1.0, 2.0} == set(found[:, j["c"]])


def test_what_a_new_option_opens_may_come_from_the_best_seen_there():
    encoding = Encoding(SPACE)
    X = encoding.encode([{"x": 0.5, "c": "a", "y": 0.25, "s": 0.75}, {"x": 0.1, "c": "b", "z": 0.9, "s": 0.2}])
    x, z = encoding.index["x"], encoding.index["z"]
    found = np.concatenate(
        [candidates(Observed(encoding, X, np.arange(2.0), set()), DEFAULT, np.random.default_rng(i)) for i in range(5)]
    )
    flipped = found[(found[:, x] == 0.5) & ~np.isnan(found[:, z])]
    assert np.any(flipped[:, z] == 0.9)
    assert np.any(flipped[:, z] != 0.9)


def test_without_observations_there_are_candidates_too():
    encoding = Encoding(SPACE)
    found = candidates(
        Observed(encoding, np.empty((0, encoding.n_columns)), np.empty(0), set()), DEFAULT, np.random.default_rng(0)
    )
    assert len(found) > 50
    for row in found[:10]:
        SPACE.validate(encoding.decode(row))


def test_nothing_given_is_changed():
    encoding = Encoding(SPACE)
    X = encoding.sample(5, np.random.default_rng(1))
    before = X.copy()
    candidates(Observed(encoding, X, np.arange(5.0), set()), DEFAULT, np.random.default_rng(0))
    np.testing.assert_array_equal(X, before)


def seen(*counts):
    """Rows and values with this many evaluations of each option of SPACE, the last option being the worst."""
    encoding, rng = Encoding(SPACE), np.random.default_rng(0)
    X = np.concatenate([encoding.enter(encoding.sample(n, rng), 1 + o, rng) for o, n in enumerate(counts)])
    return encoding, X, np.repeat(np.arange(len(counts), dtype=float), counts)


def test_the_option_seen_least_is_the_most_neglected():
    rng = np.random.default_rng(0)

    def found(*counts):
        encoding, X, _ = seen(*counts)
        return neglected_nodes(Observed(encoding, X, rng.random(len(X)), set()), DEFAULT, rng)

    assert found(20, 2, 4) == [2, 3, 1]
    assert found(20, 4, 0) == [3, 2, 1]
    assert {found(20, 0, 0)[0] for _ in range(20)} == {2, 3}
    assert neglected_nodes(Observed(Encoding(Space(x=unit)), np.zeros((9, 1)), np.zeros(9), set()), DEFAULT, rng) == []


def test_what_counts_is_the_share_of_an_option():
    nested = Space(c=Choice(a=Space(d=Choice({i: Space(y=unit) for i in range(3)})), b=Space(z=unit)))
    encoding, rng = Encoding(nested), np.random.default_rng(0)
    nodes = [n for n, node in enumerate(nested.nodes) if len(node.location) == 2]
    b = next(n for n, node in enumerate(nested.nodes) if node.location == (("c", 1),))
    X = np.concatenate(
        [encoding.enter(encoding.sample(n, rng), node, rng) for node, n in [*((d, 3) for d in nodes), (b, 4)]]
    )
    assert (
        neglected_nodes(Observed(encoding, X, rng.random(len(X)), set()), DEFAULT, rng)[-1] == b
    )  # 4 of 13 are more than its quarter; a has 9


def test_an_option_that_always_fails_is_left_alone_one_that_failed_once_is_not():
    rng = np.random.default_rng(0)
    assert neglected_nodes(Observed(*seen(20, 10, 3), set()), DEFAULT, rng) == [2, 1]
    assert neglected_nodes(Observed(*seen(20, 10, 1), set()), DEFAULT, rng) == [3, 2, 1]
    encoding, X, value = seen(20, 10, 3)
    value[-1] = 0.5
    assert neglected_nodes(Observed(encoding, X, value, set()), DEFAULT, rng) == [3, 2, 1]


def test_candidates_within_a_branch_are_all_there_and_valid():
    nested = Space(c=Choice(a=Space(y=unit), b=Space(d=Choice(p=Space(u=unit), q=Space(v=unit)), w=unit)), x=unit)
    encoding, rng = Encoding(nested), np.random.default_rng(0)
    X = encoding.sample(12, rng)
    for node in range(1, len(nested.nodes)):
        found = encoding.snap(within_node(Observed(encoding, X, np.arange(12.0), set()), node, DEFAULT, rng))
        assert encoding.inside(found, node).all()
        for row in found:
            nested.validate(encoding.decode(row))
    x = encoding.index["x"]
    assert np.sum(np.abs(found[:, x] - X[0, x]) < 1e-4) > 5  # incumbents, brought there with the rest kept


def test_candidates_move_numbers_across_their_intervals():
    space = Space(
        n=Integer(1, 4, opens={(2, 4): Space(u=unit), (4, 4): Space(v=unit)}),
        r=Real(0, 1, opens={(0.5, 0.5): Space(w=unit)}),
    )
    encoding, rng = Encoding(space), np.random.default_rng(0)
    X = encoding.encode([{"n": 2, "u": 0.25, "r": 0.3}, {"n": 4, "u": 0.5, "v": 0.875, "r": 0.6}])
    observed = Observed(encoding, X, np.arange(2.0), set())
    few = replace(DEFAULT, near=1)
    found = encoding.snap(np.concatenate([candidates(observed, few, rng) for _ in range(20)]))
    configs = [space.validate(encoding.decode(row)) for row in found]
    moved = [c for c in configs if c["n"] == 4 and c["u"] == 0.25]  # the best, moved to 4
    assert {c["v"] == 0.875 for c in moved} == {True, False}  # from the other observation, or at random
    assert any(c["n"] == 1 and c["r"] == 0.3 for c in configs)
    assert any(c["r"] == 0.5 and c.get("u") == 0.25 for c in configs)
    assert neglected_nodes(observed, DEFAULT, rng)[0] == 3  # r in 0.5..0.5


def test_a_number_that_two_options_share_opens_what_its_kept_value_opens():
    n = Integer(1, 9, opens={(5, 9): Space(u=unit)})
    space = Space(c=Choice(a=Space(n=n), b=Space(n=n)))
    encoding, rng = Encoding(space), np.random.default_rng(0)
    X = encoding.encode([{"c": "a", "n": 1}, {"c": "b", "n": 9, "u": 0.5}])
    for _ in range(10):
        for row in candidates(Observed(encoding, X, np.arange(2.0), set()), DEFAULT, rng):
            space.validate(encoding.decode(row))


def test_candidates_satisfy_the_rules():
    """Also those that a rule leaves little room for, and those inside one branch."""
    space = SPACE.where("x < 0.1 or s < 0.1", "y + s <= 0.3", "z > 0.9")
    encoding, rng = Encoding(space), np.random.default_rng(0)
    X = encoding.sample(6, rng)
    observed = Observed(encoding, X, np.arange(6.0), set())
    found = encoding.snap(candidates(observed, DEFAULT, rng))
    assert encoding.feasibility.valid(found).all()
    assert len(found) > 200
    for node in (1, 2, 3):
        rows = encoding.snap(within_node(observed, node, DEFAULT, rng))
        assert encoding.inside(rows, node).all()
        assert encoding.feasibility.valid(rows).all()
        assert len(rows) > 20


def test_neglected_branches_that_a_restriction_excludes_are_left_alone():
    space = Space(c=Choice(a=Space(k=Choice(u=Space(), v=Space())), b=Space(y=Real(0, 1)), e=Space()))
    encoding = space.encoding
    X = encoding.sample(9, np.random.default_rng(0))
    observed = Observed(encoding, X, np.arange(9.0), set(), Restriction.of(encoding, {"c": "a"}))
    nodes = neglected_nodes(observed, CandidateSettings(), np.random.default_rng(0))
    assert {space.nodes[i].location[0] for i in nodes} == {("c", 0)}
    assert len(nodes) == 3
