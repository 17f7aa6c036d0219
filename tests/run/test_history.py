"""Earlier studies: reading them, fitting them to another space, and what they change in a run."""

import logging

import numpy as np
import optuna
import pytest

from addtree import Categorical, Choice, Integer, Optimizer, OptionError, Real, Space, minimize
from addtree.run.goals import Objective
from addtree.run.history import MAX_TRIALS, EarlierTask, adapt, read_history
from addtree.search.hypervolume import hypervolumes

SPACE = Space(
    x=Real(0, 1), n=Integer(1, 9), model=Choice(a=Space(y=Real(-1, 1)), b=Space(z=Categorical(["u", "v"])), c=Space())
)


def objective(config):
    """Its optimum is at model a with x = 0.3 and y = 0.5."""
    return (config["x"] - 0.3) ** 2 + {"a": 0.0, "b": 0.5, "c": 1.0}[config["model"]] + abs(config.get("y", 0.5) - 0.5)


def pairs(space=SPACE, n=30, seed=0, value=objective):
    rng = np.random.default_rng(seed)
    return [(config, value(config)) for config in (space.sample(rng) for _ in range(n))]


def study(direction="minimize", n=20):
    sign = 1.0 if direction == "minimize" else -1.0
    made = optuna.create_study(direction=direction, sampler=optuna.samplers.RandomSampler(seed=0))

    def suggest(trial):
        config = {"x": trial.suggest_float("x", 0, 1), "n": trial.suggest_int("n", 1, 9)}
        config["model"] = trial.suggest_categorical("model", ["a", "c"])
        if config["model"] == "a":
            config["y"] = trial.suggest_float("y", -1, 1)
        if trial.number == 7:
            raise optuna.TrialPruned
        return sign * objective(config)

    made.optimize(suggest, n_trials=n)
    return made


# ---------------------------------------------------------------------- reading


def test_every_source_gives_the_same_task(tmp_path):
    optimizer = Optimizer(SPACE, seed=0)
    for config, value in pairs():
        optimizer.tell(config, value)
    optimizer.save(tmp_path / "run.json")
    read = read_history([optimizer, tmp_path / "run.json", str(tmp_path / "run.json"), pairs()], [Objective("value")])
    assert len(read) == 4
    assert {str((task.configs, task.values)) for task in read} == {str((read[0].configs, read[0].values))}
    assert {task.name for task in read} >= {"run.json", "history[0]"}
    assert read[0].values == (tuple(value for _, value in pairs()),)


def test_sources_carry_their_direction_and_pairs_have_that_of_the_new_optimizer():
    optimizer = Optimizer(SPACE, seed=0, maximize=True)
    for config, value in pairs():
        optimizer.tell(config, -value)
    negated = [(config, -value) for config, value in pairs()]
    up, down = study("maximize"), study("minimize")
    for maximize, same in ((True, negated), (False, pairs())):
        tasks = read_history([optimizer, same, up, down], [Objective("value", maximize)])
        assert tasks[0].values == tasks[1].values
        assert tasks[2] == tasks[3]
        assert len(tasks[2].values[0]) == 19  # without the pruned one


def test_a_failed_trial_counts_as_the_worst_and_a_pending_one_not_at_all():
    optimizer = Optimizer(SPACE, seed=0)
    first, second, third, _ = optimizer.ask(4)
    optimizer.tell(first, 3.0)
    optimizer.tell(second, failed=True)
    optimizer.tell(third, 1.0)
    assert read_history([optimizer], [Objective("value")])[0].values == ((3.0, 3.0, 1.0),)
    nothing = read_history([[({"x": 0.5}, None), ({"x": 0.1}, float("nan"))]], [Objective("value", True)])
    assert nothing[0] == EarlierTask((), ((),))


@pytest.mark.parametrize("maximize", [False, True])
def test_a_trial_that_violates_a_constraint_of_its_study_counts_as_the_worst(maximize):
    direction, sign = ("maximize", -1.0) if maximize else ("minimize", 1.0)
    tight = optuna.create_study(direction=direction)
    optimizer = Optimizer(SPACE, maximize=maximize, constraints={"m": 0.0})
    for x, m in ((0.1, 0.0), (0.2, 1.0), (0.5, -1.0)):
        config, value = {"x": x, "n": 1, "model": "c"}, sign * -m
        trial = optuna.create_trial(
            params=config,
            distributions={
                "x": optuna.distributions.FloatDistribution(0, 1),
                "n": optuna.distributions.IntDistribution(1, 9),
                "model": optuna.distributions.CategoricalDistribution(["a", "c"]),
            },
            value=value,
            system_attrs={"constraints:m": m},
        )
        tight.add_trial(trial)
        optimizer.tell(config, {"value": value, "m": m})
    read = read_history([tight, optimizer], [Objective("value")])
    assert read[0] == read[1]
    assert read[0].values == ((0.0, 1.0, 1.0),)


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (3, r"history=3 must be a list of earlier studies"),
        ("run.json", r"history='run.json' must be a list"),
        (Optimizer(SPACE, seed=0), r"must be a list of earlier studies, such as history=\[optimizer\]"),
        ([3], r"history\[0\]=3 is not an earlier study; give an Optimizer, a path"),
        ([({"x": 0.5}, 1.0)], r"history\[0\]\[0\]=.* is not a pair .*history=\[\[\(config, value\), ...\]\]"),
        ([[], [({"x": 0.5}, "low")]], r"history\[1\]\[0\]=\(\{'x': 0.5\}, 'low'\) is not a pair"),
        (
            [pairs(), Optimizer(SPACE, objectives={"a": "min", "b": "max"})],
            r"history\[1\] is a study with 2 objectives \('a', 'b'\), and the new one has 1 \('value'\); give",
        ),
    ],
)
def test_a_wrong_history_is_named(history, message):
    with pytest.raises(OptionError, match=message):
        Optimizer(SPACE, history=history)


def test_a_trial_that_violates_a_constraint_counts_as_the_worst():
    optimizer = Optimizer(SPACE, seed=0, objectives={"error": "max"}, constraints={"memory": 1.0})
    for trial, (error, memory) in zip(optimizer.ask(3), [(3.0, 0.5), (9.0, 2.0), (5.0, 0.0)], strict=True):
        optimizer.tell(trial, {"error": error, "memory": memory})
    assert read_history([optimizer], [Objective("value")])[0].values == ((-3.0, -3.0, -5.0),)
    run = Optimizer(SPACE, seed=0, constraints={"memory": 1.0}, history=[pairs()])
    for _ in range(8):
        trial = run.ask()
        run.tell(trial, {"value": objective(trial.config), "memory": trial.config["x"]})
    assert run.best.value < 0.3


# ---------------------------------------------------------------------- other spaces


def adapted(space, *given):
    return adapt(read_history(given, [Objective("value")]), space.encoding)


def test_the_same_space_keeps_every_configuration_exactly():
    (task,) = adapted(SPACE, pairs())
    assert [*task.configs] == [config for config, _ in pairs()]


def test_what_differs_is_left_out_and_named_in_one_line(caplog):
    other = Space(
        x=Real(0, 0.5),
        n=Categorical(["many", "few"]),
        w=Real(0, 1),
        model=Choice(a=Space(y=Real(-1, 1)), d=Space()),
    )
    with caplog.at_level(logging.WARNING, logger="addtree"):
        (task,) = adapted(other, pairs())
    kept = [(c, v) for c, v in pairs() if c["x"] <= 0.5 and c["model"] == "a"]
    assert len(kept) > 2
    assert task.values == (tuple(v for _, v in kept),)
    for config, (old, _) in zip(task.configs, kept, strict=True):
        assert other.validate(config) == config
        assert (config["x"], config["y"], config["model"]) == (old["x"], old["y"], "a")
    assert len({config["w"] for config in task.configs}) == len(kept)
    (record,) = caplog.records
    assert record.getMessage() == f"history: this was not used: {30 - len(kept)} trials, the parameters 'n', 'z'"


def test_a_parameter_implies_the_options_that_open_it():
    other = Space(kind=Choice(tree=Space(depth=Integer(1, 5)), net=Space(x=Real(0, 1))))
    (task,) = adapted(other, [({"x": 0.1}, 1.0), ({"x": 0.7}, 2.0)])
    assert task.configs == ({"kind": "net", "x": 0.1}, {"kind": "net", "x": 0.7})


def test_numbers_between_the_values_of_a_grid_are_rounded():
    other = Space(x=Real(0, 1, step=0.25), n=Integer(1, 9, step=4))
    (task,) = adapted(other, [({"x": 0.3, "n": 4}, 1.0), ({"x": 0.9, "n": 8.0}, 2.0)])
    assert task.configs == ({"x": 0.25, "n": 5}, {"x": 1.0, "n": 9})


def test_configurations_that_rules_forbid_are_left_out():
    ruled = SPACE.where("x <= 0.5")
    (task,) = adapted(ruled, pairs())
    assert task.values == (tuple(v for c, v in pairs() if c["x"] <= 0.5),)


def test_a_history_that_says_nothing_changes_nothing(caplog):
    plain = Optimizer(SPACE, seed=3)
    with caplog.at_level(logging.WARNING, logger="addtree"):
        other = Optimizer(SPACE, seed=3, history=[[], [({"q": 1.0}, 1.0)], [(c, 1.0) for c, _ in pairs()]])
    assert [t.config for t in plain.ask(12)] == [t.config for t in other.ask(12)]
    assert "history: this was not used: 3 studies with fewer than two different usable values" in caplog.text


def test_of_a_long_study_the_best_trials_and_a_sample_are_used():
    long = pairs(n=500)
    (task,) = adapted(SPACE, long)
    assert len(task.configs) == MAX_TRIALS
    assert set(sorted(v for _, v in long)[:10]) <= set(task.values[0])


# ---------------------------------------------------------------------- runs


def shifted(config):
    """A related problem, in other units."""
    return 100.0 + 20.0 * objective({**config, "x": config["x"] - 0.05})


def test_a_run_with_history_begins_where_the_earlier_one_was_good():
    with_history, without = [], []
    for seed in range(3):
        opt = Optimizer(SPACE, seed=seed, history=[pairs(n=60)])
        first = opt.ask()
        opt.tell(first, shifted(first.config))
        assert first.config["model"] == "a"
        assert shifted(first.config) < 100 + 20 * 0.2
        for _ in range(9):
            trial = opt.ask()
            opt.tell(trial, shifted(trial.config))
        other = Optimizer(SPACE, seed=seed)
        for trial in other.ask(10):
            other.tell(trial, shifted(trial.config))
        with_history.append(opt.best.value)
        without.append(other.best.value)
    assert max(with_history) < 102 < np.median(without)


def test_initial_configurations_come_before_the_portfolio_and_the_design_after_it():
    history = [pairs(seed=s, value=v) for s, v in ((0, objective), (1, lambda config: -objective(config)))]
    portfolio = [t.config for t in Optimizer(SPACE, seed=0, history=history).ask(5)]
    assert {config["model"] for config in portfolio} == {"a", "b", "c"}
    mine = {"x": 0.125, "n": 2, "model": "c"}
    opt = Optimizer(SPACE, seed=0, history=history, initial=[mine], n_initial=8)
    asked = [t.config for t in opt.ask(8)]
    design = [t.config for t in Optimizer(SPACE, seed=0, n_initial=8).ask(8)]
    assert asked[:7] == [mine, *portfolio[:4], design[0], portfolio[4]]
    assert asked[7:] == design[1:2]  # nothing was told that would make the model better than the design


def test_some_rows_of_the_design_are_mixed_in():
    opt = Optimizer(SPACE, seed=0, history=[pairs(n=60)])
    design = [t.config for t in Optimizer(SPACE, seed=0).ask(8)]
    asked = []
    for _ in range(12):
        trial = opt.ask()
        asked.append(trial.config)
        opt.tell(trial, objective(trial.config))
    assert [asked.index(config) for config in design[:2]] == [5, 10]
    assert not [config for config in design[2:] if config in asked]


def test_a_history_that_misleads_leaves_the_start_to_the_design():
    def asked(value):
        """What a run asks whose five earlier studies have the opposite of the objective, and is told this value."""
        history = [[(c, -v) for c, v in pairs(n=60, seed=seed)] for seed in range(5)]
        opt = Optimizer(SPACE, seed=0, history=history)
        for _ in range(16):
            trial = opt.ask()
            opt.tell(trial, value(trial.config))
        return [trial.config for trial in opt.trials]

    misled, believing = asked(objective), asked(lambda config: -objective(config))
    assert misled[:6] == believing[:6]  # five rows of the portfolio, and one of the design
    assert misled[6] != believing[6]  # the last row of the portfolio is left out
    assert believing[6] not in misled
    design = [t.config for t in Optimizer(SPACE, seed=0).ask(6)]
    assert all(config in misled for config in design)
    assert not all(config in believing for config in design)


def test_misleading_history_does_not_ruin_a_run():
    best = minimize(objective, SPACE, 30, seed=0, history=[[(c, -v) for c, v in pairs(n=60)]]).best_value
    assert best < 0.03


@pytest.mark.parametrize("asked", [0, 1, 6])
def test_a_loaded_run_with_history_continues_as_the_saved_one(tmp_path, asked):
    opt = Optimizer(SPACE, seed=0, maximize=True, history=[pairs(), study("maximize")])
    for _ in range(asked):
        trial = opt.ask()
        opt.tell(trial, -objective(trial.config))
    opt.save(tmp_path / "run.json")
    again = Optimizer.load(tmp_path / "run.json")
    for _ in range(4):
        one, two = opt.ask(), again.ask()
        assert one.config == two.config
        opt.tell(one, -objective(one.config))
        again.tell(two, -objective(two.config))
    assert opt.predict(one.config) == again.predict(one.config)


@pytest.mark.parametrize("acquisition", ["logei", "ucb", "thompson"])
@pytest.mark.parametrize("covariance", ["additive", "additive+interactions", "independent"])
def test_history_works_with_every_model_and_acquisition(covariance, acquisition):
    opt = Optimizer(SPACE, seed=0, covariance=covariance, acquisition=acquisition, history=[pairs()])
    for _ in range(8):
        trial = opt.ask()
        opt.tell(trial, objective(trial.config))
    assert opt.best.value < 0.5


# ---------------------------------------------------------------------- several objectives

TWO = {"loss": "min", "y": "max"}


def both(config):
    """The second objective is best at y = 1, and bad in the other models."""
    return {"loss": objective(config), "y": config.get("y", -1.0)}


def two_objectives(n=40, seed=0):
    optimizer = Optimizer(SPACE, seed=seed, objectives=TWO)
    for config, values in pairs(n=n, seed=seed, value=both):
        optimizer.tell(config, values)
    return optimizer


def two_objective_study(names=None):
    made = optuna.create_study(directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=0))
    if names is not None:
        with pytest.warns(optuna.exceptions.ExperimentalWarning):
            made.set_metric_names(names)

    def suggest(trial):
        config = {"x": trial.suggest_float("x", 0, 1), "n": trial.suggest_int("n", 1, 9), "model": "a"}
        config["model"] = trial.suggest_categorical("model", ["a", "c"])
        if config["model"] == "a":
            config["y"] = trial.suggest_float("y", -1, 1)
        return [both(config)[name] for name in names or TWO]

    made.optimize(suggest, n_trials=12)
    return made


def test_objectives_are_found_by_name_and_those_without_names_by_position(tmp_path):
    optimizer = two_objectives()
    optimizer.save(tmp_path / "two.json")
    by_name = pairs(n=40, value=both)
    by_position = [(config, list(values.values())) for config, values in by_name]
    objectives = [Objective("loss"), Objective("y", True)]
    read = read_history([optimizer, tmp_path / "two.json", by_name, by_position], objectives)
    assert [task.values for task in read] == [read[0].values] * 4
    assert read[0].values == (tuple(v["loss"] for _, v in by_name), tuple(-v["y"] for _, v in by_name))
    swapped = read_history([optimizer], objectives[::-1])
    assert swapped[0].values == read[0].values[::-1]
    named, unnamed = two_objective_study(list(TWO)), two_objective_study()
    assert read_history([named], objectives)[0].values == read_history([unnamed], objectives)[0].values
    assert read_history([named], objectives[1:])[0].values == (read_history([named], objectives)[0].values[1],)


def test_a_study_with_several_objectives_serves_a_run_that_has_one_of_them():
    assert read_history([two_objectives()], [Objective("y", True)])[0].values == (
        tuple(-v["y"] for _, v in pairs(n=40, value=both)),
    )
    assert Optimizer(SPACE, seed=0, objectives={"y": "max"}, history=[two_objectives()]).ask().config["model"] == "a"


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ([pairs()], r"history\[0\]\[0\] has the value 1.58.*; give a number for each objective: 'loss', 'y'"),
        ([[({"x": 0.5}, {"loss": 1.0})]], r"history\[0\]\[0\] has the value \{'loss': 1.0\}; give a number for each"),
        ([[({"x": 0.5}, [1.0, 2.0, 3.0])]], r"history\[0\]\[0\] has the value \[1.0, 2.0, 3.0\]; give a number"),
        ([study()], r"no-name-.* is a study with 1 objective, and the new one has 2 \('loss', 'y'\); give studies"),
        (
            [Optimizer(SPACE, objectives={"loss": "min", "time": "min"})],
            r"history\[0\] is a study with 2 objectives \('loss', 'time'\), and the new one has 2 \('loss', 'y'\)",
        ),
    ],
)
def test_a_history_without_the_objectives_of_the_run_is_refused(history, message):
    with pytest.raises(OptionError, match=message):
        Optimizer(SPACE, objectives=TWO, history=history)


def test_failures_and_violations_count_as_the_worst_in_every_objective():
    optimizer = Optimizer(SPACE, seed=0, objectives=TWO, constraints={"memory": 1.0})
    first, second, third = optimizer.ask(3)
    optimizer.tell(first, {"loss": 1.0, "y": 0.5, "memory": 0.0})
    optimizer.tell(second, {"loss": 0.0, "y": 0.9, "memory": 2.0})
    optimizer.tell(third, {"loss": 2.0, "y": 0.7, "memory": 1.0})
    (task,) = read_history([optimizer], optimizer.goals.objectives)
    assert task.values == ((1.0, 2.0, 2.0), (-0.5, -0.5, -0.7))


def test_a_run_with_several_objectives_begins_with_a_good_row_for_each():
    opt = Optimizer(SPACE, seed=0, objectives=TWO, history=[two_objectives(60, seed) for seed in (1, 2)])
    for _ in range(10):
        trial = opt.ask()
        opt.tell(trial, both(trial.config))
    started = [t for t in opt.trials[:5] if t.config["model"] == "a"]
    assert min(t.values["loss"] for t in started) < 0.2
    assert max(t.values["y"] for t in started) > 0.8
    plain = Optimizer(SPACE, seed=0, objectives=TWO)
    for _ in range(10):
        trial = plain.ask()
        plain.tell(trial, both(trial.config))
    reference = np.array([2.0, 1.0])
    found = [
        hypervolumes(np.array([[t.values["loss"], -t.values["y"]] for t in o.trials]), reference) for o in (opt, plain)
    ]
    assert found[0][4] > found[1][4]
    assert found[0][-1] > found[1][-1]


def test_a_loaded_run_with_a_history_of_several_objectives_continues(tmp_path):
    opt = Optimizer(SPACE, seed=0, objectives=TWO, history=[two_objectives()])
    for _ in range(7):
        trial = opt.ask()
        opt.tell(trial, both(trial.config))
    opt.save(tmp_path / "run.json")
    again = Optimizer.load(tmp_path / "run.json")
    for _ in range(3):
        assert opt.ask().config == again.ask().config


def test_a_history_that_misleads_in_every_objective_is_not_believed():
    negated = [(config, {name: -value for name, value in values.items()}) for config, values in pairs(n=60, value=both)]
    opt = Optimizer(SPACE, seed=0, objectives=TWO, history=[negated])
    for _ in range(20):
        trial = opt.ask()
        opt.tell(trial, both(trial.config))
    assert min(t.values["loss"] for t in opt.pareto) < 0.1
