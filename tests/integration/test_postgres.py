"""Four worker processes on a real PostgreSQL server, one of them killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from addtree.errors import StorageError
from addtree.study.storage import storage_at
from addtree.study.tickets import is_lost
from benchmarks.support.postgres import running_server
from tests.cli.commands import FAST, NEED_A_STUDY, READ_ONLY, addtree, write_task

TASK = """
import addtree as at
space = at.Space(x=at.Real(-1, 1), model=at.Choice(a=at.Space(), b=at.Space(k=at.Integer(1, 1000))))
def objective(config): return config["x"] ** 2 + (config["model"] == "a")
"""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """Start a server for the test, and stop it afterwards."""
    try:
        with running_server(tmp_path) as server:
            yield server.url
    except StorageError as error:
        pytest.skip(str(error))


@pytest.mark.slow  # test_cli.py kills one of two workers on SQLite
def test_four_workers_one_killed(url: str, tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(TASK)
    command = ["run", "task.py", "--trials", "60", "--workers", "4", "--storage", url, "--study", "s"]
    with (
        subprocess.Popen(
            [sys.executable, "-m", "addtree", *command], cwd=tmp_path, stderr=subprocess.PIPE, text=True
        ) as process,
        storage_at(url) as storage,
    ):
        killed = 0
        while process.poll() is None and not killed:
            time.sleep(0.2)
            trials = read_trials(storage)
            if sum(t.state == TrialState.COMPLETE for t in trials) >= 20:
                killed = next((t.system_attrs["addtree:owner"]["pid"] for t in trials if claimed(t)), 0)
        os.kill(killed, signal.SIGKILL)
        _, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors
        trials = read_trials(storage)
    finished = [t for t in trials if t.state.is_finished() and not is_lost(t)]
    assert len(finished) == 60
    assert all(t.state == TrialState.COMPLETE for t in finished)
    assert len({json.dumps(t.params, sort_keys=True) for t in finished}) == 60
    assert not [t for t in trials if t.state == TrialState.RUNNING]
    assert killed in {t.system_attrs["addtree:owner"]["pid"] for t in trials if "addtree:owner" in t.system_attrs}
    for lost in filter(is_lost, trials):
        again = [t for t in finished if t.system_attrs.get("addtree:retry_of") == lost.number]
        assert len(again) == 1
        assert lost.params.items() <= again[0].params.items()


def test_a_database_without_an_encoding_works(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server in the C locale creates databases in SQL_ASCII, for which psycopg returns bytes by default."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    monkeypatch.chdir(tmp_path)
    label = "grün ☃ \ud800"
    write_task(TASK.replace("a=at.Space()", f"**{{{label!r}: at.Space()}}").replace('config["model"] == "a"', "0"))
    storage = url.removesuffix("/postgres") + "/ascii"
    arguments = ["run", "task.py", "--study", "grün ☃", "--storage", storage, "--trials", "12", "--seed", "0"]
    assert addtree(*arguments, monkeypatch=monkeypatch) == 0
    with storage_at(storage) as opened:
        trials = optuna.load_study(study_name="grün ☃", storage=opened).trials
    assert {t.params["model"] for t in trials} == {label, "b"}
    with psycopg.connect(f"{storage}?client_encoding=utf8", autocommit=True) as connection:
        connection.execute("UPDATE studies SET study_name = convert_from('\\xff', 'SQL_ASCII')")
    assert addtree("status", "--storage", storage, monkeypatch=monkeypatch) == 3


def test_only_run_and_suggest_create_anything(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A database without studies stays as it is. A database that refuses every write can be read."""
    import psycopg

    monkeypatch.chdir(tmp_path)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
        for command in NEED_A_STUDY:
            assert addtree(*command.split(), "--storage", url, monkeypatch=monkeypatch) == 3, command
            (line,) = capsys.readouterr().err.splitlines()
            assert "has no studies" in line
            relations = connection.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")
            assert relations.fetchall() == [("notes",)], command
        arguments = ["run", write_task(FAST), "--storage", url, "--trials", "8", "--seed", "0"]
        assert addtree(*arguments, monkeypatch=monkeypatch) == 0
        connection.execute("ALTER DATABASE postgres SET default_transaction_read_only = on")
        for command in READ_ONLY:
            assert addtree(*command.split(), "--storage", url, monkeypatch=monkeypatch) == 0, command
        capsys.readouterr()
        assert addtree("suggest", "task", "--storage", url, monkeypatch=monkeypatch) == 3
        assert "read-only transaction" in capsys.readouterr().err


def claimed(trial: optuna.trial.FrozenTrial) -> bool:
    return trial.state == TrialState.RUNNING and "addtree:owner" in trial.system_attrs


def read_trials(storage: optuna.storages.BaseStorage) -> list[optuna.trial.FrozenTrial]:
    try:
        return optuna.load_study(study_name="s", storage=storage).get_trials(deepcopy=False)
    except KeyError:  # the study does not exist yet
        return []
