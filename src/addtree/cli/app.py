"""The list of commands, the exit codes, and the one place that turns errors into lines on stderr."""

from __future__ import annotations

import codecs
import contextlib
import io
import logging
import os
import sys
import traceback
from typing import Annotated, Any

import optuna
import typer
from typer.core import TyperGroup

from addtree import __version__
from addtree.cli.ask_tell import forget, suggest, tell
from addtree.cli.paper import paper
from addtree.cli.proxy import proxy
from addtree.cli.report import explain, report
from addtree.cli.results import best, export, status
from addtree.cli.run import run
from addtree.errors import AddTreeError, InterruptedRunError, NoSuccessError, OutputError, StorageError, StudyError
from addtree.study.redaction import hide_secrets

_HELP = """Optimize objectives whose parameters depend on choices.

Start with `addtree run FILE.py`; then `addtree best`, `addtree explain` and `addtree report` show what was found. \
For experiments that are not a Python function, use `addtree suggest` and `addtree tell`.

Exit codes: 0 success, 1 no trial succeeded, 2 wrong argument or file, 3 problem with the storage, 4 problem with the \
study or the trial, 70 error that addtree did not expect, 130 interrupted, 141 output closed.
"""

# These errors have exit codes of their own, so that a script can tell them apart.
_EXIT_CODES: dict[type[AddTreeError], int] = {
    NoSuccessError: 1,
    StorageError: 3,
    StudyError: 4,
    InterruptedRunError: 130,
}
_OTHER_ERROR = 2  # exit code of every other error of addtree, and of a wrong argument
_UNEXPECTED_ERROR = 70  # exit code of an error that addtree did not expect; EX_SOFTWARE of sysexits.h
_CLOSED_OUTPUT = 141  # exit code if the reader of the output has gone; a shell reports the same for a closed pipe
_PLAIN = "addtree.plain"  # name of the error handler for characters that the terminal cannot show
_PLAIN_SIGNS = {"█": "#", "×": "x", "±": "+/-", "≤": "<=", "≥": ">=", "…": "...", "−": "-", "–": "-"}
_PLAIN_SIGNS |= {"│": "|", "├": "|", "└": "`", "─": "-"}
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]  # Typer exports this class only as a base of others


class Commands(TyperGroup):
    """The commands. Typer would give an interrupt and a closed pipe exit codes of its own."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an interrupt and an error of the system become errors of addtree."""
        try:
            return super().invoke(ctx)
        except AddTreeError:
            raise
        except KeyboardInterrupt:
            raise InterruptedRunError("interrupted") from None
        except OSError as error:
            if error.filename is not None:
                raise OutputError(f"{error.filename}: {error.strerror}") from error
            raise _output_error(error) from error


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"addtree {__version__}")
        raise typer.Exit


def _global_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that come before a command."""


app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.callback(help=_HELP)(_global_options)
for command in (run, status, best, export, suggest, tell, forget, report, explain, proxy, paper):
    # otherwise the value -0.5 that `tell` is given would be an option
    app.command(context_settings={"ignore_unknown_options": command is tell})(command)


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace what the terminal cannot show: signs of addtree by similar ones, other characters by their numbers."""
    if isinstance(error, UnicodeEncodeError) and (sign := error.object[error.start]) in _PLAIN_SIGNS:
        return _PLAIN_SIGNS[sign], error.start + 1
    return codecs.backslashreplace_errors(error)


def main() -> None:
    """Run the command line; an error becomes one line on stderr and an exit code."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    logging.getLogger("addtree").setLevel(logging.ERROR)
    logging.getLogger("addtree.study").setLevel(logging.WARNING)  # tells the user what a command leaves out
    if sys.stdout is None:  # It was closed. Writing must fail, and no file of the storage may take its place.
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    codecs.register_error(_PLAIN, _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_PLAIN)  # labels may contain what the terminal cannot show
    sys.exit(_run())


def _run() -> int:
    """Run a command, and return its exit code."""
    try:
        code = app(prog_name="addtree", standalone_mode=False)
        _flush()
    except _USAGE_ERROR as error:
        _show_usage(error)
        return _OTHER_ERROR
    except AddTreeError as error:
        return _show_error(error)
    except OSError as error:  # the help cannot be written
        return _show_error(_output_error(error))
    except SystemExit as error:  # Typer and Rich end the process if the pipe is closed
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        return _CLOSED_OUTPUT
    except Exception as error:
        _print(f"unexpected error: {type(error).__name__}: {error} ({_location(error)}); please report it")
        return _UNEXPECTED_ERROR
    return int(code or 0)


def _flush() -> None:
    """Write what is left of the output now, because an error at the end of the process would be a traceback."""
    try:
        sys.stdout.flush()
    except OSError as error:
        raise _output_error(error) from error


def _output_error(error: OSError) -> OutputError:
    return OutputError(f"the output cannot be written: {error.strerror}")


def _show_error(error: AddTreeError) -> int:
    """Print an error of addtree, and return its exit code."""
    if isinstance(error, OutputError):
        with contextlib.suppress(OSError, ValueError):  # drops what is left of the output
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error.__cause__, BrokenPipeError):
            return _CLOSED_OUTPUT
    _print(str(error))
    return next((code for kind, code in _EXIT_CODES.items() if isinstance(error, kind)), _OTHER_ERROR)


def _show_usage(error: Any) -> None:
    """Print what is wrong with the arguments, and how to see the right ones."""
    if error.format_message():  # without arguments, Typer has already printed the help
        command = "addtree" if error.ctx is None else error.ctx.command_path
        _print(f"{error.format_message()} (see `{command} --help`)")


def _print(message: str) -> None:
    """Print a message about an error in one line, without secrets; nothing more can be done if that fails."""
    line = hide_secrets(" ".join(message.splitlines()))
    with contextlib.suppress(OSError):
        print(f"addtree: {line}", file=sys.stderr, flush=True)


def _location(error: Exception) -> str:
    """The line that raised an error."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{os.path.basename(frame.filename)}, line {frame.lineno}"
