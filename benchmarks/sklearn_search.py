"""Does AddTreeSearchCV find better hyperparameters than scikit-learn's searches? python -m benchmarks.sklearn_search

A pipeline of a scaler and one of four classifiers, each with its own hyperparameters, on three data sets. Every search
gets 60 configurations times 5 folds, that is 300 fits; successive halving gets at least as many fits, most of them on a
part of the data. All searches of a seed see the same training data and folds. Two accuracies are compared: the mean
over the folds of the configuration that a search returns, and that of the refitted pipeline on held-out data. The test
is Wilcoxon's signed-rank test over all data sets and seeds, two-sided. Finished searches are kept in a file and not
repeated; remove it after a change of addtree.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
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

from addtree.sklearn import AddTreeSearchCV
from addtree.support.processes import worker_pool

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
        "model__n_neighbors": randint(1, 16),
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


@dataclass(frozen=True)
class Case:
    """One search: a data set, a seed and a method."""

    data: str
    seed: int
    method: str


def run(case: Case) -> Outcome:
    """The outcome of one search."""
    X, y = DATA[case.data](return_X_y=True)
    size = min(MAX_TRAINING, 2 * len(X) // 3)
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=size, random_state=case.seed, stratify=y)
    cv = StratifiedKFold(N_FOLDS, shuffle=True, random_state=case.seed)
    search = make_search(case.method, cv, case.seed, len(X_train), len(np.unique(y)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        search.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        folds = float(np.mean(cross_val_score(search.best_estimator_, X_train, y_train, cv=cv)))
    return Outcome(folds, float(search.score(X_test, y_test)), len(search.cv_results_["params"]) * N_FOLDS, seconds)


def read(path: Path) -> dict[Case, Outcome]:
    """The outcomes in a file of JSON lines; none if there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {Case(**row["case"]): Outcome(**row["outcome"]) for row in map(json.loads, lines)}


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
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results/sklearn_search.jsonl"))
    args = parser.parse_args()
    cases = [Case(data, seed, method) for seed in range(args.seeds) for data in args.data for method in args.methods]
    args.results.parent.mkdir(parents=True, exist_ok=True)
    outcomes = read(args.results)
    missing = [case for case in cases if case not in outcomes]
    with worker_pool(args.jobs) as pool, args.results.open("a", encoding="utf-8") as file:
        for case, outcome in zip(missing, pool.map(run, missing), strict=True):
            outcomes[case] = outcome
            file.write(json.dumps({"case": asdict(case), "outcome": asdict(outcome)}) + "\n")
            file.flush()
            print(f"{case.data} seed {case.seed} {case.method}: {outcome.folds:.4f} {outcome.held_out:.4f}", flush=True)
    if args.methods == list(METHODS):
        rows = {data: paired(outcomes, data, args.seeds) for data in args.data}
        for data in args.data:
            print(table(data, rows[data]))
        print(table("all", list(chain(*rows.values()))))


def paired(outcomes: Mapping[Case, Outcome], data: str, seeds: int) -> list[dict[str, Outcome]]:
    """The outcomes of all methods on a data set, one dict per seed."""
    return [{method: outcomes[Case(data, seed, method)] for method in METHODS} for seed in range(seeds)]


if __name__ == "__main__":
    main()
