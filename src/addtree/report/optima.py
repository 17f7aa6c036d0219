"""How good each branch can get: the model's belief about the best value of every option, and where the optimum lies.

Averages do not answer that: an option can be bad on average and contain the best configuration. So the function is
drawn from its posterior, and each draw is minimised inside every option.

symbol  shape   meaning
S               draws of the function
m               candidates: random ones in every branch, and ones around the best observed there
best    S x N   the least value of each draw inside each of the N nodes of the space

The best candidate of each branch and draw is improved by a gradient descent. It is short, because the minima of draws
in many parameters lie below any value that can be reached. The model is that of the optimizer: it learns an output
transform, without which they lie far below.

Such a model is too sure of a branch that was seen from afar, for two reasons. The transform compresses values that are
far above the median of all. In a run that converges in one branch, this is every value of another one, which then looks
flat. So half of the draws come from a second model, whose transform has the scale of the branch that varies most. And
the amplitudes are the same everywhere. So the variance of each draw is that of the posterior times an unknown factor
(see `SamplePaths`). `benchmarks/optima.py` measures what all this is worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from addtree._types import Array, Index
from addtree.model.observations import Observations
from addtree.model.specification import Specification
from addtree.model.surrogate import Surrogate
from addtree.model.transform import TransformSettings
from addtree.report.model import DEFAULT_LIMITS, Limits, fit_surrogate
from addtree.report.records import Record, encode_records, standard_errors
from addtree.search.ascent import Box, ascend
from addtree.search.candidates import CandidateSettings, Observed, within_node
from addtree.search.pathwise import SamplePaths
from addtree.space.encoding import Encoding
from addtree.space.forms import condition_text
from addtree.space.space import Choice, Space
from addtree.support.numbers import MAX_SIZE

_SEED = 0  # Every draw starts from this seed, so that a report can be reproduced.
_LIKELY = 0.5  # From this probability on, the optimum is said to lie in an option.
_POSSIBLE = 0.1  # From this probability on, it is said that the optimum may well lie there.
_UNLIKELY = 0.01  # Below this probability, the optimum is said to lie elsewhere.
_MIN_EVALUATIONS = 5  # An option with fewer evaluations is not to be dropped yet,
_EVALUATIONS_PER_PARAMETER = 3  # nor one with fewer than this many for each of its parameters.


@dataclass(frozen=True)
class OptimumSearch:
    """How much work goes into the belief about optima. `benchmarks/optima.py` measures what it is worth.

    draws       draws of the function
    candidates  candidates of all branches together, roughly; a space with fewer configurations is searched whole
    steps       steps of a descent, at most
    points      points that descend at a time, which bounds the memory
    work        evaluations of a term at a descending point, at most; with very many branches, descents have fewer steps
    freedom     degrees of freedom of the draws, which have a Student t distribution; None for a normal one
    transform   the output transform that is learned. A power above 1 would magnify draws below the best value. A low
                bound of the excess would make all values of a bad branch equal in a run that converges in another one
    spread      the transform of the second model compresses values from twice this many times the largest
                (median - best) of a branch above the median; None for one model
    """

    draws: int = 256
    candidates: int = 1000
    steps: int = 4
    points: int = 128
    work: int = 200_000
    freedom: float | None = 3.0
    transform: TransformSettings | None = TransformSettings(power_bounds=(-1.0, 1.0), max_excess=1e6)
    spread: float | None = 4.0


@dataclass(frozen=True)
class OptionOptimum:
    """One option of a choice.

    parameters   number of parameters below it
    evaluations  number of trials with a value
    failed       number of trials that failed
    best         the best value seen
    median       the model's belief about the best value that the option can reach, noise excluded
    low, high    the 80 % interval of this belief
    probability  probability that the best option of the choice is this one
    """

    option: Any
    parameters: int
    evaluations: int
    failed: int
    best: float | None
    median: float
    low: float
    high: float
    probability: float

    @property
    def verdict(self) -> str:
        """The answer to "may I drop this branch?"."""
        if not self.evaluations:
            return "Not yet: all its trials failed." if self.failed else "Not yet: it was never tried."
        if self.probability >= _LIKELY:
            return "No: the optimum probably lies here."
        if self.probability >= _POSSIBLE:
            return "No: the optimum may well lie here."
        if self.evaluations < max(_MIN_EVALUATIONS, _EVALUATIONS_PER_PARAMETER * self.parameters):
            return "Not yet: it has too few evaluations to tell."
        if self.probability >= _UNLIKELY:
            return "Only to save evaluations: the optimum may lie here."
        return "Yes: the model expects the optimum elsewhere."


@dataclass(frozen=True)
class ChoiceOptima:
    """The options of one choice, compared where the choice is active; their probabilities add up to 1.

    condition  when it is active, in words; empty if always
    draws      number of draws that the probabilities are shares of
    """

    choice: str
    condition: str
    options: tuple[OptionOptimum, ...]
    draws: int


def choice_optima(
    space: Space,
    trials: Sequence[Record],
    *,
    maximize: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    noise: float | None = None,
    search: OptimumSearch | None = None,
) -> tuple[ChoiceOptima, ...]:
    """The belief about the best value of every option of every choice that has more than one option.

    trials  trials of any state; at least one must have a value
    noise   standard deviation of repeated evaluations; None to learn it
    """
    search, encoding = search or OptimumSearch(), space.encoding
    names = [name for name, domain in space.variables.items() if isinstance(domain, Choice) and len(domain.labels) > 1]
    if not names:
        return ()
    done = [trial for trial in trials if trial.state == "done" and trial.value is not None]
    X, values = encoding.encode([trial.config for trial in done]), np.array([trial.value for trial in done])
    values = np.clip(values, -MAX_SIZE, MAX_SIZE)
    sign = -1.0 if maximize else 1.0  # the model minimises
    observed, rng = Observed(encoding, X, sign * values, set()), np.random.default_rng(_SEED)
    data = Observations(X, observed.y, standard_errors(done))
    models = [
        fit_surrogate(encoding, data, Specification(noise=noise, transform=transform), limits, rng)
        for transform in _transforms(observed, search)
    ]
    best = sign * best_values(models, observed, search, rng)
    failed = encode_records(encoding, [trial for trial in trials if trial.state == "failed"])
    return tuple(_summarise(encoding, name, best, X, values, failed, maximize) for name in names)


def _transforms(observed: Observed, search: OptimumSearch) -> list[TransformSettings | None]:
    """The settings of the transform of each model."""
    if search.transform is None or search.spread is None:
        return [search.transform]
    encoding, y = observed.encoding, observed.y
    inside = [y[encoding.inside(observed.X, leaf)] for leaf in _leaves(encoding)]
    largest = max(float(np.median(own) - np.min(own)) for own in inside if len(own))
    return [search.transform, replace(search.transform, least_spread=search.spread * largest)]


# ---------------------------------------------------------------------- minima of draws


def best_values(
    surrogates: Sequence[Surrogate], observed: Observed, search: OptimumSearch, rng: np.random.Generator
) -> Array:
    """The least value of each draw inside each node (S x N), in the units of y.

    surrogates  equally probable models, among which the draws are divided
    """
    sizes = [len(part) for part in np.array_split(np.arange(search.draws), len(surrogates))]
    paths = [
        SamplePaths(model.posterior, size, rng, freedom=search.freedom)
        for model, size in zip(surrogates, sizes, strict=True)
    ]
    pool = observed.encoding.snap(_candidates(observed, search, rng))
    parts = [
        model.transform.inverse(_minima(drawn, pool, observed.encoding, search))
        for model, drawn in zip(surrogates, paths, strict=True)
    ]
    return np.concatenate(parts)


def _minima(paths: SamplePaths, pool: Array, encoding: Encoding, search: OptimumSearch) -> Array:
    """The least value of each draw inside each node, on the scale of the model."""
    nodes = encoding.space.nodes
    values = paths.values(paths.kernel.rows(pool))  # m x S
    inside = [encoding.inside(pool, node) for node in range(len(nodes))]
    best = np.array([values[within].min(axis=0) for within in inside]).T
    leaves = _leaves(encoding)
    starts = [np.flatnonzero(inside[leaf])[values[inside[leaf]].argmin(axis=0)] for leaf in leaves]  # S each
    ends = list(_descend(paths, encoding, pool[np.concatenate(starts)], search))
    if ends:
        X, draw, value = (np.concatenate(part) for part in zip(*ends, strict=True))
        for node in range(len(nodes)):
            within = encoding.inside(X, node)
            np.minimum.at(best[:, node], draw[within], value[within])
    return np.asarray(best)


def _candidates(observed: Observed, search: OptimumSearch, rng: np.random.Generator) -> Array:
    """Every row of a small space; otherwise the best observed ones, and rows inside every leaf, so in every node."""
    if observed.encoding.space.n_configs <= search.candidates:
        return observed.encoding.enumerate()
    leaves = _leaves(observed.encoding)
    each = max(search.candidates // (2 * len(leaves)), 4)
    settings = CandidateSettings(anywhere=each, near=each // 2, across=each // 4)
    best = observed.ranked[: search.candidates // 4]
    return np.concatenate([best, *(within_node(observed, leaf, settings, rng) for leaf in leaves)])


def _leaves(encoding: Encoding) -> list[int]:
    """The nodes without choices; every branch ends in one."""
    return [node for node, tree_node in enumerate(encoding.space.nodes) if not tree_node.choices]


def _descend(
    paths: SamplePaths, encoding: Encoding, starts: Array, search: OptimumSearch
) -> Iterator[tuple[Array, Index, Array]]:
    """The ends of descents, in parts: rows, the draw that each belongs to, and its value there.

    starts  rows, those of one leaf after another, in the order of the draws
    """
    counted = int(np.sum(paths.kernel.active(starts))) * search.draws // paths.size  # for all draws
    steps = min(search.steps, search.work // max(counted, 1))
    if steps == 0:
        return
    for first in range(0, len(starts), search.points):
        X = starts[first : first + search.points]
        draw: Index = np.arange(first, first + len(X)) % paths.size
        function = paths.functions(X, draw)

        def ascent(X: Array, function: Any = function) -> tuple[Array, Array]:
            value, gradient = function(X)
            return -value, -gradient()

        box = Box(encoding.is_numeric & ~np.isnan(X), *encoding.bounds(X))
        reached, value = ascend(ascent, X, box, steps=steps)
        end = encoding.snap(reached)
        yield end, draw, -value if np.array_equal(end, reached, equal_nan=True) else function(end)[0]


# ---------------------------------------------------------------------- summaries


def _summarise(
    encoding: Encoding, name: str, best: Array, X: Array, values: Array, failed: Array, maximize: bool
) -> ChoiceOptima:
    """The options of one choice; `best` is S x N, in the units of y and in the direction of the user."""
    space, column, domain = encoding.space, encoding.index[name], encoding.variables[name]
    assert isinstance(domain, Choice)
    opened = [children for node in encoding.node_choices for j, children in node if j == column]
    nodes = [[children[o] for children in opened] for o in range(len(domain.labels))]  # per option, what it opens
    reach = np.array([best[:, own].max(axis=1) if maximize else best[:, own].min(axis=1) for own in nodes])
    winner = np.argmax(reach if maximize else -reach, axis=0)
    options = []
    for o, label in enumerate(domain.labels):
        seen = values[X[:, column] == o]
        low, median, high = np.quantile(reach[o], (0.1, 0.5, 0.9)).tolist()
        options.append(
            OptionOptimum(
                option=label,
                parameters=max(int(np.sum(~encoding.is_choice[encoding.below[node]])) for node in nodes[o]),
                evaluations=len(seen),
                failed=int(np.sum(failed[:, column] == o)),
                best=float(seen.max() if maximize else seen.min()) if len(seen) else None,
                median=median,
                low=low,
                high=high,
                probability=float(np.mean(winner == o)),
            )
        )
    always = () in space.conditions[name]
    condition = "" if always else condition_text(space.conditions[name], space.variables)
    return ChoiceOptima(name, condition, tuple(options), best.shape[0])
