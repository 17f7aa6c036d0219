"""FC3, the network of the compression experiment: 784-1000-1000-10, ReLU, trained on MNIST with Adam in NumPy.

| symbol | meaning | shape |
|---|---|---|
| W, b | weights and biases of one layer; a layer maps h to h W + b | in x out; out |
| Z | outputs of the last layer (logits, no softmax) | n x 10 |
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from addtree.paper.mnist import Mnist
from addtree.support.files import replaced

Array32: TypeAlias = NDArray[np.float32]

SIZES = (784, 1000, 1000, 10)  # The widths of FC3's layers, the input first.
EPOCHS = 6  # The training goes over the images this many times.
BATCH = 128  # The number of images per step of the training.
RATE = 1e-3  # The learning rate is Adam's default at first, and falls linearly to zero over the training.
DROPOUT = 0.3  # The share of hidden units that a step drops; six epochs then give 98.5 % on the test images.
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # The constants of Adam, as published.


@dataclass(frozen=True)
class Network:
    """Weights and biases, first layer first."""

    W: tuple[Array32, ...]
    b: tuple[Array32, ...]

    def outputs(self, X: Array32) -> Array32:
        """The logits for the rows of X."""
        h = X
        for W, b in zip(self.W[:-1], self.b[:-1], strict=True):
            h = np.maximum(h @ W + b, 0)
        return h @ self.W[-1] + self.b[-1]

    def accuracy(self, X: Array32, t: NDArray[np.int64]) -> float:
        """The share of rows whose largest output is that of their label."""
        return float(np.mean(self.outputs(X).argmax(axis=1) == t))


def initial(sizes: tuple[int, ...], rng: np.random.Generator) -> Network:
    """He's initialisation."""
    W = [(rng.standard_normal((m, n)) * np.sqrt(2 / m)).astype(np.float32) for m, n in pairwise(sizes)]
    return Network(tuple(W), tuple(np.zeros(n, np.float32) for n in sizes[1:]))


def loss_and_gradient(
    net: Network, X: Array32, t: NDArray[np.int64], masks: tuple[Array32, ...]
) -> tuple[float, list[Array32]]:
    """Mean cross-entropy, and its gradient by W1, b1, W2, ...; `masks` multiply the hidden layers (dropout)."""
    hidden = [X]
    for W, b, mask in zip(net.W[:-1], net.b[:-1], masks, strict=True):
        hidden.append(np.maximum(hidden[-1] @ W + b, 0) * mask)
    Z = hidden[-1] @ net.W[-1] + net.b[-1]
    Z = Z - Z.max(axis=1, keepdims=True)
    log_p = Z - np.log(np.exp(Z).sum(axis=1, keepdims=True))
    rows = np.arange(len(t))
    delta = np.exp(log_p)
    delta[rows, t] -= 1
    delta /= np.float32(len(t))
    gradient: list[Array32] = []
    for layer in range(len(net.W) - 1, -1, -1):
        gradient = [hidden[layer].T @ delta, delta.sum(axis=0), *gradient]
        if layer:
            delta = (delta @ net.W[layer].T) * masks[layer - 1] * (hidden[layer] > 0)
    return float(-log_p[rows, t].mean()), gradient


def train(data: Mnist) -> Network:
    """Train by Adam with dropout; every training on the same machine gives the same network."""
    rng = np.random.default_rng(0)
    net = initial(SIZES, rng)
    theta = [a for pair in zip(net.W, net.b, strict=True) for a in pair]
    first = [np.zeros_like(a) for a in theta]
    second = [np.zeros_like(a) for a in theta]
    batches = len(data.X) // BATCH
    step, steps = 0, EPOCHS * batches
    for epoch in range(EPOCHS):
        order = rng.permutation(len(data.X))
        for k in range(batches):
            rows = order[k * BATCH : (k + 1) * BATCH]
            masks = tuple(
                (rng.random((BATCH, n), dtype=np.float32) >= DROPOUT) / np.float32(1 - DROPOUT) for n in SIZES[1:-1]
            )
            _, gradient = loss_and_gradient(net, data.X[rows], data.t[rows], masks)
            step += 1
            rate = np.float32(RATE * (1 - (step - 1) / steps) * np.sqrt(1 - BETA2**step) / (1 - BETA1**step))
            for a, m, v, g in zip(theta, first, second, gradient, strict=True):
                m += np.float32(1 - BETA1) * (g - m)
                v += np.float32(1 - BETA2) * (g * g - v)
                a -= rate * m / (np.sqrt(v) + np.float32(EPSILON))  # in place: `net` holds the same arrays
        accuracy = net.accuracy(data.X_test, data.t_test)
        print(f"FC3 epoch {epoch + 1}/{EPOCHS}: test accuracy {accuracy:.4f}", file=sys.stderr, flush=True)
    return net


def cached(path: Path, data: Mnist) -> Network:
    """The network saved in `path`; it is trained and saved there first if the file does not exist."""
    if not path.exists():
        net = train(data)
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays = {f"W{i}": W for i, W in enumerate(net.W)} | {f"b{i}": b for i, b in enumerate(net.b)}
        with replaced(path) as temporary, temporary.open("wb") as file:  # a path would get the suffix .npz
            np.savez(file, **arrays)  # type: ignore[arg-type]
    with np.load(path) as saved:
        layers = range(len(SIZES) - 1)
        return Network(tuple(saved[f"W{i}"] for i in layers), tuple(saved[f"b{i}"] for i in layers))
