"""How a run makes one suggestion: from the initial configurations, the initial design, or the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from addtree._goals import Goals
from addtree._models import Learning, Models
from addtree._prediction import leveled
from addtree._types import Array
from addtree.model.observations import Observations
from addtree.search.candidates import Observed
from addtree.search.design import next_row
from addtree.search.fallback import any_row, new_row
from addtree.search.multiobjective import Posteriors
from addtree.search.policy import Policy, suggest, suggest_again
from addtree.space.encoding import Encoding
from addtree.space.restriction import Restriction
from addtree.trials import TrialLog


def turn_rng(seed: int, turn: int) -> np.random.Generator:
    """The randomness of one turn, which depends only on the seed and its number: a loaded run continues."""
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

    def taken(self, encoding: Encoding) -> set[bytes]:
        """The keys of all trials, here and elsewhere."""
        return self.log.taken.union(encoding.keys(self.elsewhere))


@dataclass(frozen=True)
class Suggester:
    """What does not change in a run. Each method returns a suggestion and what was learned on the way to it.

    goals   what the run looks for
    design  the rows of the initial design
    """

    encoding: Encoding
    goals: Goals
    learning: Learning
    policy: Policy
    design: Array
    seed: int

    def rng(self, turn: int) -> np.random.Generator:
        """The randomness of one turn."""
        return turn_rng(self.seed, turn)

    def next(
        self, turn: int, known: Known, initial: tuple[Restriction, ...]
    ) -> tuple[dict[str, Any], Models | None, tuple[Restriction, ...]]:
        """The configuration to evaluate next, the models, and the initial configurations that remain after it."""
        taken = known.taken(self.encoding)
        repeats = any(self.goals.noise.values())
        for k, restriction in enumerate(initial):
            row, models = self.suggest(turn, known, restriction)
            if repeats or self.encoding.keys(row[None])[0] not in taken:
                return restriction.restore(self.encoding.decode(row)), models, initial[k + 1 :]
        row, models = self.suggest(turn, known, None)
        return self.encoding.decode(row), models, ()

    def suggest(self, turn: int, known: Known, restriction: Restriction | None) -> tuple[Array, Models | None]:
        """The row to evaluate next, and the models as they were last fitted."""
        rng, taken = self.rng(turn), known.taken(self.encoding)
        if restriction is not None and restriction.row is not None:
            return restriction.row, known.models
        if len(known.log.told) >= len(self.design) and known.log.done:
            return self._search(turn, known, restriction)
        row = self._design_row(known, restriction, rng)
        if self.encoding.keys(row[None])[0] not in taken:
            return row, known.models
        found = new_row(self.encoding, taken, restriction, rng)
        return (any_row(self.encoding, restriction, rng) if found is None else found), known.models

    def _search(self, turn: int, known: Known, restriction: Restriction | None) -> tuple[Array, Models]:
        """The row that the models find best to evaluate next, and the models as they were last fitted."""
        rng, taken = self.rng(turn), known.taken(self.encoding)
        data = known.log.data()
        fitted = models = self.learning.fitted(known.models, data, rng)
        if restriction is not None:
            data, models = self._leveled(models, data, restriction, rng)
        pending = [*known.log.pending_rows(), *known.elsewhere]
        posteriors = models.conditioned(data, pending).posteriors(self.goals, pending)
        if self._may_repeat(posteriors):
            taken = set(self.encoding.keys(np.array(pending))) if pending else set()
        observed = Observed(self.encoding, data[0].X, data[0].y, taken, restriction)
        found = suggest(self.policy, posteriors, observed, turn=turn, rng=rng)
        if found is None:
            found = new_row(self.encoding, taken, restriction, rng)
        if found is None:
            found = suggest_again(self.policy, posteriors, observed, turn=turn, rng=rng)
        return (any_row(self.encoding, restriction, rng) if found is None else found), fitted

    def _leveled(
        self, models: Models, data: tuple[Observations, ...], restriction: Restriction, rng: np.random.Generator
    ) -> tuple[tuple[Observations, ...], Models]:
        """Observations of the objectives at the level of the branch that a restriction allows, and their models."""
        found, surrogates = list(data), list(models.values)
        for k in range(len(self.goals.objectives)):
            y = leveled(data[k].y, restriction.in_allowed_branch(data[k].X))
            if y is not data[k].y:
                found[k] = replace(data[k], y=y)
                surrogates[k] = surrogates[k].refit(found[k], rng=rng)
        return tuple(found), replace(models, values=tuple(surrogates))

    def _may_repeat(self, posteriors: Posteriors) -> bool:
        """Whether a configuration may be evaluated again, because one of its values is noisy."""
        known = zip(self.goals.names, (*posteriors.objectives, *posteriors.constraints), strict=True)
        return any(self.policy.noisy.may_repeat(posterior, self.goals.noise.get(name)) for name, posterior in known)

    def _design_row(self, known: Known, restriction: Restriction | None, rng: np.random.Generator) -> Array:
        """The next row of the initial design.

        Under a restriction, or if many rows are evaluated at once, it is a row chosen with regard to those known.
        """
        if restriction is None and len(known) < len(self.design):
            planned = self.design[len(known)]
            if known.log.forgotten:  # Their rows are free again: the number of trials does not say which row is next.
                taken, keys = known.taken(self.encoding), self.encoding.keys(self.design)
                planned = next((row for row, key in zip(self.design, keys, strict=True) if key not in taken), planned)
            return np.asarray(planned)
        rows = [*known.log.rows, *known.elsewhere]
        X = np.array(rows).reshape(len(rows), self.encoding.n_columns)
        return next_row(self.encoding, X, rng, restriction)
