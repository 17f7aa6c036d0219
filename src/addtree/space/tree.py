"""The tree of a conditional space: its nodes, when each variable is active, and the ways to traverse it.

    node       one `Space` of the tree: the root, or what one option of a choice opens
    location   the way from the root to a node, as (choice, option position) pairs
    condition  the locations at which a variable is active; they exclude each other
    vertex     a maximal set of parameters with one condition; for a strict tree these are the paper's vertices

There are two traversals. `walk` visits the nodes that one configuration activates, from the root down. `fold` computes
a value for every node from the values of its children, from the leaves up. `Encoding.walk_rows` is the walk of many
configurations at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeAlias, TypeVar

Location: TypeAlias = tuple[tuple[str, int], ...]
Condition: TypeAlias = tuple[Location, ...]
T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True)
class Node:
    """One `Space` of the tree; `choices` pairs a name with the numbers of the nodes its options open."""

    location: Location
    parameters: tuple[str, ...]
    choices: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters and choices of the node."""
        return (*self.parameters, *(name for name, _ in self.choices))


@dataclass(frozen=True)
class Vertex:
    """Parameters that are always active together, and the condition under which they are."""

    names: tuple[str, ...]
    condition: Condition


@dataclass(frozen=True)
class Tree(Generic[D]):
    """The nodes, and the domains of all variables by name, both breadth-first: node 0 is the root."""

    nodes: tuple[Node, ...]
    domains: dict[str, D]

    @classmethod
    def grow(cls, root: Mapping[str, D], opened: Callable[[D], Sequence[Mapping[str, D]] | None]) -> Tree[D]:
        """The tree of nested mappings; `opened(domain)` gives what a choice opens, None for a parameter."""
        found: list[tuple[Location, Mapping[str, D]]] = [((), root)]
        nodes: list[Node] = []
        domains: dict[str, D] = {}
        while len(nodes) < len(found):
            location, children = found[len(nodes)]
            parameters, choices = [], []
            for name, domain in children.items():
                domains.setdefault(name, domain)
                options = opened(domain)
                if options is None:
                    parameters.append(name)
                    continue
                first = len(found)
                found += [((*location, (name, o)), option) for o, option in enumerate(options)]
                choices.append((name, tuple(range(first, len(found)))))
            nodes.append(Node(location, tuple(parameters), tuple(choices)))
        return cls(tuple(nodes), domains)

    def walk(self, option: Callable[[str], int], start: int = 0) -> Iterator[tuple[int, Node]]:
        """The nodes that one configuration activates at and below `start`, parents first.

        `option(choice)` is called for each choice of a node after that node was yielded, so that the caller can decide
        about it there.
        """
        queue = [start]
        for i in queue:
            node = self.nodes[i]
            yield i, node
            for name, children in node.choices:
                queue.append(children[option(name)])

    def fold(self, function: Callable[[int, list[list[T]]], T]) -> list[T]:
        """A value per node, `function(i, below)`; `below` holds the values of its children, per choice and option."""
        values: dict[int, T] = {}
        for i in range(len(self.nodes) - 1, -1, -1):
            below = [[values[child] for child in children] for _, children in self.nodes[i].choices]
            values[i] = function(i, below)
        return [values[i] for i in range(len(self.nodes))]

    @cached_property
    def conditions(self) -> dict[str, Condition]:
        """When each variable is active."""
        locations: dict[str, set[Location]] = {name: set() for name in self.domains}
        options: dict[str, int] = {}
        for node in self.nodes:
            for name in node.names:
                locations[name].add(node.location)
            options |= {name: len(children) for name, children in node.choices}
        return {name: _merge(found, options) for name, found in locations.items()}

    @cached_property
    def vertices(self) -> tuple[Vertex, ...]:
        """The vertices that hold parameters, in order of their first names."""
        choices = {name for node in self.nodes for name, _ in node.choices}
        groups: dict[Condition, list[str]] = {}
        for name in self.domains:
            if name not in choices:
                groups.setdefault(self.conditions[name], []).append(name)
        return tuple(Vertex(tuple(names), condition) for condition, names in groups.items())


def _merge(locations: set[Location], options: Mapping[str, int]) -> Condition:
    """The same condition with all options of a choice replaced by the location of the choice, as often as possible."""
    merged = set(locations)
    for location in sorted(locations, key=len, reverse=True):
        for depth in range(len(location), 0, -1):
            prefix, (choice, _) = location[: depth - 1], location[depth - 1]
            siblings = {(*prefix, (choice, o)) for o in range(options[choice])}
            if not siblings <= merged:
                break
            merged = (merged - siblings) | {prefix}
    return tuple(sorted(merged, key=lambda location: (len(location), location)))
