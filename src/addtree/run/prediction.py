"""What the model of a run predicts, in the units of the values that were told.

The model is a normal distribution N(m, s²) on the scale z of its transform. With y(z) the inverse of the transform,

    mean, std   of y(z) for z ~ N(m, s²), from equally probable quantiles of z
    gain        E[max(y(b) - y(z), 0)] = ∫ Φ((z - m) / s) dy(z) over z < b, where b is the least mean observed

The inverse of the transform stretches its tails. Values are therefore limited to the range of those observed, widened
by its own width on both sides.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtr, ndtri

from addtree._types import Array
from addtree.model.observations import Observations
from addtree.model.success import SuccessModel
from addtree.model.surrogate import Surrogate
from addtree.search.candidates import Observed
from addtree.search.multiobjective import Posteriors
from addtree.search.policy import Policy, suggest

_QUANTILES = ndtri((np.arange(64) + 0.5) / 64)  # Standard normal quantiles that stand for the distribution.
_STEPS = 256  # Steps of the integral of the gain.
_TAIL = 8.0  # The integral of the gain begins this many standard deviations below the mean.


def predict(surrogate: Surrogate, data: Observations, row: Array, *, observed: bool) -> tuple[float, float]:
    """Mean and standard deviation at a row; those of an observation include the noise."""
    mean, variance = (float(part[0]) for part in surrogate.predict(row[None]))
    variance = max(variance, 0.0) + observed * surrogate.posterior.hyper.noise
    values = _in_units(surrogate, data.y, mean + np.sqrt(variance) * _QUANTILES)
    unit = float(np.max(np.abs(values))) or 1.0  # the squares of 1e300 and 1e-300 are not representable
    return unit * float(np.mean(values / unit)), unit * float(np.std(values / unit))


def expected_gain(
    policy: Policy,
    surrogate: Surrogate,
    posteriors: Posteriors,
    observed: Observed,
    rng: np.random.Generator,
    success: SuccessModel | None = None,
) -> float:
    """The largest expected improvement over the least feasible mean that the search finds; 0 if it finds nothing new.

    surrogate   the model of the objective
    posteriors  of the objective and the constraints
    success     the probability that an evaluation succeeds; None if none has failed
    """
    noiseless = replace(policy.noisy, share=np.inf)  # never applies
    plain = replace(policy, acquisition="logei", lower_turn=None, local_turn=None, neglected=False, noisy=noiseless)
    bonus = None if success is None else policy.avoidance.criterion(success, cautious=False)
    row = suggest(plain, posteriors, observed, turn=1, rng=rng, bonus=bonus)
    if row is None:
        return 0.0
    mean, variance = (float(part[0]) for part in surrogate.predict(row[None]))
    deviation = np.sqrt(max(variance, np.finfo(float).tiny))
    losses, feasible = posteriors.losses(observed.X)[:, 0], posteriors.violations(observed.X) == 0.0
    best = float(np.min(losses[feasible] if feasible.any() else losses))
    z = np.linspace(min(mean, best) - _TAIL * deviation, best, _STEPS)
    below = ndtr((z - mean) / deviation)
    gain = float(0.5 * (below[1:] + below[:-1]) @ np.diff(_in_units(surrogate, observed.y, z)))
    gain *= float(np.exp(sum(part.values(row[None])[0] for part in posteriors.feasibility())))
    return gain if success is None else gain * float(success.probability(row[None])[0])


def _in_units(surrogate: Surrogate, y: Array, z: Array) -> Array:
    """z in the units of y, limited to the range of the values y, widened by its own width on both sides."""
    low, high = float(np.min(y)), float(np.max(y))
    span = high - low if high > low else surrogate.transform.scale
    return np.clip(surrogate.transform.inverse(z), low - span, high + span)
