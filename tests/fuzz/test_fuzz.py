"""A sample of the mutated inputs at every run of the tests; all of them in the slow tests."""

import sys

import pytest

from tests.fuzz.runner import run, run_batch
from tests.fuzz.targets import TARGETS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limits of memory need Linux")


@pytest.mark.parametrize("name", TARGETS)
def test_a_sample_of_mutated_inputs_is_refused_or_works(name):
    outcomes, _, _ = run_batch(name, 0, 0, 80)
    assert set(outcomes.values()) == {"refused", "works"}


@pytest.mark.slow
def test_twenty_thousand_mutated_inputs_are_refused_or_work():
    assert run(list(TARGETS), count=20_000, seed=0, workers=2) == {}
