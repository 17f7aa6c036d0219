"""FC3: its gradient, and the compression objective against a direct dense computation on a tiny network."""

import numpy as np
import pytest

from addtree.paper import fc3, mnist
from addtree.paper.compression import GAMMA, RANKS, Compression, layers, strict_tree, two_choices
from addtree.paper.mnist import DataError


@pytest.fixture
def tiny():
    rng = np.random.default_rng(0)
    net = fc3.initial((12, 14, 13, 3), rng)
    net = fc3.Network(net.W, tuple(rng.standard_normal(len(b)).astype(np.float32) for b in net.b))
    return net, rng.random((7, 12), dtype=np.float32)


def dense(net, X, config):
    """γ·L + R by replacing the weight matrices and counting by hand."""
    W, count = list(net.W), net.W[2].size
    for i, (method, value) in enumerate(layers(config)):
        if method == "svd":
            U, s, Vt = np.linalg.svd(W[i].astype(float), full_matrices=False)
            s[int(value) :] = 0
            W[i] = U @ np.diag(s) @ Vt
            count += min(int(value), len(s)) * sum(net.W[i].shape)
        else:
            W[i] = np.where(np.abs(W[i]) < value, 0.0, W[i])
            count += int((W[i] != 0).sum())
    h = np.maximum(np.maximum(X @ W[0] + net.b[0], 0) @ W[1] + net.b[1], 0)
    distance = h @ W[2] + net.b[2] - net.outputs(X)
    return GAMMA * np.mean((distance**2).sum(axis=1)) + count / sum(w.size for w in net.W)


@pytest.mark.parametrize("space", [strict_tree(), two_choices()], ids=["tree", "choices"])
def test_objective_equals_dense_computation(tiny, space):
    net, X = tiny
    objective, rng = Compression.from_network(net, X), np.random.default_rng(1)
    for _ in range(40):
        config = space.sample(rng)
        config = {
            k: 1 + v % 11 if k.startswith("rank") else v for k, v in config.items()
        }  # ranks that fit the tiny net
        assert objective(config) == pytest.approx(dense(net, X, config), rel=1e-4)


def test_encodings_agree(tiny):
    net, X = tiny
    objective = Compression.from_network(net, X)
    one = {"method1": "svd", "rank1": 4, "method2_svd": "wp", "threshold2_svd": 0.2}
    two = {"method1": "svd", "rank1": 4, "method2": "wp", "threshold2": 0.2}
    assert objective(one) == objective(two)
    assert layers(one) == layers(two) == [("svd", 4), ("wp", 0.2)]


def test_nothing_removed_is_the_original(tiny):
    net, X = tiny
    config = {"method1": "wp", "threshold1": 0.0, "method2": "wp", "threshold2": 0.0}
    assert Compression.from_network(net, X).parts(config) == (0.0, 1.0)


def test_ranks_are_the_papers():
    assert (RANKS.low, RANKS.high) == (10, 500)


def test_gradient_equals_differences(tiny):
    net, X = tiny
    net = fc3.Network(tuple(W.astype(float) for W in net.W), tuple(b.astype(float) for b in net.b))
    rng = np.random.default_rng(2)
    t = rng.integers(3, size=len(X))
    masks = tuple((rng.random((len(X), n)) > 0.3) / 0.7 for n in (14, 13))
    _, gradient = fc3.loss_and_gradient(net, X.astype(float), t, masks)
    theta = [a for pair in zip(net.W, net.b, strict=True) for a in pair]
    for a, g in zip(theta, gradient, strict=True):
        for index in [tuple(rng.integers(n) for n in a.shape) for _ in range(5)]:
            kept, step = a[index], 1e-6
            a[index] = kept + step
            up = fc3.loss_and_gradient(net, X.astype(float), t, masks)[0]
            a[index] = kept - step
            down = fc3.loss_and_gradient(net, X.astype(float), t, masks)[0]
            a[index] = kept
            assert g[index] == pytest.approx((up - down) / (2 * step), abs=1e-7)


def test_idx_files_round_trip(tmp_path):
    raw = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    header = bytes([0, 0, 8, 3]) + np.array(raw.shape, ">u4").tobytes()
    (tmp_path / "images").write_bytes(header + raw.tobytes())
    assert (mnist.read_idx(tmp_path / "images") == raw).all()


def test_missing_data_say_what_to_do(tmp_path):
    with pytest.raises(DataError, match="--data"):
        mnist.load(tmp_path)
