"""Cross-validation: no prediction has seen its value, the statistics, and the words that follow from them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

import addtree as at
from addtree.problems import synthetic
from addtree.report import Limits, Record, build
from addtree.report.trust import Z_90, CrossValidation, cross_validate, rank_correlation
from tests.report.cases import evaluated, paper_trials


def checked(trials: list[Record], y: np.ndarray, **settings: int) -> CrossValidation:
    return cross_validate(synthetic().space, trials, y, limits=Limits(**settings))


def test_no_prediction_depends_on_its_own_value() -> None:
    trials = paper_trials(25)
    y = np.array([trial.value for trial in trials])
    before = checked(trials, y)
    y[7] += 3.0
    after = checked(trials, y)
    same = after.mean == before.mean
    assert same[7]
    assert after.std[7] == before.std[7]
    assert np.sum(same) == 5  # the fold of the trial: every other model has seen the new value


def test_values_of_one_configuration_do_not_predict_each_other() -> None:
    trials = paper_trials(24)
    trials = [replace(trial, config=trials[i // 2].config) for i, trial in enumerate(trials)]
    y = np.arange(24.0)
    before = checked(trials, y).mean
    y[6] += 10.0
    after = checked(trials, y).mean
    assert after[6] == before[6]
    assert after[7] == before[7]


def test_the_statistics() -> None:
    space = at.Space(x=at.Real(0, 1), k=at.Integer(0, 3))
    known = evaluated(space, lambda c: round(c["x"], 1) + c["k"], 30)  # rounding makes ties
    y = np.array([trial.value for trial in known])
    trust = cross_validate(space, known, y)
    assert trust.ids == tuple(range(30))
    assert trust.explained == pytest.approx(1 - np.mean((y - trust.mean) ** 2) / np.var(y))
    assert trust.coverage_95 == np.mean(np.abs(y - trust.mean) <= trust.margin)
    assert trust.coverage_90 == np.mean(np.abs(y - trust.mean) <= Z_90 * trust.std)
    assert trust.rank_correlation == pytest.approx(np.corrcoef(rankdata(y), rankdata(trust.mean))[0, 1])


def test_a_smooth_function_is_predicted_well_and_noise_is_not() -> None:
    space, rng = at.Space(x=at.Real(0, 1)), np.random.default_rng(0)
    known = evaluated(space, lambda c: c["x"] ** 2, 30)
    smooth = cross_validate(space, known, np.array([trial.value for trial in known]))
    noise = cross_validate(space, known, rng.normal(size=30))
    assert smooth.explained > 0.99
    assert "well" in smooth.verdict
    assert noise.explained < 0.3
    assert "guesses" in noise.verdict


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"explained": 0.9}, "predicts unseen trials well"),
        ({"explained": 0.5}, "roughly"),
        ({"explained": 0.0, "rank_correlation": 0.7}, "roughly"),
        ({"explained": 0.0, "rank_correlation": 0.0}, "guesses"),
        ({"coverage_95": 0.96}, "can be relied on: 24 of 25"),
        ({"coverage_95": 0.84}, "somewhat too narrow: only 21 of 25"),
        ({"coverage_95": 0.72}, "do not rely on them: only 18 of 25"),
        ({"ids": tuple(range(19))}, "19 trials are too few to tell"),
    ],
)
def test_the_words_follow_from_the_numbers(changes: dict[str, float], words: str) -> None:
    trials = paper_trials(25)
    trust = checked(trials, np.array([trial.value for trial in trials]))
    assert words in replace(trust, **changes).verdict


def test_a_fold_is_fitted_to_a_bounded_number_of_trials() -> None:
    trials = paper_trials(40)
    y = np.array([trial.value for trial in trials])
    assert np.any(checked(trials, y, refit=10).std != checked(trials, y).std)


def test_one_configuration_is_not_explained() -> None:
    report = build(at.Space(x=at.Real(0, 1)), [{"config": {"x": 0.5}, "value": float(i)} for i in range(6)])
    assert report.learned is None
    assert report.notes == ("All trials have the same configuration, so there is nothing to explain.",)


def test_two_configurations_are_enough() -> None:
    report = build(at.Space(x=at.Real(0, 1)), [{"config": {"x": i % 2}, "value": float(i)} for i in range(6)])
    assert report.learned is not None
    assert report.learned.trust.n == 6


def test_the_rank_correlation_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(0, 6, size=(2, 12)).astype(float)
        assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert rank_correlation(a, np.zeros(12)) == 0.0


def test_a_report_does_not_import_the_slow_statistics_of_scipy() -> None:
    code = (
        "import sys, addtree as at; from addtree.report import build\n"
        "space = at.Space(x=at.Real(0, 1))\n"
        "run = at.minimize(lambda config: config['x'], space, 6, seed=0)\n"
        "assert build(space, run.trials).learned is not None\n"
        "assert 'scipy.stats' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
