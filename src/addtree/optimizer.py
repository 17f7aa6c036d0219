"""`Optimizer`: ask for configurations, tell their values. It holds the state of a run; its parts are immutable."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np

from addtree import _display, _prediction, _save_format, _save_schema
from addtree._models import Learning, Models
from addtree._numbers import is_whole
from addtree._settings import Settings as Settings
from addtree._suggestion import Known, Suggester, turn_rng
from addtree._threads import Lock, one_blas_thread, synchronized
from addtree._types import Array, Config
from addtree.errors import OptionError
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.model.surrogate import Surrogate
from addtree.search.candidates import Observed
from addtree.search.design import initial_design
from addtree.search.policy import check_acquisition
from addtree.space.restriction import Restriction, read_initial
from addtree.space.space import Space, check_space
from addtree.trials import Evaluation, Trial, TrialLog, checked_std, checked_value

_EXACT = 1e-6  # With less noise than this share of the variance of the values, the best value is the best one.
_MAX_DESIGN = 100_000  # Rows times columns of the largest initial design, which takes about a second.
_SMALL_DESIGN = 100  # An initial design of this many rows is allowed on every space.


class Optimizer:
    """Bayesian optimization by ask and tell, in any order, with any number of trials pending.

    >>> from addtree import Real
    >>> opt = Optimizer(Space(x=Real(-1, 1)), seed=0)
    >>> for _ in range(15):
    ...     trial = opt.ask()
    ...     _ = opt.tell(trial, trial.config["x"] ** 2)
    >>> opt.best.value < 1e-6
    True

    seed         an int makes the run reproducible; None draws one
    maximize     look for the largest value instead of the smallest
    covariance   "additive+interactions" (default), "additive" (the paper's), "independent" (no sharing)
    acquisition  "logei" (default), "ucb", "additive-ucb" (the paper's Algorithm 2), "thompson"
    inference    "map" (default) or "mle" (the paper's)
    noise        standard deviation of repeated evaluations; 0 if they give the same value, None to learn it
    n_initial    size of the initial design; by default enough to see every option
    initial      configurations to ask first, in this order. One that lacks parameters is completed: by the design, or
                 by the model once there is one. A parameter that is given implies the options that activate it. One
                 that was told before, or is in the list twice, is skipped unless noise is declared above zero
    settings     for experiments with the model and the search; not part of the stable interface

    Several threads may use one optimizer: each call runs alone, and all asks give different trials. Other processes
    need an optimizer of their own.
    """

    def __init__(
        self,
        space: Space,
        *,
        seed: int | None = None,
        maximize: bool = False,
        covariance: str = "additive+interactions",
        acquisition: str = "logei",
        inference: str = "map",
        noise: float | None = None,
        n_initial: int | None = None,
        initial: Sequence[Config] = (),
        settings: Settings | None = None,
    ) -> None:
        check_acquisition(acquisition, covariance)
        if n_initial is not None and not (is_whole(n_initial) and n_initial >= 1):
            raise OptionError(f"n_initial={n_initial!r} must be a whole number, at least 1")
        if seed is not None and not (is_whole(seed) and seed >= 0):
            raise OptionError(f"seed={seed!r} must be a whole number, zero or more, or None to draw one")
        self._settings = settings = settings or Settings()
        self.space = check_space(space)
        self.maximize = bool(maximize)
        seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else int(seed)
        encoding = space.encoding
        specification = Specification(covariance, inference, noise, settings.transform, settings.priors)
        fit = settings.mle_fit if inference == "mle" else settings.fit
        learning = Learning(specification, specification.make_kernel(encoding), fit)
        max_initial = _MAX_DESIGN // max(1, encoding.n_columns) + _SMALL_DESIGN
        if n_initial is not None and n_initial > max_initial:
            raise OptionError(f"n_initial={n_initial!r} is too large; use at most {max_initial} on this space")
        size = settings.design.size(encoding, inference) if n_initial is None else int(n_initial)
        design = initial_design(encoding, size, turn_rng(seed, 0))
        policy = replace(settings.policy, acquisition=acquisition)
        self._suggester = Suggester(encoding, learning, policy, design, seed, self.maximize)
        self._initial = read_initial(encoding, initial)  # those that were not asked yet
        self._log = TrialLog(encoding)
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
        known = self._known(self._suggester.encoding.encode([]))
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
        known = self._known(encoding.encode(pending))
        if fixed is None:
            config, models, _ = self._suggester.next(turn, known, self._initial)
        else:
            restriction = fixed if isinstance(fixed, Restriction) else Restriction.of(encoding, fixed)
            row, models = self._suggester.suggest(turn, known, restriction)
            config = restriction.restore(encoding.decode(row))
        if keep_fit:
            self._models = models
        return config

    def _known(self, elsewhere: Array) -> Known:
        """What a suggestion may use."""
        return Known(self._log, elsewhere, self._models)

    @synchronized
    def expect(self, config: Config) -> Trial:
        """Record a configuration as pending: somebody is evaluating it, and its value will be told."""
        return self._log.expect(self.space.validate(config))

    # ------------------------------------------------------------------ tell

    @synchronized
    def tell(
        self,
        trial: Trial | int | Config,
        value: Any = None,
        *,
        std: float | None = None,
        failed: bool = False,
        evaluation: Evaluation | None = None,
    ) -> Trial:
        """Report the value of a trial (or of its id, or of a configuration from outside), or that it failed.

        NaN and infinite values count as failures.

        std         the standard error of this value if known, such as that of a mean over folds; it adds to the noise
        evaluation  how long the evaluation took, and why it failed, for the record
        """
        number, error = None if failed else checked_value(value), checked_std(std)
        asked = self.expect(trial) if isinstance(trial, Mapping) else self._log.find_pending(trial)
        return self._log.tell(asked, number, error, evaluation)

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
        """The finished trial with the best value."""
        return self._log.best(maximize=self.maximize)

    @synchronized
    @one_blas_thread()
    def recommend(self, among: Collection[int] | None = None) -> Trial:
        """The finished trial with the best mean under the model: a safer choice than `best` if values are noisy.

        among  ids of the trials that may be recommended; by default all
        """
        best, data = self._log.best(among, maximize=self.maximize), self._log.observations(maximize=self.maximize)
        if self._suggester.learning.specification.noise == 0 and not data.std.any():
            return best
        surrogate = self._model(data)
        if np.max(surrogate.posterior.noise) < _EXACT * np.var(surrogate.posterior.z):
            return best
        done = [trial for trial in self._log.done if among is None or trial.id in among]
        rows = self._suggester.encoding.encode([trial.config for trial in done])
        return done[int(np.argmin(surrogate.predict(rows)[0]))]

    @synchronized
    @one_blas_thread()
    def predict(self, config: Config, *, observed: bool = False) -> tuple[float, float]:
        """Mean and standard deviation at a configuration, in the units of the values told.

        They are those of the function, or of an observation, noise included.
        """
        row, data = self._suggester.encoding.encode([self.space.validate(config)])[0], self._checked_observations()
        mean, std = _prediction.predict(self._model(data), data, row, observed=observed)
        return (-mean if self.maximize else mean), std

    @synchronized
    @one_blas_thread()
    def expected_gain(self) -> float:
        """By how much the next evaluation is expected to improve on the best so far, in the units of the values told.

        It is the expected improvement at the best candidate. Stop when it is below what an evaluation is worth to you.
        A model of few trials is often too sure of itself, so wait until the gain stays small for several trials.
        """
        data, rng = self._checked_observations(), self._suggester.rng(self._asks + 1)
        observed = Observed(self._suggester.encoding, data.X, data.y, self._log.taken, None)
        return _prediction.expected_gain(self._suggester.policy, self._model(data), observed, rng)

    def _checked_observations(self) -> Observations:
        """The observations, or an error that says that there are none."""
        self._log.best(maximize=self.maximize)
        return self._log.observations(maximize=self.maximize)

    def _model(self, data: Observations) -> Surrogate:
        """The model of all observations, without pending trials."""
        models = self._suggester.learning.fitted(self._models, data, self._suggester.rng(self._asks + 1))
        return models.conditioned(data, ()).objective

    def __repr__(self) -> str:
        return _display.text("Optimizer", self)

    def _repr_html_(self) -> str:
        return _display.html("Optimizer", self)

    # ------------------------------------------------------------------ save and load

    @synchronized
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file. It replaces an older file in one step, so that a crash loses neither."""
        if self._settings != Settings():
            raise OptionError("settings= is for experiments and cannot be saved; save an optimizer without it")
        specification = self._suggester.learning.specification
        state = {
            "space": self.space.to_dict(),
            "seed": self._suggester.seed,
            "maximize": self.maximize,
            "covariance": specification.covariance,
            "acquisition": self._suggester.policy.acquisition,
            "inference": specification.inference,
            "noise": None if specification.noise is None else float(specification.noise),
            "n_initial": len(self._suggester.design),
            "initial": [dict(restriction.values) for restriction in self._initial],
            "asks": self._asks,
            **self._log.to_dict(),
            "model": None if self._models is None else self._models.to_dict(),
        }
        _save_format.write(path, state)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Optimizer:
        """The optimizer that was saved there; it continues exactly as the saved one would have."""
        state = _save_format.read(path)
        options = ("seed", "maximize", "covariance", "acquisition", "inference", "noise", "n_initial", "initial")
        with _save_format.refusing_damage(path):
            optimizer = cls(Space.from_dict(state["space"]), **{key: state[key] for key in options})
            optimizer._restore_trials(state)
        with _save_format.leaving_out_damage(path):
            optimizer._restore_model(state)
        return optimizer

    def _restore_trials(self, state: Mapping[str, Any]) -> None:
        """Take over the trials of a checked state; any exception means that one does not fit the space."""
        self._log = TrialLog.from_dict(state, self._suggester.encoding)
        self._asks = int(state["asks"])

    @one_blas_thread()
    def _restore_model(self, state: Mapping[str, Any]) -> None:
        """Take over the model of a state whose trials are restored; any exception means that it is damaged."""
        _save_schema.check_model(state)
        model = state["model"]
        if model is not None:
            data = self._log.observations(model["n"], maximize=self.maximize)
            self._models = self._suggester.learning.from_dict(model, data)
