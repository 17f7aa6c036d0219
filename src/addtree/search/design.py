"""The initial design: few configurations that see every option and spread every parameter."""

from __future__ import annotations

import numpy as np

from addtree._types import Array
from addtree.space.encoding import Encoding

_LEAST = 8  # configurations, whatever the space
_MOST = 24  # a space with more options than that is seen as far as it goes


def visits_needed(encoding: Encoding) -> list[int]:
    """Per node, how many configurations it takes to see every option at and below it once."""
    needed = [1] * len(encoding.space.nodes)
    for i in range(len(needed) - 1, -1, -1):
        for _, options in encoding.node_choices[i]:
            needed[i] = max(needed[i], sum(needed[o] for o in options))
    return needed


def node_shares(encoding: Encoding) -> Array:
    """Per node, the part of the initial design that goes there: in proportion to what lies below."""
    needed = visits_needed(encoding)
    share = np.ones(len(needed))
    for i, choices in enumerate(encoding.node_choices):
        for _, options in choices:
            total = sum(needed[o] for o in options)
            for o in options:
                share[o] = share[i] * needed[o] / total
    return share


def design_size(encoding: Encoding, visits: int = 2) -> int:
    """How many configurations the initial design has by default: so many visits to every option."""
    return min(max(_LEAST, visits * visits_needed(encoding)[0]), _MOST)


def initial_design(encoding: Encoding, n: int, rng: np.random.Generator) -> Array:
    """n rows: options dealt in proportion to what lies below them, numbers in a Latin hypercube per parameter."""
    X = np.full((n, encoding.n_columns), np.nan)
    needed = visits_needed(encoding)
    queue = [(0, np.arange(n))]
    for i, rows in queue:
        for j in encoding.node_columns[i]:
            strata = rng.permutation(len(rows))
            if encoding.is_numeric[j]:
                X[rows, j] = (strata + rng.random(len(rows))) / len(rows)
            else:
                X[rows, j] = strata % encoding.n_codes[j]
        for j, options in encoding.node_choices[i]:
            weights = np.array([needed[o] for o in options], dtype=float)
            X[rows, j] = dealt = _deal(weights, len(rows), rng)
            for o, child in enumerate(options):
                if len(chosen := rows[dealt == o]):
                    queue.append((child, chosen))
    return encoding.snap(X)


def _deal(weights: Array, n: int, rng: np.random.Generator) -> Array:
    """n options in random order: each gets its share by weight, and none gets two before every one has one."""
    counts = np.zeros(len(weights), dtype=int)
    order = rng.permutation(len(weights))  # which options a short deal leaves out is chance
    for _ in range(n):
        quotient = np.where(counts == 0, 0.0, (counts + 0.5) / weights)
        counts[order[np.argmin(quotient[order])]] += 1
    return rng.permutation(np.repeat(np.arange(len(weights)), counts)).astype(float)
