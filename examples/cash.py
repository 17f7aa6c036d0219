"""Choose a classifier and its hyperparameters for scikit-learn's digits: a small CASH problem.

addtree run examples/cash.py --trials 40 --seed 0
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import addtree as at

space = at.Space(
    scale=at.Categorical((True, False)),
    model=at.Choice(
        svm=at.Space(
            C=at.Real(1e-2, 1e3, log=True),
            kernel=at.Choice(
                rbf=at.Space(gamma=at.Real(1e-5, 1e-1, log=True)),
                poly=at.Space(degree=at.Integer(2, 4), coef0=at.Real(0, 1)),
            ),
        ),
        forest=at.Space(trees=at.Integer(10, 100, log=True), max_features=at.Real(0.05, 1)),
        neighbours=at.Space(k=at.Integer(1, 20), weights=at.Categorical(("uniform", "distance"))),
    ),
)

X, y = load_digits(return_X_y=True)


def classifier(config: Mapping[str, Any]) -> Any:
    """The classifier that a configuration describes."""
    match config["model"]:
        case "svm":
            rest = {name: config[name] for name in ("gamma", "degree", "coef0") if name in config}
            return SVC(C=config["C"], kernel=config["kernel"], **rest)
        case "forest":
            return RandomForestClassifier(config["trees"], max_features=config["max_features"], random_state=0)
        case _:
            return KNeighborsClassifier(config["k"], weights=config["weights"])


def objective(config: Mapping[str, Any]) -> float:
    """Error rate by 3-fold cross-validation."""
    model = classifier(config)
    if config["scale"]:
        model = make_pipeline(StandardScaler(), model)
    return float(1 - cross_val_score(model, X, y, cv=3).mean())
