"""Numbers that rules confine to a small part of their range."""

import numpy as np
import pytest

from addtree import Categorical, Choice, ConfigError, Integer, Optimizer, Real, Space
from addtree.space.narrowing import narrowed_numbers
from addtree.space.restriction import Restriction

X, Y = Real(0, 1), Real(0, 1)


@pytest.mark.parametrize(
    ("rules", "low", "high"),
    [
        (["x < 1e-3"], 0.0, 1e-3),
        (["x > 0.7", "x < 0.70001"], 0.7, 0.70001),
        (["x > 0.4999 and not x > 0.5001"], 0.4999, 0.5001),
        (["x + y < 1e-3"], 0.0, 1e-3),
        (["2 * x - y / 4 <= 0", "y < 1e-3"], 0.0, 1.25e-4),
        (["-x > -1e-6 or 0 > 1"], 0.0, 1e-6),
        (["x in (0.25, 0.2500001)"], 0.25, 0.2500001),
        (["(x < 1e-3) == True"], 0.0, 1e-3),
        (["x == 0.3"], 0.3, 0.3),
    ],
)
def test_the_part_holds_all_valid_values_and_little_else(rules, low, high):
    part = narrowed_numbers(Space(x=X, y=Y).where(*rules))["x"]
    assert part.low <= low <= high <= part.high
    assert part.high - part.low <= 3 * (high - low) + 1e-12


@pytest.mark.parametrize(
    "space",
    [
        Space(x=X, y=Y).where("x < 0.1", "y < 0.5"),  # not small
        Space(x=X, y=Y).where("x + y >= 0.4999", "x + y <= 0.5"),  # x may have most values
        Space(x=X).where("x < 0.3", "x > 0.6"),  # a conflict
        Space(x=X).where(lambda config: config["x"] < 1e-3),
        Space(x=X).where("1 / x > 1e-9", "x ** 2 < 1e-9", "x % 1 < 1e-3"),  # unknown bounds
        Space(x=X, c=Categorical(["a", "b"])).where("c == 'a' or x < 1e-3"),
        Space(x=X, c=Choice(a=Space(y=Y), b=Space())).where("x + y < 1e-3"),  # holds where y is inactive
        Space(c=Choice(a=Space(x=X).where("x < 1e-3"), b=Space(x=X))),  # binds one option of two
        Space(x=Real(0, 1, opens={(0.5, 1): Space(y=Y)})).where("x < 1e-3"),
    ],
    ids=str,
)
def test_other_numbers_keep_their_range(space):
    assert "x" not in narrowed_numbers(space)


def test_a_parameter_below_a_choice_is_narrowed_by_rules_of_its_own_space_and_of_those_above():
    inner = Space(y=Real(0, 1), z=Real(0, 1)).where("z < 1e-3")
    space = Space(x=X, c=Choice(a=inner, b=Space())).where("y < x / 1000")
    assert narrowed_numbers(space).keys() == {"y", "z"}


def test_whole_numbers_steps_and_log_scales_stay_what_they_are():
    space = Space(n=Integer(0, 10**9), k=Integer(0, 1000, step=5), r=Real(1e-9, 1, log=True))
    parts = narrowed_numbers(space.where("n < 20", "k > 970", "r < 2e-9"))
    assert isinstance(parts["n"], Integer)
    assert 19 <= parts["n"].high < 60
    assert parts["k"].step == 5
    assert parts["k"].low % 5 == 0
    assert parts["k"].low <= 975
    assert parts["r"].log


@pytest.mark.parametrize("rule", ["not (x0 < 0.99 or x1 < 0.99 or x2 < 0.99)", "x0 / (x1 - 0.5) > 300"])
def test_random_rows_are_often_valid_in_a_small_part(rule):
    encoding, rng = Space({f"x{i}": Real(0, 1) for i in range(8)}).where(rule).encoding, np.random.default_rng(0)
    assert np.mean(encoding.feasibility.valid(encoding.sample_freely(1000, rng))) > 0.3
    X = encoding.sample(200, rng)
    assert encoding.feasibility.valid(X).all()
    assert len({row.tobytes() for row in X}) == 200


@pytest.mark.parametrize("width", [1e-2, 1e-3, 1e-6, 1e-9])
def test_nothing_is_suggested_twice_in_a_small_corner_and_its_optimum_is_found(width):
    space = Space(x=Real(0, 1), y=Real(0, 1)).where(f"x < {width}", f"y < {width}")
    optimizer = Optimizer(space, seed=0)
    for _ in range(25):
        trial = optimizer.ask()
        optimizer.tell(trial, sum((value / width - 0.6) ** 2 for value in trial.config.values()))
    assert len({str(trial.config) for trial in optimizer.trials}) == 25
    assert optimizer.best.value < 1e-4


@pytest.mark.parametrize("n", range(20, 60))
def test_the_ends_of_a_part_violate_rules_so_that_values_beyond_it_are_refused(n):
    space = Space(n=Integer(0, 10**6), y=Y).where(f"n <= {n}")
    assert n < space.encoding.variables["n"].high < 80
    with pytest.raises(ConfigError, match="no valid configuration with 'n' = 90 was found"):
        Restriction.of(space.encoding, {"n": 90})


def test_a_loaded_run_continues_in_the_same_part(tmp_path):
    space = Space(x=Real(0, 1), n=Integer(0, 10**6)).where("x < 1e-4", "n < 50")
    run = Optimizer(space, seed=0)
    for _ in range(10):
        trial = run.ask()
        run.tell(trial, trial.config["x"] * 1e4 + trial.config["n"])
    run.save(tmp_path / "run.json")
    assert Optimizer.load(tmp_path / "run.json").ask().config == run.ask().config
