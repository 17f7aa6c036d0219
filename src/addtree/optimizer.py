"""`Optimizer`: ask for configurations, tell their values. It holds the state of a run; its parts are immutable."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, overload

import numpy as np

from addtree import _display, _prediction, _save_format, _save_schema
from addtree._numbers import is_whole
from addtree._prediction import conditioned, leveled
from addtree._settings import Settings as Settings
from addtree._threads import Lock, one_blas_thread, synchronized
from addtree._types import Array, Config
from addtree.errors import OptionError
from addtree.model.fit import FitSettings
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.model.surrogate import Surrogate
from addtree.search.candidates import Observed
from addtree.search.design import initial_design, next_row
from addtree.search.fallback import any_row, new_row
from addtree.search.policy import check_acquisition, suggest, suggest_again
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
        self._seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else int(seed)
        self._specification = Specification(covariance, inference, noise, settings.transform, settings.priors)
        self._fit_settings = settings.mle_fit if inference == "mle" else settings.fit
        self._policy = replace(settings.policy, acquisition=acquisition)
        self._encoding = space.encoding
        self._kernel = self._specification.make_kernel(self._encoding)
        max_initial = _MAX_DESIGN // max(1, self._encoding.n_columns) + _SMALL_DESIGN
        if n_initial is not None and n_initial > max_initial:
            raise OptionError(f"n_initial={n_initial!r} is too large; use at most {max_initial} on this space")
        default_size = settings.design.size(self._encoding, inference)
        self._n_initial = default_size if n_initial is None else int(n_initial)
        self._design = initial_design(self._encoding, self._n_initial, self._rng(0))
        self._initial = read_initial(self._encoding, initial)  # those that were not asked yet
        self._log = TrialLog(self._encoding)
        self._asks = 0
        self._surrogate: Surrogate | None = None
        self._lock = Lock()

    def _rng(self, ask: int) -> np.random.Generator:
        """The randomness of one ask, which depends only on the seed and its number: a loaded optimizer continues."""
        return np.random.default_rng([self._seed, ask])

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
        config, self._surrogate, self._initial = self._next(self._asks, self._encoding.encode([]))
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
        elsewhere = self._encoding.encode(pending)
        if fixed is None:
            config, surrogate, _ = self._next(turn, elsewhere)
        else:
            restriction = fixed if isinstance(fixed, Restriction) else Restriction.of(self._encoding, fixed)
            row, surrogate = self._suggest(turn, elsewhere, restriction)
            config = restriction.restore(self._encoding.decode(row))
        if keep_fit:
            self._surrogate = surrogate
        return config

    def _next(self, turn: int, elsewhere: Array) -> tuple[dict[str, Any], Surrogate | None, tuple[Restriction, ...]]:
        """The configuration to evaluate next, the model, and the initial configurations that remain after it."""
        taken = self._taken(elsewhere)
        repeats = bool(self._specification.noise)
        for k, restriction in enumerate(self._initial):
            row, surrogate = self._suggest(turn, elsewhere, restriction)
            if repeats or self._encoding.keys(row[None])[0] not in taken:
                return restriction.restore(self._encoding.decode(row)), surrogate, self._initial[k + 1 :]
        row, surrogate = self._suggest(turn, elsewhere, None)
        return self._encoding.decode(row), surrogate, ()

    @synchronized
    def expect(self, config: Config) -> Trial:
        """Record a configuration as pending: somebody is evaluating it, and its value will be told."""
        return self._log.expect(self.space.validate(config))

    def _taken(self, elsewhere: Array) -> set[bytes]:
        """The keys of all trials, here and elsewhere."""
        return self._log.taken.union(self._encoding.keys(elsewhere))

    def _suggest(self, turn: int, elsewhere: Array, restriction: Restriction | None) -> tuple[Array, Surrogate | None]:
        """The row to evaluate next, and the model as it was last fitted."""
        rng, surrogate, taken = self._rng(turn), self._surrogate, self._taken(elsewhere)
        if restriction is not None and restriction.row is not None:
            return restriction.row, surrogate
        known = len(self._log) + len(elsewhere)
        if known < self._n_initial:
            row = self._design_row(elsewhere, restriction, rng)
            if self._encoding.keys(row[None])[0] not in taken:
                return row, surrogate
        elif self._log.has_value:
            return self._search(turn, elsewhere, restriction)
        found = new_row(self._encoding, taken, restriction, rng)
        return (any_row(self._encoding, restriction, rng) if found is None else found), surrogate

    def _search(self, turn: int, elsewhere: Array, restriction: Restriction | None) -> tuple[Array, Surrogate]:
        """The row that the model finds best to evaluate next, and the model as it was last fitted."""
        rng, taken = self._rng(turn), self._taken(elsewhere)
        data = self._log.observations(maximize=self.maximize)
        surrogate = model = self._fitted(data, rng)
        if restriction is not None:
            y = leveled(data.y, restriction.in_allowed_branch(data.X))
            if y is not data.y:
                data = replace(data, y=y)
                model = surrogate.refit(data, rng=rng)
        pending = [*self._log.pending_rows(), *elsewhere]
        posterior = conditioned(model, data, pending).posterior
        if self._policy.noisy.may_repeat(posterior, self._specification.noise):
            taken = set(self._encoding.keys(np.array(pending))) if pending else set()
        observed = Observed(self._encoding, data.X, data.y, taken, restriction)
        found = suggest(self._policy, posterior, observed, turn=turn, rng=rng)
        if found is None:
            found = new_row(self._encoding, taken, restriction, rng)
        if found is None:
            found = suggest_again(self._policy, posterior, observed, turn=turn, rng=rng)
        return (any_row(self._encoding, restriction, rng) if found is None else found), surrogate

    def _design_row(self, elsewhere: Array, restriction: Restriction | None, rng: np.random.Generator) -> Array:
        """The next row of the initial design; under a restriction, a row chosen with regard to those known."""
        known = [*self._log.rows, *elsewhere]
        if restriction is None:
            planned = self._design[len(known)]
            if self._log.forgotten:  # Their rows are free again: the number of trials does not say which row is next.
                taken = self._taken(elsewhere)
                keys = self._encoding.keys(self._design)
                planned = next((row for row, key in zip(self._design, keys, strict=True) if key not in taken), planned)
            return np.asarray(planned)
        X = np.array(known).reshape(len(known), self._encoding.n_columns)
        return next_row(self._encoding, X, rng, restriction)

    @property
    @synchronized
    def learned(self) -> dict[str, Any] | None:
        """The hyperparameters and the numbers of values they were learned from, for JSON; None before a fit."""
        return None if self._surrogate is None else self._surrogate.to_dict()

    @synchronized
    def learn_from(self, fetch: Callable[[], Mapping[str, Any] | None], *, max_rows: int | None = None) -> None:
        """If the next suggestion would fit the model, look first whether another optimizer has done so.

        fetch     returns what `learned` is there, or None. The other one has the same space and options, and knows
                  about the same values. What cannot have been learned so is ignored
        max_rows  values that the model uses from then on, at most
        """
        known, told = self._surrogate, len(self._log.told)
        if not self._log.has_value or (known is not None and not known.is_due(told)):
            return
        if (found := fetch()) is not None and (known is None or found["n"] > known.n_fitted):
            settings = replace(self._fit_settings, max_rows=max_rows) if max_rows else self._fit_settings
            found = {"theta": found["theta"], **{key: min(found[key], told) for key in ("n", "n_fresh")}}
            with suppress(ValueError):
                self._use(found, settings, exact=False)

    def _fitted(self, data: Observations, rng: np.random.Generator) -> Surrogate:
        """The model, fitted again if that is due."""
        if self._surrogate is None:
            settings = self._fit_settings
            return Surrogate.fit(self._specification, self._kernel, data, settings=settings, rng=rng)
        return self._surrogate.refit(data, rng=rng) if self._surrogate.is_due(len(data)) else self._surrogate

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
        if self._specification.noise == 0 and not data.std.any():
            return best
        surrogate = self._model(data)
        if np.max(surrogate.posterior.noise) < _EXACT * np.var(surrogate.posterior.z):
            return best
        done = [trial for trial in self._log.done if among is None or trial.id in among]
        rows = self._encoding.encode([trial.config for trial in done])
        return done[int(np.argmin(surrogate.predict(rows)[0]))]

    @synchronized
    @one_blas_thread()
    def predict(self, config: Config, *, observed: bool = False) -> tuple[float, float]:
        """Mean and standard deviation at a configuration, in the units of the values told.

        They are those of the function, or of an observation, noise included.
        """
        row, data = self._encoding.encode([self.space.validate(config)])[0], self._checked_observations()
        mean, std = _prediction.predict(self._model(data), data, row, observed=observed)
        return (-mean if self.maximize else mean), std

    @synchronized
    @one_blas_thread()
    def expected_gain(self) -> float:
        """By how much the next evaluation is expected to improve on the best so far, in the units of the values told.

        It is the expected improvement at the best candidate. Stop when it is below what an evaluation is worth to you.
        A model of few trials is often too sure of itself, so wait until the gain stays small for several trials.
        """
        data, rng = self._checked_observations(), self._rng(self._asks + 1)
        observed = Observed(self._encoding, data.X, data.y, self._log.taken, None)
        return _prediction.expected_gain(self._policy, self._model(data), observed, rng)

    def _checked_observations(self) -> Observations:
        """The observations, or an error that says that there are none."""
        self._log.best(maximize=self.maximize)
        return self._log.observations(maximize=self.maximize)

    def _model(self, data: Observations) -> Surrogate:
        """The model of all observations, without pending trials."""
        return conditioned(self._fitted(data, self._rng(self._asks + 1)), data, ())

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
        specification = self._specification
        state = {
            "space": self.space.to_dict(),
            "seed": self._seed,
            "maximize": self.maximize,
            "covariance": specification.covariance,
            "acquisition": self._policy.acquisition,
            "inference": specification.inference,
            "noise": None if specification.noise is None else float(specification.noise),
            "n_initial": self._n_initial,
            "initial": [dict(restriction.values) for restriction in self._initial],
            "asks": self._asks,
            **self._log.to_dict(),
            "model": None if self._surrogate is None else self._surrogate.to_dict(),
        }
        _save_format.write(path, state)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Optimizer:
        """The optimizer that was saved there; it continues exactly as the saved one would have."""
        state = _save_format.read(path)
        options = ("seed", "maximize", "covariance", "acquisition", "inference", "noise", "n_initial", "initial")
        with _save_format.refusing_damage(path):
            optimizer = cls(Space.from_dict(state["space"]), **{key: state[key] for key in options})
            optimizer._log = TrialLog.from_dict(state, optimizer._encoding)
            optimizer._asks = int(state["asks"])
        with _save_format.leaving_out_damage(path):
            _save_schema.check_model(state)
            if state["model"] is not None:
                optimizer._use(state["model"], optimizer._fit_settings, exact=True)
        return optimizer

    @one_blas_thread()
    def _use(self, learned: Mapping[str, Any], settings: FitSettings, *, exact: bool) -> None:
        """Take over what was learned from the first trials told, or a ValueError (see `Surrogate.from_dict`)."""
        data, spec = self._log.observations(learned["n"], maximize=self.maximize), self._specification
        self._surrogate = Surrogate.from_dict(learned, spec, self._kernel, data, settings=settings, exact=exact)
