"""A gRPC proxy: one process that holds the connections to a database on behalf of many workers."""

from __future__ import annotations

import warnings

import optuna
from optuna.storages import run_grpc_proxy_server

from addtree.errors import StorageError
from addtree.study.redaction import hide_password
from addtree.study.storage import storage_at


def serve(url: str, host: str, port: int) -> None:
    """Serve the database at a URL to the workers that connect to this host and port; does not return."""
    with storage_at(url) as storage:
        if not isinstance(storage, optuna.storages._CachedStorage):
            raise StorageError(f"storage {hide_password(url)} is not a database; a proxy needs one, such as PostgreSQL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # Optuna's proxy is experimental
            try:
                run_grpc_proxy_server(storage, host=host, port=port)
            except ImportError:
                raise StorageError("the gRPC proxy is missing; install addtree[grpc]") from None
            except RuntimeError as error:
                raise StorageError(f"the gRPC proxy cannot listen on {host}:{port}: {error}") from None
