import enum
import logging
import re
import signal
import subprocess
import sys
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import addtree as at
from addtree.errors import NoSuccessError, OptionError
from tests.test_optimizer import SPACE, objective


def test_it_is_a_loop_over_ask_and_tell():
    result = at.minimize(objective, SPACE, n_trials=12, seed=3)
    optimizer = at.Optimizer(SPACE, seed=3)
    for _ in range(12):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.config))
    assert result.trials == optimizer.trials
    assert result.best_value == optimizer.best.value == objective(result.best_config)
    assert result.message == "12 trials done"


def test_maximize_and_other_settings_are_passed_on():
    low = at.minimize(objective, SPACE, n_trials=9, seed=3, acquisition="ucb", n_initial=4)
    high = at.minimize(
        lambda c: -objective(c), SPACE, n_trials=9, seed=3, acquisition="ucb", n_initial=4, maximize=True
    )
    assert [t.config for t in low.trials] == [t.config for t in high.trials]
    assert high.best_value == -low.best_value


@pytest.mark.parametrize(
    "bad", [ValueError("no"), StopIteration(), "a string", None, float("nan"), float("inf")], ids=repr
)
def test_an_objective_that_fails_fails_that_trial_and_the_run_goes_on(bad, caplog):
    calls = []

    def flaky(config):
        calls.append(config)
        if len(calls) % 3 == 0:
            if isinstance(bad, Exception):
                raise bad
            return bad
        return objective(config)

    with caplog.at_level(logging.WARNING, logger="addtree"):
        result = at.minimize(flaky, SPACE, n_trials=11, seed=0, n_initial=5)
    assert [t.state for t in result.trials] == ["failed" if i % 3 == 2 else "done" for i in range(11)]
    assert sum(record.levelno == logging.WARNING for record in caplog.records) == 3
    assert "trial 2" in caplog.text


def broken(config):
    raise RuntimeError(f"out of memory at {config['x']}")


def test_an_objective_that_always_fails_ends_the_run_with_the_reason():
    with pytest.raises(NoSuccessError, match=r"first 5 trials all failed for the same reason: RuntimeError") as caught:
        at.minimize(broken, SPACE, n_trials=10, seed=0, n_initial=3)
    assert __file__ in caught.value.reason
    assert "raise RuntimeError(" in caught.value.traceback


def test_a_run_of_few_trials_that_all_fail_has_a_result_without_a_best():
    result = at.minimize(broken, SPACE, 4, seed=0)
    assert [t.state for t in result.trials] == ["failed"] * 4
    with pytest.raises(at.AddTreeError, match=r"no trial has a value yet .* the last with: RuntimeError: out of mem"):
        _ = result.best_value


def test_failures_for_different_reasons_do_not_end_the_run():
    calls = []

    def varied(config):
        calls.append(config)
        raise [ValueError, KeyError][len(calls) % 2]

    assert len(at.minimize(varied, SPACE, 8, seed=0).trials) == 8


def test_failures_after_a_success_do_not_end_the_run():
    calls = []

    def late(config):
        calls.append(config)
        return broken(config) if len(calls) > 1 else 0.0

    assert len(at.minimize(late, SPACE, 9, seed=0).trials) == 9


def test_a_failed_trial_names_file_and_line_and_keeps_its_traceback():
    failed = at.minimize(broken, SPACE, 1, seed=0).trials[0]
    line = broken.__code__.co_firstlineno + 1
    assert failed.error.startswith("RuntimeError: out of memory at 0.")
    assert failed.error.endswith(f"({__file__}, line {line}, in broken)")
    assert failed.traceback.startswith("Traceback")
    assert "RuntimeError: out of memory" in failed.traceback
    assert "outcome.py" not in failed.traceback
    assert failed.duration >= 0


def test_only_exceptions_to_catch_fail_a_trial():
    with pytest.raises(RuntimeError, match="out of memory"):
        at.minimize(broken, SPACE, 3, seed=0, catch=(ValueError, KeyError))
    assert at.minimize(broken, SPACE, 3, seed=0, catch=(RuntimeError,)).trials[2].state == "failed"


def test_an_interrupt_returns_the_result_so_far():
    calls = []

    def interrupted(config):
        calls.append(config)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        return objective(config)

    before = signal.getsignal(signal.SIGINT)
    result = at.minimize(interrupted, SPACE, 50, seed=0)
    assert [t.state for t in result.trials] == ["done"] * 3 + ["pending"]
    assert result.message == "interrupted after 3 trials"
    assert result.best_value == min(t.value for t in result.trials[:3])
    assert signal.getsignal(signal.SIGINT) is before


def test_one_trial_is_called_one_trial():
    assert repr(at.minimize(objective, SPACE, 1, seed=0)).startswith("<Result: 1 trial done; best value")


def test_the_timeout_counts_from_the_call():
    class SlowList(list):  # stands for a long history or a large file
        def __iter__(self):
            time.sleep(0.2)
            return super().__iter__()

    result = at.minimize(lambda config: 0.0, SPACE, 2, seed=0, timeout=0.2, initial=SlowList())
    assert result.trials == []
    assert "the timeout of 0.2 s was reached after 0 trials" in result.message


def test_after_the_timeout_no_trial_starts():
    def slow(config):
        time.sleep(0.2)
        return objective(config)

    result = at.minimize(slow, SPACE, 50, seed=0, timeout=0.3)
    assert 1 <= len(result.trials) <= 2
    assert all(t.state == "done" for t in result.trials)
    assert "timeout of 0.3 s" in result.message


def test_a_debug_line_per_trial(caplog):
    with caplog.at_level(logging.DEBUG, logger="addtree"):
        at.minimize(objective, SPACE, 3, seed=0)
    lines = [r.getMessage() for r in caplog.records if r.levelno == logging.DEBUG]
    assert [line.split(":")[0] for line in lines] == ["trial 0 is done", "trial 1 is done", "trial 2 is done"]


def test_progress_is_shown(capsys):
    at.minimize(objective, SPACE, 3, seed=0, progress=True)
    captured = capsys.readouterr()
    assert "3/3" in captured.out
    assert "best" in captured.out


def test_progress_without_rich(tmp_path):
    (tmp_path / "rich.py").write_text("raise ImportError")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import addtree as at; "
        "at.minimize(lambda c: c['x'], at.Space(x=at.Real(0, 1)), 2, seed=0, progress=True)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["1/2  trial 0", "2/2  trial 1"]


# ---------------------------------------------------------------------- resume


def test_a_resumed_run_is_the_uninterrupted_one(tmp_path):
    path = tmp_path / "run.json"
    for n in (5, 9, 9, 14):
        result = at.minimize(objective, SPACE, n, seed=3, n_initial=4, resume=path)
        assert len(result.trials) == n
    whole = at.minimize(objective, SPACE, 14, seed=3, n_initial=4)
    assert result.trials == whole.trials
    assert [t.duration for t in result.trials] == [t.duration for t in at.Optimizer.load(path).trials]


def test_pending_trials_are_evaluated_again_under_their_id(tmp_path):
    path = tmp_path / "run.json"
    optimizer = at.Optimizer(SPACE, seed=3)
    trials = optimizer.ask(4)
    optimizer.tell(trials[1], 0.5)
    optimizer.forget(trials[3])
    optimizer.save(path)
    result = at.minimize(objective, SPACE, 5, seed=3, resume=str(path))
    assert [t.id for t in result.trials] == [0, 1, 2, 4, 5]
    assert [t.config for t in result.trials[:3]] == [t.config for t in trials[:3]]
    assert result.trials[1].value == 0.5
    assert all(t.state == "done" for t in result.trials)


def test_an_error_that_ends_the_run_leaves_the_trial_for_the_next(tmp_path):
    path = tmp_path / "run.json"
    with pytest.raises(RuntimeError):
        at.minimize(broken, SPACE, 3, seed=0, catch=(), resume=path)
    assert [t.state for t in at.Optimizer.load(path).trials] == ["pending"]
    assert at.minimize(objective, SPACE, 3, seed=0, resume=path).trials[0].state == "done"


@pytest.mark.parametrize(
    ("space", "settings", "word"),
    [
        (SPACE, {"seed": 1}, "holds a run with seed=0, not 1"),
        (SPACE, {"seed": 0, "maximize": True}, "holds a run with maximize=False, not True"),
        (SPACE, {"seed": 0, "acquisition": "ucb"}, "acquisition='logei'"),
        (SPACE, {"seed": 0, "noise": 0.1}, "noise=None"),
        (at.Space(x=at.Real(0, 1)), {"seed": 0}, "another space"),
    ],
)
def test_a_file_of_another_run_is_refused(space, settings, word, tmp_path):
    path = tmp_path / "run.json"
    at.minimize(objective, SPACE, 2, seed=0, resume=path)
    content = path.read_bytes()
    with pytest.raises(OptionError, match=re.escape(word)):
        at.minimize(lambda c: 0.0, space, 4, resume=path, **settings)
    assert path.read_bytes() == content


def test_a_file_of_another_space_says_what_differs(tmp_path):
    at.minimize(lambda c: c["x"], at.Space(x=at.Real(0, 1), n=at.Integer(1, 3)), 2, resume=tmp_path / "run.json")
    with pytest.raises(OptionError, match=r"the file has x: real \[0, 1\], space= has x: real \[0, 2\];") as caught:
        at.minimize(lambda c: c["x"], at.Space(x=at.Real(0, 2), n=at.Integer(1, 3)), 3, resume=tmp_path / "run.json")
    assert "\n" not in str(caught.value)


def test_a_resumed_run_evaluates_the_labels_of_its_space(tmp_path):
    """JSON holds the members of an enumeration of strings as strings."""

    class Size(str, enum.Enum):
        SMALL = "small"
        LARGE = "large"

    space = at.Space(x=at.Real(0, 1), size=at.Categorical(list(Size)), model=at.Choice({Size.SMALL: at.Space()}))
    for n in (7, 10):
        result = at.minimize(
            lambda config: config["x"] + len(config["size"].name + config["model"].name),
            space,
            n,
            seed=0,
            resume=tmp_path / "run.json",
        )
    assert [trial.state for trial in result.trials] == ["done"] * 10
    reversed_space = at.Space({name: space.children[name] for name in reversed(space.children)})
    again = at.minimize(lambda config: config["x"], reversed_space, 11, seed=0, resume=tmp_path / "run.json")
    assert list(again.trials[-1].config) == list(result.trials[0].config), "the order of the file"


def test_a_resumed_run_without_a_seed_keeps_its_seed(tmp_path):
    path = tmp_path / "run.json"
    at.minimize(objective, SPACE, 2, seed=7, resume=path)
    assert at.minimize(objective, SPACE, 6, resume=path).trials == at.minimize(objective, SPACE, 6, seed=7).trials


def test_an_objective_may_do_what_it_likes_with_its_configuration():
    def greedy(config):
        value = objective(config)
        config.clear()
        return value

    assert (
        at.minimize(greedy, SPACE, n_trials=9, seed=2).trials
        == at.minimize(objective, SPACE, n_trials=9, seed=2).trials
    )


def test_the_callback_sees_the_optimizer_and_every_finished_trial_and_may_stop():
    seen = []

    def callback(optimizer, trial):
        assert optimizer.best.value <= trial.value
        seen.append(trial)
        if trial.id == 4:
            raise StopIteration

    result = at.minimize(objective, SPACE, 50, seed=0, callback=callback)
    assert [t.id for t in seen] == [0, 1, 2, 3, 4]
    assert seen == result.trials
    assert result.message == "stopped by the callback after trial 4"
    assert result.optimizer.ask().id == 5


def test_any_other_exception_of_the_callback_is_the_users():
    def callback(optimizer, trial):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        at.minimize(objective, SPACE, n_trials=3, seed=0, callback=callback)


def test_a_run_can_stop_by_the_expected_gain():
    def callback(optimizer, trial):
        if trial.id > 10 and optimizer.expected_gain() < 1e-3:
            raise StopIteration

    result = at.minimize(objective, SPACE, 60, seed=0, callback=callback)
    assert len(result.trials) < 60
    assert result.best_value < 1e-2


@pytest.mark.parametrize("n", [0, -1, 2.5])
def test_at_least_one_trial(n):
    with pytest.raises(OptionError, match=rf"n_trials={n} must be a whole number, at least 1"):
        at.minimize(objective, SPACE, n_trials=n)


@pytest.mark.parametrize(
    "kind",
    [np.float32, np.array, lambda x: np.array([[x]]), Decimal, Fraction],
    ids=["float32", "array", "matrix", "Decimal", "Fraction"],
)
def test_numbers_of_numpy_and_arrays_with_one_element_are_values(kind):
    result = at.minimize(lambda c: kind(c["x"]), at.Space(x=at.Real(0, 1)), n_trials=3, seed=0)
    assert all(type(t.value) is float for t in result.trials)
    by_name = at.minimize(lambda c: {"a": kind(c["x"]), "b": 1}, SPACE, 3, seed=0, objectives={"a": "min", "b": "min"})
    assert all(type(t.values["a"]) is float for t in by_name.trials)


@pytest.mark.parametrize("value", [np.ma.masked, np.ma.array([1.0], mask=[True])], ids=repr)
def test_a_masked_number_is_not_a_value(value):
    (trial,) = at.minimize(lambda c: value, SPACE, 1, seed=0).trials
    assert "which is not a finite number" in trial.error


def test_the_floating_point_errors_that_a_user_wants_raised_are_those_of_the_objective():
    def underflow(config):
        return float(np.exp(np.float64(-1e4)))

    with np.errstate(all="raise"):
        trials = at.minimize(lambda c: underflow(c) if c["model"] == "b" else objective(c), SPACE, 25, seed=0).trials
    assert {t.error.split(" (")[0] for t in trials if t.config["model"] == "b"} == {
        "FloatingPointError: underflow encountered in exp"
    }
    assert all(t.state == "done" for t in trials if t.config["model"] == "a")


class Proxy:
    """It answers to every name with another proxy, as those of remote objects do."""

    def __getattr__(self, name):
        return Proxy()

    def __call__(self, config):
        return objective(config) if config["model"] == "a" else "wrong"


def test_a_proxy_is_an_objective():
    trials = at.minimize(Proxy(), SPACE, 6, seed=0).trials
    assert {t.config["model"] == "a": t.state for t in trials} == {True: "done", False: "failed"}


def test_the_remedy_for_an_objective_that_always_fails_is_one_that_helps():
    with pytest.raises(NoSuccessError, match="to see the exception itself"):
        at.minimize(broken, SPACE, 5, seed=0)
    with pytest.raises(NoSuccessError, match=r"which is not a finite number \(.*\); correct the objective$"):
        at.minimize(lambda c: [1.0, 2.0], SPACE, 5, seed=0)
    two = {"a": "min", "b": "max"}
    with pytest.raises(NoSuccessError, match="whose 'b' is not a finite number"):
        at.minimize(lambda c: {"a": 1, "b": None}, SPACE, 5, seed=0, objectives=two)
    with pytest.raises(NoSuccessError, match=r"\(1.0, 2.0\), .* return a dict with a number for each of 'a', 'b'$"):
        at.minimize(lambda c: (1.0, 2.0), SPACE, 5, seed=0, objectives=two)
    with pytest.raises(NoSuccessError, match="which is a dict; return a number, or name its values by objectives="):
        at.minimize(lambda c: {"loss": 1.0, "epoch": 3}, SPACE, 5, seed=0)
    with pytest.raises(NoSuccessError, match="'loss' is not one of 'a', 'b'; leave it out"):
        at.minimize(lambda c: {"a": 1.0, "b": 2.0, "loss": 1.0}, SPACE, 5, seed=0, objectives=two)
