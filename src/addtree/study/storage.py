"""Opening an Optuna storage by URL, with errors that fit on one line."""

from __future__ import annotations

import contextlib
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import optuna
import sqlalchemy
import sqlalchemy.event
import sqlalchemy.exc
from optuna.storages import BaseStorage, GrpcStorageProxy, RDBStorage
from sqlalchemy.engine import make_url

from addtree.errors import AddTreeError, StorageError
from addtree.study.database import Database
from addtree.study.journal import is_journal, open_journal
from addtree.study.redaction import hide_password, hide_secrets

Access: TypeAlias = Literal["read", "write", "create"]
"""What a storage is opened for: to read it, also to write to it, or also to create it if it does not exist."""

_OPEN_ATTEMPTS = 5  # attempts to open a database in which other workers are creating the tables at the same time
_OPEN_PAUSE = 0.5  # seconds between two of these attempts
_SQLITE_TIMEOUT = 60  # seconds that an SQLite transaction waits for the transactions of other workers
_POSTGRES_TIMEOUT = 10  # seconds that connecting to a PostgreSQL server may take
_PROXY_TIMEOUT = 60  # seconds that connecting to a gRPC proxy may take; hundreds of workers may start at once
_IN_MEMORY = (None, "", ":memory:")  # what SQLite URLs without a file name as their database
GRPC_PORT = 13000  # port of a gRPC proxy whose URL has none; Optuna's default

# What a driver needs to know. The encoding makes psycopg return text for a database whose encoding is SQL_ASCII.
_CONNECT_OPTIONS: dict[str, dict[str, Any]] = {
    "sqlite": {"timeout": _SQLITE_TIMEOUT},
    "postgresql": {"connect_timeout": _POSTGRES_TIMEOUT, "client_encoding": "utf8"},
}
# An error that passes through one of these packages comes from the storage.
_STORAGE_PACKAGES = (
    *("optuna.storages", "sqlalchemy", "psycopg", "grpc"),
    *("addtree.study.journal", "addtree.study.database"),
)
# These errors mean that a storage cannot be reached or written; other errors of a storage mean damaged data.
_UNAVAILABLE = (optuna.exceptions.StorageInternalError, sqlalchemy.exc.SQLAlchemyError, OSError)

# What to do about an error whose message contains these words.
_REMEDIES = {
    "unable to open database file": "check that its folder exists and can be written",
    "file is not a database": "give the path of another file",
    "readonly database": "check the permissions of the file and of its folder",
    "disk is full": "free some space; the same command continues",
    "No space left": "free some space; the same command continues",
    "refused": "check that its server runs there",
    "authentication failed": "check the user and the password",
}


@contextlib.contextmanager
def storage_at(url: str, access: Access = "create") -> Iterator[BaseStorage]:
    """Open the storage at a URL as `open_storage` does, and close it afterwards.

    Errors of the storage that occur inside the block are raised as StorageError.
    """
    with _storage_errors(url):
        storage = open_storage(url, access)
        try:
            yield storage
        finally:
            _close(storage)


def open_storage(url: str, access: Access = "create") -> BaseStorage:
    """Open the storage at an Optuna URL, or the one behind the gRPC proxy at grpc://HOST:PORT.

    A plain path is a journal if it ends in .journal, and an SQLite file otherwise. Unless the storage may be created, a
    missing file or a database without studies is a StorageError, and nothing is written.
    """
    if not url.strip() or ("://" not in url and hide_password(url) != url):  # a typo; a path would not have a password
        raise _not_a_url(url)
    if "://" not in url:
        url = f"journal:///{url}" if url.endswith(".journal") else f"sqlite:///{url}"
    with _storage_errors(url):
        if url.startswith("journal:///"):
            path = url.removeprefix("journal:///")
            if access != "create" and not Path(path).exists():
                raise _missing(url, "does not exist")
            if Path(path).exists() and not is_journal(path):
                remedy = "give the path of another file"
                raise StorageError(f"storage {hide_password(url)}: file is not a journal; {remedy}")
            return open_journal(path)
        if url.startswith("grpc:"):
            return _connect_to_proxy(url)
        return optuna.storages._CachedStorage(_open_database(url, access))


def _open_database(url: str, access: Access) -> RDBStorage:
    """Open a database with the driver and the time limits that suit it."""
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
        parsed.get_dialect()
    except (sqlalchemy.exc.ArgumentError, ValueError):  # an unknown dialect, or a port that is not a number
        raise _not_a_url(url) from None
    if parsed.drivername == "postgresql":  # the driver that this stands for differs between versions of SQLAlchemy
        url = parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    if backend == "sqlite" and parsed.database in _IN_MEMORY:
        raise StorageError(f"storage {url} is lost when the command ends; give the path of a file")
    is_file = backend == "sqlite" and "uri" not in parsed.query
    if access != "create" and is_file and not Path(str(parsed.database)).exists():
        raise _missing(url, "does not exist")
    engine_options = {"connect_args": _CONNECT_OPTIONS.get(backend, {}), "pool_pre_ping": backend != "sqlite"}
    storage = _connect(url, engine_options, create_tables=access == "create")
    if backend == "sqlite" and access != "read":
        _lock_at_begin(storage.engine)
    return storage


def _connect_to_proxy(url: str) -> GrpcStorageProxy:
    """Connect to a gRPC proxy, which stands in front of a database."""
    not_a_proxy = StorageError(f"storage {hide_password(url)!r} is not the URL of a gRPC proxy; use grpc://HOST:PORT")
    try:
        parsed = urlsplit(url)
        host, port = parsed.hostname, parsed.port or GRPC_PORT
    except ValueError:  # a port that is not a number
        raise not_a_proxy from None
    if not host or parsed.netloc.rpartition("@")[0] or parsed.path.strip("/") or parsed.query or parsed.fragment:
        raise not_a_proxy
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # Optuna's proxy is experimental
            proxy = GrpcStorageProxy(host=f"[{host}]" if ":" in host else host, port=port)
    except ImportError:
        raise StorageError(f"storage {url}: its client is missing; install addtree[grpc]") from None
    proxy.wait_server_ready(_PROXY_TIMEOUT)
    return proxy


def _not_a_url(url: str) -> StorageError:
    remedy = "use sqlite:///FILE.db, postgresql://USER@HOST/DATABASE or grpc://HOST:PORT"
    return StorageError(f"storage {hide_password(url)!r} is not a storage URL; {remedy}")


def _missing(url: str, problem: str) -> StorageError:
    remedy = "check --storage, or create a study with `addtree run` or `addtree suggest --space`"
    return StorageError(f"storage {hide_password(url)} {problem}; {remedy}")


def _connect(url: str, engine_options: dict[str, Any], *, create_tables: bool) -> RDBStorage:
    """Open a database.

    If its tables are to be created, and another worker creates them at the same moment, try again.
    """
    for attempt in range(_OPEN_ATTEMPTS):
        try:
            return Database(url, engine_kwargs=engine_options, skip_table_creation=not create_tables)
        except ImportError:
            raise StorageError(
                f"storage {hide_password(url)}: its driver is missing; install addtree[postgres] for PostgreSQL"
            ) from None
        except RuntimeError as error:  # the tables were created by another version of Optuna
            raise StorageError(f"storage {hide_password(url)}: {_first_line(error)}") from None
        except (sqlalchemy.exc.SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
            cause = error.__cause__ if isinstance(error, optuna.exceptions.StorageInternalError) else error
            raced = isinstance(cause, sqlalchemy.exc.IntegrityError) or "already exists" in str(cause)
            if isinstance(cause, sqlalchemy.exc.ProgrammingError) or "no such table" in str(cause):
                raise _missing(url, "has no studies") from None
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
    """Close the connections to the database or proxy."""
    storage.remove_session()
    if isinstance(storage, GrpcStorageProxy):
        storage.close()
    backend = getattr(storage, "_backend", None)
    if isinstance(backend, RDBStorage):
        backend.engine.dispose()


@contextlib.contextmanager
def _storage_errors(url: str) -> Iterator[None]:
    """Raise every error of a storage as a StorageError with a message of one line and without a password."""
    try:
        yield
    except optuna.exceptions.StorageInternalError as error:
        raise _storage_error(url, error.__cause__ or error) from None
    except (AddTreeError, optuna.exceptions.OptunaError):
        raise
    except Exception as error:
        if not comes_from_storage(error):
            raise
        raise _storage_error(url, error) from None


def comes_from_storage(error: BaseException) -> bool:
    """Whether an error was raised inside a storage, for instance because its disk is full or a row is damaged."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(str(frame.f_globals.get("__name__")).startswith(_STORAGE_PACKAGES) for frame, _ in frames)


def is_unavailable(error: BaseException) -> bool:
    """Whether an error means that a storage cannot be reached or written, which is not the objective's fault."""
    return comes_from_storage(error) and (isinstance(error, _UNAVAILABLE) or _is_grpc_error(error))


def _is_grpc_error(error: BaseException) -> bool:
    """Whether an error comes from gRPC, which need not be installed."""
    return type(error).__module__.startswith("grpc")


def _storage_error(url: str, error: BaseException) -> StorageError:
    """An error that says which storage failed and why."""
    reason = hide_secrets(_first_line(error), url)
    if not isinstance(error, _UNAVAILABLE) and not _is_grpc_error(error):  # anything else means damaged data
        reason = f"its content cannot be read ({type(error).__name__}: {reason}); restore it from a copy"
    remedy = next((f"; {remedy}" for words, remedy in _REMEDIES.items() if words in reason), "")
    return StorageError(f"storage {hide_password(url)}: {reason}{remedy}")


def _first_line(error: BaseException) -> str:
    """The first line of an error's message; the database's own message, if there is one."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if _is_grpc_error(error) and hasattr(error, "details"):
        error = ConnectionError(error.details())
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
