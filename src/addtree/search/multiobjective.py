"""What a suggestion looks for if an evaluation gives several values: objectives, and constraints to be kept.

The values have independent posteriors on the scales of their models. Each scale is a monotone transform of the values
told, so it changes neither the front nor what is feasible. Its unit is the spread of the values seen, so the
hypervolume is measured on these scales.

The means of the posteriors define the front, also if values are noisy. Trials that are still being evaluated count as
well. Whether a trial is feasible is known from its values, because a mean near a bound may lie on the wrong side. If
values are noisy, the means decide.

    something feasible is known    log expected (hypervolume) improvement + Σ log probability of each constraint
    nothing feasible is known      Σ log probability of each constraint
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from addtree._types import Array, Mask
from addtree.model.gp import Posterior
from addtree.search.acquisition import log_expected_improvement, log_feasibility
from addtree.search.candidates import Observed
from addtree.search.criterion import Criterion, Joint, Single, Sum
from addtree.search.hypervolume import (
    domination_counts,
    is_nondominated,
    log_expected_hypervolume_improvement,
    reference_point,
)

_ROUNDING = 1e-6  # A mean beyond a bound by this much, in units of the spread of the values, is on the bound.


@dataclass(frozen=True)
class Posteriors:
    """The posteriors of all values of an evaluation, which share one kernel.

    objectives   K  of the objectives, each to be minimised
    constraints  C  of the values that must keep to bounds
    bounds       C  low and high, on the scale of each posterior
    reference    K  the reference point on these scales; None if it follows from the front
    pending      m x D  rows that are being evaluated
    feasible     n  which observations keep all constraints by their values; None if their means decide
    """

    objectives: tuple[Posterior, ...]
    constraints: tuple[Posterior, ...] = ()
    bounds: tuple[tuple[float, float], ...] = ()
    reference: Array | None = None
    pending: Array | None = None
    feasible: Mask | None = None

    @property
    def is_single(self) -> bool:
        """Whether there is one objective and nothing else."""
        return len(self.objectives) == 1 and not self.constraints

    def in_turn(self, turn: int) -> Posterior:
        """One of the objectives, each for two turns."""
        return self.objectives[turn // 2 % len(self.objectives)]

    def losses(self, X: Array) -> Array:
        """The means of the objectives at rows (n x K)."""
        return np.stack([_means_at(posterior, X) for posterior in self.objectives], axis=1)

    def violations(self, X: Array) -> Array:
        """By how much the means at rows violate the constraints, in sum (n); 0 if and only if a row is feasible."""
        total = np.zeros(len(X))
        for posterior, (low, high) in zip(self.constraints, self.bounds, strict=True):
            mean = _means_at(posterior, X)
            total += np.maximum(np.maximum(low - mean, mean - high) - _ROUNDING, 0.0)
        if self.feasible is not None:
            n = len(self.feasible)
            if _begins_with(self.constraints[0], X[:n]):
                total[:n] = np.where(self.feasible, 0.0, np.maximum(total[:n], _ROUNDING))
        return total

    def has_feasible(self, X: Array) -> bool:
        """Whether any of the rows keeps all constraints."""
        return not self.constraints or bool(np.any(self.violations(X) == 0.0))

    def feasibility(self) -> list[Criterion]:
        """The log probability to keep each constraint."""
        pairs = zip(self.constraints, self.bounds, strict=True)
        return [Single(posterior, log_feasibility(*bounds)) for posterior, bounds in pairs]


def _means_at(posterior: Posterior, X: Array) -> Array:
    """The means at rows, which are free if the posterior was conditioned on them first."""
    if _begins_with(posterior, X):
        return posterior.means()[: len(X)]
    return posterior.mean(posterior.kernel.rows(X))


def _begins_with(posterior: Posterior, X: Array) -> bool:
    """Whether the first rows that a posterior was conditioned on are these."""
    return len(X) <= len(posterior.rows) and np.array_equal(posterior.rows.X[: len(X)], posterior.kernel.rows(X).X)


def by_merit(observed: Observed, posteriors: Posteriors, rng: np.random.Generator) -> Observed:
    """The same observations with their ranks for values, best first.

    Feasible ones come first, those of the front in random order, then the others by how many dominate them. Then come
    the infeasible ones, by their violation. The worst of all share one rank, because `neglected_nodes` looks for them.
    """
    violations = posteriors.violations(observed.X)
    losses = posteriors.losses(observed.X)
    ranks = np.zeros(len(losses))
    feasible = violations == 0.0
    ranks[feasible] = domination_counts(losses[feasible])
    order = np.lexsort([rng.random(len(ranks)), ranks, violations])
    merit = np.empty(len(order))
    merit[order] = np.arange(len(order))
    last = order[-1]
    merit[(ranks == ranks[last]) & (violations == violations[last])] = merit[last]
    return replace(observed, y=merit)


def joint_criterion(posteriors: Posteriors, observed: Observed, *, aim: float, margin: float) -> Criterion:
    """What the joint search maximises.

    aim     how far beyond the front an improvement begins, as a share of (median - best) of each objective
    margin  how much worse than the front the reference point is if none was given, as a share of the front's range
    """
    X = _reference_rows(observed, posteriors.pending)
    losses, feasible = posteriors.losses(X), posteriors.violations(X) == 0.0
    parts: list[Criterion] = []
    if feasible.any():
        parts.append(_improvement(posteriors, losses, feasible, aim, margin))
    parts += posteriors.feasibility()
    return parts[0] if len(parts) == 1 else Sum(tuple(parts))


def _improvement(posteriors: Posteriors, losses: Array, feasible: Mask, aim: float, margin: float) -> Criterion:
    """log expected improvement over the feasible losses."""
    beyond = aim * (np.median(losses, axis=0) - np.min(losses, axis=0))
    losses = losses[feasible]
    if len(posteriors.objectives) == 1:
        return Single(posteriors.objectives[0], log_expected_improvement(float(np.min(losses) - beyond[0])))
    front = losses[is_nondominated(losses)]
    reference = reference_point(front, margin=margin) if posteriors.reference is None else posteriors.reference
    return Joint(posteriors.objectives, log_expected_hypervolume_improvement(front - beyond, reference))


def _reference_rows(observed: Observed, pending: Array | None) -> Array:
    """The rows over which a suggestion is an improvement: those observed and pending.

    Under a restriction these may be out of reach. Then they are those of its branch with the given values written in.
    """
    X = observed.X if pending is None or not len(pending) else np.concatenate([observed.X, pending])
    if observed.restriction is None:
        return X
    inside = observed.restriction.in_allowed_branch(X)
    return observed.restriction.overwrite(X[inside]) if inside.any() else X
