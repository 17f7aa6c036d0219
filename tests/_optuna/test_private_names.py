"""The private names of Optuna that addtree uses: each still exists, and there are no others.

A release of Optuna may change them without notice. The upper bound on Optuna in pyproject.toml therefore excludes the
next major version, and these tests say which name is missing in a minor one.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.samplers import PartialFixedSampler, RandomSampler
from optuna.storages import JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend

import addtree

PACKAGE = Path(addtree.__file__).parent
PYPROJECT = PACKAGE.parents[1] / "pyproject.toml"

# Each name, where it is found, and what it is used for.
NAMES = {
    "_storage": ("study", "to write the attributes of trials"),
    "_study_id": ("study", "to read and create trials of the storage"),
    "_trial_id": ("trial", "to write the attributes of trials"),
    "_base_sampler": ("partial fixed sampler", "to find what wraps the sampler"),
    "_fixed_params": ("partial fixed sampler", "to complete configurations in the best way"),
    "_CachedStorage": ("optuna.storages", "to read finished trials of a database once"),
    "_backend": ("cached storage", "to close a database, and to serve it by the proxy"),
    "_read_trials_from_remote_storage": ("cached storage", "to answer many workers by one read"),
    "_build_frozen_trial_from_trial_model": ("database", "to go on without a damaged trial"),
    "_get_trials": ("database", "to read a large study in parts"),
    "_sync_with_backend": ("journal", "to go on without a damaged record"),
    "_replay_result": ("journal", "to go on without a damaged record"),
    "_studies": ("replay result", "to go on without a damaged record"),
    "_trials": ("replay result", "to go on without a damaged record"),
    "_trial_id_to_study_id": ("replay result", "to go on without a damaged record"),
    "optuna.storages.journal._storage": ("module", "to know the kinds of records of a journal"),
}


def places(folder: Path) -> dict[str, Callable[[], Any]]:
    """Real objects of Optuna, by the names that the table gives them."""
    study = optuna.create_study()
    database = RDBStorage(f"sqlite:///{folder}/study.db")
    journal = JournalStorage(JournalFileBackend(str(folder / "journal")))
    return {
        "study": lambda: study,
        "trial": study.ask,
        "partial fixed sampler": lambda: PartialFixedSampler({}, RandomSampler()),
        "optuna.storages": lambda: optuna.storages,
        "database": lambda: database,
        "cached storage": lambda: optuna.storages._CachedStorage(database),
        "journal": lambda: journal,
        "replay result": lambda: journal._replay_result,
    }


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_every_private_name_still_exists(tmp_path: Path) -> None:
    objects = places(tmp_path)
    for name, (place, purpose) in NAMES.items():
        exists = importlib.util.find_spec(name) if place == "module" else hasattr(objects[place](), name)
        assert exists, (
            f"Optuna {optuna.__version__} no longer has {name} ({place}), which addtree needs {purpose}. "
            "Adapt addtree, or lower the upper bound on Optuna in pyproject.toml."
        )


def test_one_line_bounds_optuna_from_above() -> None:
    """The other extras refer to the extra `optuna`."""
    text = PYPROJECT.read_text(encoding="utf-8")
    assert re.findall(r'"optuna([<>=!~][^"]*)"', text) == ["==5.0.0", ">=5,<6"]  # The first belongs to the benchmark.


# ---------------------------------------------------------------------- no others


def used_by(path: Path) -> tuple[set[str], set[str]]:
    """The private names that a file looks up or overrides, and those that it defines for its own objects."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used, own = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("optuna."):
            used |= {node.module} if "._" in node.module else set()
            used |= {alias.name for alias in node.names if alias.name.startswith("_")}
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            (own if isinstance(node.ctx, ast.Store) else used).add(node.attr)
        elif isinstance(node, ast.FunctionDef) and is_private(node.name):
            own.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and is_private(node.target.id):
            own.add(node.target.id)
    return used | (own & inherited()), own


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def inherited() -> set[str]:
    """The private methods of Optuna's classes that addtree derives from."""
    bases = [
        optuna.samplers.BaseSampler,
        JournalStorage,
        JournalFileBackend,
        RDBStorage,
        optuna.storages._CachedStorage,
    ]
    return {name for base in bases for name, _ in inspect.getmembers(base, callable) if is_private(name)}


def files_with_optuna() -> Iterator[Path]:
    return (path for path in sorted(PACKAGE.rglob("*.py")) if "optuna" in path.read_text(encoding="utf-8"))


def test_no_other_private_name_is_used() -> None:
    everything: set[str] = set()
    for path in files_with_optuna():
        used, own = used_by(path)
        others = used - own - NAMES.keys()
        assert not others, f"{path.name} uses {others}; use a public name, or add it to the table with its purpose"
        everything |= used
    assert NAMES.keys() <= everything, "the table has names that nobody uses any more"
