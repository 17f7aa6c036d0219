"""Earlier studies that a study learns from."""

from __future__ import annotations

from collections.abc import Sequence

import optuna

from addtree.optuna import AddTreeSampler
from addtree.run.history import EarlierTask, read_history
from addtree.study.storage import storage_at
from addtree.study.studies import find_study


def read_earlier_task(url: str, name: str) -> EarlierTask:
    """Read an earlier study from the storage at a URL."""
    with storage_at(url, "read") as storage:
        return read_history([find_study(storage, name)], maximize=False)[0]


def learn_from(study: optuna.Study, tasks: Sequence[EarlierTask]) -> None:
    """Let the sampler of a study from `open_study` use earlier tasks."""
    assert isinstance(study.sampler, AddTreeSampler)
    study.sampler = study.sampler.with_history(tasks)
