"""Priors of the hyperparameters.

Hyperparameters of one kind form a group: amplitudes of vertices, of paths, of offsets, of interactions; lengthscales.
The members of a group vary around a common mean that is itself unknown, so that vertices with few observations borrow
from the others:

    v ~ N(m·1, s²·I + p²·11ᵀ)        m: median, s: spread of the members, p: spread of their common mean
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np

from addtree._types import Array


@dataclass(frozen=True)
class GroupPrior:
    """The prior of one group, on the scale of θ: logarithms, except for the power of the transform.

    median         m
    member_spread  s
    mean_spread    p
    """

    median: float
    member_spread: float
    mean_spread: float


def log_prior(median: float, member_spread: float, mean_spread: float) -> GroupPrior:
    """The prior of a positive hyperparameter, given by the median of the hyperparameter itself."""
    return GroupPrior(math.log(median), member_spread, mean_spread)


@dataclass(frozen=True)
class Priors:
    """One prior per group, for standardised values and parameters in the unit interval.

    `benchmarks.variants` compares others: on its tasks they hardly matter. They matter under noise: short lengthscales
    and a low noise explain noisy values as well as noise does, so that the first must not be much likelier.
    """

    main: GroupPrior = log_prior(1.0, 1.0, 2.0)
    path: GroupPrior = log_prior(30.0, 0.5, 3.0)
    trend: GroupPrior = log_prior(0.1, 1.0, 1.5)
    offset: GroupPrior = log_prior(0.3, 1.0, 2.0)
    interaction: GroupPrior = log_prior(0.03, 0.5, 2.0)
    lengthscale: GroupPrior = log_prior(1.0, 0.8, 1.0)
    noise: GroupPrior = log_prior(1e-6, 4.0, 0.0)
    power: GroupPrior = GroupPrior(1.0, 0.5, 0.0)


STARTS = Priors(main=log_prior(30.0, 0.5, 3.0), lengthscale=log_prior(3.0, 0.8, 2.0), noise=log_prior(1e-8, 3.0, 0.0))
"""Under maximum likelihood, only the medians matter: the first descent starts there, and others around it."""


class LogPrior:
    """-log p(θ) up to a constant, with its gradient.

    priors  a dataclass with one `GroupPrior` per group, such as `Priors`
    groups  the name of the group of each entry of θ
    """

    def __init__(self, priors: Any, groups: Sequence[str]) -> None:
        names = [field.name for field in fields(priors)]
        self._group = np.array([names.index(group) for group in groups], dtype=np.intp)
        m, s, p = np.array([astuple(getattr(priors, name)) for name in names]).T
        n = np.bincount(self._group, minlength=len(names))
        self.median = m[self._group]
        # Sherman-Morrison: (s²·I + p²·11ᵀ)⁻¹ = (I - shrink·11ᵀ) / s²
        self._precision, self._shrink = s[self._group] ** -2, p**2 / (s**2 + n * p**2)

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """The value and its gradient."""
        v = theta - self.median
        total = np.bincount(self._group, v, minlength=len(self._shrink))
        gradient = (v - (self._shrink * total)[self._group]) * self._precision
        return 0.5 * float(v @ gradient), gradient
