"""Storages: what a URL opens, and what its errors look like."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import optuna
import pytest
from optuna.storages import JournalStorage

from addtree.errors import StorageError
from addtree.study.storage import open_storage, storage_at


def test_a_plain_path_is_an_sqlite_file_or_a_journal(tmp_path: Path) -> None:
    with storage_at(str(tmp_path / "study.db")) as storage:
        optuna.create_study(storage=storage, study_name="s")
    with storage_at(f"sqlite:///{tmp_path / 'study.db'}") as storage:
        assert optuna.get_all_study_names(storage) == ["s"]
    with storage_at(str(tmp_path / "study.journal")) as storage:
        assert isinstance(storage, JournalStorage)
        optuna.create_study(storage=storage, study_name="j")
    with storage_at(f"journal:///{tmp_path / 'study.journal'}") as storage:
        assert optuna.get_all_study_names(storage) == ["j"]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nosuch://x/y", "is not a storage URL; use sqlite:///FILE.db"),
        ("sqlite:///no/such/folder/x.db", "unable to open database file"),
        ("oracle://me:secret@127.0.0.1/none", "its driver is missing"),
        ("postgresql://me:secret@127.0.0.1:port/none", "is not a storage URL"),
        ("postgresql://me:secret@127.0.0.1:99999/none", "invalid port number"),
        ("grpc://me:secret@127.0.0.1:1", "is not the URL of a gRPC proxy; use grpc://HOST:PORT"),
        ("grpc://127.0.0.1:secret", "is not the URL of a gRPC proxy"),
        ("grpc://127.0.0.1:1/?password=secret", "is not the URL of a gRPC proxy"),
        ("grpc://", "is not the URL of a gRPC proxy"),
        ("", "is not a storage URL"),
        ("sqlite://", "is lost when the command ends; give the path of a file"),
        ("sqlite:///:memory:", "is lost when the command ends"),
    ],
)
def test_an_error_has_one_line(url: str, message: str) -> None:
    with pytest.raises(StorageError, match=message) as caught:
        open_storage(url)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("content", [b"notes\nof mine", b'{"a":1}\n', b"\x00\xff\n\x01", b"\n"])
def test_a_file_that_is_not_a_journal_is_refused_and_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mine.journal"
    path.write_bytes(content)
    with pytest.raises(StorageError, match="file is not a journal; give the path of another file"):
        open_storage(str(path))
    assert path.read_bytes() == content


@pytest.mark.parametrize("torn", [b"", b'{"op', b'{"op_code":0,"worker_id":"a","stu', b'{"op_code":0,"wor\n'])
def test_a_journal_whose_first_record_is_torn_can_be_used(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "study.journal"
    path.write_bytes(torn)
    with storage_at(str(path)) as storage:
        optuna.create_study(storage=storage, study_name="j")
        assert optuna.get_all_study_names(storage) == ["j"]


def test_a_missing_client_of_grpc_is_named() -> None:
    code = (
        "import sys; sys.modules['grpc'] = None; from addtree.study.storage import open_storage; "
        "open_storage('grpc://localhost:1')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        "addtree.errors.StorageError: storage grpc://localhost:1: its client is missing; install addtree[grpc]"
    )


def test_errors_inside_the_block_are_storage_errors(tmp_path: Path) -> None:
    file = tmp_path / "study.db"

    def damage_and_read() -> None:
        with storage_at(str(file)) as storage:
            file.write_bytes(b"this is not a database" * 1000)
            optuna.get_all_study_names(storage)

    with pytest.raises(StorageError, match=r"study\.db: file is not a database"):
        damage_and_read()


def test_the_connections_are_closed_at_the_end(tmp_path: Path) -> None:
    with storage_at(str(tmp_path / "study.db")) as storage:
        engine = storage._backend.engine  # type: ignore[attr-defined]
        optuna.create_study(storage=storage)
        assert engine.pool.checkedin() > 0
    assert engine.pool.checkedin() == 0


def test_an_error_of_the_caller_stays_what_it_is(tmp_path: Path) -> None:
    def fail() -> None:
        with storage_at(str(tmp_path / "study.db")):
            raise OSError("not the storage")

    with pytest.raises(OSError, match="not the storage"):
        fail()


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")  # threads share the warning filters
def test_several_workers_can_create_the_tables_at_once(tmp_path: Path) -> None:
    errors: list[Exception] = []

    def create() -> None:
        try:
            open_storage(str(tmp_path / "study.db"))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
