"""Tasks whose values are computed: algorithm selection by cross-validation, and the compression of a network.

All use data that scikit-learn bundles or generates, fixed folds and fixed seeds, so that a configuration always has the
same value. The spaces of `pipeline` and `compress` hold several independent choices in one node.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from addtree import Categorical, Choice, Integer, Real, Space
from addtree._types import Array

Objective: TypeAlias = Callable[[Mapping[str, Any]], float]
Labels: TypeAlias = NDArray[Any]  # classes, or the numbers of a regression

ROWS = 350  # The most rows of a data set; with them one evaluation takes about 50 ms.
FOLDS = 4  # The number of folds of the cross-validation.
TREES = 15  # The number of trees of a forest.
ITERATIONS = 2000  # A support vector machine stops after this many iterations, converged or not.
LOGISTIC_ITERATIONS = 200  # A logistic regression stops after this many iterations, converged or not.
LEAST_PROBABILITY = 1e-6  # Predicted probabilities below this one count as this one, so that the log loss is finite.

_MODELS: dict[str, Space] = {
    "svm": Space(
        svm_C=Real(1e-3, 1e3, log=True),
        kernel=Choice(
            linear=Space(),
            rbf=Space(svm_gamma=Real(1e-5, 10, log=True)),
            poly=Space(svm_gamma=Real(1e-5, 10, log=True), degree=Integer(2, 4)),
        ),
    ),
    "forest": Space(
        forest_features=Real(0.05, 1.0),
        forest_leaf=Integer(1, 30, log=True),
        forest_depth=Integer(1, 20, log=True),
        forest_bootstrap=Categorical((True, False)),
    ),
    "knn": Space(
        neighbors=Integer(1, 60, log=True),
        weights=Categorical(("uniform", "distance")),
        metric=Categorical(("euclidean", "manhattan", "chebyshev")),
    ),
    "linear": Space(
        penalty=Real(1e-4, 1e4, log=True),
    ),
    "boosting": Space(
        rate=Real(1e-2, 1, log=True),
        rounds=Integer(3, 40, log=True),
        boosting_depth=Integer(1, 6),
        subsample=Real(0.2, 1.0),
    ),
    "tree": Space(tree_depth=Integer(1, 12), tree_leaf=Integer(1, 30, log=True)),
    "discriminant": Space(shrinkage=Real(0.0, 1.0)),
    "bayes": Space(smoothing=Real(1e-9, 10, log=True)),
    "lasso": Space(lasso_penalty=Real(1e-4, 10, log=True)),
    "kernel_ridge": Space(ridge_penalty=Real(1e-4, 100, log=True), ridge_gamma=Real(1e-4, 10, log=True)),
}


def _models(*names: str) -> Choice:
    return Choice({name: _MODELS[name] for name in names})


def _model(config: Mapping[str, Any], *, regression: bool) -> Any:
    """The scikit-learn estimator of a configuration."""
    from sklearn import ensemble, kernel_ridge, linear_model, neighbors, svm, tree
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.naive_bayes import GaussianNB

    match config["model"]:
        case "svm":
            rest = {name: config[key] for name, key in (("gamma", "svm_gamma"), ("degree", "degree")) if key in config}
            kind = svm.SVR if regression else svm.SVC
            return kind(C=config["svm_C"], kernel=config["kernel"], max_iter=ITERATIONS, **rest)
        case "forest":
            forest = ensemble.RandomForestRegressor if regression else ensemble.RandomForestClassifier
            return forest(
                n_estimators=TREES,
                max_features=config["forest_features"],
                min_samples_leaf=config["forest_leaf"],
                max_depth=config["forest_depth"],
                bootstrap=config["forest_bootstrap"],
                random_state=0,
            )
        case "knn":
            near = neighbors.KNeighborsRegressor if regression else neighbors.KNeighborsClassifier
            return near(n_neighbors=config["neighbors"], weights=config["weights"], metric=config["metric"])
        case "linear":
            if regression:
                return linear_model.Ridge(alpha=config["penalty"])
            return linear_model.LogisticRegression(C=1 / config["penalty"], max_iter=LOGISTIC_ITERATIONS)
        case "tree":
            grown = tree.DecisionTreeRegressor if regression else tree.DecisionTreeClassifier
            return grown(max_depth=config["tree_depth"], min_samples_leaf=config["tree_leaf"], random_state=0)
        case "discriminant":
            return LinearDiscriminantAnalysis(solver="lsqr", shrinkage=config["shrinkage"])
        case "bayes":
            return GaussianNB(var_smoothing=config["smoothing"])
        case "lasso":
            return linear_model.Lasso(config["lasso_penalty"])
        case "kernel_ridge":
            return kernel_ridge.KernelRidge(config["ridge_penalty"], kernel="rbf", gamma=config["ridge_gamma"])
        case _:
            boosted = ensemble.GradientBoostingRegressor if regression else ensemble.GradientBoostingClassifier
            return boosted(
                learning_rate=config["rate"],
                n_estimators=config["rounds"],
                max_depth=config["boosting_depth"],
                subsample=config["subsample"],
                random_state=0,
            )


_PREPARATIONS: dict[str, Choice] = {
    "scale": Choice(none=Space(), standard=Space(), quantile=Space(quantiles=Integer(5, 100, log=True))),
    "features": Choice(
        all=Space(),
        pca=Space(components=Real(0.05, 1.0), whiten=Categorical((True, False))),
        select=Space(keep=Real(0.05, 1.0), score=Categorical(("f", "mutual"))),
    ),
}


def _preparation(config: Mapping[str, Any], columns: int, *, regression: bool) -> list[Any]:
    """The steps before the model. A space without choices of steps standardises the features."""
    from sklearn import decomposition, feature_selection, preprocessing

    steps: list[Any] = []
    match config.get("scale", "standard"):
        case "standard":
            steps.append(preprocessing.StandardScaler())
        case "quantile":
            steps.append(preprocessing.QuantileTransformer(n_quantiles=config["quantiles"], random_state=0))
    match config.get("features", "all"):
        case "pca":
            count = max(1, round(config["components"] * columns))
            steps.append(decomposition.PCA(count, whiten=config["whiten"], random_state=0))
        case "select":
            count = max(1, round(config["keep"] * columns))
            scores = {
                "f": feature_selection.f_regression if regression else feature_selection.f_classif,
                "mutual": _mutual_regression if regression else _mutual_classif,
            }
            steps.append(feature_selection.SelectKBest(scores[config["score"]], k=count))
    return steps


def _mutual_classif(X: Array, y: Labels) -> Any:
    from sklearn.feature_selection import mutual_info_classif

    return mutual_info_classif(X, y, random_state=0)


def _mutual_regression(X: Array, y: Labels) -> Any:
    from sklearn.feature_selection import mutual_info_regression

    return mutual_info_regression(X, y, random_state=0)


_GENERATED: dict[str, dict[str, Any]] = {
    "moons": {"noise": 0.3},
    "classification": {"n_features": 10, "n_informative": 4, "flip_y": 0.1},
    "gaussian_quantiles": {"n_features": 4, "n_classes": 3},
    "hastie_10_2": {},
    "friedman1": {"noise": 1.0},
    "friedman2": {"noise": 50.0},
    "friedman3": {"noise": 0.1},
    "regression": {"n_features": 40, "n_informative": 8, "noise": 60.0},
    "sparse_uncorrelated": {},
}


@cache
def _data(name: str) -> tuple[Array, Labels]:
    """At most ROWS rows of a bundled or generated data set, shuffled; constant columns are left out."""
    from sklearn import datasets

    if name in _GENERATED:
        X, y = getattr(datasets, f"make_{name}")(n_samples=ROWS, random_state=0, **_GENERATED[name])
    else:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:ROWS]
    X, y = X[rows], y[rows]
    return X[:, X.std(axis=0) > 0], y


def cross_validated(space: Space, data: str, loss: str) -> Objective:
    """Mean loss over fixed folds: `error` (share of wrong labels), `logloss`, or `rmse` in units of the target's sd."""
    regression = loss == "rmse"

    def objective(config: Mapping[str, Any]) -> float:
        from sklearn.metrics import log_loss
        from sklearn.model_selection import KFold, StratifiedKFold
        from sklearn.pipeline import make_pipeline

        X, y = _data(data)
        folds = (KFold if regression else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)
        losses = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a solver that has not converged is part of the task
            for train, test in folds.split(X, y):
                model = make_pipeline(
                    *_preparation(config, X.shape[1], regression=regression), _model(config, regression=regression)
                )
                model.fit(X[train], y[train])
                if loss == "logloss":
                    probabilities = np.clip(model.predict_proba(X[test]), LEAST_PROBABILITY, 1)
                    losses.append(log_loss(y[test], probabilities, labels=np.unique(y)))
                elif loss == "error":
                    losses.append(np.mean(model.predict(X[test]) != y[test]))
                else:
                    losses.append(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2)) / y.std())
        return float(np.mean(losses))

    return objective


def cash(data: str, loss: str, *models: str) -> tuple[Space, Objective]:
    """Choose a model and its hyperparameters together (a strict tree)."""
    space = Space(model=_models(*models))
    return space, cross_validated(space, data, loss)


_CLASSIFIED = ("iris", "wine", "breast_cancer", "digits", *list(_GENERATED)[:4])
_REGRESSED = ("diabetes", *list(_GENERATED)[4:])
# The data sets, losses and models of the family `selection`: all that scikit-learn has and fits in milliseconds.
SELECTIONS: tuple[tuple[str, ...], ...] = (
    *((data, "error", "svm", "knn", "tree", "linear", "discriminant", "bayes") for data in _CLASSIFIED),
    *((data, "logloss", "knn", "tree", "linear", "discriminant", "bayes") for data in _CLASSIFIED),
    *((data, "rmse", "svm", "knn", "tree", "linear", "lasso", "kernel_ridge") for data in _REGRESSED),
)


def pipeline(data: str, loss: str, *models: str) -> tuple[Space, Objective]:
    """Three independent choices: of the scaling, the features and the model."""
    space = Space({**_PREPARATIONS, "model": _models(*models)})
    return space, cross_validated(space, data, loss)


# ---------------------------------------------------------------- compression

LAYERS = (48, 32, 24)  # The hidden layers of the network, whose inputs are 64 pixels and whose outputs are 10 classes.
TRAINING_ROWS = 1200  # The network is trained on this many images of digits; the others give the error rate.
EPOCHS = 60  # The training stops after this many epochs, converged or not.
BITS = 32  # A weight as trained takes this many bits.
INDEX_BITS = 8  # The position of a weight that pruning has kept takes this many bits more.
STORAGE_WEIGHT = 0.5  # Storing the whole network costs as much as this error rate.


@cache
def _network() -> tuple[list[Array], list[Array], Array, Labels]:
    """Weights and biases of a trained network, and the rows it was not trained on."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = rows[:TRAINING_ROWS], rows[TRAINING_ROWS:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the training need not have converged
        network = MLPClassifier(LAYERS, max_iter=EPOCHS, random_state=0).fit(X[train] / 16, y[train])
    return network.coefs_, network.intercepts_, X[test] / 16, y[test]


def _compressed(W: Array, layer: int, config: Mapping[str, Any]) -> tuple[Array, float]:
    """A layer's weights after compression, and the bits that they take."""
    match config[f"method_{layer}"]:
        case "svd":
            rank = config[f"rank_{layer}"]
            U, s, V = np.linalg.svd(W, full_matrices=False)
            return (U[:, :rank] * s[:rank]) @ V[:rank], BITS * rank * sum(W.shape)
        case "prune":
            kept = np.abs(W) >= np.quantile(np.abs(W), 1 - config[f"density_{layer}"])
            return W * kept, (BITS + INDEX_BITS) * float(kept.sum())
        case _:
            levels = 2 ** config[f"bits_{layer}"] - 1
            top = config[f"range_{layer}"] * np.abs(W).max()
            step = 2 * top / levels
            return np.round((np.clip(W, -top, top) + top) / step) * step - top, config[f"bits_{layer}"] * W.size


def compress() -> tuple[Space, Objective]:
    """A compression method for each of four layers (81 paths). Minimise error rate + half the share of storage."""
    sizes = (64, *LAYERS, 10)
    space = Space(
        {
            f"method_{i}": Choice(
                svd=Space({f"rank_{i}": Integer(1, min(sizes[i], sizes[i + 1]), log=True)}),
                prune=Space({f"density_{i}": Real(0.01, 1.0, log=True)}),
                quantise=Space({f"bits_{i}": Integer(1, 10), f"range_{i}": Real(0.1, 1.0)}),
            )
            for i in range(len(sizes) - 1)
        }
    )

    def objective(config: Mapping[str, Any]) -> float:
        weights, biases, X, y = _network()
        stored = 0.0
        for i, (W, b) in enumerate(zip(weights, biases, strict=True)):
            W, bits = _compressed(W, i, config)
            stored += bits
            X = X @ W + b if i == len(weights) - 1 else np.maximum(X @ W + b, 0)
        share = stored / (BITS * sum(W.size for W in weights))
        return float(np.mean(X.argmax(axis=1) != y) + STORAGE_WEIGHT * share)

    return space, objective
