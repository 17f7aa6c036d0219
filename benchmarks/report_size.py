"""Measure how long a large report takes to write, and how large it is: python -m benchmarks.report_size"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import addtree as at
from addtree.report import write

LIMIT_S = 20  # A report may take this many seconds.
LIMIT_MB = 10  # Its file may have this many megabytes.


def large(n_trials: int, n_choices: int) -> tuple[at.Space, list[dict[str, Any]]]:
    """A space like that of compressing a network (one choice of a method per layer), and random trials of it."""
    children: dict[str, Any] = {"lr": at.Real(1e-5, 1e-1, log=True), "decay": at.Real(0, 1)}
    for i in range(n_choices):
        prune = at.Space({f"threshold{i}": at.Real(0, 1)})
        low_rank = at.Space({f"rank{i}": at.Integer(1, 64, log=True), f"solver{i}": at.Categorical(("svd", "als"))})
        children[f"layer{i}"] = at.Choice({"prune": prune, "low rank": low_rank})
    space, rng = at.Space(children), np.random.default_rng(0)

    def value(config: dict[str, Any]) -> float:
        total = (np.log10(config["lr"]) + 3) ** 2
        for i in range(n_choices):
            if f"rank{i}" in config:
                total += 0.1 + 0.3 * config[f"rank{i}"] / 64
            else:
                total += (1 + i / 5) * (config[f"threshold{i}"] - 0.3) ** 2
        return float(total)

    configs = [space.sample(rng) for _ in range(n_trials)]
    return space, [{"config": config, "value": value(config)} for config in configs]


def wide(n_trials: int, n_options: int) -> tuple[at.Space, list[dict[str, Any]]]:
    """A space with one choice of many options, each with a parameter, and random trials of it."""
    options = {f"option{i}": at.Space({f"x{i}": at.Real(0, 1)}) for i in range(n_options)}
    space, rng = at.Space(lr=at.Real(1e-5, 1e-1, log=True), model=at.Choice(options)), np.random.default_rng(0)

    def value(config: dict[str, Any]) -> float:
        number = int(config["model"].removeprefix("option"))
        return float((np.log10(config["lr"]) + 3) ** 2 + 0.1 * (number % 7) + (config[f"x{number}"] - 0.3) ** 2)

    configs = [space.sample(rng) for _ in range(n_trials)]
    return space, [{"config": config, "value": value(config)} for config in configs]


def measure(space: at.Space, trials: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.html"
        begin = time.perf_counter()
        write(path, space, trials)
        seconds, megabytes = time.perf_counter() - begin, path.stat().st_size / 1e6
    print(f"{len(trials)} trials, {len(space.vertices)} vertices, {len(space.variables)} parameters and choices")
    print(f"{seconds:.1f} s (limit {LIMIT_S}), {megabytes:.1f} MB (limit {LIMIT_MB})")


def main() -> None:
    measure(*large(n_trials=1000, n_choices=25))
    measure(*wide(n_trials=100, n_options=60))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    main()
