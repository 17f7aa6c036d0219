"""The compression experiment: γ·L + R for FC3, and its two encodings as a space.

| symbol | meaning | shape |
|---|---|---|
| W | weights of a layer, U diag(s) Vᵀ its singular value decomposition | m x n |
| L | mean over 50 fixed samples of the squared distance of the outputs from the original network's | scalar |
| R | weights of the compressed network over the original's: rank r counts r(m + n), pruning its non-zeros | scalar |

The last layer is not compressed and counts as it is; biases stay and are not counted. The decompositions
are made once, so one evaluation takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from addtree.paper.fc3 import Array, Network
from addtree.space.parameters import Integer, Real
from addtree.space.space import Choice, Space

GAMMA = 0.01  # the paper's γ
SAMPLES = 50  # the paper's, following Ma et al. 2019
RANKS = Integer(10, 500)
THRESHOLDS = Real(0, 1)


def strict_tree() -> Space:
    """The paper's: the first layer's method opens its parameter and the second layer's choice; four leaves.

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
    """The same as two independent choices: the second layer's parameters are shared by both first methods.

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
    """The objective γ·L + R of a network on some inputs, with everything precomputed that can be."""

    net: Network
    X: Array
    svds: tuple[tuple[Array, ...], ...]
    target: Array
    n_weights: int

    @classmethod
    def from_network(cls, net: Network, X: Array) -> Compression:
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

    def _layer(self, i: int, h: Array, method: str, value: float) -> tuple[Array, int]:
        """h times the compressed weights of layer i, and how many weights that keeps."""
        W = self.net.W[i]
        if method == "svd":
            U, s, Vt = self.svds[i]
            r = min(int(value), len(s))
            scaled: Array = (h @ U[:, :r]) * s[:r]
            return scaled @ Vt[:r], r * (W.shape[0] + W.shape[1])
        keep: NDArray[np.bool_] = np.abs(W) >= value
        pruned: Array = h @ (W * keep)
        return pruned, int(np.count_nonzero(keep))
