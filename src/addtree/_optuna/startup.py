"""The first trials of a define-by-run study.

The space of such a study grows while its trials show it, so its initial design cannot be made in advance. It grows one
configuration at a time. After the design, the model is used, but any value that no trial has tried yet may open
parameters that nobody knows of. So every other suggestion *probes* such a value: the value is given, and the model
chooses the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from addtree._types import Array, Config
from addtree.errors import ConfigError
from addtree.search.design import next_row
from addtree.space.encoding import Encoding
from addtree.space.parameters import Integer, Real
from addtree.space.restriction import Restriction

MAX_STARTUP_FACTOR = 3
"""Values are probed until the study has this many times `n_startup_trials`."""

_PROBE_CYCLE = 2
"""One of this many suggestions probes a value, as long as there are values to probe."""

_MAX_PROBED = 5
"""Every value of a whole number is probed if it has at most this many; other numbers are left to the model."""


class StartupDesign:
    """A design that grows by one configuration at a time. Each finished trial is encoded once, by `add`.

    n_trials    the size of the design
    max_trials  the number of trials after which no value is probed any more
    """

    def __init__(self, encoding: Encoding, n_trials: int, max_trials: int) -> None:
        self._encoding = encoding
        self._n_trials = n_trials
        self._max_trials = max_trials
        self._rows: list[Array] = []

    def add(self, config: Config) -> None:
        """Record the configuration of a finished trial. After the startup there is nothing to record."""
        if len(self._rows) < self._max_trials:
            self._rows.extend(self._encoding.encode([config]))

    def suggest(
        self, pending: Sequence[Config], rng: np.random.Generator, restriction: Restriction | None = None
    ) -> dict[str, Any] | None:
        """The next configuration of the design; None if the design is complete, or if it is already taken.

        restriction  what the configuration must agree with, if it is not free
        """
        if len(self._rows) + len(pending) >= self._n_trials:
            return None
        encoding, X = self._encoding, self._known(pending)
        row = next_row(encoding, X, rng, restriction)
        if encoding.keys(row[None])[0] in encoding.keys(X):
            return None
        config = encoding.decode(row)
        return config if restriction is None else restriction.restore(config)

    def probe(self, pending: Sequence[Config], restriction: Restriction | None = None) -> Restriction | None:
        """The configurations with a value that no trial has tried; None if it is the model's turn, or all were tried.

        A value of a choice comes first, then one of a parameter that opens nothing as far as is known.

        restriction  what the value must agree with
        """
        n_known = len(self._rows) + len(pending)
        if not self._n_trials <= n_known < self._max_trials or n_known % _PROBE_CYCLE:
            return None
        for name, value in self._unseen(self._known(pending)):
            with suppress(ConfigError):
                if restriction is None or restriction.allows(name, value):
                    return Restriction.of(self._encoding, {name: value})
        return None

    def _unseen(self, X: Array) -> Iterator[tuple[str, Any]]:
        """The values that none of the rows X has, by name."""
        encoding, variables = self._encoding, self._encoding.space.variables
        is_choice = {j for choices in encoding.node_choices for j, _ in choices}
        for j in sorted(range(encoding.n_columns), key=lambda j: j not in is_choice):
            name = encoding.names[j]
            domain = variables[name]
            if isinstance(domain, Real) or (isinstance(domain, Integer) and domain.size > _MAX_PROBED):
                continue
            values = domain.values if isinstance(domain, Integer) else domain.labels
            codes = {encoding.encode_value(name, value): value for value in values}
            seen = set(X[~np.isnan(X[:, j]), j].tolist())
            yield from ((name, value) for code, value in codes.items() if code not in seen)

    def _known(self, pending: Sequence[Config]) -> Array:
        """The rows of the finished and of the pending trials."""
        encoding = self._encoding
        n_known = len(self._rows) + len(pending)
        return np.array([*self._rows, *encoding.encode(pending)]).reshape(n_known, encoding.n_columns)
