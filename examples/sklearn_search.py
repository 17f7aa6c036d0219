"""Search a scikit-learn pipeline: which scaler, which classifier, and its hyperparameters.

python examples/sklearn_search.py
"""

from __future__ import annotations

import sys

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

import addtree as at
from addtree.sklearn import AddTreeSearchCV

# Estimators are the options of a choice. What depends on one stands in the space that it opens.
space = at.Space(
    scale=at.Categorical((StandardScaler(), MinMaxScaler(), "passthrough")),
    model=at.Choice(
        {
            SVC(): at.Space(
                model__C=at.Real(1e-2, 1e3, log=True),
                model__kernel=at.Choice(
                    rbf=at.Space(model__gamma=at.Real(1e-5, 10, log=True)),
                    poly=at.Space(model__degree=at.Integer(2, 4), model__coef0=at.Real(0, 1)),
                ),
            ),
            KNeighborsClassifier(): at.Space(
                model__n_neighbors=at.Integer(1, 20), model__weights=at.Categorical(("uniform", "distance"))
            ),
            LogisticRegression(max_iter=500): at.Space(model__tol=at.Real(1e-4, 1e-1, log=True)),
        }
    ),
)


def main(n_trials: int = 30, n_samples: int = 600) -> AddTreeSearchCV:
    """Search on a part of the digits, and print what was found."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=n_samples, random_state=0, stratify=y)
    pipeline = Pipeline([("scale", StandardScaler()), ("model", SVC())])
    search = AddTreeSearchCV(pipeline, space, n_trials=n_trials, cv=3, random_state=0)
    search.fit(X_train, y_train)
    print(f"accuracy {search.best_score_:.3f} in cross-validation, {search.score(X_test, y_test):.3f} on other digits")
    print(search.best_params_)
    return search


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
