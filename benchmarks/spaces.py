"""What it is worth to say more about a space: `python -m benchmarks.spaces [--seeds N]`.

Two comparisons, each of the same function on two spaces with the same configurations:

    layers   a number of layers that opens the units of each layer, against a choice with one option per number
    ordinal  categories that are declared to be in order, against the same categories without order

It prints, for several regrets, the median number of evaluations until a run reaches them, and in how many of the seeds
the first space needs fewer evaluations than the second, and more.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import addtree as at

Config = dict[str, Any]

LAYERS = 8  # The largest number of layers.
LEVELS = tuple(f"level {i}" for i in range(12))  # The labels of each ordinal parameter, in order.
BUDGET = 60  # Evaluations of a run; a run that does not reach a regret counts as one more.
REGRETS = (0.3, 0.1, 0.03)  # Regrets that are looked for.


def layers(config: Config) -> float:
    """Smooth in the number of layers, best at 5; every further layer wants half the units. The least value is 0."""
    value: float = (config["layers"] - 5) ** 2 / 12 + (math.log10(config["rate"]) + 2) ** 2 / 4
    for k in range(2, config["layers"] + 1):
        value += 0.05 * (math.log2(config[f"units_{k}"]) - (10 - k)) ** 2
    return value


def ordinal(config: Config) -> float:
    """A valley across three ordinal parameters, and a real one. The least value is 0."""
    a, b, c = (LEVELS.index(config[name]) for name in "abc")
    x: float = config["x"]
    return ((a - 7) ** 2 + (b - 3) ** 2 + (c - 9) ** 2 + (a - 7) * (b - 3)) / 60 + (x - 0.4) ** 2


UNITS = at.Integer(8, 512, log=True)
RATE = at.Real(1e-4, 1, log=True)
OPENS = at.Space(
    rate=RATE,
    layers=at.Integer(1, LAYERS, opens={(k, LAYERS): at.Space({f"units_{k}": UNITS}) for k in range(2, LAYERS + 1)}),
)
CHOICE = at.Space(
    rate=RATE,
    layers=at.Choice({n: at.Space({f"units_{k}": UNITS for k in range(2, n + 1)}) for n in range(1, LAYERS + 1)}),
)


def levels(*, ordered: bool) -> at.Space:
    """Three parameters with the same levels, and a real one."""
    return at.Space({name: at.Categorical(LEVELS, ordered=ordered) for name in "abc"}, x=at.Real(0, 1))


COMPARISONS: dict[str, tuple[Callable[[Config], float], dict[str, at.Space]]] = {
    "layers": (layers, {"opens": OPENS, "choice": CHOICE}),
    "ordinal": (ordinal, {"ordered": levels(ordered=True), "unordered": levels(ordered=False)}),
}


def best_values(objective: Callable[[Config], float], space: at.Space, seed: int, budget: int = BUDGET) -> list[float]:
    """The best value after each evaluation of a run."""
    optimizer = at.Optimizer(space, seed=seed)
    best: list[float] = []
    for _ in range(budget):
        trial = optimizer.ask()
        value = objective(trial.config)
        optimizer.tell(trial, value)
        best.append(min([value, *best[-1:]]))
    return best


def evaluations(best: list[float], regret: float) -> int:
    """The number of evaluations until a run reaches a regret; one more than it has if it does not."""
    return next((i + 1 for i, value in enumerate(best) if value <= regret), len(best) + 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="the number of runs on each space")
    seeds = range(parser.parse_args().seeds)
    for name, (objective, spaces) in COMPARISONS.items():
        runs = {space: [best_values(objective, spaces[space], seed) for seed in seeds] for space in spaces}
        for regret in REGRETS:
            counts = {space: np.array([evaluations(best, regret) for best in runs[space]]) for space in runs}
            first, second = counts.values()
            medians = ", ".join(f"{space} {np.median(count):g}" for space, count in counts.items())
            print(
                f"{name}, regret {regret:g}: median evaluations {medians}; "
                f"fewer in {np.sum(first < second)} of {len(seeds)} seeds, more in {np.sum(first > second)}"
            )


if __name__ == "__main__":
    main()
