"""What one suggestion looks for, and where.

Expected improvement trusts the model. So that a run does not depend on what the model may have wrong, suggestions take
turns. The turn of a suggestion is its number in the run, from 1:

    everywhere        the default: candidates of all kinds, improvement over the best
    aiming lower      every third turn: improvement over a target below the best, which favours exploration
    local             every third turn: start from changes to the best observation, in case the model is wrong there
    neglected branch  turns 1, 3, 6, 10, 15, ..., which recur ever more rarely: the branch seen least for its share

While a run is young, a neglected branch also has a turn each time that the run has made no progress for some trials.
The model then often knows one bad value of a branch, and is too sure that the whole branch is bad.

With one objective, some turns ignore the model of its values (see `model_free`):

    neglected branch  while its option was hardly seen, a row anywhere in it; later, in every other turn, a row in its
                      widest gap
    local             once searches around the best observation fail, rows beside the best of each branch in turn

The models of constraints, success and costs still count: a row that is much worse than the best one by these gives way.

`local` and `neglected branch` decide where to look, and give way to `everywhere` if they find nothing new. The schedule
applies to expected improvement; the other acquisitions look everywhere. If values are noisy, expected improvement gives
way to top-two Thompson sampling (see `noisy`), which may repeat an evaluation. With several objectives or constraints
(see `multiobjective`) the schedule is the same; the best observations are those of the front, and "lower" is beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from addtree._types import Array
from addtree.errors import OptionError
from addtree.model.gp import Posterior
from addtree.search.acquisition import ACQUISITIONS, Acquisition, beta, log_expected_improvement, lowest, ucb
from addtree.search.candidates import (
    CandidateSettings,
    Observed,
    candidates,
    near,
    neglected_nodes,
    within_node,
)
from addtree.search.criterion import Criterion, Single, Sum, plus
from addtree.search.decomposed import VertexSearch, maximize_sum
from addtree.search.failures import Avoidance
from addtree.search.joint import JointSearch, maximize_jointly
from addtree.search.model_free import beside_best, branches_to_search, fresh_row, in_widest_gap
from addtree.search.multiobjective import Posteriors, by_merit, joint_criterion
from addtree.search.noisy import TopTwo, by_mean, top_two
from addtree.search.pathwise import SamplePath
from addtree.search.view import View


class Mode(Enum):
    """Where a suggestion looks."""

    EVERYWHERE = "everywhere"
    LOCAL = "local"
    NEGLECTED = "neglected branch"
    GAP = "widest gap of a neglected branch"


@dataclass(frozen=True)
class Policy:
    """How suggestions are made. `benchmarks.variants` compares other settings of the schedule and the candidates.

    acquisition   "logei", "ucb", "additive-ucb" or "thompson"
    cycle         length of the cycle of turns
    lower_turn    the turn of a cycle that aims lower; None for never
    local_turn    the turn of a cycle that looks around the best; None for never
    neglected     whether neglected branches have their turns
    patience      a young run without progress visits a neglected branch each time that this many trials have passed
    young         a run is young up to this many trials
    model_free    whether some turns ignore the model
    enough        an option with fewer evaluations than this was hardly seen
    acceptable    a row that ignores the model must have at least this share of the best row's probability to be
                  feasible and to succeed, per unit of cost
    aim           how far below the best the lower target is, as a share of (median - best)
    margin        how much worse than the front the reference point of several objectives is, as a share of its range
    avoidance     how failures are avoided
    noisy         top-two Thompson sampling, and when it takes over from expected improvement
    tolerance     gain of log expected improvement below which an ascent ends, whatever the scale of y
    candidates    candidates of the joint search
    joint         the joint search
    vertices      the vertex problems of an acquisition that adds up over vertices
    rough         the same where their solution is only one more start of the joint search
    """

    acquisition: str = "logei"
    cycle: int = 3
    lower_turn: int | None = 1
    local_turn: int | None = 2
    neglected: bool = True
    patience: int = 4
    young: int = 30
    model_free: bool = True
    enough: int = 2
    acceptable: float = 0.5
    aim: float = 0.1
    margin: float = 0.3
    avoidance: Avoidance = Avoidance()
    noisy: TopTwo = TopTwo()
    tolerance: float = 0.01
    candidates: CandidateSettings = CandidateSettings()
    joint: JointSearch = JointSearch()
    vertices: VertexSearch = VertexSearch()
    rough: VertexSearch = VertexSearch(samples=16, ascents=0)

    def modes(self, turn: int, idle: int = 0) -> Iterator[Mode]:
        """The modes of a turn, in the order in which they are tried; see `explores`."""
        if self.acquisition == "logei":
            if self.explores(turn, idle):
                if self.model_free and self._is_second(turn, idle):
                    yield Mode.GAP
                yield Mode.NEGLECTED
            if turn % self.cycle == self.local_turn:
                yield Mode.LOCAL
        yield Mode.EVERYWHERE

    def explores(self, turn: int, idle: int = 0) -> bool:
        """Whether a turn is that of a neglected branch.

        idle  the number of trials since the last progress of a young run; 0 for other runs
        """
        return self.neglected and (self._has_stalled(idle) or _is_triangular(turn))

    def _has_stalled(self, idle: int) -> bool:
        return idle > 0 and idle % self.patience == 0

    def _is_second(self, turn: int, idle: int) -> bool:
        """Whether a turn is every other one of those that explore, either while a run stalls or by the schedule."""
        count = idle // self.patience if self._has_stalled(idle) else (math.isqrt(8 * turn + 1) - 1) // 2
        return count % 2 == 0

    def with_earlier_tasks(self) -> Policy:
        """The policy of a run with earlier tasks, in which rows of the initial design explore instead."""
        return replace(self, young=0, model_free=False)

    def aims_lower(self, turn: int) -> bool:
        """Whether a turn aims below the best."""
        return turn % self.cycle == self.lower_turn


def _is_triangular(turn: int) -> bool:
    """Whether a turn is one of 1, 3, 6, 10, 15, ..."""
    return math.isqrt(8 * turn + 1) ** 2 == 8 * turn + 1


def check_acquisition(acquisition: str, covariance: str, *, single: bool = True) -> None:
    """Raise an OptionError if an acquisition is unknown, or does not fit the covariance or the goals.

    single  whether an evaluation gives one value
    """
    if acquisition not in ACQUISITIONS:
        raise OptionError(f"acquisition={acquisition!r} is unknown; use one of {', '.join(map(repr, ACQUISITIONS))}")
    if acquisition != "logei" and not single:
        raise OptionError(
            f"acquisition={acquisition!r} is for one objective without constraints; use acquisition='logei'"
        )
    if acquisition == "additive-ucb" and covariance != "additive":
        raise OptionError(
            f"acquisition='additive-ucb' adds up over vertices, covariance={covariance!r} does not; "
            "use covariance='additive', or acquisition='ucb'"
        )


def suggest(
    policy: Policy,
    posteriors: Posteriors,
    observed: Observed,
    *,
    turn: int,
    rng: np.random.Generator,
    idle: int = 0,
    bonus: Criterion | None = None,
) -> Array | None:
    """The row to evaluate next, or None if the search finds only rows that are taken.

    The posteriors know the observations, and may know rows that are still being evaluated besides.

    idle   the number of trials since the last progress (see `Policy.explores`)
    bonus  what is added to the acquisition, such as the log probability of success
    """
    view: View = posteriors.in_turn(turn)
    criterion: Criterion
    if posteriors.is_single:
        posterior = posteriors.objectives[0]
        if policy.acquisition == "logei" and policy.noisy.applies_to(posterior):
            return suggest_with_repeats(policy, posteriors, observed, turn=turn, rng=rng, bonus=bonus)
        view = SamplePath(posterior, rng) if policy.acquisition == "thompson" else posterior
        criterion = Single(view, joint_acquisition(policy, posterior, observed, turn))
    else:
        aim = policy.aim if policy.aims_lower(turn) else 0.0
        criterion = joint_criterion(posteriors, observed, aim=aim, margin=policy.margin)
        observed = by_merit(observed, posteriors, rng)
    criterion = plus(criterion, bonus)
    tolerance = policy.tolerance if policy.acquisition == "logei" else None
    may_ignore_model = policy.model_free and _has_single_best(policy, posteriors, observed)
    for mode in policy.modes(turn, idle):
        if may_ignore_model:
            row = _model_free_row(mode, policy, observed, rng)
            if row is not None and _is_acceptable(row, policy, posteriors, observed, bonus):
                return row
        rows = _rows_to_score(mode, policy, observed, rng)
        if rows is None:
            continue
        if mode is Mode.EVERYWHERE and view.kernel.of_kind("main"):
            row, is_answer = _decomposed_row(policy, view, observed, turn, rng)
            if is_answer and bonus is None:
                return row
            rows = np.concatenate([rows, row[None]])
        found = maximize_jointly(criterion, observed, rows, search=policy.joint, tolerance=tolerance)
        if found is not None:
            return found
    return None


def suggest_with_repeats(
    policy: Policy,
    posteriors: Posteriors,
    observed: Observed,
    *,
    turn: int,
    rng: np.random.Generator,
    bonus: Criterion | None = None,
) -> Array | None:
    """The row to evaluate next if rows may be evaluated again: values are noisy, or the space is exhausted."""
    if not posteriors.is_single:
        return suggest(policy, posteriors, replace(observed, taken=set()), turn=turn, rng=rng, bonus=bonus)
    posterior = posteriors.objectives[0]
    incumbents = by_mean(observed, posterior)
    rows = observed.conform(candidates(incumbents, policy.candidates, rng), rng)
    if posterior.kernel.of_kind("main"):
        rows = np.concatenate([rows, _decomposed_row(policy, posterior, incumbents, turn, rng)[0][None]])
    return top_two(posterior, incumbents, rows, settings=policy.noisy, search=policy.joint, rng=rng, bonus=bonus)


def _rows_to_score(mode: Mode, policy: Policy, observed: Observed, rng: np.random.Generator) -> Array | None:
    """The candidates of a mode; None if it has nothing new to offer."""
    if mode is Mode.EVERYWHERE:
        return observed.conform(candidates(observed, policy.candidates, rng), rng)
    if mode is Mode.LOCAL:
        return observed.conform(near(observed.encoding, observed.ranked[:1], policy.candidates, rng), rng)
    if mode is Mode.GAP:
        return None
    for node in neglected_nodes(observed, policy.candidates, rng):
        rows = observed.conform(within_node(observed, node, policy.candidates, rng), rng)
        if observed.has_new(rows):
            return rows
    return None


def _model_free_row(mode: Mode, policy: Policy, observed: Observed, rng: np.random.Generator) -> Array | None:
    """The row of a mode that ignores the model; None if the model decides."""
    if mode is Mode.LOCAL:
        return _row_beside_best(observed)
    nodes = neglected_nodes(observed, policy.candidates, rng) if mode in (Mode.GAP, Mode.NEGLECTED) else []
    if not nodes:
        return None
    if mode is Mode.GAP:
        return in_widest_gap(observed, nodes[0])
    return fresh_row(observed, nodes[0], rng, enough=policy.enough)


def _has_single_best(policy: Policy, posteriors: Posteriors, observed: Observed) -> bool:
    """Whether there is one objective, little noise and something feasible, so that one observation is the best."""
    objective, *others = posteriors.objectives
    return not others and not policy.noisy.applies_to(objective) and posteriors.has_feasible(observed.X)


def _is_acceptable(
    row: Array, policy: Policy, posteriors: Posteriors, observed: Observed, bonus: Criterion | None
) -> bool:
    """Whether a row is not much worse than the best one by what counts besides the objective: feasibility and bonus."""
    besides = [*posteriors.feasibility(), *([] if bonus is None else [bonus])]
    if not besides:
        return True
    here, best = Sum(tuple(besides)).values(np.stack([row, observed.ranked[0]])).tolist()
    return bool(here >= best + math.log(policy.acceptable))


def _row_beside_best(observed: Observed) -> Array | None:
    """A row beside the best one of a branch; None as long as the search around the best of all has not failed."""
    for branch in branches_to_search(observed):
        if not branch.failures and branch.best == int(np.argmin(observed.y)):
            return None
        row = beside_best(observed, branch)
        if row is not None:
            return row
    return None


def _decomposed_row(
    policy: Policy, view: View, observed: Observed, turn: int, rng: np.random.Generator
) -> tuple[Array, bool]:
    """The row that maximises a sum over vertices, and whether it is the row to suggest.

    It is if the acquisition adds up over vertices and the row is new. Otherwise it is one more start for the joint
    search: in odd turns the best by the paper's upper confidence bound, in even ones the best by its mean.
    """
    additive = policy.acquisition in ("additive-ucb", "thompson") and not view.kernel.of_kind("interaction")
    weight = 1.0 if additive else float(turn % 2)

    def vertex_acquisition(dimension: Array) -> Acquisition:
        return lowest if policy.acquisition == "thompson" else ucb(weight * beta(dimension, len(observed.y) + 1))

    search = policy.vertices if additive else policy.rough
    restriction = observed.restriction
    row, _ = maximize_sum(view, observed.encoding, vertex_acquisition, rng, search=search, restriction=restriction)
    if restriction is not None and not restriction.agrees(row[None])[0]:
        row = restriction.conform(row[None], rng)[0]
    return row, additive and observed.admits(row)


def joint_acquisition(policy: Policy, posterior: Posterior, observed: Observed, turn: int) -> Acquisition:
    """What the joint search maximises."""
    if policy.acquisition == "thompson":
        return lowest
    if policy.acquisition in ("ucb", "additive-ucb"):
        dimension = np.mean(np.sum(~np.isnan(observed.X) & ~observed.encoding.is_choice, axis=1))
        return ucb(beta(dimension, len(observed.y) + 1))
    means = _reference_means(posterior, observed)
    best = float(np.min(means))
    lower = policy.aim * (float(np.median(means)) - best) if policy.aims_lower(turn) else 0.0
    return log_expected_improvement(best - lower)


def _reference_means(posterior: Posterior, observed: Observed) -> Array:
    """The means over which a suggestion is an improvement: those of the observations.

    Under a restriction the best observation may be out of reach. The means are then those of the observations in its
    branch with the given values written in; if there are none, those of all observations.
    """
    if observed.restriction is None:
        return posterior.means()
    rows = observed.X[observed.restriction.in_allowed_branch(observed.X)]
    if not len(rows):
        return posterior.means()
    return posterior.predict(posterior.kernel.rows(observed.restriction.overwrite(rows)))[0]
