"""One suggestion from a posterior: which acquisition, aimed where, searched how."""

from __future__ import annotations

import math

import numpy as np

from addtree._types import Array
from addtree.errors import OptionError
from addtree.model.gp import Posterior
from addtree.search.acquisition import ACQUISITIONS, Acquisition, beta, log_expected_improvement, lowest, ucb
from addtree.search.candidates import candidates, near, neglected, within
from addtree.search.joint import View, decomposed, joint
from addtree.search.pathwise import SamplePath
from addtree.space.encoding import Encoding

# Expected improvement trusts the model. By turns a suggestion guards against what the model may have wrong: it aims
# lower than the best, or looks close to the best only (the model may be too rough there), or in a neglected branch.
_CYCLE, _FURTHER, _LOCAL = 3, 1, 2
_AIM = 0.1  # of (median - best): how much lower
_ENOUGH = 0.01  # of log expected improvement, whatever the scale of y: a climb that gains less ends


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
    goal = _goal(acquisition, posterior, encoding, X, y, turn)
    enough = _ENOUGH if acquisition == "logei" else None
    if acquisition == "logei" and (rows := _elsewhere(encoding, X, y, taken, turn, rng)) is not None:
        found = joint(view, covariance, encoding, goal, rows, taken, enough=enough)
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
    return joint(view, covariance, encoding, goal, np.concatenate(starts), taken, enough=enough)


def _elsewhere(
    encoding: Encoding, X: Array, y: Array, taken: set[bytes], turn: int, rng: np.random.Generator
) -> Array | None:
    """Candidates of a turn that does not look everywhere; None where it does."""
    if _is_triangular(turn):
        for node in neglected(encoding, X, y, rng):
            rows = within(encoding, X, y, node, rng)
            if not taken.issuperset(encoding.keys(encoding.snap(rows))):  # an option may have nothing new to offer
                return rows
    return near(encoding, X[[np.argmin(y)]], rng) if turn % _CYCLE == _LOCAL else None


def _is_triangular(turn: int) -> bool:
    """1, 3, 6, 10, 15, ...: often at first, ever more rarely, and never for good the last time."""
    return math.isqrt(8 * turn + 1) ** 2 == 8 * turn + 1


def _goal(acquisition: str, posterior: Posterior, encoding: Encoding, X: Array, y: Array, turn: int) -> Acquisition:
    """What the joint search maximises."""
    if acquisition == "thompson":
        return lowest
    if acquisition in ("ucb", "additive-ucb"):
        dimension = np.mean(np.sum(~np.isnan(X) & ~encoding.is_choice, axis=1))
        return ucb(beta(dimension, len(y) + 1))
    means = posterior.means()
    best = float(np.min(means))
    lower = _AIM * (float(np.median(means)) - best) if turn % _CYCLE == _FURTHER else 0.0
    return log_expected_improvement(best - lower)
