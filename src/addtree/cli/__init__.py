"""The command `addtree`: a thin layer over `addtree.study`, `addtree.report` and `addtree.paper`.

    app       the list of commands, the exit codes, and what happens to errors
    options   arguments and options that several commands share
    run       run
    results   status, best, export
    ask_tell  suggest, tell, forget
    report    report, explain
    proxy     proxy
    paper     paper
    display   the progress bar, the summary of a run, and suggestions that wait for a value

Typer and Rich are imported only in this package. They belong to the extra `cli`; without it, the command prints one
line that says so.
"""

from __future__ import annotations

import sys

_WRONG_ENVIRONMENT = 2  # exit code if the packages of the extra are missing, as for any other wrong argument or file

__all__ = ["main"]


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    try:
        from addtree.cli import app
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name is not None
        problem = f"{error.name} is not installed" if missing else " ".join(str(error).split())
        remedy = "install the packages of the command line: pip install --upgrade 'addtree[cli]'"
        print(f"addtree: {problem}; {remedy}", file=sys.stderr)
        sys.exit(_WRONG_ENVIRONMENT)
    app.main()
