"""Whether the model can be trusted: it predicts trials that it has not seen.

The trials are divided into k folds. For each fold a model is fitted to the trials of all other folds, hyperparameters
included, and predicts the trials of the fold. Leave-one-out predictions with hyperparameters that were fitted to all
trials would look better than the model is, because the left-out value has shaped the hyperparameters.

A fold's model has seen (k - 1) / k of the trials, so it is a little worse than the model of the report.
`benchmarks/trust.py` measures how far the coverage found here is from that on other configurations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from addtree._types import Array, Index
from addtree.report.effects import Z_95
from addtree.report.model import DEFAULT_LIMITS, Limits, fit_model
from addtree.report.records import Record, standard_errors
from addtree.space.space import Space

Z_90 = 1.645  # A normal variable lies within this many standard deviations of its mean with a probability of 90 %.

_FOLDS = 5  # The number of folds, and so of further fits.
_SEED = 0  # The division into folds is random, and the same for the same trials.
_MIN_TRIALS = 20  # With fewer trials than this, the shares below would mostly be chance, and no verdict is given.
_GOOD = 0.8  # From this share of explained variance on, the model is said to predict well.
_FAIR = 0.3  # From this share on, it is said to predict roughly.
_ORDERED = 0.6  # From this rank correlation on as well: a few wild values decide the share, but not the ranks.
_HONEST = 0.9  # From this coverage on, 95 % intervals are said to be reliable: of 20 values, two lie outside by chance.
_NARROW = 0.8  # From this coverage on, they are said to be somewhat too narrow; below it, much too narrow.


@dataclass(frozen=True)
class CrossValidation:
    """Trials predicted by models that have not seen them: the arrays have one entry per trial that the model uses.

    observed                  the values, clipped as the notes of the report say
    mean, std                 the predictions; noise and the standard errors of the values are included
    explained                 1 - mean squared error / variance
    rank_correlation          Spearman's correlation of predicted and observed values
    coverage_90, coverage_95  share of the values inside their 90 % and 95 % intervals
    """

    ids: tuple[int, ...]
    observed: Array
    mean: Array
    std: Array
    explained: float
    rank_correlation: float
    coverage_90: float
    coverage_95: float

    @property
    def n(self) -> int:
        """The number of trials."""
        return len(self.ids)

    @property
    def margin(self) -> Array:
        """Half the width of the 95 % interval of each prediction."""
        return Z_95 * self.std

    @property
    def verdict(self) -> str:
        """Whether the model can be trusted, in a few sentences."""
        if self.n < _MIN_TRIALS:
            return (
                f"{self.n} trials are too few to tell whether the model can be trusted,"
                " so take the effects shown as first impressions."
            )
        return f"{self._accuracy} {self._intervals}"

    @property
    def _accuracy(self) -> str:
        if self.explained >= _GOOD:
            return "The model predicts unseen trials well."
        if self.explained >= _FAIR or self.rank_correlation >= _ORDERED:
            return "The model predicts unseen trials roughly: trust the order of the effects, not their exact sizes."
        return "The model does not predict unseen trials, so take the effects shown as guesses."

    @property
    def _intervals(self) -> str:
        covered = f"{round(self.coverage_95 * self.n)} of {self.n} values lie inside their 95 % intervals"
        if self.coverage_95 >= _HONEST:
            return f"Its intervals can be relied on: {covered}."
        if self.coverage_95 >= _NARROW:
            return f"Its intervals are somewhat too narrow: only {covered}."
        return f"Its intervals are much too narrow, so do not rely on them: only {covered}."


def cross_validate(
    space: Space,
    trials: Sequence[Record],
    y: Array,
    *,
    maximize: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    noise: float | None = None,
) -> CrossValidation:
    """Predict the values y of trials from the trials of the other folds; at least two configurations must differ.

    noise  standard deviation of repeated evaluations; None to learn it
    """
    fit = partial(fit_model, space, maximize=maximize, limits=replace(limits, fit=limits.refit), noise=noise)
    configs = [trial.config for trial in trials]
    mean, std = np.empty_like(y), np.empty_like(y)
    fold = _folds(space.encoding.keys(space.encoding.encode(configs)))
    for k in range(int(fold.max()) + 1):
        inside, outside = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        gp = fit([trials[i] for i in outside.tolist()], y[outside])
        mean[inside], std[inside] = gp.predict([configs[i] for i in inside], observed=True)
    return _summarise([trial.id for trial in trials], y, mean, np.hypot(std, standard_errors(trials)))


def _folds(keys: Sequence[bytes]) -> Index:
    """The fold of each trial. Trials of one configuration share a fold, because their values predict each other."""
    groups = {key: g for g, key in enumerate(dict.fromkeys(keys))}
    assert len(groups) > 1, "there is nothing to predict from"
    of_group = np.random.default_rng(_SEED).permutation(len(groups)) % min(_FOLDS, len(groups))
    return np.asarray(of_group[[groups[key] for key in keys]])


def _summarise(ids: Sequence[int], y: Array, mean: Array, std: Array) -> CrossValidation:
    unit = float(np.max(np.abs(y)))  # squares of y may overflow
    error, z = (y / unit - mean / unit), y / unit
    return CrossValidation(
        ids=tuple(ids),
        observed=y,
        mean=mean,
        std=std,
        explained=1.0 - float(np.mean(error**2) / np.var(z)),
        rank_correlation=rank_correlation(y, mean),
        coverage_90=float(np.mean(np.abs(error) <= Z_90 * (std / unit))),
        coverage_95=float(np.mean(np.abs(error) <= Z_95 * (std / unit))),
    )


def rank_correlation(a: Array, b: Array) -> float:
    """Spearman's rank correlation; 0 if either is constant. Importing that of SciPy takes about a second."""
    if np.all(a == a[0]) or np.all(b == b[0]):
        return 0.0
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])


def _ranks(values: Array) -> Array:
    """The ranks of values; equal ones have the mean of their ranks."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - 0.5 * counts)[where])
