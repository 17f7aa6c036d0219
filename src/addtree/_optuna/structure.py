"""The tree behind configurations that somebody else's code produced.

Code that asks for parameters one by one declares no space; it only shows, trial by trial, which ones it asked for. A
parameter that is present exactly when another one takes certain values hangs under it.

symbol  shape   meaning
P       n x m   whether parameter j was asked for in trial i
C       n x m   its position among its values, -1 where it is absent or has too many values to open anything
O       n x m   when it was asked for: 0 is the first of the trial
T       n       a set of trials, as a mask

The explanation of a parameter is the simplest decision tree over *gates* (discrete parameters present throughout T)
that says when it is there. Few trials leave room for several: then fewer distinct values win, then a gate asked for
before the parameter, then the nearest one. What no gate explains stays at the node where it was seen, and its value is
filled in where it is missing. The result depends on the set of trials, not on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from addtree._types import Mask
from addtree.errors import SpaceError
from addtree.space.parameters import Parameter, Scalar
from addtree.space.space import Choice, Space

MAX_OPTIONS = 32  # a parameter with more values than that opens nothing
_UNEXPLAINED = 1000.0  # cost of a trial that contradicts an explanation: more than any number of splits
_ORDINAL = 0.5  # of one split: where both explain, a categorical is the likelier gate than an integer
_LATE = 2.0  # splits: what a gate costs more that was asked for after what it opens

Parent = tuple[str, int] | None
"""Where a parameter hangs: under a gate at a position; None is the root."""


@dataclass(frozen=True)
class Seen:
    """One trial: its parameters in the order asked for, each with its position or None where it cannot be a gate.

    complete  whether the trial ran to its end, so that what is absent is known to be absent
    """

    positions: Mapping[str, int | None]
    complete: bool = True


@dataclass(frozen=True)
class Gate:
    """A discrete parameter: how many values it has, whether they have an order, and what its options are called.

    labels  the options of the choice that it becomes; by default the positions of its values
    """

    n_values: int
    ordered: bool
    labels: tuple[Scalar, ...] | None = None


def infer(trials: Sequence[Seen], gates: Mapping[str, Gate]) -> dict[str, frozenset[Parent]]:
    """Where each parameter hangs.

    >>> a, b = {"model": 0, "C": None}, {"model": 1, "depth": None}
    >>> found = infer([Seen(a), Seen(b)], {"model": Gate(2, ordered=False)})
    >>> found["model"], found["C"], found["depth"]
    (frozenset({None}), frozenset({('model', 0)}), frozenset({('model', 1)}))
    """
    names = list(dict.fromkeys(name for trial in trials for name in trial.positions))
    search = _Search(trials, names, gates)
    everywhere = np.ones(len(trials), dtype=bool)
    return {name: search.explain(j, everywhere, frozenset())[1] for j, name in enumerate(names)}


class _Search:
    def __init__(self, trials: Sequence[Seen], names: list[str], gates: Mapping[str, Gate]) -> None:
        n, m = len(trials), len(names)
        index = {name: j for j, name in enumerate(names)}
        self.names = names
        self.P = np.zeros((n, m), dtype=bool)
        self.C = np.full((n, m), -1)
        self.O = np.full((n, m), -1)
        for i, trial in enumerate(trials):
            for order, (name, position) in enumerate(trial.positions.items()):
                j = index[name]
                self.P[i, j], self.O[i, j] = True, order
                self.C[i, j] = -1 if position is None else position
        self.complete = np.array([trial.complete for trial in trials], dtype=bool)
        self.is_gate = np.array([name in gates and 1 < gates[name].n_values <= MAX_OPTIONS for name in names])
        self.ordered = np.array([name in gates and gates[name].ordered for name in names])
        self._open: dict[bytes, frozenset[int]] = {}

    def open_gates(self, T: Mask) -> frozenset[int]:
        """Gates that are present throughout T."""
        key = T.tobytes()
        if key not in self._open:
            sure = self.P[T & self.complete] if (T & self.complete).any() else self.P[T]
            self._open[key] = frozenset(np.flatnonzero(sure.all(axis=0) & self.is_gate).tolist())
        return self._open[key]

    def explain(self, r: int, T: Mask, used: frozenset[int]) -> tuple[float, frozenset[Parent]]:
        """The cost of the simplest explanation of r within T, and where r hangs by it; None means right here."""
        here: frozenset[Parent] = frozenset([None])
        there = int(np.sum(self.P[T, r]))
        missing = int(np.sum(~self.P[T & self.complete, r]))
        if there == 0:
            return 0.0, frozenset()
        if missing == 0:
            return 0.0, here
        best = ((_UNEXPLAINED * min(there, missing), 0.0), here)
        available = self.open_gates(T)
        for g in sorted(available - used - {r}):
            late, distance = self._order(g, r, T)
            values = np.unique(self.C[T & self.P[:, g], g])
            cost, where, pattern = _LATE * late + _ORDINAL * bool(self.ordered[g]), set[Parent](), []
            for value in values:
                # below this gate only gates that it opens: one that is here anyway would make r hang in two places
                below, found = self.explain(r, T & (self.C[:, g] == value), used | available)
                cost += below
                where |= {(self.names[g], int(value)) if parent is None else parent for parent in found}
                pattern.append(found)
            switches = sum(a != b for a, b in pairwise(pattern))
            cost += switches if self.ordered[g] else len(values) - 1
            if (cost, distance) < best[0]:
                best = ((cost, distance), frozenset(where))
        return best[0][0], best[1]

    def _order(self, g: int, r: int, T: Mask) -> tuple[bool, float]:
        """Whether g was ever asked for after r, and how far apart they are."""
        both = T & self.P[:, g] & self.P[:, r]
        apart = self.O[both, r] - self.O[both, g]
        return bool(np.any(apart < 0)), float(np.mean(np.abs(apart))) if both.any() else np.inf


def assemble(
    parents: Mapping[str, frozenset[Parent]],
    domains: Mapping[str, Parameter],
    gates: Mapping[str, Gate],
    seen: Callable[[str], set[int]],
) -> Space:
    """The space in which every parameter hangs where `parents` says; the options of a choice are positions.

    seen  the positions of a gate that some trial had; an ordered gate's other positions open what the nearest one opens

    Where that is no tree of choices (a parameter would be there twice), what hangs in several places moves to the root.
    """
    once: dict[str, frozenset[Parent]] = {n: p if len(p) == 1 else frozenset([None]) for n, p in parents.items()}
    for attempt in (parents, once):
        try:
            return hang(attempt, domains, gates, seen)
        except SpaceError:
            continue
    return Space(domains)


def hang(
    parents: Mapping[str, frozenset[Parent]],
    domains: Mapping[str, Parameter],
    gates: Mapping[str, Gate],
    seen: Callable[[str], set[int]],
) -> Space:
    """`assemble` to the letter: a SpaceError where what `parents` says is no tree of choices."""
    opened: dict[tuple[str, int], list[str]] = {}
    for name in domains:
        for parent in parents[name]:
            if parent is not None:
                opened.setdefault(parent, []).append(name)
    built: dict[str, Parameter | Choice | None] = {}

    def child(name: str) -> Parameter | Choice:
        if name not in built:
            built[name] = None
            mine = {position for gate, position in opened if gate == name}
            built[name] = choice(name, mine) if mine else domains[name]
        done = built[name]
        if done is None:
            raise SpaceError(f"parameter {name!r} hangs under itself")
        return done

    def choice(name: str, mine: set[int]) -> Choice:
        known = seen(name) | mine
        labels = gates[name].labels or range(gates[name].n_values)
        options = {}
        for position, label in enumerate(labels):
            source = position
            if gates[name].ordered and position not in known:
                source = min(known, key=lambda k: (abs(k - position), k))
            options[label] = Space({other: child(other) for other in opened.get((name, source), ())})
        return Choice(options)

    return Space({name: child(name) for name in domains if None in parents[name]})
