"""Processor time of suggestions, printed as JSON: `python benchmarks/support/timed_suggestions.py PROBLEM N SEED`.

It uses only the public interface of addtree, so that `benchmarks.commits` can run it on earlier commits. PROBLEM is a
name in `addtree.problems`; with `define-by-run:` in front, an Optuna study infers its space.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import optuna

import addtree as at
from addtree import problems
from addtree.optuna import AddTreeSampler


def suggest(trial: optuna.Trial, space: at.Space) -> dict[str, Any]:
    """The configuration of a trial, asked for as define-by-run code does."""
    config: dict[str, Any] = {}
    for name, child in space.children.items():
        if isinstance(child, at.Choice):
            config[name] = trial.suggest_categorical(name, child.labels)
            config |= suggest(trial, child.spaces[child.labels.index(config[name])])
        elif isinstance(child, at.Integer):
            config[name] = trial.suggest_int(name, child.low, child.high, log=child.log)
        elif isinstance(child, at.Real):
            config[name] = trial.suggest_float(name, child.low, child.high, log=child.log)
        else:
            config[name] = trial.suggest_categorical(name, child.values)
    return config


def declared(problem: problems.Problem, n: int, seed: int) -> list[float]:
    """Seconds of each ask and tell."""
    optimizer, seconds = at.Optimizer(problem.space, seed=seed), []
    for _ in range(n):
        start = time.process_time()
        trial = optimizer.ask()
        asked = time.process_time() - start
        value = problem.objective(trial.config)
        start = time.process_time()
        optimizer.tell(trial, value)
        seconds.append(asked + time.process_time() - start)
    return seconds


def define_by_run(problem: problems.Problem, n: int, seed: int) -> list[float]:
    """Seconds of each trial, Optuna included."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study, seconds = optuna.create_study(sampler=AddTreeSampler(seed=seed)), []
    for _ in range(n):
        start = time.process_time()
        study.optimize(lambda trial: problem.objective(suggest(trial, problem.space)), n_trials=1)
        seconds.append(time.process_time() - start)
    return seconds


if __name__ == "__main__":
    name, length, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    measure = define_by_run if name.startswith("define-by-run:") else declared
    json.dump(measure(getattr(problems, name.split(":")[-1])(), length, seed), sys.stdout)
