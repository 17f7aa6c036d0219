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

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from addtree.errors import OptionError
from addtree.space.encoding import Encoding
from addtree.space.tree import Location

Kind = Literal["main", "trend", "offset", "interaction", "path"]
KINDS: tuple[Kind, ...] = ("main", "trend", "offset", "interaction", "path")
Gate = tuple[tuple[int, int], ...]

COVARIANCES = ("additive", "additive+interactions", "independent")
ACTIVE = -1  # In a gate, this code means any code: the column only has to be active.
TREND_DEGREES = (1, 2)  # A cubic trend is rare, and the main term models it.
MAX_PATHS = 512  # Independent models are useless on a space with more paths than evaluations.


@dataclass(frozen=True)
class Term:
    """One gated summand.

    gate     pairs (column, code), all of which a row must have
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
        terms.append(Term(", ".join(vertex.names), "main", ((columns[0], ACTIVE),), columns, columns))
    return terms


def _trends(encoding: Encoding) -> list[Term]:
    return [
        Term(f"{encoding.names[j]}^{degree}", "trend", ((j, ACTIVE),), (j,), degree=degree)
        for j in np.flatnonzero(encoding.is_numeric).tolist()
        for degree in TREND_DEGREES
    ]


def _offsets(encoding: Encoding) -> list[Term]:
    choices = np.flatnonzero(encoding.is_choice).tolist()
    return [
        Term(_option_label(encoding, j, o), "offset", ((j, o),), degree=0)
        for j in choices
        for o in range(encoding.n_codes[j])
    ]


def _interactions(encoding: Encoding) -> list[Term]:
    space, terms = encoding.space, []
    own = {node.location: encoding.node_columns[i] for i, node in enumerate(space.nodes)}
    # Not `conditions`: a choice under every option of another is always active, and yet occurs in several nodes.
    places = Counter(name for node in space.nodes for name, _ in node.choices)
    for i, node in enumerate(space.nodes):
        gate = _gate(encoding, node.location, places)
        above = tuple(column for depth in range(len(node.location)) for column in own[node.location[:depth]])
        groups = [(*above, *own[node.location])]
        if len(node.choices) > 1:
            groups.append((*above, *encoding.below[i].tolist()))
        for columns in filter(None, groups):
            label = " × ".join(encoding.names[j] for j in columns)
            label += f" | {_option_label(encoding, *gate[-1])}" if gate else " | everywhere"
            terms.append(Term(label, "interaction", gate, columns, columns, smooth=False))
    return terms


def _gate(encoding: Encoding, location: Location, places: Mapping[str, int]) -> Gate:
    """The gate of a location: its last option, and those before it as long as a choice also occurs elsewhere."""
    pairs: list[tuple[int, int]] = []
    for choice, option in reversed(location):
        pairs.insert(0, (encoding.index[choice], option))
        if places[choice] == 1:
            break
    return tuple(pairs)


def _paths(encoding: Encoding) -> list[Term]:
    if encoding.space.n_paths > MAX_PATHS:
        raise OptionError(
            f"covariance='independent' needs a model per path, and this space has {encoding.space.n_paths} paths "
            f"(at most {MAX_PATHS}); use 'additive' or 'additive+interactions'"
        )
    terms: list[Term] = []
    n_scales = 0
    for row in encoding.paths():
        gate = tuple((int(j), int(row[j])) for j in np.flatnonzero(encoding.is_choice & ~np.isnan(row)))
        columns = tuple(np.flatnonzero(~encoding.is_choice & ~np.isnan(row)).tolist())
        scales = tuple(range(n_scales, n_scales + len(columns)))
        n_scales += len(columns)
        label = ", ".join(_option_label(encoding, j, o) for j, o in gate) or "all"
        terms.append(Term(label, "path", gate, columns, scales, degree=None if columns else 0))
    return terms


def _option_label(encoding: Encoding, column: int, code: int) -> str:
    name = encoding.names[column]
    return f"{name}={encoding.decode_value(name, code)!r}"
