"""Everything the report shows, as plain data; other modules turn it into pictures, a page or text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from addtree._types import Array
from addtree.errors import OptionError
from addtree.model.specification import Specification
from addtree.model.thinning import thin
from addtree.report.effects import Contribution, Curve, Effects, Interaction
from addtree.report.failures import FailureRule, failure_rule
from addtree.report.feasibility import Requirement, constraint_requirements, success_requirement
from addtree.report.format import plural
from addtree.report.front import Front, best_of, find_front, front_notes, is_feasible
from addtree.report.history import HistoryReport, compare
from addtree.report.importance import Share, interactions, shares
from addtree.report.model import DEFAULT_LIMITS, Limits, clip, clip_bound, fit_model
from addtree.report.optima import ChoiceOptima, choice_optima
from addtree.report.records import Record, encode_records, make_records, with_value
from addtree.report.trust import CrossValidation, cross_validate
from addtree.run.goals import Bounds, Goals, Noise
from addtree.run.history import EarlierTask, read_history
from addtree.space.encoding import Encoding
from addtree.space.space import Choice, Space
from addtree.support.numbers import MAX_SIZE
from addtree.support.threads import one_blas_thread

_MIN_VALUES = 4  # With fewer values than this, no effects are shown: they would be guesses.
_MAX_BRANCHES = 8  # Trials are coloured by at most this many branches.
_MAX_ERRORS = 20  # At most this many different error messages are listed.
_MIN_RANGE = 1e-305  # Values that lie closer together count as the same: dividing by their range would overflow.


@dataclass(frozen=True)
class Explanation:
    """Why a configuration has its value: expectation + contributions = predicted, and predicted + residual = observed.

    expectation  the average prediction for a random configuration
    """

    expectation: float
    contributions: tuple[Contribution, ...]
    predicted: float
    observed: float

    @property
    def residual(self) -> float:
        """The part of the observed value that the model does not explain."""
        return self.observed - self.predicted


@dataclass(frozen=True)
class Learned:
    """What the model of one value learned from the trials that have it.

    curves        effect of each parameter and each choice, by name
    interactions  pairs of parameters that interact, strongest first
    shares        share of the variance that each component explains
    best          explanation of the best configuration; None if this is not the only objective, or nothing is feasible
    trust         how well such a model predicts trials that it has not seen
    optima        how good each option of each choice can get, and where the optimum lies; only for one objective
                  without constraints
    """

    curves: dict[str, Curve]
    interactions: tuple[Interaction, ...]
    shares: tuple[Share, ...]
    best: Explanation | None
    trust: CrossValidation
    optima: tuple[ChoiceOptima, ...]


@dataclass(frozen=True)
class Tally:
    """The trials of one node of the space.

    tried       number of trials, whatever their state
    failed      number of trials that failed
    best        best value of a feasible trial; None with several objectives
    holds_best  whether the best trial of all, or one of the front, is one of them
    on_front    number of trials on the front of several objectives
    """

    tried: int
    failed: int
    best: float | None
    holds_best: bool
    on_front: int = 0


@dataclass(frozen=True)
class Report:
    """Everything a report shows.

    goals     the objectives and constraints
    best      the feasible trial with the best value; None with several objectives
    front     the best trade-offs of several objectives; None with one
    tallies   one per node of the space
    branches  per trial, the name of the branch it belongs to, for colours
    errors    the most frequent error messages, with the number of trials that failed with each
    rule      where trials fail; None if they do not, or if nothing tells where
    models    by name, what was learned about each objective and constraint; the notes say why one is missing
    required  where each constraint is kept
    success   where evaluations succeed; None if none failed
    notes     what a reader must know about the data: why nothing was learned, or which values were clipped or left out
    inferred  whether the space was inferred from the trials
    history   by objective, what became of earlier studies; empty if there are none, or if nothing was learned
    """

    title: str
    space: Space
    goals: Goals
    trials: tuple[Record, ...]
    best: Record | None
    front: Front | None
    tallies: tuple[Tally, ...]
    branches: tuple[str, ...]
    errors: tuple[tuple[str, int], ...]
    rule: FailureRule | None = None
    models: Mapping[str, Learned] = field(default_factory=dict)
    required: tuple[Requirement, ...] = ()
    success: Requirement | None = None
    notes: tuple[str, ...] = ()
    inferred: bool = False
    history: Mapping[str, HistoryReport] = field(default_factory=dict)

    @property
    def maximize(self) -> bool:
        """Whether the largest value is sought; with several objectives, of the first."""
        return self.goals.objectives[0].maximize

    @property
    def learned(self) -> Learned | None:
        """What was learned about the only objective; None with several, or if its values cannot be explained."""
        return self.models.get(self.goals.objectives[0].name) if self.front is None else None

    def is_feasible(self, trial: Record) -> bool:
        """Whether a trial is done and keeps all constraints."""
        return is_feasible(self.goals, trial)

    def count(self, state: str) -> int:
        """The number of trials in a state."""
        return sum(trial.state == state for trial in self.trials)

    @property
    def best_so_far(self) -> list[tuple[int, float]]:
        """Id and value of each feasible trial that is better than all feasible trials before it."""
        out: list[tuple[int, float]] = []
        for trial in self.trials:
            if trial.value is None or not self.is_feasible(trial):
                continue
            if not out or (trial.value > out[-1][1] if self.maximize else trial.value < out[-1][1]):
                out.append((trial.id, trial.value))
        return out


@one_blas_thread()
def build(
    space: Space,
    trials: Iterable[Any],
    *,
    maximize: bool = False,
    objectives: Mapping[str, str] | None = None,
    constraints: Mapping[str, Bounds] | None = None,
    title: str = "addtree",
    limits: Limits = DEFAULT_LIMITS,
    noise: Noise = None,
    reference_point: Mapping[str, float] | None = None,
    history: Sequence[Any] = (),
) -> Report:
    """Compute the report of some trials.

    trials       `Trial`s of an optimizer, `Record`s, or mappings with the keys of a `Record`
    limits       how many of them the model uses
    noise        standard deviation of repeated evaluations, a dict by name if there are several; None to learn it
    history      earlier studies that the run learned from

    The other arguments are those of `Optimizer`.
    """
    goals = Goals.read(objectives, constraints, maximize=maximize, noise=noise, reference_point=reference_point)
    return build_for(goals, space, trials, title=title, limits=limits, history=history)


@one_blas_thread()
def build_for(
    goals: Goals,
    space: Space,
    trials: Iterable[Any],
    *,
    title: str = "addtree",
    limits: Limits = DEFAULT_LIMITS,
    history: Sequence[Any] = (),
) -> Report:
    """Compute the report of some trials with these goals; see `build`."""
    for std in goals.noise.values():
        Specification(noise=std)  # raises if the noise is impossible
    tasks = read_history(history, goals.objectives)
    seen = build_without_models(goals, space, trials, title=title)
    known = seen.trials
    models, notes = _learn_all(space, goals, known, seen.best, limits)
    return replace(
        seen,
        branches=_branches(space, known, next(iter(models.values()), None)),
        rule=failure_rule(space, known),
        models=models,
        required=constraint_requirements(space, goals, known, limits),
        success=success_requirement(space, known),
        notes=(*front_notes(goals, seen.front), *notes),
        history=_compared(space, goals, known, models, tasks),
    )


def build_without_models(goals: Goals, space: Space, trials: Iterable[Any], *, title: str = "addtree") -> Report:
    """The part of a report that needs no model; fitting the models takes most of the time."""
    if not isinstance(title, str):
        raise OptionError(f"title={title!r} must be a string, such as 'my run'")
    known = make_records(space, trials, goals)
    several = len(goals.objectives) > 1
    front = find_front(space, goals, known) if several else None
    best = None if several else best_of(goals, known, goals.objectives[0].name)
    messages = Counter(t.error or "no message" for t in known if t.state == "failed")
    return Report(
        title=title,
        space=space,
        goals=goals,
        trials=known,
        best=best,
        front=front,
        tallies=_tallies(Encoding(space), goals, known, best, front),
        branches=_branches(space, known, None),
        errors=tuple(messages.most_common(_MAX_ERRORS)),
    )


def _value(trial: Record) -> float:
    return math.nan if trial.value is None else trial.value


def _why_not(space: Space, done: Sequence[Record], n_trials: int) -> list[str]:
    """Why there is nothing to learn from the trials that are done; empty if there is something."""
    if len(done) < _MIN_VALUES:
        return [f"Trials with a value: {len(done)} of {n_trials}; effects need at least {_MIN_VALUES}."]
    encoding = space.encoding
    if encoding.names and len(set(encoding.keys(encoding.encode([trial.config for trial in done])))) == 1:
        return ["All trials have the same configuration, so there is nothing to explain."]
    return [] if encoding.names else ["The space has no parameters that vary."]


# ---------------------------------------------------------------------- the model


def _compared(
    space: Space,
    goals: Goals,
    trials: Sequence[Record],
    models: Mapping[str, Learned],
    tasks: Sequence[EarlierTask],
) -> dict[str, HistoryReport]:
    """What became of earlier studies, by objective; empty if there are none, or if nothing was learned."""
    if not tasks or not models:
        return {}
    done = [trial for trial in trials if trial.state == "done"]
    return compare(space, goals, tasks, done, {name: learned.curves for name, learned in models.items()})


def _learn_all(
    space: Space, goals: Goals, known: Sequence[Record], best: Record | None, limits: Limits
) -> tuple[dict[str, Learned], list[str]]:
    """What the models of all objectives and constraints say, by name, and notes about the values that they use."""
    done = [trial for trial in known if trial.state == "done"]
    notes = _why_not(space, done, len(known))
    if notes:
        return {}, notes
    models: dict[str, Learned] = {}
    directions = {objective.name: objective.maximize for objective in goals.objectives}
    directions |= {constraint.name: constraint.sign < 0 for constraint in goals.constraints}
    for k, (name, maximize) in enumerate(directions.items()):
        own = with_value(known, name)
        explained = with_value([best], name)[0] if best is not None and k == 0 else None
        noise, with_optima = goals.noise.get(name), goals.is_single
        learned, more = _learn(space, own, explained, limits, maximize=maximize, noise=noise, with_optima=with_optima)
        if learned is not None:
            models[name] = learned
        notes += [note if goals.is_single else f"{name}: {note}" for note in more]
    return models, notes


def _learn(
    space: Space,
    known: Sequence[Record],
    best: Record | None,
    limits: Limits,
    *,
    maximize: bool,
    noise: float | None,
    with_optima: bool,
) -> tuple[Learned | None, list[str]]:
    """What a model of the values says, or None if they are all the same, and notes about the values that it uses."""
    done = [trial for trial in known if trial.state == "done"]
    y, notes = _clip_huge(np.array([_value(trial) for trial in done]))
    if np.ptp(y) < _MIN_RANGE:
        return None, [*notes, "All values are the same, so there is nothing to explain."]
    y, more = _clip_bad(y, maximize)
    notes += more
    used = thin(-y if maximize else y, limits.condition)
    if len(used) < len(done):
        notes.append(f"The model uses {len(used)} of {len(done)} values: the best ones, and a sample of the others.")
    trials, y = [done[i] for i in used], y[used]
    gp = fit_model(space, trials, y, maximize=maximize, limits=limits, noise=noise)
    effects = Effects(gp, gp.encoding.encode([trial.config for trial in trials]))
    learned = Learned(
        curves={name: effects.curve(name) for name in effects.encoding.names},
        interactions=tuple(interactions(effects)),
        shares=tuple(shares(effects)),
        best=None if best is None else _explain(effects, best),
        trust=cross_validate(space, trials, y, maximize=maximize, limits=limits, noise=noise),
        optima=choice_optima(space, known, maximize=maximize, limits=limits, noise=noise) if with_optima else (),
    )
    return learned, notes


def _explain(effects: Effects, best: Record) -> Explanation:
    """Why a configuration has its value."""
    expectation, parts = effects.contributions(best.config)
    predicted = expectation + math.fsum(part.mean for part in parts)
    return Explanation(expectation, tuple(parts), predicted, _value(best))


def _clip_huge(y: Array) -> tuple[Array, list[str]]:
    """The values, with those that arithmetic cannot handle set to a bound, and a note if there are any."""
    beyond = int(np.sum(np.abs(y) > MAX_SIZE))
    if not beyond:
        return y, []
    note = f"Values beyond ±{MAX_SIZE:g} ({plural(beyond, 'trial')}) count as ±{MAX_SIZE:g} in everything estimated."
    return np.clip(y, -MAX_SIZE, MAX_SIZE), [note]


def _clip_bad(y: Array, maximize: bool) -> tuple[Array, list[str]]:
    """The values, with extremely bad ones set to a bound, and a note if there are any."""
    bound = clip_bound(y, maximize=maximize)
    clipped = clip(y, bound, maximize=maximize)
    n = int(np.sum(clipped != y))
    if not n:
        return y, []
    at, beyond = f"{bound:.4g}", "below" if maximize else "above"
    return clipped, [
        f"Values {beyond} {at} ({plural(n, 'trial')}) count as {at}, so that they do not hide all other effects."
    ]


# ---------------------------------------------------------------------- branches


def _tallies(
    encoding: Encoding, goals: Goals, trials: Sequence[Record], best: Record | None, front: Front | None
) -> tuple[Tally, ...]:
    X = encode_records(encoding, trials)
    value = np.array([_value(t) if is_feasible(goals, t) else math.nan for t in trials])
    failed = np.array([t.state == "failed" for t in trials], dtype=bool)
    on_front = np.array([front is not None and t.id in front.ids for t in trials], dtype=bool)
    is_best = on_front | np.array([t is best for t in trials], dtype=bool)
    out = []
    for node in range(len(encoding.space.nodes)):
        on = encoding.inside(X, node)
        here = value[on & ~np.isnan(value)]
        best_here = float(np.max(here) if goals.objectives[0].maximize else np.min(here)) if len(here) else None
        counts = (int(on.sum()), int((on & failed).sum()))
        out.append(Tally(*counts, best_here, bool((on & is_best).any()), int((on & on_front).sum())))
    return tuple(out)


def _branches(space: Space, trials: Sequence[Record], learned: Learned | None) -> tuple[str, ...]:
    """Per trial, the options it takes.

    If these are too many different ones for a plot, only the option of one choice counts: one that is always active if
    there is one, and of those the one that explains most of the variance. Its rarest options are then called "other".
    """
    choices = [name for name, domain in space.variables.items() if isinstance(domain, Choice)]
    paths = [" · ".join(f"{c}={t.config[c]}" for c in choices if c in t.config) for t in trials]
    if len(set(paths)) <= _MAX_BRANCHES:
        return tuple(paths)
    share = {s.label: s.share for s in learned.shares if s.kind == "choice"} if learned else {}
    first = max(choices, key=lambda name: (space.conditions[name] == ((),), share.get(name, 0.0)))
    labels = [f"{first}={t.config[first]}" if first in t.config else f"without {first}" for t in trials]
    kept = {label for label, _ in Counter(labels).most_common(_MAX_BRANCHES - 1)}
    return tuple(label if label in kept else "other" for label in labels)
