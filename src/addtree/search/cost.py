"""Improvement per unit of cost: the negative log of the expected cost, which is added to the log acquisition.

Log cost has a surrogate of its own. Where it is uncertain, the expected cost is high, because costs are often skewed: a
few evaluations take most of the time. Two guards keep cheap and useless configurations from absorbing a run: an
expected cost counts as at least the least one told, and neglected branches have their turns whatever they cost.
"""

from __future__ import annotations

import numpy as np

from addtree._types import Array
from addtree.model.kernel import Kernel
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.model.surrogate import Surrogate
from addtree.model.thinning import round_to_step
from addtree.search.acquisition import cheapness
from addtree.search.criterion import Criterion, Single

_LEAST = 4  # With fewer costs than this, no model of cost is fitted.
_GROWTH = 10  # The hyperparameters are learned again when the costs have grown by one in this many.


def fit_cost(kernel: Kernel, X: Array, cost: Array, *, last: Surrogate | None = None) -> Surrogate | None:
    """The surrogate of log cost at rows X, in the order in which they were told; None if there are too few.

    It depends on these alone: `last`, an earlier one of the same run, only saves work.
    """
    if len(cost) < _LEAST:
        return None
    data = Observations.exact(X, np.log(cost))
    n = round_to_step(len(data), _GROWTH)
    if last is None or last.n_fitted != n:
        last = Surrogate.fit(Specification(), kernel, data[:n], rng=np.random.default_rng(0))
    return last


def cost_criterion(surrogate: Surrogate, X: Array, cost: Array) -> Criterion:
    """The negative log of the expected cost, up to a constant; `surrogate` was fitted to the first of these costs."""
    data = Observations.exact(X, np.log(cost))
    surrogate = surrogate.condition_on_new(data)
    least = float(np.min(surrogate.transform.forward(data.y)))
    return Single(surrogate.posterior, cheapness(surrogate.transform.scale, least))
