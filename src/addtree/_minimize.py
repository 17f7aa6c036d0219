"""`minimize`: a short loop over ask and tell."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from addtree._numbers import is_whole
from addtree._types import Config
from addtree.errors import OptionError, TrialError
from addtree.optimizer import Optimizer
from addtree.space.space import Space
from addtree.trials import Trial

_log = logging.getLogger("addtree")


@dataclass(frozen=True)
class Result:
    """What a run found. `message` says why it ended; `optimizer` can continue it."""

    optimizer: Optimizer
    message: str

    @property
    def best_config(self) -> dict[str, Any]:
        """The configuration with the best value."""
        return self.optimizer.best.config

    @property
    def best_value(self) -> float:
        """The best value."""
        value = self.optimizer.best.value
        assert value is not None
        return value

    @property
    def trials(self) -> list[Trial]:
        """Every trial, in order."""
        return self.optimizer.trials

    def report(self, path: str | os.PathLike[str], *, title: str = "addtree") -> None:
        """Write an HTML page that shows what was found and what was learned; it needs `pip install 'addtree[cli]'`."""
        from addtree.report import write

        write(path, self.optimizer.space, self.trials, maximize=self.optimizer.maximize, title=title)


def minimize(
    objective: Callable[[dict[str, Any]], float],
    space: Space,
    *,
    n_trials: int,
    callback: Callable[[Trial], None] | None = None,
    initial: Sequence[Config] = (),
    **settings: Any,
) -> Result:
    """Evaluate `objective(config)` n_trials times in search of its smallest value.

    settings  what `Optimizer` takes: seed, maximize, covariance, acquisition, inference, noise, n_initial
    initial   configurations to evaluate first, which may lack parameters (see `Optimizer`)
    callback  called with each finished trial; it may raise StopIteration to end the run

    If the objective raises, or returns something other than a finite number, that trial fails and the run continues.

    >>> from addtree.problems import synthetic
    >>> problem = synthetic()
    >>> result = minimize(problem.objective, problem.space, n_trials=25, seed=0)
    >>> result.best_config["x1"], result.best_config["x2"], round(result.best_value, 2)
    (0, 0, 0.1)
    """
    if not is_whole(n_trials) or n_trials < 1:
        raise OptionError(f"n_trials={n_trials!r} must be a whole number, at least 1")
    optimizer = Optimizer(space, initial=initial, **settings)
    for _ in range(n_trials):
        trial = optimizer.ask()
        try:
            told = optimizer.tell(trial, objective(dict(trial.config)))
        except TrialError as error:
            _log.warning("trial %d failed: the objective did not return a number: %s", trial.id, error)
            told = optimizer.tell(trial, failed=True)
        except Exception as error:
            _log.warning("trial %d failed: the objective raised %r", trial.id, error)
            told = optimizer.tell(trial, failed=True)
        try:
            if callback is not None:
                callback(told)
        except StopIteration:
            return Result(optimizer, f"stopped by the callback after trial {told.id}")
    return Result(optimizer, f"{n_trials} trials done")
