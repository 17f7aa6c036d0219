"""One evaluation of an objective: its value, or why it failed and where."""

from __future__ import annotations

import inspect
import math
import os
import sysconfig
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any

from addtree.support.numbers import read_number, scalar
from addtree.trials import Evaluation

Catch = tuple[type[BaseException], ...]

_MAX_MESSAGE = 500  # The message of an error is kept up to this many characters.
_MAX_TRACEBACK = 8000  # The end of a traceback is kept, up to this many characters.
_LIBRARIES = (  # Folders of installed libraries, and the file name of generated methods.
    *(sysconfig.get_paths()[key] + os.sep for key in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<string>",
)
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = ("<frozen", _PACKAGE + os.sep)  # Code that calls the user's code: Python's importer, and this package.


@dataclass(frozen=True)
class Outcome:
    """How an evaluation ended.

    value       the value, or the values by name; None if it failed
    evaluation  how long it took, and why it failed
    cause       the kind of the failure: equal for evaluations that failed for the same reason
    """

    value: float | dict[str, float] | None
    evaluation: Evaluation
    cause: str | None = None


def evaluate(objective: Callable[[dict[str, Any]], Any], config: dict[str, Any], catch: Catch) -> Outcome:
    """Evaluate a configuration. An exception in `catch`, or a result that is not a finite number, is a failure.

    The result may also be a mapping of names to finite numbers.
    """
    start = time.perf_counter()
    try:
        returned = objective(config)
    except catch as error:
        return _raised(error, objective, time.perf_counter() - start)
    duration = time.perf_counter() - start
    by_name = isinstance(returned, Mapping) and len(returned) > 0
    numbers: dict[Any, Any] = dict(returned) if by_name else {None: returned}
    values = {name: read_number(scalar(value)) for name, value in numbers.items()}
    finite = {name: value for name, value in values.items() if value is not None and math.isfinite(value)}
    wrong = [name for name in values if name not in finite]
    if not wrong:
        return Outcome(finite if by_name else finite[None], Evaluation(duration))
    what = f"whose {wrong[0]!r}" if by_name else "which"
    shown = _one_line(f"the objective returned {_shown(returned)}, {what} is not a finite number")
    return Outcome(None, Evaluation(duration, f"{shown}{defined(objective)}"), f"returned {type(returned).__name__}")


def failure(error: str, duration: float) -> Outcome:
    """An evaluation that was ended from outside."""
    return Outcome(None, Evaluation(duration, error), error)


def described(error: BaseException) -> str:
    """An exception in one line: its type and its message."""
    message = _shown(error, show=str)
    return _one_line(f"{type(error).__name__}: {message}" if message else type(error).__name__)


def _raised(error: BaseException, objective: Callable[..., Any], duration: float) -> Outcome:
    inner = error.__traceback__.tb_next if error.__traceback__ is not None else None  # without the frame of `evaluate`
    place = _place(inner) or defined(objective)
    lines = "".join(traceback.format_exception(type(error), error, inner))
    evaluation = Evaluation(duration, described(error) + place, lines[-_MAX_TRACEBACK:])
    return Outcome(None, evaluation, f"{type(error).__name__}{place}")


def located(error: BaseException) -> str:
    """An exception in one line, with the place that raised it."""
    return described(error) + place_of(error)


def place_of(error: BaseException) -> str:
    """The innermost line of the user's code that raised an exception; empty if only code of addtree did."""
    return _place(error.__traceback__)


def _place(trace: TracebackType | None) -> str:
    frames = [frame for frame in traceback.extract_tb(trace) if not frame.filename.startswith(_OURS)]
    own = [frame for frame in frames if not frame.filename.startswith(_LIBRARIES)]
    if not frames:
        return ""
    frame = (own or frames)[-1]
    return f" ({frame.filename}, line {frame.lineno}, in {frame.name})"


def defined(objective: Callable[..., Any]) -> str:
    """Where an objective is defined, if that is known."""
    try:
        code = getattr(inspect.unwrap(objective), "__code__", None)
    except Exception:  # A proxy answers to every name, so that it seems to wrap something again and again.
        return ""
    return (
        ""
        if not isinstance(code, CodeType)
        else f" ({code.co_filename}, line {code.co_firstlineno}, in {code.co_name})"
    )


def _shown(value: Any, show: Callable[[Any], str] = repr) -> str:
    """A value of the user as text, even if its own method for that fails."""
    try:
        return show(value)
    except Exception:
        return f"an object of type {type(value).__name__}"


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_MESSAGE else text[:_MAX_MESSAGE] + "..."
