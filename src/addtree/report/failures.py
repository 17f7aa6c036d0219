"""Where trials fail, as a rule in words: "units > 400 and depth > 5".

A condition compares one parameter with a value. A rule is one condition, or two that must both hold. Of all rules that
the trials allow, the one is shown that separates failures from successes best, by the likelihood ratio of two rates of
failure against one:

    G/2 = log p(outcomes | one rate inside the rule, another one outside) - log p(outcomes | one rate)

If outcomes were independent of the configuration, exp(-G/2) would be about the chance of such a separation. With C
conditions there are about C^k rules of k conditions, so that a rule is shown only if C^k exp(-G/2) is small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from addtree._types import Array, Mask
from addtree.report.format import plural, value
from addtree.report.records import Record
from addtree.space.parameters import Integer, Real
from addtree.space.space import Space

_CHANCE = 0.05  # A rule is not shown if chance alone gives one as good with a larger probability than this.
_MAX_THRESHOLDS = 24  # A number is compared with at most this many thresholds, so that all pairs can be tried.
_MAX_TRIALS = 2000  # The rule is found from the last trials, at most this many.
_MAX_CONDITIONS = 600  # Only this many conditions, the best ones, are combined to pairs.


@dataclass(frozen=True)
class FailureRule:
    """Where trials fail.

    conditions  all of which hold there, such as ("units > 400", "depth > 5")
    failed      number of trials that failed there
    tried       number of trials there
    elsewhere   numbers of trials that failed and that were tried elsewhere
    """

    conditions: tuple[str, ...]
    failed: int
    tried: int
    elsewhere: tuple[int, int]

    def __str__(self) -> str:
        return self.describe("fails", "failed")

    def describe(self, verb: str, past: str) -> str:
        """The rule in words; `verb` says what happens there ("fails"), `past` what the trials did ("failed")."""
        there = plural(self.tried, "trial")
        return (
            f"{verb} where {' and '.join(self.conditions)}: {self.failed} of {there} there {past}, "
            f"{self.elsewhere[0]} of {self.elsewhere[1]} elsewhere"
        )


def failure_rule(space: Space, trials: Sequence[Record]) -> FailureRule | None:
    """The rule that best tells where trials fail; None if none is better than chance.

    >>> from addtree import Integer, Space
    >>> space = Space(units=Integer(8, 512))
    >>> trials = [Record(i, {"units": u}, "failed" if u > 400 else "done") for i, u in enumerate(range(16, 512, 16))]
    >>> print(failure_rule(space, trials))
    fails where units > 400: 6 of 6 trials there failed, 0 of 25 elsewhere
    """
    known = [trial for trial in trials if trial.state != "pending"]
    return separating_rule(space, known, np.array([trial.state == "failed" for trial in known], dtype=bool))


def separating_rule(space: Space, trials: Sequence[Record], failed: Mask) -> FailureRule | None:
    """The rule that best separates the trials that failed, in any sense, from the others."""
    trials, failed = trials[-_MAX_TRIALS:], failed[-_MAX_TRIALS:]
    if failed.all() or not failed.any():
        return None
    names, holds = _conditions(space, trials)
    if not names:
        return None
    single = _separation(holds @ failed, holds.sum(axis=1), failed)
    order = np.argsort(-single, kind="stable")[:_MAX_CONDITIONS]
    among = holds[order]
    pairs = _separation((among * failed) @ among.T, among @ among.T, failed)
    best, best_pair = single.max() - math.log(len(names)), pairs.max() - 2 * math.log(len(names))
    chosen = order[:1]
    if best_pair > best:
        chosen = order[list(np.unravel_index(int(np.argmax(pairs)), pairs.shape))]
    if max(best, best_pair) < -math.log(_CHANCE):
        return None
    inside = np.all(holds[chosen] > 0, axis=0)
    return FailureRule(
        tuple(names[k] for k in chosen.tolist()),
        int(np.sum(failed & inside)),
        int(np.sum(inside)),
        (int(np.sum(failed & ~inside)), int(np.sum(~inside))),
    )


def _conditions(space: Space, trials: Sequence[Record]) -> tuple[list[str], Array]:
    """The conditions in words, and for each the trials in which it holds (C x n, ones and zeros).

    A condition on a parameter that is not active does not hold.
    """
    names: list[str] = []
    holds: list[Mask] = []
    for name, domain in space.variables.items():
        given = [trial.config.get(name) for trial in trials]
        if isinstance(domain, (Real, Integer)):
            numbers = np.array([math.nan if v is None else float(v) for v in given])
            for threshold in _thresholds(numbers[~np.isnan(numbers)], log=domain.log):
                whole = isinstance(domain, Integer) or threshold == int(threshold)
                shown = value(math.floor(threshold) if whole else threshold)
                names += [f"{name} > {shown}", f"{name} <= {shown}"]
                holds += [numbers > threshold, numbers <= threshold]
        else:
            for option in dict.fromkeys(v for v in given if v is not None):
                names.append(f"{name} = {value(option)}")
                holds.append(np.array([v == option for v in given], dtype=bool))
    differs = [k for k, mask in enumerate(holds) if 0 < mask.sum() < len(trials)]
    return [names[k] for k in differs], np.array([holds[k] for k in differs], dtype=float)


def _thresholds(numbers: Array, *, log: bool) -> list[float]:
    """Round numbers between neighbours of the given numbers."""
    known = np.unique(numbers)
    if len(known) > _MAX_THRESHOLDS + 1:
        known = known[np.linspace(0, len(known) - 1, _MAX_THRESHOLDS + 1).astype(int)]
    return [_between(low, high, log=log) for low, high in zip(known[:-1].tolist(), known[1:].tolist(), strict=True)]


def _between(low: float, high: float, *, log: bool) -> float:
    """The number of fewest digits near the middle that is at least low and less than high."""
    middle = math.sqrt(low) * math.sqrt(high) if log and low > 0 else 0.5 * low + 0.5 * high
    rounded = (float(f"{middle:.{digits}g}") for digits in range(1, 17))
    return next((number for number in rounded if low <= number < high), low)


def _separation(failed: Array, tried: Array, outcomes: Mask) -> Array:
    """G/2 of rules with these numbers of trials inside; minus infinity where fewer fail inside than outside."""
    n, total = len(outcomes), int(outcomes.sum())
    inside, outside = _log_likelihood(failed, tried), _log_likelihood(total - failed, n - tried)
    gain = inside + outside - _log_likelihood(np.array(float(total)), np.array(float(n)))
    return np.where(failed * n > tried * total, gain, -math.inf)


def _log_likelihood(failed: Array, tried: Array) -> Array:
    """log p of outcomes at the rate that fits them best."""
    rate = failed / np.maximum(tried, 1.0)
    lost = np.where(failed > 0, failed * np.log(np.where(failed > 0, rate, 1.0)), 0.0)
    kept = tried - failed
    return np.asarray(lost + np.where(kept > 0, kept * np.log(np.where(kept > 0, 1.0 - rate, 1.0)), 0.0))
