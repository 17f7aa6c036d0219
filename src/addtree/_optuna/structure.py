"""The search for the tree behind trials of define-by-run code.

Define-by-run code does not declare a space. Each trial only shows which parameters the code asked for. A parameter that
is present exactly when another one takes certain values belongs to those values.

symbol  shape   meaning
P       n x m   whether parameter j is present in trial i
V       n x m   its position among its categories, or its value if it is a number; NaN if it is absent or not a gate
O       n x m   its rank in the order of the trial's parameters, from 0; -1 if it is absent
S       n x K   whether trial i satisfies pair k

A *gate* is a parameter that may decide whether others are present. A *pair* is a categorical gate with one position of
it, or a number with an interval that holds no trial without the parameter in question. A parameter belongs to a set of
pairs: it is active whenever the trial satisfies one of them. The explanation of a parameter is the cheapest such set. A
pair may occur in it only if the parameter is present in every complete trial that satisfies the pair. The set covers
every trial that has the parameter, and no trial satisfies two of its pairs, because a tree holds a parameter once on
each path. A gate that is shared by several options needs no special treatment: what it opens belongs to the gate,
wherever the gate is.

A few trials often allow several explanations. The cost is about the number of bits that describe the set. A gate that
is itself rarely present adds to it, and so does one that the code asked for after the parameter. Of two sets with the
same cost, the one nearer to the parameter in that order wins. A number with many values separates a few trials by
chance, so it has to explain more bits than it costs. If nothing explains a parameter, it belongs to the values of one
categorical gate that may have it, or to the root.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from addtree._optuna.thresholds import open_intervals, within
from addtree._types import Mask
from addtree.space.assembly import Interval, Parent, Parents
from addtree.space.parameters import Categorical, Parameter

# Costs are in bits.
_ORDERED_COST = 0.5  # Penalty for a number: if both explain a parameter, a categorical is likelier.
_FINE_COST = 4.0  # Further penalty for a number with more than `MAX_COARSE` values, such as a learning rate.
_LATE_COST = 20.0  # Penalty for a gate that was always suggested after the parameters it opens.
_GATE_COST = 2.0  # Penalty for each further gate in one explanation.
_MAX_SWITCHES = 4  # A number does not explain a parameter that comes or goes more often than this as the number grows.
_MAX_FINE_SWITCHES = 2  # The same for a number with many values.
_MAX_BRANCHES = 4  # At each step, the search tries this many pairs.
_MAX_STEPS = 2000  # The search for the explanation of one parameter ends after this many steps.
_MIN_ABSENT = 8  # An unexplained parameter is absent from a value of a gate if it was absent in this many trials.

MAX_COARSE = 32
"""A categorical with more values than this is never a gate. A number with more values counts as continuous."""

ROOT: Parents = frozenset([None])


@dataclass(frozen=True)
class ObservedTrial:
    """The parameters of one trial in the order in which the code asked for them.

    values    for each parameter the position of its category, or its number, or None if it cannot be a gate
    complete  whether the trial ran to its end, so that a missing parameter is known to be absent
    """

    values: Mapping[str, float | None]
    complete: bool = True


@dataclass(frozen=True)
class Structure:
    """Where each parameter belongs.

    parents      the parents of each parameter; empty if all lie outside of the present ranges of their gates
    unexplained  the names of the parameters that no gate explains
    removed      the names of the parameters that the code does not ask for any more
    """

    parents: dict[str, Parents]
    unexplained: frozenset[str]
    removed: frozenset[str] = frozenset()

    def gates(self, name: str) -> frozenset[str]:
        """The gates that a parameter depends on."""
        return frozenset(parent[0] for parent in self.parents[name] if parent is not None)

    def with_opened(self, names: frozenset[str]) -> frozenset[str]:
        """These parameters, and all that depend on one of them."""
        further = frozenset(name for name in self.parents if self.gates(name) & names) - names
        return self.with_opened(names | further) if further else names


def infer_structure(trials: Sequence[ObservedTrial], gates: Mapping[str, Parameter]) -> Structure:
    """Where each parameter belongs.

    A parameter may have been added to the code, or removed from it, between two trials. If nothing explains it in all
    trials, something may in those since its first appearance, or in those until its last one. Numbers with many values
    are considered last.

    gates  the parameters that may be gates, by name

    >>> a, b = {"model": 0, "C": None}, {"model": 1, "depth": None}
    >>> found = infer_structure([ObservedTrial(a), ObservedTrial(b)], {"model": Categorical((0, 1))}).parents
    >>> found["model"], found["C"], found["depth"]
    (frozenset({None}), frozenset({('model', 0)}), frozenset({('model', 1)}))
    """
    search = _Search(trials, list(dict.fromkeys(name for trial in trials for name in trial.values)), gates)
    parents: dict[str, Parents] = {}
    unexplained, removed = set(), set()
    for r, name in enumerate(search.names):
        attempts = [(window, fine) for fine in (False, True) for window in search.windows(r)]
        explanations = ((window, search.explain(r, window, fine=fine)) for window, fine in attempts)
        window, found = next((pair for pair in explanations if pair[1] is not None), (None, None))
        if window is None or found is None:
            unexplained.add(name)
            found = search.explain_partly(r)
        elif not window[-1]:
            removed.add(name)
        parents[name] = found
    while opened := {name for name in parents.keys() - removed if _are_removed(parents[name], removed)}:
        removed |= opened
    return Structure(parents, frozenset(unexplained), frozenset(removed))


def _are_removed(parents: Parents, removed: Collection[str]) -> bool:
    """Whether all parents of a parameter belong to gates that the code does not ask for any more."""
    return bool(parents) and all(parent is not None and parent[0] in removed for parent in parents)


@dataclass(frozen=True, eq=False)
class _Pair:
    """A gate (its column) with a position of it, or an interval; and which trials satisfy the pair (n)."""

    gate: int
    place: int | Interval
    satisfied: Mask


class _Search:
    """The trials as arrays, and the search for explanations in them."""

    def __init__(self, trials: Sequence[ObservedTrial], names: list[str], gates: Mapping[str, Parameter]) -> None:
        n, m = len(trials), len(names)
        index = {name: j for j, name in enumerate(names)}
        self.names = names
        self.P = np.zeros((n, m), dtype=bool)
        self.V = np.full((n, m), np.nan)
        self.O = np.full((n, m), -1)
        for i, trial in enumerate(trials):
            for rank, (name, value) in enumerate(trial.values.items()):
                j = index[name]
                self.P[i, j], self.O[i, j] = True, rank
                self.V[i, j] = math.nan if value is None else value
        self.complete = np.array([trial.complete for trial in trials], dtype=bool)
        self.gates = {index[name]: gate for name, gate in gates.items() if name in index}
        self.seen = {g: np.unique(self.V[~np.isnan(self.V[:, g]), g]) for g in self.gates}
        self._categories = {
            g: [_Pair(g, int(value), self.V[:, g] == value) for value in self.seen[g]]
            for g, domain in self.gates.items()
            if isinstance(domain, Categorical)
        }

    def windows(self, r: int) -> Iterator[Mask]:
        """All trials, those since the first one with parameter r, and those until the last one with it."""
        n = len(self.P)
        first, last = np.flatnonzero(self.P[:, r])[[0, -1]]
        yield np.ones(n, dtype=bool)
        if first > 0:
            yield np.arange(n) >= first
        if last < n - 1:
            yield np.arange(n) <= last

    def explain(self, r: int, window: Mask, *, fine: bool) -> Parents | None:
        """Where parameter r belongs by the trials of a window; None if no set of pairs explains it.

        fine  whether numbers with many values may be gates
        """
        present = self.P[:, r] & window
        absent = ~self.P[:, r] & window & self.complete
        if not absent.any():
            return ROOT
        pairs = [
            pair
            for g in self.gates
            if g != r and (fine or not self.is_fine(g))
            for pair in (self._positions(g, absent) if g in self._categories else self._intervals(g, present, absent))
            if (pair.satisfied & present).any()
        ]
        search = _Cover(self, r, present, pairs)
        search.extend(())
        return None if search.best is None else self._parents(pairs[k] for k in search.best)

    def _positions(self, g: int, absent: Mask) -> list[_Pair]:
        """The positions of a categorical gate that have the parameter.

        Where every value of a gate has the parameter, the parameter does not depend on the gate but on its parents.
        """
        pairs = self._categories[g]
        possible = [pair for pair in pairs if not (pair.satisfied & absent).any()]
        return possible if len(possible) < len(pairs) else []

    def _intervals(self, g: int, present: Mask, absent: Mask) -> list[_Pair]:
        """The intervals of a number that have the parameter."""
        domain, values = self.gates[g], self.V[:, g]
        without = values[absent & self.P[:, g]]
        assert not isinstance(domain, Categorical)
        if not len(without) or not (present & self.P[:, g]).any():
            return []
        found = open_intervals(domain, self.seen[g], np.isin(self.seen[g], without))
        pairs = [_Pair(g, (low, high), (values >= low) & (values <= high)) for low, high in found]
        pairs = [pair for pair in pairs if (pair.satisfied & present).any()]
        places, fine = [pair.place for pair in pairs], self.is_fine(g)
        if _n_switches(places) > (_MAX_FINE_SWITCHES if fine else _MAX_SWITCHES):
            return []
        n_with, n_without = int(np.sum(present & self.P[:, g])), len(without)
        is_chance = fine and _log2_comb(n_with + n_without, n_with) < self.pattern_cost(g, places)
        return [] if is_chance else pairs

    def explain_partly(self, r: int) -> Parents:
        """The values of the gate that excludes parameter r from most trials without it; the root if none does so."""
        present, absent = self.P[:, r], ~self.P[:, r] & self.complete
        best, parents = 0, ROOT
        for g, pairs in self._categories.items():
            counts = {pair: int(np.sum(pair.satisfied & absent)) for pair in pairs}
            excluded = {pair for pair in pairs if counts[pair] >= _MIN_ABSENT and not (pair.satisfied & present).any()}
            n_excluded = sum(counts[pair] for pair in excluded)
            if g != r and n_excluded > best and self.P[present, g].all() and self.order(g, r)[0] == 0:
                best = n_excluded
                parents = self._parents(pair for pair in pairs if pair not in excluded)
        return parents

    def is_fine(self, g: int) -> bool:
        """Whether a gate is a number with so many values that it counts as continuous."""
        domain = self.gates[g]
        return not isinstance(domain, Categorical) and domain.size > MAX_COARSE

    def pattern_cost(self, g: int, places: Sequence[int | Interval]) -> float:
        """The bits that it takes to say which of the seen values of a gate open a parameter.

        A number switches between values that do and values that do not; of categories, the fewer of both are listed.
        Without any place it is the least that any set of places costs.
        """
        domain = self.gates[g]
        if isinstance(domain, Categorical):
            n_values = len(domain.values)
            listed = min(len(places), len(self.seen[g]) - len(places))
            return min(math.log2(n_values) * max(listed, 1), n_values - 1.0)
        bits = math.log2(max(min(domain.size, len(self.seen[g]) + 1), 2))
        return _ORDERED_COST + _FINE_COST * self.is_fine(g) + bits * max(_n_switches(places), 1)

    def order(self, g: int, r: int) -> tuple[float, float]:
        """The share of trials in which g came after r, and their mean distance in the order of the parameters."""
        both = self.P[:, g] & self.P[:, r]
        if not both.any():
            return 0.0, math.inf
        apart = self.O[both, r] - self.O[both, g]
        return float(np.mean(apart < 0)), float(np.mean(np.abs(apart)))

    def _parents(self, pairs: Iterator[_Pair]) -> Parents:
        """Pairs by the names of their gates, as far as the range of a gate reaches."""
        found: set[Parent] = set()
        for pair in pairs:
            domain, place = self.gates[pair.gate], pair.place
            if isinstance(place, tuple) and not isinstance(domain, Categorical):
                if (inside := within(domain, place)) is not None:
                    found.add((self.names[pair.gate], inside))
            else:
                found.add((self.names[pair.gate], place))
        return frozenset(found)


class _Cover:
    """The cheapest set of pairs that covers the trials with a parameter, each trial by one pair."""

    def __init__(self, search: _Search, r: int, present: Mask, pairs: Sequence[_Pair]) -> None:
        self._search, self._pairs = search, pairs
        n_present = int(np.sum(present))
        self._S = np.array([pair.satisfied[present] for pair in pairs], dtype=bool).reshape(-1, n_present).T
        gates = {pair.gate for pair in pairs}
        self._order = {g: search.order(g, r) for g in gates}
        self._share = {g: float(np.mean(search.P[:, g])) for g in gates}
        self._size = self._S.sum(axis=0)
        self._cost = (math.inf, math.inf)
        self._steps = 0
        self.best: tuple[int, ...] | None = None

    def extend(self, chosen: tuple[int, ...]) -> None:
        """Try every way to cover the trials that the chosen pairs leave."""
        self._steps += 1
        covered = self._S[:, list(chosen)].any(axis=1)
        cost = self.cost(chosen, finished=bool(covered.all()))
        if cost >= self._cost or self._steps > _MAX_STEPS:
            return
        if covered.all():
            self._cost, self.best = cost, chosen
            return
        i = int(np.argmin(covered))
        options = np.flatnonzero(self._S[i]).tolist()
        for k in sorted(options, key=lambda k: self._priority(chosen, k))[:_MAX_BRANCHES]:
            overlap = {j for j in chosen if (self._S[:, j] & self._S[:, k]).any()}
            # A pair that covers all trials of an earlier one takes its place; else a trial would have two parents.
            if all((self._S[:, k] >= self._S[:, j]).all() for j in overlap):
                self.extend((*(j for j in chosen if j not in overlap), k))

    def cost(self, chosen: Sequence[int], *, finished: bool) -> tuple[float, float]:
        """The cost of a set of pairs, and the distances of its gates from the parameter.

        If the set is not finished, it is a lower bound: further values may make the pattern of a gate simpler.
        """
        total, distance = -_GATE_COST, 0.0
        for g in {self._pairs[k].gate for k in chosen}:
            late, apart = self._order[g]
            total += _GATE_COST + _LATE_COST * late - math.log2(self._share[g])
            distance += apart
            places = [self._pairs[k].place for k in chosen if self._pairs[k].gate == g] if finished else []
            total += self._search.pattern_cost(g, places)
        return total, distance

    def _priority(self, chosen: tuple[int, ...], k: int) -> tuple[bool, tuple[float, float], int]:
        """The order in which pairs are tried: gates in use first, then the cheapest ones."""
        used = any(self._pairs[j].gate == self._pairs[k].gate for j in chosen)
        return not used, self.cost((k,), finished=False), -int(self._size[k])


def _n_switches(places: Sequence[int | Interval]) -> int:
    """How often a parameter comes or goes as the number that opens it in some intervals grows."""
    return sum(math.isfinite(end) for place in places if isinstance(place, tuple) for end in place)


def _log2_comb(n: int, k: int) -> float:
    """The bits that it takes to say which k of n trials have a parameter."""
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)
