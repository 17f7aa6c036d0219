"""What rules admit, and what is found under them: the numbers of `benchmarks.rules` but its times."""

import pytest

from benchmarks import rules


@pytest.fixture(scope="module")
def ruled():
    return rules.conditional().where(*rules.RULES)


def test_the_rules_admit_about_one_percent_of_twelve_parameters(ruled):
    assert len([name for name in ruled.variables if name != "optimizer"]) == 12
    assert rules.share_admitted(ruled, 20_000) < 0.012


def test_all_suggestions_are_valid(ruled):
    assert rules.seconds_per_ask(ruled, 50, 0)[1] == 50


@pytest.mark.parametrize("name", rules.boundary_problems())
def test_the_optimum_on_the_boundary_is_found(name):
    found = rules.regret(name, 40, seed=0)
    assert -1e-12 <= found < 1e-4
