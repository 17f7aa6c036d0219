"""Conditions of ConfigSpace, and places in a tree.

A condition is brought into a normal form: *alternatives*, each of which requires of some parents that their value lies
in a region. A parameter has a place in the tree if each alternative comes down to one parent, because the others follow
from it, and if the alternatives exclude each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import ConfigSpace as CS  # noqa: N817 - its own documentation's name for it

from addtree.configspace.domains import plain
from addtree.configspace.regions import Region, after, before, intersection, is_within, region
from addtree.space.choice import Choice
from addtree.space.parameters import Categorical, Parameter
from addtree.space.space import Space

Alternative: TypeAlias = dict[str, Region]
"""The region of each parent that must hold at once."""


class Conditions:
    """The conditions of a ConfigurationSpace, as places in a tree.

    losses  in words, the conditions that have no exact place
    """

    def __init__(self, cs: CS.ConfigurationSpace, domains: Mapping[str, Parameter], losses: list[str]) -> None:
        self._cs, self._domains, self._losses = cs, domains, losses
        self._places: dict[str, Alternative | None] = {}

    def places(self) -> dict[str, Alternative]:
        """For every parameter, the regions of the parents that open it; empty if it is always active.

        Parameters that are never active have no place.
        """
        return {name: place for name in self._cs if (place := self._place(name)) is not None}

    def _place(self, name: str) -> Alternative | None:
        if name not in self._places:
            conditions = self._cs.parent_conditions_of[name]
            self._places[name] = self._find_place(name, conditions) if conditions else {}
        return self._places[name]

    def _find_place(self, name: str, conditions: Sequence[Any]) -> Alternative | None:
        kept = [self._without_implied(found) for found in self._conjunction(conditions)]
        text = f"parameter {name!r}: its condition {' and '.join(map(str, conditions))}"
        if not kept:
            self._losses.append(f"{text} never holds; it is left out")
            return None
        place = self._union([(parent := self._deepest(found), found[parent]) for found in kept])
        if not self._exclude_each_other(place):
            self._losses.append(f"{text} is lost; it is always active")
            return {}
        if any(len(found) > 1 for found in kept):
            parents = " and ".join(map(repr, place))
            self._losses.append(f"{text} is kept for {parents} alone; it is active more often than in ConfigSpace")
        return place

    def _deepest(self, found: Alternative) -> str:
        """The parent of an alternative that depends on the most others, and so excludes the most."""
        return max(found, key=lambda parent: max(map(len, self._ways(parent, found[parent]))))

    # ------------------------------------------------------------------ the normal form

    def _alternatives(self, condition: Any) -> list[Alternative]:
        if isinstance(condition, CS.AndConjunction):
            return self._conjunction(condition.components)
        if isinstance(condition, CS.OrConjunction):
            return [found for part in condition.components for found in self._alternatives(part)]
        parent = condition.parent.name
        allowed = _region(condition, self._domains[parent])
        return [{parent: allowed}] if allowed and self._place(parent) is not None else []

    def _conjunction(self, conditions: Sequence[Any]) -> list[Alternative]:
        """The alternatives in which all conditions hold at once."""
        joined: list[Alternative] = [{}]
        for condition in conditions:
            joined = [_both(one, other) for one in joined for other in self._alternatives(condition)]
            joined = [found for found in joined if all(found.values())]
        return joined

    def _without_implied(self, found: Alternative) -> Alternative:
        """The same alternative without the parents whose regions follow from another parent being active."""
        kept = dict(found)
        for name in found:
            others = [other for other in kept if other != name]
            if any(self._implies({other: kept[other]}, name, found[name]) for other in others):
                del kept[name]
        return kept

    def _implies(self, place: Alternative, name: str, allowed: Region) -> bool:
        """Whether a parameter is active within a region wherever a place is reached; the root implies nothing."""
        return bool(place) and all(
            is_within(found, allowed) if parent == name else self._implies(self._place(parent) or {}, name, allowed)
            for parent, found in place.items()
        )

    def _union(self, alternatives: Sequence[tuple[str, Region]]) -> Alternative:
        """The union of alternatives with one parent each, without those that another one covers."""
        joined: Alternative = {}
        for parent, found in alternatives:
            joined[parent] = region([*joined.get(parent, ()), *found])
        return {
            parent: found
            for parent, found in joined.items()
            if not any(o != parent and self._implies({parent: found}, o, covered) for o, covered in joined.items())
        }

    def _exclude_each_other(self, place: Alternative) -> bool:
        """Whether at most one parent of a place can be active in its region."""
        ways = [self._ways(parent, found) for parent, found in place.items()]
        return all(
            any(not intersection(one[name], other[name]) for name in one.keys() & other.keys())
            for i, mine in enumerate(ways)
            for others in ways[:i]
            for one in mine
            for other in others
        )

    def _ways(self, parent: str, found: Region) -> list[Alternative]:
        """Every way from the root to a parent in a region, with all regions on it."""
        place = self._place(parent)
        if not place:
            return [{parent: found}]
        return [{**way, parent: found} for above, allowed in place.items() for way in self._ways(above, allowed)]


def _both(one: Alternative, other: Alternative) -> Alternative:
    """The alternative in which both hold."""
    shared = {name: intersection(one[name], other[name]) for name in one.keys() & other.keys()}
    return {**one, **other, **shared}


def _region(condition: Any, domain: Parameter) -> Region:
    """The values of its parent that a condition allows; of a categorical, their positions."""
    if isinstance(domain, Categorical) or domain.step is not None:
        positions = enumerate(domain.values)
        allowed = [i for i, value in positions if condition.satisfied_by_value({condition.parent.name: value})]
        return region((i, i) for i in allowed)
    low, high = domain.low, domain.high
    if isinstance(condition, CS.InCondition):
        return region((value, value) for value in map(plain, condition.values) if low <= value <= high)
    value = type(low)(plain(condition.value))
    intervals = {
        CS.EqualsCondition: [(value, value)],
        CS.NotEqualsCondition: [(low, before(value)), (after(value), high)],
        CS.LessThanCondition: [(low, before(value))],
        CS.GreaterThanCondition: [(after(value), high)],
    }[type(condition)]
    return intersection(region(intervals), ((low, high),))


# ---------------------------------------------------------------------- back


def to_condition(cs: CS.ConfigurationSpace, space: Space, name: str) -> Any:
    """The condition under which a parameter is active; None if it always is."""
    cells: dict[str, set[int]] = {}
    for location in space.conditions[name]:
        if location:
            parent, cell = location[-1]
            cells.setdefault(parent, set()).add(cell)
    parts = [
        part
        for parent, found in cells.items()
        for part in _parts(cs[name], cs[parent], space.variables[parent], sorted(found))
    ]
    return CS.OrConjunction(*parts) if len(parts) > 1 else (parts or [None])[0]


def _parts(child: Any, parent: Any, domain: Parameter | Choice, cells: Sequence[int]) -> list[Any]:
    """The alternative conditions under which a parent is in one of these cells."""
    if isinstance(domain, Choice):
        return [_one_of(child, parent, [domain.labels[cell] for cell in cells])]
    assert not isinstance(domain, Categorical)
    ends = region((int(cell), int(cell)) for cell in cells)
    found = []
    for first, last in ends:
        low, high = domain.cells.first[int(first)], domain.cells.last[int(last)]
        if domain.step is not None:  # an ordinal there
            found.append(_one_of(child, parent, [domain._value(key) for key in range(low, high + 1)]))
        else:
            found.append(_within(child, parent, (domain._value(low), domain._value(high)), (domain.low, domain.high)))
    return found


def _one_of(child: Any, parent: Any, values: list[Any]) -> Any:
    if len(values) == 1:
        return CS.EqualsCondition(child, parent, values[0])
    return CS.InCondition(child, parent, values)


def _within(child: Any, parent: Any, interval: tuple[Any, Any], bounds: tuple[Any, Any]) -> Any:
    """The condition that a number lies in a closed interval within its bounds."""
    (low, high), (least, largest) = interval, bounds
    if low == high:
        return CS.EqualsCondition(child, parent, low)
    above = CS.GreaterThanCondition(child, parent, before(low)) if low > least else None
    below = CS.LessThanCondition(child, parent, after(high)) if high < largest else None
    if above is not None and below is not None:
        return CS.AndConjunction(above, below)
    return above if above is not None else below
