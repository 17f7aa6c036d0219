"""Where to evaluate next if values are noisy: top-two Thompson sampling.

Expected improvement over the best observation makes no sense then, because the best value may be luck. Draws of the
function from the posterior say which configurations may be the best one. The *leader* is the best configuration of one
draw, the *challenger* that of the first further draw that prefers another. One of the two is evaluated, by the toss of
a coin (Russo 2020, "Simple Bayesian algorithms for best-arm identification"). A configuration that was evaluated before
may be evaluated again, so that a finite space ends with the best configurations evaluated most often.

symbol  shape   meaning
μ       m       mean of the function at the candidates
Σ       m x m   its covariance
F       S x m   draws from N(μ, Σ)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from addtree._types import Array, Index
from addtree.model.gp import Posterior
from addtree.model.kernel import Rows
from addtree.search.acquisition import lowest
from addtree.search.candidates import Observed, first_positions
from addtree.search.criterion import Criterion, Single, plus
from addtree.search.joint import JointSearch, improve

_CONSTANT = 1e-12  # Values whose variance on the scale of the model is less than this are one value and its rounding.
_SAME = 1e-9  # Values that differ by less than this share of their range are one value and its rounding.
_JITTERS = (1e-10, 1e-7, 1e-4)  # Shares of the largest variance that are added to Σ until it can be factorised.


@dataclass(frozen=True)
class TopTwo:
    """How top-two Thompson sampling works, and when.

    share    it is used if the variance of the noise is at least this share of the variance of the values; with less
             noise, expected improvement over the least mean finds as much (`benchmarks.noise`)
    least    number of observations from which learned noise is trusted enough to evaluate a configuration again
    proof    after this many repeated evaluations, if none of them gave another value, there is no noise
    repeats  number of evaluated configurations, those of least mean, that may be evaluated again
    kept     number of candidates that are drawn, those of least mean minus three standard deviations
    draws    S, the number of draws; if all of them prefer the leader, the leader is evaluated
    """

    share: float = 0.1
    least: int = 20
    proof: int = 2
    repeats: int = 64
    kept: int = 256
    draws: int = 64

    def applies_to(self, posterior: Posterior) -> bool:
        """Whether there is enough noise. A kernel without terms cannot tell noise from anything else."""
        return bool(posterior.kernel.terms) and float(np.median(posterior.noise)) > self.share * float(
            np.var(posterior.z)
        )

    def may_repeat(self, posterior: Posterior, declared: float | None) -> bool:
        """Whether a configuration may be evaluated again: noise is declared, or there is enough of it beyond doubt.

        Values that are all the same show no noise.
        """
        if declared is not None:
            return declared > 0
        varies = float(np.var(posterior.z)) > _CONSTANT
        return varies and self.applies_to(posterior) and len(posterior.z) >= self.least

    def is_refuted(self, keys: Sequence[bytes], y: Array) -> bool:
        """Whether enough configurations were evaluated again, and all gave the value that they gave before.

        The values then only look noisy, like the scores of a cross-validation whose folds and seeds are fixed.

        keys  of the configurations that have the values y
        """
        values, first = y.tolist(), first_positions(keys)
        again = [i for i, key in enumerate(keys) if first[key] != i]
        changes = [abs(values[i] - values[first[keys[i]]]) for i in again]
        return len(changes) >= self.proof and max(changes) <= _SAME * float(np.ptp(y))


def by_mean(observed: Observed, posterior: Posterior) -> Observed:
    """The same observations with their means for values: the incumbents are then those of least mean."""
    means = posterior.predict(posterior.kernel.rows(observed.X))[0]
    return replace(observed, y=means)


def top_two(
    posterior: Posterior,
    observed: Observed,
    candidates: Array,
    *,
    settings: TopTwo,
    search: JointSearch,
    rng: np.random.Generator,
    bonus: Criterion | None = None,
) -> Array | None:
    """The row to evaluate next: a candidate, a point of least mean near one, or a row that was evaluated before.

    `observed` has the means for values (see `by_mean`). Taken rows are left out as long as others remain. None if no
    candidate satisfies the rules of the space.

    bonus  what is subtracted from every value, such as the log probability of success
    """
    encoding = observed.encoding
    restriction, known = observed.restriction, observed.ranked
    known = known if restriction is None else known[restriction.agrees(known)]
    X = encoding.feasibility.filter(encoding.snap(np.concatenate([candidates, known[: settings.repeats]])))
    if not len(X):
        return None
    criterion = plus(Single(posterior, lowest), bonus)
    improved = improve(criterion, observed, X, criterion.values(X), search=search)
    X = encoding.feasibility.filter(np.concatenate([X, improved]))
    first = first_positions(encoding.keys(X))
    X = X[[i for key, i in first.items() if key not in observed.taken] or list(first.values())]
    mean, variance = posterior.predict(rows := posterior.kernel.rows(X))
    added = np.zeros(len(X)) if bonus is None else bonus.values(X)
    kept = np.argsort(mean - added - 3.0 * np.sqrt(variance), kind="stable")[: settings.kept]
    best = kept[best_of_draws(posterior, rows[kept], settings.draws, rng, added[kept])]
    challengers = best[best != best[0]]
    chosen = challengers[0] if len(challengers) and rng.random() < 0.5 else best[0]
    return np.asarray(X[chosen])


def best_of_draws(
    posterior: Posterior, candidates: Rows, n: int, rng: np.random.Generator, bonus: Array | float = 0.0
) -> Index:
    """For each of n joint draws of the function at the candidates, the position of the least value minus the bonus."""
    mean, covariance = posterior.joint(candidates)
    mean = mean - bonus
    variance, normal = np.diagonal(covariance), rng.normal(size=(n, len(mean)))
    for jitter in _JITTERS:
        try:
            factor = np.linalg.cholesky(covariance + jitter * np.max(variance) * np.eye(len(mean)))
        except np.linalg.LinAlgError:
            continue
        return np.asarray(np.argmin(mean + normal @ factor.T, axis=1))
    return np.asarray(np.argmin(mean + normal * np.sqrt(np.maximum(variance, 0.0)), axis=1))
