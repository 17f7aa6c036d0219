"""The tree of a conditional space: its nodes, when each variable is active, and the ways to traverse it.

    node       one `Space` of the tree: the root, or what one option of a choice or one interval of a number opens
    location   the way from the root to a node, as pairs of a name and the position of the option or interval
    cell       what the value of a variable decides: the option of a choice, or the part of a number's range in which
               the same intervals are open. A cell of a choice opens one node, a cell of a number any number of them
    condition  when a variable is active, as locations in terms of cells; they exclude each other
    vertex     a maximal set of parameters with one condition; for a strict tree these are the paper's vertices

There are two traversals. `walk` visits the nodes that one configuration activates, from the root down. `fold` computes
a value for every node from the values of its children, from the leaves up. `Encoding.walk_rows` is the walk of many
configurations at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Generic, Literal, TypeAlias, TypeVar

Location: TypeAlias = tuple[tuple[str, int], ...]
Condition: TypeAlias = tuple[Location, ...]
T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True)
class Opening(Generic[D]):
    """What a variable opens.

    kind      "choice" or "number"; a "constant" opens its children always
    children  the contents of the space that each option or interval opens
    cells     per cell, the positions of the children that are open in it
    """

    kind: Literal["choice", "number", "constant"]
    children: Sequence[Mapping[str, D]]
    cells: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Node:
    """One `Space` of the tree.

    parameters  the names of the parameters that vary
    choices     the choices, each with the numbers of the nodes that its options open
    openers     the parameters that open nodes, each with the numbers of the nodes that its intervals open
    constants   the names of the parameters with a single value
    """

    location: Location
    parameters: tuple[str, ...]
    choices: tuple[tuple[str, tuple[int, ...]], ...]
    openers: tuple[tuple[str, tuple[int, ...]], ...] = ()
    constants: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters, constants and choices of the node."""
        return (*self.parameters, *self.constants, *(name for name, _ in self.choices))

    @property
    def branches(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The choices and the openers."""
        return (*self.choices, *self.openers)


@dataclass(frozen=True)
class Vertex:
    """Parameters that are always active together, and the condition under which they are."""

    names: tuple[str, ...]
    condition: Condition


@dataclass(frozen=True)
class Tree(Generic[D]):
    """The nodes, and the domains of all variables by name, both breadth-first: node 0 is the root.

    cells  per choice and opener, the positions of the children that each cell opens
    """

    nodes: tuple[Node, ...]
    domains: dict[str, D]
    cells: dict[str, tuple[tuple[int, ...], ...]]

    @classmethod
    def grow(cls, root: Mapping[str, D], describe: Callable[[D], Opening[D] | None]) -> Tree[D]:
        """The tree of nested mappings; `describe(domain)` says what a variable opens, None if it varies and opens
        nothing.

        A name that occurs several times has the same domain each time, up to the order of its parts. The first one
        counts.
        """
        found: list[tuple[Location, Mapping[str, D]]] = [((), root)]
        nodes: list[Node] = []
        domains: dict[str, D] = {}
        cells: dict[str, tuple[tuple[int, ...], ...]] = {}
        while len(nodes) < len(found):
            location, children = found[len(nodes)]
            parameters: list[str] = []
            constants: list[str] = []
            choices: list[tuple[str, tuple[int, ...]]] = []
            openers: list[tuple[str, tuple[int, ...]]] = []
            items = list(children.items())
            for name, given in items:
                domain = domains.setdefault(name, given)
                opening = describe(domain)
                if opening is not None and opening.kind == "constant":
                    constants.append(name)
                    items += [item for child in opening.children for item in child.items()]
                    continue
                if opening is None or opening.kind == "number":
                    parameters.append(name)
                if opening is not None:
                    first = len(found)
                    found += [((*location, (name, o)), child) for o, child in enumerate(opening.children)]
                    branches = choices if opening.kind == "choice" else openers
                    branches.append((name, tuple(range(first, len(found)))))
                    cells[name] = opening.cells
            nodes.append(Node(location, tuple(parameters), tuple(choices), tuple(openers), tuple(constants)))
        return cls(tuple(nodes), domains, cells)

    def walk(self, cell: Callable[[str], int]) -> Iterator[tuple[int, Node]]:
        """The nodes that one configuration activates, parents first.

        `cell(name)` is called for each choice and opener of a node after that node was yielded, so that the caller can
        decide about it there.
        """
        queue = [0]
        for i in queue:
            node = self.nodes[i]
            yield i, node
            for name, children in node.branches:
                queue += [children[o] for o in self.cells[name][cell(name)]]

    def fold(self, function: Callable[[int, list[list[T]]], T]) -> list[T]:
        """A value per node, `function(i, below)`; `below` holds the values of its children, per branch and position."""
        values: dict[int, T] = {}
        for i in range(len(self.nodes) - 1, -1, -1):
            below = [[values[child] for child in children] for _, children in self.nodes[i].branches]
            values[i] = function(i, below)
        return [values[i] for i in range(len(self.nodes))]

    @cached_property
    def conditions(self) -> dict[str, Condition]:
        """When each variable is active."""
        locations: dict[str, set[Location]] = {name: set() for name in self.domains}
        for node in self.nodes:
            found = set(self.in_cells(node.location))
            for name in node.names:
                locations[name] |= found
        sizes = {name: len(cells) for name, cells in self.cells.items()}
        return {name: _merge(found, sizes) for name, found in locations.items()}

    def in_cells(self, location: Location) -> Iterator[Location]:
        """The locations in terms of cells that a location in terms of options and intervals stands for."""
        steps = [
            [(name, cell) for cell, opened in enumerate(self.cells[name]) if position in opened]
            for name, position in location
        ]
        return product(*steps)

    @cached_property
    def vertices(self) -> tuple[Vertex, ...]:
        """The vertices that hold parameters, in order of their first names."""
        parameters = {name for node in self.nodes for name in node.parameters}
        groups: dict[Condition, list[str]] = {}
        for name in self.domains:
            if name in parameters:
                groups.setdefault(self.conditions[name], []).append(name)
        return tuple(Vertex(tuple(names), condition) for condition, names in groups.items())


def _merge(locations: set[Location], sizes: Mapping[str, int]) -> Condition:
    """The same condition with all cells of a variable replaced by its own location, as often as possible."""
    merged = set(locations)
    for location in sorted(locations, key=len, reverse=True):
        for depth in range(len(location), 0, -1):
            prefix, (name, _) = location[: depth - 1], location[depth - 1]
            siblings = {(*prefix, (name, cell)) for cell in range(sizes[name])}
            if not siblings <= merged:
                break
            merged = (merged - siblings) | {prefix}
    return tuple(sorted(merged, key=lambda location: (len(location), location)))
