"""The front of a run with several objectives: the best trade-offs, their growth over time, and those of each branch.

The hypervolume is the volume of what the feasible trials dominate, up to a reference point. It is the one number by
which fronts are compared, here those of different moments and of different options.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from addtree._types import Array
from addtree.report.format import number
from addtree.report.records import Record
from addtree.run.goals import Goals
from addtree.run.trials import near_front
from addtree.search.hypervolume import MAX_OBJECTIVES, hypervolumes, is_nondominated
from addtree.space.forms import condition_text
from addtree.space.space import Choice, Space

_MOMENTS = (0.25, 0.5, 1.0)  # The front is shown as it was when these shares of the trials had ended.
_LARGEST = 1e60  # Objectives above this, or below its inverse, are divided by their size: products would overflow.


@dataclass(frozen=True)
class OptionFront:
    """The best trade-offs within one option of a choice.

    tried     number of trials, whatever their state
    trials    the feasible trials that no other one of the option dominates, best first in the first objective
    on_front  how many of them are on the front of all trials
    share     their hypervolume as a share of that of all trials; None if it is not computed
    """

    option: Any
    tried: int
    trials: tuple[Record, ...]
    on_front: int
    share: float | None


@dataclass(frozen=True)
class ChoiceFronts:
    """The options of one choice; `condition` says in words when the choice is active, and is empty if always."""

    choice: str
    condition: str
    options: tuple[OptionFront, ...]


@dataclass(frozen=True)
class Moment:
    """The front when this many trials had ended."""

    finished: int
    trials: tuple[Record, ...]


@dataclass(frozen=True)
class Front:
    """The best trade-offs of a run.

    trials        the feasible trials that no other dominates, best first in the first objective
    moments       the front while the run went on, and at its end; without moments at which it was empty
    finished      ids of the trials that have ended, in their order
    hypervolumes  the hypervolume after each of them, up to a factor if values are extreme; empty if not computed
    reference     by name, the reference point of the hypervolumes
    choices       the trade-offs within the options of each choice that has several
    """

    trials: tuple[Record, ...]
    moments: tuple[Moment, ...]
    finished: tuple[int, ...]
    hypervolumes: tuple[float, ...]
    reference: Mapping[str, float]
    choices: tuple[ChoiceFronts, ...]

    @cached_property
    def ids(self) -> frozenset[int]:
        """The ids of the trials on the front."""
        return frozenset(trial.id for trial in self.trials)

    @property
    def attainment(self) -> list[float]:
        """The hypervolume after each finished trial, as a share of the present one."""
        last = self.hypervolumes[-1] if self.hypervolumes else 0.0
        return [volume / last for volume in self.hypervolumes] if last > 0.0 else []


def is_feasible(goals: Goals, trial: Record) -> bool:
    """Whether a trial is done and keeps all constraints."""
    return trial.state == "done" and goals.violation(trial.values) == 0.0


def best_of(goals: Goals, trials: Sequence[Record], name: str) -> Record | None:
    """The feasible trial with the best value of one objective; None if no trial is feasible."""
    sign = next(objective.sign for objective in goals.objectives if objective.name == name)
    feasible = [trial for trial in trials if is_feasible(goals, trial)]
    return min(feasible, key=lambda trial: sign * trial.values[name], default=None)


def nearest(goals: Goals, trials: Sequence[Record]) -> Record | None:
    """The trial that violates the constraints least; None if no trial has values."""
    done = [trial for trial in trials if trial.state == "done"]
    return done[goals.nearest([trial.values for trial in done])] if done else None


def find_front(space: Space, goals: Goals, trials: Sequence[Record]) -> Front:
    """The front of a run with several objectives."""
    feasible = [trial for trial in trials if is_feasible(goals, trial)]
    losses = _losses(goals, feasible)
    reference = _reference(goals, losses)
    unit = _units(losses, reference)
    best = _nondominated(goals, feasible)
    finished = [trial for trial in trials if trial.state != "pending"]
    volumes: list[float] = []
    if reference is not None:
        counted = np.array([is_feasible(goals, trial) for trial in finished])
        volumes = _volumes(goals, feasible, reference, unit)[np.cumsum(counted)].tolist()
    point = {} if reference is None else zip(goals.objectives, reference.tolist(), strict=True)
    return Front(
        trials=best,
        moments=tuple(_moments(goals, finished)),
        finished=tuple(trial.id for trial in finished),
        hypervolumes=tuple(volumes),
        reference={objective.name: objective.sign * value for objective, value in point},
        choices=tuple(_choices(space, goals, trials, best, None if reference is None else (reference, unit))),
    )


def _moments(goals: Goals, finished: Sequence[Record]) -> Iterator[Moment]:
    """The front at each moment that is shown, if it was not empty."""
    for n in dict.fromkeys(math.ceil(share * len(finished)) for share in _MOMENTS):
        feasible = [trial for trial in finished[:n] if is_feasible(goals, trial)]
        if feasible:
            yield Moment(n, _nondominated(goals, feasible))


def front_notes(goals: Goals, front: Front | None) -> list[str]:
    """A note if no trial is better than the reference point that was declared, so that hypervolumes say nothing."""
    if goals.reference is None or front is None or not front.hypervolumes or front.hypervolumes[-1] > 0.0:
        return []
    point = ", ".join(f"{name} {number(limit)}" for name, limit in goals.reference.items())
    return [f"No feasible trial is better than the reference point {point} in every objective, so hypervolumes are 0."]


def _losses(goals: Goals, trials: Sequence[Record]) -> Array:
    """The objectives of trials (n x K), each with the sign for which less is better."""
    return np.array([goals.losses(trial.values) for trial in trials]).reshape(len(trials), len(goals.objectives))


def _reference(goals: Goals, losses: Array) -> Array | None:
    """The reference point (K) of the hypervolumes; None if they are not computed."""
    if not len(losses) or len(goals.objectives) > MAX_OBJECTIVES:
        return None
    return near_front(losses) if goals.reference is None else goals.losses(goals.reference)


def _nondominated(goals: Goals, feasible: Sequence[Record]) -> tuple[Record, ...]:
    """The feasible trials that no other dominates, best first in the first objective."""
    losses = _losses(goals, feasible)
    best = np.flatnonzero(is_nondominated(losses))
    return tuple(feasible[i] for i in best[np.lexsort(losses[best].T[::-1])])


def _choices(
    space: Space, goals: Goals, trials: Sequence[Record], front: Sequence[Record], scale: tuple[Array, Array] | None
) -> list[ChoiceFronts]:
    """The trade-offs within the options; `scale` is the reference point and the units of the hypervolumes."""
    ids = {trial.id for trial in front}
    whole = 0.0 if scale is None else float(_volumes(goals, front, *scale)[-1])
    found = []
    for name, domain in space.variables.items():
        if not isinstance(domain, Choice) or len(domain.labels) < 2:
            continue
        options = []
        for label in domain.labels:
            inside = [trial for trial in trials if name in trial.config and trial.config[name] == label]
            own = _nondominated(goals, [trial for trial in inside if is_feasible(goals, trial)])
            share = None if scale is None or whole == 0.0 else float(_volumes(goals, own, *scale)[-1]) / whole
            options.append(OptionFront(label, len(inside), own, sum(trial.id in ids for trial in own), share))
        always = () in space.conditions[name]
        condition = "" if always else condition_text(space.conditions[name], space.variables)
        found.append(ChoiceFronts(name, condition, tuple(options)))
    return found


def _volumes(goals: Goals, trials: Sequence[Record], reference: Array, unit: Array) -> Array:
    """The hypervolume of none of the trials, of the first, of the first two, and so on."""
    return np.concatenate([[0.0], hypervolumes(_losses(goals, trials) / unit, reference / unit)])


def _units(losses: Array, reference: Array | None) -> Array:
    """The divisor of each objective (K) before hypervolumes are computed: 1, or the size of extreme values."""
    size = np.max(np.abs(losses if reference is None else np.vstack([losses, reference])), axis=0, initial=0.0)
    return np.where((size > 0.0) & ((size < 1.0 / _LARGEST) | (size > _LARGEST)), size, 1.0)
