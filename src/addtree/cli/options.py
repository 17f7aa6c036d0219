"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

DEFAULT_STORAGE = "sqlite:///addtree.db"  # an SQLite file in the working directory needs no setup

StorageUrl = Annotated[
    str,
    typer.Option(
        help="An Optuna storage URL, grpc://HOST:PORT, or the path of an SQLite file or of one that ends in .journal."
    ),
]
StudyName = Annotated[str, typer.Argument(help="The name of the study.")]
AnyStudyName = Annotated[
    str | None, typer.Argument(help="The name of the study; not needed if the storage has only one.")
]
Noise = Annotated[
    float | None,
    typer.Option(
        min=0, help="Standard deviation of repeated evaluations; by default it is learned. The study keeps it."
    ),
]
Maximize = Annotated[bool, typer.Option("--maximize", help="Look for the largest value.")]
