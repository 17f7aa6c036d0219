"""The list of commands, the exit codes, and what happens to errors."""

from __future__ import annotations

import logging
import sys

import optuna
import typer

from addtree.cli.ask_tell import suggest, tell
from addtree.cli.paper import paper
from addtree.cli.report import explain, report
from addtree.cli.results import best, export, status
from addtree.cli.run import run
from addtree.errors import AddTreeError, InterruptedRunError, NoSuccessError, StorageError, StudyError

_HELP = """Optimize objectives whose parameters depend on choices.

Exit codes: 0 success, 1 no trial succeeded, 2 a wrong argument or file, 3 the storage, 4 the study, 130 interrupted.
"""

# These errors have exit codes of their own, so that a script can tell them apart.
_EXIT_CODES: dict[type[AddTreeError], int] = {
    NoSuccessError: 1,
    StorageError: 3,
    StudyError: 4,
    InterruptedRunError: 130,
}
_OTHER_ERROR = 2  # exit code of every other error; Typer uses the same number for a wrong argument

app = typer.Typer(no_args_is_help=True, add_completion=False, help=_HELP, pretty_exceptions_enable=False)
app.command()(run)
app.command()(status)
app.command()(best)
app.command()(export)
app.command()(suggest)
app.command(context_settings={"ignore_unknown_options": True})(tell)  # otherwise the value -0.5 would be an option
app.command()(report)
app.command()(explain)
app.command()(paper)


def main() -> None:
    """Run the command line; an error of addtree becomes one line on stderr and an exit code."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    logging.getLogger("addtree").setLevel(logging.ERROR)
    try:
        app()
    except AddTreeError as error:
        print(f"addtree: {error}", file=sys.stderr)
        sys.exit(_exit_code(error))


def _exit_code(error: AddTreeError) -> int:
    return next((code for kind, code in _EXIT_CODES.items() if isinstance(error, kind)), _OTHER_ERROR)
