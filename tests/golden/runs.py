"""Runs of the optimizer and the sampler, printed as JSON: `python tests/golden/runs.py LENGTH NAME [NAME ...]`.

The script uses only the public interface, so that it also runs on earlier commits. `RUNS` names the runs: three
problems, each declared and define-by-run, and the paper's mode. None of the problems has an integer, because earlier
commits drew integers from another distribution.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from typing import Any

import optuna

import addtree as at
from addtree.optuna import AddTreeSampler
from addtree.problems import interaction, synthetic
from benchmarks.support.timed_suggestions import suggest

Config = dict[str, Any]

# A root parameter, a nested choice, a parameter shared by two options, log scales, and a second, independent choice.
MIXED = at.Space(
    rate=at.Real(1e-5, 1e-1, log=True),
    model=at.Choice(
        svm=at.Space(
            C=at.Real(1e-3, 1e3, log=True),
            kernel=at.Choice(
                linear=at.Space(),
                rbf=at.Space(gamma=at.Real(1e-4, 10, log=True)),
                poly=at.Space(gamma=at.Real(1e-4, 10, log=True), coef=at.Real(0, 1)),
            ),
        ),
        forest=at.Space(features=at.Real(0.05, 1), criterion=at.Categorical(["gini", "entropy", "log"])),
        none=at.Space(),
    ),
    scale=at.Choice(yes=at.Space(quantile=at.Real(0, 1)), no=at.Space()),
)


def mixed(config: Config) -> float:
    """A smooth function on `MIXED`; an interaction of gamma and coef."""
    value = {"svm": 0.1, "forest": 0.05, "none": 0.6}[config["model"]] + 2 * (config["rate"] - 0.02) ** 2
    value += 1e-4 * (config["C"] - 30) ** 2 if "C" in config else 0.0
    value += 0.01 * (config["gamma"] - 1 - 3 * config.get("coef", 0)) ** 2 - 0.05 if "gamma" in config else 0.0
    value += (config["features"] - 0.4) ** 2 if "features" in config else 0.0
    value += {"gini": 0.03, "entropy": 0.0, "log": 0.05}[config["criterion"]] if "criterion" in config else 0.0
    return value + ((config["quantile"] - 0.4) ** 2 - 0.03 if "quantile" in config else 0.0)


def declared(space: at.Space, objective: Callable[[Config], float], n: int, **options: Any) -> list[Config]:
    """The configurations of n asks."""
    optimizer = at.Optimizer(space, seed=0, **options)
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(dict(trial.config)))
    return [dict(trial.config) for trial in optimizer.trials]


def define_by_run(space: at.Space, objective: Callable[[Config], float], n: int) -> list[Config]:
    """The parameters of n trials of a sampler that infers the tree."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=AddTreeSampler(seed=0))
    study.optimize(lambda trial: objective(suggest(trial, space)), n_trials=n)
    return [trial.params for trial in study.trials]


def paper(n: int) -> list[Config]:
    """The paper's mode on the paper's function."""
    old = "fit" in inspect.signature(at.Optimizer.__init__).parameters  # what `inference` was called before
    options = {"covariance": "additive", "acquisition": "additive-ucb", "fit" if old else "inference": "mle"}
    return declared(synthetic().space, synthetic().objective, n, **options)


PROBLEMS = {
    "synthetic": (synthetic().space, synthetic().objective),
    "interaction": (interaction().space, interaction().objective),
    "mixed": (MIXED, mixed),
}
RUNS: dict[str, Callable[[int], list[Config]]] = {"paper": paper}
for _name, _problem in PROBLEMS.items():
    RUNS[f"{_name}-declared"] = lambda n, problem=_problem: declared(*problem, n)
    RUNS[f"{_name}-define-by-run"] = lambda n, problem=_problem: define_by_run(*problem, n)

if __name__ == "__main__":
    length, *names = sys.argv[1:]
    json.dump({name: RUNS[name](int(length)) for name in names or RUNS}, sys.stdout)
