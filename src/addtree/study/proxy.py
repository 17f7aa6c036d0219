"""A gRPC proxy: one process that holds the connections to a database on behalf of many workers."""

from __future__ import annotations

import itertools
import threading
import warnings
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import optuna
from optuna.storages import run_grpc_proxy_server

from addtree.errors import StorageError
from addtree.study.redaction import hide_password
from addtree.study.storage import storage_at

_N_THREADS = 15  # Requests that are answered at the same time; SQLAlchemy holds as many connections by default.


class _SharedReads(optuna.storages._CachedStorage):
    """A database in which one read answers all requests that arrived before the read began.

    A read decodes every unfinished trial. If each of W workers had its own, the cost would grow with W².
    """

    def __init__(self, backend: optuna.storages.RDBStorage) -> None:
        super().__init__(backend)
        self._reading = threading.Lock()
        self._clock = itertools.count(1)
        self._begun: dict[int, int] = defaultdict(int)  # when the last finished read of each study began

    def _read_trials_from_remote_storage(self, study_id: int) -> None:
        arrived = next(self._clock)
        with self._reading:
            if self._begun[study_id] > arrived:
                return
            begun = next(self._clock)
            super()._read_trials_from_remote_storage(study_id)
            self._begun[study_id] = begun


def serve(url: str, host: str, port: int) -> None:
    """Serve the database at a URL to the workers that connect to this host and port; does not return."""
    with storage_at(url) as storage:
        if not isinstance(storage, optuna.storages._CachedStorage):
            raise StorageError(f"storage {hide_password(url)} is not a database; a proxy needs one, such as PostgreSQL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # Optuna's proxy is experimental
            try:
                shared, threads = _SharedReads(storage._backend), ThreadPoolExecutor(_N_THREADS)
                run_grpc_proxy_server(shared, host=host, port=port, thread_pool=threads)
            except ImportError:
                raise StorageError("the gRPC proxy is missing; install addtree[grpc]") from None
            except RuntimeError as error:
                raise StorageError(f"the gRPC proxy cannot listen on {host}:{port}: {error}") from None
