"""Tasks: loading a user's file, suggesting a configuration, and evaluating the objective."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import pickle
import py_compile
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

from addtree import Categorical, Choice, Integer, Real, Space, minimize
from addtree.errors import ObjectiveError, TaskError
from addtree.run.goals import Goals
from addtree.study.task import SpaceFile, Task, load_space, load_task, suggest_config, warn_of_unread

SPACE = Space(
    x=Real(1e-3, 1, log=True),
    kind=Categorical([1, 2.5, "three", None]),
    model=Choice(
        {"a": Space(), 2: Space(k=Integer(1, 100, log=True), inner=Choice(yes=Space(y=Real(0, 1)), no=Space()))}
    ),
    n=Integer(1, 3, opens={(2, 3): Space(u=Real(0, 1, step=0.25)), (3, 3): Space(v=Integer(8, 64, step=8))}),
    size=Categorical(["low", "mid", "high"], ordered=True),
    constant=Integer(3, 3),
)


def new_trial() -> optuna.Trial:
    return optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0)).ask()


def evaluate(value: Any) -> float:
    (found,) = Task(lambda config: value, Space(x=Real(0, 1))).evaluate(new_trial(), contextlib.nullcontext()).values()
    return found


GOALS = Goals.read({"error": "min", "speed": "max"}, {"memory": 16.0})


def evaluate_several(value: Any) -> dict[str, float]:
    task = Task(lambda config: value, Space(x=Real(0, 1)), goals=GOALS)
    return task.evaluate(new_trial(), contextlib.nullcontext())


def test_several_values_are_a_dict_in_the_order_of_their_names() -> None:
    values = evaluate_several({"memory": np.float32(2), "speed": 3, "error": 0.5})
    assert list(values.items()) == [("error", 0.5), ("speed", 3.0), ("memory", 2.0)]


@pytest.mark.parametrize("value", [0.5, {"error": 0.5}, {"error": 1, "speed": 1, "memory": 1, "more": 1}, (1, 2, 3)])
def test_a_dict_that_lacks_a_value_or_has_another_is_refused(value: Any) -> None:
    with pytest.raises(ObjectiveError, match="for each of 'error', 'speed', 'memory', and nothing else"):
        evaluate_several(value)


def test_each_of_several_values_must_be_a_finite_number() -> None:
    for bad, message in ((np.nan, "return a finite number"), ("low", "return a number")):
        with pytest.raises(ObjectiveError, match=message):
            evaluate_several({"error": bad, "speed": 1.0, "memory": 1.0})


def test_a_file_declares_objectives_and_constraints(tmp_path: Path) -> None:
    file = tmp_path / "task_with_goals.py"
    text = (
        "import addtree as at\n"
        "space = at.Space(x=at.Real(0, 1))\n"
        "objectives = {'error': 'min', 'speed': 'max'}\n"
        "constraints = {'memory': 16.0}\n"
        "def objective(config): return {}\n"
    )
    file.write_text(text)
    assert load_task(file).goals == load_space(file).goals == GOALS
    file.write_text(text + "noise = {'error': 0.1}\n")
    assert load_task(file).goals.noise == {"error": 0.1}
    file.write_text(text + "reference_point = {'speed': 10, 'error': 0.5}\n")
    for found in (load_task(file), load_space(file)):
        assert found.goals.reference == {"error": 0.5, "speed": 10.0}
        assert found.unread == ()
    for line, message in (
        ("objectives = ['error']", "rename `objectives` if it is something else"),
        ("constraints = {'memory': None}", "rename `constraints` if it is something else"),
        ("noise = 0.1", "rename `noise` if it is something else"),
        ("reference_point = [0.5, 10]", "for each of 'error', 'speed'; rename `reference_point` if it is"),
        ("reference_point = {'error': 0.5}", "for each of 'error', 'speed'; rename `reference_point`"),
        ("maximize = True", "write objectives={name: 'max'}; rename `maximize` if it is something else"),
        ("maximize = 'yes'", "maximize='yes' must be True or False; rename `maximize`"),
        ("cost_aware = 1", "cost_aware=1 must be True or False; rename it if it is something else"),
    ):
        file.write_text(text + line + "\n")
        with pytest.raises(TaskError, match=message):
            load_task(file)


def test_a_file_sets_each_option_of_minimize_or_is_told_that_it_does_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = "import addtree as at\nspace = at.Space(x=at.Real(0, 1))\ndef objective(config): return 0.0\n"
    options = set(inspect.signature(minimize).parameters) - {"objective", "space"}
    read = {"maximize", "objectives", "constraints", "noise", "reference_point", "cost_aware", "initial"}
    file = tmp_path / "task_with_options.py"
    file.write_text(text + "".join(f"{name} = 0\n" for name in sorted(options - read)))
    assert set(load_task(file).unread) == options - read
    warn_of_unread(file, load_task(file).unread)
    assert all(f"`{name}` (" in caplog.text for name in options - read)
    file.write_text(text + "maximize, cost_aware, initial, noise = True, True, [{'x': 0.5}], 0.1\n")
    for found in (load_task(file), load_space(file)):
        assert found.goals == Goals.read(None, None, maximize=True, noise=0.1)
        assert (found.cost_aware, found.initial, found.unread) == (True, ({"x": 0.5},), ())


def test_suggested_configurations_belong_to_the_space() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    seen = set()
    for _ in range(40):
        trial = study.ask()
        config = suggest_config(trial, SPACE)
        assert SPACE.validate(config) == config
        assert trial.params == config
        seen.add((config["model"], config.get("inner")))
    assert seen == {("a", None), (2, "yes"), (2, "no")}


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int64(3), np.array([[3.0]]), Decimal(3), Fraction(3)])
def test_numbers_of_every_type_are_values(value: Any) -> None:
    result = evaluate(value)
    assert result == 3.0
    assert type(result) is float


@pytest.mark.parametrize("value", [None, "low", True, np.bool_(True), 1j, [1.0], np.array([1.0, 2.0])])
def test_other_results_are_refused(value: Any) -> None:
    with pytest.raises(ObjectiveError, match="return a number"):
        evaluate(value)


@pytest.mark.parametrize("value", [float("nan"), -np.inf, 10**400])
def test_values_that_are_not_finite_are_refused(value: Any) -> None:
    with pytest.raises(ObjectiveError, match="return a finite number"):
        evaluate(value)


def test_only_the_objective_runs_inside_the_guard() -> None:
    events: list[str] = []

    @contextlib.contextmanager
    def guard() -> Any:
        events.append("enter")
        yield
        events.append("exit")

    def objective(trial: optuna.Trial) -> float:
        events.append("objective")
        return trial.suggest_float("x", 0, 1)

    Task(objective, None).evaluate(new_trial(), guard())
    assert events == ["enter", "objective", "exit"]


def test_a_file_may_import_its_neighbours_and_its_classes_can_be_pickled(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_task.py").write_text("low = -1.0\n")
    file = tmp_path / "task_with_neighbour.py"
    file.write_text(
        "import addtree as at, neighbour_of_task\n"
        "space = at.Space(x=at.Real(neighbour_of_task.low, 1))\n"
        "class Thing: pass\n"
        "def objective(config): return config['x']\n"
    )
    before = list(sys.path)
    try:
        task = load_task(file)
        assert task.space == Space(x=Real(-1, 1))
        thing = task.objective.__globals__["Thing"]  # type: ignore[attr-defined]
        assert pickle.loads(pickle.dumps(thing)) is thing
    finally:
        sys.modules.pop("task_with_neighbour", None)
        sys.modules.pop("neighbour_of_task", None)
    assert sys.path == before


def test_a_task_must_be_a_python_file(tmp_path: Path) -> None:
    file = tmp_path / "task.txt"
    file.write_text("space = 1\n")
    with pytest.raises(TaskError, match=r"is not a Python file; give one that ends in \.py"):
        load_task(file)


def test_a_space_is_read_from_python_and_from_json(tmp_path: Path) -> None:
    python, stored = tmp_path / "some_space.py", tmp_path / "space.json"
    python.write_text("import addtree as at\nspace = at.Space(x=at.Real(0, 1))\n")
    stored.write_text(json.dumps(SPACE.to_dict()))
    assert load_space(python) == SpaceFile(Space(x=Real(0, 1)))
    assert load_space(stored) == SpaceFile(SPACE)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("missing.py", None, "is not a file"),
        ("empty.py", "", "has no `space`"),
        ("broken.json", "{", "does not describe a space"),
        ("wrong.json", '{"x": {"type": "complex"}}', "does not describe a space"),
    ],
)
def test_files_without_a_space_are_refused(name: str, text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(TaskError, match=message):
        load_space(tmp_path / name)


TEXT = (
    "import addtree as at\nspace = at.Space(x=at.Real(0, 1), k=at.Integer(1, 9))\ndef objective(config): return 0.0\n"
)


def test_the_configurations_to_evaluate_first_are_read(tmp_path: Path) -> None:
    file = tmp_path / "task_with_initial.py"
    file.write_text(TEXT + "initial = [{'x': 0.5, 'k': 3}, {'k': 4}]\n")
    assert load_task(file).initial == load_space(file).initial == ({"x": 0.5, "k": 3}, {"k": 4})
    by_run = tmp_path / "by_run_with_initial.py"
    by_run.write_text("def objective(trial): return 0.0\ninitial = [{'any': 'thing'}]\n")
    assert load_task(by_run).initial == ({"any": "thing"},)


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ("[{'x': 0.5}, {'k': 99}]", r"initial\[1\]: parameter 'k': 99 is out of bounds"),
        ("{'x': 0.5}", "must be a list of configurations"),
    ],
)
def test_a_wrong_list_of_them_is_named_with_its_file(initial: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "task_with_wrong_initial.py"
    file.write_text(TEXT + f"initial = {initial}\n")
    for load in (load_task, load_space):
        with pytest.raises(TaskError, match=rf"task_with_wrong_initial\.py: .*{message}"):
            load(file)


def test_declared_noise_is_read(tmp_path: Path) -> None:
    file = tmp_path / "task_with_noise.py"
    file.write_text(TEXT + "noise = 0.25\n")
    assert load_task(file).goals.noise == load_space(file).goals.noise == {"value": 0.25}


@pytest.mark.parametrize("noise", ["-1.0", "'0.1'", "len"])
def test_wrong_noise_is_named_with_its_file(noise: str, tmp_path: Path) -> None:
    file = tmp_path / "task_with_wrong_noise.py"
    file.write_text(TEXT + f"noise = {noise}\n")
    for load in (load_task, load_space):
        with pytest.raises(TaskError, match=r"task_with_wrong_noise\.py: noise=.* rename `noise`"):
            load(file)


def test_a_file_is_read_as_it_is_now(tmp_path: Path) -> None:
    """Python takes compiled code for current if the source has the same size and the same second."""
    file = tmp_path / "task.py"
    for high in (1, 2):
        file.write_text(f"import addtree as at\nspace = at.Space(x=at.Real(0, {high}))\n")
        os.utime(file, (1e9, 1e9))
        assert load_space(file).space == Space(x=Real(0, high))
        py_compile.compile(str(file))
