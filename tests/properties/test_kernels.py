"""What holds of every covariance on every space."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addtree import Categorical, Choice, Space
from addtree.model.kernel import Hyperparameters, Rows
from addtree.model.kernel_matrices import CrossCovariance, GramMatrix, MovingPoints
from tests.strategies import (
    COVARIANCES,
    build,
    data,
    differences,
    hyperparameters,
    key,
    reordered,
    sample,
    seeds,
    spaces,
)

covariances = st.sampled_from(COVARIANCES)


def gram(space, covariance, n, seed):
    encoding, k = build(space, covariance)
    rows, _ = data(encoding, k, n, seed)
    hyper = hyperparameters(encoding, k)
    return encoding, k, rows, hyper, GramMatrix(k, rows).value(hyper)


@given(spaces(), covariances, seeds)
def test_gram_is_symmetric_and_positive_semidefinite(space, covariance, seed):
    _, k, rows, hyper, K = gram(space, covariance, 9, seed)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-9 * max(1.0, np.trace(K))
    np.testing.assert_allclose(np.diagonal(K), k.variance(hyper, rows.basis), rtol=1e-12)


@given(spaces(), covariances, seeds)
def test_gram_equals_cross_equals_the_sum_of_components(space, covariance, seed):
    _, k, rows, hyper, K = gram(space, covariance, 9, seed)
    cross = CrossCovariance(k, hyper, rows)
    np.testing.assert_allclose(cross.value(rows), K, atol=1e-7)  # r² by differences or by squares
    parts = sum((cross.value(rows[:4].only(t)) for t in np.eye(len(k.terms), dtype=bool)), np.zeros((4, 9)))
    np.testing.assert_allclose(parts, K[:4], atol=1e-7)


@given(spaces(), covariances, seeds)
def test_gram_equals_the_sum_over_terms_written_as_a_double_loop(space, covariance, seed):
    """The formula at the top of `terms`, on configurations, with no array in sight."""
    encoding, k = build(space, covariance)
    configs = sample(space, 6, seed)
    hyper = hyperparameters(encoding, k)

    def code(config, name):
        domain = space.variables[name]
        is_category = isinstance(domain, Choice) or (isinstance(domain, Categorical) and not domain.ordered)
        if name not in config:
            return "inactive" if is_category else 0.5
        return repr(config[name]) if is_category else domain._encode(config[name])

    def active(term, config):
        names = [(encoding.names[j], low, high) for j, low, high in term.gate]
        return all(n in config and low <= encoding.encode_value(n, config[n]) <= high for n, low, high in names)

    def phi(term, config):
        t = 2.0 * code(config, encoding.names[term.columns[0]]) - 1.0
        return np.sqrt(3.0) * t if term.degree == 1 else np.sqrt(5.0) * (3.0 * t**2 - 1.0) / 2.0

    def kappa(t, one, other):
        term, r2 = k.terms[t], 0.0
        if term.degree is not None:
            return phi(term, one) * phi(term, other) if term.degree else 1.0
        for column, scale in term.reads:
            u, v = code(one, encoding.names[column]), code(other, encoding.names[column])
            delta2 = float(u != v) if isinstance(u, str) else (u - v) ** 2
            r2 += delta2 / hyper.lengthscales[scale] ** 2 / len(term.columns)
        s = np.sqrt(5.0 * r2)
        return np.exp(-0.5 * r2) if term.smooth else (1 + s + s**2 / 3) * np.exp(-s)

    K = [
        [
            sum(
                hyper.amplitudes[t] * kappa(t, one, other)
                for t, term in enumerate(k.terms)
                if active(term, one) and active(term, other)
            )
            for other in configs
        ]
        for one in configs
    ]
    rows = k.rows(encoding.encode(configs))
    np.testing.assert_allclose(GramMatrix(k, rows).value(hyper), np.array(K, dtype=float).reshape(6, 6), atol=1e-12)


@given(spaces(depth=3, strict=True), seeds)
def test_additive_is_definition_3(space, seed):
    """k(x, x') = sum over the vertices from the root to the lowest common ancestor of both leaves of k_v."""
    encoding, k = build(space, "additive")
    hyper = hyperparameters(encoding, k)
    amplitude = {
        frozenset(encoding.names[j] for j in term.columns): a for term, a in zip(k.terms, hyper.amplitudes, strict=True)
    }
    lengthscale = dict(zip(encoding.names, hyper.lengthscales, strict=False))

    def k_v(parameters, one, other):
        if not parameters:
            return 0.0
        r2 = 0.0
        for name, domain in parameters.items():
            if isinstance(domain, Categorical):
                delta2 = float(repr(one[name]) != repr(other[name]))
            else:
                delta2 = (domain._encode(one[name]) - domain._encode(other[name])) ** 2
            r2 += delta2 / lengthscale[name] ** 2
        return amplitude[frozenset(parameters)] * np.exp(-0.5 * r2 / len(parameters))

    def to_the_common_ancestor(node, one, other):
        choices = {name: child for name, child in node.children.items() if isinstance(child, Choice)}
        total = k_v({n: c for n, c in node.children.items() if n not in choices}, one, other)
        for name, choice in choices.items():
            if repr(one[name]) == repr(other[name]):
                total += to_the_common_ancestor(choice.subspace(one[name]), one, other)
        return total

    configs = sample(space, 8, seed)
    naive = [[to_the_common_ancestor(space, one, other) for other in configs] for one in configs]
    rows = k.rows(encoding.encode(configs))
    np.testing.assert_allclose(GramMatrix(k, rows).value(hyper), naive, atol=1e-12)
    np.testing.assert_allclose(CrossCovariance(k, hyper, rows).value(rows[:3]), naive[:3], atol=1e-7)


@given(spaces(), covariances, seeds)
def test_gradient_of_gram_by_hyperparameters(space, covariance, seed):
    _, k, rows, hyper, _ = gram(space, covariance, 6, seed)
    W = np.random.default_rng(seed).normal(size=(6, 6))
    W = W + W.T
    T = len(k.terms)

    def value(theta):
        moved = Hyperparameters(np.exp(theta[:T]), np.exp(theta[T:]), hyper.noise)
        return np.sum(W * GramMatrix(k, rows).value(moved))

    theta = np.log(np.concatenate([hyper.amplitudes, hyper.lengthscales]))
    g = GramMatrix(k, rows)
    pull_back = g.pairs(hyper)[2]
    by_amplitude, by_scale = pull_back(2.0 * W[g.i, g.j], np.diagonal(W))  # a pair stands twice in K
    assert not by_amplitude[k.linear].any()
    by_amplitude[k.linear] = hyper.amplitudes[k.linear] * np.einsum("il,ij,jl->l", g.basis, W, g.basis)
    analytic = np.concatenate([by_amplitude, by_scale])
    np.testing.assert_allclose(analytic, differences(value, theta), rtol=1e-5, atol=1e-7)


@given(spaces(), covariances, seeds)
def test_points_equal_cross_and_their_gradient_finite_differences(space, covariance, seed):
    encoding, k, rows, hyper, _ = gram(space, covariance, 7, seed)
    rng = np.random.default_rng(seed)
    X = encoding.sample(3, rng)
    queries = k.rows(X)
    points = MovingPoints(k, hyper, rows, X, queries.active)
    moved = np.where(encoding.is_numeric, np.clip(X + 0.1 * rng.normal(size=X.shape), *encoding.bounds(X)), X)
    K, variance, pull_back = points.value(moved)
    np.testing.assert_allclose(K, CrossCovariance(k, hyper, rows).value(k.rows(moved)), atol=1e-7)
    np.testing.assert_allclose(variance, k.variance(hyper, k.rows(moved).basis), rtol=1e-12)
    W, w = rng.normal(size=K.shape), rng.normal(size=len(K))
    by_position = pull_back(W, w)
    free = np.flatnonzero((encoding.is_numeric & ~np.isnan(moved)).ravel())

    def value(entries):
        Z = moved.ravel().copy()
        Z[free] = entries
        K, variance, _ = points.value(Z.reshape(moved.shape))
        return np.sum(W * K) + w @ variance

    analytic = by_position.ravel()[free]
    np.testing.assert_allclose(analytic, differences(value, moved.ravel()[free]), rtol=1e-4, atol=1e-6)
    assert not np.any(by_position[:, ~encoding.is_numeric])  # categories do not move


@given(spaces(), covariances, seeds)
def test_only_counted_terms_count_for_a_point(space, covariance, seed):
    encoding, k, rows, hyper, _ = gram(space, covariance, 5, seed)
    X = encoding.sample(len(k.terms), np.random.default_rng(seed))
    queries = k.rows(X)
    counted = np.eye(len(k.terms), dtype=bool) & queries.active
    K, variance, _ = MovingPoints(k, hyper, rows, X, counted).value(X)
    alone = queries.only(np.eye(len(k.terms), dtype=bool))  # term t in query t
    np.testing.assert_allclose(variance, k.variance(hyper, alone.basis), rtol=1e-12)
    np.testing.assert_allclose(K, CrossCovariance(k, hyper, rows).value(alone), atol=1e-7)


@given(spaces(), st.sampled_from(["additive", "independent"]), seeds)
def test_values_of_inactive_parameters_change_nothing(space, covariance, seed):
    encoding, k, rows, hyper, K = gram(space, covariance, 8, seed)
    rng = np.random.default_rng(seed)
    inactive = np.isnan(encoding.encode(sample(space, 8, seed)))
    X = np.where(inactive, rng.random(rows.X.shape), rows.X)
    features = rows.features.copy()
    for j, columns in enumerate(k._feature_columns):
        features[np.ix_(inactive[:, j], columns)] = rng.random((int(inactive[:, j].sum()), len(columns)))
    filled = Rows(X, rows.active, rows.basis, features)
    np.testing.assert_array_equal(GramMatrix(k, filled).value(hyper), K)
    np.testing.assert_array_equal(
        CrossCovariance(k, hyper, filled).value(filled), CrossCovariance(k, hyper, rows).value(rows)
    )


@given(spaces(depth=3, strict=True), seeds)
def test_values_of_inactive_parameters_change_nothing_in_interactions_of_a_tree(space, seed):
    """Where choices are independent, a term across them reads imputed values; on a strict tree no term does."""
    encoding, k, rows, hyper, K = gram(space, "additive+interactions", 8, seed)
    inactive = np.isnan(encoding.encode(sample(space, 8, seed)))
    X = np.where(inactive, np.random.default_rng(seed).random(rows.X.shape), rows.X)
    np.testing.assert_array_equal(GramMatrix(k, Rows(X, rows.active, rows.basis, rows.features)).value(hyper), K)


@given(spaces(), covariances, seeds)
def test_order_of_siblings_changes_nothing(space, covariance, seed):
    configs = sample(space, 7, seed)
    grams, keys = [], []
    for s in (space, reordered(space)):
        encoding, k = build(s, covariance)
        keys.append(sorted(key(encoding, term) for term in k.terms))
        grams.append(GramMatrix(k, k.rows(encoding.encode(configs))).value(hyperparameters(encoding, k)))
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == len(keys[0])
    np.testing.assert_allclose(grams[0], grams[1], atol=1e-12)


def test_rows_of_different_branches_share_the_root_alone():
    from addtree import Real

    space = Space(x=Real(0, 1), c=Choice(a=Space(y=Real(0, 1)), b=Space(z=Real(0, 1))))
    encoding, k = build(space, "additive")
    hyper = Hyperparameters(np.array([2.0, 3.0, 5.0]), np.full(k.n_scales, 0.3), 1e-6)
    configs = [{"x": 0.2, "c": "a", "y": 0.1}, {"x": 0.2, "c": "b", "z": 0.1}, {"x": 0.5, "c": "a", "y": 0.1}]
    K = GramMatrix(k, k.rows(encoding.encode(configs))).value(hyper)
    assert K[0, 0] == pytest.approx(5.0)
    assert K[0, 1] == pytest.approx(2.0)
    assert K[0, 2] == pytest.approx(2.0 * np.exp(-0.5) + 3.0)
