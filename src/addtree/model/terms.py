"""From a space to the terms of its covariance.

    k(x, x') = sum over terms t of  a_t · φ_t(x) · φ_t(x') · κ(x_t, x'_t ; ℓ)

A term is defined by its gate, which says when it is active, and by the columns it reads. φ is 0 where it is inactive.
A term is either stationary (φ is 1 where it is active) or linear (κ is 1, and φ is a polynomial of one column):

    main         one per vertex, reads the vertex's columns: the paper's Add-Tree covariance (Def. 3, Alg. 1)
    trend        two per number, its Legendre polynomials of degree 1 and 2: the smooth part of its main effect
    offset       one per option of a choice, degree 0: models options without parameters too
    interaction  one per node, reads its columns and those above: interactions along a path (the paper's appendix E);
                 one more per node with several choices, reads everything below it: interactions across the choices
    path         one per path, reads all of its columns: independent Gaussian processes, the baseline without sharing

A main term has one amplitude for constant, slope and curvature. Trends let these differ, so that a plain parabola needs
neither a large amplitude nor a long lengthscale. Main terms are smooth (squared-exponential). Interactions are rough
(Matérn-5/2), and so also model what is not smooth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from addtree.errors import OptionError
from addtree.space.encoding import Encoding
from addtree.space.forms import opened_spaces
from addtree.space.tree import Node, Tree

Kind = Literal["main", "trend", "offset", "interaction", "path"]
Gate = tuple[tuple[int, float, float], ...]

COVARIANCES = ("additive", "additive+interactions", "independent")
ACTIVE = (-math.inf, math.inf)  # In a gate, these bounds mean any code: the column only has to be active.
TREND_DEGREES = (1, 2)  # A cubic trend is rare, and the main term models it.
MAX_PATHS = 512  # Independent models are useless on a space with more paths than evaluations.


@dataclass(frozen=True)
class Term:
    """One gated summand.

    gate     triples (column, lowest code, highest code), all of which a row must satisfy
    columns  the columns that κ or φ reads
    scales   per column, the number of the lengthscale that κ uses for it; a linear term has none
    smooth   κ is squared-exponential, else Matérn-5/2
    degree   the degree of a linear term's polynomial; None makes the term stationary
    """

    label: str
    kind: Kind
    gate: Gate
    columns: tuple[int, ...] = ()
    scales: tuple[int, ...] = ()
    smooth: bool = True
    degree: int | None = None

    @property
    def reads(self) -> tuple[tuple[int, int], ...]:
        """The columns that κ reads, each with the number of its lengthscale; none for a linear term."""
        return () if self.degree is not None else tuple(zip(self.columns, self.scales, strict=True))


def check_covariance(covariance: str) -> None:
    """Raise an OptionError that lists the covariances if the name is unknown."""
    if covariance not in COVARIANCES:
        raise OptionError(f"covariance={covariance!r} is unknown; use one of {', '.join(map(repr, COVARIANCES))}")


def make_terms(encoding: Encoding, covariance: str) -> tuple[Term, ...]:
    """The terms of a covariance over the columns of a space."""
    check_covariance(covariance)
    if covariance == "additive":
        return tuple(_mains(encoding))
    if covariance == "independent":
        return tuple(_paths(encoding))
    return (*_mains(encoding), *_trends(encoding), *_offsets(encoding), *_interactions(encoding))


def _mains(encoding: Encoding) -> list[Term]:
    terms = []
    for vertex in encoding.space.vertices:
        columns = tuple(encoding.index[name] for name in vertex.names)
        terms.append(Term(", ".join(vertex.names), "main", ((columns[0], *ACTIVE),), columns, columns))
    return terms


def _trends(encoding: Encoding) -> list[Term]:
    return [
        Term(f"{encoding.names[j]}^{degree}", "trend", ((j, *ACTIVE),), (j,), degree=degree)
        for j in np.flatnonzero(encoding.is_numeric).tolist()
        for degree in TREND_DEGREES
    ]


def _offsets(encoding: Encoding) -> list[Term]:
    choices = np.flatnonzero(encoding.is_choice).tolist()
    return [
        Term(_option_label(encoding, j, o), "offset", ((j, float(o), float(o)),), degree=0)
        for j in choices
        for o in range(encoding.n_codes[j])
    ]


def _interactions(encoding: Encoding) -> list[Term]:
    space, terms = encoding.space, []
    own = {node.location: encoding.node_columns[i] for i, node in enumerate(space.nodes)}
    # Counted by nodes: a choice that occurs under every option of another is always active, but is in several nodes.
    places = Counter(name for node in space.nodes for name, _ in node.branches)
    for i, node in enumerate(space.nodes):
        gate, opener = _gate(encoding, i, places), (node.location[-1] if node.location else None)
        above = tuple(column for depth in range(len(node.location)) for column in own[node.location[:depth]])
        groups = [(*above, *own[node.location])]
        if _may_open_several(encoding.space.tree, node):
            groups.append((*above, *encoding.below[i].tolist()))
        if node.location and not node.names and encoding.index[node.location[-1][0]] in encoding.cells:
            continue  # The function need not jump at an interval that opens nothing.
        for columns in filter(None, groups):
            label = " × ".join(encoding.names[j] for j in columns)
            label += f" | {_step_label(encoding, *opener)}" if opener else " | everywhere"
            terms.append(Term(label, "interaction", gate, columns, columns, smooth=False))
    return terms


def _may_open_several(tree: Tree[Any], node: Node) -> bool:
    """Whether one configuration may open several nodes directly below a node."""
    return sum(max(map(len, tree.cells[name])) for name, _ in node.branches) > 1


def _gate(encoding: Encoding, node: int, places: Mapping[str, int]) -> Gate:
    """The gate of a node: its last step, and those before it as long as a variable also occurs elsewhere."""
    kept: list[tuple[int, float, float]] = []
    steps = zip(encoding.space.nodes[node].location, encoding.gates[node], strict=True)
    for (name, _), condition in reversed(list(steps)):
        kept.insert(0, condition)
        if places[name] == 1:
            break
    return tuple(kept)


def _paths(encoding: Encoding) -> list[Term]:
    rows = encoding.paths() if encoding.space.n_paths <= MAX_PATHS else np.empty((0, 0))
    if not 0 < len(rows) <= MAX_PATHS:
        raise OptionError(
            f"covariance='independent' needs a model per path, and this space has {encoding.space.n_paths} paths "
            f"(at most {MAX_PATHS}); use 'additive' or 'additive+interactions'"
        )
    terms: list[Term] = []
    n_scales = 0
    branching = encoding.is_choice | np.isin(np.arange(encoding.n_columns), list(encoding.cells))
    for row in rows:
        gate = tuple(_condition(encoding, j, row[j]) for j in np.flatnonzero(branching & ~np.isnan(row)).tolist())
        columns = tuple(np.flatnonzero(~encoding.is_choice & ~np.isnan(row)).tolist())
        scales = tuple(range(n_scales, n_scales + len(columns)))
        n_scales += len(columns)
        label = ", ".join(_condition_label(encoding, j, row[j]) for j, _, _ in gate) or "all"
        terms.append(Term(label, "path", gate, columns, scales, degree=None if columns else 0))
    return terms


def _condition(encoding: Encoding, column: int, code: float) -> tuple[int, float, float]:
    """The condition that a variable has the option of a code, or a value in the cell of that code."""
    if column not in encoding.cells:
        return column, code, code
    cells = encoding.cells[column]
    cell = int(cells.of_codes(code))
    return column, *cells.code_range(cell, cell)


def _condition_label(encoding: Encoding, column: int, code: float) -> str:
    if column not in encoding.cells:
        return _option_label(encoding, column, code)
    cells, name = encoding.cells[column], encoding.names[column]
    cell = int(cells.of_codes(code))
    low, high = (encoding.decode_value(name, end[cell]) for end in (cells.low, cells.high))
    return f"{name} in {low!r}..{high!r}"


def _option_label(encoding: Encoding, column: int, code: float) -> str:
    name = encoding.names[column]
    return f"{name}={encoding.decode_value(name, code)!r}"


def _step_label(encoding: Encoding, name: str, position: int) -> str:
    domain: Any = encoding.space.variables[name]
    text = opened_spaces(domain)[position][0]
    return f"{name}={text}" if encoding.is_choice[encoding.index[name]] else f"{name} in {text}"
