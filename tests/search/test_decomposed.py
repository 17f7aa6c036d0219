import numpy as np
import pytest

from addtree import Categorical, Choice, Integer, Real, Space
from addtree.model.gp import Posterior
from addtree.model.kernel import Hyperparameters
from addtree.problems import synthetic
from addtree.search.acquisition import beta, lowest, ucb
from addtree.search.decomposed import maximize_sum
from tests.strategies import fitted


def test_algorithm_2_on_the_papers_tree_is_the_best_over_a_grid():
    encoding, k, posterior = fitted(synthetic().space, "additive")
    _, value = maximize_sum(posterior, encoding, lambda d: ucb(beta(d, 13)), np.random.default_rng(0))
    grid = np.linspace(0, 1, 201)
    best = {}
    for t, term in enumerate(k.terms):
        X = np.full((len(grid), encoding.n_columns), np.nan)
        X[:, term.columns[0]] = grid
        counted = np.zeros((len(grid), len(k.terms)), dtype=bool)
        counted[:, t] = True
        mean, variance, _ = posterior.moments(X, counted)(X)
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
    row, value = maximize_sum(posterior, encoding, lambda d: lowest, np.random.default_rng(0))
    active = cov.rows(row[None])
    mean = sum(posterior.component([t], active)[0][0] for t in range(len(cov.terms)))
    assert value == pytest.approx(-mean)


def test_the_search_takes_time_linear_in_the_vertices():
    space = Space(
        {f"c{i}": Choice({0: Space({f"a{i}": Real(0, 1)}), 1: Space({f"b{i}": Real(0, 1)})}) for i in range(40)}
    )
    assert space.n_paths == 2**40
    encoding, _k, posterior = fitted(space, "additive")
    row, _ = maximize_sum(posterior, encoding, lambda d: ucb(beta(d, 13)), np.random.default_rng(0))
    space.validate(encoding.decode(row))


def test_a_space_without_parameters_is_searched():
    space = Space(c=Choice(a=Space(), b=Space()))
    encoding, _k, posterior = fitted(space, "additive", n=3)
    row, value = maximize_sum(posterior, encoding, lambda d: ucb(beta(d, 4)), np.random.default_rng(0))
    assert space.validate(encoding.decode(row))
    assert value == 0.0


@pytest.mark.parametrize("seed", range(30))
def test_a_top_between_two_integers_does_not_round_to_less_than_the_best(seed):
    encoding, k, posterior = fitted(Space(i=Integer(0, 2), j=Integer(0, 2)), "additive", n=4, seed=seed)
    goal = ucb(beta(np.array(2.0), 5))
    _, value = maximize_sum(posterior, encoding, lambda d: goal, np.random.default_rng(seed))
    everywhere = goal(*posterior.predict(k.rows(encoding.enumerate())))[0]
    assert value == pytest.approx(everywhere.max(), abs=1e-6)


def test_an_opener_takes_the_value_whose_intervals_are_worth_most():
    """By itself n is best at 1, but only 3 opens v, which gains more."""
    space = Space(n=Integer(1, 3, opens={(3, 3): Space(v=Categorical([0, 1]))}))
    encoding, cov, _ = fitted(space, "additive", n=4)
    X = encoding.encode([{"n": 1}, {"n": 2}, {"n": 3, "v": 0}, {"n": 3, "v": 1}])
    hyper = Hyperparameters(np.ones(2), np.ones(2), 1e-6)
    posterior = Posterior.from_data(cov, hyper, cov.rows(X), np.array([-0.5, 0.0, 2.0, -2.0]))
    row, value = maximize_sum(posterior, encoding, lambda d: lowest, np.random.default_rng(0))
    assert encoding.decode(row) == {"n": 3, "v": 1}
    assert value == pytest.approx(2.0, abs=1e-3)
