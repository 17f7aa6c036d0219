"""The suggestions of fixed seeds stay what they are; a change that means to alter them records them anew (`update`)."""

import json
import math

import pytest

from benchmarks import revision
from tests.golden import runs, update

TOLERANCE = 1e-3  # of the value, or of 1e-3 where that is larger
PUBLISHED_MODE = "da5dcbd"  # a commit whose suggestions in the paper's mode are those of every later one


def same(one, other):
    if isinstance(one, float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-3 * TOLERANCE)
    return one == other


@pytest.mark.parametrize("name", runs.RUNS)
def test_suggestions_are_those_recorded(name):
    recorded = json.loads(update.RECORD.read_text())[name]
    found = runs.RUNS[name](update.LENGTH)
    for i, (one, other) in enumerate(zip(found, recorded, strict=True)):
        assert one.keys() == other.keys(), f"ask {i}"
        assert all(same(one[key], other[key]) for key in one), f"ask {i}: {one} was {other}"


@pytest.mark.skipif(not revision.exists(PUBLISHED_MODE), reason=f"this checkout does not hold commit {PUBLISHED_MODE}")
def test_the_published_mode_stays_as_it_is():
    """Forty asks, bit by bit, on this machine. Later the covariance is almost singular, and roundings decide."""
    script = update.RECORD.with_name("runs.py")
    before, now = (revision.run(script, ["40", "paper"], commit) for commit in (PUBLISHED_MODE, None))
    assert json.loads(before) == json.loads(now)
