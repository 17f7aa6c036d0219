"""`minimize`: evaluate an objective again and again, in search of its smallest value."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from addtree._types import Config
from addtree.errors import OptionError
from addtree.evaluation.loop import Callback, Objective, RunOptions, run
from addtree.optimizer import Optimizer
from addtree.run import display
from addtree.run.goals import Bounds, Noise
from addtree.space.forms import difference
from addtree.space.space import Space, check_space
from addtree.support.callables import misfit
from addtree.trials import Trial


@dataclass(frozen=True, repr=False)
class Result:
    """What a run found. `message` says why it ended; `optimizer` can continue it.

    With several objectives, the result is `pareto`; the properties for the best and the recommended trial raise.

    >>> from addtree.problems import synthetic
    >>> problem = synthetic()
    >>> result = minimize(problem.objective, problem.space, 25, seed=0)
    >>> result.best_config["x1"], result.best_config["x2"], round(result.best_value, 2)
    (0, 0, 0.1)
    """

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
    def recommended(self) -> Trial:
        """The finished trial with the best mean under the model: a safer choice than the best if values are noisy."""
        return self.optimizer.recommend()

    @property
    def pareto(self) -> list[Trial]:
        """The feasible trials that no other dominates, by id."""
        return self.optimizer.pareto

    @property
    def trials(self) -> list[Trial]:
        """Every trial, in order."""
        return self.optimizer.trials

    def to_dataframe(self) -> Any:
        """The trials as a table of pandas: one row per trial, one column per parameter; it needs pandas."""
        return display.dataframe(self.trials)

    def plot(self) -> Any:
        """The values by trial and the best so far, or the front of several objectives, as a Plotly figure.

        It needs `pip install 'addtree[cli]'`.
        """
        return display.figure(self.optimizer)

    def report(self, path: str | os.PathLike[str], *, title: str = "addtree") -> None:
        """Write an HTML page that shows what was found and what was learned; it needs `pip install 'addtree[cli]'`."""
        from addtree.report import build_for, write_page

        run = self.optimizer
        write_page(path, build_for(run.goals, run.space, self.trials, title=title, history=run.history))

    def __repr__(self) -> str:
        return display.text("Result", self.optimizer, self.message)

    def _repr_html_(self) -> str:
        return display.html("Result", self.optimizer, self.message)


def minimize(
    objective: Objective,
    space: Space,
    n_trials: int,
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
    timeout: float | None = None,
    trial_timeout: float | None = None,
    n_jobs: int = 1,
    progress: bool = False,
    resume: str | os.PathLike[str] | None = None,
    catch: tuple[type[BaseException], ...] = (Exception,),
    callback: Callback | None = None,
) -> Result:
    """Evaluate `objective(config)` n_trials times in search of its smallest value. Ctrl-C returns the result so far.

    objective         returns a number; with objectives or constraints, a dict with a number for each
    seed ... history  as for `Optimizer`; with cost_aware, the cost of a trial is the time that it takes
    timeout           seconds after which no further trial starts; trials that are running finish
    trial_timeout     seconds after which a trial is killed and fails; the objective runs in a process of its own
    n_jobs            the number of processes that evaluate trials; -1 means one per core
    progress          show a progress bar if Rich is installed, else a line per trial
    resume            a file that is written after every trial. If it exists, the run continues: n_trials is the total,
                      trials that were pending are evaluated again, and another space or setting raises an error
    catch             exceptions of the objective that only fail their trial; others end the run. A result that is not
                      a finite number also fails its trial. If the first five trials fail for the same reason, the run
                      ends with a NoSuccessError
    callback          called with the optimizer and each trial that has ended; it may raise StopIteration to end the run
    """
    options = RunOptions(n_trials, timeout, trial_timeout, n_jobs, progress, resume, catch, callback)
    _check_objective(objective)
    settings: dict[str, Any] = {"seed": seed, "maximize": maximize, "objectives": objectives, "cost_aware": cost_aware}
    settings |= {"constraints": constraints, "noise": noise, "reference_point": reference_point}
    settings |= {"covariance": covariance, "acquisition": acquisition, "inference": inference, "n_initial": n_initial}
    optimizer = Optimizer(check_space(space), initial=initial, history=history, **settings)
    if resume is not None and os.path.exists(resume):
        optimizer = _resumed(resume, optimizer, settings)
    return Result(optimizer, run(optimizer, objective, options))


def _check_objective(objective: object) -> None:
    if (problem := misfit(objective, 1)) is not None:
        raise OptionError(
            f"objective={objective!r} must be a function of one argument, the configuration ({problem}); "
            "call minimize(objective, space)"
        )


def _resumed(path: str | os.PathLike[str], given: Optimizer, settings: Mapping[str, Any]) -> Optimizer:
    """The optimizer in a file, or an OptionError if it belongs to another run than the optimizer that was given."""
    optimizer = Optimizer._load(path, given.space)
    if optimizer.space != given.space:
        here, there = difference(str(optimizer.space), str(given.space))
        raise OptionError(
            f"resume={os.fspath(path)!r} holds a run on another space: the file has {here}, space= has {there}; "
            "restore the space, give another file, or delete it"
        )
    for name, saved in optimizer.options.items():
        if given.options[name] != saved and not (settings[name] is None and name in ("seed", "n_initial")):
            raise OptionError(
                f"resume={os.fspath(path)!r} holds a run with {name}={saved!r}, not {given.options[name]!r}; "
                f"give {name}={saved!r}, or another file"
            )
    return optimizer
