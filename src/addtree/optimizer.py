"""`Optimizer`: ask for configurations, tell their values. It holds the state of a run; its parts are immutable."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, overload

import numpy as np

from addtree import _save_format
from addtree._numbers import as_float, is_number, is_whole
from addtree._types import Array, Config
from addtree.errors import AddTreeError, OptionError, TrialError
from addtree.model.priors import Priors
from addtree.model.specification import Specification
from addtree.model.surrogate import FitSettings, Surrogate
from addtree.model.transform import TransformSettings
from addtree.search.candidates import Observed
from addtree.search.design import DesignSettings, initial_design
from addtree.search.policy import Policy, check_acquisition, suggest
from addtree.space.space import Space, check_space

_log = logging.getLogger("addtree")

_HUGE = 1e300  # Values beyond this count as this: sums and differences of larger ones are not representable.
_ENUMERABLE = 20_000  # A finite space of up to this many configurations is listed when the search finds nothing new.
_RANDOM_ROWS = 256  # Random rows that are tried when the search finds nothing new.


@dataclass(frozen=True, repr=False)
class Trial:
    """A configuration that was asked for or told.

    id     its number in the run, from 0
    state  "pending", "done" or "failed"
    value  the value told, if it is done
    run    the id of the run that it belongs to
    """

    id: int
    _config: Mapping[str, Any]
    state: Literal["pending", "done", "failed"] = "pending"
    value: float | None = None
    run: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_config", dict(self._config))

    @property
    def config(self) -> dict[str, Any]:
        """The active parameters and their values; a new dict at each access."""
        return dict(self._config)

    def __hash__(self) -> int:
        return hash((self.run, self.id))

    def __repr__(self) -> str:
        return f"Trial(id={self.id}, config={self.config!r}, state={self.state!r}, value={self.value!r})"


@dataclass(frozen=True)
class Settings:
    """What an experiment may change and a user need not. It is not part of the stable interface, and it is not saved.

    design     the initial design
    fit        fits under inference="map"
    mle_fit    fits under inference="mle", whose likelihood has several optima
    priors     priors of the hyperparameters
    transform  the output transform
    policy     what suggestions look for; its acquisition is that of the optimizer
    """

    design: DesignSettings = DesignSettings()
    fit: FitSettings = FitSettings()
    mle_fit: FitSettings = FitSettings(restarts=2, warm_iterations=100)
    priors: Priors = Priors()
    transform: TransformSettings = TransformSettings()
    policy: Policy = Policy()


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
    settings     for experiments with the model and the search; not part of the stable interface
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
        default_size = settings.design.size(self._encoding, inference)
        self._n_initial = default_size if n_initial is None else int(n_initial)
        self._design = initial_design(self._encoding, self._n_initial, self._rng(0))
        self._run = os.urandom(8).hex()
        self._trials: dict[int, Trial] = {}
        self._rows: dict[int, Array] = {}
        self._taken: set[bytes] = set()  # keys of the rows
        self._told: list[int] = []  # ids, in the order they were told
        self._asks = 0
        self._surrogate: Surrogate | None = None

    def _rng(self, ask: int) -> np.random.Generator:
        """The randomness of one ask, which depends only on the seed and its number: a loaded optimizer continues."""
        return np.random.default_rng([self._seed, ask])

    # ------------------------------------------------------------------ ask

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """A trial to evaluate next; `ask(4)` gives four different ones at once."""
        if n is None:
            return self._ask_one()
        if not is_whole(n) or n < 1:
            raise OptionError(f"ask({n!r}): the number of trials must be a whole number, at least 1")
        return [self._ask_one() for _ in range(n)]

    def _ask_one(self) -> Trial:
        self._asks += 1
        return self.expect(self.suggest(self._asks, keep_fit=True))

    def suggest(self, turn: int, *, pending: Sequence[Config] = (), keep_fit: bool = False) -> dict[str, Any]:
        """The configuration that `ask` would give at this turn, without recording it.

        The randomness of a suggestion depends only on the seed and the turn. `ask` counts turns by itself. A caller
        that numbers its trials, in an order that several processes agree on, gives that number.

        pending   configurations that are being evaluated but were not asked for here; they are not recorded
        keep_fit  keep the model if it was fitted again, as `ask` does: later fits start from it. By default this is a
                  pure query: it changes no later answer
        """
        row, surrogate = self._suggest(turn, self._encoding.encode(pending))
        if keep_fit:
            self._surrogate = surrogate
        return self._encoding.decode(row)

    def expect(self, config: Config) -> Trial:
        """Record a configuration as pending: somebody is evaluating it, and its value will be told."""
        return self._add(Trial(len(self._trials), self.space.validate(config), run=self._run))

    def _add(self, trial: Trial) -> Trial:
        self._trials[trial.id] = trial
        row = self._encoding.encode([trial.config])
        self._rows[trial.id] = row[0]
        self._taken.update(self._encoding.keys(row))
        return trial

    def _suggest(self, turn: int, elsewhere: Array) -> tuple[Array, Surrogate | None]:
        """The row to evaluate next, and the model as it was last fitted."""
        rng, surrogate = self._rng(turn), self._surrogate
        taken = self._taken.union(self._encoding.keys(elsewhere))
        known = len(self._trials) + len(elsewhere)
        if known < self._n_initial:
            row = np.asarray(self._design[known])
            if self._encoding.keys(row[None])[0] not in taken:
                return row, surrogate
        elif any(trial.state == "done" for trial in self._trials.values()):
            X, y = self._observations(len(self._told))
            surrogate = self._fitted(X, y, rng)
            pending = [self._rows[i] for i, trial in self._trials.items() if trial.state == "pending"]
            posterior = _conditioned(surrogate, X, y, [*pending, *elsewhere]).posterior
            found = suggest(self._policy, posterior, Observed(self._encoding, X, y, taken), turn=turn, rng=rng)
            if found is not None:
                return found, surrogate
        return self._anything_new(taken, rng), surrogate

    def _anything_new(self, taken: set[bytes], rng: np.random.Generator) -> Array:
        """A random row that is not taken; a taken one only if the space has no other."""
        encoding = self._encoding
        X = encoding.sample(_RANDOM_ROWS, rng)
        if len(taken) < self.space.n_configs <= _ENUMERABLE:
            X = rng.permutation(encoding.enumerate())
        new = [row for row, key in zip(X, encoding.keys(X), strict=True) if key not in taken]
        return np.asarray(new[0] if new else X[0])

    def _observations(self, n: int) -> tuple[Array, Array]:
        """The first n rows and values told. A failed trial counts as the worst value among them."""
        X = np.array([self._rows[i] for i in self._told[:n]])
        sign = -1.0 if self.maximize else 1.0  # the one place where maximisation becomes minimisation
        y = np.array([np.nan if (v := self._trials[i].value) is None else sign * v for i in self._told[:n]])
        y = np.clip(y, -_HUGE, _HUGE)
        worst = np.max(y, initial=-np.inf, where=~np.isnan(y))
        return X, np.where(np.isnan(y), worst, y)

    def _fitted(self, X: Array, y: Array, rng: np.random.Generator) -> Surrogate:
        """The model, fitted again if that is due."""
        if self._surrogate is None:
            settings = self._fit_settings
            return Surrogate.fit(self._specification, self._kernel, X, y, settings=settings, rng=rng)
        return self._surrogate.refit(X, y, rng=rng) if self._surrogate.is_due(len(y)) else self._surrogate

    # ------------------------------------------------------------------ tell

    def tell(self, trial: Trial | int | Config, value: Any = None, *, failed: bool = False) -> Trial:
        """Report the value of a trial (or of its id, or of a configuration from outside), or that it failed.

        NaN and infinite values count as failures.
        """
        number = None if failed else _number(value)
        asked = self.expect(trial) if isinstance(trial, Mapping) else self._pending(trial)
        if number is not None and not math.isfinite(number):
            _log.warning("trial %d has value %r; it is recorded as failed", asked.id, number)
            number = None
        told = replace(asked, state="failed" if number is None else "done", value=number)
        self._trials[told.id] = told
        self._told.append(told.id)
        return told

    def _pending(self, trial: Any) -> Trial:
        if isinstance(trial, Trial) and trial.run != self._run:
            raise TrialError(
                f"trial {trial.id} belongs to another run; tell it to the optimizer that asked for it, "
                "or tell its configuration: tell(trial.config, value)"
            )
        number = trial.id if isinstance(trial, Trial) else trial
        if not is_whole(number) or int(number) not in self._trials:
            raise TrialError(
                f"trial {number!r} is unknown to this optimizer; tell one that ask() gave, its id, or a configuration"
            )
        known = self._trials[int(number)]
        if known.state != "pending":
            raise TrialError(
                f"trial {known.id} was already told ({known.state}, value {known.value!r}); tell each trial once, "
                "or tell its configuration to add another observation"
            )
        return known

    # ------------------------------------------------------------------ what is known

    @property
    def trials(self) -> list[Trial]:
        """Every trial, by id."""
        return list(self._trials.values())

    @property
    def best(self) -> Trial:
        """The finished trial with the best value."""
        done = [trial for trial in self._trials.values() if trial.state == "done"]
        if not done:
            raise AddTreeError(
                f"no trial has a value yet ({len(self._trials)} asked, {len(self._told)} of them failed)"
            )
        pick = max if self.maximize else min
        return pick(done, key=lambda trial: trial.value if trial.value is not None else math.nan)

    def recommend(self) -> Trial:
        """The finished trial with the best mean under the model: a safer choice than `best` if values are noisy."""
        best = self.best
        if self._specification.noise == 0:
            return best
        X, y = self._observations(len(self._told))
        surrogate = _conditioned(self._fitted(X, y, self._rng(self._asks + 1)), X, y, ())
        done = [i for i, number in enumerate(self._told) if self._trials[number].state == "done"]
        means = surrogate.predict(X[done])[0]
        return self._trials[self._told[done[int(np.argmin(means))]]]

    # ------------------------------------------------------------------ save and load

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file. It replaces an older file in one step, so that a crash loses neither."""
        if self._settings != Settings():
            raise OptionError("settings= is for experiments and cannot be saved; save an optimizer without it")
        specification = self._specification
        state = {
            "space": self.space.to_dict(),
            "run": self._run,
            "seed": self._seed,
            "maximize": self.maximize,
            "covariance": specification.covariance,
            "acquisition": self._policy.acquisition,
            "inference": specification.inference,
            "noise": None if specification.noise is None else float(specification.noise),
            "n_initial": self._n_initial,
            "asks": self._asks,
            "trials": [{"config": t.config, "state": t.state, "value": t.value} for t in self.trials],
            "told": self._told,
            "model": None if self._surrogate is None else self._surrogate.to_dict(),
        }
        _save_format.write(path, state)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Optimizer:
        """The optimizer that was saved there; it continues exactly as the saved one would have."""
        state = _save_format.read(path)
        try:
            options = ("seed", "maximize", "covariance", "acquisition", "inference", "noise", "n_initial")
            optimizer = cls(Space.from_dict(state["space"]), **{key: state[key] for key in options})
            optimizer._restore(state)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise _save_format.damaged(path, error) from error
        return optimizer

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Take over the trials and the model of a saved state; any exception means that it is damaged."""
        if state["run"] is not None:
            self._run = str(state["run"])
        for number, saved in enumerate(state["trials"]):
            config = self.space.validate(saved["config"])
            self._add(Trial(number, config, _state(saved), saved["value"], self._run))
        self._told = [int(i) for i in state["told"]]
        if sorted(self._told) != [t.id for t in self.trials if t.state != "pending"]:
            raise ValueError("the trials told are not those with a result")
        self._asks = int(state["asks"])
        model = state["model"]
        if model is not None:
            X, y = self._observations(int(model["n"]))
            self._surrogate = Surrogate.from_dict(
                model, self._specification, self._kernel, X, y, settings=self._fit_settings
            )


def _conditioned(surrogate: Surrogate, X: Array, y: Array, pending: Sequence[Array]) -> Surrogate:
    """A model with the observations told since it was fitted, and with pending rows at their own means."""
    n = surrogate.n_fitted
    if len(y) > n:
        surrogate = surrogate.condition(X[n:], y[n:])
    return surrogate.expect(np.array(pending)) if len(pending) else surrogate


def _state(saved: Mapping[str, Any]) -> Literal["pending", "done", "failed"]:
    """The state of a saved trial, which has a value if and only if it is done."""
    state, value = saved["state"], saved["value"]
    if state not in ("pending", "done", "failed") or (state == "done") != (is_number(value) and math.isfinite(value)):
        raise ValueError(f"a trial is {state!r} with value {value!r}")
    return state  # type: ignore[no-any-return]


def _number(value: Any) -> float:
    if not is_number(value):
        raise TrialError(
            f"value {value!r} is not a number; tell a float, or failed=True where the evaluation gave none"
        )
    return as_float(value)
