"""Mutations of journals and SQLite databases, and what every command makes of them.

    python -m tests.study.damage --mutations 5000 --seed 0

prints one line per undocumented exit, and a summary.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna

from addtree.cli.app import _run
from addtree.study.storage import storage_at
from addtree.study.studies import open_study
from addtree.study.task import Task, load_task
from addtree.study.worker import work

TASK = """
import addtree as at
space = at.Space(x=at.Real(-1, 1), model=at.Choice(a=at.Space(), b=at.Space(k=at.Integer(1, 1000))))
def objective(config):
    if config["x"] > 0.8: raise ValueError("too large")
    return config["x"] ** 2 + config.get("k", 0) / 1000
"""
DOCUMENTED = {0, 1, 2, 3, 4}
MAX_SECONDS = 5.0
COMMANDS = (
    ("status",),
    ("export",),
    ("best", "s"),
    ("tell", "s", "3", "0.5"),
    ("suggest", "s"),
    ("run", "task.py", "--trials", "8", "--study", "s"),
    ("explain", "s"),
)
GARBAGE: tuple[Any, ...] = (
    None, "", "\0", "[", "{}", "[]", "null", "NaN", "-1", "1e999", '{"name":"FloatDistribution"}', '"\\ud800"',
    -1, 0, 2**62, 1.7e308, -1.5, b"\xff\xfe", "RUNNING", "nonsense", "[" * 3000, "9" * 5000,
)  # fmt: skip


def make_study(storage: str, trials: int = 6) -> None:
    """Run a small study."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    Path("task.py").write_text(TASK)
    task: Task = load_task(Path("task.py"))
    with storage_at(storage) as opened:
        work(open_study(opened, "s", task.space, seed=0), task, total=trials)


def make_study_elsewhere(storage: str) -> None:
    """Run a small study in a process that has ended, so that no trial has a live owner."""
    code = f"from tests.study.damage import make_study; make_study({storage!r})"
    path = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": path})


# ---------------------------------------------------------------------- mutations


def mutate_bytes(path: Path, rng: random.Random) -> str:
    """Change, remove, insert or repeat some bytes, or cut the file."""
    data = bytearray(path.read_bytes())
    kind = rng.choice(["flip", "remove", "insert", "repeat", "cut", "zero", "append"])
    at, size = rng.randrange(len(data)), rng.choice([1, 1, 2, 10, 200])
    if kind == "flip":
        data[at] ^= 1 << rng.randrange(8)
    elif kind == "remove":
        del data[at : at + size]
    elif kind == "insert":
        data[at:at] = bytes(rng.randrange(256) for _ in range(size))
    elif kind == "repeat":
        data[at:at] = data[at : at + size]
    elif kind == "cut":
        del data[at:]
    elif kind == "zero":
        data[at : at + size] = bytes(len(data[at : at + size]))
    else:
        data += data[at : at + size]
    path.write_bytes(data)
    return f"{kind} {size} at {at}"


def mutate_records(path: Path, rng: random.Random) -> str:
    """Replace a field of a journal's record by garbage, or remove it."""
    lines = path.read_bytes().splitlines(keepends=True)
    number = rng.randrange(len(lines))
    record = json.loads(lines[number])
    key, value = rng.choice(sorted(record)), rng.choice([*GARBAGE, [], {}, [None], {"a": []}, "REMOVE"])
    if value == "REMOVE":
        del record[key]
    else:
        record[key] = value.decode("latin-1") if isinstance(value, bytes) else value
    lines[number] = json.dumps(record).encode() + b"\n"
    path.write_bytes(b"".join(lines))
    return f"line {number}: {key} = {value!r:.60}"


def mutate_rows(path: Path, rng: random.Random) -> str:
    """Replace a cell of a database by garbage, or remove or repeat a row."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        filled = [t for t in tables if database.execute(f"SELECT COUNT(*) FROM {t}").fetchone()[0]]
        table = rng.choice(filled)
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        (row,) = rng.choice(database.execute(f"SELECT rowid FROM {table}").fetchall())
        column, value = rng.choice(columns), rng.choice(GARBAGE)
        kind = rng.choice(["cell", "cell", "cell", "cell", "delete", "drop"])
        with contextlib.suppress(sqlite3.Error):
            if kind == "cell":
                database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row))
            elif kind == "delete":
                database.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
            else:
                database.execute(f"DROP TABLE {table}")
        database.commit()
    return f"{kind} {table}.{column} row {row} = {value!r:.60}"


MUTATIONS: tuple[tuple[str, Callable[[Path, random.Random], str]], ...] = (
    ("s.journal", mutate_bytes),
    ("s.journal", mutate_records),
    ("s.db", mutate_rows),
    ("s.db", mutate_bytes),
)


# ---------------------------------------------------------------------- commands


def run_command(arguments: tuple[str, ...], storage: str) -> tuple[int, str, float]:
    """Run a command in this process; returns its exit code, what it printed on stderr, and the seconds it took."""
    out, err, argv, start = io.StringIO(), io.StringIO(), sys.argv, time.monotonic()
    sys.argv = ["addtree", *arguments, "--storage", storage]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = _run()
    finally:
        sys.argv = argv
    return code, err.getvalue(), time.monotonic() - start


def check(name: str, mutate: Callable[[Path, random.Random], str], seed: int) -> tuple[str | None, str, int]:
    """Damage a copy of a study and run a command on it; returns a complaint, the command and its exit code."""
    rng = random.Random(seed)
    shutil.copy(Path("sound") / name, name)
    what = mutate(Path(name), rng)
    arguments = rng.choice(COMMANDS)
    code, errors, seconds = run_command(arguments, name)
    Path(name).unlink()
    lines = [line for line in errors.splitlines() if line.startswith("addtree: ")]
    wrong = code not in DOCUMENTED or seconds > MAX_SECONDS or (code != 0) != (len(lines) == 1)
    complaint = f"{name} seed {seed} ({what}) {arguments[0]}: {code} after {seconds:.1f} s: {errors[-300:]}"
    return complaint if wrong else None, arguments[0], code


def run_all(mutations: int, seed: int) -> tuple[list[str], Counter[tuple[str, str, int]]]:
    """Damage studies in the working directory; returns the complaints, and the number of exits by code."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    Path("sound").mkdir()
    for name in ("s.journal", "s.db"):
        make_study_elsewhere(f"sound/{name}")
    complaints, exits = [], Counter[tuple[str, str, int]]()
    for i in range(mutations):
        name, mutate = MUTATIONS[i % len(MUTATIONS)]
        complaint, command, code = check(name, mutate, seed + i)
        if complaint:
            complaints.append(complaint)
            print(complaint, flush=True)
        exits[(name, command, code)] += 1
    return complaints, exits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        complaints, exits = run_all(options.mutations, options.seed)
        os.chdir("/")
    for key, count in sorted(exits.items()):
        print(*key, count)
    print(f"{len(complaints)} of {options.mutations} mutations ended in an undocumented way")


if __name__ == "__main__":
    main()
