"""Damaged journals and databases: every command ends as documented, and what can be kept is kept."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import optuna
import pytest

from addtree.study.storage import storage_at
from addtree.study.studies import find_study
from tests.study.damage import make_study, mutate_bytes, run_all


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_mutation_ends_in_an_undocumented_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    complaints, exits = run_all(mutations=4000, seed=0)
    assert complaints == []
    journal = {code for (name, _, code) in exits if name == "s.journal"}
    assert 3 not in journal  # a journal can always be read


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
