"""From observed values y to the scale z of the model, and back.

    s = (compress(y) - centre) / scale          z = yj(s; λ)

`compress` reduces values far above the median to a logarithm. They keep their order, because even a bad branch shows in
which direction it improves. `yj` is the Yeo-Johnson power transform: λ = 1 changes nothing, λ < 1 stretches low values,
where a minimiser looks, and shrinks high ones. λ is learned with the hyperparameters (see `fit`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from addtree._types import Array

_LEAST_SCALE = float(np.finfo(float).tiny)  # Below this, the quotient of two floats has no precision left.
_FARTHEST = 1e15  # More scales than this count as this many: their fourth powers are far from overflow.
_CONSTANT = 1e-14  # Values that differ by less than this share of their size differ by rounding alone.
_SMALL_POWER = 1e-4  # For powers below this, the quotient (exp(p u) - 1) / p is computed by its series.
_MAX_EXCESS = 100.0  # An excess over the cap counts as at most this many widths, unless the settings say otherwise.

# The median is that of at most this many values, the worst. In a long run most values gather at the optimum. The median
# of all would be close to it, and the differences between the others would look like noise.
_MAX_WORST = 100


@dataclass(frozen=True)
class TransformSettings:
    """How extreme values are compressed, and how far the power may go. `benchmarks.variants` compares other settings.

    cap           values above the median by more than this many times (median - least) are compressed; the median is
                  that of the worst values if there are many
    width         the logarithm that compresses them bends at this many times (median - least)
    power_bounds  bounds of λ; equal bounds switch the power transform off
    max_excess    an excess over the cap counts as at most this many widths
    least_spread  (median - least) counts as at least this
    """

    cap: float = 2.0
    width: float = 0.5
    power_bounds: tuple[float, float] = (-1.0, 3.0)
    max_excess: float = _MAX_EXCESS
    least_spread: float = 0.0


def _box_cox(u: Array, power: float) -> tuple[Array, Array]:
    """(exp(p u) - 1) / p and its derivative by p, also at and near p = 0."""
    if abs(power) < _SMALL_POWER:
        return u + power * u**2 / 2.0 + power**2 * u**3 / 6.0, u**2 / 2.0 + power * u**3 / 3.0
    grown = np.exp(power * u)
    return (grown - 1.0) / power, (power * u * grown - (grown - 1.0)) / power**2


def yeo_johnson(s: Array, power: float) -> tuple[Array, Array, float, float]:
    """z, dz/dλ, the log Jacobian of s -> z summed over the values, and its derivative by λ."""
    u = np.log1p(np.abs(s))
    up, by_up = _box_cox(u, power)
    down, by_down = _box_cox(u, 2.0 - power)
    signed = float(np.sum(np.sign(s) * u))
    return np.where(s >= 0, up, -down), np.where(s >= 0, by_up, by_down), (power - 1.0) * signed, signed


@dataclass(frozen=True)
class Transform:
    """The transform of one set of observations. Values above `cap` are compressed.

    Differences are computed of halves. Halving changes nothing else, and the difference of 1e308 and -1e308 is
    representable only for their halves.
    """

    centre: float
    scale: float
    cap: float
    width: float
    power: float = 1.0
    max_excess: float = _MAX_EXCESS

    @classmethod
    def from_values(cls, y: Array, *, centred: bool, settings: TransformSettings | None = None) -> Transform:
        """Standardise y; without centring, divide by the root mean square. Constant values are only centred.

        With settings, extreme values are compressed first.
        """
        transform = cls(0.0, 1.0, np.inf, 1.0)
        if settings is not None and len(y):
            worst = np.sort(y)[-_MAX_WORST:]
            middle, least = 2.0 * float(np.median(0.5 * worst)), float(np.min(y))
            if _LEAST_SCALE < (usual := max(middle - least, settings.least_spread)) < np.inf:
                cap, width = middle + settings.cap * usual, settings.width * usual
                transform = replace(transform, cap=cap, width=width, max_excess=settings.max_excess)
            y = transform._compress(y)
        unit = float(np.max(np.abs(y), initial=0.0)) or 1.0  # the squares of 1e300 and 1e-300 are not representable
        centre = float(np.mean(y / unit)) if centred else 0.0
        scale = float(np.sqrt(np.mean((y / unit - centre) ** 2)))
        scale = max(scale * unit if scale > _CONSTANT else unit, _LEAST_SCALE)
        return replace(transform, centre=centre * unit, scale=scale)

    def with_power(self, power: float) -> Transform:
        """The same with another λ."""
        return replace(self, power=power)

    def standardise(self, y: Array) -> Array:
        """y to s."""
        return np.asarray((0.5 * self._compress(y) - 0.5 * self.centre) / (0.5 * self.scale))

    def variance(self, y: Array, std: Array) -> Array:
        """The variances of z from small standard errors of y: (dz/dy std)²."""
        s = self.standardise(y)
        slope = np.exp((self.power - 1.0) * np.sign(s) * np.log1p(np.abs(s))) / (1.0 + self._excess(y))
        with np.errstate(over="ignore"):
            return np.asarray(np.minimum(slope * (std / self.scale), _FARTHEST) ** 2)

    def forward(self, y: Array) -> Array:
        """y to z."""
        s = self.standardise(y)
        return s if self.power == 1.0 else yeo_johnson(s, self.power)[0]

    def bound(self, y: float) -> float:
        """A bound of y as one of z; an infinite one stays as it is."""
        far = _FARTHEST * self.scale
        within = np.clip(y, self.centre - far, self.centre + far)
        return float(self.forward(np.array([within]))[0]) if np.isfinite(y) else y

    def inverse(self, z: Array) -> Array:
        """z to y; a z beyond the range of the transform gives its limit."""
        s = z
        if self.power != 1.0:
            with np.errstate(invalid="ignore", over="ignore"):
                up = _inverse_box_cox(np.maximum(z, 0.0), self.power)
                down = _inverse_box_cox(np.maximum(-z, 0.0), 2.0 - self.power)
            s = np.where(z >= 0, up, -down)
        with np.errstate(over="ignore"):
            y = 2.0 * (0.5 * self.centre + 0.5 * self.scale * s)
            excess = np.clip((0.5 * y - 0.5 * self.cap) / (0.5 * self.width), 0.0, np.log1p(self.max_excess))
            return np.asarray(np.minimum(y, self.cap) + self.width * np.expm1(excess))

    def _compress(self, y: Array) -> Array:
        """y up to the cap; an excess of e widths over it counts as log(1 + e) widths, which keeps the order."""
        return np.asarray(np.minimum(y, self.cap) + self.width * np.log1p(self._excess(y)))

    def _excess(self, y: Array) -> Array:
        """By how many widths y is above the cap, at most `max_excess`."""
        with np.errstate(over="ignore"):  # 1e300 is too many widths of 1e-300 for a float
            return np.clip((0.5 * y - 0.5 * self.cap) / (0.5 * self.width), 0.0, self.max_excess)


def _inverse_box_cox(z: Array, power: float) -> Array:
    """exp(u) - 1 for the u with (exp(p u) - 1) / p = z; of a z that no u reaches, for a very large u."""
    if power == 0.0:
        return np.expm1(z)
    return np.expm1(np.log1p(np.maximum(power * z, 1e-12 - 1.0)) / power)
