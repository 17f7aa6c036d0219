"""The tasks: their samples, their references, and the spaces of YAHPO Gym."""

import json
from pathlib import Path

import numpy as np
import pytest

from addtree import Choice
from benchmarks import tasks, yahpo
from benchmarks.files import REFERENCES

FORM = {
    "hyperparameters": [
        {"name": "booster", "type": "categorical", "choices": ["linear", "tree", "dart"]},
        {"name": "rate", "type": "uniform_float", "lower": 0.1, "upper": 1.0, "log": True},
        {"name": "depth", "type": "uniform_int", "lower": 1, "upper": 9, "log": False},
        {"name": "drop", "type": "uniform_float", "lower": 0.0, "upper": 1.0, "log": False},
        {"name": "task_id", "type": "categorical", "choices": ["3"]},
    ],
    "conditions": [
        {"child": "depth", "parent": "booster", "type": "IN", "values": ["tree", "dart"]},
        {"child": "drop", "parent": "booster", "type": "EQ", "value": "dart"},
    ],
}


def load(name: str) -> tasks.Task:
    try:
        return tasks.load(name)
    except tasks.MissingDataError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", tasks.TASKS)
def test_samples_validate_and_evaluate(name: str) -> None:
    if name.startswith("cash"):
        pytest.importorskip("sklearn", reason="the cash tasks need scikit-learn")
    task = load(name)
    rng = np.random.default_rng(0)
    for _ in range(2):
        config = task.space.validate(task.space.sample(rng))
        value = task.objective(config)
        assert np.isfinite(value)
        assert value == task.objective(config)
        assert task.reference is None or not task.exact or value >= task.reference


@pytest.mark.parametrize("name", [name for name in tasks.TASKS if name.startswith("yahpo")])
def test_references_are_what_their_configurations_give(name: str) -> None:
    task = load(name)
    entry = json.loads(REFERENCES.read_text())[name]
    assert task.objective(task.space.validate(entry["config"])) == pytest.approx(entry["value"], rel=1e-4)


def test_every_task_has_a_reference() -> None:
    assert [name for name in tasks.TASKS if tasks.reference(name) is None] == []


def test_several_choices_in_one_node_are_represented() -> None:
    several = []
    for name in tasks.matching(["function", "cash"]):
        nodes = tasks.load(name).space.nodes
        several += [name] * any(len(node.choices) > 1 for node in nodes)
    assert len(several) >= 3


def test_a_parameter_under_two_options_is_shared() -> None:
    space = yahpo.read_space(FORM, without={"task_id"})
    assert list(space.variables) == ["booster", "rate", "depth", "drop"]
    booster = space.children["booster"]
    assert isinstance(booster, Choice)
    assert [list(sub.children) for sub in booster.spaces] == [[], ["depth"], ["depth", "drop"]]
    assert space.conditions["depth"] == ((("booster", 1),), (("booster", 2),))


def test_conditions_on_two_independent_choices_are_refused() -> None:
    both = {
        "hyperparameters": [
            {"name": "a", "type": "categorical", "choices": ["0", "1"]},
            {"name": "b", "type": "categorical", "choices": ["0", "1"]},
            {"name": "x", "type": "uniform_float", "lower": 0, "upper": 1, "log": False},
        ],
        "conditions": [
            {
                "child": "x",
                "type": "AND",
                "conditions": [
                    {"child": "x", "parent": "a", "type": "EQ", "value": "1"},
                    {"child": "x", "parent": "b", "type": "EQ", "value": "1"},
                ],
            }
        ],
    }
    with pytest.raises(ValueError, match="several independent choices"):
        yahpo.read_space(both, without=set())


def test_missing_data_come_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADDTREE_DATA", raising=False)
    with pytest.raises(tasks.MissingDataError, match="ADDTREE_DATA is not set; clone"):
        yahpo.folder("rbv2_svm")
    monkeypatch.setenv("ADDTREE_DATA", str(tmp_path))
    with pytest.raises(tasks.MissingDataError, match=r"has no model\.onnx; clone"):
        yahpo.folder("rbv2_svm")


def test_patterns_name_tasks() -> None:
    assert tasks.matching(["function/syn*", "function/synthetic"]) == ["function/synthetic"]
    assert len(tasks.matching(["function"])) == 5
    with pytest.raises(ValueError, match="no task matches 'nothing'"):
        tasks.matching(["nothing"])
