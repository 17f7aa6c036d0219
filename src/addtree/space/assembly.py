"""Building a `Space` from a flat description: every parameter's domain, and where the parameter belongs.

Other tools describe a conditional space by its parameters and their conditions. A *gate* is a parameter that other
parameters depend on. In the assembled space, a categorical gate is a `Choice`, and a number has `opens`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

from addtree.errors import SpaceError
from addtree.space.parameters import Categorical, Integer, Parameter, Real
from addtree.space.space import Choice, Space

Interval: TypeAlias = tuple[float, float]
"""A closed interval of the values of a number."""

Parent: TypeAlias = tuple[str, int | Interval] | None
"""Where a parameter belongs: to a gate, at one position of a categorical or in one interval of a number. None is the
root."""

Parents: TypeAlias = frozenset[Parent]
"""Every place where one parameter belongs. Several options may share a parameter."""


def assemble(parents: Mapping[str, Parents], domains: Mapping[str, Parameter | Choice]) -> Space:
    """The space in which every parameter is where `parents` says, as far as such a tree exists.

    If a parameter would occur twice on a path, one parameter with several gates moves to the root if that is enough,
    else all of those that cannot stay together. If the others are not a tree either, every parameter with several
    parents moves to the root, and at last all parameters.

    >>> domains = {"model": Categorical((0, 1)), "n": Integer(1, 4), "C": Real(0, 1), "x": Real(0, 1)}
    >>> parents = {"model": frozenset([None]), "C": frozenset([("model", 1)])}
    >>> print(assemble({**parents, "n": frozenset([None]), "x": frozenset([("n", (2, 4))])}, domains))
    model
    ├─ 0
    └─ 1
       └─ C: real [0, 1]
    n: integer 1..4
    └─ 2..4
       └─ x: real [0, 1]
    """
    for attempt in _attempts(parents, domains):
        with suppress(SpaceError):
            return assemble_strictly(attempt, domains)
    return Space(domains)


def _attempts(
    parents: Mapping[str, Parents], domains: Mapping[str, Parameter | Choice]
) -> Iterator[Mapping[str, Parents]]:
    """The parents, and then with ever more parameters at the root."""
    root: Parents = frozenset([None])
    several = [name for name, found in parents.items() if len({parent and parent[0] for parent in found}) > 1]
    yield parents
    yield from ({**parents, name: root} for name in several)
    kept = {**parents, **dict.fromkeys(several, root)}
    for name in reversed(several):
        with suppress(SpaceError):
            attempt = {**kept, name: parents[name]}
            assemble_strictly(attempt, domains)
            kept = attempt
    yield kept
    yield {name: found if len(found) == 1 else root for name, found in parents.items()}


def assemble_strictly(parents: Mapping[str, Parents], domains: Mapping[str, Parameter | Choice]) -> Space:
    """The space in which every parameter is where `parents` says, or a SpaceError if that is not a tree.

    A parameter that belongs nowhere is left out.
    """
    builder = _Builder(parents, domains)
    return Space({name: builder.variable(name) for name in domains if None in parents[name]})


def with_opens(number: Real | Integer, opens: Mapping[Any, Space]) -> Real | Integer:
    """The same number, with further spaces that are open in intervals of it."""
    merged: dict[Any, Space] = dict(number.opens)
    for interval, space in opens.items():
        known = merged.get(interval)
        merged[interval] = space if known is None else Space({**known.children, **space.children})
    changed: Real | Integer = replace(number, opens=merged)  # type: ignore[arg-type]
    return changed


class _Builder:
    """Builds each variable once, together with everything below it."""

    def __init__(self, parents: Mapping[str, Parents], domains: Mapping[str, Parameter | Choice]) -> None:
        self._domains = domains
        self._opened: dict[str, dict[Any, list[str]]] = {}  # By gate and position or interval, what it opens.
        for name in domains:
            for parent in parents[name]:
                if parent is not None:
                    self._opened.setdefault(parent[0], {}).setdefault(parent[1], []).append(name)
        self._finished: dict[str, Parameter | Choice] = {}
        self._unfinished: set[str] = set()

    def variable(self, name: str) -> Parameter | Choice:
        """A parameter with everything that belongs to it."""
        if name in self._unfinished:
            raise SpaceError(f"parameter {name!r} depends on itself")
        if name not in self._finished:
            self._unfinished.add(name)
            self._finished[name] = self._gate(name, self._opened[name]) if name in self._opened else self._domains[name]
            self._unfinished.remove(name)
        return self._finished[name]

    def _gate(self, name: str, opened: Mapping[Any, list[str]]) -> Parameter | Choice:
        domain = self._domains[name]
        if not isinstance(domain, (Categorical, Choice)):
            return with_opens(domain, {interval: self._space(opened[interval]) for interval in sorted(opened)})
        return Choice({label: self._space(opened.get(i, [])) for i, label in enumerate(domain.labels)})

    def _space(self, names: list[str]) -> Space:
        return Space({name: self.variable(name) for name in names})
