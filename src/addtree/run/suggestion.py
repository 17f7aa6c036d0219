"""How a run makes one suggestion: from the initial configurations, the initial design, or the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from addtree._types import Array, Mask
from addtree.errors import OptionError
from addtree.model.observations import Observations
from addtree.model.success import SuccessModel
from addtree.run.goals import Goals
from addtree.run.models import Learning, Models
from addtree.run.trials import TrialLog
from addtree.search.candidates import Observed, candidates
from addtree.search.cost import cost_criterion, fit_cost
from addtree.search.criterion import Criterion, plus
from addtree.search.design import next_row
from addtree.search.fallback import any_row, new_row
from addtree.search.joint import maximize_jointly
from addtree.search.multiobjective import Posteriors
from addtree.search.policy import Policy, suggest, suggest_with_repeats
from addtree.space.encoding import Encoding
from addtree.space.restriction import Restriction
from addtree.support.numbers import is_whole

_MAX_DESIGN = 100_000  # Rows times columns of the largest initial design, which takes about a second.
_SMALL_DESIGN = 100  # An initial design of this many rows is allowed on every space.


def checked_seed(seed: int | None) -> int:
    """The seed, drawn if it is None, or an OptionError."""
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if not (is_whole(seed) and seed >= 0):
        raise OptionError(f"seed={seed!r} must be a whole number, zero or more, or None to draw one")
    return int(seed)


def checked_size(n_initial: int, encoding: Encoding) -> int:
    """The size of an initial design, or an OptionError."""
    if not (is_whole(n_initial) and n_initial >= 1):
        raise OptionError(f"n_initial={n_initial!r} must be a whole number, at least 1")
    most = _MAX_DESIGN // max(1, encoding.n_columns) + _SMALL_DESIGN
    if n_initial > most:
        raise OptionError(f"n_initial={n_initial!r} is too large; use at most {most} on this space")
    return int(n_initial)


def turn_rng(seed: int, turn: int) -> np.random.Generator:
    """The randomness of one turn, which depends only on the seed and its number: a loaded run continues."""
    if not (is_whole(turn) and turn >= 0):
        raise OptionError(f"turn={turn!r} must be a whole number, zero or more")
    return np.random.default_rng([seed, turn])


@dataclass(frozen=True)
class Known:
    """What a suggestion may use.

    log        the trials of the run
    elsewhere  rows that are being evaluated but are not in the log (m x D)
    models     what was learned so far; None before the first fit
    """

    log: TrialLog
    elsewhere: Array
    models: Models | None

    def __len__(self) -> int:
        return len(self.log) + len(self.elsewhere)

    @cached_property
    def taken(self) -> set[bytes]:
        """The keys of all trials, here and elsewhere."""
        return self.log.taken.union(self.log.encoding.keys(self.elsewhere))

    @cached_property
    def pending(self) -> Array:
        """The rows that are being evaluated, here and elsewhere (m x D)."""
        return np.concatenate([self.log.pending_rows(), self.elsewhere])

    @property
    def rows(self) -> Array:
        """The rows of all trials, here and elsewhere (n x D)."""
        return np.concatenate([self.log.rows(), self.elsewhere])

    def idle(self, policy: Policy) -> int:
        """The number of trials since the best one, including those elsewhere; 0 if the run is not young any more."""
        since = self.log.since_best() if len(self) <= policy.young else None
        return 0 if since is None else since + len(self.elsewhere)


@dataclass(frozen=True)
class Suggester:
    """Makes the suggestions of a run, and returns with each what was learned on the way. Its fields do not change.

    goals      what the run looks for
    design     the rows of the initial design
    portfolio  rows that were good in earlier tasks, to be evaluated first
    """

    encoding: Encoding
    goals: Goals
    learning: Learning
    policy: Policy
    design: Array
    portfolio: Array
    seed: int
    cost_aware: bool = False

    def rng(self, turn: int) -> np.random.Generator:
        """The randomness of one turn."""
        return turn_rng(self.seed, turn)

    def next(
        self, turn: int, known: Known, initial: tuple[Restriction, ...]
    ) -> tuple[dict[str, Any], Models | None, tuple[Restriction, ...]]:
        """The configuration to evaluate next, the models, and the initial configurations that remain after it."""
        repeats = any(self.goals.noise.values())
        for k, restriction in enumerate(initial):
            row, models = self.suggest(turn, known, restriction)
            if repeats or self.encoding.keys(row[None])[0] not in known.taken:
                return restriction.restore(self.encoding.decode(row)), models, initial[k + 1 :]
        row, models = self.suggest(turn, known, None)
        return self.encoding.decode(row), models, ()

    def suggest(self, turn: int, known: Known, restriction: Restriction | None) -> tuple[Array, Models | None]:
        """The row to evaluate next, and the models as they were last fitted."""
        rng = self.rng(turn)
        if restriction is not None and restriction.row is not None:
            return restriction.row, known.models
        success = self.learning.success(known.models, *known.log.outcomes()) if known.log.has_failed else None
        row = self._planned_row(known, restriction, success, rng)
        if row is not None and self.encoding.keys(row[None])[0] not in known.taken:
            return row, known.models
        if success is not None and not known.log.done:
            found = self._search_success(known, restriction, success, rng)
            if found is not None:
                return found, known.models
        may_search = not self._in_design(known) or success is not None or self.learning.earlier is not None
        if known.log.done and may_search:
            return self._search(turn, known, restriction, success)
        found = new_row(self.encoding, known.taken, restriction, rng)
        return (any_row(self.encoding, restriction, rng) if found is None else found), known.models

    def _in_design(self, known: Known) -> bool:
        """Whether fewer trials have a result than the initial design has rows."""
        return len(known.log.told) < len(self.design)

    def _planned_row(
        self, known: Known, restriction: Restriction | None, success: SuccessModel | None, rng: np.random.Generator
    ) -> Array | None:
        """A row that is planned and does not need the model of values; None if there is none, or the model is better.

        Without earlier tasks, it is the next row of the initial design.

        As long as earlier tasks agree with the values told, the rows of their portfolio come first, and then the model.
        Some rows of the design are mixed in, because a model that has seen only what was good before does not know what
        else there is. If they disagree, the whole design is evaluated, because the portfolio tells too little.
        """
        earlier, in_design = self.learning.earlier, self._in_design(known)
        if earlier is not None:
            agrees = not known.log.done or earlier.agrees_with(known.log.data())
            mixes_in = earlier.settings.mixes_in(len(known))
            portfolio = self._untaken(self.portfolio, known)
            if restriction is None and agrees and len(portfolio) and not mixes_in:
                return np.asarray(portfolio[0])
            if agrees and known.log.done:
                in_design = mixes_in
            elif restriction is None:
                in_design = len(self._untaken(self.design, known)) > 0
        return self._design_row(known, restriction, success, rng) if in_design else None

    def _untaken(self, rows: Array, known: Known) -> Array:
        """The rows that no trial has."""
        return rows[[key not in known.taken for key in self.encoding.keys(rows)]]

    def _search(
        self, turn: int, known: Known, restriction: Restriction | None, success: SuccessModel | None
    ) -> tuple[Array, Models]:
        """The row that the models find best to evaluate next, and the models as they were last fitted."""
        rng, data, taken = self.rng(turn), known.log.data(), known.taken
        fitted = models = replace(self.learning.fitted(known.models, data, rng), success=success)
        if restriction is not None:
            data, models = self._leveled(models, data, restriction, rng)
        models, failed = models.conditioned(data, known.pending), None
        if success is not None:
            failed = known.log.failed_rows()
            models = models.with_failures(len(self.goals.objectives), self.policy.avoidance.systematic(success, failed))
        if self.cost_aware:
            fitted = replace(fitted, cost=fit_cost(self.learning.success_kernel, *known.log.costs(), last=fitted.cost))
        idle = known.idle(self.policy)
        bonus = self._bonus(known, fitted, explores=self.policy.explores(turn, idle))
        posteriors = models.posteriors(self.goals, known.pending)
        if self._may_repeat(posteriors, data):
            taken = set(self.encoding.keys(known.pending))
        elif self.goals.constraints:
            posteriors = replace(posteriors, feasible=self._feasible(data))
        hints = None if self.learning.earlier is None else self.learning.earlier.X
        observed = Observed(self.encoding, data[0].X, data[0].y, taken, restriction, failed, hints)
        found = suggest(self.policy, posteriors, observed, turn=turn, rng=rng, idle=idle, bonus=bonus)
        if found is None:
            found = new_row(self.encoding, taken, restriction, rng)
        if found is None:
            found = suggest_with_repeats(self.policy, posteriors, observed, turn=turn, rng=rng, bonus=bonus)
        return (any_row(self.encoding, restriction, rng) if found is None else found), fitted

    def _bonus(self, known: Known, models: Models, *, explores: bool) -> Criterion | None:
        """What is added to the acquisition: the log probability of success, and the negative log of the expected cost.

        explores  whether it is the turn of a neglected branch, in which failures count less
        """
        success, cost = models.success, models.cost
        bonus = None if success is None else self.policy.avoidance.criterion(success, cautious=not explores)
        return bonus if cost is None else plus(cost_criterion(cost, *known.log.costs()), bonus)

    def _leveled(
        self, models: Models, data: tuple[Observations, ...], restriction: Restriction, rng: np.random.Generator
    ) -> tuple[tuple[Observations, ...], Models]:
        """Observations of the objectives at the level of the branch that a restriction allows, and their models."""
        found, surrogates = list(data), list(models.values)
        for k in range(len(self.goals.objectives)):
            y = _raise_outside(data[k].y, restriction.in_allowed_branch(data[k].X))
            if y is not data[k].y:
                found[k] = replace(data[k], y=y)
                surrogates[k] = surrogates[k].refit(self.learning.informed(found)[k], rng=rng)
        return tuple(found), replace(models, values=tuple(surrogates))

    def _feasible(self, data: tuple[Observations, ...]) -> Mask:
        """Which observations keep all constraints."""
        parts = zip(self.goals.constraints, data[len(self.goals.objectives) :], strict=True)
        kept = [(c.signed_bounds[0] <= own.y) & (own.y <= c.signed_bounds[1]) for c, own in parts]
        return np.asarray(np.all(kept, axis=0))

    def _may_repeat(self, posteriors: Posteriors, data: tuple[Observations, ...]) -> bool:
        """Whether a configuration may be evaluated again, because one of its values is noisy."""
        noisy, models = self.policy.noisy, (*posteriors.objectives, *posteriors.constraints)
        declared = [self.goals.noise.get(name) for name in self.goals.names]
        return any(
            noisy.may_repeat(posterior, std)
            and (std is not None or not noisy.is_refuted(self.encoding.keys(own.X), own.y))
            for posterior, std, own in zip(models, declared, data, strict=True)
        )

    def _search_success(
        self, known: Known, restriction: Restriction | None, success: SuccessModel, rng: np.random.Generator
    ) -> Array | None:
        """As long as all evaluations failed: the row that is most likely to succeed; None if all are taken."""
        nothing = np.empty((0, self.encoding.n_columns))
        observed = Observed(self.encoding, nothing, np.empty(0), known.taken, restriction)
        rows = observed.conform(candidates(observed, self.policy.candidates, rng), rng)
        search, tolerance = self.policy.joint, self.policy.tolerance
        criterion = self.policy.avoidance.criterion(success.with_pending(known.pending))
        return maximize_jointly(criterion, observed, rows, search=search, tolerance=tolerance)

    def _design_row(
        self, known: Known, restriction: Restriction | None, success: SuccessModel | None, rng: np.random.Generator
    ) -> Array | None:
        """The next row of the initial design; None if all rows that remain are likely to fail.

        Under a restriction, or if no row remains, it is a row that differs from all known rows.
        """
        if restriction is None and len(known) < len(self.design) and self._follows_plan(known, success):
            return np.asarray(self.design[len(known)])
        left = self._untaken(self.design, known) if restriction is None else np.empty((0, self.encoding.n_columns))
        if not len(left):
            left = next_row(self.encoding, known.rows, rng, restriction)[None]
        if success is not None and restriction is None:
            left = self.policy.avoidance.worth_trying(success, left)
        return np.asarray(left[0]) if len(left) else None

    def _follows_plan(self, known: Known, success: SuccessModel | None) -> bool:
        """Whether the number of trials says which row of the design is next: none was forgotten or left out."""
        return not known.log.forgotten and success is None and self.learning.earlier is None


def _raise_outside(y: Array, inside: Mask) -> Array:
    """The values with those outside of a branch raised to its level, so that their best is not below the branch's.

    The transform compresses values that are far above the best ones. Without this, the model could not tell the values
    of a bad branch apart. The offset of a branch carries no other information.
    """
    if inside.all() or not inside.any():
        return y
    gap = float(np.min(y[inside]) - np.min(y[~inside]))
    return np.where(inside, y, y + gap) if gap > 0.0 else y
