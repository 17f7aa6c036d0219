"""A conditional space as the list of its leaves, which is what the `tree` baseline works on.

| symbol | meaning | shape |
|---|---|---|
| φ, Φ | path features: a node's indicator, then the shared parameters (those above the leaf), in [0, 1] | F; n x F |
| z, Z | the parameters of a leaf's path, shared ones first, in [0, 1] | d_i; n_i x d_i |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from addtree.errors import AddTreeError
from addtree.space.parameters import Categorical
from addtree.space.space import Choice, Config, Space

Float = NDArray[np.float64]

MAX_LEAVES = 256  # they are listed


@dataclass(frozen=True)
class Leaf:
    """One path: its choices, the nodes on it, its own parameters (the last node's) and the shared ones above."""

    options: dict[str, Any]
    nodes: tuple[int, ...]
    own: tuple[str, ...]
    shared: tuple[str, ...]


@dataclass(frozen=True)
class Points:
    """Configurations as the model sees them: leaf numbers (n), path features (n x F), parameters (ragged)."""

    leaf: NDArray[np.int64]
    Phi: Float
    Z: tuple[Float, ...]


@dataclass(frozen=True)
class Layout:
    """How a space falls into leaves. Several choices in one node are nested in their order: the method wants a tree."""

    space: Space
    leaves: tuple[Leaf, ...]
    columns: dict[str, slice]  # of φ, by shared parameter; the first len(space.nodes) columns are the indicators
    n_features: int

    @classmethod
    def from_space(cls, space: Space) -> Layout:
        """The leaves of a space, listed."""
        if space.n_paths > MAX_LEAVES:
            raise AddTreeError(f"the tree baseline lists its leaves; {space.n_paths} are more than {MAX_LEAVES}")
        leaves = tuple(_leaves(space))
        columns: dict[str, slice] = {}
        width = len(space.nodes)
        for leaf in leaves:
            for name in leaf.shared:
                if name not in columns:
                    columns[name] = slice(width, width + _width(space, name))
                    width = columns[name].stop
        return cls(space, leaves, columns, width)

    def encode(self, configs: Sequence[Config]) -> Points:
        """Values to features."""
        number = {tuple(sorted(leaf.options.items())): i for i, leaf in enumerate(self.leaves)}
        choices = {name for name, domain in self.space.variables.items() if isinstance(domain, Choice)}
        leaf_of = [number[tuple(sorted((k, v) for k, v in c.items() if k in choices))] for c in configs]
        Phi = np.zeros((len(configs), self.n_features))
        Z = []
        for row, i, config in zip(Phi, leaf_of, configs, strict=True):
            leaf = self.leaves[i]
            row[list(leaf.nodes)] = 1
            for name in leaf.shared:
                row[self.columns[name]] = self._codes(name, config)
            Z.append(self.cube(leaf, config))
        return Points(np.array(leaf_of, dtype=np.int64), Phi, tuple(Z))

    def _codes(self, name: str, config: Config) -> Float:
        domain = self.space.variables[name]
        code = domain.encode(config[name])
        return np.eye(len(domain.values))[int(code)] if isinstance(domain, Categorical) else np.array([code])

    def cube(self, leaf: Leaf, config: Config) -> Float:
        """A configuration of the leaf as a point of the unit cube over (shared, own)."""
        return np.concatenate([[], *(self._codes(name, config) for name in (*leaf.shared, *leaf.own))])

    def decode(self, leaf: Leaf, x: Float) -> dict[str, Any]:
        """A point of the cube over (shared, own) of a leaf as a configuration; a category is its largest column."""
        config = dict(leaf.options)
        start = 0
        for name in (*leaf.shared, *leaf.own):
            domain, width = self.space.variables[name], _width(self.space, name)
            part = x[start : start + width]
            config[name] = domain.decode(float(part.argmax()) if isinstance(domain, Categorical) else float(part[0]))
            start += width
        return self.space.validate(config)

    def points(self, i: int, X: Float) -> Points:
        """Points of leaf i straight from the cube over (shared, own), without rounding."""
        leaf = self.leaves[i]
        Phi = np.zeros((len(X), self.n_features))
        Phi[:, list(leaf.nodes)] = 1
        start = 0
        for name in leaf.shared:
            width = _width(self.space, name)
            Phi[:, self.columns[name]] = X[:, start : start + width]
            start += width
        return Points(np.full(len(X), i), Phi, tuple(X))

    def dimension(self, leaf: Leaf) -> tuple[int, int]:
        """Width of the cube of the shared parameters, and of the leaf's own."""
        shared = sum(_width(self.space, name) for name in leaf.shared)
        return shared, sum(_width(self.space, name) for name in leaf.own)


def _width(space: Space, name: str) -> int:
    domain = space.variables[name]
    return len(domain.values) if isinstance(domain, Categorical) else 1


def _leaves(space: Space) -> list[Leaf]:
    """All paths, by opening the choices one after the other, breadth-first along each path."""
    out: list[Leaf] = []
    pending: list[tuple[dict[str, Any], list[int]]] = [({}, [0])]
    while pending:
        options, nodes = pending.pop(0)
        open_choices = [choice for i in nodes for choice in space.nodes[i].choices if choice[0] not in options]
        if open_choices:
            name, below = open_choices[0]
            for position, node in enumerate(below):
                label = space.variables[name].decode(position)
                pending.append(({**options, name: label}, [*nodes, node]))
            continue
        held = [i for i in nodes if space.nodes[i].parameters]
        own = space.nodes[held[-1]].parameters if held else ()
        shared = tuple(name for i in held[:-1] for name in space.nodes[i].parameters)
        out.append(Leaf(options, tuple(nodes), own, shared))
    return out
