"""`AddTreeSampler`: this package inside Optuna, on unchanged define-by-run code."""

from __future__ import annotations

import json
import logging
import math
import threading
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.codec import Declared, Inferred, Translation
from addtree.errors import ConfigError, OptionError
from addtree.optimizer import Optimizer
from addtree.search.design import DesignSettings, has_unseen_option, next_row
from addtree.space.encoding import Encoding
from addtree.space.space import Space

_log = logging.getLogger("addtree")

LOST = "addtree:lost"  # system attribute of a failed trial whose worker died: it says nothing about its configuration
_SUGGESTED = "addtree:suggested"  # system attribute: the parameters suggested, for other workers to see at once
_PIECE = 2045  # characters that every storage can hold in one attribute
_STRETCH = 3  # times n_startup_trials: startup goes on for so long while some option has not been seen
_SETTLED = 30  # finished trials after which the structure is inferred anew only for a trial that contradicts it
_RETRIES = 5  # times to choose again when another worker took the same configuration in the same moment


class AddTreeSampler(BaseSampler):
    """An Optuna sampler that models conditional parameters jointly.

    space             the space, where it is known; else it is inferred from the trials seen so far
    seed              an int makes a study reproducible (one worker, same order); None draws one
    n_startup_trials  trials that next_row over the space before the model is used; up to three times as many where it
                      takes them to see every option. A declared space has the initial design of `Optimizer` within
                      that limit, and one worker then gets the very configurations that `Optimizer` would give
    constraints_func  gives a trial's constraints, each violated where positive; `Trial.set_constraint` works as well

    Failed trials count as bad as the worst value, pruned ones by their last intermediate value. Infeasible trials count
    as worse than every feasible value known when they ended, the more the larger the sum of their violations; while
    there is no feasible trial, the violation itself is minimised. Running trials of other workers are accounted for.

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
    ) -> None:
        if space is not None and not isinstance(space, Space):
            raise OptionError(f"space={space!r} must be an addtree.Space, or None to infer it from the trials")
        if n_startup_trials < 0:
            raise OptionError(f"n_startup_trials={n_startup_trials!r} must be zero or more")
        self._space = space
        self._seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else int(seed)
        self._n_startup = n_startup_trials
        self._constraints_func = constraints_func
        self._lock = threading.RLock()
        self._memory: _Memory | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_lock", "_memory")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock, self._memory = threading.RLock(), None

    def reseed_rng(self) -> None:
        """Nothing to do: the randomness of a trial is a function of the seed and its number."""

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Every parameter seen so far, or declared."""
        self._raise_error_if_multi_objective(study)
        with self._lock:
            translation = self._remember(study, trial).translation
            return {} if translation is None else dict(translation.distributions)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The parameters that are active in the configuration suggested."""
        self._raise_error_if_multi_objective(study)
        with self._lock:
            memory = self._remember(study, trial)
            if memory.translation is None:
                return {}
            fixed = trial.system_attrs.get("fixed_params", {})
            if memory.covers(fixed):
                return {}
            for attempt in range(_RETRIES):
                known = memory.numbers()
                params = {**memory.suggest(trial, self._rng(trial, attempt)), **fixed}
                self._publish(study, trial, params)
                memory.sync(study)
                if not memory.taken(params, except_for=trial.number, since=known):
                    break
            memory.plan(trial, params)
            return {name: value for name, value in params.items() if name in search_space}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A value for a parameter that was not suggested, or was suggested out of the range it has this time."""
        self._raise_error_if_multi_objective(study)
        with self._lock:
            memory = self._remember(study, trial)
            planned = memory.suggested.get(trial.number, {})
            if param_name in planned:
                value = _nearest(param_distribution, planned[param_name])
                if value is not None:
                    return value
            counts = memory.counts.get(param_name, {})
        return _draw(param_distribution, counts, self._rng(trial, zlib.crc32(param_name.encode())))

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Evaluate the constraints and keep them with the trial."""
        if self._constraints_func is None or state not in (TrialState.COMPLETE, TrialState.PRUNED):
            return
        constraints = [float(c) for c in self._constraints_func(trial)]
        if any(math.isnan(c) for c in constraints):
            raise OptionError(
                f"constraints_func returned {constraints!r} for trial {trial.number}; NaN is no constraint"
            )
        study._storage.set_trial_system_attr(trial._trial_id, "constraints", constraints)

    def _remember(self, study: Study, trial: FrozenTrial) -> _Memory:
        """What is known of the study, up to date at the beginning of the trial."""
        if self._memory is None or not self._memory.is_of(study):
            self._memory = _Memory(study, self._space, self._seed, self._n_startup)
        if self._memory.latest != trial.number:
            self._memory.sync(study)
            self._memory.latest = trial.number
        return self._memory

    def _rng(self, trial: FrozenTrial, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, trial.number, purpose])

    def _publish(self, study: Study, trial: FrozenTrial, params: dict[str, Any]) -> None:
        """Write the suggestion into the storage: other workers see it before the objective has asked for all of it."""
        try:
            text = json.dumps(params)
        except TypeError:  # a category that JSON cannot hold: the others see it once the objective asks for it
            return
        for i in range(0, max(len(text), 1), _PIECE):
            study._storage.set_trial_system_attr(trial._trial_id, f"{_SUGGESTED}:{i // _PIECE}", text[i : i + _PIECE])


class _Memory:
    """What a sampler remembers of one study, so that each call reads only what is new."""

    def __init__(self, study: Study, space: Space | None, seed: int, n_startup: int) -> None:
        self._storage, self._study_id = study._storage, study._study_id
        self._declared, self._seed, self._n_startup = space, seed, n_startup
        self._sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0  # the model minimises
        self._finished: dict[int, FrozenTrial] = {}
        self._running: list[FrozenTrial] = []
        self._told: set[int] = set()
        self._feasible: tuple[float, float] | None = None  # least and largest value of a feasible trial
        self._warned = False
        self.latest: int | None = None  # the trial for which the storage was last read
        self.optimizer: Optimizer | None = None
        self.translation: Translation | None = None
        self.counts: dict[str, dict[Any, int]] = {}
        self.suggested: dict[int, dict[str, Any]] = {}
        self._translate()

    def is_of(self, study: Study) -> bool:
        return self._storage is study._storage and self._study_id == study._study_id

    # ------------------------------------------------------------------ reading

    def sync(self, study: Study) -> None:
        """Read the trials, and tell the optimizer of those that finished since the last time."""
        trials = study.get_trials(deepcopy=False)
        self._running = [t for t in trials if t.state in (TrialState.RUNNING, TrialState.WAITING)]
        new = [t for t in trials if t.state.is_finished() and t.number not in self._finished and _counts(t)]
        for trial in new:
            self._finished[trial.number] = trial
            for name, value in trial.params.items():
                key = trial.distributions[name].to_internal_repr(value)
                by_value = self.counts.setdefault(name, {})
                by_value[key] = by_value.get(key, 0) + 1
        if new and not self._settled(new):
            self._translate()
        if self.translation is not None:
            self._tell()

    def _settled(self, new: list[FrozenTrial]) -> bool:
        """Whether new trials show nothing new of a structure that many trials have confirmed."""
        translation = self.translation
        if not isinstance(translation, Inferred) or len(self._finished) <= _SETTLED:
            return False
        return all(translation.fits(trial) for trial in new)

    def _translate(self) -> None:
        finished = [self._finished[number] for number in sorted(self._finished)]
        if self._declared is not None:
            seen = {name: d for trial in finished for name, d in trial.distributions.items()}
            self.translation = Declared(self._declared, seen)
        elif finished:
            self.translation = Inferred(finished)
        if self.translation is None or not self.translation.space.variables:
            self.translation = None
        elif self.optimizer is None or self.optimizer.space != self.translation.space:
            self._start_over()

    def _start_over(self) -> None:
        assert self.translation is not None
        self._encoding = Encoding(self.translation.space)
        # a declared space has the optimizer's own design; an inferred one grows, and with it the design (`spread`)
        design = 1 if self._declared is None else min(DesignSettings().size(self._encoding), _STRETCH * self._n_startup)
        self.optimizer = Optimizer(self.translation.space, seed=self._seed, n_initial=max(design, 1))
        self._told, self._feasible = set(), None

    def _tell(self) -> None:
        new = [self._finished[number] for number in sorted(self._finished.keys() - self._told)]
        if self._feasible is None and self._told and any(_feasible(t) and _value(t) is not None for t in new):
            self._start_over()  # violations were on a scale of their own until now
            new = [self._finished[number] for number in sorted(self._finished)]
        values = [self._sign * v for t in new if (v := _value(t)) is not None and _feasible(t)]
        if values:
            known = self._feasible or (math.inf, -math.inf)
            self._feasible = min(known[0], *values), max(known[1], *values)
        assert self.optimizer is not None
        for trial in new:
            self._told.add(trial.number)
            config = self._config(trial, trial.params)
            if config is None:
                continue
            score = self._score(trial)
            self.optimizer.tell(config, score, failed=score is None)

    def _config(self, trial: FrozenTrial, params: dict[str, Any]) -> dict[str, Any] | None:
        assert self.translation is not None
        try:
            return self.translation.config(params, complete=trial.state == TrialState.COMPLETE)
        except ConfigError as error:
            if trial.state == TrialState.COMPLETE and not self._warned:
                self._warned = True
                _log.warning("trial %d is left out (this is said once): %s", trial.number, error)
            return None

    def _score(self, trial: FrozenTrial) -> float | None:
        """What the optimizer is told: lower is better, None is a failure."""
        value = _value(trial)
        if value is None or _feasible(trial):
            return None if value is None else self._sign * value
        violation = sum(c for c in trial.constraints.values() if c > 0)
        if self._feasible is None:
            return violation if math.isfinite(violation) else None
        best, worst = self._feasible
        share = violation / (1.0 + violation) if math.isfinite(violation) else 1.0
        return worst + (worst - best or abs(worst) or 1.0) * share

    # ------------------------------------------------------------------ suggesting

    def suggest(self, trial: FrozenTrial, rng: np.random.Generator) -> dict[str, Any]:
        """The parameters for a trial."""
        assert self.optimizer is not None
        assert self.translation is not None
        pending = [config for _, config in self._pending(trial.number)]
        config = self._spread(pending, rng) if self._declared is None else None
        if config is None:
            config = self.optimizer.suggest(trial.number + 1, pending=pending, keep_fit=True)  # Optimizer.ask counts from 1
        return self.translation.params(config)

    def _spread(self, pending: list[dict[str, Any]], rng: np.random.Generator) -> dict[str, Any] | None:
        """The next configuration of the startup; None where it is over."""
        assert self.optimizer is not None
        rows = self._encoding.encode([t.config for t in self.optimizer.trials] + pending)
        if len(rows) >= _STRETCH * self._n_startup:
            return None
        if len(rows) >= self._n_startup and not has_unseen_option(self._encoding, rows):
            return None
        row = next_row(self._encoding, rows, rng)
        taken = self._encoding.keys(row[None])[0] in self._encoding.keys(rows)
        return None if taken else self._encoding.decode(row)

    def _pending(self, mine: int) -> list[tuple[int, dict[str, Any]]]:
        """Configurations that others are evaluating, or that wait for somebody to do so."""
        found = []
        for trial in self._running:
            fixed = trial.system_attrs.get("fixed_params", {})
            params = {**(fixed if self.covers(fixed) else {}), **published(trial), **trial.params}
            if trial.number != mine and params:
                config = self._config(trial, params)
                if config is not None:
                    found.append((trial.number, config))
        return found

    def plan(self, trial: FrozenTrial, params: dict[str, Any]) -> None:
        """Keep what was suggested while the trial runs: its objective may ask for a part of it in another range."""
        running = {t.number for t in self._running}
        self.suggested = {number: plan for number, plan in self.suggested.items() if number in running}
        self.suggested[trial.number] = params

    def numbers(self) -> set[int]:
        """The finished trials known by now."""
        return set(self._finished)

    def taken(self, params: dict[str, Any], *, except_for: int, since: set[int]) -> bool:
        """Whether another worker is evaluating that very configuration, or has done so since."""
        assert self.translation is not None
        try:
            mine = self.translation.config(params, complete=True)
        except ConfigError:
            return False
        new = [self._finished[number] for number in self._finished.keys() - since]
        others = [self._config(trial, trial.params) for trial in new]
        return mine in others or any(config == mine for _, config in self._pending(except_for))

    def covers(self, params: dict[str, Any]) -> bool:
        """Whether fixed parameters leave nothing to suggest."""
        assert self.translation is not None
        try:
            return bool(params) and self.translation.config(params, complete=False).keys() <= params.keys()
        except ConfigError:
            return False


def _counts(trial: FrozenTrial) -> bool:
    """Whether a finished trial says anything about its configuration."""
    return bool(trial.params) and not trial.system_attrs.get(LOST)


def _value(trial: FrozenTrial) -> float | None:
    if trial.state == TrialState.COMPLETE:
        return trial.value
    if trial.state == TrialState.PRUNED and trial.intermediate_values:
        value = trial.intermediate_values[max(trial.intermediate_values)]
        return value if math.isfinite(value) else None
    return None


def _feasible(trial: FrozenTrial) -> bool:
    return all(c <= 0 for c in trial.constraints.values())


def published(trial: FrozenTrial) -> dict[str, Any]:
    """The parameters suggested for a running trial, whether or not its objective has asked for them yet."""
    pieces: list[str] = []
    while (piece := trial.system_attrs.get(f"{_SUGGESTED}:{len(pieces)}")) is not None:
        pieces.append(piece)
    try:
        found: dict[str, Any] = json.loads("".join(pieces)) if pieces else {}
    except ValueError:  # the other worker is just writing it
        return {}
    return found


def _nearest(distribution: BaseDistribution, value: Any) -> Any:
    """The value of a distribution nearest to one that may be outside; None where there is none such."""
    if isinstance(distribution, CategoricalDistribution):
        return value if value in distribution.choices else None
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    if isinstance(value, (str, bool)) or value is None:
        return None
    value = min(max(value, distribution.low), distribution.high)
    if distribution.step is not None:
        value = distribution.low + round((value - distribution.low) / distribution.step) * distribution.step
    return min(int(value) if isinstance(distribution, IntDistribution) else float(value), distribution.high)


def _draw(distribution: BaseDistribution, counts: dict[Any, int], rng: np.random.Generator) -> Any:
    """A random value: of categories one seen least, of numbers uniform on their scale."""
    if isinstance(distribution, CategoricalDistribution):
        tried = [counts.get(float(i), 0) for i in range(len(distribution.choices))]
        return distribution.choices[int(rng.choice(np.flatnonzero(np.array(tried) == min(tried))))]
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    low, high, u = distribution.low, distribution.high, rng.random()
    if isinstance(distribution, IntDistribution) and not distribution.log:
        return distribution.low + int(rng.integers(round((high - low) / distribution.step) + 1)) * distribution.step
    if distribution.step is not None and not distribution.log:
        return _nearest(
            distribution, low + int(rng.integers(round((high - low) / distribution.step) + 1)) * distribution.step
        )
    if distribution.log:
        edge = 0.5 if isinstance(distribution, IntDistribution) else 0.0
        value = math.exp(math.log(low - edge) + u * (math.log(high + edge) - math.log(low - edge)))
        return _nearest(distribution, round(value) if edge else value)
    return float(low + u * (high - low))
