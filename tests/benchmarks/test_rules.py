"""What rules cost, and what they find: the numbers of `benchmarks.rules`, within their limits."""

import numpy as np
import pytest

from benchmarks import rules


@pytest.fixture(scope="module")
def ruled():
    return rules.conditional().where(*rules.RULES)


def test_the_rules_admit_about_one_percent_of_twelve_parameters(ruled):
    assert len([name for name in ruled.variables if name != "optimizer"]) == 12
    assert rules.share_admitted(ruled, 20_000) < 0.012


def test_two_hundred_suggestions_are_valid_and_cost_at_most_three_times_as_much(ruled):
    runs = [rules.seconds_per_ask(ruled, 50, seed) for seed in range(4)]
    assert sum(valid for _, valid in runs) == 200
    without = np.median([s for seed in range(2) for s in rules.seconds_per_ask(rules.conditional(), 50, seed)[0]])
    assert np.median([s for seconds, _ in runs[:2] for s in seconds]) < rules.LIMIT * without


@pytest.mark.parametrize("name", rules.boundary_problems())
def test_the_optimum_on_the_boundary_is_found(name):
    found = rules.regret(name, 40, seed=0)
    assert -1e-12 <= found < 1e-4
