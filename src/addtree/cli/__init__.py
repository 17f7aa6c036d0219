"""The command `addtree`: a thin layer over `addtree.study`, `addtree.report` and `addtree.paper`.

    app       the list of commands, the exit codes, and what happens to errors
    options   arguments and options that several commands share
    run       run
    results   status, best, export
    ask_tell  suggest, tell
    report    report, explain
    paper     paper
    display   the progress bar and the summary of a run

Typer and Rich are imported only in this package.
"""

from addtree.cli.app import main

__all__ = ["main"]
