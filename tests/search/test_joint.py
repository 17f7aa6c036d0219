import numpy as np
import pytest

from addtree import Categorical, Choice, Integer, Real, Space
from addtree.model.gp import Posterior
from addtree.model.kernel import Hyperparameters
from addtree.problems import synthetic
from addtree.search.acquisition import beta, lowest, ucb
from addtree.search.joint import _different_branches, _single_steps, decomposed, joint
from tests.strategies import build, data


def fitted(space, covariance, n=12, seed=0):
    encoding, k = build(space, covariance)
    rows, z = data(encoding, k, n, seed)
    hyper = Hyperparameters(np.ones(len(k.terms)), np.full(k.n_scales, 0.3), 1e-4)
    return encoding, k, Posterior.from_data(k, hyper, rows, z)


def test_algorithm_2_on_the_papers_tree_is_the_best_over_a_grid():
    encoding, k, posterior = fitted(synthetic().space, "additive")
    _, value = decomposed(posterior, k, encoding, lambda d: ucb(beta(d, 13)), np.random.default_rng(0))
    grid = np.linspace(0, 1, 201)
    best = {}
    for t, term in enumerate(k.terms):
        X = np.full((len(grid), encoding.n_columns), np.nan)
        X[:, term.columns[0]] = grid
        counted = np.zeros((len(grid), len(k.terms)), dtype=bool)
        counted[:, t] = True
        mean, variance, _ = posterior.at(X, counted)(X)
        best[term.label] = ucb(beta(np.ones(len(grid)), 13))(mean, variance)[0].max()
    leaves = [best["r8"] + max(best["x4"], best["x5"]), best["r9"] + max(best["x6"], best["x7"])]
    assert max(leaves) - 1e-9 <= value <= max(leaves) + 0.01


def test_a_vertex_spread_over_several_nodes_counts_once():
    """y and z are always active: together in option a, apart in option b. Neither option gains by that."""
    y, z, k = (Categorical([0, 1]) for _ in range(3))
    space = Space(
        c=Choice(
            a=Space(y=y, z=z),
            b=Space(y=y, k=k, d=Choice({1: Space(z=z), 2: Space(z=z)})),
        )
    )
    assert [v.names for v in space.vertices] == [("y", "z"), ("k",)]
    encoding, cov, posterior = fitted(space, "additive", n=6)
    row, value = decomposed(posterior, cov, encoding, lambda d: lowest, np.random.default_rng(0))
    active = cov.rows(row[None])
    mean = sum(posterior.component(t, active)[0][0] for t in range(len(cov.terms)))
    assert value == pytest.approx(-mean)


def test_the_search_takes_time_linear_in_the_vertices():
    space = Space(
        {f"c{i}": Choice({0: Space({f"a{i}": Real(0, 1)}), 1: Space({f"b{i}": Real(0, 1)})}) for i in range(40)}
    )
    assert space.n_paths == 2**40
    encoding, k, posterior = fitted(space, "additive")
    row, _ = decomposed(posterior, k, encoding, lambda d: ucb(beta(d, 13)), np.random.default_rng(0))
    space.validate(encoding.decode(row))


def test_single_steps_change_one_integer_or_category_by_one():
    space = Space(k=Integer(1, 9), m=Categorical("abc" for _ in range(1)), n=Categorical(["u", "v", "w"]), x=Real(0, 1))
    encoding, _ = build(space, "additive")
    row = encoding.encode([{"k": 1, "m": "abc", "n": "v", "x": 0.5}])[0]
    steps = [encoding.decode(r) for r in _single_steps(encoding, row)]
    assert steps == [
        {"k": 2, "m": "abc", "n": "v", "x": 0.5},
        {"k": 1, "m": "abc", "n": "u", "x": 0.5},
        {"k": 1, "m": "abc", "n": "w", "x": 0.5},
    ]
    flat, _ = build(Space(x=Real(0, 1)), "additive")
    assert _single_steps(flat, np.array([0.5])).shape == (0, 1)


def test_climbs_start_in_different_branches():
    encoding, _ = build(synthetic().space, "additive")
    X = encoding.sample(60, np.random.default_rng(0))
    value = np.arange(60.0)
    chosen = _different_branches(encoding, X, value)
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
    row = joint(posterior, k, encoding, lowest, encoding.sample(50, np.random.default_rng(0)), set(encoding.keys(X)))
    assert encoding.decode(row)["k"] in (4, 6)


def test_a_joint_search_climbs_no_further_than_enough():
    encoding, k, posterior = fitted(Space(x=Real(0, 1), y=Real(0, 1)), "additive")
    X, calls = encoding.sample(20, np.random.default_rng(0)), []

    def counted(mean, variance):
        calls[-1] += 1
        return lowest(mean, variance)

    for enough in (None, np.inf):
        calls.append(0)
        joint(posterior, k, encoding, counted, X, set(), enough=enough)
    assert calls[1] < calls[0]


def test_every_candidate_taken_is_none():
    encoding, k, posterior = fitted(Space(m=Categorical(["u", "v"])), "additive", n=3)
    X = encoding.enumerate()
    assert joint(posterior, k, encoding, lowest, X, set(encoding.keys(X))) is None


def test_a_space_without_parameters_is_searched():
    space = Space(c=Choice(a=Space(), b=Space()))
    encoding, k, posterior = fitted(space, "additive", n=3)
    row, value = decomposed(posterior, k, encoding, lambda d: ucb(beta(d, 4)), np.random.default_rng(0))
    assert space.validate(encoding.decode(row))
    assert value == 0.0


@pytest.mark.parametrize("seed", range(30))
def test_a_top_between_two_integers_does_not_round_to_less_than_the_best(seed):
    encoding, k, posterior = fitted(Space(i=Integer(0, 2), j=Integer(0, 2)), "additive", n=4, seed=seed)
    goal = ucb(beta(np.array(2.0), 5))
    _, value = decomposed(posterior, k, encoding, lambda d: goal, np.random.default_rng(seed))
    everywhere = goal(*posterior.predict(k.rows(encoding.enumerate())))[0]
    assert value == pytest.approx(everywhere.max(), abs=1e-6)
