"""Everything the report shows, as plain data; other modules turn it into pictures, a page or text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from addtree._types import Array
from addtree.model.thinning import thin
from addtree.regression import AddTreeGP
from addtree.report.effects import Z_95, Contribution, Curve, Effects, Interaction
from addtree.report.format import plural
from addtree.report.importance import Share, interactions, shares
from addtree.report.records import Record, encode_records, make_records
from addtree.space.encoding import Encoding
from addtree.space.space import Choice, Space

_MIN_VALUES = 4  # With fewer values than this, no effects are shown: they would be guesses.
_MAX_BRANCHES = 8  # Trials are coloured by at most this many branches.
_MAX_ERRORS = 20  # At most this many different error messages are listed.
_CLIP = 20.0  # Values are clipped where they are worse than the median by this many times (median - best value).
_GOOD = 0.8  # From this share of explained variance (leave-one-out) on, the model is said to predict well.
_FAIR = 0.3  # From this share on, or from a rank correlation of _GOOD on, it is said to predict roughly.


@dataclass(frozen=True)
class Limits:
    """How much work the model of a report may do; `benchmarks/report_size.py` measures what that costs.

    fit        largest number of trials that the hyperparameters are fitted to
    condition  largest number of trials that the model is conditioned on
    draws      draws of the hyperparameters that effects average over; half of them from `fit` trials on
    """

    fit: int = 200
    condition: int = 500
    draws: int = 6


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class LeaveOneOut:
    """Each value predicted from all the others: the arrays have one entry per trial that the model uses.

    observed          the values, clipped as the notes of the report say
    mean, std         the predictions, noise included
    explained         1 - mean squared error / variance
    coverage          share of the values inside their 95 % intervals
    rank_correlation  Spearman's correlation of predicted and observed values
    """

    ids: tuple[int, ...]
    observed: Array
    mean: Array
    std: Array
    explained: float
    coverage: float
    rank_correlation: float

    @property
    def margin(self) -> Array:
        """Half the width of the 95 % interval of each prediction."""
        return Z_95 * self.std

    @property
    def verdict(self) -> str:
        """Whether the model can be trusted, in a sentence."""
        if self.explained >= _GOOD:
            return "The model predicts unseen trials well, so the effects shown can be trusted."
        if self.explained >= _FAIR or self.rank_correlation >= _GOOD:
            return "The model predicts unseen trials roughly: trust the order of the effects, not their exact sizes."
        return "The model does not predict unseen trials, so take the effects shown as guesses."


@dataclass(frozen=True)
class Explanation:
    """Why a configuration has its value: expectation + contributions = predicted, and predicted + residual = observed.

    expectation  the average prediction for a random configuration
    """

    expectation: float
    contributions: tuple[Contribution, ...]
    predicted: float
    observed: float

    @property
    def residual(self) -> float:
        """The part of the observed value that the model does not explain."""
        return self.observed - self.predicted


@dataclass(frozen=True)
class Learned:
    """What the model learned from the trials that have a value.

    curves        effect of each parameter and each choice, by name
    interactions  pairs of parameters that interact, strongest first
    shares        share of the variance that each component explains
    best          explanation of the best configuration
    loo           how well the model predicts
    """

    curves: dict[str, Curve]
    interactions: tuple[Interaction, ...]
    shares: tuple[Share, ...]
    best: Explanation
    loo: LeaveOneOut


@dataclass(frozen=True)
class Tally:
    """The trials of one node of the space.

    tried       number of trials, whatever their state
    failed      number of trials that failed
    best        best value
    holds_best  whether the best trial of all is one of them
    """

    tried: int
    failed: int
    best: float | None
    holds_best: bool


@dataclass(frozen=True)
class Report:
    """Everything a report shows.

    best      the trial with the best value
    tallies   one per node of the space
    branches  per trial, the name of the branch it belongs to, for colours
    errors    the most frequent error messages, with the number of trials that failed with each
    learned   None if the values cannot be explained; the notes then say why
    notes     what a reader must know about the data: why nothing was learned, or which values were clipped or left out
    """

    title: str
    space: Space
    maximize: bool
    trials: tuple[Record, ...]
    best: Record | None
    tallies: tuple[Tally, ...]
    branches: tuple[str, ...]
    errors: tuple[tuple[str, int], ...]
    learned: Learned | None
    notes: tuple[str, ...]

    def count(self, state: str) -> int:
        """The number of trials in a state."""
        return sum(trial.state == state for trial in self.trials)

    @property
    def best_so_far(self) -> list[tuple[int, float]]:
        """Id and value of each trial that is better than all trials before it."""
        out: list[tuple[int, float]] = []
        for trial in self.trials:
            if trial.state != "done" or trial.value is None:
                continue
            if not out or (trial.value > out[-1][1] if self.maximize else trial.value < out[-1][1]):
                out.append((trial.id, trial.value))
        return out


def build(
    space: Space,
    trials: Iterable[Any],
    *,
    maximize: bool = False,
    title: str = "addtree",
    limits: Limits = DEFAULT_LIMITS,
) -> Report:
    """Compute the report of some trials.

    trials  `Trial`s of an optimizer, `Record`s, or mappings with the keys of a `Record`
    limits  how many of them the model uses
    """
    known = make_records(space, trials)
    done = [trial for trial in known if trial.state == "done"]
    best = (max if maximize else min)(done, key=_value, default=None)
    learned, notes = None, _why_not(space, done, len(known))
    if not notes:
        assert best is not None
        learned, notes = _learn(space, done, best, maximize, limits)
    messages = Counter(t.error or "no message" for t in known if t.state == "failed")
    return Report(
        title=title,
        space=space,
        maximize=maximize,
        trials=known,
        best=best,
        tallies=_tallies(Encoding(space), known, best, maximize),
        branches=_branches(space, known, learned),
        errors=tuple(messages.most_common(_MAX_ERRORS)),
        learned=learned,
        notes=tuple(notes),
    )


def _value(trial: Record) -> float:
    return math.nan if trial.value is None else trial.value


def _why_not(space: Space, done: Sequence[Record], n_trials: int) -> list[str]:
    """Why there is nothing to learn from the trials that are done; empty if there is something."""
    if len(done) < _MIN_VALUES:
        return [f"Trials with a value: {len(done)} of {n_trials}; effects need at least {_MIN_VALUES}."]
    if len({trial.value for trial in done}) == 1:
        return ["All values are the same, so there is nothing to explain."]
    return [] if space.variables else ["The space has no parameters."]


# ---------------------------------------------------------------------- the model


def _learn(
    space: Space, done: Sequence[Record], best: Record, maximize: bool, limits: Limits
) -> tuple[Learned, list[str]]:
    """What a model of the values says, and notes about the values that it uses."""
    y, notes = _clip(np.array([_value(trial) for trial in done]), maximize)
    used = thin(-y if maximize else y, limits.condition)
    if len(used) < len(done):
        notes.append(f"The model uses {len(used)} of {len(done)} values: the best ones, and a sample of the others.")
    trials, y = [done[i] for i in used], y[used]
    gp = _fit(space, trials, y, maximize, limits)
    effects = Effects(gp, gp.encoding.encode([trial.config for trial in trials]))
    expectation, parts = effects.contributions(best.config)
    predicted = expectation + math.fsum(part.mean for part in parts)
    learned = Learned(
        curves={name: effects.curve(name) for name in space.variables},
        interactions=tuple(interactions(effects)),
        shares=tuple(shares(effects)),
        best=Explanation(expectation, tuple(parts), predicted, _value(best)),
        loo=_leave_one_out(gp, [trial.id for trial in trials], y),
    )
    return learned, notes


def _clip(y: Array, maximize: bool) -> tuple[Array, list[str]]:
    """The values, with extremely bad ones set to a bound, and a note if there are any.

    Extreme values would dominate the variance that the report explains. The bound is generous, so that it changes
    nothing else. (The optimizer compresses bad values by a logarithm instead; here effects have to stay in the units
    of the user.)
    """
    sign = -1.0 if maximize else 1.0
    median, least = float(np.median(sign * y)), float(np.min(sign * y))
    bound = median + _CLIP * (median - least) if median > least else np.inf
    clipped = int(np.sum(sign * y > bound))
    if not clipped:
        return y, []
    at, beyond = f"{sign * bound:.4g}", "below" if maximize else "above"
    note = (
        f"Values {beyond} {at} ({plural(clipped, 'trial')}) count as {at}, so that they do not hide all other effects."
    )
    return sign * np.minimum(sign * y, bound), [note]


def _fit(space: Space, trials: Sequence[Record], y: Array, maximize: bool, limits: Limits) -> AddTreeGP:
    """A model whose hyperparameters are fitted to some of the trials, and which is conditioned on all of them."""
    some = thin(-y if maximize else y, limits.fit)
    large = len(some) == limits.fit  # a fit to this many trials already takes seconds
    restarts, draws = (0, limits.draws // 2) if large else (1, limits.draws)
    gp = AddTreeGP(space).fit([trials[i].config for i in some], y[some], restarts=restarts, draws=draws)
    return gp.condition([trial.config for trial in trials], y) if len(some) < len(y) else gp


def _leave_one_out(gp: AddTreeGP, ids: Sequence[int], y: Array) -> LeaveOneOut:
    mean, std = gp.leave_one_out()
    z, z_mean = (y - gp.centre) / gp.scale, (mean - gp.centre) / gp.scale  # squares of y may overflow
    return LeaveOneOut(
        ids=tuple(ids),
        observed=y,
        mean=mean,
        std=std,
        explained=1.0 - float(np.mean((z - z_mean) ** 2) / np.var(z)),
        coverage=float(np.mean(np.abs(y - mean) <= Z_95 * std)),
        rank_correlation=_rank_correlation(y, mean),
    )


def _rank_correlation(a: Array, b: Array) -> float:
    """Spearman's rank correlation; 0 if either is constant."""
    from scipy.stats import spearmanr  # takes longer to import than the rest of the report, and only this needs it

    if np.all(a == a[0]) or np.all(b == b[0]):
        return 0.0
    return float(spearmanr(a, b).statistic)


# ---------------------------------------------------------------------- branches


def _tallies(encoding: Encoding, trials: Sequence[Record], best: Record | None, maximize: bool) -> tuple[Tally, ...]:
    X = encode_records(encoding, trials)
    value = np.array([_value(t) if t.state == "done" else math.nan for t in trials])
    failed = np.array([t.state == "failed" for t in trials], dtype=bool)
    is_best = np.array([t is best for t in trials], dtype=bool)
    out = []
    for node in range(len(encoding.space.nodes)):
        on = encoding.inside(X, node)
        here = value[on & ~np.isnan(value)]
        best_here = float(np.max(here) if maximize else np.min(here)) if len(here) else None
        out.append(Tally(int(on.sum()), int((on & failed).sum()), best_here, bool((on & is_best).any())))
    return tuple(out)


def _branches(space: Space, trials: Sequence[Record], learned: Learned | None) -> tuple[str, ...]:
    """Per trial, the options it takes.

    If these are too many different ones for a plot, only the option of one choice that is always active counts: the
    choice that explains most of the variance. Its rarest options are then called "other".
    """
    choices = [name for name, domain in space.variables.items() if isinstance(domain, Choice)]
    paths = [" · ".join(f"{c}={t.config[c]}" for c in choices if c in t.config) for t in trials]
    if len(set(paths)) <= _MAX_BRANCHES:
        return tuple(paths)
    always_active = [name for name in choices if space.conditions[name] == ((),)]
    share = {s.label: s.share for s in learned.shares if s.kind == "choice"} if learned else {}
    first = max(always_active, key=lambda name: share.get(name, 0.0))
    labels = [f"{first}={t.config[first]}" if first in t.config else "" for t in trials]
    kept = {label for label, _ in Counter(labels).most_common(_MAX_BRANCHES - 1)}
    return tuple(label if label in kept else "other" for label in labels)
