"""Stopping on a signal without breaking what must not be interrupted."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Interrupt:
    """A request to stop that interrupts the user's objective at once, but never a write to a storage or a file.

    The objective runs inside `with interrupt:`. All other code calls `check` where it can stop safely.
    """

    def __init__(self) -> None:
        self.requested = False
        self._inside_objective = False

    def request(self) -> None:
        """Ask to stop; raises KeyboardInterrupt if the objective is running."""
        self.requested = True
        if self._inside_objective:
            self._inside_objective = False  # `__exit__` is not called if this happens in `__enter__`
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise KeyboardInterrupt if a stop was requested."""
        if self.requested:
            raise KeyboardInterrupt

    def __enter__(self) -> None:
        self._inside_objective = True
        if self.requested:
            self.request()

    def __exit__(self, *error: object) -> None:
        self._inside_objective = False


@contextlib.contextmanager
def interrupt_on(*signals: signal.Signals) -> Iterator[Interrupt]:
    """Turn the first of these signals into a request to stop; a second one ends the process as it would by default.

    Outside the main thread, where Python forbids signal handlers, signals keep their meaning.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    previous = {number: signal.getsignal(number) for number in signals}

    def handle(number: int, frame: Any) -> None:
        signal.signal(number, signal.SIG_DFL)
        interrupt.request()

    for number in signals:
        signal.signal(number, handle)
    try:
        yield interrupt
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
