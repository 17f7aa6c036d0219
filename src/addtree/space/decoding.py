"""Rows as rules read them: the values of many codes at once.

The values are exactly those that `Encoding.decode` gives, except for integers beyond 2^53, which floats cannot hold.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from addtree._types import Array, Mask
from addtree.space.choice import Choice
from addtree.space.parameters import Categorical, Integer, Real
from addtree.support.numbers import MAX_EXACT

if TYPE_CHECKING:
    from addtree.space.encoding import Encoding


class DecodedRows:
    """Rows whose columns are decoded when a rule reads them, once each."""

    def __init__(self, encoding: Encoding, X: Array) -> None:
        self._encoding, self._X = encoding, X
        self._values: dict[str, Array] = {}
        self._active: dict[str, Mask | None] = {}

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self._X)

    def values(self, name: str) -> Array:
        """The values of a parameter (n): numbers, or the positions of labels; anything where it is inactive."""
        if name not in self._values:
            column = self._encoding.index.get(name)
            codes = np.zeros(self.n) if column is None else self._X[:, column]  # A constant has no column.
            self._values[name] = decode_column(self._encoding.variables[name], codes)
        return self._values[name]

    def active(self, name: str) -> Mask | None:
        """Where a parameter is active (n); None if it is active everywhere."""
        if name not in self._active:
            encoding, column = self._encoding, self._encoding.index.get(name)
            if encoding.space.conditions[name] == ((),):
                self._active[name] = None
            elif column is not None:
                self._active[name] = ~np.isnan(self._X[:, column])
            else:
                holders = [i for i, node in enumerate(encoding.space.nodes) if name in node.constants]
                self._active[name] = np.any([encoding.inside(self._X, i) for i in holders], axis=0)
        return self._active[name]

    def config(self, i: int) -> dict[str, Any]:
        """The configuration of one row."""
        return self._configs[i]

    @cached_property
    def _configs(self) -> list[dict[str, Any]]:
        """The configurations of all rows, decoded column by column, because that is much faster."""
        found: list[dict[str, Any]] = [{} for _ in range(self.n)]
        for name, domain in self._encoding.variables.items():
            column, active = self._encoding.index.get(name), self.active(name)
            rows = np.arange(self.n) if active is None else np.flatnonzero(active)
            codes = np.zeros(len(rows)) if column is None else self._X[rows, column]
            for i, value in zip(rows.tolist(), decode_list(domain, codes), strict=True):
                found[i][name] = value
        return found


def decode_column(domain: Any, codes: Array) -> Array:
    """The numbers that codes stand for, or the positions of labels; NaN for NaN."""
    if isinstance(domain, Choice):
        return codes
    if isinstance(domain, Categorical):
        return codes if domain.grid is None else domain.grid.positions(codes)
    if isinstance(domain, Integer) and domain.grid is not None:
        return domain.low + float(domain.step or 1) * _in_cells(domain, domain.grid.positions(codes), codes)
    if isinstance(domain, Real) and domain._is_continuous:
        return _in_cells(domain, _real(domain, codes), codes)
    distinct, where = np.unique(codes, return_inverse=True)
    values = [math.nan if math.isnan(code) else domain._decode(code) for code in distinct.tolist()]
    return np.array(values, dtype=float)[where]


def decode_list(domain: Any, codes: Array) -> list[Any]:
    """The values that codes stand for, exactly as single codes have them; no code may be NaN."""
    if isinstance(domain, (Choice, Categorical)):
        labels = domain.labels
        return [labels[int(position)] for position in decode_column(domain, codes).tolist()]
    if isinstance(domain, Integer) and max(abs(domain.low), abs(domain.high)) > MAX_EXACT:
        return [domain._decode(code) for code in codes.tolist()]
    numbers = decode_column(domain, codes).tolist()
    return list(map(int, numbers)) if isinstance(domain, Integer) else numbers


def _real(domain: Real, codes: Array) -> Array:
    """The values of a real without steps, by the formulas of `Real`, so that they agree to the last bit."""
    low, high = domain.low, domain.high
    inner = np.maximum(np.minimum(codes, 1.0), 0.0)  # Other codes could overflow.
    if domain._is_curved:
        ratio = high / low
        values = np.array([low * ratio**code for code in inner.tolist()])  # NumPy may round a power differently.
    else:
        values = low + inner * (high - low)
    return np.where(codes >= 1.0, high, np.minimum(np.maximum(values, low), high))


def _in_cells(domain: Integer | Real, keys: Array, codes: Array) -> Array:
    """Keys, corrected to the cells of their codes; the ends of a cell come out exactly, as in `Cells.clip_key`."""
    if not domain.opens:
        return keys
    cells = domain.cells
    cell = cells.of_codes(np.nan_to_num(codes))
    first, last = (np.array(ends, dtype=float)[cell] for ends in (cells.first, cells.last))
    low, high = (np.array(ends)[cell] for ends in (cells.low, cells.high))
    inner = np.minimum(np.maximum(keys, first), last)
    return np.where(codes == low, first, np.where(codes == high, last, inner))
