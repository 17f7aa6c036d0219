"""How a search deals with failures: evaluations that gave no value.

The log probability of success is added to the acquisition. That alone is not enough. Expected improvement stays large
where nothing was ever observed, and near convergence it is tiny elsewhere, so that a run would return to a crashing
region again and again. Therefore

    probability   below `likely`, the criterion falls steeply; in the turns of neglected branches it does not, so that
                  a region is never closed for good
    values        a systematic failure, at a row that is unlikely to succeed, counts as an observation of the median, or
                  of the mean of the model if that is worse. An accident says nothing about values
    design        rows of the initial design that are unlikely to succeed are left out

"Unlikely" is meant in comparison with the usual probability where evaluations succeed. If half of all evaluations fail
at random, no row is unlikely to succeed, and no failure is systematic.

On seven problems of `benchmarks.crashes` with 10 seeds, the mean number of crashes is 24 if values know nothing about
failures, 14 with the median, and 12 with the worst value instead (TPE: 28). The regret is 0.24, 0.39 and 0.64 of that
of TPE: the worst value misleads where failures are accidents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from addtree._types import Array
from addtree.model.success import SuccessModel
from addtree.search.acquisition import log_success
from addtree.search.criterion import Criterion, Single


@dataclass(frozen=True)
class Avoidance:
    """How strongly failures are avoided. `benchmarks.crashes` compared other settings.

    likely    below this share of the usual probability of success, the criterion falls (1 + caution) times as fast
    caution   how much faster it falls there
    accident  a failure is an accident if the probability of success at its row is at least this share of the usual one
    design    rows of the initial design are left out if their share is less
    """

    likely: float = 0.5
    caution: float = 10.0
    accident: float = 0.5
    design: float = 0.3

    def criterion(self, success: SuccessModel, *, cautious: bool = True) -> Criterion:
        """The log probability of success, which falls faster below `likely` if it is to be cautious."""
        caution = self.caution if cautious else 0.0
        return Single(success.posterior, log_success(success.mean, self.likely * success.usual, caution))

    def systematic(self, success: SuccessModel, failed: Array) -> Array:
        """Those of the rows that failed that are not accidents."""
        return np.asarray(failed[success.probability(failed) < self.accident * success.usual])

    def worth_trying(self, success: SuccessModel, rows: Array) -> Array:
        """Those rows of an initial design that are not left out."""
        return np.asarray(rows[success.probability(rows) >= self.design * success.usual])
