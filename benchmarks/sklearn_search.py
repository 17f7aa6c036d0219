"""Does AddTreeSearchCV find better hyperparameters than scikit-learn's own searches? python -m benchmarks.sklearn_search

A pipeline of a scaler and one of four classifiers, each with its own hyperparameters, on three data sets. Every search
gets 60 configurations times 5 folds, that is 300 fits; successive halving gets at least as many fits, most of them on a
part of the data. All searches of a seed see the same training data and folds. Two accuracies are compared: the mean
over the folds of the configuration that a search returns, and that of the refitted pipeline on held-out data. The test
is Wilcoxon's signed-rank test over all data sets and seeds, two-sided.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint, uniform, wilcoxon
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from addtree._processes import worker_pool
from addtree.sklearn import AddTreeSearchCV

DATA = {"digits": datasets.load_digits, "wine": datasets.load_wine, "cancer": datasets.load_breast_cancer}
MAX_TRAINING = 300  # Rows used for training, at most two thirds of the data; the others are held out.
N_TRIALS = 60
N_FOLDS = 5
FACTOR = 3  # Successive halving keeps one candidate of this many; it is scikit-learn's default.

_SCALERS: dict[str, Any] = {"scale": [StandardScaler(), MinMaxScaler(), "passthrough"]}
SPACE: list[dict[str, Any]] = [
    {
        **_SCALERS,
        "model": [SVC()],
        "model__C": loguniform(1e-2, 1e3),
        "model__gamma": loguniform(1e-5, 10),
    },
    {
        **_SCALERS,
        "model": [RandomForestClassifier(random_state=0)],
        "model__n_estimators": randint(5, 31),
        "model__max_features": uniform(0.05, 0.95),
        "model__min_samples_leaf": randint(1, 11),
    },
    {
        **_SCALERS,
        "model": [LogisticRegression(max_iter=200)],
        "model__C": loguniform(1e-4, 1e3),
    },
    {
        **_SCALERS,
        "model": [KNeighborsClassifier()],
        "model__n_neighbors": randint(1, 31),
        "model__weights": ["uniform", "distance"],
        "model__p": uniform(1, 2),
    },
]
PEERS = ("RandomizedSearchCV", "HalvingRandomSearchCV")
METHODS = ("AddTreeSearchCV", *PEERS)


@dataclass(frozen=True)
class Outcome:
    """What one search found: accuracy over the folds, accuracy on held-out data, number of fits, seconds."""

    folds: float
    held_out: float
    fits: int
    seconds: float


def make_search(method: str, cv: StratifiedKFold, seed: int, n_samples: int, n_classes: int) -> Any:
    """A search of the given class with the budget of this comparison."""
    pipeline = Pipeline([("scale", StandardScaler()), ("model", SVC())])
    if method == "AddTreeSearchCV":
        return AddTreeSearchCV(pipeline, SPACE, n_trials=N_TRIALS, cv=cv, random_state=seed)
    if method == "RandomizedSearchCV":
        return RandomizedSearchCV(pipeline, SPACE, n_iter=N_TRIALS, cv=cv, random_state=seed)
    candidates = halving_candidates(n_samples, least=2 * N_FOLDS * n_classes)
    return HalvingRandomSearchCV(
        pipeline, SPACE, n_candidates=candidates, factor=FACTOR, cv=cv, random_state=seed, min_resources="exhaust"
    )


def halving_candidates(n_samples: int, least: int) -> int:
    """The least number of candidates with which successive halving evaluates N_TRIALS or more.

    least  the number of samples with which scikit-learn begins at least
    """
    for n in range(1, N_TRIALS + 1):
        required = 1 + int(np.log(n) / np.log(FACTOR) + 1e-9)
        first = max(least, n_samples // FACTOR ** (required - 1))
        possible = 1 + int(np.log(n_samples // first) / np.log(FACTOR) + 1e-9)
        sizes = [n]
        while len(sizes) < min(required, possible):
            sizes.append(-(-sizes[-1] // FACTOR))
        if sum(sizes) >= N_TRIALS:
            return n
    return N_TRIALS


def compare(case: tuple[str, int]) -> dict[str, Outcome]:
    """The outcome of every search on one data set with one seed."""
    name, seed = case
    X, y = DATA[name](return_X_y=True)
    size = min(MAX_TRAINING, 2 * len(X) // 3)
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=size, random_state=seed, stratify=y)
    cv = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    outcomes = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for method in METHODS:
            search = make_search(method, cv, seed, len(X_train), len(np.unique(y)))
            start = time.perf_counter()
            search.fit(X_train, y_train)
            seconds = time.perf_counter() - start
            folds = float(np.mean(cross_val_score(search.best_estimator_, X_train, y_train, cv=cv)))
            fits = len(search.cv_results_["params"]) * N_FOLDS
            outcomes[method] = Outcome(folds, float(search.score(X_test, y_test)), fits, seconds)
    return outcomes


def table(name: str, rows: Sequence[Mapping[str, Outcome]]) -> str:
    """Mean outcomes of the searches, and the tests against the peers."""
    lines = [f"{name}, {len(rows)} runs                 folds  held out    fits  seconds"]
    for method in METHODS:
        mean = np.mean([[o.folds, o.held_out, o.fits, o.seconds] for o in (row[method] for row in rows)], axis=0)
        lines.append(f"  {method:24} {mean[0]:8.4f}  {mean[1]:8.4f}  {mean[2]:6.0f}  {mean[3]:7.1f}")
    for peer in PEERS:
        for kind in ("folds", "held_out"):
            gain = np.array([getattr(row[METHODS[0]], kind) - getattr(row[peer], kind) for row in rows])
            gain = np.round(gain, 12)  # Equal accuracies may differ by rounding.
            p = wilcoxon(gain).pvalue if np.any(gain) else 1.0
            counts = f"{np.sum(gain > 0)} better, {np.sum(gain == 0)} equal, {np.sum(gain < 0)} worse"
            lines.append(f"  against {peer:22} {kind:9} {gain.mean():+.4f}  {counts}, p = {p:.2g}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    cases = [(name, seed) for seed in range(args.seeds) for name in args.data]
    rows: dict[tuple[str, int], dict[str, Outcome]] = {}
    with worker_pool(args.jobs) as pool:
        for case, outcomes in zip(cases, pool.map(compare, cases), strict=True):
            rows[case] = outcomes
            scores = ", ".join(f"{method} {o.folds:.4f} {o.held_out:.4f}" for method, o in outcomes.items())
            print(f"{case[0]} seed {case[1]}: {scores}", flush=True)
    for name in args.data:
        print(table(name, [row for case, row in rows.items() if case[0] == name]))
    print(table("all", list(rows.values())))


if __name__ == "__main__":
    main()
