"""`Optimizer`: ask for configurations, tell their values. It holds the state of a run; its parts are immutable."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, overload

import numpy as np

from addtree._types import Config
from addtree.errors import OptionError, TrialError
from addtree.model.observations import Observations
from addtree.run import display, prediction, save_format, save_schema
from addtree.run import history as _history
from addtree.run.goals import Bounds, Goals, Noise, checked_flag
from addtree.run.models import Learning, Models
from addtree.run.settings import Settings as Settings
from addtree.run.suggestion import Known, Suggester, checked_seed, checked_size, turn_rng
from addtree.run.trials import Evaluation, Trial, TrialLog
from addtree.search.candidates import Observed
from addtree.search.design import initial_design
from addtree.search.policy import check_acquisition
from addtree.space.restriction import Restriction, read_initial
from addtree.space.space import Space, check_space
from addtree.support.numbers import is_whole
from addtree.support.threads import Lock, one_blas_thread, synchronized

_EXACT = 1e-6  # With less noise than this share of the variance of the values, `recommend` is the same as `best`.


class Optimizer:
    """Bayesian optimization by ask and tell. Any number of trials may be pending, and be told in any order.

    >>> from addtree import Real
    >>> opt = Optimizer(Space(x=Real(-1, 1)), seed=0)
    >>> for _ in range(15):
    ...     trial = opt.ask()
    ...     _ = opt.tell(trial, trial.config["x"] ** 2)
    >>> opt.best.value < 1e-6
    True

    seed         an int makes the run reproducible; None draws one
    maximize     look for the largest value instead of the smallest
    objectives   names and directions of several objectives: {"error": "min", "speed": "max"}
    constraints  names and bounds of further values: {"memory": 16.0} is an upper bound, (low, high) bounds both sides,
                 and None stands for no bound
    covariance   "additive+interactions" (default), "additive" (the paper's), "independent" (no sharing)
    acquisition  "logei" (default), "ucb", "additive-ucb" (the paper's Algorithm 2), "thompson"; with several objectives
                 or constraints, "logei" is the log expected hypervolume improvement plus the log feasibility
    inference    "map" (default) or "mle" (the paper's)
    noise        standard deviation of repeated evaluations, a dict by name if there are several; None to learn it
    reference_point
                 with several objectives, the worst values of interest, by name; by default worse by the front's range
    cost_aware   look for improvement per unit of cost, as far as costs are told
    n_initial    size of the initial design: the model is used once this many trials have a result. With a history,
                 only some rows of the design are asked, unless the values told disagree with the history
    initial      configurations to ask first, in this order. One that lacks parameters is completed: by the design, or
                 by the model once there is one. A parameter that is given implies the options that activate it. One
                 that was told before, or is in the list twice, is skipped unless noise is declared above zero
    history      earlier studies of related problems: optimizers, paths of files that `save` wrote, Optuna studies, or
                 lists of (config, value). Pairs have the direction of this optimizer, the others carry their own.
                 Spaces may differ. A few configurations that were good before are asked after the initial ones
    settings     for experiments with the model and the search; not part of the stable interface

    Several threads may use one optimizer: each call runs alone. Other processes need an optimizer of their own.
    """

    def __init__(
        self,
        space: Space,
        *,
        seed: int | None = None,
        maximize: bool = False,
        objectives: Mapping[str, str] | None = None,
        constraints: Mapping[str, Bounds] | None = None,
        covariance: str = "additive+interactions",
        acquisition: str = "logei",
        inference: str = "map",
        noise: Noise = None,
        reference_point: Mapping[str, float] | None = None,
        cost_aware: bool = False,
        n_initial: int | None = None,
        initial: Sequence[Config] = (),
        history: Sequence[Any] = (),
        settings: Settings | None = None,
    ) -> None:
        goals = Goals.read(objectives, constraints, maximize=maximize, noise=noise, reference_point=reference_point)
        check_acquisition(acquisition, covariance, single=goals.is_single)
        self._settings = settings = settings or Settings()
        self.space = check_space(space)
        seed, encoding = checked_seed(seed), space.encoding
        learning = Learning.of(encoding, goals, covariance, inference, settings)
        self.history = _history.adapt(_history.read_history(history, goals.objectives), encoding)
        earlier = _history.learn(self.history, encoding, learning.specifications[0], learning.kernel, settings.transfer)
        portfolio, learning = _history.portfolio(earlier, encoding), replace(learning, earlier=earlier)
        size = settings.design.size(encoding, inference) if n_initial is None else checked_size(n_initial, encoding)
        design = initial_design(encoding, size, turn_rng(seed, 0))
        policy = settings.policy if earlier is None else settings.policy.with_earlier_tasks()
        policy = replace(policy, acquisition=acquisition)
        per_cost = checked_flag("cost_aware", cost_aware)
        self._suggester = Suggester(encoding, goals, learning, policy, design, portfolio, seed, per_cost)
        self._initial = read_initial(encoding, initial)  # those that were not asked yet
        self._log = TrialLog(encoding, goals)
        self._asks = 0
        self._models: Models | None = None
        self._lock = Lock()

    # ------------------------------------------------------------------ ask

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    @synchronized
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """A trial to evaluate next; `ask(4)` gives four different ones at once."""
        if n is None:
            return self._ask_one()
        if not is_whole(n) or n < 1:
            raise OptionError(f"ask({n!r}): the number of trials must be a whole number, at least 1")
        return [self._ask_one() for _ in range(n)]

    @one_blas_thread()
    def _ask_one(self) -> Trial:
        self._asks += 1
        known = Known(self._log, self._suggester.encoding.encode([]), self._models)
        config, self._models, self._initial = self._suggester.next(self._asks, known, self._initial)
        return self.expect(config)

    @synchronized
    @one_blas_thread()
    def suggest(
        self,
        turn: int,
        *,
        pending: Sequence[Config] = (),
        fixed: Config | Restriction | None = None,
        keep_fit: bool = False,
    ) -> dict[str, Any]:
        """The configuration that `ask` would give at this turn, without recording it.

        The randomness of a suggestion depends only on the seed and the turn. `ask` counts turns by itself. A caller
        that numbers its trials, in an order that several processes agree on, gives that number.

        pending   configurations that are being evaluated but were not asked for here; they are not recorded
        fixed     a partial configuration: the suggestion is the best completion of it
        keep_fit  keep the model if it was fitted again, as `ask` does: later fits start from it. By default this is a
                  pure query: it changes no later answer
        """
        encoding = self._suggester.encoding
        known = Known(self._log, encoding.encode(pending), self._models)
        if fixed is None:
            config, models, _ = self._suggester.next(turn, known, self._initial)
        else:
            restriction = fixed if isinstance(fixed, Restriction) else Restriction.of(encoding, fixed)
            row, models = self._suggester.suggest(turn, known, restriction)
            config = restriction.restore(encoding.decode(row))
        if keep_fit:
            self._models = models
        return config

    @synchronized
    def expect(self, config: Config) -> Trial:
        """Record a configuration as pending: somebody is evaluating it, and its value will be told."""
        return self._log.expect(self.space.validate(config))

    # ------------------------------------------------------------------ share what was learned

    @property
    @synchronized
    def learned(self) -> list[dict[str, Any]] | None:
        """For JSON, the hyperparameters of each model and the number of values fitted; None before the first fit."""
        return None if self._models is None else self._models.to_dict()

    @synchronized
    def learn_from(
        self, fetch: Callable[[], Sequence[Mapping[str, Any]] | None], *, max_rows: int | None = None
    ) -> None:
        """If the next suggestion would fit the model, use the fit of another optimizer instead, if there is one.

        fetch     returns `learned` of an optimizer that has the same space and options, and about the same values; None
                  if there is none. A result that no such optimizer can have learned is ignored
        max_rows  largest number of values that the model uses from then on
        """
        known, n_done = self._models, len(self._log.done)
        if not n_done or (known is not None and not known.is_due(n_done)) or not (found := fetch()):
            return
        if known is None or found[0]["n"] > known.values[0].n_fitted:
            forms = [
                {"theta": own["theta"], **{key: min(own[key], n_done) for key in ("n", "n_fresh")}} for own in found
            ]
            with suppress(ValueError):
                self._use(forms, max_rows=max_rows, exact=False)

    # ------------------------------------------------------------------ tell

    @synchronized
    def tell(
        self,
        trial: Trial | int | Config,
        value: Any = None,
        *,
        std: float | Mapping[str, float | None] | None = None,
        failed: bool = False,
        cost: float | None = None,
        evaluation: Evaluation | None = None,
    ) -> Trial:
        """Report the value of a trial (or of its id, or of a configuration from outside), or that it failed.

        With several objectives or constraints, `value` is a dict with a number for each, by name, and `std` may be a
        dict as well. A trial with a NaN or an infinite value counts as failed.

        std         the standard error of this value if known, such as that of a mean over folds; it adds to the noise
        cost        what the evaluation cost, such as seconds; it is recorded, and counts if the run is `cost_aware`
        evaluation  how long the evaluation took, and why it failed, for the record
        """
        goals = self._suggester.goals
        if checked_flag("failed", failed) and value is not None:
            raise TrialError(f"failed=True takes no value, got {value!r}; leave out one of the two")
        values, stds = None if failed else goals.read_values(value), goals.read_stds(std)
        known = (evaluation or Evaluation()).with_cost(cost)
        asked = self.expect(trial) if isinstance(trial, Mapping) else self._log.find_pending(trial)
        return self._log.tell(asked, values, stds, known)

    @synchronized
    def forget(self, trial: Trial | int) -> None:
        """Remove a pending trial that is no longer being evaluated. Its configuration may be suggested again."""
        self._log.forget(self._log.find_pending(trial))

    # ------------------------------------------------------------------ what is known

    @property
    @synchronized
    def trials(self) -> list[Trial]:
        """Every trial, by id."""
        return self._log.all

    @property
    @synchronized
    def best(self) -> Trial:
        """The feasible trial with the best value. With several objectives it raises: see `pareto`."""
        return self._log.best()

    @property
    @synchronized
    def pareto(self) -> list[Trial]:
        """The feasible trials that no other dominates, by id. With one objective, those with the best value."""
        return self._log.pareto()

    @synchronized
    def hypervolumes(self, reference_point: Mapping[str, float] | None = None) -> list[float]:
        """The hypervolume of the front after each trial told, in the units of the values told.

        It is the volume of what is dominated by a feasible trial and better than the reference point. By default the
        reference point is that of the optimizer, or else worse than the present front by a tenth of its range. The
        hypervolume of values near the largest float, such as 1e300, is infinite.
        """
        return self._log.hypervolumes(self.goals.with_reference(reference_point).reference)

    @property
    def goals(self) -> Goals:
        """The objectives and constraints."""
        return self._suggester.goals

    @property
    def maximize(self) -> bool:
        """Whether the largest value is sought; with several objectives, of the first."""
        return self._suggester.goals.objectives[0].maximize

    @synchronized
    @one_blas_thread()
    def recommend(self, among: Collection[int] | None = None) -> Trial:
        """The feasible trial with the best mean under the model: a safer choice than `best` if values are noisy.

        With several objectives it raises: see `pareto`.

        among  ids of the trials that may be recommended; by default all
        """
        best, data = self._log.best(among, what="recommend()"), self._log.data()
        if self.goals.noise.get(self.goals.names[0]) == 0 and not data[0].std.any():
            return best
        surrogate = self._model(data).values[0]
        if np.max(surrogate.posterior.noise) < _EXACT * np.var(surrogate.posterior.z):
            return best
        known = {trial.id for trial in self._log.feasible(among)}
        done = [trial for trial in self._log.done if trial.id in known]
        rows = self._suggester.encoding.encode([trial.config for trial in done])
        return done[int(np.argmin(surrogate.predict(rows)[0]))]

    @synchronized
    @one_blas_thread()
    def predict(self, config: Config, *, observed: bool = False, name: str | None = None) -> tuple[float, float]:
        """Mean and standard deviation at a configuration, in the units of the values told.

        observed  give those of an observation, noise included, instead of those of the function
        name      the objective or constraint to predict; with one objective, that is the default
        """
        row, data = self._suggester.encoding.encode([self.space.validate(config)])[0], self._checked_data()
        k = self.goals.position(name)
        mean, std = prediction.predict(self._model(data).values[k], data[k], row, observed=observed)
        return self.goals.signs[k] * mean, std

    @synchronized
    @one_blas_thread()
    def expected_gain(self) -> float:
        """By how much the next evaluation is expected to improve on the best so far, in the units of the values told.

        It is the expected improvement at the best candidate, times the probability that it succeeds and keeps the
        constraints. Stop when it is below what an evaluation is worth to you. A model of few trials is often too sure
        of itself, so wait until the gain stays small for several trials. With several objectives it raises.
        """
        self._log.best(what="expected_gain()")
        data, suggester, rng = self._log.data(), self._suggester, self._suggester.rng(self._asks + 1)
        observed = Observed(suggester.encoding, data[0].X, data[0].y, self._log.taken, None)
        models, success = self._model(data), suggester.learning.success(self._models, *self._log.outcomes())
        posteriors = models.posteriors(self.goals)
        return prediction.expected_gain(suggester.policy, models.values[0], posteriors, observed, rng, success)

    def _checked_data(self) -> tuple[Observations, ...]:
        """The observations of all values, or an error that says that there are none."""
        if not self._log.done:
            self._log.feasible()  # raises the error
        return self._log.data()

    def _model(self, data: tuple[Observations, ...]) -> Models:
        """The models of all observations, without pending trials."""
        models = self._suggester.learning.fitted(self._models, data, self._suggester.rng(self._asks + 1))
        return models.conditioned(data)

    def __repr__(self) -> str:
        return display.text("Optimizer", self)

    def _repr_html_(self) -> str:
        return display.html("Optimizer", self)

    # ------------------------------------------------------------------ save and load

    @property
    def options(self) -> dict[str, Any]:
        """The arguments that the optimizer was made with, for JSON; without the space and `initial`."""
        specification = self._suggester.learning.specifications[0]
        return {
            "seed": self._suggester.seed,
            **self.goals.to_dict(),
            "covariance": specification.covariance,
            "acquisition": self._suggester.policy.acquisition,
            "inference": specification.inference,
            "cost_aware": self._suggester.cost_aware,
            "n_initial": len(self._suggester.design),
        }

    @synchronized
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file. It replaces an older file in one step, so that a crash loses neither."""
        if self._settings != Settings():
            raise OptionError("settings= is for experiments and cannot be saved; save an optimizer without it")
        state = {
            "space": self.space.to_dict(),
            **self.options,
            "initial": [dict(restriction.values) for restriction in self._initial],
            "history": [task.to_dict() for task in self.history],
            "asks": self._asks,
            **self._log.to_dict(),
            "models": None if self._models is None else self._models.to_dict(),
        }
        save_format.write(path, state)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Optimizer:
        """The optimizer that was saved there; it continues exactly as the saved one would have."""
        return cls._load(path)

    @classmethod
    def _load(cls, path: str | os.PathLike[str], given: Space | None = None) -> Optimizer:
        """The same, with a given space in place of an equal one that was saved (see `save_format.to_space`)."""
        state = save_format.read(path)
        with save_format.refusing_damage(path):
            history = [_history.EarlierTask.from_dict(form) for form in state["history"]]
            options = {key: state[key] for key in save_schema.OPTIONS if key != "initial"}
            optimizer = cls(save_format.to_space(state["space"], given), history=history, **options)
            optimizer._initial = read_initial(optimizer._suggester.encoding, state["initial"])
            optimizer._log = TrialLog.from_dict(state, optimizer._suggester.encoding, optimizer.goals)
            optimizer._asks = int(state["asks"])
        with save_format.leaving_out_damage(path):
            save_schema.check_models(state)
            if state["models"] is not None:
                optimizer._use(state["models"], exact=True)
        return optimizer

    @one_blas_thread()
    def _use(self, forms: Sequence[Mapping[str, Any]], *, max_rows: int | None = None, exact: bool) -> None:
        """Take over what was learned from the first values told, or a ValueError (see `Surrogate.from_dict`)."""
        data = [self._log.observations(name, form["n"]) for name, form in zip(self.goals.names, forms, strict=True)]
        learning = self._suggester.learning
        if max_rows is not None:
            learning = replace(learning, settings=replace(learning.settings, max_rows=max_rows))
        self._models = learning.from_dict(forms, data, exact=exact)
