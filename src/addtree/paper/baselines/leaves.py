"""A conditional space as the list of its leaves, which is what Jenatton's method works on.

| symbol | meaning | shape |
|---|---|---|
| φ, Φ | path features: a node's indicator, then the shared parameters (those above the leaf), in [0, 1] | F; n x F |
| z, Z | the parameters of a leaf's path, shared ones first, in [0, 1]; a category is one-hot | d_i; n_i x d_i |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from addtree._types import Array, Config, Index
from addtree.errors import AddTreeError
from addtree.space.encoding import Encoding
from addtree.space.parameters import Categorical
from addtree.space.space import Space

MAX_LEAVES = 256  # A space with more leaves is refused, because each leaf has a model and a search of its own.


@dataclass(frozen=True)
class Leaf:
    """One path: the position of the option that each choice takes, the nodes on it, and its parameters.

    `own` are the parameters of the last node that has any, `shared` those of the nodes above it.
    """

    options: dict[str, int]
    nodes: tuple[int, ...]
    own: tuple[str, ...]
    shared: tuple[str, ...]


@dataclass(frozen=True)
class Points:
    """Configurations as the model sees them: leaf numbers (n), path features (n x F), parameters (ragged)."""

    leaf: Index
    Phi: Array
    Z: tuple[Array, ...]


@dataclass(frozen=True)
class Layout:
    """How a space falls into leaves. Choices that share a node are nested in their order, to give a tree."""

    encoding: Encoding
    leaves: tuple[Leaf, ...]
    columns: dict[str, slice]  # of φ, by shared parameter; the first columns are the indicators of the nodes
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
        return cls(Encoding(space), leaves, columns, width)

    @property
    def space(self) -> Space:
        """The space that was laid out."""
        return self.encoding.space

    def encode(self, configs: Sequence[Config]) -> Points:
        """Configurations to points."""
        codes = self.encoding.encode(configs)
        numbers = [self._leaf_number(row) for row in codes]
        Phi = np.zeros((len(configs), self.n_features))
        Z = []
        for features, i, row in zip(Phi, numbers, codes, strict=True):
            leaf = self.leaves[i]
            features[list(leaf.nodes)] = 1
            for name in leaf.shared:
                features[self.columns[name]] = self._features(name, row)
            Z.append(np.concatenate([[], *(self._features(name, row) for name in (*leaf.shared, *leaf.own))]))
        return Points(np.array(numbers, dtype=np.intp), Phi, tuple(Z))

    def _leaf_number(self, row: Array) -> int:
        """The leaf to which a row of codes belongs: the one whose choices all have the leaf's options."""
        index = self.encoding.index
        return next(
            i
            for i, leaf in enumerate(self.leaves)
            if all(row[index[name]] == option for name, option in leaf.options.items())
        )

    def _features(self, name: str, row: Array) -> Array:
        """The columns of one parameter in z: its code, or one-hot for a categorical."""
        domain, code = self.space.variables[name], row[self.encoding.index[name]]
        return np.eye(len(domain.values))[int(code)] if isinstance(domain, Categorical) else np.array([code])

    def decode(self, leaf: Leaf, z: Array) -> dict[str, Any]:
        """A point of the unit cube over (shared, own) as a configuration; a category is its largest column."""
        row = np.full(self.encoding.n_columns, np.nan)
        for name, option in leaf.options.items():
            row[self.encoding.index[name]] = option
        start = 0
        for name in (*leaf.shared, *leaf.own):
            part = z[start : start + _width(self.space, name)]
            is_categorical = isinstance(self.space.variables[name], Categorical)
            row[self.encoding.index[name]] = part.argmax() if is_categorical else part[0]
            start += len(part)
        return self.encoding.decode(row)

    def points(self, i: int, Z: Array) -> Points:
        """Points of leaf i from the unit cube over (shared, own), without rounding."""
        leaf = self.leaves[i]
        Phi = np.zeros((len(Z), self.n_features))
        Phi[:, list(leaf.nodes)] = 1
        start = 0
        for name in leaf.shared:
            width = _width(self.space, name)
            Phi[:, self.columns[name]] = Z[:, start : start + width]
            start += width
        return Points(np.full(len(Z), i), Phi, tuple(Z))

    def dimension(self, leaf: Leaf) -> tuple[int, int]:
        """The number of columns of z for the shared parameters, and for the leaf's own."""
        shared = sum(_width(self.space, name) for name in leaf.shared)
        return shared, sum(_width(self.space, name) for name in leaf.own)


def _width(space: Space, name: str) -> int:
    domain = space.variables[name]
    return len(domain.values) if isinstance(domain, Categorical) else 1


def _leaves(space: Space) -> list[Leaf]:
    """All paths, by opening the choices one after the other, breadth-first along each path."""
    out: list[Leaf] = []
    pending: list[tuple[dict[str, int], list[int]]] = [({}, [0])]
    while pending:
        options, nodes = pending.pop(0)
        open_choices = [choice for i in nodes for choice in space.nodes[i].choices if choice[0] not in options]
        if open_choices:
            name, below = open_choices[0]
            for position, node in enumerate(below):
                pending.append(({**options, name: position}, [*nodes, node]))
            continue
        held = [i for i in nodes if space.nodes[i].parameters]
        own = space.nodes[held[-1]].parameters if held else ()
        shared = tuple(name for i in held[:-1] for name in space.nodes[i].parameters)
        out.append(Leaf(options, tuple(nodes), own, shared))
    return out
