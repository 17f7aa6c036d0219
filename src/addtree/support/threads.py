"""Threads: one BLAS thread while this package computes, and objects that several threads may use.

The matrices of this package are small. Several BLAS threads make them slower, keep other cores busy for nothing, and
round differently, so that a seed would give other suggestions on another number of cores. `one_blas_thread` therefore
limits BLAS to one thread, but only while this package computes: the user's own code keeps its threads. It also
sets NumPy's handling of floating-point errors to its default for that time.

NumPy and SciPy each load a BLAS library; their wheels bring two different ones. The functions that set the number of
threads are looked up by name in the extension modules of NumPy and SciPy that call BLAS, and so in the libraries that
these depend on. That needs no further package:

    OpenBLAS  wheels of NumPy and SciPy, Linux distributions, conda-forge
    MKL       Anaconda
    others    cannot be controlled (Accelerate, BLIS): the limit does nothing. The environment variable of the library
              does, for the whole process: VECLIB_MAXIMUM_THREADS=1, BLIS_NUM_THREADS=1

MKL, and OpenBLAS if it is built with OpenMP, keep a number per thread. Otherwise the number belongs to the process:
while one thread computes here, the BLAS calls of all other threads use one BLAS thread as well.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

# Extension modules that call BLAS. They are loaded before this package computes anything.
_CALLERS = ("numpy.linalg._umath_linalg", "scipy.linalg._fblas")
# Libraries in wheels have names of their own, so that two of them can be loaded into one process.
_OPENBLAS_NAMES = [(prefix, suffix) for prefix in ("scipy_", "") for suffix in ("64_", "", "_64")]
_OPENMP = 2  # What openblas_get_parallel returns if OpenBLAS is built with OpenMP.


@dataclass(frozen=True)
class BlasLibrary:
    """A loaded BLAS library.

    exchange    sets a number of threads and returns the one before
    per_thread  whether each thread of the process has its own number
    address     where the function that sets the number is in memory, which identifies the library
    """

    exchange: Callable[[int], int]
    per_thread: bool
    address: int


def find_libraries() -> list[BlasLibrary]:
    """The BLAS libraries of NumPy and SciPy, as far as they can be controlled; each once."""
    found: dict[int, BlasLibrary] = {}
    for name in _CALLERS:
        origin = getattr(sys.modules.get(name), "__file__", None)
        if origin is None:
            continue
        # On Windows a symbol is looked up in one file alone, and wheels keep their libraries in this folder.
        folder = Path(origin).parents[2] / f"{name.split('.')[0]}.libs"
        for path in (origin, *map(str, folder.glob("*.dll"))):
            library = control_of(ctypes.CDLL(path))
            if library is not None:
                found.setdefault(library.address, library)
    return list(found.values())


def control_of(loaded: ctypes.CDLL) -> BlasLibrary | None:
    """The control of the BLAS library that a loaded file is or depends on; None if the library is not a known one."""
    for prefix, suffix in _OPENBLAS_NAMES:
        names = [f"{prefix}openblas_{name}{suffix}" for name in ("get_num_threads", "set_num_threads", "get_parallel")]
        if all(hasattr(loaded, name) for name in names):
            return _openblas(*(getattr(loaded, name) for name in names))
    set_local = getattr(loaded, "MKL_Set_Num_Threads_Local", None)
    return None if set_local is None else BlasLibrary(set_local, True, _address(set_local))


def _openblas(get: Any, set_: Any, get_parallel: Any) -> BlasLibrary:
    def exchange(number: int) -> int:
        before = int(get())
        if before != number:
            set_(number)
        return before

    return BlasLibrary(exchange, get_parallel() == _OPENMP, _address(set_))


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class ThreadLimit:
    """Limits libraries to one thread while at least one thread of the process is inside `entered`."""

    def __init__(self, find: Callable[[], list[BlasLibrary]]) -> None:
        self._find: Callable[[], list[BlasLibrary]] | None = find
        self._per_process: list[BlasLibrary] = []
        self._per_thread: list[BlasLibrary] = []
        self._lock = threading.Lock()
        self._local = threading.local()  # Its `depth` is the number of blocks that the thread is inside of.
        self._inside = 0  # The number of threads inside.
        self._before: list[int] = []  # The numbers of `_per_process` when the first thread entered.

    @contextmanager
    def entered(self) -> Iterator[None]:
        """One BLAS thread inside the block, or while a decorated function runs. A nested block changes nothing."""
        depth = getattr(self._local, "depth", 0)
        before = [] if depth else self._limit()
        self._local.depth = depth + 1
        try:
            yield
        finally:
            self._local.depth = depth
            if not depth:
                self._restore(before)

    def _limit(self) -> list[int]:
        """Limit all libraries, and return the numbers that this thread had in `_per_thread`."""
        with self._lock:
            if self._find is not None:
                self._prepare(self._find())
            if not self._inside:
                self._before = [library.exchange(1) for library in self._per_process]
            self._inside += 1
        return [library.exchange(1) for library in self._per_thread]

    def _restore(self, before: list[int]) -> None:
        for library, number in zip(self._per_thread, before, strict=True):
            library.exchange(number)
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._restore_process()

    def _restore_process(self) -> None:
        for library, number in zip(self._per_process, self._before, strict=True):
            library.exchange(number)

    def _prepare(self, libraries: list[BlasLibrary]) -> None:
        self._find = None
        self._per_process = [library for library in libraries if not library.per_thread]
        self._per_thread = [library for library in libraries if library.per_thread]
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        """Forget the threads that a forked process does not have. One of them may have held the lock."""
        self._lock = threading.Lock()
        remaining = int(getattr(self._local, "depth", 0) > 0)
        if self._inside and not remaining:
            self._restore_process()
        self._inside = remaining


# The number of BLAS threads belongs to the process, and so does its limit.
_limit = ThreadLimit(find_libraries)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One BLAS thread inside the block, and NumPy's own handling of floating-point errors.

    A user who finds errors of an objective with `numpy.seterr(all="raise")` does not mean the underflows in here.
    """
    with _limit.entered(), np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
        yield


# ---------------------------------------------------------------------- objects that several threads use

Method = TypeVar("Method", bound=Callable[..., Any])


class Lock:
    """A lock that one thread can hold several times. Its copy, or what a pickle of it becomes, is a new lock."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


def synchronized(method: Method) -> Method:
    """Let one thread at a time run the synchronized methods of an object, which holds its `Lock` as `_lock`."""

    @wraps(method)
    def locked(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return method(self, *args, **kwargs)

    return cast(Method, locked)
