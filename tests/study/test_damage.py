"""Damaged journals and databases: every command ends as documented, and what can be kept is kept."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import optuna
import pytest

from addtree.study.storage import storage_at
from addtree.study.studies import find_study
from tests.study.damage import (
    DOCUMENTED,
    check,
    make_study,
    make_study_elsewhere,
    mutate_bytes,
    mutate_records,
    mutate_rows,
    run_all,
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_mutation_ends_in_an_undocumented_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    complaints, _ = run_all(mutations=4000, seed=0)
    assert complaints == []


def test_a_mutation_of_a_journal_costs_at_most_two_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two, because bytes that are removed can belong to two records."""
    monkeypatch.chdir(tmp_path)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    make_study("sound.journal")
    first = len(Path("sound.journal").read_bytes().split(b'"op_code":4')[0])
    with storage_at("sound.journal") as storage:
        sound = {t.number: (t.values, t.params) for t in find_study(storage, "s").trials}
    for seed in range(200):
        shutil.copy("sound.journal", "s.journal")
        what = mutate_bytes(Path("s.journal"), random.Random(seed))
        position = int(what.split()[-1])
        if what.startswith("cut") or position < first:  # the rest of the file, or the study itself
            continue
        with storage_at("s.journal") as storage:
            found = {t.number: (t.values, t.params) for t in find_study(storage, "s").trials}
        kept = [number for number, content in sound.items() if found.get(number) == content]
        assert len(kept) >= len(sound) - 2, what


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that returns the folder of a sound study with a storage of this name, which is run once."""

    @cache
    def folder(name: str) -> Path:
        path = tmp_path_factory.mktemp("sound")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(path)
            make_study_elsewhere(name)
        return path

    return folder


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "mutate", "seed"),
    [
        pytest.param("s.journal", mutate_records, 196, id="run, a complete trial without values"),
        pytest.param("s.journal", mutate_records, 1440, id="export, a complete trial without values"),
        pytest.param("s.db", mutate_rows, 2069, id="best, an attribute whose name is not text"),
        pytest.param("s.db", mutate_rows, 2157, id="suggest, an attribute whose name is not text"),
        pytest.param("s.journal", mutate_bytes, 2211, id="explain, a study without trials"),
        pytest.param("s.journal", mutate_records, 101821, id="suggest, a complete trial whose value is null"),
    ],
)
def test_mutations_that_once_ended_in_an_undocumented_way(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sound: Callable[[str], Path],
    name: str,
    mutate: Callable[[Path, random.Random], str],
    seed: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(sound(name), "sound")
    shutil.copy("sound/task.py", "task.py")
    assert check(name, mutate, seed)[2] in DOCUMENTED
