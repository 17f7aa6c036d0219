"""Measure what rules between parameters cost, and whether an optimum on their boundary is found.

python -m benchmarks.rules
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import addtree as at

LIMIT = 3.0  # A suggestion under rules may cost this many times what it costs without them.
RULES = (
    "min_lr * 10 <= lr",
    "warmup * 4 <= epochs",
    "batch * width <= 8192",
    "precision >= 'single' or batch <= 64",
    "beta1 < beta2",
    "momentum <= 0.5 or lr <= 1e-3",
    "dropout * layers <= 1",
)


def conditional() -> at.Space:
    """Twelve parameters and a choice, with steps, ordered categories and a number that opens a parameter."""
    return at.Space(
        lr=at.Real(1e-5, 1e-1, log=True),
        min_lr=at.Real(1e-6, 1e-1, log=True),
        epochs=at.Integer(10, 200, step=10),
        warmup=at.Integer(0, 200),
        batch=at.Categorical((16, 32, 64, 128, 256), ordered=True),
        width=at.Integer(8, 1024, log=True),
        precision=at.Categorical(("half", "single", "double"), ordered=True),
        layers=at.Integer(1, 6, opens={(3, 6): at.Space(dropout=at.Real(0, 0.9))}),
        optimizer=at.Choice(
            sgd=at.Space(momentum=at.Real(0, 1)),
            adam=at.Space(beta1=at.Real(0.5, 1), beta2=at.Real(0.5, 1)),
        ),
    )


def loss(config: dict[str, Any]) -> float:
    """A smooth function that asks for more than the rules admit."""
    value: float = (math.log10(config["lr"]) + 2) ** 2 + (math.log10(config["min_lr"]) + 2) ** 2
    value += 1 - config["epochs"] / 200 + (1 - config["warmup"] / 100) ** 2
    value += 0.3 * (10 - math.log2(config["width"])) + 0.2 * abs(math.log2(config["batch"]) - 7)
    value += 0.1 * config["layers"] + (config.get("dropout", 0.6) - 0.5) ** 2
    value += 0.2 + (config["momentum"] - 0.9) ** 2 if "momentum" in config else (config["beta1"] - 0.9) ** 2
    return value


def seconds_per_ask(space: at.Space, n_trials: int, seed: int) -> tuple[list[float], int]:
    """The processor time of each suggestion after the design, and the number of valid suggestions."""
    optimizer, seconds, valid = at.Optimizer(space, seed=seed, n_initial=10), [], 0
    for i in range(n_trials):
        begin = time.process_time()
        trial = optimizer.ask()
        if i >= 10:
            seconds.append(time.process_time() - begin)
        valid += space.validate(trial.config) == trial.config
        optimizer.tell(trial, loss(trial.config))
    return seconds, valid


def share_admitted(space: at.Space, n: int = 100_000) -> float:
    """The share of random configurations that the rules admit."""
    X = space.encoding.sample_freely(n, np.random.default_rng(0))
    return float(np.mean(space.encoding.feasibility.valid(X)))


def boundary_problems() -> dict[str, tuple[at.Space, Callable[[dict[str, Any]], float], float]]:
    """Spaces with rules, objectives whose optimum lies on the boundary of a rule, and their optimal values."""
    unit = at.Real(0, 1)
    pair, four = at.Space(x=unit, y=unit), at.Space({f"x{i}": unit for i in range(4)})
    return {
        "x <= y": (pair.where("x <= y"), lambda c: (c["x"] - 0.7) ** 2 + (c["y"] - 0.2) ** 2, 0.125),
        "a sum of four": (
            four.where("x0 + x1 + x2 + x3 <= 1.2"),
            lambda c: sum((value - 0.8) ** 2 for value in c.values()),
            1.0,
        ),
        "a disk": (
            pair.where("(x - 0.5) ** 2 + (y - 0.5) ** 2 <= 0.04"),
            lambda c: (c["x"] - 0.9) ** 2 + (c["y"] - 0.8) ** 2,
            0.3**2,
        ),
        "whole numbers": (
            at.Space(m=at.Integer(1, 100), n=at.Integer(1, 100), x=unit).where("m * n <= 1000"),
            lambda c: -math.log(c["m"]) - 0.9 * math.log(c["n"]) + (c["x"] - 0.3) ** 2,
            -math.log(100) - 0.9 * math.log(10),
        ),
    }


def regret(name: str, n_trials: int, seed: int) -> float:
    """The regret of one run on a boundary problem."""
    space, objective, optimum = boundary_problems()[name]
    return at.minimize(objective, space, n_trials=n_trials, seed=seed).best_value - optimum


def main() -> None:
    free = conditional()
    ruled = free.where(*RULES)
    begin = time.process_time()
    at.Optimizer(ruled, seed=0)
    design = time.process_time() - begin
    print(f"the rules admit {100 * share_admitted(ruled):.1f} % of all configurations")
    print(f"first design: {1e3 * design:.0f} ms, pool of valid configurations included")
    costs: dict[str, list[float]] = {"without": [], "with": []}
    valid = 0
    for seed in range(4):
        costs["without"] += seconds_per_ask(free, 50, seed)[0]
        seconds, n = seconds_per_ask(ruled, 50, seed)
        costs["with"] += seconds
        valid += n
    without, under = (1e3 * float(np.median(costs[key])) for key in ("without", "with"))
    print(f"{valid} of 200 suggestions are valid")
    print(f"{without:.1f} ms per suggestion without rules, {under:.1f} ms with them")
    print(f"ratio {under / without:.1f} (limit {LIMIT})")
    for name in boundary_problems():
        regrets = [regret(name, 40, seed) for seed in range(5)]
        print(f"{name}: regret {np.median(regrets):.1e} after 40 evaluations (median of 5 seeds)")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    main()
