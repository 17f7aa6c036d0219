"""Opening an Optuna storage by URL, with errors that fit on one line."""

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

_HEARTBEAT_INTERVAL = 30  # seconds between two signs of life of a running trial
_GRACE_PERIOD = 150  # seconds without a sign of life after which other machines treat a worker as dead
_OPEN_ATTEMPTS = 5  # attempts to open a database in which other workers are creating the tables at the same time
_OPEN_PAUSE = 0.5  # seconds between two of these attempts
_SQLITE_TIMEOUT = 60  # seconds that an SQLite transaction waits for the transactions of other workers
_POSTGRES_TIMEOUT = 10  # seconds that connecting to a PostgreSQL server may take


def hide_password(url: str) -> str:
    """Replace the password in a URL, so that the URL can be shown.

    >>> hide_password("postgresql://me:secret@host/db")
    'postgresql://me:***@host/db'
    """
    try:
        return make_url(url).render_as_string(hide_password=True)
    except sqlalchemy.exc.ArgumentError:
        return url


@contextlib.contextmanager
def storage_at(url: str) -> Iterator[BaseStorage]:
    """Open the storage at a URL as `open_storage` does, and close it afterwards.

    Errors of the storage that occur inside the block are raised as StorageError.
    """
    with _storage_errors(url):
        storage = open_storage(url)
        try:
            yield storage
        finally:
            _close(storage)


def open_storage(url: str) -> BaseStorage:
    """Open the storage at an Optuna URL.

    A plain path is a journal if it ends in .journal, and an SQLite file otherwise.
    """
    if "://" not in url:
        url = f"journal:///{url}" if url.endswith(".journal") else f"sqlite:///{url}"
    with _storage_errors(url):
        if url.startswith("journal:///"):
            return JournalStorage(JournalFileBackend(url.removeprefix("journal:///")))
        return optuna.storages._CachedStorage(_open_database(url))


def _open_database(url: str) -> RDBStorage:
    """Open a database with the driver and the time limits that suit it."""
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
        parsed.get_dialect()
    except (sqlalchemy.exc.ArgumentError, sqlalchemy.exc.NoSuchModuleError):
        raise StorageError(
            f"storage {url!r} is not a storage URL; use sqlite:///FILE.db or postgresql://USER@HOST/DATABASE"
        ) from None
    if parsed.drivername == "postgresql":  # the driver that this stands for differs between versions of SQLAlchemy
        url = parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    timeouts = {"sqlite": {"timeout": _SQLITE_TIMEOUT}, "postgresql": {"connect_timeout": _POSTGRES_TIMEOUT}}
    engine_options = {"connect_args": timeouts.get(backend, {}), "pool_pre_ping": backend != "sqlite"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # Optuna's heartbeat is experimental
        storage = _create_tables(url, engine_options)
    if backend == "sqlite":
        _lock_at_begin(storage.engine)
    return storage


def _create_tables(url: str, engine_options: dict[str, Any]) -> RDBStorage:
    """Open a database and create its tables; try again if another worker creates them at the same moment."""
    for attempt in range(_OPEN_ATTEMPTS):
        try:
            return RDBStorage(
                url,
                engine_kwargs=engine_options,
                heartbeat_interval=_HEARTBEAT_INTERVAL,
                grace_period=_GRACE_PERIOD,
            )
        except ImportError:
            raise StorageError(
                f"storage {hide_password(url)}: its driver is missing; install addtree[postgres] for PostgreSQL"
            ) from None
        except RuntimeError as error:  # the tables were created by another version of Optuna
            raise StorageError(f"storage {hide_password(url)}: {_first_line(error)}") from error
        except (sqlalchemy.exc.SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
            cause = error.__cause__ if isinstance(error, optuna.exceptions.StorageInternalError) else error
            raced = isinstance(cause, sqlalchemy.exc.IntegrityError) or "already exists" in str(cause)
            if attempt == _OPEN_ATTEMPTS - 1 or not raced:
                raise
            time.sleep(_OPEN_PAUSE)
    raise AssertionError("unreachable")


def _lock_at_begin(engine: sqlalchemy.Engine) -> None:
    """Make every SQLite transaction take the write lock when it begins.

    By default, SQLite takes the lock at the first write. Two workers could then both read that a trial is waiting, and
    both claim it.
    """

    @sqlalchemy.event.listens_for(engine, "connect")
    def disable_implicit_transactions(connection: Any, record: Any) -> None:
        connection.isolation_level = None

    @sqlalchemy.event.listens_for(engine, "begin")
    def begin_with_lock(connection: sqlalchemy.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    engine.dispose()  # connections that are already open do not know these rules


def _close(storage: BaseStorage) -> None:
    """Close the connections to the database."""
    storage.remove_session()
    backend = getattr(storage, "_backend", None)
    if isinstance(backend, RDBStorage):
        backend.engine.dispose()


@contextlib.contextmanager
def _storage_errors(url: str) -> Iterator[None]:
    """Raise every error of a storage as a StorageError with a message of one line."""
    shown = hide_password(url)
    try:
        yield
    except optuna.exceptions.StorageInternalError as error:
        raise StorageError(f"storage {shown}: {_first_line(error.__cause__ or error)}") from error
    except (sqlalchemy.exc.SQLAlchemyError, OSError) as error:
        raise StorageError(f"storage {shown}: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    """Return the first line of an error's message; the database's own message, if there is one."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
