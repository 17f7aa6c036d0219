"""One BLAS thread while this package computes, and an optimizer that several threads use."""

import copy
import ctypes
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import addtree as at
from addtree import report
from addtree.optimizer import Optimizer
from addtree.support.threads import BlasLibrary, Lock, ThreadLimit, control_of, find_libraries, one_blas_thread
from tests.test_optimizer import SPACE, objective, run

LIBRARIES = find_libraries()
needs_control = pytest.mark.skipif(not LIBRARIES, reason="the BLAS library of this NumPy cannot be controlled")


@pytest.fixture
def three_threads():
    """The libraries of this process use three threads; they use their own number again afterwards."""
    before = [library.exchange(3) for library in LIBRARIES]
    yield
    for library, number in zip(LIBRARIES, before, strict=True):
        library.exchange(number)


def numbers():
    """The number of threads of each library, which stays as it is."""
    found = [library.exchange(1) for library in LIBRARIES]
    for library, number in zip(LIBRARIES, found, strict=True):
        library.exchange(number)
    return found


def fake_library(per_thread=False):
    """A library with four threads, and a function that tells the number that the calling thread has."""
    local, shared = threading.local(), [4]

    def exchange(number):
        before = getattr(local, "number", 4) if per_thread else shared[0]
        local.number, shared[0] = number, number
        return before

    return BlasLibrary(exchange, per_thread, 0), lambda: getattr(local, "number", 4) if per_thread else shared[0]


# ------------------------------------------------------------------ the limit


@needs_control
def test_the_limit_holds_inside_and_ends_with_the_block(three_threads):
    with one_blas_thread():
        assert set(numbers()) == {1}
        with one_blas_thread():
            assert set(numbers()) == {1}
        assert set(numbers()) == {1}
    assert set(numbers()) == {3}
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert set(numbers()) == {3}


@pytest.mark.parametrize("per_thread", [False, True])
def test_the_last_thread_to_leave_restores_the_number(per_thread):
    library, number = fake_library(per_thread)
    limit, inside, leave = ThreadLimit(lambda: [library]), threading.Barrier(3), threading.Event()

    def enter():
        with limit.entered():
            inside.wait(timeout=10)
            leave.wait(timeout=10)
            during = number()
        return during, number()

    with ThreadPoolExecutor(2) as pool:
        entered = [pool.submit(enter) for _ in range(2)]
        inside.wait(timeout=10)
        assert number() == (4 if per_thread else 1)
        leave.set()
        found = [future.result() for future in entered]
    assert {during for during, _ in found} == {1}
    assert number() == 4
    if per_thread:
        assert {after for _, after in found} == {4}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_process_forked_while_another_thread_is_inside_is_not_limited():
    library, number = fake_library()
    limit, inside, leave = ThreadLimit(lambda: [library]), threading.Event(), threading.Event()

    def enter():
        with limit.entered():
            inside.set()
            leave.wait(timeout=10)

    def child():
        assert number() == 4
        with limit.entered():
            assert number() == 1
        assert number() == 4

    thread = threading.Thread(target=enter)
    thread.start()
    inside.wait(timeout=10)
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(timeout=20)
    leave.set()
    thread.join()
    assert process.exitcode == 0


def test_a_library_without_blas_has_no_control():
    assert control_of(ctypes.CDLL(None)) is None or LIBRARIES
    with ThreadLimit(list).entered():
        pass


def numbers_in_model(call):
    """The numbers of threads whenever `call` enters a function that factorises or solves."""
    seen = set()

    def watch(frame, event, argument):
        if event == "call" and frame.f_globals.get("__name__") == "addtree.model.cholesky":
            seen.update(numbers())

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


@needs_control
def test_every_entrance_limits_and_restores(three_threads, tmp_path):
    optimizer = Optimizer(SPACE, seed=0, n_initial=4)
    configs = run(optimizer, 8)
    gp = at.AddTreeGP(SPACE).fit(configs, range(8), restarts=0)
    optimizer.save(tmp_path / "run.json")
    calls = {
        "suggest": lambda: optimizer.suggest(9),
        "ask": lambda: optimizer.ask(2),
        "recommend": optimizer.recommend,
        "load": lambda: Optimizer.load(tmp_path / "run.json"),
        "fit": lambda: gp.fit(configs, range(8), restarts=0),
        "condition": lambda: gp.condition(configs[:6], range(6)),
        "predict": lambda: gp.predict(configs),
        "effects": lambda: gp.effects(configs[0]),
        "leave one out": gp.leave_one_out,
        "report": lambda: report.build(SPACE, optimizer.trials),
    }
    assert {name: numbers_in_model(call) for name, call in calls.items()} == {name: {1} for name in calls}
    assert set(numbers()) == {3}


# ------------------------------------------------------------------ suggestions

RESULTS = """
import json, sys
import addtree as at
from addtree.problems import synthetic

problem = synthetic()
optimizer = at.Optimizer(problem.space, seed=0)
for _ in range(40):
    trial = optimizer.ask()
    optimizer.tell(trial, problem.objective(trial.config))
configs, values = zip(*((trial.config, trial.value) for trial in optimizer.trials))
means, _ = at.AddTreeGP(problem.space).fit(configs, values, restarts=0).predict(configs)
json.dump([configs, means.tolist()], sys.stdout)
"""


@needs_control
def test_the_number_of_blas_threads_changes_no_bit():
    """Without the limit, suggestions differ from the tenth on."""
    found = {}
    for threads in ("1", "4"):
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        command = [sys.executable, "-c", RESULTS]
        out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found[threads] = json.loads(out.stdout)
    assert len(found["1"][0]) == 40
    assert found["1"] == found["4"]


# ------------------------------------------------------------------ threads of the user


def test_threads_that_ask_and_tell_one_optimizer_lose_nothing():
    """Eight threads ask, tell, read and save at once: every trial is another one, and every value arrives."""
    optimizer = Optimizer(SPACE, seed=0, n_initial=8, noise=0)
    start = threading.Barrier(8)

    def work(_):
        start.wait(timeout=10)
        told = []
        for i in range(5):
            trial = optimizer.ask()
            assert optimizer.trials[trial.id].id == trial.id
            told.append(optimizer.tell(trial, failed=True) if i == 4 else optimizer.tell(trial, float(trial.id)))
            optimizer.best, optimizer.recommend()
        return told

    with ThreadPoolExecutor(8) as pool:
        told = [trial for found in pool.map(work, range(8)) for trial in found]
    assert sorted(trial.id for trial in told) == list(range(40))
    assert {trial.id: trial for trial in told} == {trial.id: trial for trial in optimizer.trials}
    assert len({json.dumps(trial.config) for trial in told}) == 40
    assert {trial.state for trial in told} == {"done", "failed"}


def test_a_trial_told_by_several_threads_is_told_once():
    optimizer = Optimizer(SPACE, seed=0)
    trial, start = optimizer.ask(), threading.Barrier(8)

    def tell(value):
        start.wait(timeout=10)
        try:
            return optimizer.tell(trial, value).value
        except at.TrialError:
            return None

    with ThreadPoolExecutor(8) as pool:
        accepted = [value for value in pool.map(tell, map(float, range(8))) if value is not None]
    assert accepted == [optimizer.best.value]


def test_a_save_during_asks_and_tells_can_be_loaded(tmp_path):
    optimizer, stop = Optimizer(SPACE, seed=0, n_initial=4), threading.Event()

    def save():
        counts = []
        while not stop.is_set():
            optimizer.save(tmp_path / "run.json")
            counts.append(len(Optimizer.load(tmp_path / "run.json").trials))
        return counts

    with ThreadPoolExecutor(1) as pool:
        saved = pool.submit(save)
        run(optimizer, 12)
        stop.set()
        counts = saved.result()
    assert counts == sorted(counts)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))], ids=["copy", "pickle"])
def test_an_optimizer_can_be_copied_and_pickled(duplicate):
    optimizer = Optimizer(SPACE, seed=0, n_initial=4)
    run(optimizer, 6)
    other = duplicate(optimizer)
    assert other._lock is not optimizer._lock
    assert other.tell(other.ask(), 0.1) == optimizer.tell(optimizer.ask(), 0.1)
    assert objective(other.ask().config) == objective(optimizer.ask().config)


def test_a_lock_can_be_held_twice_by_one_thread_and_by_no_other():
    lock, entered = Lock(), []
    with lock, lock:
        thread = threading.Thread(target=lambda: lock.__enter__() or entered.append(1) or lock.__exit__())
        thread.start()
        thread.join(timeout=0.05)
        assert not entered
    thread.join(timeout=10)
    assert entered == [1]
