"""Databases: large studies are read in parts, and what is read is what Optuna reads."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path

import optuna
import pytest
import sqlalchemy
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState

from addtree.study.database import Database

SIZE = 110  # More trials than are read at once.


def finished(i: int) -> FrozenTrial:
    numbers = {"x": optuna.distributions.FloatDistribution(0, 1), "k": optuna.distributions.IntDistribution(1, 1000)}
    return optuna.trial.create_trial(
        params={"x": i / SIZE, "k": i + 1, "c": (None, True, 1.5, "a")[i % 4]},
        distributions={**numbers, "c": optuna.distributions.CategoricalDistribution([None, True, 1.5, "a"])},
        values=[float(i)],
        user_attrs={"name": f"trial {i}"},
        intermediate_values={0: float("inf"), 1: 2.0} if i % 2 else {},
    )


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('database')}/study.db"
    study = optuna.create_study(storage=url, study_name="s")
    study.add_trials(finished(i) for i in range(SIZE))
    study.ask()
    optuna.create_study(storage=url, study_name="other").add_trial(finished(0))
    return url


def test_what_is_read_in_parts_is_what_optuna_reads(url: str) -> None:
    ours, optunas = Database(url), RDBStorage(url)
    for name, size in (("s", SIZE + 1), ("other", 1)):
        study = optunas.get_study_id_from_name(name)
        assert ours.get_all_trials(study) == optunas.get_all_trials(study)
        assert len(ours.get_all_trials(study)) == size
        assert ours.get_all_trials(study, states=[TrialState.RUNNING]) == optunas.get_all_trials(
            study, states=[TrialState.RUNNING]
        )


def test_a_study_without_trials_and_a_study_that_does_not_exist(url: str) -> None:
    database = Database(url)
    empty = database.create_new_study([optuna.study.StudyDirection.MINIMIZE])
    assert database.get_all_trials(empty) == []
    with pytest.raises(KeyError):
        database.get_all_trials(10**6)


def test_a_trial_that_is_created_between_two_parts_is_read_once(url: str, tmp_path: Path) -> None:
    shutil.copy(url.removeprefix("sqlite:///"), tmp_path / "study.db")
    url = f"sqlite:///{tmp_path}/study.db"
    study = optuna.load_study(storage=url, study_name="s")
    database, began = Database(url), []

    @sqlalchemy.event.listens_for(database.engine, "begin")
    def create_another(connection: sqlalchemy.Connection) -> None:
        began.append(connection)
        if len(began) == 2:  # The first transaction reads the ids, the second one the first part.
            study.add_trial(finished(0))

    trials = database.get_all_trials(study._study_id)
    assert [trial.number for trial in trials] == list(range(SIZE + 2))


def test_trials_share_their_distributions(url: str) -> None:
    database = Database(url)
    first, second, *_ = database.get_all_trials(database.get_study_id_from_name("s"), deepcopy=False)
    assert all(first.distributions[name] is second.distributions[name] for name in "xkc")


def test_the_garbage_collector_is_as_it_was(url: str) -> None:
    database = Database(url)
    study = database.get_study_id_from_name("s")
    database.get_all_trials(study)
    assert gc.isenabled()
    with pytest.raises(KeyError):
        database.get_all_trials(10**6)
    assert gc.isenabled()
    gc.disable()
    try:
        database.get_all_trials(study)
        assert not gc.isenabled()
    finally:
        gc.enable()
