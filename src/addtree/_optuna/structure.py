"""The search for the tree behind trials of define-by-run code.

Define-by-run code does not declare a space. Each trial only shows which parameters the code asked for. A parameter that
is present exactly when another one takes certain values belongs to those values.

symbol  shape   meaning
P       n x m   whether parameter j is present in trial i
C       n x m   its position among its values; -1 if it is absent or cannot be a gate
O       n x m   its rank in the order of the trial's parameters, from 0; -1 if it is absent
T       n       a subset of the trials, as a mask

A *gate* is a discrete parameter that may decide whether others are present. The explanation of a parameter within T is
the cheapest decision tree that says when it is present. The tree splits T by gates that are present throughout T. A few
trials often allow several explanations. Each further value of a gate adds to the cost, and so does a gate that the code
asked for after the parameter; of two gates with the same cost, the one nearer to the parameter in that order wins. A
parameter that no gate explains stays at the node where it was seen. The result depends on the set of trials, not on
their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from addtree._types import Mask
from addtree.space.assembly import Gate, Parent, Parents

# Costs are in units of one split, that is one further value of a gate.
_UNEXPLAINED_COST = 1000.0  # Cost of a trial that contradicts an explanation. It exceeds that of any number of splits.
_ORDERED_COST = (
    0.5  # Penalty for an ordered gate: if both explain a parameter, a categorical is likelier than a number.
)
_LATE_COST = 2.0  # Penalty for a gate that was suggested after the parameters it opens.


@dataclass(frozen=True)
class ObservedTrial:
    """The parameters of one trial in the order in which the code asked for them.

    positions  for each parameter the position of its value, or None if it cannot be a gate
    complete   whether the trial ran to its end, so that a missing parameter is known to be absent
    """

    positions: Mapping[str, int | None]
    complete: bool = True


def infer_parents(trials: Sequence[ObservedTrial], gates: Mapping[str, Gate]) -> dict[str, Parents]:
    """Where each parameter belongs.

    >>> a, b = {"model": 0, "C": None}, {"model": 1, "depth": None}
    >>> found = infer_parents([ObservedTrial(a), ObservedTrial(b)], {"model": Gate(2, ordered=False)})
    >>> found["model"], found["C"], found["depth"]
    (frozenset({None}), frozenset({('model', 0)}), frozenset({('model', 1)}))
    """
    names = list(dict.fromkeys(name for trial in trials for name in trial.positions))
    search = _Search(trials, names, gates)
    all_trials = np.ones(len(trials), dtype=bool)
    return {name: search.explain(j, all_trials, frozenset())[1] for j, name in enumerate(names)}


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
        self.is_gate = np.array([name in gates for name in names])
        self.ordered = np.array([name in gates and gates[name].ordered for name in names])
        self._gates_within: dict[bytes, frozenset[int]] = {}

    def gates_within(self, T: Mask) -> frozenset[int]:
        """The gates that are present throughout T. Unfinished trials count only if T has no complete one."""
        key = T.tobytes()
        if key not in self._gates_within:
            present = self.P[T & self.complete] if (T & self.complete).any() else self.P[T]
            self._gates_within[key] = frozenset(np.flatnonzero(present.all(axis=0) & self.is_gate).tolist())
        return self._gates_within[key]

    def explain(self, r: int, T: Mask, used: frozenset[int]) -> tuple[float, Parents]:
        """The cost of the cheapest explanation of parameter r within T, and where r belongs by it.

        In the answer, None stands for the node that T describes. `used` are the gates that may not split T.
        """
        here: Parents = frozenset([None])
        n_present = int(np.sum(self.P[T, r]))
        n_absent = int(np.sum(~self.P[T & self.complete, r]))
        if n_present == 0:
            return 0.0, frozenset()
        if n_absent == 0:
            return 0.0, here
        best = ((_UNEXPLAINED_COST * min(n_present, n_absent), 0.0), here)
        available = self.gates_within(T)
        for g in sorted(available - used - {r}):
            late, distance = self._order(g, r, T)
            values = np.unique(self.C[T & self.P[:, g], g])
            cost = _LATE_COST * late + _ORDERED_COST * bool(self.ordered[g])
            parents, pattern = set[Parent](), []
            for value in values:
                # Below g, only gates that g opens may split: with another gate of this node, r would have two parents.
                below, found = self.explain(r, T & (self.C[:, g] == value), used | available)
                cost += below
                parents |= {(self.names[g], int(value)) if parent is None else parent for parent in found}
                pattern.append(found)
            switches = sum(a != b for a, b in pairwise(pattern))
            cost += switches if self.ordered[g] else len(values) - 1
            if (cost, distance) < best[0]:
                best = ((cost, distance), frozenset(parents))
        return best[0][0], best[1]

    def _order(self, g: int, r: int, T: Mask) -> tuple[bool, float]:
        """Whether g ever came after r in a trial, and their mean distance in the order of the parameters."""
        both = T & self.P[:, g] & self.P[:, r]
        apart = self.O[both, r] - self.O[both, g]
        return bool(np.any(apart < 0)), float(np.mean(np.abs(apart))) if both.any() else np.inf
