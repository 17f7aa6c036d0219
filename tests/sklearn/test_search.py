"""AddTreeSearchCV as a search of scikit-learn."""

import pickle
import warnings
from contextlib import suppress

import joblib
import numpy as np
import pytest
import sklearn
from scipy.stats import loguniform, randint, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold, KFold, RandomizedSearchCV, ShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import addtree as at
from addtree.sklearn import AddTreeSearchCV
from addtree.sklearn.search import standard_errors

X, Y = make_classification(60, n_features=4, flip_y=0.1, random_state=0)
TREE = DecisionTreeClassifier(random_state=0)
DEPTHS = {"max_depth": randint(1, 6), "min_samples_leaf": randint(1, 10)}


def search(estimator=TREE, space=DEPTHS, *, n_trials=4, cv=3, random_state=0, **options):
    return AddTreeSearchCV(estimator, space, n_trials=n_trials, cv=cv, random_state=random_state, **options)


def pipeline():
    return Pipeline([("scale", StandardScaler()), ("model", SVC())])


MODELS = [
    {"scale": [StandardScaler(), MinMaxScaler()], "model": [SVC()], "model__C": loguniform(1e-2, 1e2)},
    {
        "model": [KNeighborsClassifier()],
        "model__n_neighbors": randint(1, 10),
        "model__weights": ["uniform", "distance"],
    },
]


# ---------------------------------------------------------------------- results


def test_results_are_those_of_a_randomized_search():
    ours = search(return_train_score=True).fit(X, Y)
    theirs = RandomizedSearchCV(TREE, DEPTHS, n_iter=4, cv=3, return_train_score=True, random_state=0).fit(X, Y)
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
    assert vars(theirs).keys() - vars(ours).keys() == {"param_distributions", "n_iter"}
    assert vars(ours).keys() - vars(theirs).keys() == {"space", "n_trials", "optimizer_"}
    for params, score in zip(ours.cv_results_["params"], ours.cv_results_["mean_test_score"], strict=True):
        assert score == pytest.approx(cross_val_score(clone(TREE).set_params(**params), X, Y, cv=3).mean())
    assert ours.best_score_ == ours.cv_results_["mean_test_score"].max()
    assert ours.best_estimator_.get_params()["max_depth"] == ours.best_params_["max_depth"]
    assert ours.score(X, Y) == accuracy_score(Y, ours.predict(X))


def test_infinite_scores_have_no_standard_error():
    assert np.isnan(standard_errors(np.full((2, 3), -np.inf))).all()


def test_the_optimizer_is_told_scores_and_their_standard_errors():
    fitted = search().fit(X, Y)
    folds = np.array([fitted.cv_results_[f"split{i}_test_score"] for i in range(3)])
    trials = fitted.optimizer_.trials
    assert [trial.value for trial in trials] == pytest.approx(folds.mean(axis=0))
    assert [trial.std for trial in trials] == pytest.approx(folds.std(axis=0, ddof=1) / np.sqrt(3))
    assert fitted.optimizer_.maximize


def test_one_split_has_no_standard_error():
    fitted = search(cv=ShuffleSplit(1, random_state=0)).fit(X, Y)
    assert {trial.std for trial in fitted.optimizer_.trials} == {0.0}


def test_what_folds_have_in_common_is_not_noise():
    rng = np.random.default_rng(0)
    noise, folds = 0.01 * rng.normal(size=(20, 5)), rng.normal(size=5)
    assert standard_errors(noise + folds) == pytest.approx(standard_errors(noise))  # however hard the folds are
    assert 0.003 < standard_errors(noise + folds).mean() < 0.006
    assert standard_errors(np.linspace(0, 1, 20)[:, None] + folds) == pytest.approx(0, abs=1e-12)
    plain = (noise + folds)[:9].std(axis=1, ddof=1) / np.sqrt(5)
    assert standard_errors((noise + folds)[:9]) == pytest.approx(plain)
    failed = np.vstack([noise + folds, np.full(5, np.nan)])
    assert standard_errors(failed)[:20] == pytest.approx(standard_errors(noise + folds))


def test_it_finds_the_best_of_a_conditional_space():
    fitted = search(pipeline(), MODELS, n_trials=12).fit(*load_iris(return_X_y=True))
    assert fitted.best_score_ > 0.95
    inactive = fitted.cv_results_["param_model__C"].mask
    assert inactive.any()
    assert all("model__C" not in p for p, masked in zip(fitted.cv_results_["params"], inactive, strict=True) if masked)


def test_estimators_are_labels_of_a_space():
    svm, neighbours = SVC(), KNeighborsClassifier()
    space = at.Space(
        scale=at.Categorical([StandardScaler(), "passthrough"]),
        model=at.Choice(
            {
                svm: at.Space(model__C=at.Real(1e-2, 1e2, log=True)),
                neighbours: at.Space(model__n_neighbors=at.Integer(1, 10)),
            }
        ),
    )
    fitted = clone(search(pipeline(), space, n_trials=8)).fit(X, Y)
    assert {type(params["model"]) for params in fitted.cv_results_["params"]} == {SVC, KNeighborsClassifier}
    assert pickle.loads(pickle.dumps(fitted)).best_score_ == fitted.best_score_
    assert not hasattr(svm, "classes_")  # The objects of the user are cloned before they are fitted.


def test_rules_of_a_space_hold():
    space = at.Space(max_depth=at.Integer(1, 5), min_samples_leaf=at.Integer(1, 5)).where(
        "max_depth < min_samples_leaf"
    )
    fitted = search(space=space, n_trials=20).fit(X, Y)
    found = {(params["max_depth"], params["min_samples_leaf"]) for params in fitted.cv_results_["params"]}
    assert len(found) == len(fitted.cv_results_["params"]) == 10  # every configuration that the rule admits, once
    assert all(depth < leaf for depth, leaf in found)


@pytest.mark.parametrize("space", [{"max_depth": [1, 2, 3]}, {}, at.Space()])
def test_a_small_space_is_evaluated_once(space):
    found = search(space=space, n_trials=9).fit(X, Y).cv_results_["params"]
    assert len(found) == (3 if space == {"max_depth": [1, 2, 3]} else 1)


# ---------------------------------------------------------------------- randomness and jobs


def test_a_seed_makes_it_reproducible():
    found = [search(random_state=seed).fit(X, Y).cv_results_["params"] for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]
    state = [search(random_state=np.random.RandomState(3)).fit(X, Y).cv_results_["params"] for _ in range(2)]
    assert state[0] == state[1]


@pytest.mark.parametrize("cv", [KFold(3, shuffle=True), ShuffleSplit(3)])
def test_every_configuration_is_evaluated_on_the_same_splits(cv):
    class Recorder(BaseEstimator, ClassifierMixin):
        def __init__(self, a=0.0):
            self.a = a

        def fit(self, X, y):
            seen.append(tuple(X[:, 0]))
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return np.zeros(len(X), dtype=int)

    seen = []
    search(Recorder(), {"a": uniform(0, 1)}, cv=cv, refit=False).fit(X, Y)
    assert len(seen) == 4 * 3
    assert seen[:3] * 4 == seen


def test_splits_may_come_from_a_generator():
    splits = list(KFold(3).split(X))
    found = [search(cv=cv).fit(X, Y) for cv in (splits, iter(splits), KFold(3))]
    assert found[0].cv_results_["params"] == found[1].cv_results_["params"] == found[2].cv_results_["params"]


def test_batches_fill_the_jobs():
    class Counter(AddTreeSearchCV):
        def _run_search(self, evaluate_candidates):
            def counted(candidates, cv):
                sizes.append(len(candidates))
                return evaluate_candidates(candidates, cv)

            super()._run_search(counted)

    sizes = []
    with joblib.parallel_config(backend="threading"):
        Counter(TREE, DEPTHS, n_trials=7, cv=3, n_jobs=7, random_state=0).fit(X, Y)
        assert sizes == [1, 3, 3]
        sizes.clear()
        Counter(TREE, DEPTHS, n_trials=2, cv=3, n_jobs=3, random_state=0).fit(X, Y)
        assert sizes == [1, 1]


def test_processes_give_what_threads_give():
    spaces = search(pipeline(), MODELS, n_jobs=4, cv=2)
    with joblib.parallel_config(backend="threading"):
        threads = clone(spaces).fit(X, Y)
    with joblib.parallel_config(backend="loky"):
        processes = clone(spaces).fit(X, Y)
    assert str(threads.cv_results_["params"]) == str(processes.cv_results_["params"])
    assert list(threads.cv_results_["mean_test_score"]) == list(processes.cv_results_["mean_test_score"])


# ---------------------------------------------------------------------- metrics


SCORES = {"accuracy": "accuracy", "loss": "neg_log_loss"}


@pytest.mark.parametrize(("refit", "maximised"), [("loss", "loss"), ("accuracy", "accuracy"), (False, "accuracy")])
def test_the_metric_of_refit_is_maximised(refit, maximised):
    fitted = search(scoring=SCORES, refit=refit).fit(X, Y)
    assert [t.value for t in fitted.optimizer_.trials] == pytest.approx(fitted.cv_results_[f"mean_test_{maximised}"])
    assert hasattr(fitted, "best_estimator_") == bool(refit)


def test_refit_may_be_a_function():
    fitted = search(scoring=["neg_log_loss", "accuracy"], refit=lambda results: len(results["params"]) - 1).fit(X, Y)
    assert fitted.best_index_ == 3
    assert fitted.best_params_ == fitted.cv_results_["params"][3]
    assert fitted.optimizer_.trials[0].value == pytest.approx(fitted.cv_results_["mean_test_neg_log_loss"][0])


def test_scoring_may_be_a_function_with_several_metrics():
    def scores(estimator, X, y):
        accuracy = accuracy_score(y, estimator.predict(X))
        return {"accuracy": accuracy, "error": -(1 - accuracy)}

    fitted = search(scoring=scores, refit="error").fit(X, Y)
    assert [t.value for t in fitted.optimizer_.trials] == pytest.approx(fitted.cv_results_["mean_test_error"])
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):
        search(scoring=scores).fit(X, Y)


def test_metadata_is_routed():
    weights = np.linspace(0.1, 1, len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        tree = clone(TREE).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routed = search(tree).fit(X, Y, sample_weight=weights)
        plain = search(tree).fit(X, Y)
    assert list(routed.cv_results_["mean_test_score"]) != list(plain.cv_results_["mean_test_score"])


def test_groups_reach_the_splitter():
    fitted = search(cv=GroupKFold(3)).fit(X, Y, groups=np.arange(len(X)) % 3)
    assert fitted.n_splits_ == 3


# ---------------------------------------------------------------------- failures


class Fragile(BaseEstimator, ClassifierMixin):
    """Fits fail where a is large, on the fold whose first row is given, or always."""

    def __init__(self, a=0.0, broken=False, fold=None):
        self.a = a
        self.broken = broken
        self.fold = fold

    def fit(self, X, y):
        if self.a > 0.5 or self.broken or (self.fold is not None and X[0, 0] == self.fold):
            raise ValueError(f"too fragile: {self.a > 0.5}")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


LARGE = {"a": uniform(0, 1)}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more")
@pytest.mark.parametrize("error_score", [np.nan, 0.25, -1])
@pytest.mark.parametrize("scoring", [None, {"one": "accuracy", "two": "balanced_accuracy"}])
def test_a_configuration_that_fails_has_the_error_score(error_score, scoring):
    refit = scoring is None or "one"
    fitted = search(
        Fragile(), LARGE, n_trials=8, error_score=error_score, scoring=scoring, refit=refit, return_train_score=True
    ).fit(X, Y)
    failed = np.array([params["a"] > 0.5 for params in fitted.cv_results_["params"]])
    assert 0 < failed.sum() < 8
    for name in ["score"] if scoring is None else scoring:
        for key in (f"mean_test_{name}", f"split0_test_{name}", f"mean_train_{name}"):
            found = fitted.cv_results_[key]
            assert len(found) == 8
            np.testing.assert_array_equal(found[failed], error_score)
            assert np.isfinite(found[~failed]).all()
            assert not np.any(found[~failed] == error_score)
    states = [trial.state for trial in fitted.optimizer_.trials]
    assert states == ["failed" if np.isnan(error_score) and bad else "done" for bad in failed]
    assert fitted.best_params_["a"] <= 0.5
    assert (fitted.cv_results_["mean_fit_time"][failed] > 0).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more")
def test_a_failure_at_the_end_is_in_the_results():
    for seed in range(20):
        with suppress(ValueError):  # both trials failed
            fitted = search(Fragile(), LARGE, n_trials=2, random_state=seed).fit(X, Y)
            if fitted.optimizer_.trials[-1].state == "failed":
                break
    assert list(np.isnan(fitted.cv_results_["mean_test_score"])) == [False, True]
    assert list(fitted.cv_results_["rank_test_score"]) == [1, 2]


def test_failures_are_reported():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search(Fragile(), LARGE, n_trials=8).fit(X, Y)
    kinds = [warning.category for warning in caught]
    assert FitFailedWarning in kinds
    assert "too fragile" in str(next(w.message for w in caught if w.category is FitFailedWarning))
    assert sum("non-finite" in str(warning.message) for warning in caught) == 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more")
def test_a_configuration_that_fails_on_one_fold_has_failed():
    first = X[20, 0]  # The first training row of the first of three folds without shuffling.
    fitted = search(Fragile(fold=first), {"a": uniform(0, 0.4), "fold": [first, None]}, n_trials=6, cv=KFold(3)).fit(
        X, Y
    )
    failed = [params["fold"] is not None for params in fitted.cv_results_["params"]]
    assert [trial.state == "failed" for trial in fitted.optimizer_.trials] == failed
    assert any(failed)


def test_error_score_may_raise():
    with pytest.raises(ValueError, match="too fragile"):
        search(Fragile(), LARGE, n_trials=8, error_score="raise").fit(X, Y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.parametrize("error_score", [np.nan, 0.0])
def test_a_search_without_any_success_raises(error_score):
    with pytest.raises(ValueError, match="too fragile"):
        search(Fragile(broken=True), LARGE, error_score=error_score).fit(X, Y)


def test_an_unknown_parameter_is_named():
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        search(space={"depth": [1, 2]}).fit(X, Y)


@pytest.mark.parametrize("n_trials", [0, 2.5, None])
def test_the_number_of_trials_is_checked(n_trials):
    with pytest.raises(at.OptionError, match="n_trials="):
        search(n_trials=n_trials).fit(X, Y)


def test_the_space_is_checked():
    with pytest.raises(at.SpaceError, match="parameter 'max_depth'"):
        search(space={"max_depth": 3}).fit(X, Y)


# ---------------------------------------------------------------------- as an estimator


def test_nested_cross_validation():
    scores = cross_val_score(search(pipeline(), MODELS, cv=2), X, Y, cv=3)
    assert scores.shape == (3,)
    assert (scores > 0.5).all()


def test_clone_and_parameters():
    original = search(pipeline(), MODELS, n_trials=7)
    copied = clone(original)
    assert copied.get_params()["n_trials"] == 7
    assert copied.space is not original.space
    assert copied.set_params(n_trials=3).n_trials == 3
    assert copied.set_params(estimator__model__C=5.0).estimator.named_steps["model"].C == 5.0


def test_a_fitted_search_can_be_pickled():
    fitted = search(pipeline(), MODELS).fit(X, Y)
    loaded = pickle.loads(pickle.dumps(fitted))
    assert (loaded.predict(X) == fitted.predict(X)).all()
    assert [t.config for t in loaded.optimizer_.trials] == [t.config for t in fitted.optimizer_.trials]


def test_a_search_is_a_step_of_a_pipeline():
    steps = Pipeline(
        [("scale", StandardScaler()), ("search", search(LogisticRegression(), {"C": loguniform(0.1, 10)}))]
    )
    assert steps.fit(X, Y).score(X, Y) > 0.5


def test_the_parameters_of_a_user_stay_as_they_were():
    space = [{"scale": [StandardScaler(), None], "model__C": [3, 1, 2]}]
    before = str(space)
    search(pipeline(), space).fit(X, Y)
    assert str(space) == before
