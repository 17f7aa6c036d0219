"""Rules on encoded rows: which rows are valid, and how to find valid rows where few are.

symbol  shape   meaning
X       n x D   rows of an `Encoding`
R               the number of rules

Random rows are valid by chance, where rules admit enough of the space. Elsewhere invalid rows are changed: a parameter
that a violated rule mentions gets another value, if that brings the row closer to satisfying all rules (as in WalkSAT).
Some valid rows of a space are found once, and serve as starting points of random walks among valid rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from addtree._types import Array, Mask
from addtree.errors import SpaceError
from addtree.space.decoding import DecodedRows
from addtree.space.rules import AnyRule

if TYPE_CHECKING:
    from addtree.space.encoding import Encoding

_DIFFERENCE = 1e-4  # Half the difference of codes from which a normal is computed; a step if there are few values.
_MAX_CONFLICTS = 32  # The smallest set of conflicting rules is looked for among at most this many.


@dataclass(frozen=True)
class FeasibilitySettings:
    """How much work the search for valid rows does. `benchmarks/rules.py` measures what it costs.

    pool          valid rows that are found once per space
    draws         random rows from which the share of valid rows is estimated
    rejected      random rows that a sample may draw and reject, at most
    proposals     changes of each row that are compared in a round
    rounds        rounds of changes to a row of the design
    short_rounds  rounds of changes to a candidate of a search
    long_rounds   rounds of changes in the search for the first valid rows
    changed       rows that `make_valid` changes, at most
    walk          steps of a random walk among valid rows
    widths        standard deviations of small changes, in units of the unit interval
    all_share     share of changes that concern all parameters that a rule mentions
    gate_weight   how often a change concerns what opens a parameter, relative to the parameter itself
    """

    pool: int = 128
    draws: int = 2048
    rejected: int = 1024
    proposals: int = 4
    rounds: int = 30
    short_rounds: int = 3
    long_rounds: int = 300
    changed: int = 32
    walk: int = 4
    widths: tuple[float, ...] = (0.3, 0.1, 0.03, 0.01)
    all_share: float = 0.3
    gate_weight: float = 0.2


class Feasibility:
    """The rules of a space, as a filter of rows and as a sampler of valid ones. Without rules, every row is valid."""

    def __init__(
        self,
        encoding: Encoding,
        rules: Sequence[tuple[AnyRule, int]],
        settings: FeasibilitySettings | None = None,
    ) -> None:
        self._encoding, self._settings = encoding, settings or FeasibilitySettings()
        self.rules = tuple(rules)  # Each with the number of the node at which it applies.
        self._opens = encoding.is_choice.copy()
        self._opens[list(encoding.cells)] = True

    @cached_property
    def _weights(self) -> Array:
        """How often a repair of each rule changes each column (R x D)."""
        encoding = self._encoding
        weights = np.zeros((len(self.rules), encoding.n_columns))
        for row, (rule, node) in zip(weights, self.rules, strict=True):
            holders = (i for i, n in enumerate(encoding.space.nodes) if not set(rule.names).isdisjoint(n.names))
            for i in (node, *holders):
                row[[j for j, _, _ in encoding.gates[i]]] = self._settings.gate_weight
            row[[encoding.index[name] for name in rule.names if name in encoding.index]] = 1.0
        return weights

    # ------------------------------------------------------------------ filter

    def valid(self, X: Array) -> Mask:
        """Which rows satisfy all rules (n)."""
        rows, valid = DecodedRows(self._encoding, X), np.ones(len(X), dtype=bool)
        for rule, node in self.rules:
            holds = rule.holds_rows(rows)
            valid &= holds | ~self._encoding.inside(X, node) if node else holds
        return valid

    def filter(self, X: Array) -> Array:
        """The rows that satisfy all rules."""
        return X[self.valid(X)] if self.rules else X

    def distances(self, X: Array) -> Array:
        """How far rows are from satisfying each rule (n x R); zero where they do."""
        rows = DecodedRows(self._encoding, X)
        far = [rule.distances(rows) * self._encoding.inside(X, node) for rule, node in self.rules]
        return np.asarray(np.array(far).reshape(len(self.rules), len(X)).T)

    # ------------------------------------------------------------------ changes

    def change(
        self, X: Array, rng: np.random.Generator, *, rounds: int, keep: Sequence[int] = (), enough: int | None = None
    ) -> tuple[Array, Mask]:
        """The same rows with some values changed so that the rules hold, and whether they do (n).

        rounds  changes of one row, at most
        keep    columns that are not changed
        enough  the changes end when this many rows are valid
        """
        X, far = X.copy(), self.distances(X)
        weights, k = self._weights.copy(), self._settings.proposals
        weights[:, list(keep)] = 0.0
        for _ in range(rounds):
            bad = np.flatnonzero(far.any(axis=1))
            if not len(bad) or len(X) - len(bad) >= (len(X) if enough is None else enough):
                break
            source = np.repeat(bad, k)
            tried = self._redrawn(X[source], self._columns(X[source], far[source] > 0.0, weights, rng), rng)
            tried_far = self.distances(tried)
            total = tried_far.sum(axis=1).reshape(-1, k)
            better = np.flatnonzero(total.min(axis=1) <= far[bad].sum(axis=1))
            chosen = better * k + np.argmin(total[better], axis=1)
            X[bad[better]], far[bad[better]] = tried[chosen], tried_far[chosen]
        return X, np.asarray(~far.any(axis=1))

    def _columns(self, X: Array, violated: Mask, weights: Array, rng: np.random.Generator) -> Mask:
        """The columns to change (n x D): one or all that a violated rule mentions."""
        rule = np.argmax(violated * rng.random(violated.shape), axis=1)
        weight = np.where(np.isnan(X), 0.0, weights[rule])
        key = np.where(weight > 0.0, rng.random(X.shape) ** (1.0 / np.maximum(weight, 1e-9)), -1.0)
        one = (key == key.max(axis=1, keepdims=True, initial=-1.0)) & (weight > 0.0)
        return np.asarray(np.where(rng.random((len(X), 1)) < self._settings.all_share, weight == 1.0, one))

    def _redrawn(self, X: Array, columns: Mask, rng: np.random.Generator) -> Array:
        """The same rows with other values in some columns: anywhere, or close to the old ones."""
        encoding = self._encoding
        fresh = encoding.sample_freely(len(X), rng)
        width = rng.choice(self._settings.widths, size=(len(X), 1))
        small = rng.random((len(X), 1)) < 0.5
        close = 1.0 - np.abs(1.0 - np.abs(X + width * rng.normal(size=X.shape)))  # reflected at both ends
        X = np.where(columns & encoding.is_numeric & small, close, np.where(columns & ~np.isnan(fresh), fresh, X))
        X = encoding.snap(X)
        rows = np.flatnonzero((columns & self._opens).any(axis=1))
        if len(rows):
            X[rows] = encoding.repair(X[rows], rng)
        return X

    def make_valid(
        self, X: Array, rng: np.random.Generator, *, keep: Sequence[int] = (), rounds: int | None = None
    ) -> Array:
        """The valid rows, and some of the others with changes that make them valid; `keep` and `rounds` as above."""
        if not self.rules:
            return X
        valid = self.valid(X)
        bad = np.flatnonzero(~valid)[: self._settings.changed]
        rounds = self._settings.short_rounds if rounds is None else rounds
        changed, good = self.change(X[bad], rng, rounds=rounds, keep=keep)
        return np.concatenate([X[valid], changed[good]])

    def complete(self, X: Array, rng: np.random.Generator) -> Array:
        """A valid row in place of each given one: the same, or with changes, or else drawn at random.

        The options and numbers that open parameters are changed only if no other changes help.
        """
        if not self.rules:
            return X
        X, good = self.change(X, rng, rounds=self._settings.rounds, keep=np.flatnonzero(self._opens).tolist())
        bad = np.flatnonzero(~good)
        X[bad], good = self.change(X[bad], rng, rounds=self._settings.rounds)
        X[bad[~good]] = self.sample(int(np.sum(~good)), rng)
        return X

    # ------------------------------------------------------------------ sampling

    @cached_property
    def pool(self) -> tuple[Array, float]:
        """Valid rows, the same at every use of a space, and the share of random rows that are valid."""
        settings, rng = self._settings, np.random.default_rng(0)
        drawn = self._encoding.sample_freely(settings.draws, rng)
        valid = self.valid(drawn)
        found = drawn[valid][: settings.pool]
        if len(found) < settings.pool:
            rest = drawn[~valid][: settings.pool]
            changed, good = self.change(rest, rng, rounds=settings.long_rounds, enough=len(rest) // 2)
            found = np.concatenate([found, changed[good]])
        if not len(found) and self._encoding.is_enumerable:
            found = self._encoding.enumerate()[: settings.pool]
        if not len(found):
            raise self._conflict()
        return found, float(np.mean(valid))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n valid rows at random: uniform where rules admit enough of the space, else by random walks."""
        if not self.rules:
            return self._encoding.sample_freely(n, rng)
        pool, share = self.pool
        draws = 1.5 * n / max(share, 1e-9) + 8  # Of this many rows, n are probably valid.
        X = self._encoding.sample_freely(int(draws) if draws <= self._settings.rejected else 0, rng)
        X = self.filter(X)[:n]
        if len(X) < n:
            X = np.concatenate([X, self._walk(pool[rng.integers(len(pool), size=n - len(X))], rng)])
        return X

    def _walk(self, X: Array, rng: np.random.Generator) -> Array:
        """The ends of random walks that start from valid rows and stay among valid ones."""
        for _ in range(self._settings.walk):
            key = np.where(np.isnan(X), -1.0, rng.random(X.shape))
            tried = self._redrawn(X, key == key.max(axis=1, keepdims=True, initial=-1.0), rng)
            X = np.where(self.valid(tried)[:, None], tried, X)
        return X

    # ------------------------------------------------------------------ boundaries

    def toward(self, start: Array, X: Array, *, parts: int = 8, refinements: int = 0) -> Array:
        """Row by row, the farthest valid row found on the way from a valid row to another one.

        Only numbers are followed, and only if both rows activate the same parameters; else the start is returned.

        parts        points on the way that are tested at once
        refinements  further tests; each locates the boundary more precisely by a factor of `parts`
        """
        bad = np.flatnonzero(~self.valid(X)) if self.rules else ()
        if not len(bad):
            return X
        encoding, base = self._encoding, start[bad]
        move = np.where(encoding.is_numeric & ~np.isnan(base), X[bad] - base, 0.0)
        move[(np.isnan(base) != np.isnan(X[bad])).any(axis=1)] = 0.0
        for j, cells in encoding.cells.items():
            other = cells.of_codes(np.nan_to_num(base[:, j])) != cells.of_codes(np.nan_to_num(X[bad, j]))
            move[other, j] = 0.0
        low, width, found = np.zeros(len(bad)), 1.0, base.copy()
        for _ in range(1 + refinements):
            t = low[:, None] + width * np.arange(1, parts + 1) / parts
            tried = encoding.snap((base[:, None, :] + t[:, :, None] * move[:, None, :]).reshape(-1, X.shape[1]))
            good = self.valid(tried).reshape(t.shape)
            last = np.where(good.any(axis=1), parts - 1 - np.argmax(good[:, ::-1], axis=1), -1)
            has = np.flatnonzero(last >= 0)
            found[has] = tried.reshape(*t.shape, -1)[has, last[has]]
            low += width * (last + 1) / parts
            width /= parts
        X = X.copy()
        X[bad] = found
        return X

    def normals(self, X: Array) -> Array:
        """Unit vectors (n x D) along which invalid rows get farther from valid ones; zero where none is known.

        They are differences of the distance from the rules, over the numbers that these mention.
        """
        columns = np.flatnonzero(self._encoding.is_numeric & (self._weights == 1.0).any(axis=0))
        step = np.array([max(_DIFFERENCE, 1.0 / (self._encoding.size(j) - 1.0)) for j in columns.tolist()])
        tried = np.repeat(X[:, None, :], 2 * len(columns), axis=1)
        for k, j in enumerate(columns.tolist()):
            tried[:, 2 * k, j] -= step[k]
            tried[:, 2 * k + 1, j] += step[k]
        far = self.distances(tried.reshape(-1, X.shape[1])).reshape(len(X), len(columns), 2, len(self.rules))
        slope = np.where(np.all(far > 0.0, axis=2), far[:, :, 1] - far[:, :, 0], 0.0).sum(axis=2) / step
        normal = np.zeros(X.shape)
        normal[:, columns] = slope / np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 1e-300)
        return normal

    # ------------------------------------------------------------------ conflicts

    def _conflict(self) -> SpaceError:
        """The error that names rules for which no valid configuration was found; as few of them as possible."""
        left = self.rules
        for rule in self.rules if len(self.rules) <= _MAX_CONFLICTS else ():
            fewer = tuple(other for other in left if other is not rule)
            if fewer and not Feasibility(self._encoding, fewer, self._settings)._is_solvable():
                left = fewer
        which, remedy = "these rules together exclude", "relax one of them"
        if len(left) == 1:
            which, remedy = "this rule excludes", "relax it"
        named = ", ".join(repr(str(rule)) for rule, _ in left)
        return SpaceError(f"no valid configuration was found: {which} all that were tried: {named}; {remedy}")

    def _is_solvable(self) -> bool:
        """Whether a short search finds a valid row."""
        rng = np.random.default_rng(0)
        X = self._encoding.sample_freely(self._settings.draws, rng)
        few = X[: self._settings.changed]
        rounds = self._settings.long_rounds
        return bool(self.valid(X).any()) or bool(self.change(few, rng, rounds=rounds, enough=1)[1].any())
