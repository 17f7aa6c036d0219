"""What earlier tasks tell about a new one: a prior mean for its model, and rows to begin with.

symbol  shape   meaning
K               number of earlier tasks
R       N       support rows: some rows of every task
P       N x K   what the surrogate of each task predicts there, each on the scale of its own standardised values
w       N       weights with which k(x, R) w interpolates the mean of P over the tasks
m(x)            k(x, R) w: the shared function
s       n       standardised values of the new task
h       n       m at the rows of the new task, standardised there: (m - mean m) / √(var m + v)

The model of the new task is the sum of the shared function and of a Gaussian process for the difference, whose size is
learned as usual. Its prior mean is c · h with

    c = (κ + hᵀ s) / (κ + hᵀ h)         (ridge regression of s on h, towards 1)

so that the history is believed at first, as if κ observations had agreed with it, and later as far as the new task
agrees with it. If they contradict each other, c is zero. Values of different tasks have different units and spreads; s
and h have none. v keeps rows that the history finds equally good, such as its own favourites, from counting as very
different.

All this is done for each objective alone. The support rows are the same for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from addtree._types import Array, Index
from addtree.model.fit import FitSettings, make_transform, unpack
from addtree.model.kernel import Hyperparameters, Kernel
from addtree.model.kernel_matrices import CrossCovariance
from addtree.model.observations import Observations
from addtree.model.prior_mean import PriorMean
from addtree.model.specification import Specification
from addtree.model.surrogate import Surrogate
from addtree.model.thinning import thin


@dataclass(frozen=True)
class TransferSettings:
    """How earlier tasks are used. Those from `max_weight` on were chosen with `benchmarks.history`.

    fit_rows    rows of all tasks to which their surrogates are fitted, at most; it bounds the time of the start
    task_rows   rows of one task to which its surrogate is fitted, at most
    support     N, at most; it bounds the time of a suggestion
    iterations  iterations of L-BFGS-B for the surrogate of a task
    jitter      share of the variance that is added to k(R, R), because m need not interpolate exactly
    spread      v
    trust       κ
    max_weight  largest c
    min_weight  least c with which the history takes the place of the initial design
    portfolio   largest number of rows to begin with, so that each task has a good one
    options     largest number of further rows to begin with, so that each option of a choice occurs
    mix_every   one in this many rows comes from the initial design: a model that has seen only what was good before
                does not know what else there is
    mix_until   number of rows after which none comes from there
    """

    fit_rows: int = 640
    task_rows: int = 64
    support: int = 256
    iterations: int = 30
    jitter: float = 1e-3
    spread: float = 0.3
    trust: float = 5.0
    max_weight: float = 2.0
    min_weight: float = 0.25
    portfolio: int = 5
    options: int = 3
    mix_every: int = 5
    mix_until: int = 24

    def mixes_in(self, n: int) -> bool:
        """Whether the row after n rows is one of the initial design."""
        return 0 < n < self.mix_until and n % self.mix_every == 0


@dataclass(frozen=True)
class EarlierValue:
    """What earlier tasks tell about one objective.

    predictions  P
    shared       PriorMean of m
    """

    specification: Specification
    settings: TransferSettings
    predictions: Array
    shared: PriorMean

    @classmethod
    def fit(
        cls,
        specification: Specification,
        kernel: Kernel,
        tasks: Sequence[Observations],
        X: Array,
        settings: TransferSettings,
    ) -> EarlierValue:
        """Learn from the observations of at least one task, with support rows X."""
        most = min(settings.task_rows, max(2, settings.fit_rows // len(tasks)))
        fit = FitSettings(most, most, iterations=settings.iterations, fresh_iterations=settings.iterations)
        rng = np.random.default_rng(0)  # A single start needs no random numbers.
        models = [Surrogate.fit(specification, kernel, task, settings=fit, rng=rng) for task in tasks]
        rows = kernel.rows(X)
        predictions = np.stack([model.posterior.predict(rows)[0] for model in models], axis=1)
        hyper = unpack(np.mean([model.theta for model in models], axis=0), kernel)
        weights = _interpolate(kernel, hyper, X, np.mean(predictions, axis=1), settings.jitter)
        return cls(specification, settings, predictions, PriorMean(kernel, hyper, rows, weights))

    def prior_mean(self, data: Observations) -> PriorMean:
        """c · h, given the observations of the new task."""
        c, centre, scale = self._regression(data)
        slope = c / scale
        return replace(self.shared, weights=slope * self.shared.weights, shift=-slope * centre)

    def weight(self, data: Observations) -> float:
        """c, given the observations of the new task."""
        return self._regression(data)[0]

    def _regression(self, data: Observations) -> tuple[float, float, float]:
        """c within its bounds, and the centre and the scale that make h of m."""
        shared, trust = self.shared, self.settings.trust
        s = make_transform(self.specification, data.y).standardise(data.y)
        m = shared.value(shared.kernel.rows(data.X))
        centre, scale = float(np.mean(m)), float(np.sqrt(np.var(m) + self.settings.spread))
        h = (m - centre) / scale
        c = (trust + float(h @ s)) / (trust + float(h @ h))
        return min(max(c, 0.0), self.settings.max_weight), centre, scale


@dataclass(frozen=True)
class EarlierTasks:
    """What was learned from earlier tasks; it does not change in a run.

    X       support rows, N x D
    values  what they tell about each objective
    """

    settings: TransferSettings
    X: Array
    values: tuple[EarlierValue, ...]

    @classmethod
    def fit(
        cls,
        specification: Specification,
        kernel: Kernel,
        tasks: Sequence[Sequence[Observations]],
        merits: Sequence[Array],
        settings: TransferSettings,
    ) -> EarlierTasks:
        """Learn from at least one task.

        tasks   for each task, its observations of each objective, which have the same rows
        merits  for each task, how good its rows are; less is better
        """
        specification = replace(specification, noise=None)  # It is given in the units of the new task.
        share = max(1, min(settings.task_rows, settings.support // len(tasks)))
        X = np.concatenate([task[0].X[thin(merit, share)] for task, merit in zip(tasks, merits, strict=True)])
        by_objective = zip(*tasks, strict=True)
        values = tuple(EarlierValue.fit(specification, kernel, own, X, settings) for own in by_objective)
        return cls(settings, X, values)

    def informed(self, data: Sequence[Observations]) -> tuple[Observations, ...]:
        """The observations of a new task, those of objectives first and with prior means."""
        n = len(self.values)
        objectives = (replace(own, prior_mean=v.prior_mean(own)) for v, own in zip(self.values, data[:n], strict=True))
        return (*objectives, *data[n:])

    def agrees_with(self, data: Sequence[Observations]) -> bool:
        """Whether the history predicts a new task well enough to take the place of the initial design.

        data  observations, those of objectives first
        """
        weights = [value.weight(own) for value, own in zip(self.values, data, strict=False)]
        return float(np.mean(weights)) >= self.settings.min_weight

    def portfolio(self) -> Index:
        """Positions of support rows to evaluate first.

        The first ones include a good row for every task; with several objectives, one for each of them and one for
        their mean. Each is chosen so that the rank of the best row so far, averaged over the tasks, decreases most; it
        ends when the rank cannot decrease any more. Each of the others activates a term of the kernel for the first
        time, and is the best such row on average over the tasks: the branch that was best before may not be the best
        now, and the model has to see how good the others can be.
        """
        mean = np.mean([value.predictions for value in self.values], axis=0)
        wanted = mean if len(self.values) == 1 else np.hstack([mean, *(value.predictions for value in self.values)])
        rank = np.argsort(np.argsort(wanted, axis=0, kind="stable"), axis=0) / len(wanted)
        best, chosen = np.full(rank.shape[1], np.inf), []
        for _ in range(self.settings.portfolio):
            worth = np.mean(np.minimum(best, rank), axis=1)
            if not np.min(worth) < np.mean(best):
                break
            chosen.append(int(np.argmin(worth)))
            best = np.minimum(best, rank[chosen[-1]])
        active, overall = self.values[0].shared.rows.active, np.mean(mean, axis=1)
        for _ in range(self.settings.options):
            new = np.flatnonzero(np.any(active & ~np.any(active[chosen], axis=0), axis=1))
            if not len(new):
                break
            chosen.append(int(new[np.argmin(overall[new])]))
        return np.array(chosen, dtype=np.intp)


def _interpolate(kernel: Kernel, hyper: Hyperparameters, X: Array, values: Array, jitter: float) -> Array:
    """The weights w with which k(x, X) w interpolates values at X, up to the jitter."""
    rows = kernel.rows(X)
    K = CrossCovariance(kernel, hyper, rows).value(rows)
    K[np.diag_indices(len(K))] += jitter * float(np.mean(np.diagonal(K))) + np.finfo(float).tiny
    return np.asarray(cho_solve(cho_factor(K, lower=True), values))
