"""The command `paper`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def paper(
    experiment: Annotated[str, typer.Argument(help="synthetic, regression, compression, complexity or all.")],
    out: Annotated[Path, typer.Option(help="Folder for the raw results, the page and its figures.")] = Path(
        "paper-results"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="2 seeds, 25 iterations.")] = False,
    data: Annotated[Path | None, typer.Option(help="Folder that contains mnist/ (or set ADDTREE_DATA).")] = None,
    jobs: Annotated[int, typer.Option(help="Number of processes.")] = 1,
) -> None:
    """Run the paper's experiments with its baselines. The same command continues an interrupted run."""
    from addtree.paper.command import run  # the other commands should not wait for this import

    print(run(experiment, quick=quick, out=out, data=data, jobs=jobs))
