"""Functions that users give."""

from __future__ import annotations

import inspect


def misfit(function: object, n_arguments: int) -> str | None:
    """The reason why a function cannot be called with `n_arguments` arguments; None if there is none.

    >>> misfit(lambda config, data: 0.0, 1)
    "missing a required argument: 'data'"
    """
    if not callable(function):
        return "it cannot be called"
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):  # Some functions do not tell theirs: those written in C, and proxies.
        return None
    try:
        signature.bind(*[None] * n_arguments)
    except TypeError as error:
        return str(error)
    return None
