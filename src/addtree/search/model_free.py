"""Rows that ignore the model, for turns in which it is probably wrong.

    fresh_row      a row of a branch that was hardly seen, anywhere in it. Expected improvement would go to a corner,
                   where the variance is largest and real functions are often bad.
    in_widest_gap  one number of the best row of a branch in its widest gap. From values on both sides of a valley, the
                   model may be sure that there is none.
    beside_best    one number of the best row of a branch in the wider gap beside it. On a plateau, or at the end of a
                   range, expected improvement evaluates ever closer neighbours instead.

Each function returns None if its row is not new or breaks a rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from addtree._types import Array, Index
from addtree.search.candidates import Observed
from addtree.search.design import from_rarest_stratum

_LEAST_GAP = 0.02  # A gap beside the best row is worth an evaluation if it is at least this share of the range.


def fresh_row(observed: Observed, node: int, rng: np.random.Generator, *, enough: int) -> Array | None:
    """A row of a node whose own numbers are from the least seen parts of their ranges.

    The rest is as in the best row of the outermost option that leads to the node, or of all if that option was never
    taken. None if that option has enough evaluations, so that the model knows about it.
    """
    encoding, ranked = observed.encoding, observed.ranked
    locations = [found.location for found in encoding.space.nodes]
    there = ranked[encoding.inside(ranked, locations.index(locations[node][:1]))]
    if len(there) >= enough:
        return None
    (row,) = encoding.enter(there[:1] if len(there) else ranked[:1], node, rng)
    inside = ranked[encoding.inside(ranked, node)]
    for j in encoding.below[node]:
        if encoding.is_numeric[j] and j not in encoding.cells and not np.isnan(row[j]):
            seen = encoding.to_uniform(j, _values(inside, j))
            row[j] = encoding.from_uniform(j, np.array([from_rarest_stratum(seen, encoding.size(j), rng)]))[0]
    (row,) = encoding.snap(row[None])
    return np.asarray(row) if observed.admits(row) else None


def in_widest_gap(observed: Observed, node: int) -> Array | None:
    """The best row of a node with one number in the middle of its widest gap.

    A gap lies between two values of the number in that node, or between one of them and an end of the range.
    """
    ranked = observed.ranked
    there = ranked[observed.encoding.inside(ranked, node)]
    if not len(there):
        return None
    moves = []
    for j in _numbers(observed, there[0]):
        ends = np.concatenate([[0.0], _values(there, j), [1.0]])
        k = int(np.argmax(np.diff(ends)))
        moves.append((ends[k + 1] - ends[k], j, 0.5 * (ends[k] + ends[k + 1])))
    return _first_possible(observed, there[0], moves)


@dataclass(frozen=True)
class Branch:
    """The observations of one branch.

    positions  their positions in the order of evaluation
    best       the position of the best one
    n_free     the number of its parameters
    """

    positions: Index
    best: int
    n_free: int

    @property
    def since_best(self) -> int:
        """The number of evaluations since the best one."""
        return int(np.sum(self.positions > self.best))

    @property
    def failures(self) -> int:
        """How often the branch had as many evaluations in vain as a local search of it takes."""
        return self.since_best // (self.n_free + 1)


def branches_to_search(observed: Observed) -> list[Branch]:
    """The branches with free parameters, in the order in which their best rows deserve a local search.

    The better ones come first, unless searches there failed: each failure moves a branch behind one that is worse.
    """
    encoding, y = observed.encoding, observed.y
    members: dict[bytes, list[int]] = {}
    for i, key in enumerate(encoding.branches(observed.X)):
        members.setdefault(key.tobytes(), []).append(i)
    branches = []
    for positions in map(np.array, members.values()):
        best = int(positions[np.argmin(y[positions])])
        n_free = int(np.sum(~np.isnan(observed.X[best]) & ~encoding.is_choice))
        if n_free:
            branches.append(Branch(positions, best, n_free))
    branches.sort(key=lambda branch: float(y[branch.best]))
    order = sorted(range(len(branches)), key=lambda rank: rank + branches[rank].failures)
    return [branches[rank] for rank in order]


def beside_best(observed: Observed, branch: Branch) -> Array | None:
    """The best row of a branch with one number in the middle of the wider gap beside it."""
    best, there, moves = observed.X[branch.best], observed.X[branch.positions], []
    for j in _numbers(observed, best):
        values = np.concatenate([[0.0], _values(there, j), [1.0]])
        below, above = values[values < best[j]], values[values > best[j]]
        for end in (*below[-1:], *above[:1]):
            moves.append((abs(best[j] - end), j, 0.5 * (best[j] + end)))
    return _first_possible(observed, best, (move for move in moves if move[0] >= _LEAST_GAP))


def _numbers(observed: Observed, row: Array) -> list[int]:
    """The columns of the numbers that are active in a row."""
    return list(np.flatnonzero(observed.encoding.is_numeric & ~np.isnan(row)).tolist())


def _values(X: Array, column: int) -> Array:
    """The values of a column, sorted."""
    return np.sort(X[~np.isnan(X[:, column]), column])


def _first_possible(observed: Observed, row: Array, moves: Iterable[tuple[float, int, float]]) -> Array | None:
    """The row with one number moved, by the move with the widest gap that is possible: (gap, column, new value)."""
    encoding = observed.encoding
    for _, j, value in sorted(moves, reverse=True):
        moved = row.copy()
        moved[j] = value
        (moved,) = encoding.snap(moved[None])
        cells = encoding.cells.get(j)
        opens_others = cells is not None and cells.of_codes(moved[j]) != cells.of_codes(row[j])
        if not opens_others and observed.admits(moved):
            return np.asarray(moved)
    return None
