"""Building a `Space` from a flat description: every parameter's domain, and where the parameter belongs.

Other tools describe a conditional space by its parameters and their conditions. A *gate* is a discrete parameter that
other parameters depend on; in the assembled space it is a `Choice`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from addtree.errors import SpaceError
from addtree.space.labels import Scalar
from addtree.space.parameters import Parameter
from addtree.space.space import Choice, Space

MAX_OPTIONS = 32
"""A parameter with more values than this is never a gate, because each value becomes an option of a choice."""

Parent: TypeAlias = tuple[str, int] | None
"""Where a parameter belongs: to one position of a gate, or to the root (None)."""

Parents: TypeAlias = frozenset[Parent]
"""Every place where one parameter belongs. Several options may share a parameter."""


@dataclass(frozen=True)
class Gate:
    """A discrete parameter whose values decide which other parameters are active.

    n_values  the number of its values
    ordered   whether the values have an order
    labels    the options of the choice that it becomes; by default the positions of the values
    seen      the positions that were observed; an unobserved position of an ordered gate opens what the nearest
              observed one opens
    """

    n_values: int
    ordered: bool
    labels: tuple[Scalar, ...] | None = None
    seen: frozenset[int] = frozenset()


def assemble(parents: Mapping[str, Parents], domains: Mapping[str, Parameter], gates: Mapping[str, Gate]) -> Space:
    """The space in which every parameter is where `parents` says, as far as such a tree exists.

    If a parameter would occur twice on a path, one parameter with several gates moves to the root if that is enough,
    else every parameter with several parents. If that is not a tree of choices either, all parameters move to the root.

    >>> from addtree.space.parameters import Categorical, Real
    >>> domains = {"model": Categorical((0, 1)), "C": Real(0, 1)}
    >>> parents = {"model": frozenset([None]), "C": frozenset([("model", 1)])}
    >>> print(assemble(parents, domains, {"model": Gate(2, ordered=False)}))
    model
    ├─ 0
    └─ 1
       └─ C: real [0, 1]
    """
    root: Parents = frozenset([None])
    single = {name: found if len(found) == 1 else root for name, found in parents.items()}
    several = [name for name, found in parents.items() if len({parent and parent[0] for parent in found}) > 1]
    for attempt in (parents, *({**parents, name: root} for name in several), single):
        try:
            return assemble_strictly(attempt, domains, gates)
        except SpaceError:
            continue
    return Space(domains)


def assemble_strictly(
    parents: Mapping[str, Parents], domains: Mapping[str, Parameter], gates: Mapping[str, Gate]
) -> Space:
    """The space in which every parameter is where `parents` says, or a SpaceError if that is not a tree of choices."""
    builder = _Builder(parents, domains, gates)
    return Space({name: builder.variable(name) for name in domains if None in parents[name]})


class _Builder:
    """Builds each variable once, together with everything below it."""

    def __init__(
        self, parents: Mapping[str, Parents], domains: Mapping[str, Parameter], gates: Mapping[str, Gate]
    ) -> None:
        self._domains, self._gates = domains, gates
        self._opened: dict[tuple[str, int], list[str]] = {}  # The parameters that each position of a gate opens.
        for name in domains:
            for parent in parents[name]:
                if parent is not None:
                    self._opened.setdefault(parent, []).append(name)
        self._finished: dict[str, Parameter | Choice] = {}
        self._unfinished: set[str] = set()

    def variable(self, name: str) -> Parameter | Choice:
        """A choice if some parameter belongs to the named one, else its domain."""
        if name in self._unfinished:
            raise SpaceError(f"parameter {name!r} depends on itself")
        if name not in self._finished:
            self._unfinished.add(name)
            opening = {position for gate, position in self._opened if gate == name}
            self._finished[name] = self._choice(name, opening) if opening else self._domains[name]
            self._unfinished.remove(name)
        return self._finished[name]

    def _choice(self, name: str, opening: set[int]) -> Choice:
        gate = self._gates[name]
        known = gate.seen | opening
        options = {}
        for position, label in enumerate(gate.labels or range(gate.n_values)):
            source = position
            if gate.ordered and position not in known:
                source = min(known, key=lambda k: (abs(k - position), k))
            opened = self._opened.get((name, source), ())
            options[label] = Space({other: self.variable(other) for other in opened})
        return Choice(options)
