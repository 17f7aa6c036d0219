"""addtree itself, in its default and as the paper published it, and random search."""

from __future__ import annotations

from typing import Any

import numpy as np

from addtree import Optimizer, Space, Trial
from benchmarks.peers import Config


class AddTree:
    """The optimizer with its defaults."""

    options: dict[str, Any] = {}  # noqa: RUF012 - read only

    def __init__(self, space: Space, seed: int) -> None:
        self._optimizer = Optimizer(space, seed=seed, **self.options)
        self._trial: Trial | None = None

    def ask(self) -> Config:
        self._trial = self._optimizer.ask()
        return self._trial.config

    def tell(self, config: Config, value: float) -> None:
        assert self._trial is not None
        self._optimizer.tell(self._trial, value)


class Paper(AddTree):
    """The paper's method, as published."""

    options = {"covariance": "additive", "acquisition": "additive-ucb", "inference": "mle"}  # noqa: RUF012 - read only


class Random:
    """Every option of a choice alike, numbers uniform on their scale."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._rng = space, np.random.default_rng(seed)

    def ask(self) -> Config:
        return self._space.sample(self._rng)

    def tell(self, config: Config, value: float) -> None:
        pass
