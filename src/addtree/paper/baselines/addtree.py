"""This library's own optimizer."""

from __future__ import annotations

from typing import Any

from addtree._types import Config
from addtree.optimizer import Optimizer
from addtree.space.space import Space
from addtree.trials import Trial

# The settings of `Optimizer` that give the paper's method as published.
AS_PUBLISHED: dict[str, Any] = {"covariance": "additive", "acquisition": "additive-ucb", "inference": "mle"}


class AddTree:
    """An `addtree.Optimizer`; the options are those of its constructor."""

    def __init__(self, space: Space, seed: int, **options: Any) -> None:
        self._optimizer = Optimizer(space, seed=seed, **options)
        self._trial: Trial | None = None

    def ask(self) -> dict[str, Any]:
        """The optimizer's next suggestion."""
        self._trial = self._optimizer.ask()
        return dict(self._trial.config)

    def tell(self, config: Config, value: float) -> None:
        """The value of the configuration that was just asked for."""
        assert self._trial is not None
        self._optimizer.tell(self._trial, value)

    def recommend(self) -> dict[str, Any]:
        """The configuration with the best mean under the model."""
        return dict(self._optimizer.recommend().config)
