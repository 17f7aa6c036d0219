"""scikit-learn's checks of estimators, with the instances and exceptions that it uses for RandomizedSearchCV."""

from typing import Any

import pytest
from sklearn.base import is_regressor
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import addtree as at
from addtree.sklearn import AddTreeSearchCV


def expected_failures(search: AddTreeSearchCV) -> dict[str, str]:
    """What scikit-learn expects its own searches to fail as well."""
    reason = "the regressor inside accepts a y of two dimensions, without a DataConversionWarning"
    return {"check_supervised_y_2d": reason} if is_regressor(search) else {}


def search(estimator: Any, space: Any) -> AddTreeSearchCV:
    return AddTreeSearchCV(estimator, space, n_trials=3, cv=2, error_score="raise", random_state=0)


SEARCHES = [
    search(Ridge(), {"alpha": [0.1, 1.0]}),
    search(LogisticRegression(), at.Space(C=at.Real(0.1, 1.0, log=True))),
    search(Pipeline([("pca", PCA()), ("ridge", Ridge())]), [{"ridge__alpha": [0.1, 1.0]}, {"ridge__alpha": [10.0]}]),
    search(Pipeline([("pca", PCA()), ("logistic", LogisticRegression())]), {"logistic__C": [0.1, 1.0]}),
]


@parametrize_with_checks(SEARCHES, expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning", "ignore::FutureWarning")
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)
