"""Measurements for appendices B and C: inference with and without a root parameter, Algorithm 2 against every leaf.

| symbol | meaning |
|---|---|
| h | depth of a perfect binary tree, each vertex with one parameter; 2^(h-1) leaves |
| n | observations |

Appendix B predicts O(n³) with a parameter at the root and O(n_l³ + n_r³) without: a quarter for two equal halves.
Appendix C predicts |V| problems of a vertex's dimension for Algorithm 2, against |P| problems of dimension h for every
leaf: the ratio of their costs grows with h².
"""

from __future__ import annotations

import timeit
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from addtree.model.cholesky import BlockCholesky, connected_blocks
from addtree.model.gp import Posterior
from addtree.model.kernel import Hyperparameters
from addtree.model.kernel_matrices import GramMatrix
from addtree.model.specification import Specification
from addtree.search.acquisition import Acquisition, beta, ucb
from addtree.search.ascent import Box, ascend
from addtree.search.decomposed import maximize_sum
from addtree.space.encoding import Encoding
from addtree.space.parameters import Real
from addtree.space.space import Choice, Space

Float = NDArray[np.float64]

SIZES = (128, 256, 512, 1024, 2048)  # The numbers of observations of the inference experiment.
DEPTHS = (2, 3, 4, 5, 6, 7)  # The depths of the trees of the acquisition experiment.
QUICK_SIZES = (64, 128)  # The numbers of observations with --quick.
QUICK_DEPTHS = (2, 3)  # The depths with --quick.
REPEATS = 10  # Each time is the least of this many measurements.
OBSERVATIONS = 60  # The number of observations in the acquisition experiment.
STARTS = 3  # The number of ascents per leaf, which is the number that Algorithm 2 gives a vertex.


def binary_tree(depth: int, *, root_parameter: bool = True, name: str = "x") -> Space:
    """A perfect binary tree with one parameter per vertex; the root's can be left out.

    >>> binary_tree(3).n_paths, len(binary_tree(3).vertices), len(binary_tree(3, root_parameter=False).vertices)
    (4, 7, 6)
    """
    own: dict[str, Any] = {name: Real(0, 1)} if root_parameter else {}
    if depth > 1:
        own[f"{name}?"] = Choice({o: binary_tree(depth - 1, name=f"{name}{o}") for o in (0, 1)})
    return Space(own)


def model(space: Space, n: int, rng: np.random.Generator) -> tuple[Encoding, Posterior]:
    """The paper's Gaussian process on n random configurations, with fixed hyperparameters and made-up values."""
    encoding = Encoding(space)
    covariance = Specification("additive", "mle").make_kernel(encoding)
    X = encoding.encode([space.sample(rng) for _ in range(n)])
    hyper = Hyperparameters(np.ones(len(covariance.terms)), np.full(covariance.n_scales, 0.3), 1e-4)
    z = np.nansum(np.sin(3 * X), axis=1)
    return encoding, Posterior.from_data(covariance, hyper, covariance.rows(X), z)


def least_time(function: Callable[..., Any], *arguments: Any) -> float:
    """Seconds of the fastest of REPEATS calls."""
    return min(timeit.repeat(partial(function, *arguments), number=1, repeat=REPEATS))


def inference(sizes: Sequence[int]) -> dict[str, list[float]]:
    """Seconds to factorise and solve, by n: with a parameter at the root, and without."""

    def solve(K: Float, blocks: Any, z: Float) -> Float:
        return BlockCholesky.factorize(K, blocks).solve(z)

    out: dict[str, list[float]] = {"shared root": [], "no shared root": []}
    for name, shared in (("shared root", True), ("no shared root", False)):
        for n in sizes:
            _, posterior = model(binary_tree(2, root_parameter=shared), n, np.random.default_rng(0))
            K = GramMatrix(posterior.kernel, posterior.rows).value(posterior.hyper)
            K[np.diag_indices(n)] += posterior.hyper.noise
            blocks = connected_blocks(posterior.rows.active)
            assert (len(blocks) == 1) == shared
            out[name].append(least_time(solve, K, blocks, posterior.z))
    return out


def every_leaf(encoding: Encoding, posterior: Posterior, rng: np.random.Generator) -> tuple[Float, float]:
    """The best row, and its bound, of the naive search over all parameters of each leaf's path.

    All leaves ascend as one batch, as all vertices do in Algorithm 2, so that only the problems differ.
    """
    X = np.repeat(encoding.paths(), STARTS, axis=0)
    free = encoding.is_numeric & ~np.isnan(X)
    X = np.where(free, rng.random(X.shape), X)
    bound = ucb(beta(free.sum(axis=1).astype(float), OBSERVATIONS))
    moments = posterior.moments(X, posterior.kernel.rows(X).active)

    def ascent(X: Float) -> tuple[Float, Float]:
        mean, variance, pull_back = moments(X)
        value, by_mean, by_variance = bound(mean, variance)
        return value, pull_back(by_mean, by_variance)

    X, value = ascend(ascent, X, Box(free))
    return X[value.argmax()], float(value.max())


def acquisition(depths: Sequence[int]) -> dict[str, list[float]]:
    """Seconds for one suggestion, by depth: Algorithm 2, and every leaf."""

    def by_dimension(d: Float) -> Acquisition:
        return ucb(beta(d, OBSERVATIONS))

    def vertexwise(encoding: Encoding, posterior: Posterior) -> Any:
        return maximize_sum(posterior, encoding, by_dimension, np.random.default_rng(0))

    def leafwise(encoding: Encoding, posterior: Posterior) -> Any:
        return every_leaf(encoding, posterior, np.random.default_rng(0))

    out: dict[str, list[float]] = {"Algorithm 2": [], "every leaf": []}
    for h in depths:
        encoding, posterior = model(binary_tree(h), OBSERVATIONS, np.random.default_rng(0))
        out["Algorithm 2"].append(least_time(vertexwise, encoding, posterior))
        out["every leaf"].append(least_time(leafwise, encoding, posterior))
    return out


def measure(*, quick: bool) -> dict[str, Any]:
    """Run both experiments, and return the record to be saved."""
    sizes, depths = (QUICK_SIZES, QUICK_DEPTHS) if quick else (SIZES, DEPTHS)
    return {
        "sizes": list(sizes),
        "inference": inference(sizes),
        "depths": list(depths),
        "acquisition": acquisition(depths),
    }
