"""A pipeline with three independent choices: the scaling, an optional reduction of the features, and the model.

The space has 18 paths. What is learned about one step counts on all of them.

addtree run examples/pipeline.py --trials 40 --seed 0 --maximize
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

import addtree as at

space = at.Space(
    scale=at.Choice(standard=at.Space(), minmax=at.Space()),
    reduce=at.Choice(
        none=at.Space(),
        pca=at.Space(components=at.Integer(2, 25)),
        select=at.Space(features=at.Integer(2, 25)),
    ),
    model=at.Choice(
        svm=at.Space(C=at.Real(1e-2, 1e3, log=True), gamma=at.Real(1e-4, 1, log=True)),
        logistic=at.Space(strength=at.Real(1e-3, 1e3, log=True)),
        neighbours=at.Space(k=at.Integer(1, 30)),
    ),
)

X, y = load_breast_cancer(return_X_y=True)


def pipeline(config: Mapping[str, Any]) -> Pipeline:
    """The pipeline that a configuration describes."""
    steps: list[tuple[str, Any]] = [("scale", StandardScaler() if config["scale"] == "standard" else MinMaxScaler())]
    match config["reduce"]:
        case "pca":
            steps.append(("reduce", PCA(config["components"], random_state=0)))
        case "select":
            steps.append(("reduce", SelectKBest(f_classif, k=config["features"])))
    match config["model"]:
        case "svm":
            steps.append(("model", SVC(C=config["C"], gamma=config["gamma"])))
        case "logistic":
            steps.append(("model", LogisticRegression(C=config["strength"], max_iter=2000)))
        case _:
            steps.append(("model", KNeighborsClassifier(config["k"])))
    return Pipeline(steps)


def objective(config: Mapping[str, Any]) -> float:
    """Accuracy by 5-fold cross-validation, to be maximised."""
    return float(cross_val_score(pipeline(config), X, y, cv=5).mean())
