"""What holds of inference on every space."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from addtree.model.cholesky import BlockCholesky, connected_blocks
from addtree.model.gp import Likelihood, Posterior
from addtree.model.kernel import Hyperparameters, stack
from addtree.model.kernel_matrices import GramMatrix
from addtree.search.pathwise import SamplePath
from tests.strategies import COVARIANCES, build, data, differences, hyperparameters, reordered, sample, seeds, spaces

covariances = st.sampled_from(COVARIANCES)


def posterior_of(space, covariance, n, seed):
    encoding, k = build(space, covariance)
    rows, z = data(encoding, k, n, seed)
    hyper = hyperparameters(encoding, k)
    return encoding, k, hyper, rows, z, Posterior.from_data(k, hyper, rows, z)


def dense(k, hyper, rows):
    return GramMatrix(k, rows).value(hyper) + hyper.noise * np.eye(len(rows))


@given(spaces(), covariances, seeds)
def test_block_solve_equals_dense_solve(space, covariance, seed):
    _, k, hyper, rows, _z, posterior = posterior_of(space, covariance, 9, seed)
    K = dense(k, hyper, rows)
    factor = posterior.cholesky
    B = np.random.default_rng(seed).normal(size=(9, 3))
    np.testing.assert_allclose(factor.solve(B), np.linalg.solve(K, B), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(factor.inverse(), np.linalg.inv(K), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(factor.log_determinant(), np.linalg.slogdet(K)[1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        np.sum(factor.half_solve(B) ** 2, axis=0), np.sum(B * np.linalg.solve(K, B), axis=0), rtol=1e-7
    )


@given(spaces(), covariances, seeds)
def test_blocks_partition_the_rows_and_the_gram_is_zero_outside(space, covariance, seed):
    _, k, hyper, rows, _, _ = posterior_of(space, covariance, 9, seed)
    blocks = connected_blocks(rows.active)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(9))
    outside = GramMatrix(k, rows).value(hyper)
    for block in blocks:
        outside[np.ix_(block, block)] = 0.0
    assert not outside.any()
    shares = rows.active.astype(int) @ rows.active.T > 0
    for block in blocks:  # connected: no smaller partition would do
        reached = {int(block[0])}
        while grown := {int(j) for i in reached for j in np.flatnonzero(shares[i])} - reached:
            reached |= grown
        assert reached == set(block.tolist())


@given(spaces(), covariances, seeds)
def test_a_posterior_that_is_given_the_gram_matrix_is_the_same(space, covariance, seed):
    encoding, k, hyper, rows, z, posterior = posterior_of(space, covariance, 9, seed)
    given_it = Posterior.from_data(k, hyper, rows, z, gram=GramMatrix(k, rows))
    queries = k.rows(encoding.sample(5, np.random.default_rng(seed + 7)))
    for one, other in zip(given_it.predict(queries), posterior.predict(queries), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


@given(spaces(), covariances, seeds)
def test_what_a_posterior_keeps_of_its_rows_is_not_of_others(space, covariance, seed):
    """Whatever was asked of it before, and of those that it came from or that came from it."""
    encoding, k, hyper, rows, z, fresh = posterior_of(space, covariance, 9, seed)
    queries = k.rows(encoding.sample(5, np.random.default_rng(seed + 7)))
    old = Posterior.from_data(k, hyper, rows[:6], z[:6])
    before = old.predict(queries[:2])
    new = old.condition(rows[6:], z[6:])
    new.predict(queries[3:])
    for one, other in zip(new.predict(queries), fresh.predict(queries), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
    for one, other in zip(old.predict(queries[:2]), before, strict=True):
        np.testing.assert_array_equal(one, other)


@given(spaces(), covariances, seeds, st.integers(1, 8))
def test_conditioning_further_equals_conditioning_at_once(space, covariance, seed, first):
    encoding, k, hyper, rows, z, whole = posterior_of(space, covariance, 9, seed)
    grown = Posterior.from_data(k, hyper, rows[:first], z[:first])
    grown = grown.condition(rows[first:8], z[first:8]) if first < 8 else grown
    grown = grown.condition(rows[8:], z[8:])
    queries = k.rows(encoding.sample(5, np.random.default_rng(seed + 7)))
    np.testing.assert_allclose(grown.alpha, whole.alpha, rtol=1e-6, atol=1e-7)
    for one, other in zip(grown.predict(queries), whole.predict(queries), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(grown.cholesky.inverse(), whole.cholesky.inverse(), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(grown.cholesky.log_determinant(), whole.cholesky.log_determinant(), rtol=1e-8, atol=1e-8)


@given(spaces(), covariances, seeds)
def test_prediction_equals_the_textbook_formula(space, covariance, seed):
    encoding, k, hyper, rows, z, posterior = posterior_of(space, covariance, 8, seed)
    queries = k.rows(encoding.sample(5, np.random.default_rng(seed + 7)))
    mean, variance = posterior.predict(queries)
    both = GramMatrix(k, stack(queries, rows)).value(hyper)
    cross, K = both[:5, 5:], both[5:, 5:] + hyper.noise * np.eye(8)
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(K, z), rtol=1e-6, atol=1e-6)
    expected = np.diagonal(both)[:5] - np.sum(cross * np.linalg.solve(K, cross.T).T, axis=1)
    np.testing.assert_allclose(variance, np.maximum(expected, 0.0), atol=1e-6)


@given(spaces(), covariances, seeds)
def test_components_add_up_to_the_prediction(space, covariance, seed):
    encoding, k, hyper, _, _, posterior = posterior_of(space, covariance, 8, seed)
    queries = k.rows(encoding.sample(5, np.random.default_rng(seed + 7)))
    parts = [posterior.component([t], queries) for t in range(len(k.terms))]
    np.testing.assert_allclose(
        sum((mean for mean, _ in parts), np.zeros(5)), posterior.predict(queries)[0], rtol=1e-8, atol=1e-10
    )
    for t, (mean, variance) in enumerate(parts):
        off = ~queries.active[:, t]
        assert not mean[off].any()
        assert not variance[off].any()
        assert np.all(variance <= hyper.amplitudes[t] * queries.basis[:, t] ** 2 * (1 + 1e-9))


@given(spaces(), covariances, seeds)
def test_likelihood_and_its_gradient(space, covariance, seed):
    _, k, hyper, rows, z, _ = posterior_of(space, covariance, 7, seed)
    K = dense(k, hyper, rows)
    likelihood = Likelihood(GramMatrix(k, rows))
    noise = np.full(7, hyper.noise)
    value, by_a, by_l, by_noise, by_z = likelihood.value_and_gradient(hyper, z, noise)
    naive = -0.5 * z @ np.linalg.solve(K, z) - 0.5 * np.linalg.slogdet(K)[1] - 3.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(value, naive, rtol=1e-9)
    T = len(k.terms)

    def at(theta):
        moved = Hyperparameters(np.exp(theta[:T]), np.exp(theta[T:-7]), hyper.noise)
        return likelihood.value_and_gradient(moved, z, theta[-7:])[0]

    theta = np.concatenate([np.log(hyper.amplitudes), np.log(hyper.lengthscales), noise])
    analytic = np.concatenate([by_a, by_l, by_noise])
    np.testing.assert_allclose(analytic, differences(at, theta), rtol=1e-4, atol=1e-4)
    numeric = differences(lambda v: likelihood.value_and_gradient(hyper, v, noise)[0], z)
    np.testing.assert_allclose(by_z, numeric, rtol=1e-4, atol=1e-5)


@given(spaces(), covariances, seeds, st.booleans())
def test_moving_points_equal_predictions_with_gradients(space, covariance, seed, path):
    encoding, k, _, _, _, posterior = posterior_of(space, covariance, 7, seed)
    rng = np.random.default_rng(seed + 3)
    view = SamplePath(posterior, rng) if path else posterior
    X = encoding.sample(3, rng)
    X = np.where(encoding.is_numeric, 0.1 + 0.8 * X, X)
    moments = view.moments(X, k.rows(X).active)
    mean, variance, pull_back = moments(X)
    for one, other in zip((mean, variance), view.predict(k.rows(X)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    by_mean, by_variance = rng.normal(size=3), np.zeros(3) if path else rng.normal(size=3)
    free = np.flatnonzero((encoding.is_numeric & ~np.isnan(X)).ravel())

    def value(entries):
        Z = X.ravel().copy()
        Z[free] = entries
        m, v, _ = moments(Z.reshape(X.shape))
        return by_mean @ m + by_variance @ v

    analytic = pull_back(by_mean, by_variance).ravel()[free]
    np.testing.assert_allclose(analytic, differences(value, X.ravel()[free]), rtol=1e-3, atol=1e-4)


@given(spaces(), covariances, seeds)
def test_order_of_siblings_changes_no_prediction(space, covariance, seed):
    configs, queries = sample(space, 8, seed), sample(space, 5, seed + 1)
    z = np.random.default_rng(seed).normal(size=8)
    found = []
    for s in (space, reordered(space)):
        encoding, k = build(s, covariance)
        posterior = Posterior.from_data(k, hyperparameters(encoding, k), k.rows(encoding.encode(configs)), z)
        found.append(posterior.predict(k.rows(encoding.encode(queries))))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-7)


@given(spaces(), covariances, seeds)
def test_order_of_observations_changes_no_prediction(space, covariance, seed):
    encoding, k, hyper, rows, z, posterior = posterior_of(space, covariance, 8, seed)
    order = np.random.default_rng(seed).permutation(8)
    other = Posterior.from_data(k, hyper, rows[order], z[order])
    queries = k.rows(encoding.sample(5, np.random.default_rng(seed + 1)))
    np.testing.assert_allclose(posterior.predict(queries), other.predict(queries), rtol=1e-6, atol=1e-7)


@given(spaces(), covariances, seeds)
def test_prediction_uses_only_observations_that_share_a_term(space, covariance, seed):
    encoding, k, hyper, rows, z, posterior = posterior_of(space, covariance, 8, seed)
    query = k.rows(encoding.sample(1, np.random.default_rng(seed + 1)))
    joined = connected_blocks(stack(query, rows).active)[0][1:] - 1  # the query's block, without the query
    elsewhere = np.setdiff1d(np.arange(8), joined)
    changed = z.copy()
    changed[elsewhere] += 1e3
    other = Posterior.from_data(k, hyper, rows, changed)
    np.testing.assert_array_equal(posterior.predict(query), other.predict(query))
    if len(joined):
        alone = Posterior.from_data(k, hyper, rows[joined], z[joined])
        np.testing.assert_allclose(posterior.predict(query), alone.predict(query), rtol=1e-6, atol=1e-7)
    else:
        assert posterior.predict(query)[0][0] == 0.0


@given(spaces(), covariances, seeds)
def test_appending_rows_leaves_the_old_factor_alone(space, covariance, seed):
    _, k, hyper, rows, _, _ = posterior_of(space, covariance, 8, seed)
    K = dense(k, hyper, rows)
    old = BlockCholesky.factorize(K[:6, :6], connected_blocks(rows[:6].active))
    before = [(index.copy(), L.copy()) for index, L in old.blocks]
    new = old.append(K[:6, 6:], K[6:, 6:])
    for (index, L), (index_before, L_before) in zip(old.blocks, before, strict=True):
        np.testing.assert_array_equal(index, index_before)
        np.testing.assert_array_equal(L, L_before)
    np.testing.assert_allclose(new.inverse() @ K, np.eye(8), atol=1e-7)
