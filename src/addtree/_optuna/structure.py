"""The search for the tree behind trials of define-by-run code.

Define-by-run code does not declare a space. Each trial only shows which parameters the code asked for. A parameter that
is present exactly when another one takes certain values belongs to those values.

symbol  shape   meaning
P       n x m   whether parameter j is present in trial i
C       n x m   its position among its values; -1 if it is absent or cannot be a gate
O       n x m   its rank in the order of the trial's parameters, from 0; -1 if it is absent
S       n x K   whether trial i satisfies pair k

A *gate* is a discrete parameter that may decide whether others are present, and a *pair* is a gate with one position of
it. A parameter belongs to a set of pairs: it is active whenever the trial satisfies one of them. The explanation of a
parameter is the cheapest such set. A pair may occur in it only if the parameter is present in every complete trial that
satisfies the pair. The set covers every trial that has the parameter, and no trial satisfies two of its pairs, because
a tree holds a parameter once on each path. A gate that is shared by several options needs no special treatment: what it
opens belongs to the gate, wherever the gate is.

A few trials often allow several explanations. The cost is about the number of bits that describe the set. A gate that
is itself rarely present adds to it, and so does one that the code asked for after the parameter. Of two sets with the
same cost, the one nearer to the parameter in that order wins. If nothing explains a parameter, it belongs to the values
of one gate that may have it, or to the root.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from addtree._types import Mask
from addtree.space.assembly import Gate, Parents

# Costs are in bits.
_ORDERED_COST = (
    0.5  # Penalty for an ordered gate: if both explain a parameter, a categorical is likelier than a number.
)
_LATE_COST = 20.0  # Penalty for a gate that was always suggested after the parameters it opens.
_GATE_COST = 2.0  # Penalty for each further gate in one explanation.
_MAX_BRANCHES = 4  # At each step, the search tries this many pairs.
_MAX_STEPS = 2000  # The search for the explanation of one parameter ends after this many steps.
_MIN_ABSENT = 8  # An unexplained parameter is absent from a value of a gate if it was absent in this many trials.

ROOT: Parents = frozenset([None])


@dataclass(frozen=True)
class ObservedTrial:
    """The parameters of one trial in the order in which the code asked for them.

    positions  for each parameter the position of its value, or None if it cannot be a gate
    complete   whether the trial ran to its end, so that a missing parameter is known to be absent
    """

    positions: Mapping[str, int | None]
    complete: bool = True


@dataclass(frozen=True)
class Structure:
    """Where each parameter belongs, and the names of those that no gate explains."""

    parents: dict[str, Parents]
    unexplained: frozenset[str]


def infer_structure(trials: Sequence[ObservedTrial], gates: Mapping[str, Gate]) -> Structure:
    """Where each parameter belongs.

    A parameter may have been added to the code, or removed from it, between two trials. If all trials do not explain
    it, those since its first appearance may, or those until its last one.

    >>> a, b = {"model": 0, "C": None}, {"model": 1, "depth": None}
    >>> found = infer_structure([ObservedTrial(a), ObservedTrial(b)], {"model": Gate(2, ordered=False)}).parents
    >>> found["model"], found["C"], found["depth"]
    (frozenset({None}), frozenset({('model', 0)}), frozenset({('model', 1)}))
    """
    search = _Search(trials, list(dict.fromkeys(name for trial in trials for name in trial.positions)), gates)
    parents: dict[str, Parents] = {}
    unexplained = set()
    for r, name in enumerate(search.names):
        explanations = (search.explain(r, window) for window in search.windows(r))
        found = next((explanation for explanation in explanations if explanation is not None), None)
        if found is None:
            unexplained.add(name)
            found = search.explain_partly(r)
        parents[name] = found
    return Structure(parents, frozenset(unexplained))


class _Search:
    def __init__(self, trials: Sequence[ObservedTrial], names: list[str], gates: Mapping[str, Gate]) -> None:
        n, m = len(trials), len(names)
        index = {name: j for j, name in enumerate(names)}
        self.names = names
        self.P = np.zeros((n, m), dtype=bool)
        self.C = np.full((n, m), -1)
        self.O = np.full((n, m), -1)
        for i, trial in enumerate(trials):
            for rank, (name, position) in enumerate(trial.positions.items()):
                j = index[name]
                self.P[i, j], self.O[i, j] = True, rank
                self.C[i, j] = -1 if position is None else position
        self.complete = np.array([trial.complete for trial in trials], dtype=bool)
        self.seen = {
            j: np.unique(self.C[self.C[:, j] >= 0, j]) for j in (index[name] for name in gates if name in index)
        }
        self.gates = {index[name]: gate for name, gate in gates.items() if name in index}
        self.pairs = [(g, int(value)) for g in sorted(self.seen) for value in self.seen[g]]
        self.gate = np.array([g for g, _ in self.pairs], dtype=int)
        self.S = np.array([self.C[:, g] == value for g, value in self.pairs], dtype=bool).reshape(len(self.pairs), n).T

    def windows(self, r: int) -> Iterator[Mask]:
        """All trials, those since the first one with parameter r, and those until the last one with it."""
        n = len(self.P)
        first, last = np.flatnonzero(self.P[:, r])[[0, -1]]
        yield np.ones(n, dtype=bool)
        if first > 0:
            yield np.arange(n) >= first
        if last < n - 1:
            yield np.arange(n) <= last

    def explain(self, r: int, window: Mask) -> Parents | None:
        """Where parameter r belongs by the trials of a window; None if no set of pairs explains it."""
        present = self.P[:, r] & window
        absent = ~self.P[:, r] & window & self.complete
        if not absent.any():
            return ROOT
        possible = ~self.S[absent].any(axis=0) & (self.gate != r)
        # Where every value of a gate has the parameter, the parameter does not depend on the gate but on its parents.
        varies = {g for g in self.seen if not possible[self.gate == g].all()}
        usable = np.flatnonzero(possible & np.isin(self.gate, list(varies)) & self.S[present].any(axis=0))
        search = _Cover(self, r, present, usable)
        search.extend(())
        return None if search.best is None else frozenset(self._parent(k) for k in search.best)

    def explain_partly(self, r: int) -> Parents:
        """The values of the gate that excludes parameter r from most trials without it; the root if none does so."""
        present, absent = self.P[:, r], ~self.P[:, r] & self.complete
        n_absent = self.S[absent].sum(axis=0)
        excluded = ~self.S[present].any(axis=0) & (n_absent >= _MIN_ABSENT)
        best, parents = 0, ROOT
        for g in sorted(self.seen.keys() - {r}):
            own = self.gate == g
            n_excluded = int(n_absent[own & excluded].sum())
            if n_excluded > best and self.P[present, g].all() and self.order(g, r)[0] == 0:
                best = n_excluded
                parents = frozenset(self._parent(k) for k in np.flatnonzero(own & ~excluded).tolist())
        return parents

    def order(self, g: int, r: int) -> tuple[float, float]:
        """The share of trials in which g came after r, and their mean distance in the order of the parameters."""
        both = self.P[:, g] & self.P[:, r]
        if not both.any():
            return 0.0, math.inf
        apart = self.O[both, r] - self.O[both, g]
        return float(np.mean(apart < 0)), float(np.mean(np.abs(apart)))

    def _parent(self, k: int) -> tuple[str, int]:
        g, value = self.pairs[k]
        return self.names[g], value


class _Cover:
    """The cheapest set of pairs that covers the trials with a parameter, each trial by one pair."""

    def __init__(self, search: _Search, r: int, present: Mask, usable: np.ndarray) -> None:
        self._search, self._usable = search, usable
        self._S = search.S[present]
        self._order = {g: search.order(g, r) for g in set(search.gate[usable].tolist())}
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
        options = [k for k in self._usable.tolist() if self._S[i, k]]
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
        for g in {int(self._search.gate[k]) for k in chosen}:
            values = self._search.seen[g]
            late, apart = self._order[g]
            total += _GATE_COST + _LATE_COST * late - math.log2(float(np.mean(self._search.P[:, g])))
            distance += apart
            opening = np.isin(values, [self._search.pairs[k][1] for k in chosen if self._search.gate[k] == g])
            total += _pattern_cost(self._search.gates[g], opening if finished else opening[:0])
        return total, distance

    def _priority(self, chosen: tuple[int, ...], k: int) -> tuple[bool, tuple[float, float], int]:
        """The order in which pairs are tried: gates in use first, then the cheapest ones."""
        used = any(self._search.gate[j] == self._search.gate[k] for j in chosen)
        return not used, self.cost((k,), finished=False), -int(self._size[k])


def _pattern_cost(gate: Gate, opening: Mask) -> float:
    """The bits that it takes to say which of the seen values of a gate open a parameter.

    An ordered gate switches between values that do and values that do not; of an unordered one, the fewer of both are
    listed.
    """
    bits = math.log2(max(gate.n_values, 2))
    if gate.ordered:
        return _ORDERED_COST + bits * max(int(np.sum(opening[1:] != opening[:-1])), 1)
    listed = min(int(np.sum(opening)), int(np.sum(~opening)))
    return min(bits * max(listed, 1), gate.n_values - 1.0)
