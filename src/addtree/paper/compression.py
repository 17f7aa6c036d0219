"""The compression experiment: γ·L + R for FC3, and its two encodings as a space.

| symbol | meaning | shape |
|---|---|---|
| W | weights of a layer, U diag(s) Vᵀ its singular value decomposition | m x n |
| L | mean over 50 fixed samples of the squared distance of the outputs from the original network's | scalar |
| R | weights of the compressed network over the original's: rank r counts r(m + n), pruning the non-zeros | scalar |

The last layer is not compressed and counts in full; biases stay and are not counted. The decompositions are computed
once, so that one evaluation takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from addtree._types import Mask
from addtree.paper.fc3 import Array32, Network
from addtree.space.parameters import Integer, Real
from addtree.space.space import Choice, Space

GAMMA = 0.01  # The weight γ of the loss is the paper's.
SAMPLES = 50  # The number of samples that L averages over is the paper's, which follows Ma et al. 2019.
RANKS = Integer(10, 500)  # The range of ranks is the paper's.
THRESHOLDS = Real(0, 1)  # Weights of a smaller absolute value than the threshold are pruned.


def strict_tree() -> Space:
    """The paper's space: the first layer's method opens its parameter and the second layer's choice; four leaves.

    >>> strict_tree().n_paths, len(strict_tree().vertices)
    (4, 6)
    """

    def second(after: str) -> Choice:
        svd, wp = Space({f"rank2_{after}": RANKS}), Space({f"threshold2_{after}": THRESHOLDS})
        return Choice(svd=svd, wp=wp)

    first = {
        "svd": Space({"rank1": RANKS, "method2_svd": second("svd")}),
        "wp": Space({"threshold1": THRESHOLDS, "method2_wp": second("wp")}),
    }
    return Space(method1=Choice(first))


def two_choices() -> Space:
    """The same as two independent choices: both methods of the first layer share the second layer's parameters.

    >>> two_choices().n_paths, len(two_choices().vertices)
    (4, 4)
    """
    return Space(
        method1=Choice(svd=Space(rank1=RANKS), wp=Space(threshold1=THRESHOLDS)),
        method2=Choice(svd=Space(rank2=RANKS), wp=Space(threshold2=THRESHOLDS)),
    )


def layers(config: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The (method, parameter) of the two layers, read from a configuration of either encoding."""
    first = config["method1"]
    second = config["method2"] if "method2" in config else config[f"method2_{first}"]
    suffix = "" if "method2" in config else f"_{first}"
    name = {"svd": "rank", "wp": "threshold"}
    return [(first, config[f"{name[first]}1"]), (second, config[f"{name[second]}2{suffix}"])]


@dataclass(frozen=True)
class Compression:
    """The objective γ·L + R of a network on some inputs; the parts that do not depend on a configuration are kept."""

    net: Network
    X: Array32
    svds: tuple[tuple[Array32, ...], ...]
    target: Array32
    n_weights: int

    @classmethod
    def from_network(cls, net: Network, X: Array32) -> Compression:
        """Decompose the first two layers and evaluate the original network once."""
        svds = tuple(tuple(np.linalg.svd(W, full_matrices=False)) for W in net.W[:2])
        return cls(net, X, svds, net.outputs(X), sum(W.size for W in net.W))

    def __call__(self, config: Mapping[str, Any]) -> float:
        """γ·L + R."""
        loss, ratio = self.parts(config)
        return GAMMA * loss + ratio

    def parts(self, config: Mapping[str, Any]) -> tuple[float, float]:
        """L and R."""
        h, weights = self.X, sum(W.size for W in self.net.W[2:])
        for i, (method, value) in enumerate(layers(config)):
            h, kept = self._layer(i, h, method, value)
            h = np.maximum(h + self.net.b[i], 0)
            weights += kept
        for W, b in zip(self.net.W[2:-1], self.net.b[2:-1], strict=True):
            h = np.maximum(h @ W + b, 0)
        out = h @ self.net.W[-1] + self.net.b[-1]
        loss = float(np.mean(np.sum((out - self.target) ** 2, axis=1, dtype=np.float64)))
        return loss, weights / self.n_weights

    def _layer(self, i: int, h: Array32, method: str, value: float) -> tuple[Array32, int]:
        """h times the compressed weights of layer i, and the number of weights kept."""
        W = self.net.W[i]
        if method == "svd":
            U, s, Vt = self.svds[i]
            r = min(int(value), len(s))
            scaled: Array32 = (h @ U[:, :r]) * s[:r]
            return scaled @ Vt[:r], r * (W.shape[0] + W.shape[1])
        keep: Mask = np.abs(W) >= value
        pruned: Array32 = h @ (W * keep)
        return pruned, int(np.count_nonzero(keep))
