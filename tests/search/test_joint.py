import numpy as np
import pytest

from addtree import Categorical, Integer, Real, Space
from addtree.model.gp import Posterior
from addtree.model.kernel import Hyperparameters
from addtree.problems import synthetic
from addtree.search.acquisition import lowest
from addtree.search.candidates import Observed
from addtree.search.criterion import Single
from addtree.search.joint import _different_branches, maximize_jointly
from addtree.space.restriction import Restriction
from tests.strategies import build, fitted


def test_ascents_start_in_different_branches():
    encoding, _ = build(synthetic().space, "additive")
    X = encoding.sample(60, np.random.default_rng(0))
    value = np.arange(60.0)
    chosen = _different_branches(encoding, X, value, 8)
    assert chosen[:2].tolist() == [59, 58]
    assert len(chosen) == len(set(chosen.tolist())) == 8
    paths = {tuple(np.nan_to_num(X[i, encoding.is_choice], nan=-1)) for i in chosen[:6]}
    assert len(paths) == 4


def test_an_integer_optimum_already_taken_gives_its_neighbour():
    """The continuous optimum rounds to a configuration already evaluated: the run must not stand still there."""
    space = Space(k=Integer(0, 10))
    encoding, k = build(space, "additive")
    X = encoding.encode([{"k": v} for v in (0, 5, 10)])
    hyper = Hyperparameters(np.ones(1), np.full(1, 0.5), 1e-6)
    posterior = Posterior.from_data(k, hyper, k.rows(X), np.array([1.0, -1.0, 1.0]))
    observed = Observed(encoding, X, np.array([1.0, -1.0, 1.0]), set(encoding.keys(X)))
    row = maximize_jointly(Single(posterior, lowest), observed, encoding.sample(50, np.random.default_rng(0)))
    assert encoding.decode(row)["k"] in (4, 6)


def test_a_joint_search_ends_when_it_gains_less_than_the_tolerance():
    encoding, _k, posterior = fitted(Space(x=Real(0, 1), y=Real(0, 1)), "additive")
    X, calls = encoding.sample(20, np.random.default_rng(0)), []

    def counted(mean, variance):
        calls[-1] += 1
        return lowest(mean, variance)

    for tolerance in (None, np.inf):
        calls.append(0)
        maximize_jointly(Single(posterior, counted), Observed(encoding, X, np.zeros(20), set()), X, tolerance=tolerance)
    assert calls[1] < calls[0]


def test_every_candidate_taken_is_none():
    encoding, _k, posterior = fitted(Space(m=Categorical(["u", "v"])), "additive", n=3)
    X = encoding.enumerate()
    observed = Observed(encoding, X, np.zeros(len(X)), set(encoding.keys(X)))
    assert maximize_jointly(Single(posterior, lowest), observed, X) is None


def test_the_ascent_moves_what_a_restriction_leaves_free():
    encoding, k = build(Space(x=Real(0, 1), y=Real(0, 1)), "additive+interactions")
    X = encoding.sample(40, np.random.default_rng(0))
    z = (X[:, 0] - 0.2) ** 2 + (X[:, 1] - X[:, 0]) ** 2
    hyper = Hyperparameters(np.ones(len(k.terms)), np.full(k.n_scales, 0.5), 1e-8)
    posterior = Posterior.from_data(k, hyper, k.rows(X), z)
    restriction = Restriction.of(encoding, {"x": 0.7})
    rng = np.random.default_rng(1)
    candidates = restriction.conform(encoding.sample(8, rng), rng)
    row = maximize_jointly(Single(posterior, lowest), Observed(encoding, X, z, set(), restriction), candidates)
    assert row[0] == pytest.approx(0.7)
    assert row[1] == pytest.approx(0.7, abs=0.01)


def test_an_optimum_beyond_a_rule_is_found_on_its_boundary():
    """The best mean lies at x = y = 0.9. Along x + y = 1 it is best at x = y = 0.5, wherever the ascent crosses it."""
    space = Space(x=Real(0, 1), y=Real(0, 1)).where("x + y <= 1")
    encoding, k = build(space, "additive")
    X = np.random.default_rng(1).random((60, 2))
    hyper = Hyperparameters(np.ones(1), np.full(k.n_scales, 0.7), 1e-8)
    posterior = Posterior.from_data(k, hyper, k.rows(X), np.sum((X - 0.9) ** 2, axis=1) - 0.5)
    candidates = np.array([[0.1, 0.6], [0.2, 0.1], [0.95, 0.95]])
    row = maximize_jointly(Single(posterior, lowest), Observed(encoding, X, np.zeros(60), set()), candidates)
    np.testing.assert_allclose(row, [0.5, 0.5], atol=0.02)
    assert 1 - 1e-4 < row.sum() <= 1


def test_steps_of_the_winner_stay_within_the_rules():
    space = Space(m=Integer(0, 10), n=Integer(0, 10)).where("m + n <= 12", "m != 7")
    encoding, k = build(space, "additive")
    X = encoding.encode([{"m": m, "n": n} for m in (0, 3, 6) for n in (0, 3, 6)])
    hyper = Hyperparameters(np.ones(1), np.full(k.n_scales, 0.7), 1e-8)
    posterior = Posterior.from_data(k, hyper, k.rows(X), -X.sum(axis=1))
    observed = Observed(encoding, X, -X.sum(axis=1), set())
    row = maximize_jointly(Single(posterior, lowest), observed, encoding.sample(30, np.random.default_rng(0)))
    config = space.validate(encoding.decode(row))
    assert config["m"] + config["n"] == 12
