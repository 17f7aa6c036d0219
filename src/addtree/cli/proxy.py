"""The command `proxy`."""

from __future__ import annotations

from typing import Annotated

import typer

from addtree.cli.options import StorageUrl
from addtree.study.proxy import serve
from addtree.study.storage import GRPC_PORT


def proxy(
    storage: StorageUrl,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 admits other machines.")] = "localhost",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = GRPC_PORT,
) -> None:
    """Serve a database to many workers until interrupted. They use grpc://HOST:PORT as their storage."""
    serve(storage, host, port)
