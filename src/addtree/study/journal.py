"""A journal that survives a full disk, a kill at any moment, and damaged lines.

A journal is a text file with one JSON record per line. Optuna's own backend appends a record to whatever is there, so
after a write that failed halfway, the next record continues the torn line, and neither can be read again. Here

- a write that fails is taken back, so that no torn line remains;
- a torn last line that a killed process left is removed before the next write. That happens under the journal's lock,
  so a line that another process is writing at this moment is not taken for a torn one. If only the newline is missing,
  it is added;
- complete records in a line that also contains a torn one, which earlier versions wrote, are kept;
- a line without a complete record is left out, with a log line that says so. Records refer to trials by their position,
  so if the line created a trial, an empty trial is created as soon as a later record refers to it.

Damaged bytes around complete records are overwritten with spaces, which JSON ignores, so that Optuna can read the file
as well. All other bytes stay as they are.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
from collections.abc import Generator, Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock
from optuna.storages.journal._storage import JournalOperation
from optuna.trial import TrialState

_log = logging.getLogger(__name__)
_RECORD_START = '{"op_code":'  # Optuna begins every record with these characters.
_MAX_LOST = 2  # A damaged line can consist of parts of this many records.
_BLOCK = 4096  # The end of the file is searched for its last newline in blocks of this many bytes.

# The type of every field that a record of each kind needs.
_FIELDS: dict[int, dict[str, Any]] = {
    JournalOperation.CREATE_STUDY: {"study_name": str, "directions": list},
    JournalOperation.DELETE_STUDY: {"study_id": int},
    JournalOperation.SET_STUDY_USER_ATTR: {"study_id": int, "user_attr": dict},
    JournalOperation.SET_STUDY_SYSTEM_ATTR: {"study_id": int, "system_attr": dict},
    JournalOperation.CREATE_TRIAL: {"study_id": int, "datetime_start": (str, type(None))},
    JournalOperation.SET_TRIAL_PARAM: {
        "trial_id": int,
        "param_name": str,
        "param_value_internal": (int, float),
        "distribution": str,
    },
    JournalOperation.SET_TRIAL_STATE_VALUES: {"trial_id": int, "state": int, "values": (list, type(None))},
    JournalOperation.SET_TRIAL_INTERMEDIATE_VALUE: {
        "trial_id": int,
        "step": int,
        "intermediate_value": (int, float),
    },
    JournalOperation.SET_TRIAL_USER_ATTR: {"trial_id": int, "user_attr": dict},
    JournalOperation.SET_TRIAL_SYSTEM_ATTR: {"trial_id": int, "system_attr": dict},
    JournalOperation.DISCARD_TRIALS: {},
}
# The types of further fields, which a record may have.
_OPTIONAL: dict[str, Any] = {
    "user_attrs": dict,
    "system_attrs": dict,
    "params": dict,
    "distributions": dict,
    "intermediate_values": dict,
    "value": (int, float, type(None)),
    "values": (list, type(None)),
}


def open_journal(path: str) -> JournalStorage:
    """Open the journal in a file; an empty one is created if the file does not exist."""
    return _Replay(_Journal(path))


def is_journal(path: str) -> bool:
    """Whether a file is a journal: it contains a complete record, or nothing but the start of its first record.

    Another file must not be opened, because a write would remove its last line as a torn one.
    """
    with Path(path).open("rb") as file:
        first = file.readline()
        is_start = _RECORD_START.encode().startswith(first[: len(_RECORD_START)])
        return is_start or _parse(first) is not None or any(_salvage(line) for line in (first, *file))


class _Found(NamedTuple):
    """A complete record, and where it starts and ends in its line."""

    start: int
    end: int
    record: dict[str, Any]


class _Journal(JournalFileBackend):
    """A journal file. Its records are numbered by their order among the complete ones."""

    def __init__(self, path: str) -> None:
        self._file_lock = JournalFileSymlinkLock(path)
        # The lock is a link to the journal. A worker that waits for the lock of a dead one looks through the link, and
        # waits forever if it leads nowhere. The name alone leads there from every folder and machine.
        self._file_lock._lock_target_file = Path(path).name
        super().__init__(path, self._file_lock)
        self._path = Path(path)
        self._ends = [0]  # where the line ends that contains the last of as many records as the index says
        self._repairs: dict[int, bytes] = {}  # by position: what replaces the damaged bytes around complete records
        self.damaged: set[int] = set()  # the positions of lines with anything but one complete record

    def read_logs(self, log_number_from: int) -> Generator[dict[str, Any], None, None]:
        """Yield the records from this number on. The last line counts as soon as it ends with a newline."""
        number = min(log_number_from, len(self._ends) - 1)
        with self._path.open("rb") as file:
            position = file.seek(self._ends[number])
            for line in file:
                if not line.endswith(b"\n"):
                    return
                position += len(line)
                for record in self._read_line(line, position - len(line)):
                    number += 1
                    if number == len(self._ends):
                        self._ends.append(position)
                    if number > log_number_from:
                        yield record

    def _read_line(self, line: bytes, position: int) -> list[dict[str, Any]]:
        """The records in a line; what is damaged is kept for `_repair`."""
        record = _parse(line)
        if record is not None:
            return [record]
        found = _salvage(line)
        if found:
            self._repairs.update({position + start: filling for start, filling in _fillings(line, found)})
        elif position not in self.damaged:
            _log.error("%s: a damaged line at byte %d is left out", self._path.name, position)
        self.damaged.add(position)
        return [each.record for each in found]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append records, all of them or none."""
        text = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
        with _held(self._file_lock), self._path.open("rb+", buffering=0) as file:
            self._repair(file)
            size = file.seek(0, os.SEEK_END)
            rest = text.encode("utf-8")
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError:
                file.truncate(size)  # nobody has read the torn line, because its newline was not written
                raise
            os.fsync(file.fileno())

    def _repair(self, file: FileIO) -> None:
        """Overwrite damaged bytes, and remove or complete a torn last line; the lock must be held."""
        for position, filling in self._repairs.items():
            file.seek(position)
            file.write(filling)
        self._repairs.clear()
        start = _last_line_start(file)
        file.seek(start)
        last = file.read()
        if not last:
            return
        if _parse(last) is not None:
            file.write(b"\n")
        else:
            file.truncate(start)
            _log.error("%s: a half-written last line of %d bytes was removed", self._path.name, len(last))


@contextlib.contextmanager
def _held(lock: JournalFileSymlinkLock) -> Iterator[None]:
    """Hold the lock of a journal while a block runs."""
    lock.acquire()
    try:
        yield
    finally:
        lock.release()


class _Replay(JournalStorage):
    """A storage that replays a journal. A record of another process that makes no sense is left out."""

    _backend: _Journal

    def _sync_with_backend(self) -> None:
        for log in self._backend.read_logs(self._replay_result.log_number_read):
            self._create_lost_trials(log.get("trial_id", -1))
            try:
                self._replay_result.apply_logs([log])
            except Exception as error:
                if log["worker_id"] == self._replay_result.worker_id:
                    raise
                _log.error("a journal record that makes no sense is left out: %s: %s", type(error).__name__, error)

    def _create_lost_trials(self, trial_id: int) -> None:
        """Create the trials up to this one, if the lines that created them can be among the damaged ones."""
        state = self._replay_result
        missing = trial_id + 1 - len(state._trials)
        if not 0 < missing <= _MAX_LOST * len(self._backend.damaged) or not state._studies:
            return
        last = max(state._trials, default=None)
        study_id = max(state._studies) if last is None else state._trial_id_to_study_id[last]
        create = {"op_code": JournalOperation.CREATE_TRIAL, "worker_id": "", "study_id": study_id}
        for _ in range(missing):
            state.apply_logs([{**create, "datetime_start": None, "state": TrialState.WAITING}])
            state.log_number_read -= 1  # the journal does not contain this record


# ---------------------------------------------------------------------- bytes


def _parse(line: bytes) -> dict[str, Any] | None:
    """These bytes as a record; None if they are not a valid one."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("op_code"), int):
        return None
    fields = _FIELDS.get(record["op_code"])
    if fields is None or not isinstance(record.get("worker_id"), str):
        return None
    complete = all(name in record and isinstance(record[name], kind) for name, kind in fields.items())
    well_typed = all(isinstance(record[name], kind) for name, kind in _OPTIONAL.items() if name in record)
    return record if complete and well_typed and _numbers_are_sound(record) else None


def _numbers_are_sound(record: dict[str, Any]) -> bool:
    """Whether everything that must be a number is one, and not NaN, and no list of values is empty."""
    if record.get("values") == []:
        return False
    single = [record[key] for key in ("value", "param_value_internal") if record.get(key) is not None]
    numbers = [*(record.get("values") or ()), *record.get("params", {}).values(), *single]
    return all(isinstance(number, (int, float)) and number == number for number in numbers)


def _salvage(line: bytes) -> list[_Found]:
    """The complete records inside a damaged line."""
    text = line.decode("latin-1")  # one character per byte, so that positions agree
    decoder = json.JSONDecoder()
    found: list[_Found] = []
    start = text.find(_RECORD_START)
    while start >= 0:
        try:
            end = decoder.raw_decode(text, start)[1]
        except (ValueError, RecursionError):
            end = start
        record = _parse(line[start:end])
        if record is not None:
            found.append(_Found(start, end, record))
        start = text.find(_RECORD_START, end if record is not None else start + 1)
    return found


def _fillings(line: bytes, found: Sequence[_Found]) -> list[tuple[int, bytes]]:
    """What must replace the bytes around complete records: spaces, with a newline between two records."""
    gaps = [(0, found[0].start)] + [(a.end, b.start) for a, b in itertools.pairwise(found)]
    gaps.append((found[-1].end, len(line) - 1))
    inner = range(1, len(gaps) - 1)
    return [
        (start, (b"\n" if i in inner else b" ") + b" " * (end - start - 1))
        for i, (start, end) in enumerate(gaps)
        if end > start
    ]


def _last_line_start(file: FileIO) -> int:
    """The position after the last newline of a file."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = file.seek(max(end - _BLOCK, 0))
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
