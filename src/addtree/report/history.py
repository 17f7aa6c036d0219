"""What earlier studies said about a study, and what became of it.

Each earlier study is fitted to the space of the new one (see `addtree.run.history`), and a model of its trials alone is
compared with the trials of the new study:

    agreement  rank correlation of its predictions for the trials of the new study with their values
    repeated   trials of the new study whose configuration is one of its own, such as those that were asked first
    belief     an effect of a parameter or choice that it is sure of: the best and the worst position differ by more
               than their 95 % interval

A belief is compared with the effect in the new study, whose model knows nothing of the earlier ones, by the correlation
r of the two curves. It is confirmed if r is large, overturned if r is negative, and open as long as the new study is
not sure of the effect itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from addtree._types import Array, Mask
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.report.effects import Z_95, Curve, Effects
from addtree.report.format import plural, value
from addtree.report.model import Limits, clip, clip_bound, fit_model
from addtree.report.records import Record
from addtree.report.trust import rank_correlation
from addtree.run.goals import Goals
from addtree.run.history import EarlierTask, adapt, learn
from addtree.run.settings import Settings
from addtree.space.space import Space
from addtree.support.numbers import MAX_SIZE

_LIMITS = Limits(fit=64, condition=64, draws=2)  # The models of earlier studies need not be very exact.
_CONFIRMED = 0.5  # From this correlation of two effects on, the first is said to be confirmed.
_MIN_ACTIVE = 4  # Effects of parameters that fewer trials have are open: their models are mostly guesses.

Verdict = Literal["confirmed", "partly confirmed", "overturned", "open"]


@dataclass(frozen=True)
class Belief:
    """What an earlier study was sure of.

    name     of the parameter or choice
    earlier  its best value in the earlier study
    here     its best value in the new one; None as long as that is open
    """

    name: str
    earlier: Any
    here: Any
    verdict: Verdict

    def __str__(self) -> str:
        said = f"{self.name} best at {value(self.earlier, 3)}"
        return said if self.here is None else f"{said}, here at {value(self.here, 3)}"


@dataclass(frozen=True)
class EarlierStudy:
    """One earlier study, compared with the new one.

    name       as the history calls it
    trials     number of its trials that are used
    agreement  from -1 to 1
    repeated   number of trials of the new study that are its configurations
    best       whether the best trial of the new study is one of them
    beliefs    those that were overturned first, then strongest first
    """

    name: str
    trials: int
    agreement: float
    repeated: int
    best: bool
    beliefs: tuple[Belief, ...]

    @property
    def summary(self) -> str:
        """Numbers in a line."""
        return (
            f"{plural(self.trials, 'trial')}, agreement {self.agreement:.2f}, {self.repeated} repeated here; of what "
            f"it was sure of, {self.count('confirmed')} confirmed, {self.count('overturned')} overturned, "
            f"{self.count('open')} open"
        )

    def count(self, verdict: Verdict) -> int:
        """The number of beliefs with this verdict."""
        return sum(belief.verdict == verdict for belief in self.beliefs)


@dataclass(frozen=True)
class HistoryReport:
    """All earlier studies that could be used, and what they say about one objective.

    weight    how much the prior mean that they give counts after all trials: 0 not at all, 1 as it is
    repeated  number of trials of the new study that are configurations of any of them
    """

    studies: tuple[EarlierStudy, ...]
    weight: float
    repeated: int

    @property
    def verdict(self) -> str:
        """How much the study owes to its history, in a few words."""
        words = "the earlier study says" if len(self.studies) == 1 else f"the {len(self.studies)} earlier studies say"
        if self.weight == 0.0:
            return f"What {words} disagrees with the values of this study, so that it is not used any more."
        said = f"What {words} is used with weight {self.weight:.2f}."
        if self.repeated:
            best = ", also the best one" if any(study.best for study in self.studies) else ""
            said += f" {plural(self.repeated, 'configuration')} came from there{best}."
        return said


@dataclass(frozen=True)
class _Study:
    """The new study, as far as one objective is concerned.

    trials  those that have values
    y       their values, to be minimised
    curves  effects of its parameters and choices on the values to be minimised, by name
    """

    space: Space
    trials: Sequence[Record]
    y: Array
    curves: Mapping[str, Curve]

    @cached_property
    def configs(self) -> list[dict[str, Any]]:
        return [dict(trial.config) for trial in self.trials]

    def is_in(self, task: EarlierTask) -> Mask:
        """Whether each trial has a configuration of an earlier study (n)."""
        encoding = self.space.encoding
        keys = set(encoding.keys(encoding.encode(task.configs)))
        return np.array([key in keys for key in encoding.keys(encoding.encode(self.configs))])


def compare(
    space: Space,
    goals: Goals,
    tasks: Sequence[EarlierTask],
    trials: Sequence[Record],
    curves: Mapping[str, Mapping[str, Curve]],
) -> dict[str, HistoryReport]:
    """What became of earlier studies, by objective; empty if none can be used.

    tasks   the earlier studies, with the values of these objectives
    trials  those of the new study that have values
    curves  the effects in the new study, by objective and name
    """
    encoding, settings = space.encoding, Settings()
    tasks = adapt(tasks, encoding)
    specification = Specification(transform=settings.transform, priors=settings.priors)
    earlier = learn(tasks, encoding, specification, specification.make_kernel(encoding), settings.transfer)
    if earlier is None:
        return {}
    found = {}
    for k, objective in enumerate(goals.objectives):
        y = np.clip([objective.sign * trial.values[objective.name] for trial in trials], -MAX_SIZE, MAX_SIZE)
        effects = curves[objective.name].items()
        signed = {name: replace(curve, mean=objective.sign * curve.mean) for name, curve in effects}
        study = _Study(space, trials, y, signed)
        weight = earlier.values[k].weight(Observations.exact(encoding.encode(study.configs), y))
        repeated = np.any([study.is_in(task) for task in tasks], axis=0)
        studies = tuple(_compare(study, task, task.values[k]) for task in tasks)
        found[objective.name] = HistoryReport(studies, weight, int(np.sum(repeated)))
    return found


def _compare(study: _Study, task: EarlierTask, values: Sequence[float]) -> EarlierStudy:
    own = [Record(k, config, "done", y) for k, (config, y) in enumerate(zip(task.configs, values, strict=True))]
    y = np.array(values)
    y = clip(y, clip_bound(y, maximize=False), maximize=False)
    gp = fit_model(study.space, own, y, maximize=False, limits=_LIMITS)
    repeated = study.is_in(task)
    return EarlierStudy(
        name=task.name,
        trials=len(own),
        agreement=rank_correlation(study.y, gp.predict(study.configs)[0]),
        repeated=int(np.sum(repeated)),
        best=bool(repeated[int(np.argmin(study.y))]),
        beliefs=_beliefs(Effects(gp, gp.encoding.encode(task.configs)), study.curves),
    )


def _beliefs(effects: Effects, curves: Mapping[str, Curve]) -> tuple[Belief, ...]:
    """The effects that an earlier study is sure of, and what became of them."""
    found = [effects.curve(name) for name in effects.encoding.names]
    sure = sorted(filter(_is_sure, found), key=lambda curve: -curve.range)
    beliefs = [_judge(curve, curves[curve.axis.name]) for curve in sure]
    return tuple(sorted(beliefs, key=lambda belief: belief.verdict != "overturned"))


def _is_sure(curve: Curve) -> bool:
    """Whether enough trials show that the best and the worst position differ."""
    low, high = int(np.argmin(curve.mean)), int(np.argmax(curve.mean))
    return curve.n_active >= _MIN_ACTIVE and curve.range > Z_95 * float(np.hypot(curve.std[low], curve.std[high]))


def _judge(earlier: Curve, here: Curve) -> Belief:
    """What became of an effect."""
    best = earlier.axis.values[int(np.argmin(earlier.mean))]
    if not _is_sure(here):
        return Belief(earlier.axis.name, best, None, "open")
    r = float(np.corrcoef(earlier.mean / earlier.range, here.mean / here.range)[0, 1])  # squares of 1e300 overflow
    verdict: Verdict = "confirmed" if r >= _CONFIRMED else "overturned" if r < 0.0 else "partly confirmed"
    return Belief(earlier.axis.name, best, here.axis.values[int(np.argmin(here.mean))], verdict)
