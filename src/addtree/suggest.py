"""One suggestion from a posterior: which acquisition, aimed where, searched how."""

from __future__ import annotations

import numpy as np

from addtree.acquisition import ACQUISITIONS, Acquisition, beta, log_expected_improvement, lowest, ucb
from addtree.candidates import candidates
from addtree.encoding import Array, Encoding
from addtree.errors import OptionError
from addtree.gp import Posterior
from addtree.maximize import View, decomposed, joint
from addtree.sample_path import SamplePath

_STALL = 6  # evaluations without progress after which every other suggestion looks further
_PROGRESS = 1e-3  # of (median - best): a gain of less than that over _STALL evaluations is none
_AIM = 0.1  # of (median - best): how much lower such a suggestion aims


def check_acquisition(acquisition: str, covariance: str) -> None:
    """An OptionError for a name that is unknown or does not fit the covariance."""
    if acquisition not in ACQUISITIONS:
        raise OptionError(f"acquisition={acquisition!r} is unknown; use one of {', '.join(map(repr, ACQUISITIONS))}")
    if acquisition == "additive-ucb" and covariance != "additive":
        raise OptionError(
            f"acquisition='additive-ucb' adds up over vertices, covariance={covariance!r} does not; "
            "use covariance='additive', or acquisition='ucb'"
        )


def suggest(
    acquisition: str,
    posterior: Posterior,
    encoding: Encoding,
    X: Array,
    y: Array,
    *,
    taken: set[bytes],
    turn: int,
    rng: np.random.Generator,
) -> Array | None:
    """The row to evaluate next, or None where the search finds only rows that are taken.

    X, y are the observations (lower is better), which the posterior also knows; it may know pending ones besides.
    """
    covariance, t = posterior.covariance, len(y) + 1
    view: View = SamplePath(posterior, rng) if acquisition == "thompson" else posterior

    additive = acquisition == "additive-ucb" or (
        acquisition == "thompson" and all(term.kind != "interaction" for term in covariance.terms)
    )

    def vertexwise(weight: float) -> Array:
        """The decomposed solution with `weight` times the paper's β_t in each vertex."""

        def by_dimension(d: Array) -> Acquisition:
            return lowest if acquisition == "thompson" else ucb(weight * beta(d, t))

        return decomposed(view, covariance, encoding, by_dimension, rng, exact=additive)[0]

    # A joint search starts from one decomposed solution: by turns the boldest by the paper's bound, the best by mean.
    first = vertexwise(1.0 if additive else float(turn % 2))
    if additive:
        if encoding.keys(first[None])[0] not in taken:
            return first
        if acquisition == "additive-ucb":
            return None
    starts = [candidates(encoding, X, y, rng), first[None]]
    if acquisition == "thompson":
        goal: Acquisition = lowest
    elif acquisition == "ucb":
        dimension = np.mean(np.sum(~np.isnan(X) & ~encoding.is_choice, axis=1))
        goal = ucb(beta(dimension, t))
    else:
        means = posterior.means()
        best = float(np.min(means))
        further = turn % 2 == 1 and _stalled(y)
        goal = log_expected_improvement(best - _AIM * (float(np.median(means)) - best) * further)
    return joint(view, covariance, encoding, goal, np.concatenate(starts), taken)


def _stalled(y: Array) -> bool:
    """Whether the last evaluations brought no progress worth the name."""
    if len(y) <= _STALL:
        return False
    gained = np.min(y[:-_STALL]) - np.min(y)
    return bool(gained < _PROGRESS * (np.median(y) - np.min(y)))
