"""Misuses of the library, as a table: each gets one line that says what is wrong and what to do."""

import math
import re
import threading

import pytest

import addtree as at
from tests.test_optimizer import SPACE, objective

X = at.Space(x=at.Real(0, 1))
GP = at.AddTreeGP(X)
TWO = {"objectives": {"a": "min", "b": "max"}}
BOTH = {"a": 1.0, "b": 2.0}


def optimizer(**settings):
    return at.Optimizer(SPACE, seed=0, **settings)


class Unsendable:
    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, config):
        return config["x"]


def told_twice():
    opt = optimizer()
    trial = opt.ask()
    opt.tell(trial, 1.0)
    opt.tell(trial, 1.0)


def forgotten_after_told():
    opt = optimizer()
    trial = opt.ask()
    opt.tell(trial, 1.0)
    opt.forget(trial)


def told_after_forget():
    opt = optimizer()
    trial = opt.ask()
    opt.forget(trial)
    opt.tell(trial, 1.0)


def resumed_with_another_seed(path):
    at.minimize(objective, SPACE, 1, seed=0, resume=path)
    at.minimize(objective, SPACE, 2, seed=1, resume=path)


def resumed_with_another_space(path):
    at.minimize(objective, SPACE, 1, seed=0, resume=path)
    at.minimize(lambda c: c["x"], X, 2, seed=0, resume=path)


# What was done, the exception, what is wrong, and what to do about it.
MISUSES = [
    (lambda path: at.minimize(SPACE, objective, 3), at.OptionError, "objective=", "minimize(objective, space)"),
    (lambda path: at.minimize(lambda: 1.0, SPACE, 3), at.OptionError, "too many", "one argument, the configuration"),
    (lambda path: at.minimize(lambda a, b: a, SPACE, 3), at.OptionError, "'b'", "one argument, the configuration"),
    (lambda path: at.minimize(objective, {"x": at.Real(0, 1)}, 3), at.SpaceError, "dict", "Space"),
    (lambda path: at.minimize(objective, SPACE, 0), at.OptionError, "n_trials=0", "at least 1"),
    (lambda path: at.minimize(objective, SPACE, 2.5), at.OptionError, "n_trials=2.5", "whole number"),
    (lambda path: at.minimize(objective, SPACE, "60"), at.OptionError, "n_trials='60'", "whole number"),
    (lambda path: at.minimize(objective, SPACE, 3, n_jobs=0), at.OptionError, "n_jobs=0", "-1 for one per core"),
    (lambda path: at.minimize(objective, SPACE, 3, n_jobs=1.5), at.OptionError, "n_jobs=1.5", "at least 1"),
    (lambda path: at.minimize(objective, SPACE, 3, timeout=-1), at.OptionError, "timeout=-1", "seconds above zero"),
    (lambda path: at.minimize(objective, SPACE, 3, timeout="1h"), at.OptionError, "timeout='1h'", "number of seconds"),
    (lambda path: at.minimize(objective, SPACE, 3, trial_timeout=0), at.OptionError, "trial_timeout=0", "None for no"),
    (lambda path: at.minimize(objective, SPACE, 3, catch=ValueError), at.OptionError, "catch=", "(ValueError,)"),
    (lambda path: at.minimize(objective, SPACE, 3, catch=("E",)), at.OptionError, "catch=('E',)", "exception classes"),
    (lambda path: at.minimize(objective, SPACE, 3, callback=3), at.OptionError, "callback=3", "(optimizer, trial)"),
    (
        lambda path: at.minimize(objective, SPACE, 3, callback=lambda t: 0),
        at.OptionError,
        "callback=",
        "(optimizer, tr",
    ),
    (lambda path: at.minimize(objective, SPACE, 3, resume=3), at.OptionError, "resume=3", "'run.json'"),
    (
        lambda path: at.minimize(objective, SPACE, 3, resume=path.parent),
        at.SaveFileError,
        "directory",
        "check the path",
    ),
    (lambda path: at.minimize(objective, SPACE, 3, resume=path / "no"), at.SaveFileError, "cannot be", "another path"),
    (lambda path: at.minimize(objective, SPACE, 3, resume="a" * 5000), at.SaveFileError, "too long", "another path"),
    (resumed_with_another_seed, at.OptionError, "seed=0, not 1", "give seed=0"),
    (resumed_with_another_space, at.OptionError, "another space", "another file"),
    (lambda path: at.minimize(lambda c: "good", SPACE, 5), at.NoSuccessError, "'good'", "correct the objective"),
    (lambda path: at.minimize(lambda c: math.nan, SPACE, 5), at.NoSuccessError, "returned nan", "correct the objecti"),
    (lambda path: at.minimize(lambda c: c["lr"], SPACE, 5), at.NoSuccessError, "KeyError: 'lr'", "line "),
    (lambda path: at.minimize(objective, SPACE, 3, initial=[{"y": 5}]), at.ConfigError, "'y'", "initial"),
    (lambda path: at.minimize(objective, SPACE, 3, seed=-1), at.OptionError, "seed=-1", "zero or more"),
    (lambda path: at.minimize(objective, SPACE, 3, noise=-1), at.OptionError, "noise=-1", "zero"),
    (lambda path: at.minimize(objective, SPACE, 3, acquisition="ei"), at.OptionError, "acquisition='ei'", "'logei'"),
    (lambda path: at.minimize(objective, SPACE, 3, covariance="rbf"), at.OptionError, "covariance='rbf'", "'additive'"),
    (lambda path: at.minimize(objective, SPACE, 3, n_initial=0), at.OptionError, "n_initial=0", "at least 1"),
    (lambda path: optimizer(maximize="min"), at.OptionError, "maximize='min'", "True or False"),
    (lambda path: optimizer(cost_aware="no"), at.OptionError, "cost_aware='no'", "True or False"),
    (lambda path: at.minimize(objective, SPACE, 3, progress="no"), at.OptionError, "progress='no'", "True or False"),
    (lambda path: optimizer(noise={"value": -1}), at.OptionError, "noise['value']=-1", "zero or more"),
    (lambda path: optimizer(**TWO, noise={"b": "x"}), at.OptionError, "noise['b']='x'", "zero or more"),
    (lambda path: optimizer(**TWO).tell(0, {"a": 1, "b": "x"}), at.TrialError, "value 'x' of 'b'", "tell a float"),
    (lambda path: optimizer(**TWO).tell(0, BOTH, std={"b": -1}), at.TrialError, "std['b']=-1", "zero or more"),
    (lambda path: optimizer().save(3), at.OptionError, "path=3", "'run.json'"),
    (lambda path: at.minimize(objective, SPACE, 3, resume=""), at.OptionError, "path=''", "'run.json'"),
    (lambda path: at.Optimizer.load(None), at.OptionError, "path=None", "'run.json'"),
    (lambda path: optimizer().suggest(-1), at.OptionError, "turn=-1", "zero or more"),
    (lambda path: at.AddTreeGP(X).fit([{"x": 0.5}], ["good"]), at.ConfigError, "'good'", "list of numbers"),
    (lambda path: GP.fit([{"x": 0.5}], [1.0], std=["good"]), at.ConfigError, "'good'", "list of numbers"),
    (lambda path: GP.fit([{"x": 0.5}], [1.0], std=[-1]), at.ConfigError, "-1", "zero or more"),
    (lambda path: GP.fit([{"x": 0.5}], [math.inf]), at.ConfigError, "y[0]=inf", "leave failed evaluations out"),
    (lambda path: GP.fit([{"x": 0.5}], [1.0], restarts=-1), at.OptionError, "restarts=-1", "zero or more"),
    (lambda path: GP.fit({"x": 0.5}, [1.0]), at.ConfigError, "dict with 'x'", "[config, ...]"),
    (lambda path: GP.fit([0.5], [1.0]), at.ConfigError, "list with 0.5", "[config, ...]"),
    (lambda path: GP.fit([{"x": 0.5}], [1.0]).predict({"x": 0.5}), at.ConfigError, "dict with 'x'", "[config, ...]"),
    (lambda path: GP.fit([{"x": 0.5}], [1.0]).predict(None), at.ConfigError, "with None", "[config, ...]"),
    (lambda path: GP.interval([{"x": 0.5}], "a"), at.OptionError, "probability='a'", "between 0 and 1"),
    (lambda path: at.AddTreeGP(X, seed="a"), at.OptionError, "seed='a'", "whole number"),
    (
        lambda path: optimizer(history=[at.minimize(lambda c: c["x"], X, 3, seed=0)]),
        at.OptionError,
        "history[0]=<Result",
        "result.optimizer",
    ),
    (
        lambda path: at.minimize(Unsendable(), X, 3, trial_timeout=5),
        at.OptionError,
        "cannot be sent to other processes",
        "n_jobs=1 without trial_timeout",
    ),
    (lambda path: at.Optimizer(X.where("x > 2")), at.SpaceError, "this rule excludes", "relax it"),
    (lambda path: X.sample(0), at.OptionError, "rng=0", "numpy.random.default_rng(0)"),
    (lambda path: optimizer().tell(0, failed="no"), at.OptionError, "failed='no'", "True or False"),
    (lambda path: optimizer().ask(0), at.OptionError, "ask(0)", "at least 1"),
    (lambda path: optimizer().tell(7, 1.0), at.TrialError, "trial 7 is unknown", "ask()"),
    (lambda path: optimizer().tell({"x": 5, "model": "c"}, 1.0), at.ConfigError, "'x': 5", "use a value inside"),
    (lambda path: optimizer().tell(optimizer().ask(), 1.0), at.TrialError, "another run", "trial.config"),
    (lambda path: told_twice(), at.TrialError, "already told", "tell each trial once"),
    (lambda path: forgotten_after_told(), at.TrialError, "already told", "forget only pending ones"),
    (lambda path: told_after_forget(), at.TrialError, "was forgotten", "tell its configuration"),
    (lambda path: optimizer().forget(0), at.TrialError, "trial 0 is unknown", "ask()"),
    (lambda path: optimizer().forget({"x": 0.5}), at.TrialError, "{'x': 0.5} is unknown", "ask() gave, or its id"),
    (lambda path: optimizer().predict({"x": 0.5}), at.ConfigError, "'model'", "missing"),
    (lambda path: at.Optimizer.load(path), at.SaveFileError, "cannot be read", "check the path"),
    (lambda path: at.Real(1, 0), at.SpaceError, "low must not exceed high", "1"),
    (lambda path: at.Categorical([]), at.SpaceError, "Categorical", "at least one"),
]


@pytest.mark.parametrize(("misuse", "error", "wrong", "remedy"), MISUSES)
def test_a_misuse_gets_one_line_that_says_what_is_wrong_and_what_to_do(misuse, error, wrong, remedy, tmp_path):
    with pytest.raises(error, match=re.escape(wrong)) as caught:
        misuse(tmp_path / "run.json")
    message = str(caught.value)
    assert remedy in message
    assert "\n" not in message
    assert isinstance(caught.value, at.AddTreeError)


def test_misspelt_arguments_are_errors_of_python():
    with pytest.raises(TypeError, match="seeed"):
        at.minimize(objective, SPACE, 3, seeed=0)
    with pytest.raises(TypeError, match="n_trials"):
        at.minimize(objective, SPACE)
