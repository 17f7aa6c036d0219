import json
import logging
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import addtree as at
from addtree.errors import AddTreeError, ConfigError, OptionError, TrialError
from addtree.optimizer import Optimizer, Settings
from addtree.problems import synthetic
from addtree.search.policy import Policy
from tests.strategies import sample

SPACE = at.Space(
    x=at.Real(0, 1),
    model=at.Choice(
        a=at.Space(y=at.Real(1e-3, 1, log=True), shared=at.Integer(0, 4)),
        b=at.Space(z=at.Categorical(["u", "v", "w"]), shared=at.Integer(0, 4)),
        c=at.Space(),
    ),
)
SETTINGS = [
    {"covariance": c, "acquisition": a, "inference": f}
    for c in ("additive", "additive+interactions", "independent")
    for a in ("logei", "ucb", "additive-ucb", "thompson")
    for f in ("map", "mle")
    if a != "additive-ucb" or c == "additive"
]
PAPER = {"covariance": "additive", "acquisition": "additive-ucb", "inference": "mle"}
ACQUISITIONS = [{"acquisition": "logei"}, {"acquisition": "ucb"}, {"acquisition": "thompson"}, PAPER]


def objective(config):
    value = (config["x"] - 0.3) ** 2 + {"a": 0.1, "b": 0.0, "c": 0.3}[config["model"]]
    return value + 0.05 * config.get("shared", 0) + (0.2 if config.get("z") == "v" else 0.0)


def run(optimizer, n, function=objective):
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, function(trial.config))
    return [trial.config for trial in optimizer.trials]


def says(caught, *words):
    for word in words:
        assert word in str(caught.value)


# ------------------------------------------------------------------ runs


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: "-".join(s.values()))
def test_every_combination_runs(settings):
    optimizer = Optimizer(SPACE, seed=0, n_initial=5, **settings)
    configs = run(optimizer, 9)
    keys = {json.dumps(SPACE.validate(config)) for config in configs}
    assert len(keys) == 9
    assert optimizer.best.value == min(map(objective, configs))


def test_the_default_finds_the_optimum_of_the_synthetic_function():
    problem = synthetic()
    optimizer = Optimizer(problem.space, seed=0)
    run(optimizer, 25, problem.objective)
    assert optimizer.best.value - problem.optimum < 1e-3


def test_the_papers_mode_finds_the_right_leaf_of_the_synthetic_function():
    problem = synthetic()
    optimizer = Optimizer(problem.space, seed=0, **PAPER)
    run(optimizer, 25, problem.objective)
    assert optimizer.best.value - problem.optimum < 1e-2


@pytest.mark.parametrize("settings", ACQUISITIONS, ids=lambda s: s["acquisition"])
def test_the_same_seed_gives_the_same_run_and_another_another(settings):
    one, other, third = (run(Optimizer(SPACE, seed=s, n_initial=5, **settings), 10) for s in (3, 3, 4))
    assert one == other
    assert one != third


def test_without_a_seed_runs_differ():
    assert run(Optimizer(SPACE), 3) != run(Optimizer(SPACE), 3)


def test_global_randomness_is_neither_used_nor_changed():
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    run(Optimizer(SPACE, seed=0, n_initial=4), 6)
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


@pytest.mark.parametrize("settings", ACQUISITIONS, ids=lambda s: s["acquisition"])
def test_maximizing_is_the_mirrored_run(settings):
    low, high = Optimizer(SPACE, seed=1, n_initial=5, **settings), None
    high = Optimizer(SPACE, seed=1, n_initial=5, maximize=True, **settings)
    assert run(low, 11) == run(high, 11, lambda c: -objective(c))
    assert low.best.config == high.best.config
    assert high.best.value == -low.best.value == max(-objective(t.config) for t in low.trials)


def test_the_best_is_the_largest_when_maximizing():
    optimizer = Optimizer(SPACE, seed=1, maximize=True)
    for value in (1.0, 3.0, 2.0):
        optimizer.tell(optimizer.ask(), value)
    assert optimizer.best.value == 3.0


# ------------------------------------------------------------------ queries


@pytest.mark.parametrize("settings", ACQUISITIONS, ids=lambda s: s["acquisition"])
def test_a_query_never_changes_a_later_answer(settings):
    quiet, curious = (Optimizer(SPACE, seed=2, n_initial=4, **settings) for _ in range(2))
    for _ in range(8):
        for optimizer in (quiet, curious):
            trial = optimizer.ask()
            optimizer.tell(trial, objective(trial.config))
        recommended = [curious.recommend() for _ in range(2)]
        suggested = [curious.suggest(turn) for turn in (3, 50, 3)]
        assert recommended[0] == recommended[1]
        assert suggested[0] == suggested[2]
    assert [trial.config for trial in quiet.trials] == [trial.config for trial in curious.trials]


def test_a_recommendation_looks_through_noise():
    """One lucky evaluation of a bad point is the best value seen, and not what is recommended."""
    opt = Optimizer(at.Space(x=at.Real(0, 1)), seed=0)
    rng = np.random.default_rng(0)
    for x in np.linspace(0, 1, 41):
        opt.tell({"x": float(x)}, (x - 0.5) ** 2 + 0.01 * rng.normal())
    lucky = opt.tell({"x": 0.9}, -0.05)
    assert opt.best == lucky
    assert abs(opt.recommend().config["x"] - 0.5) < 0.2
    exact = Optimizer(at.Space(x=at.Real(0, 1)), seed=0, noise=0)
    exact.tell({"x": 0.9}, -0.05)
    assert exact.recommend() == exact.best


# ------------------------------------------------------------------ ask and tell


@pytest.mark.parametrize("told", [0, 12])
def test_ask_4_gives_four_different_trials(told):
    optimizer = Optimizer(SPACE, seed=0)
    run(optimizer, told)
    trials = optimizer.ask(4)
    assert len({json.dumps(t.config) for t in trials}) == 4
    assert [t.id for t in trials] == list(range(told, told + 4))
    assert all(t.state == "pending" for t in trials)


@pytest.mark.parametrize("seed", range(4))
def test_pending_trials_count(seed):
    """Where a trial is pending there is less left to learn: the next suggestion lies elsewhere."""
    optimizer = Optimizer(at.Space(x=at.Real(0, 1)), seed=seed, n_initial=1, acquisition="ucb")
    for x in (0.0, 0.15, 0.5, 0.9, 1.0):
        optimizer.tell({"x": x}, math.sin(6 * x))
    alone = optimizer.suggest(1)["x"]
    assert optimizer.suggest(3)["x"] == pytest.approx(alone, abs=0.01)  # not for chance
    optimizer.expect({"x": alone})
    assert abs(optimizer.suggest(3)["x"] - alone) > 0.02


def test_tell_in_any_order_by_trial_or_id():
    optimizer = Optimizer(SPACE, seed=0)
    trials = optimizer.ask(10)
    for i, trial in enumerate(reversed(trials)):
        told = optimizer.tell(trial if i % 2 else trial.id, objective(trial.config))
        assert (told.id, told.state) == (trial.id, "done")
    assert trials[0].state == "pending"  # what was given out does not change
    optimizer.tell(np.int64(optimizer.ask().id), 0.5)
    assert [t.state for t in optimizer.trials] == ["done"] * 11
    assert optimizer.best.value == min(objective(t.config) for t in trials)


def test_outside_data_is_learned_from():
    optimizer = Optimizer(at.Space(x=at.Real(0, 1)), seed=0, n_initial=1)
    for x in np.linspace(0, 1, 9):
        told = optimizer.tell({"x": x}, (x - 0.4) ** 2)
        assert told.state == "done"
    assert optimizer.ask().config["x"] == pytest.approx(0.4, abs=0.05)
    optimizer.tell({"x": 0.1}, failed=True)
    assert optimizer.trials[-1].state == "failed"


def test_outside_data_told_twice_is_two_observations():
    optimizer = Optimizer(SPACE, seed=0, n_initial=2)
    for value in (1.0, 2.0, 1.5):
        optimizer.tell({"x": 0.5, "model": "c"}, value)
    assert len(optimizer.trials) == 3
    SPACE.validate(optimizer.ask().config)


def test_expect_counts_as_pending_and_suggest_records_nothing():
    optimizer = Optimizer(SPACE, seed=0)
    config = optimizer.suggest(1)
    assert optimizer.trials == []
    assert optimizer.ask().config == config
    trial = optimizer.expect({"x": 0.5, "model": "c"})
    optimizer.tell(trial, 1.0)
    assert optimizer.trials[1].value == 1.0


def test_changing_a_returned_configuration_changes_nothing_inside(tmp_path):
    optimizer, other = Optimizer(SPACE, seed=0, n_initial=3), Optimizer(SPACE, seed=0, n_initial=3)
    config = {"x": 0.5, "model": "c"}
    optimizer.tell(config, 1.0)
    config["x"] = 99
    assert optimizer.trials[0].config == {"x": 0.5, "model": "c"}
    other.tell({"x": 0.5, "model": "c"}, 1.0)
    assert run(optimizer, 5) == run(other, 5)


@pytest.mark.parametrize("told", [3, 12])
def test_pending_elsewhere_counts_like_pending_here(told):
    """During the initial design and after it."""
    here, there = (Optimizer(at.Space(x=at.Real(-1, 1), k=at.Integer(0, 5)), seed=0) for _ in range(2))
    for optimizer in (here, there):
        for _ in range(told):
            trial = optimizer.ask()
            optimizer.tell(trial, trial.config["x"] ** 2)
    asked = [trial.config for trial in here.ask(3)]
    assert there.suggest(told + 4, pending=asked) == here.suggest(told + 4)
    assert len(there.trials) == told  # nothing remains of them
    assert there.suggest(told + 1) == asked[0]


# ------------------------------------------------------------------ trials


def test_what_is_returned_can_be_changed_without_harm(tmp_path):
    optimizer = Optimizer(SPACE, seed=0, n_initial=4)
    configs = run(optimizer, 6)
    pending = optimizer.ask()
    for returned in (pending, optimizer.best, optimizer.recommend(), *optimizer.trials):
        returned.config.pop("model")
        returned.config["x"] = "changed"
    assert [trial.config for trial in optimizer.trials] == [*configs, pending.config]
    assert all("model" in trial.config for trial in optimizer.trials)
    optimizer.save(tmp_path / "run.json")
    assert Optimizer.load(tmp_path / "run.json").trials == optimizer.trials
    given = {"x": 0.5, "model": "c"}
    told = optimizer.tell(given, 1.0)
    given["x"] = 0.9
    assert told.config["x"] == 0.5


def test_a_trial_of_another_run_is_refused(tmp_path):
    one, other = Optimizer(SPACE, seed=0), Optimizer(SPACE, seed=1)
    trial, _ = one.ask(), other.ask()
    with pytest.raises(TrialError) as caught:
        other.tell(trial, 1.0)
    says(caught, "trial 0", "another run", "tell(trial.config, value)")
    assert [t.state for t in other.trials] == ["pending"]  # nothing was recorded
    one.save(tmp_path / "run.json")
    loaded = Optimizer.load(tmp_path / "run.json")
    assert loaded.tell(trial, 1.0).value == 1.0  # the same run, continued
    assert {trial} == {one.trials[0]}


def test_a_trial_prints_its_configuration():
    trial = Optimizer(at.Space(m=at.Categorical(["u"])), seed=0).ask()
    assert repr(trial) == "Trial(id=0, config={'m': 'u'}, state='pending', value=None)"


# ------------------------------------------------------------------ finite spaces

FINITE = at.Space(k=at.Integer(0, 2), c=at.Choice(a=at.Space(m=at.Categorical(["u", "v"])), b=at.Space()))


@pytest.mark.parametrize("settings", ACQUISITIONS, ids=lambda s: s["acquisition"])
def test_a_finite_space_is_seen_whole_before_anything_repeats_and_still_answers_then(settings):
    assert FINITE.n_configs == 9
    optimizer = Optimizer(FINITE, seed=0, n_initial=3, **settings)
    configs = run(optimizer, 12, lambda c: c["k"] + (c["c"] == "a"))
    assert len({json.dumps(c) for c in configs[:9]}) == 9
    for config in configs[9:]:
        FINITE.validate(config)


def test_the_last_configuration_of_a_finite_space_is_found():
    """Half of all random draws are the one without k: the last values of k have to be looked for."""
    space = at.Space(c=at.Choice(a=at.Space(), b=at.Space(k=at.Integer(1, 150))))
    trials = Optimizer(space, seed=0, n_initial=1).ask(151)
    assert len({json.dumps(t.config) for t in trials}) == space.n_configs == 151


def test_a_finite_space_all_pending_still_answers():
    trials = Optimizer(FINITE, seed=0).ask(11)
    assert len({json.dumps(t.config) for t in trials[:9]}) == 9


@pytest.mark.parametrize("covariance", ["additive", "additive+interactions", "independent"])
@pytest.mark.parametrize("acquisition", ["logei", "thompson"])
def test_spaces_of_choices_alone_and_of_nothing(covariance, acquisition):
    space = at.Space(c=at.Choice(a=at.Space(), b=at.Space()), d=at.Choice({i: at.Space() for i in range(4)}))
    optimizer = Optimizer(space, seed=0, n_initial=3, covariance=covariance, acquisition=acquisition)
    assert len({json.dumps(c) for c in run(optimizer, 9, lambda c: c["d"])[:8]}) == 8
    nothing = Optimizer(at.Space(), seed=0, n_initial=1, covariance=covariance, acquisition=acquisition)
    assert run(nothing, 3, lambda c: 1.0) == [{}, {}, {}]


def test_choices_alone_in_the_papers_mode():
    space = at.Space(c=at.Choice({i: at.Space() for i in range(5)}))
    assert len({c["c"] for c in run(Optimizer(space, seed=0, n_initial=2, **PAPER), 5, lambda c: c["c"])}) == 5


def test_two_to_the_forty_paths():
    names = range(40)
    space = at.Space(
        {
            f"c{i}": at.Choice({0: at.Space({f"a{i}": at.Real(0, 1)}), 1: at.Space({f"b{i}": at.Real(0, 1)})})
            for i in names
        }
    )
    optimizer = Optimizer(space, seed=0, n_initial=5)
    for config in run(optimizer, 7, lambda c: sum(c[f"c{i}"] for i in names)):
        space.validate(config)


# ------------------------------------------------------------------ degenerate data

DEGENERATE = {
    "all equal": lambda i, c: 1.0,
    "all zero": lambda i, c: 0.0,
    "1e300": lambda i, c: 1e300 * objective(c),
    "-1e300": lambda i, c: -1e300 * objective(c),
    "1e-300": lambda i, c: 1e-300 * objective(c),
    "denormal": lambda i, c: 5e-324 * (i % 3),
    "the largest float": lambda i, c: 1.7976931348623157e308,
    "largest floats": lambda i, c: 1.7e308 * (1 - 2 * (i % 2)),
    "one of 1e300 among ones": lambda i, c: 1e300 if i == 4 else objective(c),
    "one of -1e300 among ones": lambda i, c: -1e300 if i == 4 else objective(c),
    "tiny differences": lambda i, c: 1e6 + 1e-9 * objective(c),
    "integers": lambda i, c: i % 3,
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("settings", [{}, {"acquisition": "thompson"}, PAPER, {"noise": 0}, {"noise": 0.1}], ids=str)
def test_degenerate_values_never_raise(name, settings):
    optimizer = Optimizer(SPACE, seed=0, n_initial=3, **settings)
    for i in range(7):
        trial = optimizer.ask()
        SPACE.validate(trial.config)
        optimizer.tell(trial, DEGENERATE[name](i, trial.config))
    assert optimizer.best.state == "done"


@pytest.mark.parametrize("settings", ACQUISITIONS, ids=lambda s: s["acquisition"])
def test_one_observation_duplicates_and_options_never_visited(settings):
    optimizer = Optimizer(SPACE, seed=0, n_initial=1, **settings)
    for _ in range(4):
        optimizer.tell({"x": 0.5, "model": "c"}, 1.0)
        SPACE.validate(optimizer.suggest(7))
    for _ in range(4):
        SPACE.validate(optimizer.ask().config)


@pytest.mark.parametrize("settings", ACQUISITIONS, ids=lambda s: s["acquisition"])
def test_failures_never_raise(settings):
    optimizer = Optimizer(SPACE, seed=0, n_initial=2, **settings)
    for i in range(12):
        trial = optimizer.ask()
        SPACE.validate(trial.config)
        if i < 4 or i % 3 == 0:
            optimizer.tell(trial, failed=True)
        else:
            optimizer.tell(trial, objective(trial.config))
    assert sum(t.state == "failed" for t in optimizer.trials) == 6


def test_all_failed_on_a_space_with_more_configurations_than_a_float_can_count():
    space = at.Space({f"i{k}": at.Integer(1, 1000) for k in range(120)})
    optimizer = Optimizer(space, seed=0, n_initial=2)
    for _ in range(4):
        optimizer.tell(optimizer.ask(), failed=True)
    with pytest.raises(AddTreeError, match=r"no trial has a value yet \(4 asked, 4 of them failed\)"):
        _ = optimizer.best


def crashing(space, objective, crashes, n, **options):
    """An optimizer after n evaluations, of which those fail that `crashes` says."""
    optimizer = Optimizer(space, **options)
    for _ in range(n):
        trial = optimizer.ask()
        if crashes(trial.config):
            optimizer.tell(trial, failed=True)
        else:
            optimizer.tell(trial, objective(trial.config))
    return optimizer


def n_failed(optimizer, since=0):
    return sum(trial.state == "failed" for trial in optimizer.trials[since:])


BRANCHES = at.Space(
    w=at.Real(0, 1),
    m=at.Choice(
        bad=at.Space(kind=at.Choice({k: at.Space({f"b{k}": at.Real(0, 1)}) for k in range(3)})),
        good=at.Space(x=at.Real(0, 1)),
        fair=at.Space(y=at.Real(0, 1)),
    ),
)


def branches(config):
    return (config["w"] - 0.3) ** 2 + (config.get("x", 0.2) - 0.7) ** 2


def test_a_branch_that_always_fails_is_given_up():
    for seed in range(2):
        optimizer = crashing(BRANCHES, branches, lambda config: config["m"] == "bad", 40, seed=seed)
        assert n_failed(optimizer, 14) <= 7
        assert optimizer.best.value < 0.01


@pytest.mark.parametrize("options", [{}, {"acquisition": "ucb"}, {"acquisition": "thompson"}, {"noise": 0.1}], ids=str)
def test_every_acquisition_avoids_a_region_that_fails(options):
    space = at.Space(x=at.Real(0, 1), y=at.Real(0, 1))
    optimizer = crashing(space, lambda c: c["x"] + c["y"], lambda c: c["x"] < 0.3, 35, seed=0, n_initial=8, **options)
    assert n_failed(optimizer, 15) <= 10
    assert optimizer.best.value < 0.6


def test_an_optimum_beside_an_accident_is_found():
    """The third evaluation near the optimum crashes once."""
    accident = []

    def crashes(config):
        near = abs(config["x"] - 0.6) < 0.1
        accident.append(near)
        return near and sum(accident) == 3

    optimizer = crashing(at.Space(x=at.Real(0, 1)), lambda c: (c["x"] - 0.6) ** 2, crashes, 25, seed=0)
    assert n_failed(optimizer) == 1
    assert optimizer.best.value < 1e-5


def test_while_all_trials_fail_the_search_goes_where_success_is_likely():
    space = at.Space(x=at.Real(0, 1), m=at.Choice(a=at.Space(), b=at.Space(), c=at.Space()))
    optimizer = crashing(space, lambda c: c["x"], lambda c: c["x"] < 0.9 or c["m"] != "c", 30, seed=1, n_initial=4)
    assert n_failed(optimizer) < 30
    asked = optimizer.ask(4)
    assert len({tuple(trial.config.items()) for trial in asked}) == 4


def test_rows_of_the_design_that_are_likely_to_fail_are_left_out():
    for seed in range(3):
        optimizer = crashing(BRANCHES, branches, lambda config: config["m"] == "bad", 24, seed=seed, n_initial=24)
        assert n_failed(optimizer) <= 9
        planned = Optimizer(BRANCHES, seed=seed, n_initial=24)
        assert sum(trial.config["m"] == "bad" for trial in planned.ask(24)) >= 12


def test_failures_on_a_space_of_constants():
    optimizer = crashing(at.Space(x=at.Real(1, 1)), lambda c: 0.0, lambda c: True, 3, seed=0)
    assert n_failed(optimizer) == 3


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan"), 10**400])
def test_a_value_that_is_not_finite_is_a_failed_trial_and_logged(value, caplog):
    optimizer = Optimizer(SPACE, seed=0)
    trial = optimizer.ask()
    with caplog.at_level(logging.WARNING, logger="addtree"):
        told = optimizer.tell(trial, value)
    assert (told.state, told.value) == ("failed", None)
    assert "trial 0" in caplog.text
    assert "failed" in caplog.text


@pytest.mark.parametrize("value", [None, "0.3", [1.0], np.array([1.0]), True, 1j, {}])
def test_a_value_that_is_no_number_raises_and_leaves_the_trial_pending(value):
    optimizer = Optimizer(SPACE, seed=0)
    trial = optimizer.ask()
    with pytest.raises(TrialError) as caught:
        optimizer.tell(trial, value)
    says(caught, repr(value), "not a number", "failed=True")
    assert optimizer.trials == [trial]
    with pytest.raises(TrialError):
        optimizer.tell({"x": 0.5, "model": "c"}, value)
    assert optimizer.trials == [trial]
    assert optimizer.tell(trial, 0.5).state == "done"


@pytest.mark.parametrize("value", [1, np.float32(0.5), np.int64(3), Fraction(1, 3), Decimal("0.3"), 0.25])
def test_every_kind_of_number_is_one(value):
    optimizer = Optimizer(SPACE, seed=0)
    told = optimizer.tell(optimizer.ask(), value, std=value, cost=value)
    assert {type(number) for number in (told.value, told.std, told.cost)} == {float}
    for impossible in (Decimal("NaN"), Decimal("sNaN"), Decimal("1e400")):
        assert optimizer.tell(optimizer.ask(), impossible).state == "failed"


# ------------------------------------------------------------------ bad input


def test_an_unknown_or_told_trial_says_what_to_do():
    optimizer = Optimizer(SPACE, seed=0)
    trial = optimizer.ask()
    for unknown in (7, -1, "0", None, True, 0.0):
        with pytest.raises(TrialError) as caught:
            optimizer.tell(unknown, 1.0)
        says(caught, repr(unknown), "unknown", "ask()", "configuration")
    optimizer.tell(trial, 0.5)
    for again in (trial, trial.id):
        with pytest.raises(TrialError) as caught:
            optimizer.tell(again, 1.0)
        says(caught, "trial 0", "already told", "0.5", "tell its configuration")
    failed = optimizer.tell(optimizer.ask(), failed=True)
    with pytest.raises(TrialError, match=r"already told \(failed"):
        optimizer.tell(failed, 1.0)
    assert [t.value for t in optimizer.trials] == [0.5, None]


def test_an_outside_configuration_is_checked_and_leaves_no_trace():
    optimizer = Optimizer(SPACE, seed=0)
    with pytest.raises(ConfigError, match=r"'y' = 0.5 is inactive"):
        optimizer.tell({"x": 0.5, "model": "c", "y": 0.5}, 1.0)
    assert optimizer.trials == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"acquisition": "ei"}, ["'ei'", "'logei'"]),
        ({"acquisition": "additive-ucb"}, ["covariance='additive'"]),
        ({"covariance": "rbf"}, ["'rbf'", "'additive'"]),
        ({"inference": "mcmc"}, ["'mcmc'", "'map', 'mle'"]),
        ({"noise": -0.1}, ["-0.1", "standard deviation"]),
        ({"n_initial": 0}, ["n_initial=0", "at least 1"]),
        ({"n_initial": 10**9}, ["n_initial=1000000000", "at most"]),
        ({"noise": 10**400}, ["noise=1000", "standard deviation"]),
        ({"n_initial": 2.5}, ["n_initial=2.5", "whole number"]),
        ({"seed": -1}, ["seed=-1", "whole number", "None"]),
        ({"seed": "x"}, ["seed='x'", "whole number"]),
    ],
)
def test_options_that_cannot_work_say_what_would(options, words):
    with pytest.raises(OptionError) as caught:
        Optimizer(SPACE, **options)
    says(caught, *words)


@pytest.mark.parametrize("n", [0, -3, 2.5])
def test_ask_for_at_least_one(n):
    with pytest.raises(OptionError) as caught:
        Optimizer(SPACE, seed=0).ask(n)
    says(caught, f"ask({n})", "at least 1")


def test_best_before_any_value():
    optimizer = Optimizer(SPACE, seed=0)
    with pytest.raises(AddTreeError, match="no trial has a value yet"):
        _ = optimizer.best


def test_the_design_goes_on_until_it_has_results():
    space = at.Space(c=at.Choice({i: at.Space() for i in range(12)}), x=at.Real(0, 1))
    optimizer = at.Optimizer(space, seed=0)
    trials = optimizer.ask(24)
    assert Counter(trial.config["c"] for trial in trials) == dict.fromkeys(range(12), 2)
    for n_told, trial in enumerate(trials[:6], start=1):
        optimizer.tell(trial, trial.config["x"])
        optimizer.ask()
        assert (optimizer.learned is not None) == (n_told == 6)


def test_a_young_run_that_makes_no_progress_returns_to_neglected_branches():
    space = at.Space(c=at.Choice(a=at.Space(x=at.Real(0, 1)), b=at.Space(y=at.Real(0, 1))))

    def value(config):
        return round(config["x"]) if config["c"] == "a" else 50 + config["y"]

    def visits(patience, n, history=()):
        """How many of n evaluations are in the bad branch, whose values say that it stays bad."""
        settings = Settings(policy=Policy(patience=patience))
        optimizer = Optimizer(space, seed=0, settings=settings, history=history)
        for _ in range(n):
            trial = optimizer.ask()
            optimizer.tell(trial, value(trial.config))
        return sum(trial.config["c"] == "b" for trial in optimizer.trials)

    assert visits(4, 30) > visits(10**6, 30)
    assert visits(4, 60) - visits(4, 35) == 3  # later, only the schedule returns to it: at turns 36, 45 and 55
    earlier = [[(config, value(config)) for config in sample(space, 20, 0)]]
    assert visits(4, 30, earlier) == visits(10**6, 30, earlier)  # the design of a run with a history explores


@pytest.mark.slow  # a rate of success over six runs
def test_a_valley_between_a_flat_and_a_steep_part_is_found():
    """From values on both sides of the valley, the model is sure that there is none."""
    forest = at.Space(trees=at.Integer(10, 500, log=True), criterion=at.Categorical(["gini", "entropy"]))
    svm = at.Space(C=at.Real(1e-3, 1e3, log=True))
    space = at.Space(lr=at.Real(1e-5, 1e-1, log=True), model=at.Choice(svm=svm, forest=forest))

    def value(config):
        other = abs(config["C"] - 10) / 10 if config["model"] == "svm" else 0.5 + 10 / config["trees"]
        return config["lr"] + other

    optimizers = [at.Optimizer(space, seed=seed) for seed in range(6)]
    for optimizer in optimizers:
        run(optimizer, 60, value)
    # About one run in twelve still misses it; which one depends on how the processor rounds.
    assert sum(optimizer.best.value < 0.3 for optimizer in optimizers) >= 4


@pytest.mark.parametrize("seed", [0, 2])
def test_a_kink_that_looked_like_noise_at_first_is_found_out(seed):
    """A refit that starts from a fit with noise must also look for one without."""
    optimizer = at.Optimizer(at.Space(m=at.Integer(0, 199), x=at.Real(0, 1)), seed=seed)
    run(optimizer, 28, lambda config: abs(config["m"] - 77) / 10 + config["x"])
    assert optimizer.best.value < 0.1
