"""Random search."""

from __future__ import annotations

from typing import Any

import numpy as np

from addtree._types import Config
from addtree.space.space import Space


class RandomSearch:
    """Draws every option of a choice with the same probability, and numbers uniformly on their scale."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._rng = np.random.default_rng(seed)

    def ask(self) -> dict[str, Any]:
        """A random configuration."""
        return self._space.sample(self._rng)

    def tell(self, config: Config, value: float) -> None:
        """Random search learns nothing."""
