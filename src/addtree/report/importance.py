"""Which components matter and which parameters interact: shares of the variance of the observed values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np

from addtree._types import Array
from addtree.model.terms import ACTIVE, Term
from addtree.report.axes import Axis, make_axis
from addtree.report.effects import Effects, Interaction
from addtree.report.sampling import columns_below

MIN_INTERACTION = 0.01  # An interaction is shown if it explains more than this share of the variance.

_MIN_TERM = 0.002  # A term that explains less than this share of the variance is not searched for interactions.
_MAX_CANDIDATES = 20  # At most this many pairs are tested for an interaction.
_MAX_SHOWN = 6  # At most this many interactions are shown.
# Positions on a numeric axis, and configurations to average over: in a test for an interaction, and in its picture.
_TEST_POSITIONS, _TEST_BACKGROUND = 6, 8
_SHOWN_POSITIONS, _SHOWN_BACKGROUND = 15, 6

Kind = Literal["choice", "vertex", "interaction", "unexplained"]
# Per component (label and kind), the part of the prediction (n) that is credited to it.
_Parts: TypeAlias = dict[tuple[str, Kind], Array]


@dataclass(frozen=True)
class Share:
    """A component and its share of the variance. All shares, "unexplained" included, add up to 1."""

    label: str
    kind: Kind
    share: float


# ---------------------------------------------------------------------- shares of the variance


def shares(effects: Effects) -> list[Share]:
    """The covariance of each component with the observed values, divided by the variance of these values.

    A component that is active in some branches only has two parts. Its average is a property of the branch, and is
    credited to the choice that leads there (and the average over the options of that choice to the choice above it).
    Its variation inside the branch is credited to the component itself.
    """
    z = effects.posterior.z - np.mean(effects.posterior.z)
    variance = float(np.mean(z**2))
    if variance == 0.0:
        return []
    parts: _Parts = {}
    for t, term in enumerate(effects.terms):
        on, mean = effects.posterior.rows.active[:, t], effects.term_means[t]
        if not on.any():
            continue
        average = float(np.mean(mean[on]))
        _credit(parts, _gating_choice(effects, term), average * on.astype(float))
        if term.columns:
            _credit(parts, _component(effects, term), np.where(on, mean - average, 0.0))
    _pass_averages_up(effects, parts)
    out = [Share(label, kind, float(np.mean(part * z)) / variance) for (label, kind), part in parts.items()]
    out.sort(key=lambda s: -s.share)
    return [*out, Share("unexplained", "unexplained", float(np.mean(effects.residuals * z)) / variance)]


def _credit(parts: _Parts, key: tuple[str, Kind] | None, part: Array) -> None:
    """Credit a part to a component; a part without one is constant, which explains no variance."""
    if key is not None:
        parts[key] = parts.get(key, np.zeros_like(part)) + part


def _component(effects: Effects, term: Term) -> tuple[str, Kind]:
    """The vertex whose parameters a term reads, if it reads those of one vertex only; else an interaction."""
    vertices = {name: vertex for vertex in effects.gp.space.vertices for name in vertex.names}
    read = {vertices.get(effects.encoding.names[j]) for j in term.columns}  # None for a choice: it is in no vertex
    vertex = read.pop() if len(read) == 1 else None
    return (term.label, "interaction") if vertex is None else (", ".join(vertex.names), "vertex")


def _pass_averages_up(effects: Effects, parts: _Parts) -> None:
    """Credit the average of each choice to the choice above it, children before their parents."""
    for name in reversed(list(effects.gp.space.variables)):
        if (name, "choice") in parts:
            on = effects.active([effects.encoding.index[name]])
            average = float(np.mean(parts[name, "choice"][on]))
            parts[name, "choice"] -= average * on
            _credit(parts, _parent_choice(effects, name), average * on.astype(float))


def _gating_choice(effects: Effects, term: Term) -> tuple[str, Kind] | None:
    """The choice, or the number, that decides whether a term is active; None at the root."""
    gates = [j for j, *bounds in term.gate if tuple(bounds) != ACTIVE]
    if gates:
        return effects.encoding.names[gates[-1]], "choice"
    return _parent_choice(effects, effects.encoding.names[term.columns[0]]) if term.columns else None


def _parent_choice(effects: Effects, name: str) -> tuple[str, Kind] | None:
    """The choice or number that opens a variable (the first one, if there are several); None at the root."""
    location = effects.gp.space.conditions[name][0]
    return (location[-1][0], "choice") if location else None


# ---------------------------------------------------------------------- interactions


def interactions(effects: Effects) -> list[Interaction]:
    """The strongest interactions, as joint effects on a grid, strongest first."""
    variance = float(np.var(effects.posterior.z))
    if variance == 0.0:
        return []
    tested = [(_interaction_share(effects, a, b, variance), a, b) for a, b in _candidates(effects, variance)]
    found = sorted((item for item in tested if item[0] > MIN_INTERACTION), key=lambda item: -item[0])
    out = []
    for share, coarse_a, coarse_b in found[:_MAX_SHOWN]:
        a, b = (make_axis(effects.encoding, axis.name, positions=_SHOWN_POSITIONS) for axis in (coarse_a, coarse_b))
        terms = effects.varying_terms(a) | effects.varying_terms(b)
        mean, _ = effects.joint_effect(a, b, terms, size=_SHOWN_BACKGROUND)
        out.append(Interaction(a, b, effects.gp.scale * mean, share))
    return out


def _interaction_share(effects: Effects, a: Axis, b: Axis, variance: float) -> float:
    """The variance of the interaction of two axes, times how often both are active, as a share of the variance."""
    together = float(np.mean(effects.active([a.column, b.column])))
    if together == 0.0:
        return 0.0
    terms = effects.varying_terms(a) & effects.varying_terms(b)
    _, interaction = effects.joint_effect(a, b, terms, size=_TEST_BACKGROUND)
    return together * float(a.weights @ interaction**2 @ b.weights) / variance


def _candidates(effects: Effects, variance: float) -> list[tuple[Axis, Axis]]:
    """The pairs to test: columns of one term, ranked by the share of the term and by its sensitivity to both."""
    encoding, score = effects.encoding, dict[tuple[int, int], float]()
    below = {j: columns_below(encoding, j) for j in range(encoding.n_columns)}
    for strength, sensitivity in _strong_terms(effects, variance):
        for i, j in combinations(sorted(sensitivity), 2):
            if j not in below[i] and i not in below[j]:
                score[i, j] = score.get((i, j), 0.0) + strength * sensitivity[i] * sensitivity[j]
    best = sorted(score, key=lambda pair: -score[pair])[:_MAX_CANDIDATES]
    axes = {j: make_axis(encoding, encoding.names[j], positions=_TEST_POSITIONS) for pair in best for j in pair}
    return [(axes[i], axes[j]) for i, j in best if len(axes[i].codes) > 1 and len(axes[j].codes) > 1]


def _strong_terms(effects: Effects, variance: float) -> Iterator[tuple[float, dict[int, float]]]:
    """Per term that is strong enough: its share of the variance, and its sensitivity to each column it depends on."""
    for t, term in enumerate(effects.terms):
        on = effects.posterior.rows.active[:, t]
        strength = float(np.var(effects.term_means[t][on])) * float(np.mean(on)) / variance if on.any() else 0.0
        if strength >= _MIN_TERM:
            lengthscales = {j: float(effects.posterior.hyper.lengthscales[scale]) for j, scale in term.reads}
            shortest = min(lengthscales.values(), default=np.inf)
            # relative to the column that the term changes with fastest
            sensitivity = {j: (shortest / lengthscale) ** 2 for j, lengthscale in lengthscales.items()}
            yield strength, sensitivity | {j: 1.0 for j, *bounds in term.gate if tuple(bounds) != ACTIVE}
