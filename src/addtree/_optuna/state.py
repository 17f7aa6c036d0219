"""What a sampler knows about one study: its trials, its model, and the suggestions for trials that still run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial

from addtree._optuna.codec import Declared, Inferred, Translation
from addtree._optuna.initial import InitialConfigs
from addtree._optuna.model import Settings, StudyModel
from addtree._optuna.startup import MAX_STARTUP_FACTOR
from addtree._optuna.trials import TrialHistory
from addtree.space.parameters import Real

_N_SETTLED = 30
"""After this number of finished trials, the structure is inferred again only if a new trial contradicts it."""


class StudyState:
    """What a sampler knows about one study, kept between its calls.

    history      the trials that were read
    model        None until some trial shows a parameter that varies
    initial      the initial configurations
    suggestions  by the numbers of unfinished trials, the parameters that were suggested for them
    """

    def __init__(self, study: Study, settings: Settings) -> None:
        self._storage, self._study_id = study._storage, study._study_id
        self._settings = settings
        self._sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0  # The model minimises.
        self._latest: int | None = None  # The number of the trial for which the study was last read.
        self.history = TrialHistory()
        self.initial = InitialConfigs(settings.initial)
        self.model: StudyModel | None = None
        self.suggestions: dict[int, dict[str, Any]] = {}
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
            self.model = StudyModel(translation, self.history, self._settings, sign=self._sign)
        else:
            self.model.retranslate(translation)

    def _translation(self, new: list[FrozenTrial]) -> Translation | None:
        if self._settings.space is not None:
            return Declared(self._settings.space, self.history.distributions)
        finished = self.history.finished
        if not finished:
            return None
        if self.model is not None and len(finished) > _N_SETTLED:
            current = self.model.translation
            if isinstance(current, Inferred) and all(current.fits(trial) for trial in new):
                return current
        return Inferred(sorted(finished, key=lambda trial: trial.number))

    def can_coincide(self, params: Mapping[str, Any], fixed: Mapping[str, Any]) -> bool:
        """Whether another worker could suggest exactly these parameters, so that the study has to be read again.

        All workers share one initial design. After it, two workers do not reach the same float inside a continuous
        range, because their random numbers differ. They do reach the same bound, step or category.
        """
        if self.model is None or len(self.history.finished) < MAX_STARTUP_FACTOR * self._settings.n_startup_trials:
            return True
        variables = self.model.translation.space.variables
        free = ((variables[name], value) for name, value in params.items() if name in variables and name not in fixed)
        return not any(isinstance(d, Real) and d.step is None and d.low < value < d.high for d, value in free)

    def complete(self, trial: FrozenTrial, name: str, rng: np.random.Generator) -> None:
        """Suggest a parameter that the objective reached by a decision of its own, if the model knows it."""
        if self.model is not None and trial.params and name in self.model.translation.space.variables:
            found = self.model.complete(trial.number, name, trial.params, rng)
            self.suggestions[trial.number] = {**self.suggestions.get(trial.number, {}), **found}

    def remember(self, trial: FrozenTrial, params: dict[str, Any]) -> None:
        """Keep a suggestion as long as its trial runs: the objective may ask for a parameter in another range."""
        unfinished = {trial.number for trial in self.history.unfinished}
        self.suggestions = {number: kept for number, kept in self.suggestions.items() if number in unfinished}
        self.suggestions[trial.number] = params
