"""Ray Tune with AddTreeSampler, on unchanged define-by-run code. Two trials run at a time.

pip install 'addtree[ray]' && python examples/ray_tune.py
"""

from __future__ import annotations

import sys
from typing import Any

import optuna
from ray import tune
from ray.tune.search import ConcurrencyLimiter
from ray.tune.search.optuna import OptunaSearch

from addtree.optuna import AddTreeSampler


def space(trial: optuna.Trial) -> None:
    """The parameters of one trial, which Ray Tune asks the sampler for."""
    if trial.suggest_categorical("model", ["svm", "forest"]) == "svm":
        trial.suggest_float("C", 1e-3, 1e3, log=True)
    else:
        trial.suggest_int("depth", 1, 20)


def objective(config: dict[str, Any]) -> dict[str, float]:
    """A substitute for training. The best configuration is the SVM with C = 1."""
    if config["model"] == "svm":
        return {"loss": abs(config["C"] - 1) / (1 + config["C"])}
    return {"loss": 0.5 + abs(config["depth"] - 7) / 20}


def main(n_trials: int = 30) -> Any:
    """Run the trials and return Ray Tune's results."""
    search = OptunaSearch(space, metric="loss", mode="min", sampler=AddTreeSampler(seed=0))
    tuner = tune.Tuner(
        tune.with_resources(objective, {"cpu": 1}),
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", num_samples=n_trials, search_alg=ConcurrencyLimiter(search, max_concurrent=2)
        ),
    )
    return tuner.fit()


if __name__ == "__main__":
    results = main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
    best = results.get_best_result()
    print(f"{len(results)} trials, {results.num_errors} failed")
    print(f"best loss {best.metrics['loss']:.4g} with {best.config}")
