"""Initial configurations and fixed values of `Optimizer` and `minimize`."""

import numpy as np
import pytest

import addtree as at
from addtree.errors import ConfigError, OptionError
from addtree.optimizer import Optimizer
from tests.test_optimizer import ACQUISITIONS, PAPER, SPACE, objective, run, says

WHOLE = [{"x": 0.1 + 0.2, "model": "c"}, {"x": 0.25, "model": "b", "z": "v", "shared": 3}]


@pytest.mark.parametrize("settings", [{}, PAPER, {"noise": 0.1}], ids=str)
def test_initial_configurations_are_asked_first_in_order_exactly_as_given(settings):
    optimizer = Optimizer(SPACE, seed=0, n_initial=4, initial=WHOLE, **settings)
    configs = run(optimizer, 12)
    assert configs[:2] == WHOLE
    assert all(SPACE.validate(config) for config in configs)
    assert len({str(config) for config in configs}) == 12


def test_without_initial_configurations_nothing_changes():
    assert run(Optimizer(SPACE, seed=3), 12) == run(Optimizer(SPACE, seed=3, initial=[]), 12)


def test_partial_configurations_are_completed_by_the_design():
    optimizer = Optimizer(SPACE, seed=0, initial=[{"z": "v"}, {"x": 0.25}, {"shared": 2}, {}])
    configs = [trial.config for trial in optimizer.ask(6)]
    assert (configs[0]["model"], configs[0]["z"]) == ("b", "v")
    assert configs[1]["x"] == 0.25
    assert configs[2]["model"] in ("a", "b")
    assert configs[2]["shared"] == 2
    assert len({str(config) for config in configs}) == 6


def test_the_design_spreads_the_completions_of_one_configuration():
    optimizer = Optimizer(SPACE, seed=0, initial=[{"model": "c"}] * 4, n_initial=8)
    x = [trial.config["x"] for trial in optimizer.ask(4)]
    assert sorted(int(4 * value) for value in x) == [0, 1, 2, 3]


@pytest.mark.parametrize("settings", ACQUISITIONS, ids=str)
def test_later_the_model_completes_them(settings):
    space = at.Space(x=at.Real(0, 1), y=at.Real(0, 1), c=at.Choice(a=at.Space(), b=at.Space(z=at.Real(0, 1))))
    optimizer = Optimizer(space, seed=0, n_initial=4, initial=[{"y": 0.9, "z": 0.2}], **settings)
    rng = np.random.default_rng(0)
    for config in (space.sample(rng) for _ in range(40)):
        optimizer.tell(config, (config["x"] - 0.3) ** 2 + (config["y"] - 0.5) ** 2 + config.get("z", 0.4) ** 2)
    config = optimizer.ask().config
    assert (config["y"], config["c"], config["z"]) == (0.9, "b", 0.2)
    if settings["acquisition"] != "thompson":
        assert config["x"] == pytest.approx(0.3, abs=0.15)


def test_the_best_completion_is_found_where_the_best_observation_is_in_another_branch():
    space = at.Space(c=at.Choice(a=at.Space(x=at.Real(0, 1)), b=at.Space(y=at.Real(0, 1))), u=at.Real(0, 1))
    optimizer = Optimizer(space, seed=0)

    def function(config):
        own = (config["x"] - 0.2) ** 2 if config["c"] == "a" else 3 + (config["y"] - 0.8) ** 2
        return own + (config["u"] - 0.6) ** 2

    run(optimizer, 30, function)
    for turn in range(31, 40):
        config = optimizer.suggest(turn, fixed={"c": "b"})
        optimizer.tell(config, function(config))
    best = min((t for t in optimizer.trials if t.config["c"] == "b"), key=lambda t: t.value)
    assert best.value < 3.001


def test_a_configuration_that_is_known_or_there_twice_is_skipped_unless_values_are_noisy():
    taken = {"x": 0.5, "model": "c"}
    initial = [taken, WHOLE[0], WHOLE[0], WHOLE[1]]
    for noise, expected in ((None, WHOLE), (0.0, WHOLE), (0.1, initial)):
        optimizer = Optimizer(SPACE, seed=0, initial=initial, noise=noise)
        optimizer.tell(taken, 1.0)
        assert [trial.config for trial in optimizer.ask(len(expected))] == expected


def test_a_partial_configuration_without_a_new_completion_is_skipped():
    space = at.Space(k=at.Integer(0, 3), c=at.Categorical(["u", "v"]))
    optimizer = Optimizer(space, seed=0, initial=[{"k": 1}] * 3 + [{"k": 2, "c": "u"}])
    configs = [trial.config for trial in optimizer.ask(8)]
    assert [config["k"] for config in configs[:3]] == [1, 1, 2]
    assert len({str(config) for config in configs}) == 8


def test_queries_leave_initial_configurations_to_be_asked():
    optimizer = Optimizer(SPACE, seed=0, initial=WHOLE)
    assert optimizer.suggest(1) == optimizer.suggest(1) == WHOLE[0]
    assert optimizer.suggest(1, pending=[WHOLE[0]]) == WHOLE[1]
    assert [trial.config for trial in optimizer.ask(2)] == WHOLE


def test_what_is_fixed_wins_over_what_is_initial():
    optimizer = Optimizer(SPACE, seed=0, initial=WHOLE)
    assert optimizer.suggest(1, fixed={"x": 0.75, "model": "c"}) == {"x": 0.75, "model": "c"}
    with pytest.raises(ConfigError) as caught:
        optimizer.suggest(1, fixed={"y": 0.5, "z": "u"})
    says(caught, "'y' = 0.5 and 'z' = 'u' are never active together", "leave one of them out")


def test_save_and_load_keep_those_that_were_not_asked(tmp_path):
    initial = [WHOLE[0], {"z": "v"}, WHOLE[1]]
    whole, part = (Optimizer(SPACE, seed=5, n_initial=5, initial=initial) for _ in range(2))
    run(whole, 8)
    for _ in range(8):
        part.save(tmp_path / "run.json")
        part = Optimizer.load(tmp_path / "run.json")
        run(part, 1)
    assert part.trials == whole.trials


def test_an_invalid_entry_raises_at_construction():
    with pytest.raises(ConfigError) as caught:
        Optimizer(SPACE, initial=[{"x": 0.5}, {"x": 5}])
    says(caught, "initial[1]", "'x'", "5.0", "use a value inside")
    with pytest.raises(OptionError, match="must be a list"):
        Optimizer(SPACE, initial={"x": 0.5})


def test_changing_what_was_given_changes_nothing_inside():
    initial = [{"x": 0.25, "model": "c"}]
    optimizer = Optimizer(SPACE, seed=0, initial=initial)
    initial[0]["x"] = 0.75
    assert optimizer.ask().config == {"x": 0.25, "model": "c"}


def test_minimize_evaluates_them_first():
    seen = []

    def recorded(config):
        seen.append(dict(config))
        return objective(config)

    at.minimize(recorded, SPACE, n_trials=4, seed=0, initial=WHOLE)
    assert seen[:2] == WHOLE


@pytest.mark.parametrize("settings", ACQUISITIONS, ids=str)
def test_numbers_that_open_parameters_are_completed_too(settings):
    width = at.Integer(8, 64)
    space = at.Space(
        n=at.Integer(1, 4, opens={(2, 4): at.Space(u2=width), (3, 4): at.Space(u3=width)}), x=at.Real(0, 1)
    )
    optimizer = Optimizer(space, seed=0, n_initial=5, initial=[{"u3": 20}, {"n": 2}], **settings)
    configs = run(optimizer, 7, lambda config: config["x"] + config["n"])
    assert configs[0]["u3"] == 20
    assert configs[0]["n"] >= 3
    assert configs[1]["n"] == 2
    for turn, fixed in enumerate([{"u3": 20}, {"n": 1}, {"u2": 9, "x": 0.5}, {"n": 4}] * 2, start=8):
        assert optimizer.suggest(turn, fixed=fixed).items() >= fixed.items()


@pytest.mark.parametrize("settings", ACQUISITIONS, ids=str)
def test_completions_satisfy_the_rules_of_the_space(settings):
    space = at.Space(low=at.Real(0, 1), high=at.Real(0, 1), k=at.Integer(0, 9)).where(
        "low <= high", "k < 5 or low > 0.5"
    )
    optimizer = Optimizer(space, seed=0, n_initial=4, initial=[{"low": 0.8}, {"k": 7}], **settings)
    configs = run(optimizer, 6, lambda config: config["high"] + config["k"])
    assert (configs[0]["low"], configs[1]["k"]) == (0.8, 7)
    for turn, fixed in enumerate([{"low": 0.9}, {"k": 8}, {"high": 0.1}], start=7):
        assert space.validate(optimizer.suggest(turn, fixed=fixed)).items() >= fixed.items()
    with pytest.raises(ConfigError, match=r"initial\[0\]: no valid configuration with 'low' = 0.9, 'high' = 0.1"):
        Optimizer(space, initial=[{"low": 0.9, "high": 0.1}])
