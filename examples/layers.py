"""Define-by-run: a network with one to three layers, each with its own width. No space is declared.

python examples/layers.py
"""

from __future__ import annotations

import sys
import warnings

import optuna
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.neural_network import MLPClassifier

from addtree.optuna import AddTreeSampler
from addtree.report import write_page
from addtree.report.study import build_study
from addtree.report.text import explain

X, y = load_digits(return_X_y=True)
X, y = X[:600] / 16, y[:600]


def objective(trial: optuna.Trial) -> float:
    """Error rate of a network. `width_1` exists only with two or more layers, `width_2` only with three."""
    n_layers = trial.suggest_int("n_layers", 1, 3)
    widths = [trial.suggest_int(f"width_{i}", 4, 64, log=True) for i in range(n_layers)]
    rate = trial.suggest_float("rate", 1e-4, 1e-1, log=True)
    network = MLPClassifier(widths, learning_rate_init=rate, max_iter=15, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fifteen passes are too few to converge
        return float(1 - cross_val_score(network, X, y, cv=3).mean())


def main(n_trials: int = 40, output: str | None = "layers.html") -> optuna.Study:
    """Run the study, print what it found, and write the report."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(study_name="layers", sampler=AddTreeSampler(seed=0))
    study.optimize(objective, n_trials=n_trials)
    report = build_study(study)
    print(explain(report))
    if output is not None:
        write_page(output, report)
    return study


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
