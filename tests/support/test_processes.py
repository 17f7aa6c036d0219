"""Child processes: their threads, and the environment that they leave behind."""

import os

import pytest

from addtree.support.processes import THREAD_VARIABLES, one_thread_each, worker_pool


@pytest.fixture
def threads(monkeypatch):
    """The user has set one of the variables."""
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")


def test_the_users_number_of_threads_is_kept_unless_overridden(threads):
    with one_thread_each():
        assert [os.environ[name] for name in THREAD_VARIABLES] == ["3", "1", "1"]
    assert [os.environ.get(name) for name in THREAD_VARIABLES] == ["3", None, None]
    with one_thread_each(override=True):
        assert [os.environ[name] for name in THREAD_VARIABLES] == ["1", "1", "1"]
    assert [os.environ.get(name) for name in THREAD_VARIABLES] == ["3", None, None]


def test_workers_measure_with_one_thread(threads):
    with worker_pool(1) as pool:
        assert [pool.submit(os.getenv, name).result() for name in THREAD_VARIABLES] == ["1", "1", "1"]
    assert [os.environ.get(name) for name in THREAD_VARIABLES] == ["3", None, None]
