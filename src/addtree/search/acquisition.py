"""Acquisition functions: the worth of an evaluation, from the mean and variance of the minimised objective.

Each takes means (m) and variances (m) and returns values (m), to be maximised, with their derivatives by mean and by
variance. An acquisition of K posteriors takes and returns K x m instead. They know nothing about models or spaces.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from addtree._types import Array

Acquisition: TypeAlias = Callable[[Array, Array], tuple[Array, Array, Array]]

ACQUISITIONS = ("logei", "ucb", "additive-ucb", "thompson")

_TINY = 1e-20  # Variances below this count as this, which keeps quotients finite.
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_LARGEST_SHARE = 1.0 - 2.0**-53  # The largest float below one. Larger shares count as this: quotients stay finite.
_SQRT_HALF, _SQRT_HALF_PI = math.sqrt(0.5), math.sqrt(0.5 * math.pi)


def standard_deviation(variance: Array) -> Array:
    """The root of a variance, never zero."""
    return np.sqrt(np.maximum(variance, _TINY))


def beta(dimension: Array, t: int) -> Array:
    """β_t = 0.2 d̃ log(2t), the paper's exploration weight after Kandasamy et al. (2015)."""
    return np.asarray(0.2 * dimension * np.log(2.0 * t))


def ucb(weight: Array) -> Acquisition:
    """-mean + √β σ, the upper confidence bound of the gain; `weight` is β, for all points or for each."""

    def value(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        root = np.sqrt(weight)
        sigma = standard_deviation(variance)
        return root * sigma - mean, np.full_like(mean, -1.0), 0.5 * root / sigma

    return value


def log_expected_improvement(target: float) -> Acquisition:
    """log E[max(target - f, 0)], accurate even where the improvement underflows (Ament et al. 2023).

    With u = (target - mean)/σ and h(u) = φ(u) + u Φ(u), the value is log σ + log h(u).
    """

    def value(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        sigma = standard_deviation(variance)
        u = (target - mean) / sigma
        log_value, cdf_over_h, pdf_over_h = log_h(u)
        return np.log(sigma) + log_value, -cdf_over_h / sigma, 0.5 * pdf_over_h / sigma**2

    return value


def log_h(u: Array) -> tuple[Array, Array, Array]:
    """log h(u), Φ(u)/h(u) and φ(u)/h(u) for h(u) = φ(u) + u Φ(u)."""
    is_low = u < -1.0
    if is_low.all():
        return _log_h_low(u)
    pdf, cdf = np.exp(-0.5 * u * u - _LOG_SQRT_2PI), ndtr(u)
    if not is_low.any():
        h = pdf + u * cdf
        return np.log(h), cdf / h, pdf / h
    h = np.where(is_low, 1.0, pdf + u * cdf)
    low = _log_h_low(np.minimum(u, -1.0))
    high = np.log(h), cdf / h, pdf / h
    return (
        np.where(is_low, low[0], high[0]),
        np.where(is_low, low[1], high[1]),
        np.where(is_low, low[2], high[2]),
    )


def _log_h_low(u: Array) -> tuple[Array, Array, Array]:
    """The same for u below -1, where all three are multiples of φ.

    h = φ (1 + u m) with Mills' ratio m = Φ/φ; for very low u, 1 + u m is 1/u².
    """
    mills = _SQRT_HALF_PI * erfcx(-_SQRT_HALF * u)
    rest = np.where(u < -1e4, 1.0 / u**2, 1.0 + u * mills)
    return -0.5 * u * u - _LOG_SQRT_2PI + np.log(rest), mills / rest, 1.0 / rest


def log_success(prior_mean: float, likely: float = 0.0, caution: float = 0.0) -> Acquisition:
    """log p for p = E[Φ(b + g)] = Φ((b + mean) / √(1 + variance)), the probability of success (see `model.success`).

    Below the probability `likely`, it falls (1 + caution) times as fast.
    """
    threshold = math.log(likely) if likely > 0.0 else -math.inf

    def value(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        spread = 1.0 + variance
        u = (prior_mean + mean) / np.sqrt(spread)
        log_p = log_ndtr(u)
        weight = np.where(log_p < threshold, 1.0 + caution, 1.0)
        by_u = weight * np.exp(-0.5 * u * u - _LOG_SQRT_2PI - log_p)
        total = weight * log_p - np.where(log_p < threshold, caution * threshold, 0.0)
        return total, by_u / np.sqrt(spread), -0.5 * by_u * u / spread

    return value


def log_feasibility(low: float, high: float) -> Acquisition:
    """log P(low <= f <= high), accurate even where the probability underflows; one bound may be infinite."""

    def one_sided(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        sigma = standard_deviation(variance)
        side, bound = (1.0, high) if low == -math.inf else (-1.0, low)
        u = side * (bound - mean) / sigma
        value, ratio = log_cdf(u)
        return value, -side * ratio / sigma, -0.5 * u * ratio / sigma**2

    def two_sided(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """P = Φ(b) - Φ(a). Where the interval is above the mean, both are mirrored: Φ is more accurate below zero."""
        sigma = standard_deviation(variance)
        side = np.where(mean < 0.5 * low + 0.5 * high, -1.0, 1.0)
        a = np.where(side > 0.0, low - mean, mean - high) / sigma
        b = np.where(side > 0.0, high - mean, mean - low) / sigma
        (log_a, ratio_a), (log_b, ratio_b) = log_cdf(a), log_cdf(b)
        share = np.minimum(np.exp(log_a - log_b), _LARGEST_SHARE)  # Φ(a) / Φ(b)
        at_a, at_b = ratio_a * share / (1.0 - share), ratio_b / (1.0 - share)  # φ(a) / P, φ(b) / P
        by_variance = 0.5 * (a * at_a - b * at_b) / sigma**2
        return log_b + np.log1p(-share), side * (at_a - at_b) / sigma, by_variance

    return one_sided if low == -math.inf or high == math.inf else two_sided


def log_cdf(u: Array) -> tuple[Array, Array]:
    """log Φ(u) and φ(u)/Φ(u)."""
    mills = _SQRT_HALF_PI * erfcx(-_SQRT_HALF * np.minimum(u, -1.0))
    high = np.maximum(u, -1.0)
    return log_ndtr(u), np.where(u < -1.0, 1.0 / mills, np.exp(-0.5 * high * high - _LOG_SQRT_2PI) / ndtr(high))


def cheapness(scale: float, low: float) -> Acquisition:
    """-log E cost up to a constant, from a standardised log cost of this scale, which counts as at least `low`.

    If log cost is normal with mean μ and variance σ², log E cost = μ + σ²/2.
    """

    def value(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        expected = mean + 0.5 * scale * variance
        slope = np.where(expected >= low, -scale, 0.0)
        return -scale * np.maximum(expected, low), slope, 0.5 * scale * slope

    return value


def lowest(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
    """-mean: for a sample path, whose variance is zero, and for the search of the least mean."""
    return -mean, np.full_like(mean, -1.0), np.zeros_like(mean)
