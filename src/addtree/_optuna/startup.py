"""The first trials of a define-by-run study, before its model is used.

The space of such a study grows while its trials show it, so its initial design cannot be made in advance. It grows one
configuration at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from addtree._types import Array, Config
from addtree.search.design import has_unseen_option, next_row
from addtree.space.encoding import Encoding
from addtree.space.restriction import Restriction

MAX_STARTUP_FACTOR = 3
"""The startup may take this many times `n_startup_trials` if it needs them to see every option."""


class StartupDesign:
    """A design that grows by one configuration at a time. Each finished trial is encoded once, by `add`.

    n_trials  the size of the design; up to `MAX_STARTUP_FACTOR` times as much until every option was seen
    """

    def __init__(self, encoding: Encoding, n_trials: int) -> None:
        self._encoding = encoding
        self._n_trials = n_trials
        self._max_trials = MAX_STARTUP_FACTOR * n_trials
        self._rows: list[Array] = []

    def add(self, config: Config) -> None:
        """Record the configuration of a finished trial. After the startup there is nothing to record."""
        if len(self._rows) < self._max_trials:
            self._rows.extend(self._encoding.encode([config]))

    def suggest(
        self, pending: Sequence[Config], rng: np.random.Generator, restriction: Restriction | None = None
    ) -> dict[str, Any] | None:
        """The next configuration of the design; None if the startup is over, or if it is already taken.

        restriction  what the configuration must agree with, if it is not free
        """
        n_known = len(self._rows) + len(pending)
        if n_known >= self._max_trials:
            return None
        encoding = self._encoding
        X = np.array([*self._rows, *encoding.encode(pending)]).reshape(n_known, encoding.n_columns)
        if n_known >= self._n_trials and not has_unseen_option(encoding, X):
            return None
        row = next_row(encoding, X, rng, restriction)
        if encoding.keys(row[None])[0] in encoding.keys(X):
            return None
        config = encoding.decode(row)
        return config if restriction is None else restriction.restore(config)
