"""Tune an objective whose parameters depend on choices.

python example.py
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import optuna
import optunahub

# The package is loaded from this folder. `optunahub.load_module("samplers/addtree")` would download it.
REGISTRY = Path(__file__).resolve().parents[2]
AddTreeSampler = optunahub.load_local_module("samplers/addtree", registry_root=str(REGISTRY)).AddTreeSampler


def objective(trial: optuna.Trial) -> float:
    """A substitute for training. The best value is 0: a network with 64 units in each of two layers, and lr = 0.001."""
    loss = (math.log10(trial.suggest_float("lr", 1e-5, 1e-1, log=True)) + 3) ** 2 / 10
    if trial.suggest_categorical("model", ["forest", "network"]) == "forest":
        return loss + 0.2 + (trial.suggest_int("depth", 1, 20) - 8) ** 2 / 400
    n_layers = trial.suggest_int("n_layers", 1, 3)
    units = [trial.suggest_int(f"units_{i}", 8, 512, log=True) for i in range(n_layers)]
    return loss + abs(n_layers - 2) / 10 + sum(math.log2(unit / 64) ** 2 for unit in units) / 10


def main(n_trials: int = 40) -> optuna.Study:
    """Run the trials; print the best one, and the tree that the sampler inferred from them."""
    sampler = AddTreeSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=n_trials)
    print(f"best value {study.best_value:.4g} with {study.best_params}")
    print(sampler.space(study))
    return study


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
