"""Functions with a valley in every option, whose best values are known: is a branch misjudged that was seen from afar?

Option o has the value

    c_o + s_o · Σ_j g_oj(u_j - u*_oj),    g(t) = (t / w)² on the steep side, 1 - exp(-(t / w)²) on the other

Each parameter of the option is u_j in the unit interval. The widths w, the scales s_o and the offsets c_o vary by
factors of 10 to 100, so that a search that converges in one option has seen values of another that are far worse, and
not the valley between them. The least offset is 0, and is as likely in a steep option as in a flat one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from addtree import Choice, Real, Space
from benchmarks.tasks.task import Task

WIDTHS, SCALES, OFFSETS = (0.05, 0.5), (0.03, 3.0), (0.01, 1.0)


def problem(seed: int) -> tuple[Task, dict[tuple[str, int], float]]:
    """A function, and the best value of each option, by choice and position of the option."""
    rng = np.random.default_rng([seed, 7])
    n = int(rng.integers(2, 5))
    sizes, scales = rng.integers(1, 4, size=n), _between(SCALES, n, rng)
    offsets = _between(OFFSETS, n, rng)
    offsets[rng.integers(n)] = 0.0
    best = [rng.uniform(0.1, 0.9, size=size) for size in sizes]
    width = [_between(WIDTHS, size, rng) for size in sizes]
    steep = [rng.choice([-1.0, 1.0], size=size) for size in sizes]

    def objective(config: Mapping[str, Any]) -> float:
        o = config["option"]
        t = (np.array([config[f"u{o}{j}"] for j in range(sizes[o])]) - best[o]) / width[o]
        return float(offsets[o] + scales[o] * np.sum(np.where(t * steep[o] > 0, t**2, -np.expm1(-(t**2)))))

    options = {o: Space({f"u{o}{j}": Real(0, 1) for j in range(size)}) for o, size in enumerate(sizes)}
    task = Task(f"valley/{seed}", Space(option=Choice(options)), objective, 0.0, exact=True)
    return task, {("option", o): float(offset) for o, offset in enumerate(offsets)}


def _between(bounds: tuple[float, float], size: int, rng: np.random.Generator) -> Any:
    """Numbers between bounds, even on a logarithmic scale."""
    low, high = bounds
    return np.exp(rng.uniform(np.log(low), np.log(high), size=size))
