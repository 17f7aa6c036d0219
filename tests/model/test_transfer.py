"""What earlier tasks tell: free of units, believed as far as the new task agrees, and bounded in size."""

from dataclasses import replace

import numpy as np
import pytest

from addtree.model.observations import Observations
from addtree.model.transfer import EarlierTasks, TransferSettings
from tests.model.test_surrogate import DEFAULT, TREE
from tests.strategies import build

ENCODING, KERNEL = build(TREE, "additive+interactions")
SETTINGS = TransferSettings()


def task(optimum, n=20, seed=0):
    X = ENCODING.sample(n, np.random.default_rng(seed))
    return Observations.exact(X, np.nansum((X - optimum) ** 2, axis=1))


def learned(*tasks, **changes):
    merits = [task.y for task in tasks]
    return EarlierTasks.fit(DEFAULT, KERNEL, [[task] for task in tasks], merits, replace(SETTINGS, **changes))


def prior(earlier, data, X):
    return earlier.values[0].prior_mean(data).value(KERNEL.rows(X))


def test_values_may_have_any_unit():
    X, own = task(0.3, 9, seed=5).X, task(0.3, 8, seed=3)
    plain = prior(learned(task(0.3), task(0.4, seed=1)), own, X)
    other = learned(replace(task(0.3), y=5e6 + 1e5 * task(0.3).y), task(0.4, seed=1))
    np.testing.assert_allclose(prior(other, replace(own, y=1e-3 * own.y - 7), X), plain, rtol=1e-3, atol=1e-3)


def test_the_shared_function_interpolates_the_mean_of_the_surrogates():
    earlier = learned(task(0.3), task(0.6, seed=1))
    mean = np.mean(earlier.values[0].predictions, axis=1)
    np.testing.assert_allclose(earlier.values[0].shared.value(KERNEL.rows(earlier.X)), mean, atol=0.1 * np.std(mean))


def test_a_history_that_agrees_predicts_the_order_of_new_values():
    own, more = task(0.3, 5, seed=3), task(0.3, 40, seed=4)
    predicted = prior(learned(task(0.3, 40), task(0.35, 40, seed=1)), own, more.X)
    assert np.corrcoef(predicted, more.y)[0, 1] > 0.9
    at_own = prior(learned(task(0.3, 40), task(0.35, 40, seed=1)), own, own.X)
    assert np.mean(at_own) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_a_history_is_believed_until_the_new_task_disagrees(n):
    earlier, own = learned(task(0.3, 40)), task(0.3, n, seed=3)
    assert earlier.agrees_with([own])
    opposite = replace(own, y=-own.y)
    assert earlier.agrees_with([opposite]) == (n < 12)
    if n == 12:
        assert not prior(earlier, opposite, own.X).any()


def test_the_portfolio_has_a_good_row_for_each_task_and_no_more_than_it_takes():
    one, two = task(0.1, 40), task(0.9, 40)
    both = learned(one, two)
    chosen = both.portfolio()
    ranks = np.argsort(np.argsort(both.values[0].predictions, axis=0), axis=0)[chosen]
    assert len(chosen) <= SETTINGS.portfolio + SETTINGS.options
    assert np.all(np.min(ranks, axis=0) <= 2)
    assert len(learned(one, options=0).portfolio()) == 1
    assert len(learned(one, two, portfolio=1, options=0).portfolio()) == 1


def test_the_portfolio_has_the_best_row_of_each_option():
    earlier = learned(task(0.1, 40))
    choice = ENCODING.index["c"]
    chosen = earlier.portfolio()
    for code in np.unique(earlier.X[:, choice]):
        here = np.flatnonzero(earlier.X[:, choice] == code)
        assert here[np.argmin(earlier.values[0].predictions[here, 0])] in chosen
    assert len(learned(task(0.1, 40), options=1).portfolio()) == 2


def test_many_long_tasks_are_reduced():
    earlier = learned(*(task(0.1 * i, 100, seed=i) for i in range(7)), support=50, fit_rows=70, iterations=3)
    assert len(earlier.X) <= 50
    assert earlier.values[0].predictions.shape == (len(earlier.X), 7)


def test_tasks_without_information_are_harmless():
    flat = Observations.exact(task(0.3).X, np.zeros(20))
    earlier = learned(flat, task(0.3)[:2])
    assert np.all(np.isfinite(prior(earlier, flat[:1], task(0.3).X)))
