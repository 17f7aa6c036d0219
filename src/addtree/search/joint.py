"""Maximising an acquisition that does not add up over vertices, such as expected improvement.

Many candidates are scored at once. The best of different branches are improved by gradient ascent, and the winner by
single steps of its integers and categories.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from addtree._types import Array, Index, Mask
from addtree.search.ascent import Box, ascend
from addtree.search.candidates import Observed, first_positions
from addtree.search.criterion import Criterion
from addtree.space.encoding import Encoding

_PARTS, _REFINEMENTS = 32, 3  # The last valid row on a way is found to within 32^-4 of the length of the way.
_BEYOND = 0.03  # Distance beyond the boundary, in units of the unit interval, at which its normal is measured.


@dataclass(frozen=True)
class JointSearch:
    """How much work a joint search does.

    ascents        candidates that are improved by gradient ascent
    steps          largest number of evaluations after the first, each of all ascents at once
    polish_rounds  passes over single-step changes of integers and categories
    """

    ascents: int = 8
    steps: int = 16
    polish_rounds: int = 3


def maximize_jointly(
    criterion: Criterion,
    observed: Observed,
    candidates: Array,
    *,
    search: JointSearch | None = None,
    tolerance: float | None = None,
) -> Array | None:
    """The best row found from the candidates whose key is not taken; None if every candidate is taken.

    The candidates agree with the restriction of `observed`, if there is one, and so does the row.

    tolerance  the ascent ends early when the criterion no longer gains this much (see `ascend`)
    """
    search = search or JointSearch()
    encoding, restriction = observed.encoding, observed.restriction

    def score(X: Array) -> tuple[Array, Array]:
        """The rows that are new and valid, and their values."""
        X = X if restriction is None else X[restriction.agrees(X)]
        new = [i for key, i in first_positions(encoding.keys(X)).items() if key not in observed.taken]
        X = encoding.feasibility.filter(X[new])
        return X, criterion.values(X)

    X, value = score(encoding.snap(candidates))
    if not len(X):
        return None
    refined, refined_value = score(improve(criterion, observed, X, value, search=search, tolerance=tolerance))
    X, value = np.concatenate([X, refined]), np.concatenate([value, refined_value])
    best, best_value = np.asarray(X[np.argmax(value)]), float(np.max(value))
    for _ in range(search.polish_rounds):
        steps = encoding.single_steps(best)
        X, value = score(steps) if len(steps) else (steps, np.empty(0))
        if not np.max(value, initial=-np.inf) > best_value:
            break
        best, best_value = X[np.argmax(value)], float(np.max(value))
    return best


def improve(
    criterion: Criterion,
    observed: Observed,
    X: Array,
    value: Array,
    *,
    search: JointSearch,
    tolerance: float | None = None,
) -> Array:
    """The rows, snapped and valid, that gradient ascent reaches from the best of the rows X, whose values are given."""
    encoding, restriction = observed.encoding, observed.restriction
    starts = X[_different_branches(encoding, X, value, search.ascents)]
    free = encoding.is_numeric & ~np.isnan(starts)
    if restriction is not None:
        free &= ~restriction.fixed
    box = Box(free, *encoding.bounds(starts))
    function = criterion.function(starts)
    improved = encoding.snap(ascend(function, starts, box, steps=search.steps, tolerance=tolerance)[0])
    if encoding.feasibility.valid(improved).all():
        return improved
    # The last valid rows on the way, and ascents from there along the boundary. If the boundary is curved, such an
    # ascent ends beyond it, and the last valid row on the way there is taken again.
    found = _last_valid(encoding, starts, improved)
    along = _along_boundary(function, encoding, found, improved, box.free)
    moved = encoding.snap(ascend(along, found, box, steps=search.steps, tolerance=tolerance)[0])
    return np.concatenate([found, _last_valid(encoding, starts, moved)])


def _last_valid(encoding: Encoding, starts: Array, ends: Array) -> Array:
    """The last valid row on the way from each start to its end."""
    return encoding.feasibility.toward(starts, ends, parts=_PARTS, refinements=_REFINEMENTS)


def _along_boundary(
    function: Callable[[Array], tuple[Array, Array]], encoding: Encoding, inside: Array, ends: Array, free: Mask
) -> Callable[[Array], tuple[Array, Array]]:
    """The function without the part of its gradient that points out of the valid region.

    inside  the last valid row on the way to each end
    """
    crossed = free & ~encoding.feasibility.valid(ends)[:, None]
    way = np.where(crossed, ends - inside, 0.0)
    beyond = inside + _BEYOND * way / np.maximum(np.max(np.abs(way), axis=1, keepdims=True), 1e-12)
    normal = np.where(crossed, encoding.feasibility.normals(beyond), 0.0)

    def along(X: Array) -> tuple[Array, Array]:
        value, gradient = function(X)
        outward = np.sum(np.where(free, gradient, 0.0) * normal, axis=1, keepdims=True)
        return value, gradient - np.maximum(outward, 0.0) * normal

    return along


def _different_branches(encoding: Encoding, X: Array, value: Array, size: int) -> Index:
    """The rows to start from: the best two overall, then the best of each further path, best first."""
    order = np.argsort(-value, kind="stable")
    paths = [path.tobytes() for path in encoding.branches(X)[order]]
    chosen = [0, 1, *(i for path, i in first_positions(paths).items() if path not in paths[:2])]
    rest = sorted(set(range(len(order))) - set(chosen))
    return np.asarray(order[[i for i in (chosen + rest)[:size] if i < len(order)]])
