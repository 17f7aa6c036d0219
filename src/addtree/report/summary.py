"""Everything the report shows, as plain data; other modules turn it into pictures, a page or text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from addtree._threads import one_blas_thread
from addtree._types import Array
from addtree.model.specification import Specification
from addtree.model.thinning import thin
from addtree.report.effects import Contribution, Curve, Effects, Interaction
from addtree.report.failures import FailureRule, failure_rule
from addtree.report.format import plural
from addtree.report.history import HistoryReport, compare
from addtree.report.importance import Share, interactions, shares
from addtree.report.model import DEFAULT_LIMITS, MAX_SIZE, Limits, clip, clip_bound, fit_model
from addtree.report.optima import ChoiceOptima, choice_optima
from addtree.report.records import Record, encode_records, make_records
from addtree.report.trust import CrossValidation, cross_validate
from addtree.space.encoding import Encoding
from addtree.space.space import Choice, Space

_MIN_VALUES = 4  # With fewer values than this, no effects are shown: they would be guesses.
_MAX_BRANCHES = 8  # Trials are coloured by at most this many branches.
_MAX_ERRORS = 20  # At most this many different error messages are listed.
_MIN_RANGE = 1e-305  # Values that lie closer together count as the same: dividing by their range would overflow.


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
    trust         how well such a model predicts trials that it has not seen
    optima        how good each option of each choice can get, and where the optimum lies
    """

    curves: dict[str, Curve]
    interactions: tuple[Interaction, ...]
    shares: tuple[Share, ...]
    best: Explanation
    trust: CrossValidation
    optima: tuple[ChoiceOptima, ...]


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
    rule      where trials fail; None if they do not, or if nothing tells where
    learned   None if the values cannot be explained; the notes then say why
    notes     what a reader must know about the data: why nothing was learned, or which values were clipped or left out
    inferred  whether the space was inferred from the trials
    history   what became of earlier studies; None if there are none, or if nothing was learned
    """

    title: str
    space: Space
    maximize: bool
    trials: tuple[Record, ...]
    best: Record | None
    tallies: tuple[Tally, ...]
    branches: tuple[str, ...]
    errors: tuple[tuple[str, int], ...]
    rule: FailureRule | None
    learned: Learned | None
    notes: tuple[str, ...]
    inferred: bool = False
    history: HistoryReport | None = None

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


@one_blas_thread()
def build(
    space: Space,
    trials: Iterable[Any],
    *,
    maximize: bool = False,
    title: str = "addtree",
    limits: Limits = DEFAULT_LIMITS,
    noise: float | None = None,
    history: Sequence[Any] = (),
) -> Report:
    """Compute the report of some trials.

    trials   `Trial`s of an optimizer, `Record`s, or mappings with the keys of a `Record`
    limits   how many of them the model uses
    noise    standard deviation of repeated evaluations; None to learn it
    history  earlier studies that the run learned from, as for `Optimizer`
    """
    Specification(noise=noise)  # raises if the noise is impossible
    known = make_records(space, trials)
    done = [trial for trial in known if trial.state == "done"]
    best = (max if maximize else min)(done, key=_value, default=None)
    learned, notes = None, _why_not(space, done, len(known))
    if not notes:
        assert best is not None
        learned, notes = _learn(space, known, best, maximize, limits, noise)
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
        rule=failure_rule(space, known),
        learned=learned,
        notes=tuple(notes),
        history=None if learned is None else compare(space, history, done, learned.curves, maximize=maximize),
    )


def _value(trial: Record) -> float:
    return math.nan if trial.value is None else trial.value


def _why_not(space: Space, done: Sequence[Record], n_trials: int) -> list[str]:
    """Why there is nothing to learn from the trials that are done; empty if there is something."""
    if len(done) < _MIN_VALUES:
        return [f"Trials with a value: {len(done)} of {n_trials}; effects need at least {_MIN_VALUES}."]
    values = [_value(trial) for trial in done]
    if max(values) - min(values) < _MIN_RANGE:
        return ["All values are the same, so there is nothing to explain."]
    encoding = space.encoding
    if encoding.names and len(set(encoding.keys(encoding.encode([trial.config for trial in done])))) == 1:
        return ["All trials have the same configuration, so there is nothing to explain."]
    return [] if encoding.names else ["The space has no parameters that vary."]


# ---------------------------------------------------------------------- the model


def _learn(
    space: Space, known: Sequence[Record], best: Record, maximize: bool, limits: Limits, noise: float | None
) -> tuple[Learned, list[str]]:
    """What a model of the values says, and notes about the values that it uses."""
    done = [trial for trial in known if trial.state == "done"]
    y, notes = _bound(np.array([_value(trial) for trial in done]))
    y, more = _clipped(y, maximize)
    notes += more
    used = thin(-y if maximize else y, limits.condition)
    if len(used) < len(done):
        notes.append(f"The model uses {len(used)} of {len(done)} values: the best ones, and a sample of the others.")
    trials, y = [done[i] for i in used], y[used]
    configs = [trial.config for trial in trials]
    gp = fit_model(space, trials, y, maximize=maximize, limits=limits, noise=noise)
    effects = Effects(gp, gp.encoding.encode(configs))
    expectation, parts = effects.contributions(best.config)
    predicted = expectation + math.fsum(part.mean for part in parts)
    learned = Learned(
        curves={name: effects.curve(name) for name in effects.encoding.names},
        interactions=tuple(interactions(effects)),
        shares=tuple(shares(effects)),
        best=Explanation(expectation, tuple(parts), predicted, _value(best)),
        trust=cross_validate(space, trials, y, maximize=maximize, limits=limits, noise=noise),
        optima=choice_optima(space, known, maximize=maximize, limits=limits, noise=noise),
    )
    return learned, notes


def _bound(y: Array) -> tuple[Array, list[str]]:
    """The values, with those that arithmetic cannot handle set to a bound, and a note if there are any."""
    beyond = int(np.sum(np.abs(y) > MAX_SIZE))
    if not beyond:
        return y, []
    note = f"Values beyond ±{MAX_SIZE:g} ({plural(beyond, 'trial')}) count as ±{MAX_SIZE:g} in everything estimated."
    return np.clip(y, -MAX_SIZE, MAX_SIZE), [note]


def _clipped(y: Array, maximize: bool) -> tuple[Array, list[str]]:
    """The values, with extremely bad ones set to a bound, and a note if there are any."""
    bound = clip_bound(y, maximize=maximize)
    clipped = clip(y, bound, maximize=maximize)
    n = int(np.sum(clipped != y))
    if not n:
        return y, []
    at, beyond = f"{bound:.4g}", "below" if maximize else "above"
    return clipped, [
        f"Values {beyond} {at} ({plural(n, 'trial')}) count as {at}, so that they do not hide all other effects."
    ]


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
