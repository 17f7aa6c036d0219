"""Journals: what survives a full disk, a kill in the middle of a write, and damaged lines."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from addtree.study.journal import open_journal
from addtree.study.storage import storage_at


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal with three finished trials."""
    file = tmp_path / "study.journal"
    run(file, 3)
    return file


def run(file: Path, trials: int) -> None:
    study = optuna.create_study(study_name="s", storage=open_journal(str(file)), load_if_exists=True)
    study.sampler = optuna.samplers.RandomSampler(seed=0)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=trials)


def complete(storage: JournalStorage) -> list[optuna.trial.FrozenTrial]:
    study = optuna.load_study(study_name="s", storage=storage)
    return [trial for trial in study.trials if trial.state == TrialState.COMPLETE]


def read(file: Path) -> list[optuna.trial.FrozenTrial]:
    """Read the complete trials with Optuna's own backend, as its dashboard would."""
    return complete(JournalStorage(JournalFileBackend(str(file))))


def test_a_torn_last_line_is_removed_before_the_next_write(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = path.read_bytes()
    for cut in (2, 20, 100):
        path.write_bytes(whole[:-cut])  # the last record gives trial 2 its value
        known = len(complete(open_journal(str(path))))
        assert path.read_bytes() == whole[:-cut]  # reading repairs nothing
        run(path, 2)
        assert len(read(path)) == known + 2
    assert caplog.text.count("a half-written last line of") == 3


def test_a_last_line_without_its_newline_is_kept(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])
    run(path, 1)
    assert len(read(path)) == 4


def test_a_torn_line_that_another_record_was_appended_to_is_repaired(path: Path) -> None:
    """Earlier versions wrote such lines after a full disk, and could not read them any more."""
    *lines, create, params, values = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines) + create + params[:30] + params + values)
    with pytest.raises(json.JSONDecodeError):
        read(path)
    assert [t.params for t in complete(open_journal(str(path)))][2]
    run(path, 1)
    trials = read(path)
    assert len(trials) == 4
    assert all(trial.params for trial in trials)
    assert b"\n" + b" " * 30 + params in path.read_bytes()


def test_two_records_in_one_line_are_both_kept(path: Path) -> None:
    data = path.read_bytes()
    middle = data.index(b"\n", len(data) // 2)
    path.write_bytes(data[:middle] + b"?" + data[middle + 1 :])
    assert len(complete(open_journal(str(path)))) == 3
    run(path, 1)
    assert len(read(path)) == 4


@pytest.mark.parametrize("garbage", [b"", b"\0" * 40, b"\xff\xfe", b"[]", b"{}", b'{"op_code":99}', b"[" * 5000])
def test_a_damaged_line_costs_only_itself(path: Path, garbage: bytes, caplog: pytest.LogCaptureFixture) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    for number in range(1, len(lines)):  # the first one creates the study
        path.write_bytes(b"".join([*lines[:number], garbage + b"\n", *lines[number + 1 :]]))
        trials = complete(open_journal(str(path)))
        assert len(trials) >= 2
        assert sum(trial.values is not None and "x" in trial.params for trial in trials) >= 2
        for trial in trials:  # records of one trial are not attributed to another
            assert trial.params.get("x", trial.value) == trial.value
        run(path, 1)
        assert len(complete(open_journal(str(path)))) == len(trials) + 1
    assert "a damaged line at byte" in caplog.text


@given(st.binary(max_size=40), st.floats(0, 1))
def test_bytes_inserted_anywhere_cost_at_most_one_trial(inserted: bytes, where: float) -> None:
    record = '{"op_code":%d,"worker_id":"w",%s}\n'
    lines = [record % (0, '"study_name":"s","directions":[1]')]
    for i in range(5):
        lines.append(record % (4, '"study_id":0,"datetime_start":null'))
        lines.append(record % (6, f'"trial_id":{i},"state":1,"values":[{i}.0],"datetime_complete":"2026-01-01"'))
    text = "".join(lines).encode()
    at = len(lines[0]) + int(where * (len(text) - len(lines[0])))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "study.journal"
        file.write_bytes(text[:at] + inserted + text[at:])
        trials = complete(open_journal(str(file)))
    assert len(trials) >= 4
    assert all(trial.value == trial.number for trial in trials)


FULL_DISK = """
import resource, signal, sys
from tests.study.test_journal import run
from pathlib import Path
size = Path(sys.argv[1]).stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 500, size + 500))
run(Path(sys.argv[1]), 20)
"""


def test_a_write_that_fails_is_taken_back(path: Path) -> None:
    pytest.importorskip("resource", reason="a limit on the size of files needs POSIX")
    result = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=False)
    assert "File too large" in result.stderr
    assert path.read_bytes().endswith(b"}\n")
    n_complete = len(read(path))
    assert n_complete >= 3
    run(path, 2)
    assert len(read(path)) == n_complete + 2


def _write_many(file: str, trials: int) -> None:
    run(Path(file), trials)


def test_writers_at_the_same_time_do_not_take_each_other_for_torn(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(str(path), 15)) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert len(read(path)) == 48
    assert path.read_bytes().count(b"\n") == len(path.read_bytes().splitlines())


def test_the_lock_of_a_killed_worker_is_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Optuna looks through the link for the last change, and waits forever if the link leads nowhere."""
    monkeypatch.chdir(tmp_path)
    folder = Path("runs")
    folder.mkdir()
    journal = open_journal(str(folder / "study.journal"))
    lock = journal._backend._lock  # type: ignore[attr-defined]
    lock.acquire()  # A worker was killed at this moment.
    assert (folder / "study.journal.lock").samefile(folder / "study.journal")
    lock.grace_period = 1
    writer = threading.Thread(target=lambda: optuna.create_study(storage=journal), daemon=True)
    writer.start()
    writer.join(timeout=30)
    assert not writer.is_alive()


def test_a_line_in_progress_is_left_alone_while_its_writer_holds_the_lock(path: Path) -> None:
    storage = open_journal(str(path))
    study = optuna.load_study(study_name="s", storage=storage)
    line = path.read_bytes().splitlines(keepends=True)[-1].replace(b'"trial_id":2', b'"trial_id":99')
    lock = storage._backend._lock  # type: ignore[attr-defined]
    lock.acquire()
    with path.open("ab") as file:
        file.write(line[:40])
        file.flush()
        other = threading.Thread(target=lambda: study.set_user_attr("a", 1))
        other.start()
        other.join(0.2)
        assert other.is_alive()  # it waits for the lock
        file.write(line[40:])
    lock.release()
    other.join()
    assert line in path.read_bytes()
    assert optuna.load_study(study_name="s", storage=JournalStorage(JournalFileBackend(str(path)))).user_attrs == {
        "a": 1
    }


def test_a_journal_that_cannot_be_written_can_be_read(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b'{"op_code":')
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        with storage_at(str(path)) as storage:
            assert len(complete(storage)) == 3  # type: ignore[arg-type]
    finally:
        path.parent.chmod(0o755)
