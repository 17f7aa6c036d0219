"""Rules on encoded rows: which rows are valid, and how to find valid rows where few are.

symbol  shape   meaning
X       n x D   rows of an `Encoding`
R               the number of rules

Random rows are valid by chance, where rules admit enough of the space. Elsewhere invalid rows are repaired: a parameter
that a violated rule mentions gets another value, if that brings the row closer to satisfying all rules (as in WalkSAT).
The repaired rows of a space are found once, and serve as starting points of random walks among valid rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from addtree._types import Array, Mask
from addtree.errors import SpaceError
from addtree.space.rules import AnyRule

if TYPE_CHECKING:
    from addtree.space.encoding import Encoding


@dataclass(frozen=True)
class FeasibilitySettings:
    """How much work the search for valid rows does. `benchmarks/rules.py` measures what it costs.

    pool          valid rows that are found once per space
    draws         random rows from which the share of valid rows is estimated
    rejected      random rows that a sample may draw and reject, at most
    proposals     changes that are tried for each row in a round of a repair
    rounds        rounds of a repair
    short_rounds  rounds of the repair of candidates
    repaired      candidates that are repaired, at most
    long_rounds   rounds of the repair that looks for the first valid rows
    walk          steps of a random walk among valid rows
    widths        standard deviations of small changes, in units of the unit interval
    gate_weight   how often a repair changes what opens a parameter, relative to the parameter itself
    """

    pool: int = 128
    draws: int = 2048
    rejected: int = 1024
    proposals: int = 4
    rounds: int = 12
    short_rounds: int = 3
    repaired: int = 32
    long_rounds: int = 300
    walk: int = 6
    widths: tuple[float, ...] = (0.3, 0.1, 0.03)
    gate_weight: float = 0.2


class _DecodedRows:
    """Rows as rules read them; each column is decoded once."""

    def __init__(self, encoding: Encoding, X: Array) -> None:
        self._encoding, self._X = encoding, X
        self._values: dict[str, Array] = {}

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self._X)

    def values(self, name: str) -> Array:
        """The values of a parameter: numbers, or positions of labels."""
        if name not in self._values:
            j = self._encoding.index[name]
            self._values[name] = self._encoding.decode_column(j, self._X[:, j])
        return self._values[name]

    def config(self, i: int) -> dict[str, Any]:
        """The configuration of one row."""
        return self._encoding.decode(self._X[i])


class Feasibility:
    """The rules of a space, as a filter of rows and as a sampler of valid ones."""

    def __init__(self, encoding: Encoding, settings: FeasibilitySettings | None = None) -> None:
        self._encoding = encoding
        self._settings = settings or FeasibilitySettings()
        self.rules: tuple[tuple[AnyRule, int], ...] = encoding.space.node_rules
        self._weights = np.array([self._column_weights(rule, node) for rule, node in self.rules])
        self._opens = np.zeros(encoding.n_columns, dtype=bool)
        for opened in encoding.node_choices:
            self._opens[[j for j, _ in opened]] = True

    def _column_weights(self, rule: AnyRule, node: int) -> Array:
        """How often a repair of a rule changes each column (D)."""
        encoding, weights = self._encoding, np.zeros(self._encoding.n_columns)
        nodes = {node, *(i for i, n in enumerate(encoding.space.nodes) if set(n.names) & set(rule.names))}
        for i in nodes:
            gates = [encoding.index[name] for name, _ in encoding.space.nodes[i].location]
            weights[gates] = self._settings.gate_weight
        weights[[encoding.index[name] for name in rule.names]] = 1.0
        return weights

    # ------------------------------------------------------------------ filter

    def valid(self, X: Array) -> Mask:
        """Which rows satisfy all rules (n)."""
        rows, valid = _DecodedRows(self._encoding, X), np.ones(len(X), dtype=bool)
        for rule, node in self.rules:
            holds = rule.holds_rows(rows)
            valid &= holds | ~self._encoding.inside(X, node) if node else holds
        return valid

    def distances(self, X: Array) -> Array:
        """How far rows are from satisfying each rule (n x R); zero where they do."""
        rows = _DecodedRows(self._encoding, X)
        far = [rule.distances(rows) * self._encoding.inside(X, node) for rule, node in self.rules]
        return np.asarray(np.array(far).T.reshape(len(X), len(self.rules)))

    # ------------------------------------------------------------------ repair

    def repair(
        self,
        X: Array,
        rng: np.random.Generator,
        *,
        keep: Sequence[int] = (),
        rounds: int | None = None,
        enough: int | None = None,
    ) -> tuple[Array, Mask]:
        """The same rows with as few changes as it takes to satisfy the rules, and which of them do.

        keep    columns that are not changed
        rounds  changes of one row, at most
        enough  the repair ends when this many rows are valid
        """
        X, far = X.copy(), self.distances(X)
        weights = self._weights.copy()
        weights[:, list(keep)] = 0.0
        for _ in range(self._settings.rounds if rounds is None else rounds):
            bad = np.flatnonzero(far.any(axis=1))
            if not len(bad) or len(X) - len(bad) >= (len(X) if enough is None else enough):
                break
            source = np.repeat(bad, self._settings.proposals)
            tried = self._changed(X[source], self._columns_to_change(X[source], far[source] > 0, weights, rng), rng)
            tried_far = self.distances(tried)
            total = tried_far.sum(axis=1).reshape(len(bad), -1)
            best = np.argmin(total, axis=1)
            rows = np.flatnonzero(total.min(axis=1) <= far[bad].sum(axis=1))
            chosen = rows * self._settings.proposals + best[rows]
            X[bad[rows]], far[bad[rows]] = tried[chosen], tried_far[chosen]
        return X, np.asarray(~far.any(axis=1))

    def _columns_to_change(self, X: Array, violated: Mask, weights: Array, rng: np.random.Generator) -> Mask:
        """For each row, one column or all columns that one violated rule mentions (n x D)."""
        rule = np.argmax(violated * rng.random(violated.shape), axis=1)
        weight = np.where(np.isnan(X), 0.0, weights[rule])
        key = np.where(weight > 0.0, rng.random(X.shape) ** (1.0 / np.maximum(weight, 1e-9)), -1.0)
        one = (key == key.max(axis=1, keepdims=True)) & (weight > 0.0)
        return np.where(rng.random((len(X), 1)) < 0.3, weight >= 1.0, one)

    def _changed(self, X: Array, columns: Mask, rng: np.random.Generator) -> Array:
        """The same rows with other values in some columns: anywhere, or close to the old ones."""
        encoding, fresh = self._encoding, self._encoding.sample_freely(len(X), rng)
        width = rng.choice(self._settings.widths, size=(len(X), 1))
        small = (rng.random((len(X), 1)) < 0.5) & encoding.is_numeric
        near = np.clip(X + width * rng.normal(size=X.shape), 0.0, 1.0)
        changed = np.where(columns & small, near, np.where(columns & ~np.isnan(fresh), fresh, X))
        changed = encoding.snap(changed)
        rows = np.flatnonzero((columns & self._opens).any(axis=1))
        if len(rows):
            changed[rows] = encoding.settled(changed[rows], rng)
        return changed

    # ------------------------------------------------------------------ sampling

    @cached_property
    def pool(self) -> tuple[Array, float]:
        """Valid rows, the same for every use of a space, and the share of random rows that are valid."""
        settings, rng = self._settings, np.random.default_rng(0)
        drawn = self._encoding.sample_freely(settings.draws, rng)
        valid = self.valid(drawn)
        found = drawn[valid][: settings.pool]
        if len(found) < settings.pool:
            rest = drawn[~valid][: settings.pool]
            repaired, good = self.repair(rest, rng, rounds=settings.long_rounds, enough=len(rest) // 2)
            found = np.concatenate([found, repaired[good]])
        if not len(found):
            raise self._conflict()
        return found, float(np.mean(valid))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n valid rows at random: uniform where rules admit enough of the space, else by random walks."""
        pool, share = self.pool
        X = self._encoding.sample_freely(self._n_draws(n, share), rng)
        X = X[self.valid(X)][:n]
        if len(X) < n:
            starts = pool[rng.integers(len(pool), size=n - len(X))]
            X = np.concatenate([X, self.walk(starts, rng)])
        return X

    def _n_draws(self, n: int, share: float) -> int:
        """The number of random rows of which n are probably valid, if that is not too many."""
        wanted = 1.5 * n / max(share, 1e-9) + 8
        return int(wanted) if wanted <= self._settings.rejected else n

    def walk(self, X: Array, rng: np.random.Generator) -> Array:
        """Random walks that start from valid rows and stay among valid ones."""
        for _ in range(self._settings.walk):
            key = np.where(np.isnan(X), -1.0, rng.random(X.shape))
            columns = key == key.max(axis=1, keepdims=True)
            tried = self._changed(X, columns, rng)
            X = np.where(self.valid(tried)[:, None], tried, X)
        return X

    def repaired(self, X: Array, rng: np.random.Generator, *, keep: Sequence[int] = ()) -> Array:
        """The valid rows, and those that a repair makes valid; it is tried for a few of the others."""
        good = self.valid(X)
        bad = np.flatnonzero(~good)[: self._settings.repaired]
        changed, valid = self.repair(X[bad], rng, keep=keep, rounds=self._settings.short_rounds)
        return np.concatenate([X[good], changed[valid]])

    def complete(self, X: Array, rng: np.random.Generator) -> Array:
        """A valid row in place of each given one: the same, or repaired, or else drawn at random."""
        X, good = self.repair(X, rng)
        X[~good] = self.sample(int(np.sum(~good)), rng)
        return X

    def toward(self, start: Array, X: Array, *, refinements: int = 0) -> Array:
        """Row by row, the farthest valid row found on the way from a valid row to another one.

        Both activate the same parameters. Only numbers are followed; other values are those of the start. Each
        refinement locates the boundary more precisely.
        """
        valid = self.valid(X)
        if valid.all():
            return X
        encoding, bad = self._encoding, np.flatnonzero(~valid)
        low, span = np.zeros(len(bad)), 1.0
        move = np.where(encoding.is_numeric & ~np.isnan(start[bad]), X[bad] - start[bad], 0.0)
        parts = np.arange(1, _PARTS + 1) / _PARTS
        found = start[bad].copy()
        for _ in range(1 + refinements):
            t = low[:, None] + span * parts
            tried = encoding.snap((start[bad][:, None, :] + t[:, :, None] * move[:, None, :]).reshape(-1, X.shape[1]))
            good = self.valid(tried).reshape(t.shape)
            last = np.where(good.any(axis=1), _PARTS - 1 - np.argmax(good[:, ::-1], axis=1), -1)
            has = np.flatnonzero(last >= 0)
            found[has] = tried.reshape(*t.shape, -1)[has, last[has]]
            low += span * (last + 1) / _PARTS
            span /= _PARTS
        X = X.copy()
        X[bad] = found
        return X

    def normals(self, X: Array) -> Array:
        """Unit vectors (n x D) along which invalid rows get farther from valid ones; zero where none is known.

        They are differences of the distance from the rules, over the numbers that these mention.
        """
        columns = np.flatnonzero(self._encoding.is_numeric & (self._weights >= 1.0).any(axis=0))
        tried = np.repeat(X[:, None, :], 2 * len(columns), axis=1)
        for k, j in enumerate(columns.tolist()):
            tried[:, 2 * k, j] -= _DIFFERENCE
            tried[:, 2 * k + 1, j] += _DIFFERENCE
        far = self.distances(tried.reshape(-1, X.shape[1])).reshape(len(X), len(columns), 2, -1)
        slope = np.where(np.all(far > 0.0, axis=2), far[:, :, 1] - far[:, :, 0], 0.0).sum(axis=2)
        normal = np.zeros(X.shape)
        normal[:, columns] = slope / np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 1e-300)
        return normal

    # ------------------------------------------------------------------ conflicts

    def _conflict(self) -> SpaceError:
        """The error that names rules for which no valid configuration was found; as few of them as possible."""
        left = list(self.rules)
        for rule in self.rules if len(self.rules) <= _MAX_CONFLICTS else ():
            fewer = [other for other in left if other is not rule]
            if fewer and not self._is_solvable(fewer):
                left = fewer
        named = ", ".join(repr(str(rule)) for rule, _ in left)
        return SpaceError(
            f"no valid configuration was found; {'this rule excludes' if len(left) == 1 else 'these rules exclude'} "
            f"all that were tried: {named}; relax one of them"
        )

    def _is_solvable(self, rules: Sequence[tuple[AnyRule, int]]) -> bool:
        """Whether a short search finds a row that satisfies some of the rules."""
        part = Feasibility(self._encoding, self._settings)
        part.rules = tuple(rules)
        part._weights = np.array([part._column_weights(*rule) for rule in rules])
        rng = np.random.default_rng(0)
        X = self._encoding.sample_freely(self._settings.draws, rng)
        return bool(part.valid(X).any() or part.repair(X[: self._settings.pool], rng, rounds=50)[1].any())


_PARTS = 8  # Points on the way from a valid row to an invalid one that are tested at once.
_DIFFERENCE = 1e-4  # Half the difference of codes from which the normal of a boundary is computed.
_MAX_CONFLICTS = 32  # The smallest set of conflicting rules is looked for among at most this many.
