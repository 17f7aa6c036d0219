"""The tasks: their samples, their references, and the spaces of YAHPO Gym."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from addtree import Choice
from benchmarks import tasks
from benchmarks.support.files import REFERENCES
from benchmarks.tasks import architecture, options, yahpo

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
    if name.startswith(("cash", "selection")):
        pytest.importorskip("sklearn", reason="the tasks that are computed need scikit-learn")
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


def test_the_fixed_tasks_are_twenty_of_ten_sources() -> None:
    assert len(set(tasks.FIXED)) == 20
    assert set(tasks.FIXED) <= set(tasks.TASKS)
    sources = Counter(name.split("-")[0] if name.startswith("yahpo") else tasks.family(name) for name in tasks.FIXED)
    assert len(sources) == 10
    assert set(sources.values()) == {2}
    assert tasks.matching(["fixed"]) == list(tasks.FIXED)


@pytest.mark.parametrize("n", [2, 6, 30])
def test_the_least_value_of_the_options_is_known(n: int) -> None:
    problem = options.problem(n)
    assert problem.space.n_paths == n
    best = []
    for o in range(n):
        start = {"shared": 0.65, "option": o, f"u{o}": 0.5, f"v{o}": 0.5}
        names = ["shared", f"u{o}", f"v{o}"]
        found = minimize(
            lambda x, start=start, names=names: problem.objective(start | dict(zip(names, x, strict=True))),
            [0.65, 0.5, 0.5],
            bounds=[(0, 1)] * 3,
        )
        best.append(found.fun)
    assert sorted(best) == pytest.approx(np.linspace(0, 1, n), abs=1e-6)


class Middle:
    """An Optuna trial that suggests a given position of every range, and the last of all categories."""

    def __init__(self, position: float) -> None:
        self.position = position

    def suggest_float(self, name: str, low: float, high: float, log: bool = False) -> float:
        p = self.position
        return low * (high / low) ** p if log else low + p * (high - low)

    def suggest_int(self, name: str, low: int, high: int, log: bool = False) -> int:
        return round(self.suggest_float(name, low, high, log))

    def suggest_categorical(self, name: str, labels: list[str]) -> str:
        return labels[-1]


@pytest.mark.parametrize("name", [name for name in tasks.TASKS if name.startswith("dynamic")])
@pytest.mark.parametrize("position", [0.0, 0.37, 1.0])
def test_a_dynamic_range_and_its_positions_mean_the_same(name: str, position: float) -> None:
    task = load(name)
    assert task.program is not None
    config = task.space.validate(task.program(Middle(position)))
    for name in ("x", "y", "min_lr", "max_lr", "gain"):  # a rounded integer has another position
        assert config.get(name, position) == pytest.approx(position)
    assert task.objective(config) >= 0


def test_the_optima_of_the_dynamic_tasks_are_zero() -> None:
    stages, rates, leaves = (load(f"dynamic/{name}").objective for name in ("stages", "rates", "leaves"))
    assert stages({"n": 4, "x": 1.3 / 4, "y": 1.7 / 3.7, "rule": "even", "a": 0.3}) == pytest.approx(0)
    log_rates = {"min_lr": 1.8 / 5, "max_lr": 2.6 / 4.2}
    assert rates(log_rates | {"schedule": "steps", "every": 20, "offset": 0.25}) == pytest.approx(0)
    at_40 = np.log2(20) / 6
    assert leaves({"depth": 7, "leaves": at_40, "growth": "leafwise", "gain": 0.35}) == pytest.approx(0)


def test_a_noisy_task_is_its_base_with_noise() -> None:
    noisy, base = load("noisy/synthetic"), load("function/synthetic")
    assert noisy.space == base.space
    assert noisy.reference == base.reference == 0.1
    assert 0.05 < noisy.noise < 0.2
    assert base.noise == 0


def test_missing_libraries_come_with_the_remedy() -> None:
    with pytest.raises(tasks.MissingDataError, match=r"architecture/x: no-such is not installed; pip install no-such"):
        architecture.require("no_such_library", "no-such", "x")


@pytest.mark.filterwarnings("ignore")  # SBArchOpt's dependencies warn when they are imported
def test_the_tree_of_an_architecture_has_all_valid_combinations() -> None:
    pytest.importorskip("sb_arch_opt", reason="architecture/branin needs sb-arch-opt, from the extra bench")
    space = load("architecture/branin").space
    assert space.n_paths == 50  # SBArchOpt's `HierBranin` has 50 subproblems
    assert len([name for name in space.variables if name in ("x5", "x6", "x7", "x8")]) == 4


def test_patterns_name_tasks() -> None:
    assert tasks.matching(["function/syn*", "function/synthetic"]) == ["function/synthetic"]
    assert len(tasks.matching(["function"])) == 5
    with pytest.raises(ValueError, match="no task matches 'nothing'"):
        tasks.matching(["nothing"])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", architecture.SPACES)
def test_spaces_of_architectures_with_two_objectives_are_those_of_sbarchopt(name: str) -> None:
    hierarchical = pytest.importorskip("sb_arch_opt.problems.hierarchical", reason="it needs sb-arch-opt")
    problem, (space, columns) = getattr(hierarchical, name)(), architecture.SPACES[name]()
    rng = np.random.default_rng(0)
    for _ in range(100):
        config = {columns[key]: value for key, value in space.sample(rng).items()}
        _, active = problem.correct_x(np.array([[config.get(j, 0) for j in range(problem.n_var)]], dtype=float))
        assert set(config) == set(np.flatnonzero(active[0]))
    task = architecture.several_objectives(name)
    values = task.evaluate(space.sample(rng))
    assert set(values) == {*task.objectives, *task.limits}
