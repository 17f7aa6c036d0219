"""Runs in which an evaluation gives several values, for `benchmarks.objectives` and `benchmarks.constraints`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

import addtree as at
from addtree._types import Array
from benchmarks import yahpo
from benchmarks.regret import REPLICATES

Values = dict[str, float]
Evaluate = Callable[[Mapping[str, Any]], Values]

NOW, TPE, NSGA, GP = "addtree", "TPE", "NSGA-II", "GPSampler"
MARKS = (50, 100)  # The numbers of evaluations after which results are shown.


def surrogate(scenario: str, instance: str, targets: Sequence[str]) -> tuple[at.Space, Evaluate]:
    """A task of YAHPO Gym with several outputs."""
    parts = {target: yahpo.problem(scenario, instance, target) for target in targets}
    space = next(iter(parts.values()))[0]
    return space, lambda config: {target: objective(config) for target, (_, objective) in parts.items()}


def methods(peers: Sequence[str]) -> list[str]:
    """The methods whose libraries are installed; the others are reported."""
    needs = {TPE: ("optuna",), NSGA: ("optuna",), GP: ("optuna", "torch")}
    found = [NOW]
    for peer in peers:
        missing = [name for name in needs[peer] if find_spec(name) is None]
        if missing:
            print(f"left out: {peer}, because {missing[0]} is not installed", file=sys.stderr)
        else:
            found.append(peer)
    return found


def run(
    method: str,
    space: at.Space,
    evaluate: Evaluate,
    objectives: Sequence[str],
    limits: Mapping[str, float],
    seed: int,
    budget: int,
) -> list[Values]:
    """The values of a run that minimises the objectives and keeps other values within upper limits."""
    if method != NOW:
        return _run_peer(method, space, evaluate, objectives, limits, seed, budget)
    names: Any = dict.fromkeys(objectives, "min")
    optimizer = at.Optimizer(space, objectives=names, constraints=dict(limits) or None, seed=seed)
    told = []
    for _ in range(budget):
        trial = optimizer.ask()
        values = evaluate(trial.config)
        told.append(values)
        optimizer.tell(trial, {name: values[name] for name in (*objectives, *limits)})
    return told


def _run_peer(
    method: str,
    space: at.Space,
    evaluate: Evaluate,
    objectives: Sequence[str],
    limits: Mapping[str, float],
    seed: int,
    budget: int,
) -> list[Values]:
    """The same by a sampler of Optuna; the GP sampler gets the flattened space."""
    import optuna  # Optuna may be missing

    from addtree.paper.baselines.flat import active_part
    from addtree.study.task import suggest_config, suggest_parameter
    from benchmarks.peers.optuna_peers import make_sampler

    options: dict[str, Any] = {"seed": seed}
    if method == TPE:
        options |= {"multivariate": True, "group": True}
    if limits:
        options["constraints_func"] = lambda trial: json.loads(trial.user_attrs["constraints"])
    name = {TPE: "TPESampler", NSGA: "NSGAIISampler", GP: "GPSampler"}[method]
    study = optuna.create_study(sampler=make_sampler(name, **options), directions=["minimize"] * len(objectives))
    told = []
    for _ in range(budget):
        trial = study.ask()
        if method == GP:
            full = {name: suggest_parameter(trial, name, domain) for name, domain in space.variables.items()}
            config = active_part(space, full)
        else:
            config = suggest_config(trial, space)
        values = evaluate(config)
        told.append(values)
        trial.set_user_attr("constraints", json.dumps([values[name] - limit for name, limit in limits.items()]))
        study.tell(trial, [values[name] for name in objectives])
    return told


def interval(values: Array) -> str:
    """The mean over seeds, and its 95 % bootstrap interval."""
    rng = np.random.default_rng(0)
    means = values[rng.integers(len(values), size=(REPLICATES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{np.mean(values):.3g} ({low:.3g} to {high:.3g})"
