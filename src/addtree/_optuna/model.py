"""The model of one study: the translation of its trials, and an optimizer that was told about them."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.codec import Translation
from addtree._optuna.repetitions import Repetitions, has_ended_early, is_repeated
from addtree._optuna.shared_fit import SharedFit
from addtree._optuna.startup import MAX_STARTUP_FACTOR, StartupDesign
from addtree._optuna.trials import (
    StudyGoals,
    TrialHistory,
    exact_params,
    fixed_params,
    is_feasible,
    seconds,
    suggested_positions,
)
from addtree.errors import ConfigError, TrialError
from addtree.optimizer import Optimizer
from addtree.run.goals import Objective
from addtree.run.history import EarlierTask, read_history, without_names
from addtree.search.design import DesignSettings
from addtree.space.restriction import Restriction
from addtree.space.space import Space

_log = logging.getLogger("addtree")

_MAX_REPEATS = 5
"""A suggestion is made at most this often if its positions stand for the values of another trial."""

_MAX_DRAWS = 64
"""After that, a random configuration is drawn at most this often until it repeats no trial."""

_MANY_PENDING = 8
"""While this many other trials are unfinished, a suggestion must be fast: it slows the other workers down as well."""

_MAX_SHARED_ROWS = 500
"""Then the model that a worker takes over from another one uses at most this many trials, so that the cost of a
suggestion stays the same from then on (`python -m benchmarks.workers reads`)."""


@dataclass(frozen=True)
class Settings:
    """The arguments of a sampler that its model depends on.

    space             the declared space; None if the trials show it
    seed              the seed of every random number
    n_startup_trials  the number of trials before the model is used
    initial           the initial configurations, in the values of trials
    noise             the standard deviation of repeated evaluations; None to learn it; by number for several objectives
    history           earlier studies, in the values of trials; pairs have the direction of the study
    cost_aware        whether suggestions look for improvement per second of the duration of a trial
    reference_point   the worst values that are of interest, one for each of several objectives; None to choose them
    """

    space: Space | None
    seed: int
    n_startup_trials: int
    initial: tuple[dict[str, Any], ...] = ()
    noise: float | Mapping[int, float] | None = None
    history: tuple[Any, ...] = ()
    cost_aware: bool = False
    reference_point: tuple[float, ...] | None = None

    def tasks(self, goals: StudyGoals) -> tuple[EarlierTask, ...]:
        """The earlier studies of a study with these goals."""
        history = self.history if goals.names is not None else without_names(self.history)
        names = goals.names or map(str, range(len(goals.maximize)))
        return read_history(history, [Objective(*each) for each in zip(names, goals.maximize, strict=True)])


class StudyModel:
    """Suggests configurations for a study. It exists as soon as there is a translation with at least one parameter."""

    def __init__(
        self,
        translation: Translation,
        history: TrialHistory,
        settings: Settings,
        goals: StudyGoals,
        shared: SharedFit | None = None,
    ) -> None:
        self.translation = translation
        self._history, self._settings, self._shared = history, settings, shared
        self._goals = goals
        self._is_noisy = any(goals.declared(settings.noise).values())
        self._warned: set[str] = set()  # The reasons for which a warning was logged.
        self._restart()

    def retranslate(self, translation: Translation) -> None:
        """Use another translation from now on. If its space differs, every trial has to be told again.

        The order of parameters counts as a difference, so that a worker that joins later suggests the same.
        """
        changed = not translation.means_the_same(self.translation)
        self.translation = translation
        if changed:
            self._restart()

    def _restart(self) -> None:
        space, n_startup = self.translation.space, self._settings.n_startup_trials
        encoding = space.encoding
        size, most = DesignSettings().size(encoding), MAX_STARTUP_FACTOR * n_startup
        if self._settings.space is None:  # The startup design replaces that of the optimizer.
            # It takes a few trials to see that a range is dynamic, and they are not part of the design.
            rows = n_startup if self.translation.dynamic else min(size, n_startup)
            n_initial, self._startup = 1, StartupDesign(encoding, rows, most)
        else:
            n_initial, self._startup = min(size, most), StartupDesign(encoding, 0, 0)
        options = self._goals.options(self._settings.noise, self._settings.reference_point)
        read = without_names(self._settings.tasks(self._goals))
        tasks = [replace(task, configs=tuple(map(self.translation.values, task.configs))) for task in read]
        options |= {"cost_aware": self._settings.cost_aware, "n_initial": max(n_initial, 1)}
        self._optimizer = Optimizer(space, seed=self._settings.seed, history=tasks, **options)
        self._told: dict[int, FrozenTrial] = {}  # The complete feasible trials, by their ids in the optimizer.
        self._least: dict[str, float] = {}  # The least value of each constraint that was told, at most zero.
        # The parameters and the configurations of the unfinished trials, by number, when they were last looked at.
        self._pending: dict[int, tuple[dict[str, Any], dict[str, Any] | None]] = {}
        self._repetitions = Repetitions(is_noisy=self._is_noisy)
        self._n_told = 0  # The number of trials of `history.finished` that the optimizer knows.

    # ------------------------------------------------------------------ telling

    def tell_new(self) -> None:
        """Tell the optimizer about the trials that were read since the last time, by number."""
        finished = self._history.finished
        new = finished[self._n_told :]
        goals = self._goals.including(new)
        if goals != self._goals:  # Every trial has to be told again, with the constraints that are new.
            self._goals = goals
            self._restart()
            new = finished
        self._n_told = len(finished)
        for trial in sorted(new, key=lambda trial: trial.number):
            config = self._config(trial, exact_params(trial))
            if config is not None:
                self._tell(trial, config)
                self._startup.add(config)
                self._repetitions.add(trial, config, self.translation)

    def _tell(self, trial: FrozenTrial, config: dict[str, Any]) -> None:
        """Tell the optimizer about a finished trial."""
        value, std = self._goals.told(trial, self._least), None
        if value is None and trial.state == TrialState.COMPLETE:
            self._warn("values", f"trial {trial.number} has the values {trial.values} and counts as failed")
        for name, constraint in trial.constraints.items():
            if math.isfinite(constraint):
                self._least[name] = min(self._least.get(name, 0.0), constraint)
        with suppress(TrialError):  # The sampler raised this error when the trial ended.
            std = self._goals.stds(trial)
        told = self._optimizer.tell(config, value, std=std, failed=value is None, cost=seconds(trial))
        if is_feasible(trial) and told.state == "done" and trial.state == TrialState.COMPLETE:
            self._told[told.id] = trial

    def _config(self, trial: FrozenTrial, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """The configuration of a trial with these parameters; None, and one warning, if they do not fit the space.

        A trial that ended early counts with the values that were suggested for what it did not ask for. With one and
        the same value in all such trials, that value would seem to be the reason.
        """
        complete = trial.state == TrialState.COMPLETE
        unasked = self._history.published(trial) if has_ended_early(trial) else {}
        params = {**unasked, **params, **suggested_positions(trial, self.translation.dynamic & trial.params.keys())}
        try:
            return self.translation.config(params, complete=complete, ranges=trial.distributions)
        except ConfigError as error:
            config = None if self._settings.space is None else self._as_suggested(trial, params)
            if complete and config is None:
                self._warn("space", f"trial {trial.number} is left out: {error}")
            elif complete and config is not None:
                self._warn_of_activity(trial, params, config)
            return config

    def _as_suggested(self, trial: FrozenTrial, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """The configuration of a trial that does not have exactly the active parameters of a declared space.

        What it lacks has the value that was suggested, and what is inactive is left out. If such trials did not count,
        the same configuration would be suggested again, forever. None if a value is not known or not in the space.
        """
        known, config = {**self._history.published(trial), **params}, dict[str, Any]()
        with suppress(ConfigError, KeyError):
            for node in self.translation.space.active_nodes(config):
                config.update({name: known[name] for name in node.names if name in known})
            return self.translation.config(config, complete=True)
        return None

    def _warn_of_activity(self, trial: FrozenTrial, params: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        """Log a warning that names the parameters that a trial lacks, and those that are inactive in it, once each."""
        variables = self.translation.space.variables
        constants = {name for node in self.translation.space.nodes for name in node.constants}
        for names, problem in (
            (config.keys() - params.keys() - constants, "is active but not asked for, and counts as suggested"),
            (variables.keys() & params.keys() - config.keys(), "is asked for but inactive, and does not count"),
        ):
            for name in sorted(names, key=list(variables).index):
                text = f"the objective contradicts the space: in trial {trial.number}, {name!r} {problem}"
                self._warn(f"{problem}: {name}", text)

    def _warn(self, reason: str, message: str) -> None:
        """Log a warning, one for each reason."""
        if reason not in self._warned:
            self._warned.add(reason)
            _log.warning("%s (later trials without a warning)", message)

    def recommend(self) -> FrozenTrial | None:
        """The complete feasible trial with the best mean under the model; None if the model knows none."""
        return self._told[self._optimizer.recommend(self._told.keys()).id] if self._told else None

    # ------------------------------------------------------------------ suggesting

    def suggest(
        self,
        number: int,
        rng: np.random.Generator,
        restriction: Restriction | None = None,
        fixed: Mapping[str, Any] = MappingProxyType({}),
    ) -> dict[str, Any]:
        """The parameters for the trial of that number. `rng` serves the startup; the optimizer has its own seed.

        fixed  the values of parameters that are fixed; a restriction does not have those in dynamic ranges
        """
        pending = self.pending(except_for=number)
        agreeing = self.translation.restricted(restriction)
        params: dict[str, Any] = {}
        for _ in range(_MAX_REPEATS):
            config = self._startup.suggest(pending, rng, agreeing)
            if config is None:
                probed = self._startup.probe(pending, agreeing) if restriction is None else None
                allowed = agreeing if probed is None else self.translation.restricted(probed)
                config = self._model_config(number, pending, allowed)
            params = self._params(config, fixed)
            ends_early = any(is_repeated(trial, params, self.translation) for trial in self._repetitions.ended_early)
            may_repeat = self._repetitions.may_be_unknown(config, self.translation)
            if not (ends_early or (may_repeat and self._repeats(params, except_for=number))):
                return params
            pending = [*pending, config]
        # If the positions of a range do not matter, the model may suggest further ones forever.
        return self._random_params(number, rng, agreeing, fixed)

    def _params(self, config: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a configuration, with the fixed values of those that have a dynamic range."""
        params = self.translation.params(config)
        return {**params, **{name: fixed[name] for name in self.translation.dynamic & params.keys() & fixed.keys()}}

    def _random_params(
        self, number: int, rng: np.random.Generator, restriction: Restriction | None, fixed: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Random parameters that repeat no trial, if such are found."""
        space = self.translation.space
        params: dict[str, Any] = {}
        for _ in range(_MAX_DRAWS):
            config = space.sample(rng)
            if restriction is not None:
                row = restriction.complete(space.encoding.encode([config]), rng)[0]
                config = restriction.restore(space.encoding.decode(row))
            params = self._params(config, fixed)
            if not self._repeats(params, except_for=number):
                break
        return params

    def _model_config(
        self, number: int, pending: Sequence[dict[str, Any]], restriction: Restriction | None
    ) -> dict[str, Any]:
        """The configuration that the model suggests. A fit that another worker did is not done again."""
        optimizer, shared, space = self._optimizer, self._shared, self.translation.space
        if shared is not None:
            max_rows = _MAX_SHARED_ROWS if len(pending) >= _MANY_PENDING else None
            optimizer.learn_from(lambda: shared.read(space), max_rows=max_rows)
        before = optimizer.learned
        turn = number + 1  # `Optimizer.ask` counts from 1.
        config = optimizer.suggest(turn, pending=pending, fixed=restriction, keep_fit=True)
        after = optimizer.learned
        if shared is not None and after is not None and after != before:
            shared.write(space, after)
        return config

    def _repeats(self, params: Mapping[str, Any], *, except_for: int) -> bool:
        """Whether the code would ask for the parameters of another trial again, and get the same values."""
        others = (*self._history.finished, *self._history.unfinished)
        return any(trial.number != except_for and is_repeated(trial, params, self.translation) for trial in others)

    def restriction(self, fixed: Mapping[str, Any], where_active: Mapping[str, Any]) -> Restriction | None:
        """What is known of a trial before it is suggested; None if nothing is.

        fixed         parameters that the trial has. If they cannot all be active, each counts only where it is. If
                      they violate the rules of the space, none counts. Of a value in a dynamic range, the position is
                      not known yet, but the parameter is active
        where_active  parameters that are fixed wherever they are active
        """
        encoding = self.translation.space.encoding
        values = self.translation.values({**where_active, **fixed})
        active = self.translation.dynamic & fixed.keys()
        if not values and not active:
            return None
        for optional, required in ((where_active.keys() - fixed.keys(), active), (values.keys(), ())):
            with suppress(ConfigError):
                return Restriction.of(encoding, values, optional=optional, active=required)
        return None

    def complete(self, trial: FrozenTrial, name: str, rng: np.random.Generator) -> dict[str, Any]:
        """The best parameters for a trial that has some already and asks for a further one.

        Empty if the further one cannot be active.
        """
        encoding, values = self.translation.space.encoding, self.translation.values(trial.params, trial.distributions)
        try:
            restriction = Restriction.of(encoding, values, active=[name])
        except ConfigError:
            return {}
        return self.suggest(trial.number, rng, restriction)

    def pending(self, *, except_for: int) -> list[dict[str, Any]]:
        """The configurations that other trials are evaluating, or that wait for a worker."""
        known, self._pending = self._pending, {}
        for trial in self._history.unfinished:
            fixed = fixed_params(trial)
            params = {**(fixed if self.covers(fixed) else {}), **self._history.published(trial), **exact_params(trial)}
            if not params:
                continue
            before, config = known.get(trial.number, ({}, None))
            if params != before or self.translation.dynamic:  # In a dynamic range, parameters are not all that counts.
                config = self._config(trial, params)
            self._pending[trial.number] = params, config
        found = (config for number, (_, config) in self._pending.items() if number != except_for)
        return [config for config in found if config is not None]

    def covers(self, params: Mapping[str, Any]) -> bool:
        """Whether these fixed parameters are a whole configuration, so that nothing is left to suggest."""
        try:
            return bool(params) and self.translation.config(params, complete=False).keys() <= params.keys()
        except ConfigError:
            return False

    def is_taken(self, params: Mapping[str, Any], *, except_for: int, since: int) -> bool:
        """Whether another trial has the same configuration and is unfinished, or was read after the first `since`."""
        try:
            config = self.translation.config(params, complete=True)
        except ConfigError:
            return False
        finished = [self._config(trial, exact_params(trial)) for trial in self._history.finished[since:]]
        return config in finished or config in self.pending(except_for=except_for)
