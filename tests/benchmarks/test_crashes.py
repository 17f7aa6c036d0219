"""What is found if evaluations crash: `benchmarks.crashes`, and the runs of several values."""

import numpy as np
import pytest

import addtree as at
from addtree.search.policy import Policy
from benchmarks import constraints, crashes, objectives
from benchmarks.crashes import EARLIER, NOW, TPE
from benchmarks.tasks import several
from benchmarks.tasks.task import MultiTask

NAME = "synthetic, a branch"


def test_the_share_of_the_space_that_crashes():
    assert crashes.share(NAME) == pytest.approx(0.5, abs=0.1)
    assert crashes.share("rosenbrock, at random") == pytest.approx(0.3)


@pytest.mark.parametrize("method", [NOW, TPE])
def test_a_run_has_nan_where_it_crashed(method):
    values = crashes.run_problem(NAME, method, 0, 12, "")
    assert len(values) == 12
    assert 0 < np.sum(np.isnan(values)) < 12


def test_crashes_are_counted_and_regrets_are_those_of_the_best(capsys):
    found = {}
    for seed in range(10):
        found[NAME, NOW, seed, 3, ""] = [float("nan"), 0.2, 0.1]
        found[NAME, TPE, seed, 3, ""] = [float("nan"), float("nan"), 0.3 + 0.01 * seed]
        found[NAME, EARLIER, seed, 3, ""] = [float("nan")] * 3
    each = crashes.summaries(found, 10)[NAME]
    assert each[NOW][0].tolist() == [1.0] * 10
    assert each[TPE][1] == pytest.approx(0.2 + 0.01 * np.arange(10))
    assert each[EARLIER][1] == pytest.approx(0.29)
    crashes.print_table(found, 10, 3)
    printed = capsys.readouterr().out
    assert "against TPE, n = 1 problems: 1.0 crashes instead of 2.0 (wanted fewer), significantly less" in printed
    assert printed.count("significantly less / more on 1 / 0") == 4


def test_the_names_of_problems_differ():
    assert len(crashes.CRASHES) == len(crashes.USUAL) + len(crashes.DRAWN) + len(crashes.SELECTION) == 53


def test_hypervolumes_are_scaled_by_the_best_values_and_the_medians():
    runs = {("p", NOW, 0): np.array([[2.0, 2.0], [0.0, 0.0]]), ("p", TPE, 0): np.array([[1.0, 1.0], [1.0, 1.0]])}
    found = objectives.scaled_hypervolumes(runs, np.array([2.0, 2.0]))
    assert found["p", NOW, 0].tolist() == [0.0, 1.0]
    assert found["p", TPE, 0].tolist() == [0.25, 0.25]


def test_runs_without_a_feasible_value_have_the_largest_regret(capsys):
    name = next(iter(constraints.PROBLEMS))
    found = {
        (name, method, s, 20): [*[np.inf] * 9, *[end] * 11]
        for s in range(2)
        for method, end in ((several.NOW, 1.0), (TPE, np.inf))
    }
    found[name, TPE, 1, 20] = [4.0] * 9 + [3.0] * 11
    assert constraints.regrets(found, {name: 2.0})[name, TPE].tolist() == [[np.inf, np.inf], [1.0, 1.0]]
    constraints.print_table(found, {name: 2.0}, 2)
    assert "TPE: at 10 1 of 2 runs feasible, regret 1 (1 to 1)" in capsys.readouterr().out


@pytest.mark.parametrize("method", [several.NOW, TPE, several.NSGA])
def test_each_method_runs_with_several_values(method):
    from addtree.problems import synthetic

    problem = synthetic()

    def evaluate(config):
        return {"value": problem.objective(config), "other": float(len(config)), "x": float(config["x1"])}

    task = MultiTask(problem.space, evaluate, ("value", "other"), {"x": 0.5})
    told = several.run(method, task, 0, 12)
    assert len(told) == 12
    assert {task.is_feasible(values) for values in told} == {True, False}
    assert np.isinf(objectives.losses(task, told)).tolist() == [[v["x"] > 0.5] * 2 for v in told]


def test_the_margin_of_the_reference_point_is_part_of_a_method():
    space = at.Space(x=at.Real(0, 1), c=at.Choice(a=at.Space(y=at.Real(0, 1)), b=at.Space()))
    task = MultiTask(space, lambda c: {"f": c["x"], "g": (1 - c["x"]) ** 2 + c.get("y", 0.5)}, ("f", "g"))
    usual, same, other = (
        several.run(method, task, 0, 12)
        for method in (several.NOW, several.with_margin(Policy().margin), several.with_margin(3.0))
    )
    assert usual == same
    assert usual[:6] == other[:6]  # the initial design
    assert usual != other


def evaluations(name, method, seed, budget):
    """The values of a run that takes no time."""
    return [{"value": seed + i / 3, "size": float(len(method))} for i in range(budget)]


def unavailable(name, method, seed, budget):
    """A run that fails."""
    raise RuntimeError("no run was needed")


def test_runs_that_take_hours_are_kept(tmp_path, capsys):
    kept = tmp_path / "kept.jsonl"
    jobs = [("p", method, seed, 4) for seed in range(2) for method in (several.NOW, several.GP)]
    found = several.collect(evaluations, jobs, 1, kept)
    assert list(found) == jobs
    assert found["p", several.GP, 1, 4] == evaluations("p", several.GP, 1, 4)
    again = several.collect(unavailable, [(*job[:3], 2) for job in jobs], 1, kept)
    assert {job: [values["value"] for values in run] for job, run in again.items()} == {
        ("p", several.GP, 0, 2): [0.0, 0.333333333],
        ("p", several.GP, 1, 2): [1.0, 1.33333333],
    }
    assert "left out: ('p', 'addtree', 0, 2): RuntimeError" in capsys.readouterr().err
    several.collect(evaluations, [("p", several.GP, 0, 6)], 1, kept)  # longer than the one that is kept
    assert len(several.collect(unavailable, [("p", several.GP, 0, 6)], 1, kept)["p", several.GP, 0, 6]) == 6


def test_problems_are_corrected_for_each_method_and_mark(capsys):
    rng = np.random.default_rng(0)
    found = {}
    for name in ("p", "q"):
        found[name, several.NOW] = rng.normal(size=(10, len(several.MARKS)))
        found[name, TPE] = found[name, several.NOW] + rng.uniform(0.1, 1, size=(10, len(several.MARKS)))
    found["q", TPE][:, -1] = found["q", several.NOW][:, -1]
    p_values = several.tests(found)
    assert p_values["p", TPE, 0] == p_values["q", TPE, 0] == pytest.approx(2 * 2 / 2**10)
    assert p_values["q", TPE, len(several.MARKS) - 1] == 1.0
    several.print_verdicts(found, p_values, sign=-1.0)
    said = (
        "significantly better / worse than TPE: 2 / 0 of 2 at 10, 2 / 0 of 2 at 20, 2 / 0 of 2 at 50, 1 / 0 of 2 at 100"
    )
    assert capsys.readouterr().out.strip() == said
    several.print_verdicts(found, p_values, sign=1.0)
    assert "0 / 2 of 2 at 10" in capsys.readouterr().out


def test_means_are_over_the_problems_that_every_method_has():
    pairs = [("p", several.NOW), ("p", TPE), ("q", several.NOW), ("r", TPE), ("r", several.NOW)]
    assert several.with_all_methods(pairs) == ([several.NOW, TPE], ["p", "r"])
