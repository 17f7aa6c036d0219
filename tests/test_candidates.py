import numpy as np

from addtree import Choice, Real, Space
from addtree.candidates import candidates
from addtree.encoding import Encoding

unit = Real(0, 1)
SPACE = Space(x=unit, c=Choice(a=Space(y=unit, s=unit), b=Space(z=unit, s=unit), e=Space()))


def test_candidates_lie_anywhere_near_the_best_and_across_branches():
    encoding = Encoding(SPACE)
    X = encoding.encode([{"x": 0.5, "c": "a", "y": 0.25, "s": 0.75}, {"x": 0.1, "c": "b", "z": 0.9, "s": 0.2}])
    rng = np.random.default_rng(0)
    found = encoding.snap(candidates(encoding, X, np.array([0.0, 1.0]), rng))
    j = {name: i for i, name in enumerate(encoding.names)}
    best = X[0]
    with np.errstate(invalid="ignore"):
        near = np.nanmax(np.abs(found - best), axis=1) < 0.05
    assert np.sum(near & (found[:, j["c"]] == 0)) > 10
    flipped = (found[:, j["c"]] == 1) & (found[:, j["x"]] == 0.5) & (found[:, j["s"]] == 0.75)
    assert flipped.any()  # what both options have in common stays
    assert np.any((found[:, j["c"]] == 2) & (found[:, j["x"]] == 0.5))
    assert {0.0, 1.0, 2.0} == set(found[:, j["c"]])


def test_without_observations_there_are_candidates_too():
    encoding = Encoding(SPACE)
    found = candidates(encoding, np.empty((0, encoding.n_columns)), np.empty(0), np.random.default_rng(0))
    assert len(found) > 50
    for row in found[:10]:
        SPACE.validate(encoding.decode(row))


def test_nothing_given_is_changed():
    encoding = Encoding(SPACE)
    X = encoding.sample(5, np.random.default_rng(1))
    before = X.copy()
    candidates(encoding, X, np.arange(5.0), np.random.default_rng(0))
    np.testing.assert_array_equal(X, before)
