"""Functions with any number of options, whose optima are known: how does a search cope with 2, 6 or 30?

Option o has the value

    c_o + h(a² + b² + s² + a s),    a = u_o - u*_o,    b = v_o - v*_o,    s = s - s*_o,    h(q) = 1 - exp(-4 q)

u_o and v_o belong to the option alone, s to all of them. The best s of all options lie close together, so that one
option tells about the others. The offsets c_o lie evenly between 0 and 1, in random order; the least value is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from addtree import Choice, Real, Space
from addtree.problems import Problem

STEEPNESS = 4.0  # With this steepness, a random point of an option is worse than its best one by about 0.6.


def problem(n_options: int) -> Problem:
    """The function with `n_options` options; the number of options also seeds its constants."""
    rng = np.random.default_rng(n_options)
    offsets = rng.permutation(np.linspace(0, 1, n_options))
    own = rng.uniform(0.1, 0.9, size=(n_options, 2))
    shared = rng.uniform(0.55, 0.75, size=n_options)

    def objective(config: Mapping[str, Any]) -> float:
        o = config["option"]
        a, b = (config[f"{name}{o}"] - best for name, best in zip("uv", own[o], strict=True))
        s = config["shared"] - shared[o]
        return float(offsets[o] - np.expm1(-STEEPNESS * (a**2 + b**2 + s**2 + a * s)))

    options = {o: Space({f"u{o}": Real(0, 1), f"v{o}": Real(0, 1)}) for o in range(n_options)}
    return Problem(f"options-{n_options}", Space(shared=Real(0, 1), option=Choice(options)), objective, 0.0)
