"""One suggestion from a posterior: which acquisition, aimed where, searched how."""

from __future__ import annotations

import numpy as np

from addtree.acquisition import ACQUISITIONS, Acquisition, beta, log_expected_improvement, lowest, ucb
from addtree.candidates import candidates, near
from addtree.encoding import Array, Encoding
from addtree.errors import OptionError
from addtree.gp import Posterior
from addtree.maximize import View, decomposed, joint
from addtree.sample_path import SamplePath

_STALL = 6  # evaluations without progress, after which suggestions take turns:
_CYCLE, _FURTHER, _LOCAL = 3, 1, 2  # as before, aiming lower, and close to the best (where the model may be too rough)
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
    if acquisition == "logei" and turn % _CYCLE == _LOCAL and _stalled(y):
        local = near(encoding, X[[np.argmin(y)]], rng)
        found = joint(view, covariance, encoding, _goal(acquisition, posterior, encoding, X, y, turn), local, taken)
        if found is not None:
            return found
    starts = [candidates(encoding, X, y, rng)]
    if covariance.of_kind("main"):
        # The whole answer where the acquisition adds up over vertices, else one more start for the joint search: by
        # turns the boldest by the paper's bound and the best by its mean.
        additive = acquisition in ("additive-ucb", "thompson") and not covariance.of_kind("interaction")
        weight = 1.0 if additive else float(turn % 2)

        def vertexwise(d: Array) -> Acquisition:
            return lowest if acquisition == "thompson" else ucb(weight * beta(d, t))

        row, _ = decomposed(view, covariance, encoding, vertexwise, rng, exact=additive)
        if additive and encoding.keys(row[None])[0] not in taken:
            return row
        starts.append(row[None])
    return joint(
        view, covariance, encoding, _goal(acquisition, posterior, encoding, X, y, turn), np.concatenate(starts), taken
    )


def _goal(acquisition: str, posterior: Posterior, encoding: Encoding, X: Array, y: Array, turn: int) -> Acquisition:
    """What the joint search maximises."""
    if acquisition == "thompson":
        return lowest
    if acquisition in ("ucb", "additive-ucb"):
        dimension = np.mean(np.sum(~np.isnan(X) & ~encoding.is_choice, axis=1))
        return ucb(beta(dimension, len(y) + 1))
    means = posterior.means()
    best = float(np.min(means))
    further = turn % _CYCLE == _FURTHER and _stalled(y)
    return log_expected_improvement(best - _AIM * (float(np.median(means)) - best) * further)


def _stalled(y: Array) -> bool:
    """Whether the last evaluations brought no progress worth the name."""
    if len(y) <= _STALL:
        return False
    gained = np.min(y[:-_STALL]) - np.min(y)
    return bool(gained < _PROGRESS * (np.median(y) - np.min(y)))
