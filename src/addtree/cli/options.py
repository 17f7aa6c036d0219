"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from addtree.errors import OptionError

DEFAULT_STORAGE = "sqlite:///addtree.db"  # an SQLite file in the working directory needs no setup

StorageUrl = Annotated[
    str,
    typer.Option(
        help="An Optuna storage URL, grpc://HOST:PORT, or the path of an SQLite file or of a journal file (.journal)."
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
EarlierStudies = Annotated[
    list[str] | None, typer.Option(metavar="STUDY", help="An earlier study to learn from; may be repeated.")
]
EarlierStorages = Annotated[
    list[str] | None,
    typer.Option(metavar="URL", help="Storage of the earlier studies, one for all or one for each; else --storage."),
]


def earlier_studies(studies: list[str] | None, storages: list[str] | None, default: str) -> tuple[tuple[str, str], ...]:
    """Storage and name of each earlier study, from the options above and the storage of the new study."""
    names, urls = studies or [], storages or [default]
    if storages and not names:
        raise OptionError(f"--history-storage {storages[0]} has no study; add --history STUDY")
    if len(urls) not in (1, len(names)):
        raise OptionError(f"{len(urls)} times --history-storage for {len(names)} --history; give one, or one for each")
    return tuple(zip(urls * len(names) if len(urls) == 1 else urls, names, strict=True))
