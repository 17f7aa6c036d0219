"""Workers behind a real gRPC proxy in front of an SQLite file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState

from addtree import Real, Space
from addtree.errors import StorageError
from addtree.study.heartbeats import HeartbeatSettings
from addtree.study.proxy import serve
from addtree.study.storage import storage_at
from addtree.study.studies import open_study, progress
from addtree.study.task import Task
from addtree.study.tickets import claim
from addtree.study.worker import work
from benchmarks.support.proxy import Proxy, running_proxy

pytest.importorskip("grpc", reason="gRPC is not installed: pip install 'addtree[grpc]'")
SPACE = Space(x=Real(-1, 1))


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with running_proxy(str(tmp_path / "study.db")) as proxy:
        yield proxy


def test_the_trial_of_a_worker_that_died_on_another_machine_runs_again(proxy: Proxy) -> None:
    def objective(config: dict[str, Any]) -> float:
        time.sleep(0.1)
        return float(config["x"])

    with storage_at(proxy.url) as storage:
        study = open_study(storage, "s", SPACE, seed=0)
        lost = claim(study, 5)
        assert lost is not None
        x = lost.suggest_float("x", -1, 1)
        owner = {**study.trials[0].system_attrs["addtree:owner"], "host": "another-machine"}
        storage.set_trial_system_attr(lost._trial_id, "addtree:owner", owner)
        work(study, Task(objective, SPACE), total=5, heartbeats=HeartbeatSettings(interval=0.1, grace_period=1.0))
        assert (progress(study).complete, progress(study).lost, progress(study).running) == (5, 1, 0)
        assert [t.value for t in study.trials if t.system_attrs.get("addtree:retry_of") == 0] == [x]


def test_an_outage_is_one_line_and_the_trial_is_run_again(proxy: Proxy) -> None:
    def objective(config: dict[str, Any]) -> float:
        proxy.stop()
        return float(config["x"])

    def run() -> None:
        with storage_at(proxy.url) as storage:
            work(open_study(storage, "s", SPACE, seed=0), Task(objective, SPACE), total=1)

    with pytest.raises(StorageError, match=r"^storage grpc://localhost:\d+: [^\n]*$") as caught:
        run()
    assert "cannot be read" not in str(caught.value)  # the data are not damaged
    proxy.start()
    with storage_at(proxy.url) as storage:
        assert [t.state for t in open_study(storage, "s", SPACE).trials] == [TrialState.RUNNING]


def test_a_journal_cannot_be_served(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is not a database; a proxy needs one"):
        serve(str(tmp_path / "study.journal"), "localhost", 1)
