"""Candidate configurations for the joint search: anywhere, around the best observed ones, and across branches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from addtree._types import Array
from addtree.search.design import node_shares
from addtree.space.encoding import Encoding
from addtree.space.restriction import Restriction

_CATEGORY_SHARE = 0.3  # In a change of an incumbent, a category that may change is drawn anew with this probability.
_ROUNDS = 20  # A row in a neglected branch that rules exclude is changed at most this often.


@dataclass(frozen=True)
class CandidateSettings:
    """How many candidates of each kind there are. `benchmarks.variants` compares other numbers.

    anywhere        candidates uniform over the space
    near            candidates around the incumbents
    across          largest number of incumbents with one choice changed, and of incumbents with one number moved to
                    where it opens something else
    donor_share     share of those that take what the new option or interval opens from its best observation
    incumbents      number of best observations that serve as incumbents
    hopeless_after  an option is no longer probed after this many evaluations, all as bad as the worst of all
    widths          standard deviations of changes to an incumbent, in units of the unit interval
    """

    anywhere: int = 128
    near: int = 96
    across: int = 48
    donor_share: float = 0.7
    incumbents: int = 6
    hopeless_after: int = 3
    widths: tuple[float, ...] = (0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True)
class Observed:
    """What has been evaluated: rows X (n x D), values y (n, lower is better), and the keys that may not be repeated.

    restriction  what a suggestion must agree with, if it is not free
    failed       rows of evaluations that gave no value (k x D)
    hints        further rows that may be good, from elsewhere
    """

    encoding: Encoding
    X: Array
    y: Array
    taken: set[bytes]
    restriction: Restriction | None = None
    failed: Array | None = None
    hints: Array | None = None

    @cached_property
    def ranked(self) -> Array:
        """The rows, best first; under a restriction, first those whose branch agrees with it."""
        if self.restriction is None:
            return np.asarray(self.X[np.argsort(self.y, kind="stable")])
        return np.asarray(self.X[np.lexsort([self.y, ~self.restriction.in_allowed_branch(self.X)])])

    def conform(self, X: Array, rng: np.random.Generator) -> Array:
        """These rows made to agree with the restriction."""
        return X if self.restriction is None else self.restriction.conform(X, rng)

    def admits(self, row: Array) -> bool:
        """Whether a snapped row is new, keeps all rules, and agrees with the restriction."""
        is_new = self.encoding.keys(row[None])[0] not in self.taken
        agrees = self.restriction is None or bool(self.restriction.agrees(row[None])[0])
        return is_new and agrees and bool(self.encoding.feasibility.valid(row[None])[0])

    def has_new(self, X: Array) -> bool:
        """Whether any of these rows, once snapped, is not taken."""
        return not self.taken.issuperset(self.encoding.keys(self.encoding.snap(X)))


def first_positions(keys: Iterable[bytes]) -> dict[bytes, int]:
    """The position of the first occurrence of each key."""
    first: dict[bytes, int] = {}
    for i, key in enumerate(keys):
        first.setdefault(key, i)
    return first


def candidates(observed: Observed, settings: CandidateSettings, rng: np.random.Generator) -> Array:
    """Rows to score, not yet snapped."""
    best = observed.ranked[: settings.incumbents]
    parts = [observed.encoding.sample(settings.anywhere, rng)]
    if len(best):
        parts += [near(observed.encoding, best, settings, rng), _across(observed, best, settings, rng)]
    if observed.hints is not None:
        parts.append(observed.hints)
    return np.concatenate(parts)


def neglected_nodes(observed: Observed, settings: CandidateSettings, rng: np.random.Generator) -> list[int]:
    """The nodes that options open, those seen least for their share of a balanced design first; ties at random.

    A node whose evaluations are all as bad as the worst of all is soon left out. If they all failed, so are the nodes
    below it.
    """
    encoding, y = observed.encoding, observed.y
    locations = [node.location for node in encoding.space.nodes]
    failing: list[tuple[object, ...]] = []
    found = []
    for node, share in list(enumerate(node_shares(encoding)))[1:]:
        if observed.restriction is not None and not observed.restriction.reaches(node):
            continue
        seen = encoding.inside(observed.X, node)
        n_failed = 0 if observed.failed is None else int(np.sum(encoding.inside(observed.failed, node)))
        n_seen = int(np.sum(seen)) + n_failed
        hopeless = n_seen >= settings.hopeless_after and np.all(y[seen] == np.max(y))
        if hopeless and n_failed == n_seen:
            failing.append(locations[node])
        if not hopeless and not any(locations[node][: len(above)] == above for above in failing):
            found.append((n_seen / share, rng.random(), node))
    return [node for _, _, node in sorted(found)]


def within_node(observed: Observed, node: int, settings: CandidateSettings, rng: np.random.Generator) -> Array:
    """Candidates that all activate a node: around the best seen there, and others that are moved there."""
    encoding, ranked = observed.encoding, observed.ranked
    there = ranked[encoding.inside(ranked, node)][: settings.incumbents]
    location = [j for j, _, _ in encoding.gates[node]]
    rows = encoding.enter(candidates(observed, settings, rng), node, rng)
    rows = encoding.feasibility.make_valid(rows, rng, keep=location, rounds=_ROUNDS)
    return np.concatenate([rows, near(encoding, there, settings, rng)]) if len(there) else rows


def near(encoding: Encoding, best: Array, settings: CandidateSettings, rng: np.random.Generator) -> Array:
    """Incumbents, the best ones more often, with some of their numbers and categories changed."""
    n = settings.near
    weights = 1.0 / (1.0 + np.arange(len(best)))
    X = start = best[rng.choice(len(best), size=n, p=weights / weights.sum())]
    width = rng.choice(settings.widths, size=(n, 1))
    n_active = np.sum(~np.isnan(X) & ~encoding.is_choice, axis=1, keepdims=True)
    share = np.where(rng.random((n, 1)) < 0.5, 1.0, 2.0 / np.maximum(n_active, 2.0))  # all of them, or about two
    change = rng.random(X.shape) < share
    X = np.where(change & encoding.is_numeric, X + width * rng.normal(size=X.shape), X)
    codes = np.floor(rng.random(X.shape) * np.maximum(encoding.n_codes, 1))
    plain = ~encoding.is_numeric & ~encoding.is_choice & ~np.isnan(X)
    X = np.where(plain & change & (rng.random(X.shape) < _CATEGORY_SHARE), codes, X)
    # A number that moved may have opened something new, or closed something.
    X = encoding.repair(X, rng, donors=best, donor_share=settings.donor_share) if encoding.cells else X
    return encoding.feasibility.toward(start, X)


def _across(observed: Observed, best: Array, settings: CandidateSettings, rng: np.random.Generator) -> Array:
    """Incumbents with one choice changed, or with one number moved to where it opens something else.

    What the new option or interval opens is taken from its best observation, or drawn at random. Parameters that are
    open before and after keep their values.
    """
    encoding, ranked = observed.encoding, observed.ranked
    flips = [
        (child, b)
        for b, row in enumerate(best)
        for i, _ in encoding.walk(row)
        for j, options in encoding.node_choices[i]
        for o, child in enumerate(options)
        if o != row[j]
    ]
    if len(flips) > settings.across:
        flips = [flips[i] for i in rng.choice(len(flips), size=settings.across, replace=False)]
    parts = [np.empty((0, encoding.n_columns))]
    for node in dict.fromkeys(node for node, _ in flips):
        old = best[[b for to, b in flips if to == node]]
        new = encoding.enter(old, node, rng)
        donors = np.flatnonzero(encoding.inside(ranked, node))
        if len(donors):
            given = rng.random(len(new)) < settings.donor_share
            new[np.ix_(given, encoding.below[node])] = ranked[donors[0], encoding.below[node]]
        parts.append(np.where(~np.isnan(old) & ~np.isnan(new) & ~encoding.is_choice, old, new))
    X = np.concatenate(parts)
    if encoding.cells:
        X = encoding.repair(X, rng)  # a number that kept its value may open something else
        X = np.concatenate([X, _across_cells(observed, best, settings, rng)])
    return encoding.feasibility.make_valid(X, rng)


def _across_cells(observed: Observed, best: Array, settings: CandidateSettings, rng: np.random.Generator) -> Array:
    """Incumbents with one number moved to the nearest end of another cell, or to a random place in it."""
    encoding = observed.encoding
    moved = []
    for row in best:
        for j, cells in encoding.cells.items():
            if np.isnan(row[j]):
                continue
            here = int(cells.of_codes(row[j]))
            for cell in range(len(cells)):
                if cell != here:
                    new = row.copy()
                    nearest = cells.low[cell] if cell > here else cells.high[cell]
                    anywhere = encoding.draw_in_cells(j, (cell, cell), rng.random(1))[0]
                    new[j] = nearest if rng.random() < 0.5 else anywhere
                    moved.append(new)
    if len(moved) > settings.across:
        moved = [moved[i] for i in rng.choice(len(moved), size=settings.across, replace=False)]
    X = np.array(moved).reshape(-1, encoding.n_columns)
    return encoding.repair(X, rng, donors=observed.ranked, donor_share=settings.donor_share)
