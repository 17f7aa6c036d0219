"""The experiments: a job is one method with one seed on one experiment, and returns the record to be saved as JSON.

The optimization experiments are the paper's synthetic function, and the compression of FC3 in two encodings. The
regression experiment is the error of the models alone on the synthetic function.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from addtree._types import Config
from addtree.paper import compression, fc3, mnist
from addtree.paper.methods import METHODS, REGRESSORS
from addtree.problems import synthetic
from addtree.space.space import Space

TRAIN_SIZES = (4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60)  # The numbers of training samples.
QUICK_SIZES = (8, 16, 24)  # The numbers of training samples with --quick.
N_TEST = 50  # The number of test samples of the regression.
OPTIMIZATION = ("synthetic", "compression-tree", "compression-choices")


@dataclass(frozen=True)
class Job:
    """One method with one seed on one experiment.

    length  the number of iterations, or of training sizes
    cache   the folder that keeps the trained network
    data    the folder that contains mnist/; None looks elsewhere (see `mnist.load`)
    """

    experiment: str
    method: str
    seed: int
    length: int
    cache: Path
    data: Path | None = None

    def run(self) -> dict[str, Any]:
        """The record to be saved."""
        return regression(self) if self.experiment == "regression" else optimization(self)


def problem(job: Job) -> tuple[Space, Callable[[Config], float]]:
    """Space and objective of an optimization experiment."""
    if job.experiment == "synthetic":
        found = synthetic()
        return found.space, found.objective
    space = compression.strict_tree() if job.experiment == "compression-tree" else compression.two_choices()
    return space, compressor(job.cache, job.data)


@lru_cache(maxsize=1)
def compressor(cache: Path, data: Path | None) -> compression.Compression:
    """The compression objective on the first 50 training images; the network comes from the cache or is trained."""
    images = mnist.load(data)
    network = fc3.cached(cache / "fc3.npz", images)
    return compression.Compression.from_network(network, images.X[: compression.SAMPLES].copy())


def network_accuracy(cache: Path, data: Path | None) -> float:
    """The accuracy of the network before compression, on the test images."""
    images = mnist.load(data)
    return fc3.cached(cache / "fc3.npz", images).accuracy(images.X_test, images.t_test)


def optimization(job: Job) -> dict[str, Any]:
    """Ask and tell until the budget is spent. The seconds are those of asking and telling, not of the objective."""
    space, objective = problem(job)
    method = METHODS[job.method].make(space, job.seed, job.length)
    configs, values, seconds = [], [], []
    for _ in range(job.length):
        start = time.perf_counter()
        config = method.ask()
        asked = time.perf_counter() - start
        value = float(objective(config))
        start = time.perf_counter()
        method.tell(config, value)
        configs.append(config)
        values.append(value)
        seconds.append(round(asked + time.perf_counter() - start, 6))
    return {"configs": configs, "values": values, "seconds": seconds}


def regression(job: Job) -> dict[str, Any]:
    """Test error by number of training samples. All methods see the same ones; smaller sets are part of larger ones."""
    found = synthetic()
    rng = np.random.default_rng(job.seed)
    sizes = TRAIN_SIZES if job.length == len(TRAIN_SIZES) else QUICK_SIZES[: job.length]
    train = [found.space.sample(rng) for _ in range(max(sizes))]
    test = [found.space.sample(rng) for _ in range(N_TEST)]
    y, y_test = (np.array([found.objective(c) for c in configs]) for configs in (train, test))
    errors, seconds = [], []
    for n in sizes:
        start = time.perf_counter()
        mean = REGRESSORS[job.method](found.space).fit_predict(train[:n], y[:n], test)
        seconds.append(round(time.perf_counter() - start, 6))
        errors.append(float(np.mean((mean - y_test) ** 2)))
    return {"sizes": list(sizes), "mse": errors, "seconds": seconds}
