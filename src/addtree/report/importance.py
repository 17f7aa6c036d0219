"""Which components matter, and which parameters interact: shares of the variance of the observed values."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from addtree._types import Array
from addtree.model.terms import Term
from addtree.report.effects import Axis, Effects, Joint, make_axis

_NEGLIGIBLE = 0.002  # of the variance: a term below that is not searched for interactions
_FOUND = 0.01  # of the variance: an interaction below that is not shown
_CANDIDATES = 20  # pairs looked at
_SHOWN = 6  # pairs shown
_COARSE, _FINE = (6, 8), (15, 6)  # positions of an axis, configurations averaged over


Kind = Literal["choice", "vertex", "interaction", "unexplained"]


@dataclass(frozen=True)
class Share:
    """A component and its share of the variance; with "unexplained" the shares add up to 1."""

    label: str
    kind: Kind
    share: float


def shares(beliefs: Effects) -> list[Share]:
    """The covariance of each component with the observed values, over their variance.

    A component that is active in some branches only says two things: how the branch is on average, which counts for
    the choice that leads there (and, on average over its options, for the choice above that), and what its parameters
    do within it, which counts for itself.
    """
    z = beliefs.posterior.z - np.mean(beliefs.posterior.z)
    variance = float(np.mean(z**2))
    if variance == 0.0:
        return []
    active, encoding = beliefs.posterior.rows.active, beliefs.encoding
    parts: dict[tuple[str, Kind], Array] = {}  # what each component says of each observation
    vertices = {name: v for v in beliefs.space.vertices for name in v.names}
    for t, term in enumerate(beliefs.terms):
        on, mean = active[:, t], beliefs.term_means[t]
        if not on.any():
            continue
        average = float(np.mean(mean[on]))
        _add(parts, _owner(beliefs, term), average * on.astype(float))
        if term.columns:
            read = {vertices.get(encoding.names[j]) for j in term.columns}  # a choice is in no vertex
            vertex = read.pop() if len(read) == 1 else None
            key: tuple[str, Kind] = (
                (term.label, "interaction") if vertex is None else (", ".join(vertex.names), "vertex")
            )
            _add(parts, key, np.where(on, mean - average, 0.0))
    for name in reversed(list(beliefs.space.variables)):  # children before their parents
        if ((name, "choice")) in parts:
            on = ~np.isnan(beliefs.X[:, encoding.index[name]])
            average = float(np.mean(parts[name, "choice"][on]))
            parts[name, "choice"] -= average * on
            _add(parts, _opener(beliefs, name), average * on.astype(float))
    out = [Share(label, kind, float(np.mean(part * z)) / variance) for (label, kind), part in parts.items()]
    out.sort(key=lambda s: -s.share)
    residual = beliefs.posterior.z - beliefs.posterior.means()
    return [*out, Share("unexplained", "unexplained", float(np.mean(residual * z)) / variance)]


def _add(parts: dict[tuple[str, Kind], Array], key: tuple[str, Kind] | None, part: Array) -> None:
    if key is not None:  # at the root it is a constant, which explains no variance
        parts[key] = parts.get(key, np.zeros_like(part)) + part


def _owner(beliefs: Effects, term: Term) -> tuple[str, Kind] | None:
    """The choice that decides whether a term is active; None at the root."""
    gates = [j for j, code in term.gate if code >= 0]
    if gates:
        return beliefs.encoding.names[gates[-1]], "choice"
    return _opener(beliefs, beliefs.encoding.names[term.columns[0]]) if term.columns else None


def _opener(beliefs: Effects, name: str) -> tuple[str, Kind] | None:
    """The choice that opens a variable (the first, where several do); None at the root."""
    location = beliefs.space.conditions[name][0]
    return (location[-1][0], "choice") if location else None


def interactions(beliefs: Effects) -> list[Joint]:
    """The strongest interactions, as joint effects on a grid."""
    variance = float(np.var(beliefs.posterior.z))
    if variance == 0.0:
        return []
    found: list[tuple[float, Axis, Axis]] = []
    for a, b in _candidates(beliefs, variance):
        share = _share(beliefs, a, b, variance)
        if share > _FOUND:
            found.append((share, a, b))
    found.sort(key=lambda item: -item[0])
    out = []
    for share, a, b in found[:_SHOWN]:
        fine = [make_axis(beliefs.encoding, axis.name, positions=_FINE[0]) for axis in (a, b)]
        grid = beliefs.joint(*fine, size=_FINE[1], both=False)
        assert grid is not None
        out.append(Joint(fine[0], fine[1], beliefs.gp.scale * grid[0], share))
    return out


def _share(beliefs: Effects, a: Axis, b: Axis, variance: float) -> float:
    grid = beliefs.joint(a, b, size=_COARSE[1], both=True)
    if grid is None:
        return 0.0
    together = float(np.mean(~np.isnan(beliefs.X[:, [a.column, b.column]]).any(axis=1)))
    return together * float(a.weights @ grid[1] ** 2 @ b.weights) / variance


def _candidates(beliefs: Effects, variance: float) -> list[tuple[Axis, Axis]]:
    """Pairs that strong terms read together, those with the shortest lengthscales first."""
    encoding, score = beliefs.encoding, dict[tuple[int, int], float]()
    above = {
        j: beliefs.below(make_axis(encoding, encoding.names[j])) for j in np.flatnonzero(encoding.is_choice).tolist()
    }
    for t, term in enumerate(beliefs.terms):
        on = beliefs.posterior.rows.active[:, t]
        strength = float(np.var(beliefs.term_means[t][on])) * float(np.mean(on)) / variance if on.any() else 0.0
        if strength < _NEGLIGIBLE:
            continue
        scales = beliefs.posterior.hyper.lengthscales[list(term.scales)] if term.scales else np.empty(0)
        reads = dict(zip(term.columns, _sensitivity(scales), strict=True))
        reads |= {j: 1.0 for j, code in term.gate if code >= 0}
        for pair in combinations(sorted(reads), 2):
            if not any(x in above and y in above[x] for x, y in (pair, pair[::-1])):
                score[pair] = score.get(pair, 0.0) + strength * reads[pair[0]] * reads[pair[1]]
    best = sorted(score, key=lambda pair: -score[pair])[:_CANDIDATES]
    axes = {j: make_axis(encoding, encoding.names[j], positions=_COARSE[0]) for pair in best for j in pair}
    return [(axes[i], axes[j]) for i, j in best if len(axes[i].codes) > 1 and len(axes[j].codes) > 1]


def _sensitivity(lengthscales: Array) -> Array:
    """How fast a term moves with each of its columns, 1 for the fastest."""
    return np.asarray((np.min(lengthscales, initial=np.inf) / lengthscales) ** 2)
