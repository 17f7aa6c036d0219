"""What a sampler knows about one study: its trials, its model, and the suggestions for trials that still run."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from addtree._optuna.codec import Declared, Translation, narrow_type
from addtree._optuna.independent import nearest_value
from addtree._optuna.inferred import Inferred
from addtree._optuna.initial import InitialConfigs
from addtree._optuna.model import Settings, StudyModel
from addtree._optuna.ranges import moved_position, suggested_position, value_at, values_near
from addtree._optuna.repetitions import may_lack
from addtree._optuna.shared_fit import SharedFit
from addtree._optuna.startup import MAX_STARTUP_FACTOR
from addtree._optuna.trials import StudyGoals, TrialHistory, exact_params
from addtree.errors import ConfigError
from addtree.run.history import best_configs
from addtree.space.parameters import Real
from addtree.space.space import Space

_log = logging.getLogger("addtree")

_N_EARLY = 10
"""Up to this number of finished trials, the structure is inferred again after each trial."""

_N_SETTLED = 30
"""After this number of finished trials, the structure is inferred again only if a new trial contradicts it."""

_REVIEW_CYCLE = 5
"""In between, it is also inferred again at every multiple of this number: another structure may fit better by then."""

_ROUNDING = 1e-12
"""Positions in a range that differ by no more than this share of it are the same, up to the errors of rounding."""


class StudyState:
    """What a sampler knows about one study, kept between its calls.

    history      the trials that were read
    model        None until some trial shows a parameter that varies
    initial      the initial configurations
    suggestions  by the numbers of unfinished trials, the parameters that were suggested for them
    asked        the first distribution of each parameter that `sample_independent` was asked for in this process
    changing     the parameters that it was later asked for with a distribution that Optuna does not find compatible
    """

    def __init__(self, study: Study, settings: Settings) -> None:
        self._storage, self._study_id = study._storage, study._study_id
        self._settings = settings
        self._goals = StudyGoals.of(study)
        self._latest: int | None = None  # The number of the trial for which the study was last read.
        self.history = TrialHistory()
        # The portfolio of `Optimizer` needs a space. Without one, the best of each earlier study takes its place.
        best = best_configs(settings.tasks(self._goals)) if settings.space is None else ()
        self.initial = InitialConfigs((*settings.initial, *best))
        self.model: StudyModel | None = None
        self.suggestions: dict[int, dict[str, Any]] = {}
        self.asked: dict[str, BaseDistribution] = {}
        self.changing: set[str] = set()
        self._warned: set[str] = set()  # The parameters that a warning named.
        self._checked: dict[str, BaseDistribution] = {}  # The last distribution of each parameter that was checked.
        self._translate([])

    def belongs_to(self, study: Study) -> bool:
        """Whether this is the state of that study."""
        return self._storage is study._storage and self._study_id == study._study_id

    def begin(self, study: Study, trial: FrozenTrial) -> None:
        """Read the study at the first call for a trial."""
        if self._latest != trial.number:
            self.refresh(study)
            self._latest = trial.number

    def refresh(self, study: Study) -> None:
        """Read the study, and tell the model about the trials that finished since the last time."""
        new = self.history.read(study)
        if new:
            self._translate(new)
        if self.model is not None:
            self.model.tell_new()

    def _translate(self, new: list[FrozenTrial]) -> None:
        """Bring the model's translation up to date with new trials."""
        translation = self._translation(new)
        if translation is None or not translation.space.variables:
            self.model = None
        elif self.model is None:
            shared = SharedFit(self._storage, self._study_id)
            self.model = StudyModel(translation, self.history, self._settings, self._goals, shared)
        else:
            self.model.retranslate(translation)

    def _translation(self, new: list[FrozenTrial]) -> Translation | None:
        if self._settings.space is not None:
            declared = Declared(self._settings.space)
            for trial in new:
                unchecked = {n: d for n, d in trial.distributions.items() if not _are_same(d, self._checked.get(n))}
                self._checked.update(unchecked)
                for name, problem in declared.contradictions(unchecked):
                    self._warn(
                        name, f"the objective contradicts the space: in trial {trial.number}, {name!r} {problem}"
                    )
            return declared
        finished = self.history.finished
        if not finished:
            return None
        n = len(finished)
        if self.model is not None and (n > _N_SETTLED or (n > _N_EARLY and n % _REVIEW_CYCLE)):
            current = self.model.translation
            if isinstance(current, Inferred) and all(current.fits(trial) for trial in new):
                return current
        return Inferred(sorted(finished, key=lambda trial: trial.number))

    def _warn(self, name: str, message: str) -> None:
        """Log a warning, one for each parameter."""
        if name not in self._warned:
            self._warned.add(name)
            _log.warning("%s", message)

    def can_coincide(self, params: Mapping[str, Any], fixed: Mapping[str, Any]) -> bool:
        """Whether another worker could suggest exactly these parameters, so that the study has to be read again.

        All workers share one initial design. After it, two workers seldom reach the same new float inside a continuous
        range, because their random numbers differ. They do reach the same bound, step or category, and a float that
        both copied from an earlier trial. A turn that ignores the model draws no random numbers either: it puts one
        float into the middle of a gap between earlier ones, and copies the others.
        """
        if self.model is None or len(self.history.finished) < MAX_STARTUP_FACTOR * self._settings.n_startup_trials:
            return True
        variables = self.model.translation.space.variables
        for name, value in params.items():
            domain = variables.get(name)
            if name in fixed or not isinstance(domain, Real) or domain.step is not None:
                continue
            # A position in a dynamic range is not a float: it may decode to an integer.
            if not isinstance(value, float) or not domain.low < value < domain.high:
                continue
            known = self.history.counts.get(name, {})  # The internal representation of a float is itself.
            is_new = value not in known and all(t.params.get(name) != value for t in self.history.unfinished)
            if is_new and not _is_in_the_middle(value, known, domain):
                return False
        return True

    def note_asked(self, name: str, distribution: BaseDistribution) -> None:
        """Record how the objective asks for a parameter."""
        if not is_compatible(distribution, self.asked.setdefault(name, distribution)):
            self.changing.add(name)

    def recall(self, trial: FrozenTrial) -> None:
        """Read the suggestion for a trial from the storage, as is needed after work on another study."""
        if suggested := self.history.published(trial):
            self.suggestions[trial.number] = suggested

    def complete(self, trial: FrozenTrial, name: str, rng: np.random.Generator) -> None:
        """Suggest a parameter that the objective reached by a decision of its own, if the model knows it."""
        if self.model is not None and trial.params and name in self.model.translation.space.variables:
            found = self.model.complete(trial, name, rng)
            self.suggestions[trial.number] = {**self.suggestions.get(trial.number, {}), **found}

    def decode(self, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
        """The value of a suggested parameter in the range that the objective asks for, or a ConfigError without one.

        A position becomes the value at that position. A value outside of the range keeps its position instead of being
        clipped. If another trial has the same parameters already, the nearest free value of a grid is taken.
        """
        suggested, d = self.suggestions.get(trial.number, {}), narrow_type(distribution)
        if name not in suggested:
            raise ConfigError(f"parameter {name!r} was not suggested")
        position = suggested_position(suggested[name])
        if isinstance(d, CategoricalDistribution):
            return nearest_value(d, suggested[name])
        if position is None:
            before = None if self.model is None else self.model.translation.distributions.get(name)
            position = moved_position(before, d, suggested[name])
        if position is None:
            return nearest_value(d, suggested[name])
        value = value_at(d, position)
        others = {key: other for key, other in suggested.items() if key != name}
        taken = self._values_beside(trial.number, name, {**others, **exact_params(trial)})
        return next((near for near in values_near(d, value) if near not in taken), value)

    def _values_beside(self, number: int, name: str, known: dict[str, Any]) -> set[Any]:
        """The values that a parameter has in other trials that agree with the known parameters otherwise.

        A position that is not decoded yet agrees with every value. A trial may lack what its code did not ask for.
        """
        known = {key: value for key, value in known.items() if suggested_position(value) is None}
        trials = [*self.history.finished, *(trial for trial in self.history.unfinished if trial.number != number)]
        return {
            trial.params[name]
            for trial in trials
            if name in trial.params
            and all(
                trial.params[key] == value if key in trial.params else self._may_lack(trial, key, name)
                for key, value in known.items()
            )
        }

    def _may_lack(self, trial: FrozenTrial, name: str, decoded: str) -> bool:
        """Whether a trial may be the same with a parameter that it lacks, whatever value the decoded one gets."""
        if self.model is None:
            return False
        translation = self.model.translation
        return may_lack(trial, name, translation, translation.opened.keys() & {decoded})

    def remember(self, trial: FrozenTrial, params: dict[str, Any]) -> None:
        """Keep a suggestion as long as its trial runs: the objective may ask for a parameter in another range."""
        unfinished = {trial.number for trial in self.history.unfinished}
        self.suggestions = {number: kept for number, kept in self.suggestions.items() if number in unfinished}
        self.suggestions[trial.number] = params


def is_compatible(one: BaseDistribution, other: BaseDistribution | None) -> bool:
    """Whether Optuna lets a parameter have both distributions: of one kind, with one scale or the same categories."""
    if isinstance(one, CategoricalDistribution):
        return one == other
    return type(one) is type(other) and getattr(one, "log", None) == getattr(other, "log", None)


def _are_same(one: BaseDistribution, other: BaseDistribution | None) -> bool:
    """Whether two distributions are the same; much faster than Optuna's comparison, because most of them are."""
    return type(one) is type(other) and vars(one) == vars(other)


def _is_in_the_middle(value: float, known: Collection[float], domain: Real) -> bool:
    """Whether a value is halfway between two known values, or between one of them and an end of its range."""
    inside = [other for other in known if domain.low <= other <= domain.high]
    numbers = np.array([value, domain.low, domain.high, *inside])
    positions = np.log(numbers) if domain.log else numbers
    at, ends = positions[0], np.sort(positions[1:])
    mirrored = 2.0 * at - ends
    above = np.searchsorted(ends, mirrored).clip(1, len(ends) - 1)
    nearest = np.minimum(np.abs(ends[above] - mirrored), np.abs(ends[above - 1] - mirrored))
    return bool(np.any(nearest <= _ROUNDING * (ends[-1] - ends[0])))


def inferred_space(study: Study) -> Space | None:
    """The space that the finished trials of a study show, in Optuna's values; None if there are none."""
    history = TrialHistory()
    history.read(study)
    return Inferred(history.finished).readable_space if history.finished else None
