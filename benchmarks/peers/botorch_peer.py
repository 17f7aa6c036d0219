"""BoTorch's `HierarchicalConditionalKernelGP` (SAAS prior) with LogEI, refined branch by branch.

BoTorch has the model, but neither a space nor a search over branches. Both are written here as its documentation
implies: a column for each place of a variable in the tree, choices as integers, LogEI scored on valid random
configurations, and the best configuration of each of the most promising branches refined by `optimize_acqf` with the
discrete columns fixed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition import LogExpectedImprovement
from botorch.models.hierarchical.conditional_kernel_gp import HierarchicalConditionalKernelGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

from addtree import Categorical, Choice, Integer, Real, Space
from addtree._types import Array, Config
from addtree.space.encoding import Encoding
from addtree.space.parameters import Parameter

INITIAL = 10  # The number of random configurations before the first model, which is that of the other peers.
CANDIDATES = 512  # The number of random configurations that LogEI is scored on.
BRANCHES = 6  # The number of branches whose best configuration is refined.


@dataclass(frozen=True)
class Columns:
    """The columns of a node as (name, column, domain), and for each choice the columns of its options."""

    own: tuple[tuple[str, int, Parameter | Choice], ...]
    below: dict[str, tuple[Columns, ...]]


class Hierarchical:
    """A few random configurations, then suggestions of the model."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._rng = space, np.random.default_rng(seed)
        self._encoding = Encoding(space)
        self._count = 0
        self._depends: dict[int, dict[int | float, list[int]]] = {}
        self._columns = self._lay_out(space)
        self._configs: list[Config] = []
        self._values: list[float] = []
        torch.manual_seed(seed)

    def _lay_out(self, space: Space) -> Columns:
        """BoTorch allows a column one place in the tree, so a variable that two options share gets two columns."""
        own = []
        for name, child in space.children.items():
            own.append((name, self._count, child))
            self._count += 1
        below = {}
        for name, column, child in own:
            if isinstance(child, Choice):
                below[name] = tuple(self._lay_out(sub) for sub in child.spaces)
                self._depends[column] = {o: [c for _, c, _ in sub.own] for o, sub in enumerate(below[name])}
        return Columns(tuple(own), below)

    def ask(self) -> dict[str, Any]:
        if len(self._values) < INITIAL:
            return self._space.sample(self._rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._space.validate(self._suggest())

    def tell(self, config: Config, value: float) -> None:
        self._configs.append(config)
        self._values.append(value)

    def _suggest(self) -> dict[str, Any]:
        X = torch.tensor(np.array([self._encode(config) for config in self._configs]), dtype=torch.float64)
        Y = torch.tensor(self._values, dtype=torch.float64).unsqueeze(-1)
        model = HierarchicalConditionalKernelGP(X, -Y, self._depends)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = LogExpectedImprovement(model, best_f=(-Y).max())

        configs = [self._space.sample(self._rng) for _ in range(CANDIDATES)]
        codes = torch.tensor(np.array([self._encode(config) for config in configs]), dtype=torch.float64)
        with torch.no_grad():
            scores = acquisition(codes.unsqueeze(-2)).numpy()
        best_config = configs[int(scores.argmax())]
        best_score = float(scores.max())
        seen: set[Any] = set()
        for i in np.argsort(-scores):
            branch = self._branch(configs[i])
            if branch in seen:
                continue
            seen.add(branch)
            if len(seen) > BRANCHES:
                break
            refined, score = self._refine(acquisition, configs[i], codes[i])
            if score > best_score:
                best_config, best_score = refined, score
        return best_config

    def _refine(self, acquisition: Any, config: dict[str, Any], code: Any) -> tuple[dict[str, Any], float]:
        """Move the numbers of a configuration uphill; returns the configuration reached and its LogEI."""
        free = self._free(config)
        if not free:
            return config, -np.inf
        fixed = {j: float(code[j]) for j in range(self._count) if j not in free}
        bounds = torch.tensor([[0.0] * self._count, [1.0] * self._count], dtype=torch.float64)
        found, _ = optimize_acqf(
            acquisition,
            bounds,
            q=1,
            num_restarts=1,
            fixed_features=fixed,
            batch_initial_conditions=code.reshape(1, 1, -1),
            options={"maxiter": 100},
        )
        refined = self._decode(found[0].numpy())
        rounded = torch.tensor(self._encode(refined), dtype=torch.float64).reshape(1, -1)
        with torch.no_grad():
            return refined, float(acquisition(rounded))

    def _encode(self, config: Config) -> Array:
        """A configuration as a row of all columns in [0, 1], except that a choice is the position of its option."""
        (codes,) = self._encoding.encode([config])
        row = np.zeros(self._count)  # the kernel does not look at inactive columns
        for name, column, domain in self._active(codes, self._columns):
            row[column] = codes[self._encoding.index[name]] / _scale(domain)
        return row

    def _decode(self, row: Array) -> dict[str, Any]:
        """The configuration of a row; integers are rounded."""
        codes = np.full(self._encoding.n_columns, np.nan)
        pending = [self._columns]
        for columns in pending:
            for name, column, domain in columns.own:
                code = row[column] * _scale(domain)
                codes[self._encoding.index[name]] = code if isinstance(domain, Real | Integer) else round(code)
                if isinstance(domain, Choice):
                    pending.append(columns.below[name][round(code)])
        return self._encoding.decode(codes)

    def _active(self, codes: Array, columns: Columns) -> Iterator[tuple[str, int, Parameter | Choice]]:
        """The columns that a configuration, given as a row of the encoding, activates."""
        for name, column, domain in columns.own:
            yield name, column, domain
            if isinstance(domain, Choice):
                yield from self._active(codes, columns.below[name][int(codes[self._encoding.index[name]])])

    def _active_of(self, config: Config) -> list[tuple[str, int, Parameter | Choice]]:
        (codes,) = self._encoding.encode([config])
        return list(self._active(codes, self._columns))

    def _branch(self, config: Config) -> tuple[Any, ...]:
        """The options taken."""
        return tuple(config[name] for name, _, domain in self._active_of(config) if isinstance(domain, Choice))

    def _free(self, config: Config) -> set[int]:
        """The columns of the active numbers."""
        return {column for _, column, domain in self._active_of(config) if isinstance(domain, Real | Integer)}


def _scale(domain: Parameter | Choice) -> int:
    """A categorical's positions are divided by the last of them, so that they lie in [0, 1]."""
    return len(domain.values) - 1 or 1 if isinstance(domain, Categorical) else 1
