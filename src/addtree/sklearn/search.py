"""`AddTreeSearchCV`: Bayesian optimization as a search of scikit-learn."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state

from addtree._types import Array
from addtree.errors import OptionError
from addtree.optimizer import Optimizer
from addtree.sklearn.spaces import read_space
from addtree.space.space import Space
from addtree.support.numbers import is_whole
from addtree.trials import Trial

_ALL_FAILED = "fits failed"  # Part of the error of BaseSearchCV if every fit of a batch fails.
_ENOUGH = 10  # The number of configurations from which the differences between folds are estimated.


class AddTreeSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search for the hyperparameters of an estimator by cross-validation, with a model that follows their conditions.

    It takes the place of `RandomizedSearchCV`: same methods, same attributes.

    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import Pipeline
    >>> from sklearn.svm import SVC
    >>> space = [
    ...     {"model": [SVC()], "model__C": loguniform(1e-2, 1e3), "model__gamma": loguniform(1e-4, 10)},
    ...     {"model": [KNeighborsClassifier()], "model__n_neighbors": range(1, 30)},
    ... ]
    >>> search = AddTreeSearchCV(Pipeline([("model", SVC())]), space, n_trials=15, random_state=0)
    >>> bool(search.fit(*load_iris(return_X_y=True)).best_score_ > 0.97)
    True

    estimator           the estimator whose parameters are set
    space               a Space whose parameters have the names that `set_params` takes; or a dict of lists and
                        scipy.stats distributions; or a list of such dicts, of which each configuration uses one
    n_trials            number of configurations; fewer are evaluated if the space has fewer
    scoring             as in scikit-learn. With several metrics, the one that `refit` names is maximised, or the first
                        if `refit` is a function or False
    n_jobs              number of fits at a time. After the first configuration, a batch of configurations is asked for,
                        large enough to give each job a fold to fit. The configurations therefore depend on n_jobs
    refit, cv, verbose  as in scikit-learn. All configurations are evaluated on the same splits
    random_state        seed of the search; an int makes it reproducible
    error_score         the score of a fit that fails, or "raise". With NaN, the search learns that the configuration
                        fails
    return_train_score  whether `cv_results_` includes training scores

    The noise of a score is the standard error of its mean over the folds (see `standard_errors`). The attributes are
    those of `RandomizedSearchCV` and `optimizer_`, the `Optimizer` of the search with its space and trials.
    """

    def __init__(
        self,
        estimator: Any,
        space: Space | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        n_trials: int = 60,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[[Mapping[str, Any]], int] = True,
        cv: Any = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.space = space
        self.n_trials = n_trials
        self.random_state = random_state

    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]]) -> None:
        """Ask for configurations and evaluate them, batch by batch."""
        if not is_whole(self.n_trials) or self.n_trials < 1:
            raise OptionError(f"n_trials={self.n_trials!r} must be a whole number, at least 1")
        searched = read_space(self.space)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        # A configuration gets the same score again on the same splits, so it is never worth repeating.
        optimizer = Optimizer(searched.space, seed=seed, maximize=True, noise=0)
        n_trials = int(min(self.n_trials, searched.space.n_configs))
        cv = None if isinstance(self.cv, Iterable) else _SameSplits(self.cv, is_classifier(self.estimator))
        self._failed: list[_Failed] = []
        self._fits: tuple[Any, ...] = ()  # The last arguments of `_format_results`; the second is the number of folds.
        results: dict[str, Any] = {}
        while trials := _ask_new(optimizer, min(self._batch_size(), n_trials - len(optimizer.trials))):
            candidates = [searched.params(trial.config) for trial in trials]
            start = time.perf_counter()
            try:
                results = evaluate_candidates(candidates, cv)
            except ValueError as error:
                if self.error_score == "raise" or _ALL_FAILED not in str(error):
                    raise
                failure = error
                seconds = (time.perf_counter() - start) / len(trials)
                self._failed += [_Failed(trial.id, c, seconds) for trial, c in zip(trials, candidates, strict=True)]
                _tell(optimizer, trials, [self.error_score] * len(trials), [0.0] * len(trials))
                warnings.warn(str(error), FitFailedWarning, stacklevel=2)
            else:
                self._tell_results(optimizer, trials, results)
        if not results:
            raise failure
        self._finish(results)
        self.optimizer_ = optimizer

    def _batch_size(self) -> int:
        """The number of configurations that give each job a fold; 1 until the number of folds is known."""
        return math.ceil(effective_n_jobs(self.n_jobs) / self._fits[1]) if self._fits else 1

    def _tell_results(self, optimizer: Optimizer, trials: Sequence[Trial], results: Mapping[str, Any]) -> None:
        """Tell the scores of the last batch, whose rows are the last ones."""
        metric = self._metric(results)
        scores = np.array([results[f"split{i}_test_{metric}"] for i in range(self._fits[1])]).T
        _tell(
            optimizer, trials, results[f"mean_test_{metric}"][-len(trials) :], standard_errors(scores)[-len(trials) :]
        )

    def _metric(self, results: Mapping[str, Any]) -> str:
        """The metric that is maximised: the one that `refit` names, or else the first."""
        metrics = [key.removeprefix("mean_test_") for key in results if key.startswith("mean_test_")]
        return self.refit if self.refit in metrics else metrics[0]

    def _finish(self, results: dict[str, Any]) -> None:
        """Add the last failures, and warn once about scores that are not finite."""
        results.update(self._format_results(*self._fits))
        scores = results[f"mean_test_{self._metric(results)}"]
        if not np.isfinite(scores).all():
            warnings.warn(f"One or more of the test scores are non-finite: {scores}", UserWarning, stacklevel=2)
        del self._failed, self._fits

    def _format_results(
        self, candidate_params: list[dict[str, Any]], n_splits: int, out: list[Any], more_results: Any = None
    ) -> dict[str, Any]:
        """The results, including the configurations whose fits all failed.

        BaseSearchCV takes a batch without any success for a misconfigured model, raises, and forgets it. Here a batch
        may be a single configuration. BaseSearchCV also warns about scores that are not finite, once per batch.
        """
        self._fits = (candidate_params, n_splits, out, more_results)
        candidates = list(candidate_params)
        fits = [out[i : i + n_splits] for i in range(0, len(out), n_splits)]
        for failed in self._failed:
            candidates.insert(failed.position, failed.params)
            fits.insert(failed.position, [failed.fit(out[0], self.error_score, n_splits)] * n_splits)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="One or more of the")
            formatted = super()._format_results(candidates, n_splits, list(chain(*fits)), more_results)
        return dict(formatted)


@dataclass(frozen=True)
class _Failed:
    """A configuration whose fits all failed.

    position  its position among all configurations
    params    the parameters of the estimator
    seconds   how long its fits took together
    """

    position: int
    params: dict[str, Any]
    seconds: float

    def fit(self, example: Mapping[str, Any], error_score: float, n_splits: int) -> dict[str, Any]:
        """The result of a fit as BaseSearchCV has it; `example` is that of another configuration."""
        row = {**example, "fit_time": self.seconds / n_splits, "score_time": 0.0}
        for key in {"test_scores", "train_scores"} & row.keys():
            row[key] = dict.fromkeys(row[key], error_score) if isinstance(row[key], dict) else error_score
        return row


class _SameSplits:
    """The splits of `cv`, drawn once: a splitter that shuffles would give other splits to each batch."""

    def __init__(self, cv: Any, classifier: bool) -> None:
        self._cv = cv
        self._classifier = classifier
        self._splits: list[Any] = []

    def split(self, X: Any, y: Any = None, **params: Any) -> list[Any]:
        """The splits; the arguments are those of a splitter."""
        if not self._splits:
            self._splits = list(check_cv(self._cv, y, classifier=self._classifier).split(X, y, **params))
        return self._splits


def _ask_new(optimizer: Optimizer, n: int) -> list[Trial]:
    """Up to n trials with new configurations; fewer if the space has no more."""
    known = [trial.config for trial in optimizer.trials]
    new = []
    for trial in optimizer.ask(n) if n > 0 else []:
        if trial.config not in known:
            new.append(trial)
            known.append(trial.config)
    return new


def standard_errors(scores: Array) -> Array:
    """The standard error of the mean score of each configuration over the folds; zero if there is a single fold.

    All configurations have the same folds. What these have in common, because some folds are harder than others, is
    not noise: it does not change which configuration is better. It is estimated on the better half of the
    configurations, once there are enough of them, and subtracted.

    scores  configurations x folds
    """
    n_folds = scores.shape[1]
    if n_folds == 1:
        return np.zeros(len(scores))
    means = scores.mean(axis=1)
    finite = np.isfinite(means)
    with np.errstate(invalid="ignore"):  # infinite scores have no deviation
        deviations = scores - means[:, None]
    if finite.sum() >= _ENOUGH:
        better = finite & (means >= np.median(means[finite]))
        deviations = deviations - np.median(deviations[better], axis=0)
    return np.asarray(deviations.std(axis=1, ddof=1) / math.sqrt(n_folds))


def _tell(optimizer: Optimizer, trials: Sequence[Trial], values: Sequence[float], errors: Any) -> None:
    """Tell the scores of trials with their standard errors; a trial whose score is not finite failed."""
    for trial, value, error in zip(trials, values, errors, strict=True):
        if math.isfinite(value):
            optimizer.tell(trial, float(value), std=float(error))
        else:
            optimizer.tell(trial, failed=True)
