"""Axes: a parameter or a choice as a list of positions that configurations can be moved to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from addtree._types import Array
from addtree.space.encoding import Encoding
from addtree.space.parameters import Categorical
from addtree.space.space import Choice

_POSITIONS = 25  # A curve is drawn through this many positions of a numeric axis.
_QUADRATURE = 5  # Up to this many positions are a Gauss-Legendre rule: enough to average over, too few to draw.


@dataclass(frozen=True)
class Axis:
    """A parameter or choice, and G positions on it.

    codes    G encoded positions
    weights  G weights of an average over the axis; they add up to 1
    values   the G values that the codes stand for
    log      whether the values are on a logarithmic scale
    """

    name: str
    column: int
    kind: Literal["number", "category", "choice"]
    codes: Array
    weights: Array
    values: tuple[Any, ...]
    log: bool = False

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers on a scale."""
        return self.kind == "number"

    @property
    def positions(self) -> list[Any]:
        """The positions as numbers in a figure; categories are numbered."""
        return list(self.values) if self.is_number else list(range(len(self.values)))

    def position(self, value: Any) -> Any:
        """Where one of the values lies in a figure."""
        if self.is_number:
            return value
        return [repr(v) for v in self.values].index(repr(value))  # by repr, because True == 1


def make_axis(encoding: Encoding, name: str, *, positions: int = _POSITIONS) -> Axis:
    """The axis of a parameter or choice, with at most `positions` positions if it is a number.

    >>> from addtree import Integer, Real, Space
    >>> make_axis(Encoding(Space(k=Integer(1, 3))), "k").values
    (1, 2, 3)
    """
    domain, column = encoding.variables[name], encoding.index[name]
    if isinstance(domain, (Choice, Categorical)):
        kind: Literal["choice", "category"] = "choice" if isinstance(domain, Choice) else "category"
        codes = np.array([encoding.encode_value(name, label) for label in domain.labels])
        return Axis(name, column, kind, codes, _equal_weights(len(codes)), domain.labels)
    if math.isfinite(domain.size):
        if domain.size <= positions:
            values: tuple[Any, ...] = tuple(domain.values)
        else:  # the values nearest to evenly spaced codes
            values = tuple(dict.fromkeys(_values(encoding, name, np.linspace(0.0, 1.0, positions))))
        codes = np.array([encoding.encode_value(name, value) for value in values])
        return Axis(name, column, "number", codes, _equal_weights(len(values)), values, domain.log)
    codes, weights = _quadrature(positions) if positions <= _QUADRATURE else _trapezoid(positions)
    return Axis(name, column, "number", codes, weights, _values(encoding, name, codes), domain.log)


def _equal_weights(size: int) -> Array:
    return np.full(size, 1.0 / size)


def _values(encoding: Encoding, name: str, codes: Array) -> tuple[Any, ...]:
    return tuple(encoding.decode_value(name, code) for code in codes)


def _quadrature(positions: int) -> tuple[Array, Array]:
    """Codes and weights of the Gauss-Legendre rule on the unit interval."""
    nodes, weights = np.polynomial.legendre.leggauss(positions)
    return 0.5 + 0.5 * nodes, 0.5 * weights


def _trapezoid(positions: int) -> tuple[Array, Array]:
    """Codes and weights of the trapezoidal rule on the unit interval."""
    weights = np.full(positions, 1.0 / (positions - 1))
    weights[[0, -1]] /= 2.0
    return np.linspace(0.0, 1.0, positions), weights
