"""Trials and models that the tests of the report share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import addtree as at
from addtree.problems import Problem, interaction, synthetic
from addtree.report import Record, Report, build
from addtree.report.effects import Effects
from tests.strategies import sample


def evaluated(space: at.Space, objective: Callable[[dict[str, Any]], float], n: int, seed: int = 0) -> list[Record]:
    """n random trials with their values."""
    return [Record(i, config, "done", objective(config)) for i, config in enumerate(sample(space, n, seed))]


def paper_trials(n: int) -> list[Record]:
    """n random trials of the paper's synthetic function."""
    return evaluated(synthetic().space, synthetic().objective, n)


@cache
def paper_report(n: int) -> Report:
    """The report of these trials."""
    return build(synthetic().space, paper_trials(n))


@cache
def interaction_report() -> Report:
    """The report of 60 random trials of a function with interactions."""
    return build(interaction().space, evaluated(interaction().space, interaction().objective, 60))


def fitted(problem: Problem, n: int, seed: int = 0) -> tuple[at.AddTreeGP, list[dict[str, Any]], np.ndarray]:
    """A model of n random trials, their configurations and their values."""
    configs = sample(problem.space, n, seed)
    y = np.array([problem.objective(c) for c in configs])
    return at.AddTreeGP(problem.space).fit(configs, y, restarts=1), configs, y


def effects_of(
    space: at.Space, y: Callable[[dict[str, Any]], float], n: int, seed: int, noise: float | None = None
) -> tuple[Effects, list[dict[str, Any]]]:
    """The effects under a quickly fitted model of n random trials, and their configurations."""
    configs = sample(space, n, seed)
    gp = at.AddTreeGP(space, noise=noise).fit(configs, [y(c) for c in configs], restarts=0)
    return Effects(gp, gp.encoding.encode(configs)), configs


def smooth(config: dict[str, Any]) -> float:
    """Some function of any configuration."""
    return sum(math.sin(len(name) + (v if isinstance(v, float) else len(str(v)))) for name, v in config.items())
