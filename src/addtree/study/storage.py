"""Storages: Optuna's, opened by URL, with errors that fit on one line."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Iterator
from typing import Any

import optuna
import sqlalchemy
import sqlalchemy.event
import sqlalchemy.exc
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from sqlalchemy.engine import make_url

from addtree.errors import StorageError

_BEAT, _GRACE = 30, 150  # seconds: how often a worker shows that it lives, and when others take it for dead
_ATTEMPTS, _PAUSE = 5, 0.5  # to make the tables, seconds in between
_TIMEOUT = 60  # seconds that a write waits for other workers' writes


def hide_password(url: str) -> str:
    """The URL as it may be shown.

    >>> hide_password("postgresql://me:secret@host/db")
    'postgresql://me:***@host/db'
    """
    try:
        return make_url(url).render_as_string(hide_password=True)
    except sqlalchemy.exc.ArgumentError:
        return url


@contextlib.contextmanager
def storage_at(url: str) -> Iterator[BaseStorage]:
    """The storage at a URL (see `open_storage`), closed afterwards; its errors come out as StorageError."""
    with _errors(url):
        storage = open_storage(url)
        try:
            yield storage
        finally:
            close(storage)


def close(storage: BaseStorage) -> None:
    """Give the database connections back."""
    storage.remove_session()
    backend = getattr(storage, "_backend", None)
    if isinstance(backend, RDBStorage):
        backend.engine.dispose()


@contextlib.contextmanager
def _errors(url: str) -> Iterator[None]:
    """Turn what a storage raises into one StorageError on one line."""
    shown = hide_password(url)
    try:
        yield
    except optuna.exceptions.StorageInternalError as error:
        raise StorageError(f"storage {shown}: {_one_line(error.__cause__ or error)}") from error
    except (sqlalchemy.exc.SQLAlchemyError, OSError) as error:
        raise StorageError(f"storage {shown}: {_one_line(error)}") from error


def _one_line(error: BaseException) -> str:
    text = str(getattr(error, "orig", None) or error).strip().splitlines()
    return text[0] if text else type(error).__name__


def open_storage(url: str) -> BaseStorage:
    """The storage at an Optuna URL; a plain path is an SQLite file, or a journal where it ends in .journal."""
    if "://" not in url:
        url = f"journal:///{url}" if url.endswith(".journal") else f"sqlite:///{url}"
    with _errors(url):
        if url.startswith("journal:///"):
            return JournalStorage(JournalFileBackend(url.removeprefix("journal:///")))
        try:
            parsed = make_url(url)
            backend = parsed.get_backend_name()
            parsed.get_dialect()
        except (sqlalchemy.exc.ArgumentError, sqlalchemy.exc.NoSuchModuleError):
            raise StorageError(
                f"storage {url!r} is no storage URL; use sqlite:///FILE.db or postgresql://USER@HOST/DATABASE"
            ) from None
        if parsed.drivername == "postgresql":  # which driver that means has changed between versions of SQLAlchemy
            url = parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
        wait = {"sqlite": {"timeout": _TIMEOUT}, "postgresql": {"connect_timeout": 10}}.get(backend, {})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # the heartbeat
            storage = _open(url, {"connect_args": wait, "pool_pre_ping": backend != "sqlite"})
        if backend == "sqlite":
            _one_at_a_time(storage.engine)
        return optuna.storages._CachedStorage(storage)


def _open(url: str, engine: dict[str, Any]) -> RDBStorage:
    """Open a database, making the tables; where another worker makes them in the same moment, wait for it."""
    for attempt in range(_ATTEMPTS):
        try:
            return RDBStorage(url, engine_kwargs=engine, heartbeat_interval=_BEAT, grace_period=_GRACE)
        except ImportError:
            raise StorageError(
                f"storage {hide_password(url)}: no driver for it; install addtree[postgres] for PostgreSQL"
            ) from None
        except RuntimeError as error:  # tables of another version of Optuna
            raise StorageError(f"storage {hide_password(url)}: {_one_line(error)}") from error
        except (sqlalchemy.exc.SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
            cause = error.__cause__ if isinstance(error, optuna.exceptions.StorageInternalError) else error
            raced = isinstance(cause, sqlalchemy.exc.IntegrityError) or "already exists" in str(cause)
            if attempt == _ATTEMPTS - 1 or not raced:
                raise
            time.sleep(_PAUSE)
    raise AssertionError("unreachable")


def _one_at_a_time(engine: sqlalchemy.Engine) -> None:
    """Let every SQLite transaction take the lock first: else two workers read that a ticket waits, and both take it."""

    @sqlalchemy.event.listens_for(engine, "connect")
    def leave_transactions_to_us(connection: Any, record: Any) -> None:
        connection.isolation_level = None

    @sqlalchemy.event.listens_for(engine, "begin")
    def lock_first(connection: sqlalchemy.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    engine.dispose()  # of connections made before
