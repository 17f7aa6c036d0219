"""BoTorch's `HierarchicalConditionalKernelGP` (SAAS prior) with LogEI, refined branch by branch.

BoTorch gives the model; it has no space and no search over branches, so both are written here as its documentation
implies: one column a variable and place, choices as integers, LogEI scored on valid random configurations, and the best
of each of the most promising branches refined by `optimize_acqf` with the discrete columns fixed.
"""

from __future__ import annotations

import warnings
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
from addtree.space.parameters import Parameter
from benchmarks.peers import Config

INITIAL = 10
CANDIDATES = 512
BRANCHES = 6  # refined in each suggestion


@dataclass(frozen=True)
class Columns:
    """The columns of a node: (name, column, domain), and of each choice its options' columns."""

    own: tuple[tuple[str, int, Parameter | Choice], ...]
    below: dict[str, tuple[Columns, ...]]


class Hierarchical:
    """A few random points first, then the model."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._rng = space, np.random.default_rng(seed)
        self._count = 0
        self._depends: dict[int, dict[int | float, list[int]]] = {}
        self._columns = self._lay_out(space)
        self._configs: list[Config] = []
        self._values: list[float] = []
        torch.manual_seed(seed)

    def _lay_out(self, space: Space) -> Columns:
        """A variable needs one place in the tree here, so one shared by two options gets a column for each."""
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

    def ask(self) -> Config:
        if len(self._values) < INITIAL:
            return self._space.sample(self._rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._space.validate(self._suggest())

    def tell(self, config: Config, value: float) -> None:
        self._configs.append(config)
        self._values.append(value)

    def _suggest(self) -> Config:
        X = torch.tensor(np.array([self._encode(config) for config in self._configs]), dtype=torch.float64)
        Y = torch.tensor(self._values, dtype=torch.float64).unsqueeze(-1)
        model = HierarchicalConditionalKernelGP(X, -Y, self._depends)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = LogExpectedImprovement(model, best_f=(-Y).max())

        configs = [self._space.sample(self._rng) for _ in range(CANDIDATES)]
        codes = torch.tensor(np.array([self._encode(config) for config in configs]), dtype=torch.float64)
        with torch.no_grad():
            scores = acquisition(codes.unsqueeze(-2)).numpy()
        best_config: Config = configs[int(scores.argmax())]
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

    def _refine(self, acquisition: Any, config: Config, code: Any) -> tuple[Config, float]:
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
        refined = self._decode(found[0].numpy(), self._columns)
        again = torch.tensor(self._encode(refined), dtype=torch.float64).reshape(1, -1)  # integers rounded
        with torch.no_grad():
            return refined, float(acquisition(again))

    def _encode(self, config: Config) -> Any:
        out = np.zeros(self._count)  # the kernel does not look at inactive columns
        for name, column, domain in self._active(config, self._columns):
            scale = len(domain.values) - 1 or 1 if isinstance(domain, Categorical) else 1
            out[column] = domain.encode(config[name]) / scale
        return out

    def _active(self, config: Config, columns: Columns) -> Any:
        for name, column, domain in columns.own:
            yield name, column, domain
            if isinstance(domain, Choice):
                yield from self._active(config, columns.below[name][int(domain.encode(config[name]))])

    def _branch(self, config: Config) -> tuple[Any, ...]:
        """The options taken."""
        return tuple(
            config[name] for name, _, domain in self._active(config, self._columns) if isinstance(domain, Choice)
        )

    def _free(self, config: Config) -> set[int]:
        return {c for _, c, d in self._active(config, self._columns) if isinstance(d, Real | Integer)}

    def _decode(self, code: Any, columns: Columns) -> dict[str, Any]:
        config: dict[str, Any] = {}
        for name, column, domain in columns.own:
            scale = len(domain.values) - 1 or 1 if isinstance(domain, Categorical) else 1
            value = code[column] if isinstance(domain, Real | Integer) else round(code[column] * scale)
            config[name] = domain.decode(float(value))
            if isinstance(domain, Choice):
                config.update(self._decode(code, columns.below[name][round(code[column])]))
        return config
