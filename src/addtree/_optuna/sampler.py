"""`AddTreeSampler`: this package inside Optuna, on unchanged define-by-run code."""

from __future__ import annotations

import copy
import math
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.codec import check_distinct
from addtree._optuna.independent import draw_value
from addtree._optuna.initial import read_initial_configs
from addtree._optuna.model import Settings, StudyModel
from addtree._optuna.ranges import suggested_position
from addtree._optuna.state import StudyState, inferred_space, is_compatible
from addtree._optuna.trials import fixed_by_wrapper, fixed_params, standard_errors
from addtree._types import Config
from addtree.errors import ConfigError, OptionError
from addtree.model.specification import Specification
from addtree.run.history import check_history
from addtree.run.suggestion import checked_seed
from addtree.space.space import Space
from addtree.support.numbers import as_float, is_finite, is_whole

_MAX_ATTEMPTS = 20
"""A suggestion is made at most this often if another worker takes the same configuration at the same moment."""

_MAX_STUDIES = 8  # A sampler remembers what it knows about this many studies; about others it reads again.


class AddTreeSampler(BaseSampler):
    """An Optuna sampler that models conditional parameters jointly.

    space             the space if you know it; otherwise it is inferred from the trials seen so far
    seed              an int makes a study reproducible (with one worker, in the same order); None draws a seed
    n_startup_trials  the number of trials that explore the space before the model is used, but no more than the initial
                      design of `Optimizer` has. Then, up to three times that number, every other trial tries a value
                      that no trial has tried yet. With a declared space, the first trials are the initial design
                      of `Optimizer`, at most three times that number, and one worker gets the same configurations as
                      from `Optimizer`
    constraints_func  returns the constraints of a trial; a positive value is a violation. `Trial.set_constraint` works
                      too
    initial           configurations to evaluate first, each once in a study, even with several workers. One that lacks
                      parameters is completed. One that a trial already has is skipped
    noise             standard deviation of repeated evaluations, in the units of the values; 0 if they are exact, None
                      to learn it. Under noise, the same parameters may be suggested again. With several objectives, a
                      dict by their numbers: {0: 0.1}
    history           earlier studies of related problems, as for `Optimizer`. Without a declared space, the best
                      configuration of each is evaluated first, and the rest counts as soon as the trials show a space
    cost_aware        look for improvement per second: the cost of a trial is the time from its start to its end
    reference_point   with several objectives, the worst values that are of interest, in the order of the directions

    A study may have any number of directions. Each objective and each constraint has a model of its own. Suggestions
    maximise the expected gain of hypervolume, or of the only objective, and the probability that constraints are kept.

    A failed trial has no value: the sampler learns where evaluations fail, and avoids such places. A pruned trial
    counts with its last intermediate value, or as failed without one. The trials of other workers count too.
    A trial may carry the standard error of its value as the user attribute "addtree:std", or a list of them.

    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def objective(trial):
    ...     if trial.suggest_categorical("model", ["line", "curve"]) == "line":
    ...         return 1 + trial.suggest_float("slope", -1, 1) ** 2
    ...     return (trial.suggest_float("bend", -1, 1) - 0.3) ** 2
    >>> study = optuna.create_study(sampler=AddTreeSampler(seed=0))
    >>> study.optimize(objective, n_trials=20)
    >>> study.best_params["model"], study.best_value < 1e-4
    ('curve', True)
    """

    def __init__(
        self,
        space: Space | None = None,
        *,
        seed: int | None = None,
        n_startup_trials: int = 10,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        noise: float | Mapping[int, float] | None = None,
        initial: Sequence[Config] = (),
        history: Sequence[Any] = (),
        cost_aware: bool = False,
        reference_point: Sequence[float] | None = None,
    ) -> None:
        if space is not None and not isinstance(space, Space):
            raise OptionError(f"space={space!r} must be an addtree.Space, or None to infer it from the trials")
        if space is not None:
            check_distinct(space)
        if not (is_whole(n_startup_trials) and n_startup_trials >= 0):
            raise OptionError(f"n_startup_trials={n_startup_trials!r} must be a whole number, zero or more")
        if constraints_func is not None and not callable(constraints_func):
            raise OptionError(f"constraints_func={constraints_func!r} must be a function of a trial, or None")
        for std in noise.values() if isinstance(noise, Mapping) else (noise,):
            Specification(noise=std)  # raises if the noise is impossible
        configs = read_initial_configs(space, initial)
        point = None if reference_point is None else _checked_point(reference_point)
        settings = Settings(space, checked_seed(seed), int(n_startup_trials), configs, noise, reference_point=point)
        self._settings = replace(settings, history=check_history(history), cost_aware=bool(cost_aware))
        self._constraints_func = constraints_func
        self._lock = threading.RLock()
        self._states: list[StudyState] = []  # Those of the studies used last, the latest first.

    def with_history(self, history: Sequence[Any]) -> AddTreeSampler:
        """The same sampler with other earlier studies."""
        other = copy.copy(self)
        other._settings = replace(self._settings, history=check_history(history))
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_states")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock, self._states = threading.RLock(), []

    def reseed_rng(self) -> None:
        """Does nothing: the random numbers of a trial depend only on the seed and the trial's number."""

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Every parameter of the model that the objective has asked for in this process, and always in the same way.

        Optuna refuses a relative parameter that the objective then asks for with another scale or other categories, as
        edited code does. So `sample_independent` hands out each parameter the first time.
        """
        with self._lock:
            state = self._state(study)
            state.begin(study, trial)
            known = {} if state.model is None else state.model.translation.distributions
            usual = {name: d for name, d in state.asked.items() if name in known and name not in state.changing}
            return {name: d for name, d in usual.items() if is_compatible(known[name], d)}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The parameters that are active in the suggested configuration, as far as they are in the search space."""
        with self._lock:
            state = self._state(study)
            state.begin(study, trial)
            initial = state.initial.take(study, trial, state.history.published)
            fixed = {**initial, **fixed_params(trial), **trial.params}
            if not initial and (state.model is None or state.model.covers(fixed)):
                return {}
            params = fixed
            for attempt in range(_MAX_ATTEMPTS):
                n_finished = len(state.history.finished)
                if state.model is not None:
                    params = self._suggest(state.model, study, trial, fixed, attempt)
                state.history.publish(study, trial, params)
                if not state.can_coincide(params, fixed):
                    break
                state.refresh(study)
                if state.model is None or not state.model.is_taken(params, except_for=trial.number, since=n_finished):
                    break
            state.remember(trial, params)
            # Another trial may have shown since `infer_relative_search_space` that a range is dynamic.
            values = {name: value for name, value in params.items() if suggested_position(value) is None}
            return {name: value for name, value in values.items() if name in search_space}

    def _suggest(
        self, model: StudyModel, study: Study, trial: FrozenTrial, fixed: dict[str, Any], attempt: int
    ) -> dict[str, Any]:
        """The best parameters for a trial in which some are fixed."""
        by_wrapper = fixed_by_wrapper(study)
        restriction = model.restriction(fixed, by_wrapper)
        suggested = model.suggest(trial.number, self._rng(trial, attempt), restriction, {**by_wrapper, **fixed})
        inactive = model.translation.space.variables.keys() - suggested.keys()
        return {**suggested, **{name: value for name, value in fixed.items() if name not in inactive}}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """The value of a suggested parameter in the range that the objective asks for, or a random value."""
        with self._lock:
            state = self._state(study)
            if trial.number not in state.suggestions:
                state.begin(study, trial)
                state.recall(trial)
            state.note_asked(param_name, param_distribution)
            if param_name not in state.suggestions.get(trial.number, {}):
                state.complete(trial, param_name, self._rng(trial, 0))
            with suppress(ConfigError):
                return state.decode(trial, param_name, param_distribution)
            counts = state.history.counts.get(param_name, {})
        purpose = zlib.crc32(param_name.encode(errors="surrogatepass"))
        return draw_value(param_distribution, counts, self._rng(trial, purpose))

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Evaluate the constraints and store them with the trial. An impossible standard error raises."""
        standard_errors(trial, len(study.directions))
        if self._constraints_func is None or state not in (TrialState.COMPLETE, TrialState.PRUNED):
            return
        returned = self._constraints_func(trial)
        try:
            constraints = [float(constraint) for constraint in returned]
        except (TypeError, ValueError):
            raise OptionError(
                f"constraints_func returned {returned!r} for trial {trial.number}; it must return a list of numbers"
            ) from None
        if any(math.isnan(constraint) for constraint in constraints):
            raise OptionError(
                f"constraints_func returned {constraints!r} for trial {trial.number}; a constraint must not be NaN"
            )
        study._storage.set_trial_system_attr(trial._trial_id, "constraints", constraints)

    def recommend(self, study: Study) -> FrozenTrial:
        """The complete trial with the best mean under the model: a safer choice than `study.best_trial` under noise.

        It is a pure query: it changes no later suggestion. The answer depends only on the trials of the study and on
        the arguments of the sampler. Like `study.best_trial`, it raises a ValueError if no trial is complete and
        feasible.
        """
        if len(study.directions) > 1:
            raise OptionError(
                f"recommend() needs one objective, and the study has {len(study.directions)}; see study.best_trials"
            )
        best = study.best_trial
        state = StudyState(study, self._settings)
        state.refresh(study)
        recommended = None if state.model is None else state.model.recommend()
        return best if recommended is None else copy.deepcopy(recommended)

    def space(self, study: Study) -> Space | None:
        """The declared space, or else the space that the finished trials of a study show; None if there are none.

        A range covers the values of all trials: a parameter whose range depends on others, and code that was edited,
        have several ranges. An option that was removed is still there.
        """
        return self._settings.space if self._settings.space is not None else inferred_space(study)

    def _state(self, study: Study) -> StudyState:
        """What is known about the study."""
        state = next((state for state in self._states if state.belongs_to(study)), None)
        if state is None:
            state = StudyState(study, self._settings)
        others = [other for other in self._states if other is not state]
        self._states = [state, *others][:_MAX_STUDIES]
        return state

    def _rng(self, trial: FrozenTrial, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self._settings.seed, trial.number, purpose])


def _checked_point(point: Any) -> tuple[float, ...]:
    """A reference point as floats, or an OptionError."""
    if not isinstance(point, (Sequence, np.ndarray)) or isinstance(point, str) or not all(map(is_finite, point)):
        raise OptionError(
            f"reference_point={point!r} must be a list with a finite number for each objective, such as [0.5, 100.0]"
        )
    return tuple(map(as_float, point))
