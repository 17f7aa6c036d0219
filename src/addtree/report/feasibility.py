"""Where constraints are kept and where evaluations succeed: probabilities by option, and as maps of two parameters.

The models are those of the optimizer: a surrogate of each constraint's value, and the model of success. A probability
at a position of an axis is an average over configurations that were tried, each moved to that position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from addtree._types import Array, Mask
from addtree.errors import ConfigError
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.model.success import SuccessModel
from addtree.report.axes import Axis, make_axis
from addtree.report.failures import FailureRule, separating_rule
from addtree.report.format import number
from addtree.report.model import Limits, fit_surrogate
from addtree.report.records import Record, standard_errors, with_value
from addtree.report.sampling import evenly_spaced, move_to
from addtree.run.goals import Constraint, Goals
from addtree.search.acquisition import log_feasibility
from addtree.search.criterion import Single
from addtree.space.space import Choice, Space
from addtree.support.numbers import MAX_SIZE

_MIN_TRIALS = 4  # With fewer trials than this, no probabilities are shown: they would be guesses.
_POSITIONS = 15  # A map has this many positions along a numeric axis.
_BACKGROUND = 12  # A probability is an average over at most this many configurations.
_MAX_MAPS = 3  # At most this many maps of a constraint are shown.
_MIN_EFFECT = 0.05  # A parameter is shown in a map if the probability varies by this standard deviation along it.
_SEED = 0  # Every fit starts from this seed, so that a report can be reproduced.

Probability: TypeAlias = Callable[[Array], Array]
"""The probability at encoded rows (m x D)."""


@dataclass(frozen=True)
class ProbabilityMap:
    """A probability along one axis or two.

    mean    the probability (G_a, or G_a x G_b)
    points  values on both axes of the trials in which these are active (the second is None if there is one axis),
            and whether each trial is good
    """

    a: Axis
    b: Axis | None
    mean: Array
    points: tuple[tuple[Any, Any, bool], ...]


@dataclass(frozen=True)
class OptionProbability:
    """One option of a choice: how many of its trials are good, and the probability for other configurations of it."""

    choice: str
    option: Any
    good: int
    tried: int
    probability: float


@dataclass(frozen=True)
class Requirement:
    """A constraint that trials keep or violate, or the success of evaluations.

    name     that of the constraint; None for success
    text     the constraint in words, such as "memory ≤ 16"
    good     number of trials that keep the constraint, or that succeed
    tried    number of trials for which this is known
    rule     where it is violated; None if nothing tells where
    options  probabilities by option
    maps     the parameters that matter most, in pairs
    """

    name: str | None
    text: str
    good: int
    tried: int
    rule: FailureRule | None
    options: tuple[OptionProbability, ...]
    maps: tuple[ProbabilityMap, ...]


def bounds_text(constraint: Constraint) -> str:
    """A constraint in words.

    >>> bounds_text(Constraint("memory", float("-inf"), 16.0)), bounds_text(Constraint("load", 0.5, 0.9))
    ('memory ≤ 16', '0.5 ≤ load ≤ 0.9')
    """
    if not np.isfinite(constraint.high):
        return f"{constraint.name} ≥ {number(constraint.low)}"
    low = f"{number(constraint.low)} ≤ " if np.isfinite(constraint.low) else ""
    return f"{low}{constraint.name} ≤ {number(constraint.high)}"


# ---------------------------------------------------------------------- the requirements of a run


def constraint_requirements(
    space: Space, goals: Goals, trials: Sequence[Record], limits: Limits
) -> tuple[Requirement, ...]:
    """Where each constraint is kept."""
    done = [trial for trial in trials if trial.state == "done"]
    found = []
    for constraint in goals.constraints:
        kept = np.array([constraint.violation(trial.values[constraint.name]) == 0.0 for trial in done], dtype=bool)
        model = _constraint_model(space, constraint, done, limits, goals.noise.get(constraint.name))
        found.append(_requirement(space, done, kept, constraint, model))
    return tuple(found)


def success_requirement(space: Space, trials: Sequence[Record]) -> Requirement | None:
    """Where evaluations succeed; None if none failed. Trials that failed before they were complete do not count."""
    known = [trial for trial in trials if trial.state in ("done", "failed") and _is_complete(space, trial)]
    succeeded = np.array([trial.state == "done" for trial in known], dtype=bool)
    if succeeded.all():
        return None
    model: Probability | None = None
    if len(known) >= _MIN_TRIALS and space.encoding.names:
        X = space.encoding.encode([trial.config for trial in known])
        model = SuccessModel.fit(Specification().make_kernel(space.encoding), X, succeeded).probability
    return _requirement(space, known, succeeded, None, model)


def _constraint_model(
    space: Space, constraint: Constraint, done: Sequence[Record], limits: Limits, noise: float | None
) -> Probability | None:
    """The probability that a constraint is kept; None if there are too few values to tell."""
    own, encoding = with_value(done, constraint.name), space.encoding
    values = np.array([trial.values[constraint.name] for trial in own])
    if len(own) < _MIN_TRIALS or not encoding.names or np.ptp(values) == 0.0:
        return None
    y = constraint.sign * np.clip(values, -MAX_SIZE, MAX_SIZE)
    data = Observations(encoding.encode([trial.config for trial in own]), y, standard_errors(own))
    surrogate = fit_surrogate(encoding, data, Specification(noise=noise), limits, np.random.default_rng(_SEED))
    low, high = (surrogate.transform.bound(bound) for bound in constraint.signed_bounds)
    criterion = Single(surrogate.posterior, log_feasibility(low, high))
    return lambda X: np.exp(criterion.values(X))


def _is_complete(space: Space, trial: Record) -> bool:
    try:
        space.validate(trial.config)
    except ConfigError:
        return False
    return True


def _requirement(
    space: Space, trials: Sequence[Record], good: Mask, constraint: Constraint | None, model: Probability | None
) -> Requirement:
    X = space.encoding.encode([trial.config for trial in trials])
    return Requirement(
        name=None if constraint is None else constraint.name,
        text="success" if constraint is None else bounds_text(constraint),
        good=int(good.sum()),
        tried=len(good),
        rule=separating_rule(space, trials, ~good),
        options=() if model is None else tuple(_options(space, X, good, model)),
        maps=() if model is None else tuple(islice(_maps(space, trials, X, good, model), _MAX_MAPS)),
    )


# ---------------------------------------------------------------------- averages of probabilities


def _options(space: Space, X: Array, good: Mask, model: Probability) -> Iterator[OptionProbability]:
    """The probability in every option of every choice that has several and was tried."""
    for name, domain in space.variables.items():
        if not isinstance(domain, Choice) or len(domain.labels) < 2:
            continue
        axis = make_axis(space.encoding, name)
        if not _active(X, axis).any():
            continue
        mean = _average(space, model, X, [axis])
        for code, label, probability in zip(axis.codes, domain.labels, mean, strict=True):
            inside = X[:, axis.column] == code
            yield OptionProbability(name, label, int(good[inside].sum()), int(inside.sum()), float(probability))


def _maps(space: Space, trials: Sequence[Record], X: Array, good: Mask, model: Probability) -> Iterator[ProbabilityMap]:
    """Maps of the parameters along which the probability varies most. Each shows at least one that is new.

    A parameter is paired with the strongest other one that matters and is active together with it, if there is one.
    """
    names = [name for name in space.encoding.names if not isinstance(space.variables[name], Choice)]
    axes = {name: make_axis(space.encoding, name, positions=_POSITIONS) for name in names}
    strength = {name: _variation(space, model, X, axis) for name, axis in axes.items()}
    ranked = [axes[name] for name in sorted(names, key=lambda n: -strength[n]) if strength[name] > _MIN_EFFECT]
    shown: set[str] = set()
    for a in ranked:
        if a.name not in shown:
            b = next((axis for axis in ranked if axis is not a and _active(X, a, axis).any()), None)
            pair = [a] if b is None else [a, b]
            shown |= {axis.name for axis in pair}
            points = (
                (trials[i].config[a.name], None if b is None else trials[i].config[b.name], bool(good[i]))
                for i in np.flatnonzero(_active(X, *pair)).tolist()
            )
            yield ProbabilityMap(a, b, _average(space, model, X, pair), tuple(points))


def _variation(space: Space, model: Probability, X: Array, axis: Axis) -> float:
    """The standard deviation of the probability along an axis; 0 if no trial has it."""
    if not _active(X, axis).any():
        return 0.0
    mean = _average(space, model, X, [axis])
    return float(np.sqrt(axis.weights @ (mean - axis.weights @ mean) ** 2))


def _active(X: Array, *axes: Axis) -> Mask:
    """The rows in which all axes are active."""
    return np.asarray(~np.isnan(X[:, [axis.column for axis in axes]]).any(axis=1))


def _average(space: Space, model: Probability, X: Array, axes: Sequence[Axis]) -> Array:
    """The mean probability of rows in which all axes are active, moved to every position of the axes."""
    background = X[evenly_spaced(np.flatnonzero(_active(X, *axes)), _BACKGROUND)]
    blocks = [background]
    for axis in axes:
        blocks = [move_to(space.encoding, block, axis.column, code) for block in blocks for code in axis.codes]
    probabilities = model(np.concatenate(blocks)).reshape([len(axis.codes) for axis in axes] + [len(background)])
    return np.asarray(np.clip(probabilities, 0.0, 1.0).mean(axis=-1))
