"""Jenatton's method: its block posterior is the dense joint Gaussian process, its gradient that of the likelihood."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import addtree as at
from addtree.paper.baselines import jenatton
from addtree.paper.baselines.leaves import Layout
from addtree.problems import synthetic

SPACES = {
    "synthetic": synthetic().space,
    "two choices": at.Space(
        a=at.Choice(p=at.Space(x=at.Real(0, 1), k=at.Categorical(["u", "v", "w"])), q=at.Space()),
        b=at.Choice(r=at.Space(y=at.Real(0, 1), z=at.Integer(1, 9)), s=at.Space(w=at.Real(1, 10, log=True))),
    ),
    "flat": at.Space(x=at.Real(0, 1), y=at.Real(0, 1)),
}


@pytest.fixture(params=SPACES)
def case(request):
    rng = np.random.default_rng(0)
    layout = Layout.from_space(SPACES[request.param])
    configs = [layout.space.sample(rng) for _ in range(17)]
    packing = jenatton._Packing.from_points(layout, layout.encode(configs))
    return (
        layout,
        configs,
        rng.standard_normal(17),
        packing,
        packing.centres() + 0.3 * rng.standard_normal(packing.size),
    )


def dense_covariance(A, B, hyper):
    """The naive double loop: linear part plus the leaf's kernel where the leaves agree."""
    out = A.Phi @ np.diag(hyper.prior) @ B.Phi.T
    for n, (i, z) in enumerate(zip(A.leaf, A.Z, strict=True)):
        for m, (j, y) in enumerate(zip(B.leaf, B.Z, strict=True)):
            if i == j:
                out[n, m] += hyper.amplitude[i] * np.exp(-0.5 * np.sum(((z - y) / hyper.length[i]) ** 2))
    return out


def test_posterior_equals_dense_joint_process(case):
    layout, configs, y, packing, log_theta = case
    hyper = packing.unpack(log_theta)
    points = layout.encode(configs)
    new = layout.encode(
        [
            c
            for c in (layout.space.sample(np.random.default_rng(k)) for k in range(30))
            if layout.encode([c]).leaf[0] in packing.leaves
        ]
    )
    mean, std = jenatton.condition(points, y, hyper).predict(new)
    C = dense_covariance(points, points, hyper) + hyper.noise * np.eye(len(y))
    k = dense_covariance(points, new, hyper)
    np.testing.assert_allclose(mean, k.T @ np.linalg.solve(C, y), atol=1e-8)
    variance = np.diag(dense_covariance(new, new, hyper) - k.T @ np.linalg.solve(C, k))
    np.testing.assert_allclose(std**2, variance, atol=1e-8)


def test_likelihood_equals_dense_and_gradient_equals_differences(case):
    layout, configs, y, packing, log_theta = case
    points = layout.encode(configs)
    value, gradient = jenatton.negative_log_posterior(log_theta, packing, points, y)
    hyper = packing.unpack(log_theta)
    C = dense_covariance(points, points, hyper) + hyper.noise * np.eye(len(y))
    prior = 0.5 * np.sum(((log_theta - packing.centres()) / packing.sds()) ** 2)
    naive = 0.5 * y @ np.linalg.solve(C, y) + 0.5 * np.linalg.slogdet(2 * np.pi * C)[1] + prior
    assert value == pytest.approx(naive, rel=1e-9)
    numeric = approx_fprime(log_theta, lambda t: jenatton.negative_log_posterior(t, packing, points, y)[0], 1e-6)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-3, atol=1e-3)


def test_layout_nests_choices_and_round_trips():
    layout = Layout.from_space(SPACES["two choices"])
    assert len(layout.leaves) == 4
    assert [leaf.own for leaf in layout.leaves] == [("y", "z"), ("w",), ("y", "z"), ("w",)]
    assert layout.leaves[0].shared == ("x", "k")
    assert layout.leaves[2].shared == ()
    rng = np.random.default_rng(1)
    for _ in range(20):
        config = layout.space.sample(rng)
        points = layout.encode([config])
        back = layout.decode(layout.leaves[points.leaf[0]], points.Z[0])
        assert back.keys() == config.keys()
        assert all(back[k] == pytest.approx(v) for k, v in config.items())


def test_unseen_leaf_is_predicted_from_the_shared_weights():
    problem, rng = synthetic(), np.random.default_rng(0)
    layout = Layout.from_space(problem.space)
    configs = [c for c in (problem.space.sample(rng) for _ in range(60)) if not (c["x1"] == 1 and c["x3"] == 1)]
    y = np.array([problem.objective(c) for c in configs])
    posterior = jenatton.fit(layout, layout.encode(configs), y, rng=rng)
    new = [{"x1": 1, "x3": 1, "r9": r, "x7": 0.0} for r in (0.0, 1.0)]
    mean, std = posterior.predict(layout.encode(new))
    assert mean[1] - mean[0] == pytest.approx(1.0, abs=0.05)  # the slope of r9 comes from the sibling leaf
    assert (std > 0.05).all()
