"""From a space to the terms of its covariance.

    k(x, x') = sum over terms t of  a_t · [t active in x] · [t active in x'] · κ(x_t, x'_t ; ℓ)

A term is *when* it is active (its gate) and *which* columns it reads. That is the whole family:

    one per vertex, reading its own columns                 the paper's Add-Tree covariance (Def. 3, Alg. 1)
    one per option of a choice, reading nothing             an offset per option
    one per option, reading its own and all columns above   the paper's appendix E: interactions along a path
    one per path, reading all of the path's columns         independent Gaussian processes, the baseline without sharing
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from addtree.encoding import Encoding
from addtree.errors import OptionError

Kind = Literal["main", "offset", "interaction"]
Gate = tuple[tuple[int, int], ...]

COVARIANCES = ("additive", "additive+interactions", "independent")
MAX_PATHS = 512  # independent models are of no use on a space with more paths than evaluations


@dataclass(frozen=True)
class Term:
    """One gated summand.

    gate     pairs (column, code), all of which a row must have; code -1 asks only that the column is active
    columns  the columns κ reads; none makes the term a constant
    scales   per column, the number of the lengthscale that κ uses for it
    """

    label: str
    kind: Kind
    gate: Gate
    columns: tuple[int, ...]
    scales: tuple[int, ...]
    smooth: bool


def check_covariance(covariance: str) -> str:
    """The name of a covariance, or an error that lists them."""
    if covariance not in COVARIANCES:
        raise OptionError(f"covariance={covariance!r} is unknown; use one of {', '.join(map(repr, COVARIANCES))}")
    return covariance


def make_terms(encoding: Encoding, covariance: str) -> tuple[Term, ...]:
    """The terms of a covariance."""
    match check_covariance(covariance):
        case "additive":
            return tuple(_mains(encoding))
        case "additive+interactions":
            return (*_mains(encoding), *_offsets(encoding), *_interactions(encoding))
        case _:
            return tuple(_paths(encoding))


def _mains(encoding: Encoding) -> list[Term]:
    terms = []
    for vertex in encoding.space.vertices:
        columns = tuple(encoding.index[name] for name in vertex.names)
        scales = _column_scales(encoding, columns)
        terms.append(Term(", ".join(vertex.names), "main", ((columns[0], -1),), columns, scales, True))
    return terms


def _offsets(encoding: Encoding) -> list[Term]:
    return [
        Term(_says(encoding, j, o), "offset", ((j, o),), (), (), True)
        for j in np.flatnonzero(encoding.is_choice).tolist()
        for o in range(encoding.n_codes[j])
    ]


ROOT_RESIDUAL = True
JOINT = True


def _interactions(encoding: Encoding) -> list[Term]:
    """One rough term per node: its own columns with all those above, which may act differently there."""
    space, terms = encoding.space, []
    parameters_at = {node.location: node.parameters for node in space.nodes}
    for i, node in enumerate(space.nodes):
        location = node.location
        above = [name for depth in range(len(location)) for name in parameters_at[location[:depth]]]
        shared = any(space.conditions[name] != (location,) for name in node.parameters)
        gate = tuple((encoding.index[choice], option) for choice, option in location)
        if above or shared or (ROOT_RESIDUAL and node.parameters):
            columns = tuple(encoding.index[name] for name in (*above, *node.parameters))
            label = f"{' × '.join((*above, *node.parameters))}" + (f" | {_says(encoding, *gate[-1])}" if gate else "")
            terms.append(Term(label, "interaction", gate, columns, _column_scales(encoding, columns), False))
        if JOINT and len(node.choices) > 1:
            columns = (*(encoding.index[name] for name in above), *encoding.below[i].tolist())
            terms.append(Term("joint", "interaction", gate, columns, columns, False))
    return terms


def _paths(encoding: Encoding) -> list[Term]:
    """One term per path, with lengthscales of its own."""
    if encoding.space.n_paths > MAX_PATHS:
        raise OptionError(
            f"covariance='independent' needs a model per path, and this space has {encoding.space.n_paths} paths (at most "
            f"{MAX_PATHS}); use 'additive' or 'additive+interactions'"
        )
    terms: list[Term] = []
    n_scales = 0
    for row in encoding.paths():
        gate = tuple((int(j), int(row[j])) for j in np.flatnonzero(encoding.is_choice & ~np.isnan(row)))
        columns = tuple(np.flatnonzero(~encoding.is_choice & ~np.isnan(row)).tolist())
        scales = tuple(range(n_scales, n_scales + len(columns)))
        n_scales += len(columns)
        terms.append(
            Term(", ".join(_says(encoding, j, o) for j, o in gate) or "all", "main", gate, columns, scales, True)
        )
    return terms


def _column_scales(encoding: Encoding, columns: tuple[int, ...]) -> tuple[int, ...]:
    return columns


def _says(encoding: Encoding, column: int, code: int) -> str:
    name = encoding.names[column]
    return f"{name}={encoding.space.variables[name].decode(code)!r}"
