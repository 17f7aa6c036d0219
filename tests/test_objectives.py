"""Several objectives and constraints in `Optimizer`: what is told, what is known, and what is suggested."""

import math

import numpy as np
import pytest

import addtree as at
from addtree.errors import AddTreeError, OptionError, TrialError
from addtree.optimizer import Optimizer

SPACE = at.Space(
    x=at.Real(0, 1),
    m=at.Choice(a=at.Space(y=at.Real(0, 1)), b=at.Space(z=at.Real(0, 1), w=at.Real(0, 1))),
)
TWO = {"f": "min", "g": "max"}


def losses(config):
    """Two losses that compete; each branch has a part of the front."""
    x, y = config["x"], config.get("y", config.get("z", 0.0))
    extra = config.get("w", 0.0) ** 2
    return (x**2 + y**2 + extra + 0.05 * (config["m"] == "b"), (x - 1) ** 2 + (y - 0.5) ** 2 + extra)


def two(config):
    f, g = losses(config)
    return {"f": f, "g": -g}


def run(optimizer, n, objective=two):
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.config))
    return optimizer


def says(caught, *words):
    for word in words:
        assert word in str(caught.value)


# ---------------------------------------------------------------------- telling


def test_values_are_told_by_name():
    optimizer = Optimizer(SPACE, seed=0, objectives=TWO, constraints={"memory": 16.0})
    trial = optimizer.ask()
    assert trial.values == {}
    told = optimizer.tell(trial, {"memory": 12, "f": 0.5, "g": np.float32(2.0)}, std={"f": 0.1})
    assert told.values == {"f": 0.5, "g": 2.0, "memory": 12.0}
    assert told.stds == {"f": 0.1}
    told.values["f"] = 9.0
    assert optimizer.trials[0].values["f"] == 0.5
    assert "values={'f': 0.5, 'g': 2.0, 'memory': 12.0}" in repr(told)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.3, ("0.3 is not a dict", "'f', 'g', 'memory'")),
        (None, ("is not a dict",)),
        ({"f": 1.0, "g": 2.0}, ("lacks 'memory'", "'f', 'g', 'memory'")),
        ({"f": 1.0, "g": 2.0, "memory": 3.0, "Memory": 4.0}, ("'Memory' is not one of", "leave it out")),
        ({"f": 1.0, "g": "2", "memory": 3.0}, ("'2' of 'g' is not a number", "failed=True")),
        ({"f": 1.0, "g": None, "memory": 3.0}, ("None of 'g' is not a number",)),
    ],
)
def test_wrong_values_raise_and_leave_the_trial_pending(value, words):
    optimizer = Optimizer(SPACE, seed=0, objectives=TWO, constraints={"memory": 16.0})
    trial = optimizer.ask()
    with pytest.raises(TrialError) as caught:
        optimizer.tell(trial, value)
    says(caught, *words)
    assert optimizer.trials == [trial]


@pytest.mark.parametrize("std", [0.1, {"h": 0.1}, {"f": -1.0}, {"f": "x"}])
def test_wrong_standard_errors_raise(std):
    optimizer = Optimizer(SPACE, seed=0, objectives=TWO)
    with pytest.raises(TrialError, match="std"):
        optimizer.tell(optimizer.ask(), {"f": 1.0, "g": 2.0}, std=std)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["f", "g", "memory"])
def test_one_value_that_is_not_finite_makes_the_trial_failed(name, bad):
    optimizer = Optimizer(SPACE, seed=0, objectives=TWO, constraints={"memory": 16.0})
    told = optimizer.tell(optimizer.ask(), {"f": 1.0, "g": 2.0, "memory": 3.0} | {name: bad})
    assert (told.state, told.values) == ("failed", {})


def test_a_failure_takes_no_value():
    optimizer = Optimizer(SPACE, seed=0, objectives=TWO)
    trial = optimizer.ask()
    with pytest.raises(TrialError, match="failed=True takes no value"):
        optimizer.tell(trial, {"f": 1.0, "g": 2.0}, failed=True)
    with pytest.raises(TrialError, match="failed=True takes no value, got 7"):
        Optimizer(SPACE, seed=0).tell(Optimizer(SPACE, seed=0).space.sample(np.random.default_rng(0)), 7, failed=True)
    assert optimizer.tell(trial, failed=True).state == "failed"


def test_a_float_is_enough_for_one_objective():
    plain, named = Optimizer(SPACE, seed=0), Optimizer(SPACE, seed=0, objectives={"error": "max"})
    assert plain.tell(plain.ask(), 1.5).values == {"value": 1.5}
    assert named.tell(named.ask(), 1.5).values == {"error": 1.5}
    assert named.tell(named.ask(), {"error": 2.5}).value == 2.5
    assert (named.maximize, named.best.value) == (True, 2.5)
    constrained = Optimizer(SPACE, seed=0, constraints={"memory": 16.0})
    with pytest.raises(TrialError, match="'value', 'memory'"):
        constrained.tell(constrained.ask(), 1.5)
    assert constrained.tell(constrained.ask(), {"value": 1.5, "memory": 1.0}).value == 1.5


def test_one_named_objective_is_the_run_without_names():
    one = Optimizer(SPACE, seed=3, maximize=True, n_initial=4)
    other = Optimizer(SPACE, seed=3, objectives={"g": "max"}, n_initial=4)
    for optimizer in (one, other):
        run(optimizer, 8, lambda config: -losses(config)[0])
    assert [t.config for t in one.trials] == [t.config for t in other.trials]


# ---------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objectives": TWO, "maximize": True}, ("maximize=True", "objectives={name: 'max'}")),
        ({"objectives": {}}, ("objectives={}", "such as {'error': 'min'}")),
        ({"objectives": ["f"]}, ("objectives=['f']",)),
        ({"objectives": {"f": "down"}}, ("'down'", "'min' or 'max'")),
        ({"objectives": {3: "min"}}, ("the name 3 must be a string",)),
        ({"constraints": [16]}, ("constraints=[16]", "such as {'memory': 16.0}")),
        ({"constraints": {"c": "16"}}, ("'c' needs an upper bound, or a pair (low, high)",)),
        ({"constraints": {"c": (1, 2, 3)}}, ("'c' needs an upper bound",)),
        ({"constraints": {"c": (2, 1)}}, ("low < high",)),
        ({"constraints": {"c": math.nan}}, ("low < high",)),
        ({"constraints": {"c": math.inf}}, ("at least one of them finite",)),
        ({"constraints": {"value": 1.0}}, ("'value' is the name of an objective",)),
        ({"objectives": TWO, "noise": 0.1}, ("noise=0.1 is not a dict", "'f', 'g'")),
        ({"objectives": TWO, "noise": {"h": 0.1}}, ("'h' is not one of 'f', 'g'",)),
        ({"objectives": TWO, "noise": {"f": -0.1}}, ("noise['f']=-0.1",)),
        ({"objectives": TWO, "reference_point": {"f": 1.0}}, ("reference_point=", "each of 'f', 'g'")),
        ({"objectives": TWO, "reference_point": {"f": 1.0, "g": math.inf}}, ("a finite number for each",)),
        ({"reference_point": {"value": 1.0}}, ("is for several objectives",)),
        ({"objectives": TWO, "acquisition": "ucb"}, ("acquisition='ucb'", "use acquisition='logei'")),
        ({"constraints": {"c": 1.0}, "acquisition": "thompson"}, ("for one objective without constraints",)),
        ({"objectives": TWO, "acquisition": "additive-ucb"}, ("use acquisition='logei'",)),
    ],
    ids=str,
)
def test_wrong_goals_raise(options, words):
    with pytest.raises(OptionError) as caught:
        Optimizer(SPACE, **options)
    says(caught, *words)


# ---------------------------------------------------------------------- what is known


def test_with_several_objectives_there_is_no_single_best():
    optimizer = run(Optimizer(SPACE, seed=0, objectives=TWO), 4)
    asked = {"best": lambda: optimizer.best}
    asked |= {r"recommend\(\)": optimizer.recommend, r"expected_gain\(\)": optimizer.expected_gain}
    for name, ask in asked.items():
        with pytest.raises(AddTreeError, match=f"^{name} needs one objective, and there are 2; use pareto"):
            ask()
    with pytest.raises(TrialError, match=r"2 objectives and no single value; use trial.values\['f'\]"):
        _ = optimizer.trials[0].value
    with pytest.raises(TrialError, match=r"use trial.stds\['f'\]"):
        _ = optimizer.trials[0].std
    with pytest.raises(OptionError, match="name=None must be one of 'f', 'g'"):
        optimizer.predict(optimizer.trials[0].config)


def told(values, **options):
    """An optimizer that was told these values, at random configurations."""
    optimizer, rng = Optimizer(SPACE, seed=0, **options), np.random.default_rng(0)
    for value in values:
        optimizer.tell(SPACE.sample(rng), value)
    return optimizer


def test_the_front_is_what_no_feasible_trial_dominates():
    values = [(3, 1, 0), (1, 3, 0), (3, 3, 0), (4, 4, 9), (2, 0, 0), (3, 1, 0), (3, 3, -1)]
    optimizer = told(
        [{"f": f, "g": g, "c": c} for f, g, c in values], objectives={"f": "max", "g": "max"}, constraints={"c": (0, 5)}
    )
    assert [trial.id for trial in optimizer.pareto] == [2]
    wider = told([{"f": f, "g": g} for f, g, _ in values], objectives=TWO)
    assert [trial.id for trial in wider.pareto] == [1, 3]
    assert told([], objectives=TWO).pareto == []


def test_with_one_objective_the_front_is_the_best_with_ties():
    assert [t.id for t in told([2.0, 1.0, 3.0, 1.0]).pareto] == [1, 3]
    assert [t.id for t in told([2.0, 1.0, 3.0, 3.0], maximize=True).pareto] == [2, 3]


def test_the_best_is_feasible():
    values = [{"value": 5.0, "c": 1.0}, {"value": 1.0, "c": 3.0}, {"value": 4.0, "c": 2.0}]
    optimizer = told(values, constraints={"c": 2.0})
    assert (optimizer.best.id, optimizer.recommend().id) == (2, 2)
    assert [t.id for t in optimizer.pareto] == [2]
    assert told(values, constraints={"c": (2.5, None)}).best.id == 1
    assert told(values, constraints={"c": (1.5, 2.5)}).best.id == 2


def test_if_nothing_is_feasible_the_error_says_what_to_do():
    optimizer = told([{"value": 5.0, "c": 9.0}, {"value": 1.0, "c": 3.0}], constraints={"c": 2.0})
    for ask in (lambda: optimizer.best, optimizer.recommend):
        with pytest.raises(AddTreeError, match="no trial keeps the constraints yet") as caught:
            ask()
        says(caught, "ask for more trials, or relax", "trial 1 comes nearest")
    assert optimizer.pareto == []


@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e300])
def test_the_trial_that_comes_nearest_does_not_depend_on_units(unit):
    opt = Optimizer(SPACE, seed=0, constraints={"bytes": 1e7, "ratio": (0.5 * unit, None)})
    for size, ratio in ((1.01e7, 0.1), (1.02e7, 0.45), (3e7, 0.46)):
        opt.tell(opt.ask(), {"value": 0.0, "bytes": size, "ratio": ratio * unit})
    with pytest.raises(AddTreeError, match="trial 1 comes nearest"):
        _ = opt.best


def test_hypervolumes_are_those_of_the_trials_so_far():
    values = [{"f": 2.0, "g": 1.0}, {"f": 9.0, "g": 9.0}, {"f": 1.0, "g": 2.0}, {"f": 1.5, "g": 1.5}]
    optimizer = told(values, objectives={"f": "min", "g": "min"}, constraints=None)
    optimizer.tell(SPACE.sample(np.random.default_rng(5)), failed=True)
    assert optimizer.hypervolumes({"f": 3.0, "g": 3.0}) == pytest.approx([2.0, 2.0, 3.0, 3.25, 3.25])
    assert optimizer.hypervolumes() == pytest.approx([0.11, 0.11, 0.21, 0.46, 0.46])
    maximized = told([{"f": -v["f"], "g": v["g"]} for v in values], objectives={"f": "max", "g": "min"})
    assert maximized.hypervolumes({"f": -3.0, "g": 3.0}) == pytest.approx([2.0, 2.0, 3.0, 3.25])
    with pytest.raises(OptionError, match="reference_point"):
        optimizer.hypervolumes({"f": 3.0})


def test_each_value_is_predicted_in_its_units():
    optimizer = run(Optimizer(SPACE, seed=0, objectives=TWO, constraints={"c": (0.5, None)}), 25, three)
    trial = optimizer.trials[12]
    for name in ("f", "g", "c"):
        mean, std = optimizer.predict(trial.config, name=name)
        assert mean == pytest.approx(trial.values[name], abs=0.02)
        assert std < 0.1


def three(config):
    return two(config) | {"c": config["x"]}


# ---------------------------------------------------------------------- suggestions


def test_two_objectives_find_a_better_front_than_chance():
    reference = {"f": 2.0, "g": -2.0}
    found = run(Optimizer(SPACE, seed=1, objectives=TWO), 30).hypervolumes(reference)[-1]
    rng = np.random.default_rng(1)
    chance = Optimizer(SPACE, seed=0, objectives=TWO)
    for _ in range(100):
        config = SPACE.sample(rng)
        chance.tell(config, two(config))
    assert found > chance.hypervolumes(reference)[-1]


def test_a_minimum_on_the_boundary_of_a_constraint_is_found():
    """min x² + y² with (x - 1)² + (y - ½)² <= 0.3: the nearest point of a disc."""

    def objective(config):
        f, g = losses(config)
        return {"value": f, "c": g}

    optimizer = run(Optimizer(SPACE, seed=0, constraints={"c": 0.3}), 35, objective)
    assert optimizer.best.value == pytest.approx((math.sqrt(1.25) - math.sqrt(0.3)) ** 2, abs=2e-3)
    assert optimizer.best.values["c"] <= 0.3
    assert 0.0 <= optimizer.expected_gain() < 0.05


@pytest.mark.parametrize("bounds", [0.06, (0.94, None), (0.46, 0.5)])
def test_a_small_feasible_region_is_found(bounds):
    optimizer = Optimizer(SPACE, seed=0, constraints={"c": bounds}, n_initial=6)
    run(optimizer, 16, lambda config: {"value": 1.0, "c": config["x"]})
    assert optimizer.best


def test_suggestions_at_once_differ_and_count_as_pending():
    optimizer = run(Optimizer(SPACE, seed=0, objectives=TWO, constraints={"c": (0.2, None)}), 12, three)
    trials = optimizer.ask(4)
    X = SPACE.encoding.encode([trial.config for trial in trials])
    assert len(set(SPACE.encoding.keys(X))) == 4
    for trial in trials[::-1]:
        optimizer.tell(trial, three(trial.config))
    assert optimizer.ask().state == "pending"


@pytest.mark.parametrize("options", [{}, {"noise": {"f": 0.1}}, {"reference_point": {"f": 1.0, "g": -1.0}}], ids=str)
def test_a_saved_run_continues(options, tmp_path):
    whole, part = (
        Optimizer(SPACE, seed=5, n_initial=5, objectives=TWO, constraints={"c": (0.2, 0.9)}, **options)
        for _ in range(2)
    )
    for i in range(11):
        for optimizer in (whole, part):
            trial = optimizer.ask()
            if i % 4 == 2:
                optimizer.tell(trial, failed=True)
            elif i != 7:
                optimizer.tell(trial, three(trial.config), std={"g": 0.01})
        part.save(tmp_path / "run.json")
        part = Optimizer.load(tmp_path / "run.json")
    assert part.trials == whole.trials
    assert part.options == whole.options


def test_a_part_of_the_configuration_may_be_given():
    optimizer = run(Optimizer(SPACE, seed=0, objectives=TWO, constraints={"c": (0.2, None)}), 12, three)
    for turn in range(1, 5):
        config = optimizer.suggest(turn, fixed={"m": "b", "w": 0.25})
        assert (config["m"], config["w"]) == ("b", pytest.approx(0.25))


def test_constant_and_wild_values_do_no_harm():
    values = [{"f": 1.0, "g": v, "c": 0.0} for v in (1e300, -1e300, 1e-300, 5.0)] + [{"f": 1.0, "g": 5.0, "c": 0.0}] * 4
    optimizer = told(values, objectives=TWO, constraints={"c": 0.0}, n_initial=1)
    SPACE.validate(optimizer.ask().config)
    assert all(map(math.isfinite, optimizer.hypervolumes()))


@pytest.mark.parametrize("bounds", [1e300, -1e300, (-1e-300, 1e300), (1.0, None)])
@pytest.mark.parametrize(("size", "std"), [(1e-320, None), (1.0, None), (1e-150, 1e300)])
def test_bounds_and_errors_far_from_the_values_do_no_harm(bounds, size, std):
    optimizer = Optimizer(SPACE, seed=0, constraints={"c": bounds}, n_initial=1)
    for k in range(5):
        optimizer.tell(optimizer.ask(), {"value": size * k, "c": size * (k % 3)}, std={"c": std})
    SPACE.validate(optimizer.ask().config)
    assert all(map(math.isfinite, optimizer.predict(optimizer.trials[0].config, name="c")))


@pytest.mark.parametrize("size", [1e300, 1.7e308])
def test_the_hypervolume_of_huge_values_is_infinite_without_a_warning(size):
    values = [{"f": size * f, "g": size * g} for f, g in ((-1.0, -1.0), (1.0, 1.0), (0.0, 0.0), (0.5, -0.5))]
    optimizer = told(values, objectives=TWO, n_initial=1)
    assert optimizer.hypervolumes()[-1] == math.inf
    SPACE.validate(optimizer.ask().config)
    assert "3 trials on the front" in repr(optimizer)
    assert "svg" not in optimizer._repr_html_()


def test_a_single_trial_on_the_front():
    optimizer = told([{"f": 1.0, "g": 1.0}], objectives=TWO)
    assert repr(optimizer) == "<Optimizer: 1 trial; 1 trial on the front: 0>"


# ---------------------------------------------------------------------- minimize


def test_minimize_takes_objectives_and_constraints(tmp_path):
    options = {"objectives": TWO, "constraints": {"c": (0.2, None)}, "seed": 0, "resume": tmp_path / "run.json"}
    result = at.minimize(three, SPACE, 12, **options)
    assert [t.id for t in result.pareto] == [t.id for t in result.optimizer.pareto]
    assert all(trial.values["c"] >= 0.2 for trial in result.pareto)
    assert f"{len(result.pareto)} trials on the front" in repr(result)
    assert "hypervolume of the front by trial" in result._repr_html_()
    with pytest.raises(AddTreeError, match="use pareto"):
        _ = result.best_value
    assert len(at.minimize(three, SPACE, 14, **options).trials) == 14
    with pytest.raises(OptionError, match="constraints="):
        at.minimize(three, SPACE, 14, **options | {"constraints": {"c": (0.3, None)}})


def test_the_table_has_a_column_for_each_value():
    pytest.importorskip("pandas")
    table = at.minimize(three, SPACE, 3, objectives=TWO, constraints={"c": 1.0}, seed=0).to_dataframe()
    assert list(table.columns[:4]) == ["state", "f", "g", "c"]
    assert table.loc[1, "c"] == table.loc[1, "x"]


@pytest.mark.parametrize("wrong", [1.0, {"f": 1.0}, {"f": 1.0, "g": math.nan}])
def test_an_objective_that_returns_too_little_fails(wrong):
    with pytest.raises(AddTreeError, match="all failed for the same reason"):
        at.minimize(lambda config: wrong, SPACE, 8, objectives=TWO, seed=0)


def test_the_plot_shows_the_front():
    pytest.importorskip("plotly")
    result = at.minimize(two, SPACE, 8, objectives=TWO, seed=0)
    front = [trace for trace in result.plot().data if trace.mode == "markers" and trace.marker.size == 12]
    shown = {i for trace in front for i in trace.customdata}
    assert shown == {trial.id for trial in result.pareto}


def test_the_report_of_several_objectives(tmp_path):
    pytest.importorskip("plotly")
    at.minimize(two, SPACE, 3, objectives=TWO, seed=0).report(tmp_path / "report.html")
    assert 'id="front"' in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_progress_tells_the_size_of_the_front(capfd):
    at.minimize(two, SPACE, 2, objectives=TWO, seed=0, progress=True)
    shown = capfd.readouterr()
    assert "on the front" in shown.out + shown.err
