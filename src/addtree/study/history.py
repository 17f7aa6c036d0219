"""Earlier studies that a study learns from."""

from __future__ import annotations

from collections.abc import Sequence

import optuna

from addtree.errors import OptionError
from addtree.optuna import AddTreeSampler
from addtree.run.goals import Goals
from addtree.run.history import EarlierTask, read_history
from addtree.study.storage import storage_at
from addtree.study.studies import find_study


def read_earlier_tasks(goals: Goals, studies: Sequence[tuple[str, str]]) -> list[EarlierTask]:
    """The earlier studies of a study with these goals, from the URLs of their storages and their names."""
    n = len(goals.objectives)
    if studies and n > 1:
        raise OptionError(f"--history {studies[0][1]} is for one objective, and there are {n}; leave it out")
    return [_read_earlier_task(url, name) for url, name in studies]


def _read_earlier_task(url: str, name: str) -> EarlierTask:
    with storage_at(url, "read") as storage:
        study = find_study(storage, name)
        if len(study.directions) > 1:
            raise OptionError(
                f"--history {name} is a study with {len(study.directions)} objectives; give a study with one"
            )
        return read_history([study], maximize=False)[0]


def learn_from(study: optuna.Study, tasks: Sequence[EarlierTask]) -> None:
    """Let the sampler of a study from `open_study` use earlier tasks."""
    assert isinstance(study.sampler, AddTreeSampler)
    study.sampler = study.sampler.with_history(tasks)
