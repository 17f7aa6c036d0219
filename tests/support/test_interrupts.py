from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

from addtree.support.interrupts import Interrupt, interrupt_on


def test_an_interrupt_waits_until_the_objective_runs() -> None:
    interrupt = Interrupt()
    interrupt.check()
    interrupt.request()  # outside the objective, nothing is raised
    with pytest.raises(KeyboardInterrupt):
        interrupt.check()
    with pytest.raises(KeyboardInterrupt), interrupt:
        raise AssertionError("the objective must not start")
    interrupt.request()  # nor is anything raised after that: what follows may be a write


def test_a_signal_becomes_an_interrupt_and_its_handler_comes_back() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with interrupt_on(signal.SIGTERM) as interrupt:
            os.kill(os.getpid(), signal.SIGTERM)
            assert interrupt.requested
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL  # a second signal would end the process
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_signals_are_left_alone_outside_the_main_thread() -> None:
    handlers: list[Any] = []

    def inside() -> None:
        with interrupt_on(signal.SIGTERM):
            handlers.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGTERM)]
