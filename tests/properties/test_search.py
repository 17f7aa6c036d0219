"""What holds of the search on every space."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from addtree.model.gp import Posterior
from addtree.model.kernel import Kernel
from addtree.search.acquisition import beta, log_expected_improvement, lowest, ucb
from addtree.search.candidates import CandidateSettings, Observed, candidates
from addtree.search.criterion import Single
from addtree.search.decomposed import VertexSearch, maximize_sum
from addtree.search.joint import maximize_jointly
from addtree.search.pathwise import SamplePath
from tests.strategies import COVARIANCES, build, data, hyperparameters, seeds, spaces

covariances = st.sampled_from(COVARIANCES)


def separable(space):
    """A model that adds up over vertices and options: mains and offsets."""
    encoding, k = build(space, "additive+interactions")
    return encoding, Kernel(tuple(t for t in k.terms if t.kind != "interaction"), k.n_codes)


def brute_force(view, k, encoding, acquisition):
    """The best configuration of a finite space by trying all, each the sum of its components' own acquisitions."""
    X = encoding.enumerate()
    active = k.rows(X).active
    total = np.zeros(len(X))
    for terms in k.components:
        on = np.flatnonzero(active[:, terms[0]])
        counted = np.zeros((len(on), len(k.terms)), dtype=bool)
        counted[:, terms] = True
        mean, variance, _ = view.moments(X[on], counted)(X[on])
        dimension = np.full(len(on), float(max(1, len(k.terms[terms[0]].columns))))
        total[on] += acquisition(dimension)(mean, variance)[0]
    return X, total


@given(spaces(depth=3, finite=True), seeds, st.booleans(), st.booleans())
def test_the_decomposed_optimum_is_that_of_brute_force(space, seed, offsets, thompson):
    assume(space.n_configs <= 3000)
    encoding, k = separable(space) if offsets else build(space, "additive")
    assume(k.terms)
    rows, z = data(encoding, k, 8, seed)
    posterior = Posterior.from_data(k, hyperparameters(encoding, k), rows, z)
    rng = np.random.default_rng(seed)
    view = SamplePath(posterior, rng) if thompson else posterior

    def acquisition(dimension):
        return lowest if thompson else ucb(beta(dimension, 9))

    X, total = brute_force(view, k, encoding, acquisition)
    search = VertexSearch(samples=400)  # enough to see every value of a vertex
    row, value = maximize_sum(view, encoding, acquisition, rng, search=search)
    np.testing.assert_allclose(value, total.max(), rtol=1e-6, atol=1e-7)
    at = encoding.keys(X).index(encoding.keys(row[None])[0])
    np.testing.assert_allclose(total[at], total.max(), rtol=1e-6, atol=1e-7)


@given(spaces(), st.sampled_from(["additive", "additive+interactions"]), seeds, st.booleans())
def test_the_decomposed_solution_is_a_configuration(space, covariance, seed, exact):
    encoding, k = build(space, covariance)
    rows, z = data(encoding, k, 6, seed)
    posterior = Posterior.from_data(k, hyperparameters(encoding, k), rows, z)
    search = VertexSearch(ascents=3 if exact else 0)
    row, value = maximize_sum(
        posterior, encoding, lambda d: ucb(beta(d, 7)), np.random.default_rng(seed), search=search
    )
    assert np.isfinite(value)
    np.testing.assert_allclose(encoding.encode([encoding.decode(row)])[0], row, atol=1e-12)


@given(spaces(depth=3), seeds)
def test_candidates_are_configurations(space, seed):
    encoding = build(space, "additive")[0]
    rng = np.random.default_rng(seed)
    X = encoding.sample(7, rng)
    found = encoding.snap(candidates(Observed(encoding, X, rng.normal(size=7), set()), CandidateSettings(), rng))
    for row in found[::5]:
        np.testing.assert_allclose(encoding.encode([encoding.decode(row)])[0], row, atol=1e-12)


@given(spaces(), covariances, seeds)
def test_the_joint_search_returns_the_best_it_saw_and_nothing_taken(space, covariance, seed):
    encoding, k = build(space, covariance)
    rows, z = data(encoding, k, 6, seed)
    posterior = Posterior.from_data(k, hyperparameters(encoding, k), rows, z)
    X = encoding.sample(40, np.random.default_rng(seed))
    acquisition = log_expected_improvement(float(z.min()))

    def score(X):
        return acquisition(*posterior.predict(k.rows(X)))[0]

    row = maximize_jointly(Single(posterior, acquisition), Observed(encoding, X, np.zeros(40), set()), X)
    assert row is not None
    assert score(row[None])[0] >= score(X).max() - 1e-9
    np.testing.assert_allclose(encoding.encode([encoding.decode(row)])[0], row, atol=1e-12)
    taken = set(encoding.keys(X[:39]))
    row = maximize_jointly(Single(posterior, acquisition), Observed(encoding, X, np.zeros(40), taken), X)
    if row is None:
        assert set(encoding.keys(X)) == taken
    else:
        assert encoding.keys(row[None])[0] not in taken
