"""Candidate configurations for the joint search: around the best observed ones, across branches, and anywhere."""

from __future__ import annotations

import numpy as np

from addtree._types import Array
from addtree.search.design import node_shares
from addtree.space.encoding import Encoding

_ANYWHERE = 128  # uniform over the space
_NEAR = 96  # around the incumbents
_ACROSS = 48  # incumbents with one choice changed
_GIVEN = 0.7  # of these take what hangs below the new option from the best seen there
_INCUMBENTS = 6
_ENOUGH = 3  # evaluations, all of them as bad as can be, after which an option is not probed any more
_WIDTHS = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5)  # of the unit interval


def candidates(encoding: Encoding, X: Array, value: Array, rng: np.random.Generator) -> Array:
    """Rows to score, given observed rows X (n x D) and their values (n), lower being better. Not yet snapped."""
    order = np.argsort(value, kind="stable")
    best = X[order[:_INCUMBENTS]]
    parts = [encoding.sample(_ANYWHERE, rng)]
    if len(best):
        parts += [near(encoding, best, rng), _across(encoding, best, X[order], rng)]
    return np.concatenate(parts)


def neglected(encoding: Encoding, X: Array, value: Array, rng: np.random.Generator) -> list[int]:
    """The nodes that options open, first those seen least for their share of a balanced design; equals at random.

    A node whose every evaluation is as bad as the worst of all (as a failed one counts) is left out after a few.
    """
    found = []
    for node, share in list(enumerate(node_shares(encoding)))[1:]:
        seen = encoding.inside(X, node)
        hopeless = np.sum(seen) >= _ENOUGH and np.all(value[seen] == np.max(value))
        if not hopeless:
            found.append((np.sum(seen) / share, rng.random(), node))
    return [node for _, _, node in sorted(found)]


def within(encoding: Encoding, X: Array, value: Array, node: int, rng: np.random.Generator) -> Array:
    """Candidates that all take the options to a node: around the best seen there, and others, brought there."""
    ranked = X[np.argsort(value, kind="stable")]
    there = ranked[encoding.inside(ranked, node)][:_INCUMBENTS]
    rows = encoding.enter(candidates(encoding, X, value, rng), node, rng)
    return np.concatenate([rows, near(encoding, there, rng)]) if len(there) else rows


def near(encoding: Encoding, best: Array, rng: np.random.Generator) -> Array:
    """Incumbents, the best more often, with some of their numbers and categories changed."""
    weights = 1.0 / (1.0 + np.arange(len(best)))
    X = best[rng.choice(len(best), size=_NEAR, p=weights / weights.sum())]
    width = rng.choice(_WIDTHS, size=(_NEAR, 1))
    n_active = np.sum(~np.isnan(X) & ~encoding.is_choice, axis=1, keepdims=True)
    share = np.where(rng.random((_NEAR, 1)) < 0.5, 1.0, 2.0 / np.maximum(n_active, 2.0))  # all of them, or about two
    change = rng.random(X.shape) < share
    X = np.where(change & encoding.is_numeric, X + width * rng.normal(size=X.shape), X)
    codes = np.floor(rng.random(X.shape) * np.maximum(encoding.n_codes, 1))
    plain = ~encoding.is_numeric & ~encoding.is_choice & ~np.isnan(X)
    return np.where(plain & change & (rng.random(X.shape) < 0.3), codes, X)


def _across(encoding: Encoding, best: Array, ranked: Array, rng: np.random.Generator) -> Array:
    """Incumbents with one choice changed.

    What the new option opens is taken from the best observation of that option, or drawn at random; what both
    options have in common (shared names) stays.
    """
    flips = [
        (node, b)
        for b, row in enumerate(best)
        for j, options in _active_choices(encoding, row)
        for o, node in enumerate(options)
        if o != row[j]
    ]
    if len(flips) > _ACROSS:
        flips = [flips[i] for i in rng.choice(len(flips), size=_ACROSS, replace=False)]
    parts = [np.empty((0, encoding.n_columns))]
    for node in dict.fromkeys(node for node, _ in flips):
        old = best[[b for to, b in flips if to == node]]
        new = encoding.enter(old, node, rng)
        donors = np.flatnonzero(encoding.inside(ranked, node))
        if len(donors):
            given = rng.random(len(new)) < _GIVEN
            new[np.ix_(given, encoding.below[node])] = ranked[donors[0], encoding.below[node]]
        parts.append(np.where(~np.isnan(old) & ~np.isnan(new) & ~encoding.is_choice, old, new))
    return np.concatenate(parts)


def _active_choices(encoding: Encoding, row: Array) -> list[tuple[int, tuple[int, ...]]]:
    """The choices a row makes: their columns and the nodes their options open."""
    found = []
    queue = [0]
    for i in queue:
        for j, options in encoding.node_choices[i]:
            found.append((j, options))
            queue.append(options[int(row[j])])
    return found
