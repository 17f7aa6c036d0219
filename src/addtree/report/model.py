"""The models of a report, fitted at a bounded cost: an `AddTreeGP` of the trials, or the surrogate of the optimizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from addtree._types import Array
from addtree.model.fit import FitSettings
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.model.surrogate import Surrogate
from addtree.model.thinning import thin
from addtree.regression import AddTreeGP
from addtree.report.records import Record, standard_errors
from addtree.space.encoding import Encoding
from addtree.space.space import Space

_CLIP = 20.0  # Values are clipped where they are worse than the median by this many times (median - best value).


@dataclass(frozen=True)
class Limits:
    """How many trials the model of a report uses; `benchmarks/report_size.py` measures what that costs.

    fit        largest number of trials that the hyperparameters are fitted to
    refit      the same for each further model, such as those that check the first one
    condition  largest number of trials that the model is conditioned on
    draws      draws of the hyperparameters that effects average over; half of them in a large fit
    """

    fit: int = 200
    refit: int = 100
    condition: int = 500
    draws: int = 6


DEFAULT_LIMITS = Limits()


def fit_model(
    space: Space,
    trials: Sequence[Record],
    y: Array,
    *,
    maximize: bool,
    limits: Limits,
    noise: float | None = None,
) -> AddTreeGP:
    """A model whose hyperparameters are fitted to at most `limits.fit` trials; it is conditioned on all of them.

    y      the values of the trials, clipped as the caller wants; their standard errors are those of the trials
    noise  standard deviation of repeated evaluations; None to learn it
    """
    configs, std = [trial.config for trial in trials], standard_errors(trials)
    chosen = thin(-y if maximize else y, limits.fit)
    large = len(chosen) == limits.fit  # a fit to this many observations already takes seconds
    restarts, draws = (0, limits.draws // 2) if large else (1, limits.draws)
    few = [configs[i] for i in chosen]
    gp = AddTreeGP(space, noise=noise).fit(few, y[chosen], std=std[chosen], restarts=restarts, draws=draws)
    return gp.condition(configs, y, std=std) if len(chosen) < len(y) else gp


def fit_surrogate(
    encoding: Encoding, data: Observations, specification: Specification, limits: Limits, rng: np.random.Generator
) -> Surrogate:
    """The optimizer's model of observations."""
    settings = FitSettings(max_fit_rows=limits.refit, max_rows=limits.fit, restarts=1)
    return Surrogate.fit(specification, specification.make_kernel(encoding), data, settings=settings, rng=rng)


def clip_bound(y: Array, *, maximize: bool) -> float:
    """The bound that extremely bad values are clipped to; infinite if they cannot be told from the others.

    Extreme values would dominate the variance that the report explains. The bound is generous, so that it changes
    nothing else. (The optimizer compresses bad values by a logarithm instead; here effects have to stay in the units
    of the user.)
    """
    sign = -1.0 if maximize else 1.0
    median, best = float(np.median(sign * y)), float(np.min(sign * y))
    return sign * (median + _CLIP * (median - best)) if median > best else sign * np.inf


def clip(y: Array, bound: float, *, maximize: bool) -> Array:
    """The values, with those worse than the bound set to it."""
    return np.maximum(y, bound) if maximize else np.minimum(y, bound)
