"""Choose a classifier for scikit-learn's digits by its error and by the time that its predictions take.

addtree run examples/accuracy_and_speed.py --trials 40 --seed 0

The file declares two objectives and a constraint, and the objective returns a dict with a number for each of them. The
result is a front: no other classifier is both more accurate and faster than one of them. Models that take more than
0.3 MB are not wanted.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping
from typing import Any

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import addtree as at

REPEATS = 5  # The time is the least of this many measurements, because other programs disturb them.

space = at.Space(
    components=at.Integer(4, 64, log=True),
    model=at.Choice(
        svm=at.Space(C=at.Real(1e-1, 1e3, log=True), gamma=at.Real(1e-5, 1e-2, log=True)),
        forest=at.Space(trees=at.Integer(5, 200, log=True), depth=at.Integer(3, 16)),
        neighbours=at.Space(k=at.Integer(1, 20), weights=at.Categorical(("uniform", "distance"))),
        tree=at.Space(leaves=at.Integer(10, 300, log=True)),
    ),
)
objectives = {"error": "min", "milliseconds": "min"}
constraints = {"megabytes": 0.3}

X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), test_size=0.5, random_state=0)


def classifier(config: Mapping[str, Any]) -> Any:
    """The classifier that a configuration describes."""
    match config["model"]:
        case "svm":
            model = SVC(C=config["C"], gamma=config["gamma"])
        case "forest":
            model = RandomForestClassifier(config["trees"], max_depth=config["depth"], random_state=0)
        case "neighbours":
            model = KNeighborsClassifier(config["k"], weights=config["weights"])
        case _:
            model = DecisionTreeClassifier(max_leaf_nodes=config["leaves"], random_state=0)
    return make_pipeline(PCA(config["components"], random_state=0), model)


def objective(config: Mapping[str, Any]) -> dict[str, float]:
    """The share of wrong predictions on other images, the time that these take, and the size of the model."""
    model = classifier(config).fit(X, y)
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        predicted = model.predict(X_test)
        seconds.append(time.perf_counter() - start)
    return {
        "error": float((predicted != y_test).mean()),
        "milliseconds": 1e3 * min(seconds),
        "megabytes": len(pickle.dumps(model)) / 1e6,
    }
