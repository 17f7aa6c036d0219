"""Everything the report shows, as plain data: computed once, drawn elsewhere."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from addtree._types import Array
from addtree.model.thinning import thin
from addtree.regression import AddTreeGP
from addtree.report.effects import Contribution, Curve, Effects, Joint
from addtree.report.importance import Share, interactions, shares
from addtree.report.records import Record, encode, records
from addtree.space.encoding import Encoding
from addtree.space.space import Choice, Space

_LEAST_VALUES = 4  # fewer say nothing about any parameter
_FIT = 200  # trials to fit the hyperparameters to: the cost grows with the cube
_CONDITION = 500  # trials to condition on
_BRANCHES = 8  # colours in one plot
_MESSAGES = 20  # different failures listed
_WILD = 20.0  # values further on the bad side of the median than so many times (median - best) are clipped there
_BAND = 1.96  # standard deviations: 95 %
_GOOD, _FAIR = 0.8, 0.3  # share of the variance predicted by leave-one-out


@dataclass(frozen=True)
class LeaveOneOut:
    """Each value as predicted from all the others, and how well that went.

    explained  1 - mean squared error / variance
    covered    share of the values inside the 95 % band
    rank       Spearman's correlation of predicted and observed
    """

    ids: tuple[int, ...]
    observed: Array
    mean: Array
    std: Array
    explained: float
    covered: float
    rank: float

    @property
    def verdict(self) -> str:
        """What that means, in a sentence."""
        if self.explained >= _GOOD:
            return "The model predicts trials it has not seen well: the effects shown can be trusted."
        if self.explained >= _FAIR or self.rank >= _GOOD:
            return "The model predicts unseen trials roughly: trust the order of things, not the numbers."
        return "The model does not predict unseen trials: take the effects shown as guesses."


@dataclass(frozen=True)
class Explanation:
    """Why a configuration is as it is: expectation + contributions = predicted, + surprise = observed."""

    expectation: float
    contributions: tuple[Contribution, ...]
    predicted: float
    observed: float

    @property
    def surprise(self) -> float:
        """What the model does not explain."""
        return self.observed - self.predicted


@dataclass(frozen=True)
class Learned:
    """What a model fitted to the values that are there says."""

    curves: dict[str, Curve]
    joints: tuple[Joint, ...]
    shares: tuple[Share, ...]
    best: Explanation
    loo: LeaveOneOut


@dataclass(frozen=True)
class Tally:
    """Trials of one branch."""

    tried: int
    failed: int
    best: float | None


@dataclass(frozen=True)
class Report:
    """All of it. `learned` is None where there are too few values, and `notes` say why and what was left out.

    tallies   per node of the space
    branches  per trial, the branch it belongs to, for colours
    errors    failure messages and how often each came
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
        """How many trials are in a state."""
        return sum(trial.state == state for trial in self.trials)

    @property
    def best_so_far(self) -> list[tuple[int, float]]:
        """The trials that set a new record, and the value."""
        out: list[tuple[int, float]] = []
        for trial in self.trials:
            if trial.state != "done" or trial.value is None:
                continue
            if not out or (trial.value > out[-1][1] if self.maximize else trial.value < out[-1][1]):
                out.append((trial.id, trial.value))
        return out


def build(space: Space, trials: Iterable[Any], *, maximize: bool = False, title: str = "addtree") -> Report:
    """Compute the report of some trials (see `records`)."""
    known = records(space, trials)
    encoding = Encoding(space)
    X = encode(encoding, known)
    done = [trial for trial in known if trial.state == "done"]
    best = (max if maximize else min)(done, key=_value, default=None)
    notes: list[str] = []
    learned = None
    if len(done) < _LEAST_VALUES:
        notes.append(f"{len(done)} of {len(known)} trials have a value; effects need at least {_LEAST_VALUES}.")
    elif len({trial.value for trial in done}) == 1:
        notes.append("All values are the same, so there is nothing to explain.")
    elif not space.variables:
        notes.append("The space has no parameters.")
    else:
        assert best is not None
        learned = _learn(space, done, best, maximize, notes)
    messages = Counter(t.error or "no message" for t in known if t.state == "failed")
    return Report(
        title,
        space,
        maximize,
        known,
        best,
        _tallies(encoding, X, known, maximize),
        _branches(space, known, learned),
        tuple(messages.most_common(_MESSAGES)),
        learned,
        tuple(notes),
    )


def _value(trial: Record) -> float:
    return math.nan if trial.value is None else trial.value


# ---------------------------------------------------------------------- the model


def _learn(space: Space, done: list[Record], best: Record, maximize: bool, notes: list[str]) -> Learned:
    y = _clipped(np.array([_value(trial) for trial in done]), maximize, notes)
    used = thin(-y if maximize else y, _CONDITION)
    if len(used) < len(done):
        notes.append(
            f"The model is conditioned on {len(used)} of {len(done)} values: the best, and a sample of the others."
        )
    trials, y = [done[i] for i in used], y[used]
    some = thin(-y if maximize else y, _FIT)
    gp = AddTreeGP(space).fit([trials[i].config for i in some], y[some], restarts=0 if len(some) == _FIT else 1)
    configs = [trial.config for trial in trials]
    gp = gp.condition(configs, y) if len(some) < len(y) else gp
    beliefs = Effects(gp, gp.encoding.encode(configs))
    expectation, parts = beliefs.contributions(best.config)
    predicted = expectation + math.fsum(part.mean for part in parts)
    return Learned(
        {name: beliefs.curve(name) for name in space.variables},
        tuple(interactions(beliefs)),
        tuple(shares(beliefs)),
        Explanation(expectation, tuple(parts), predicted, _value(best)),
        _leave_one_out(gp, trials, y),
    )


def _clipped(y: Array, maximize: bool, notes: list[str]) -> Array:
    """Without wild values on the bad side, which would drown all others (as the optimizer does, but sooner)."""
    sign = -1.0 if maximize else 1.0
    middle, least = float(np.median(sign * y)), float(np.min(sign * y))
    cap = middle + _WILD * (middle - least) if middle > least else np.inf
    wild = int(np.sum(sign * y > cap))
    if wild:
        at, beyond = f"{sign * cap:.4g}", "below" if maximize else "above"
        notes.append(f"Values {beyond} {at} ({wild}) count as {at} in the model, so that they do not drown the others.")
    return sign * np.minimum(sign * y, cap)


def _leave_one_out(gp: AddTreeGP, trials: list[Record], y: Array) -> LeaveOneOut:
    mean, std = gp.leave_one_out()
    z, z_mean = (y - gp.centre) / gp.scale, (mean - gp.centre) / gp.scale
    explained = 1.0 - float(np.mean((z - z_mean) ** 2) / np.var(z))
    covered = float(np.mean(np.abs(y - mean) <= _BAND * std))
    a, b = _ranks(y), _ranks(mean)
    rank = float(np.mean(a * b) / (a.std() * b.std())) if a.any() and b.any() else 0.0
    return LeaveOneOut(tuple(t.id for t in trials), y, mean, std, explained, covered, rank)


def _ranks(values: Array) -> Array:
    """Ranks, ties averaged, less their mean."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - 0.5 * (counts - 1))[place] - 0.5 * (len(values) + 1))


# ---------------------------------------------------------------------- branches


def _tallies(encoding: Encoding, X: Array, trials: tuple[Record, ...], maximize: bool) -> tuple[Tally, ...]:
    value = np.array([_value(t) if t.state == "done" else math.nan for t in trials])
    failed = np.array([t.state == "failed" for t in trials], dtype=bool)
    out = []
    for node in encoding.space.nodes:
        on = np.ones(len(X), dtype=bool)
        for choice, option in node.location:
            on &= X[:, encoding.index[choice]] == option
        here = value[on & ~np.isnan(value)]
        best = (float(np.max(here)) if maximize else float(np.min(here))) if len(here) else None
        out.append(Tally(int(on.sum()), int((on & failed).sum()), best))
    return tuple(out)


def _branches(space: Space, trials: tuple[Record, ...], learned: Learned | None) -> tuple[str, ...]:
    """Per trial the path it took; where there are too many for a plot, the option of the choice that matters most."""
    choices = [name for name, domain in space.variables.items() if isinstance(domain, Choice)]
    paths = [" · ".join(f"{c}={t.config[c]}" for c in choices if c in t.config) for t in trials]
    if len(set(paths)) <= _BRANCHES:
        return tuple(paths)
    top = [name for name in choices if space.conditions[name] == ((),)]
    share = {s.label: s.share for s in learned.shares if s.kind == "choice"} if learned else {}
    first = max(top, key=lambda name: share.get(name, 0.0))
    labels = [f"{first}={t.config[first]}" if first in t.config else "" for t in trials]
    kept = {label for label, _ in Counter(labels).most_common(_BRANCHES - 1)}
    return tuple(label if label in kept else "other" for label in labels)
