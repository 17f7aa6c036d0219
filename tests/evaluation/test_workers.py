"""`minimize` in processes of its own: the same interface, whatever ends a process."""

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

import addtree as at
from addtree.errors import OptionError, WorkerError
from benchmarks.resume import Run, survive
from tests.test_optimizer import SPACE, objective

PROCESSES = "import addtree as at\nspace = at.Space(x=at.Real(0, 1))\n"


def own_children():
    """The processes that this one started, without those that joblib keeps for later."""
    return [child for child in multiprocessing.active_children() if "Loky" not in child.name]


def test_lambdas_and_closures_run_in_processes():
    shift = 0.25
    result = at.minimize(lambda c: objective(c) + shift, SPACE, 6, seed=0, n_jobs=2)
    assert [t.value for t in result.trials] == [objective(t.config) + shift for t in result.trials]
    assert sorted(t.id for t in result.trials) == list(range(6))
    assert all(t.duration < 5 for t in result.trials)
    assert own_children() == []


def test_trials_run_at_the_same_time():
    def slow(config):
        time.sleep(0.5)
        return float(os.getpid())

    result = at.minimize(slow, SPACE, 6, seed=0, n_jobs=3)
    assert len({t.value for t in result.trials}) == 3
    assert os.getpid() not in {t.value for t in result.trials}


def test_a_trial_that_takes_too_long_fails_alone():
    def uneven(config):
        if config["model"] == "a":
            time.sleep(60)
        return objective(config)

    start = time.monotonic()
    result = at.minimize(uneven, SPACE, 6, seed=0, trial_timeout=0.3)
    late = [t for t in result.trials if t.config["model"] == "a"]
    assert late
    assert all(t.error == "it took longer than trial_timeout=0.3 s" and t.duration >= 0.3 for t in late)
    assert all(t.state == ("failed" if t in late else "done") for t in result.trials)
    assert time.monotonic() - start < 50


@pytest.mark.parametrize("seconds", [1e10, math.inf, 10**400], ids=["years", "infinite", "huge"])
def test_a_long_limit_is_no_limit(seconds):
    assert len(at.minimize(objective, SPACE, 2, seed=0, timeout=seconds, trial_timeout=seconds).trials) == 2


@pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="the system has no real-time signals")
def test_a_signal_without_a_name_is_shown_by_its_number():
    def fatal(config):
        os.kill(os.getpid(), signal.SIGRTMIN + 1)

    result = at.minimize(fatal, SPACE, 1, seed=0, trial_timeout=60)
    assert result.trials[0].error == f"the process of the objective was killed by signal {signal.SIGRTMIN + 1}"


def test_a_process_that_dies_fails_its_trial_alone():
    def fatal(config):
        if config["model"] == "a":
            os.kill(os.getpid(), signal.SIGSEGV)
        if config["model"] == "c":
            os._exit(3)
        return objective(config)

    result = at.minimize(fatal, SPACE, 6, seed=0, n_jobs=2)
    how = {"a": "the process of the objective was killed by SIGSEGV", "c": "the process of the objective ended with "}
    for trial in result.trials:
        assert (trial.error or "").startswith(how.get(trial.config["model"], ""))
        assert (trial.state == "done") == (trial.config["model"] == "b")
    assert {t.config["model"] for t in result.trials} == {"a", "b", "c"}


def test_exceptions_have_file_line_and_traceback():
    def bad(config):
        raise ValueError("no")

    with pytest.raises(at.NoSuccessError, match=rf"ValueError: no \({__file__}, line \d+, in bad\)") as caught:
        at.minimize(bad, SPACE, 9, seed=0, n_jobs=2)
    assert 'raise ValueError("no")' in caught.value.traceback


@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), SystemExit(3)], ids=repr)
def test_exceptions_that_are_not_caught_are_raised_here(error):
    def bad(config):
        raise error

    with pytest.raises(type(error)):
        at.minimize(bad, SPACE, 9, seed=0, n_jobs=2, catch=(ValueError,))
    assert own_children() == []


class NeedsTwoError(Exception):
    """It cannot be unpickled, because its constructor needs more than its message."""

    def __init__(self, code, reason):
        super().__init__(f"{code}: {reason}")


@pytest.mark.parametrize(
    ("kind", "message"),
    [(LookupError, "3, 'no'"), (NeedsTwoError, rf"NeedsTwoError: 3: no \({__file__}, line \d+, in")],
)
def test_an_exception_of_another_process_has_its_traceback(kind, message):
    def bad(config):
        raise kind(3, "no")

    with pytest.raises((LookupError, WorkerError), match=message) as caught:
        at.minimize(bad, SPACE, 2, seed=0, n_jobs=2, catch=())
    assert 'raise kind(3, "no")\n' in str(caught.value.__cause__)


@pytest.mark.parametrize("error", [KeyError("mine"), KeyboardInterrupt()], ids=repr)
def test_what_has_arrived_when_a_run_ends_is_not_lost(error, tmp_path):
    space, path = at.Space(x=at.Real(0, 1)), tmp_path / "run.json"

    def mark(config):
        (tmp_path / str(config["x"])).touch()
        return config["x"]

    def end(optimizer, trial):
        others = [tmp_path / str(t.config["x"]) for t in optimizer.trials]
        while not all(other.exists() for other in others):
            time.sleep(0.01)
        time.sleep(0.5)  # The file is written just before the value is sent.
        raise error

    with suppress(KeyError):
        at.minimize(mark, space, 9, seed=0, n_jobs=3, resume=path, callback=end)
    assert [t.state for t in at.Optimizer.load(path).trials] == ["done"] * 3


def test_an_objective_that_cannot_be_sent():
    lock = threading.Lock()
    with pytest.raises(OptionError, match=r"cannot be sent to other processes .* create what cannot be sent inside it"):
        at.minimize(lambda c: float(lock.locked()), SPACE, 2, n_jobs=2)


def script(tmp_path, text, *, blocked=()):
    """Run a script; the blocked modules cannot be imported in it."""
    (tmp_path / "script.py").write_text(text)
    for name in blocked:
        (tmp_path / f"{name}.py").write_text("raise ImportError")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, str(tmp_path / "script.py")]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=120)


def test_without_cloudpickle_functions_work_and_lambdas_have_a_clear_error(tmp_path):
    call = "if __name__ == '__main__': print(len(at.minimize({}, space, 3, seed=0, n_jobs=2).trials))"
    named = PROCESSES + "def f(config): return config['x']\n" + call.format("f")
    assert script(tmp_path, named, blocked=["cloudpickle"]).stdout == "3\n"
    done = script(tmp_path, PROCESSES + call.format("lambda c: c['x']"), blocked=["cloudpickle"])
    assert "or pip install 'addtree[parallel]', which sends lambdas as well" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_start_methods(method, tmp_path):
    text = PROCESSES + (
        "import multiprocessing\nif __name__ == '__main__':\n"
        f"    multiprocessing.set_start_method({method!r})\n"
        "    print(len(at.minimize(lambda c: c['x'], space, 3, seed=0, n_jobs=2).trials))"
    )
    done = script(tmp_path, text)
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_a_script_without_a_guard_is_told_what_to_do(tmp_path):
    text = PROCESSES + "at.minimize(lambda c: c['x'], space, 3, seed=0, n_jobs=2, resume='run.json')"
    done = script(tmp_path, text)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"addtree.errors.{WorkerError.__name__}: a worker process ended with exit code 1")
    assert "put the call of minimize under `if __name__ == '__main__':`" in last


def test_ctrl_c_returns_the_result_and_leaves_no_process(tmp_path):
    text = PROCESSES + (
        "import os, time\nif __name__ == '__main__':\n"
        f"    def f(config):\n        open(os.path.join({str(tmp_path)!r}, 'started'), 'a').close(); time.sleep(30)\n"
        "    print(at.minimize(f, space, 3, seed=0, n_jobs=2).message)"
    )
    (tmp_path / "script.py").write_text(text)
    command = [sys.executable, str(tmp_path / "script.py")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    while process.poll() is None and not (tmp_path / "started").exists():
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert out == "interrupted after 0 trials\n"
    assert process.returncode == 0
    deadline = time.monotonic() + 10
    while is_group(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_group(process.pid)


def is_group(number):
    """Whether a process group has a process."""
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="it looks for processes in /proc, which only Linux has")
def test_a_run_that_is_killed_again_and_again_loses_nothing_and_leaves_no_process(tmp_path):
    run = Run(tmp_path / "run.json", n_trials=24, n_jobs=2, seconds=0.05)
    found = survive(run, kills=2)
    assert [(t.id, t.state) for t in found.trials] == [(i, "done") for i in range(24)]
    assert (found.lost, found.duplicate, found.orphans) == (0, 0, 0)
