"""Values of single parameters that the model did not suggest, or suggested outside of their present range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from addtree._optuna.codec import first_positions, narrow_type
from addtree.errors import ConfigError


def nearest_value(distribution: BaseDistribution, value: Any) -> Any:
    """The value of a distribution that is nearest to one that may lie outside; a ConfigError if none is comparable."""
    d = narrow_type(distribution)
    if isinstance(d, CategoricalDistribution) and value in d.choices:
        return value
    if isinstance(d, CategoricalDistribution) or isinstance(value, (str, bool)) or value is None:
        raise ConfigError(f"{value!r} is not a value of {d}")
    value = min(max(value, d.low), d.high)
    if isinstance(d, IntDistribution):  # in whole numbers, because floats do not represent large ones
        return min(d.low + (2 * (round(value) - d.low) + d.step) // (2 * d.step) * d.step, d.high)
    if d.step is not None:
        value = d.low + round((value - d.low) / d.step) * d.step
    return min(float(value), d.high)


def draw_value(distribution: BaseDistribution, counts: Mapping[float, int], rng: np.random.Generator) -> Any:
    """A random value: one of the rarest categories, or a number that is uniform on its scale.

    counts  how often each value occurred so far, by its internal representation
    """
    d = narrow_type(distribution)
    if isinstance(d, CategoricalDistribution):
        positions = first_positions(d)
        occurred = np.array([counts.get(float(i), 0) for i in positions])
        return d.choices[positions[int(rng.choice(np.flatnonzero(occurred == occurred.min())))]]
    u = rng.random()
    if d.log:
        return nearest_value(d, _log_uniform(d, u))
    if d.step is None:
        width = d.high - d.low
        return float(d.low + u * width if math.isfinite(width) else (1 - u) * d.low + u * d.high)
    if isinstance(d, IntDistribution):
        return d.low + int(rng.integers((d.high - d.low) // d.step + 1)) * d.step
    return nearest_value(d, d.low + int(rng.integers(round((d.high - d.low) / d.step) + 1)) * d.step)


def _log_uniform(d: FloatDistribution | IntDistribution, u: float) -> float:
    """The u-quantile of the log-uniform distribution; an integer owns the interval of width one around it."""
    edge = 0.5 if isinstance(d, IntDistribution) else 0.0
    low, high = math.log(d.low - edge), math.log(d.high + edge)
    value = math.exp(low + u * (high - low))
    return round(value) if isinstance(d, IntDistribution) else value
