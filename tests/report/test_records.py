"""Trials of any origin as records."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import addtree as at
from addtree.report.records import Record, encode_records, make_records, with_value
from addtree.run.goals import Goals
from addtree.space.encoding import Encoding

SPACE = at.Space(x=at.Real(0, 1), m=at.Choice(a=at.Space(k=at.Integer(0, 4)), b=at.Space()))


def test_mappings_trials_and_records_are_the_same() -> None:
    config = {"x": 0.5, "m": "a", "k": 2}
    expected = Record(0, config, "done", 1.5, values={"value": 1.5})
    optimizer = at.Optimizer(SPACE, seed=0)
    told = optimizer.tell(config, 1.5)
    for trial in ({"config": config, "value": 1.5}, Record(0, config, "done", 1.5), expected, told):
        assert make_records(SPACE, [trial], Goals()) == (expected,)


def test_trials_with_several_values() -> None:
    config, values = {"x": 0.5, "m": "b"}, {"error": 1.5, "speed": 2.0, "memory": 3.0}
    optimizer = at.Optimizer(SPACE, seed=0, objectives={"error": "min", "speed": "max"}, constraints={"memory": 4.0})
    optimizer.tell(config, values, std={"error": 0.1})
    optimizer.tell(config, failed=True)
    done, failed = make_records(SPACE, optimizer.trials, optimizer.goals)
    assert (done.value, done.values, done.stds) == (None, values, {"error": 0.1})
    assert (failed.state, failed.value, failed.values) == ("failed", None, {})
    (own,) = with_value([done], "error")
    assert (own.value, own.std) == (1.5, 0.1)
    for key in ("value", "values"):
        assert make_records(SPACE, [{"config": config, key: values}], optimizer.goals)[0].values == values
    with pytest.raises(at.AddTreeError, match="lacks 'memory'"):
        make_records(SPACE, [{"config": config, "value": {"error": 1.0, "speed": 1.0}}], optimizer.goals)


def test_what_is_missing_is_filled_in() -> None:
    pending, failed = make_records(SPACE, [{"config": {"x": 0.5}, "state": "pending"}, {"config": {"m": "a"}}], Goals())
    assert (pending.id, pending.state) == (0, "pending")
    assert (failed.id, failed.state, failed.value) == (1, "failed", None)
    for value in (math.nan, math.inf):  # as for `Optimizer.tell`
        (failed,) = make_records(SPACE, [{"config": {"x": 0.5, "m": "b"}, "value": value}], Goals())
        assert (failed.state, failed.value, failed.values) == ("failed", None, {})


@pytest.mark.parametrize(
    ("trial", "message"),
    [
        ({"config": {"x": 2.0, "m": "b"}, "value": 1.0}, "out of bounds"),
        ({"config": {"x": 0.5, "m": "b"}, "value": math.nan, "state": "done"}, "give a number"),
        ({"config": {"x": 0.5, "m": "b"}, "value": 1.0, "state": "lost"}, "use one of"),
        ({"value": 1.0}, "no configuration"),
    ],
)
def test_invalid_trials_are_refused(trial: dict[str, Any], message: str) -> None:
    with pytest.raises(at.AddTreeError, match=message):
        make_records(SPACE, [trial], Goals())


def test_incomplete_configurations_are_encoded_as_far_as_they_go() -> None:
    encoding = Encoding(SPACE)
    config = {"x": 9.0, "m": "a", "unknown": 1}  # x is out of bounds
    (row,) = encode_records(encoding, [Record(0, config, "failed")])
    np.testing.assert_array_equal(row, [np.nan, 0.0, np.nan])
    assert encode_records(encoding, []).shape == (0, 3)
