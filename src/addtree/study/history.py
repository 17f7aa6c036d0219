"""Earlier studies that a study learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import optuna

from addtree.optuna import AddTreeSampler
from addtree.run.goals import Goals
from addtree.run.history import EarlierTask, check_history
from addtree.study.storage import storage_at
from addtree.study.studies import find_study


def read_earlier_tasks(goals: Goals, studies: Sequence[tuple[str, str]]) -> list[EarlierTask]:
    """The earlier studies of a study with these goals, from the URLs of their storages and their names."""
    return [_read_earlier_task(goals, url, name) for url, name in studies]


def _read_earlier_task(goals: Goals, url: str, name: str) -> EarlierTask:
    with storage_at(url, "read") as storage:
        (task,) = check_history([find_study(storage, name)])
    fitting: EarlierTask = replace(task, name=f"--history {name}").of_objectives(goals.objectives)
    return replace(fitting, name=task.name)


def learn_from(study: optuna.Study, tasks: Sequence[EarlierTask]) -> None:
    """Let the sampler of a study from `open_study` use earlier tasks."""
    assert isinstance(study.sampler, AddTreeSampler)
    study.sampler = study.sampler.with_history(tasks)
