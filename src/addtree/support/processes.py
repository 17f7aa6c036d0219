"""Child processes: one BLAS thread each, and none that outlives its parent."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def one_thread_each(*, override: bool = False) -> Iterator[None]:
    """Processes started inside use one BLAS thread, because they share the cores.

    A number of threads that the user has set is kept, unless `override` is true.
    """
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    changed = [name for name, value in before.items() if override or value is None]
    os.environ.update(dict.fromkeys(changed, "1"))
    try:
        yield
    finally:
        for name in changed:
            value = before[name]
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def end_with_parent() -> None:
    """Make this child process end on Ctrl-C, and as soon as its parent has ended for whatever reason."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def worker_pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes for measurements: one BLAS thread each, whatever the user has set; none outlives this process.

    They are spawned and not forked, because libraries with threads of their own do not survive a fork. At the end of
    the block, work that has not begun is dropped, and work that has begun is waited for.
    """
    with one_thread_each(override=True):
        pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=end_with_parent)
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)
