"""The commands for experiments that addtree does not run itself: `suggest` and `tell`."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import optuna
import typer
from optuna.trial import TrialState

from addtree.cli.options import DEFAULT_STORAGE, Maximize, StorageUrl, StudyName
from addtree.errors import StudyError
from addtree.study.storage import storage_at
from addtree.study.studies import load_study, open_study, space_of
from addtree.study.task import load_space, suggest_config


def suggest(
    study: StudyName,
    storage: StorageUrl = DEFAULT_STORAGE,
    space: Annotated[
        Path | None, typer.Option(help="FILE.py or FILE.json with the space; needed to create the study.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Makes the suggestions reproducible; used together with --space.")
    ] = None,
    maximize: Maximize = False,
) -> None:
    """Print a configuration to try and its id, as one line of JSON; report its value with `addtree tell`."""
    declared, initial = (None, ()) if space is None else load_space(space)
    with storage_at(storage) as opened:
        if declared is not None:
            loaded = open_study(opened, study, declared, seed=seed, maximize=maximize, initial=initial)
        else:
            loaded = load_study(opened, study)
            declared = space_of(loaded)
        if declared is None:
            raise StudyError(f"study {study!r} has no declared space to suggest from; create one with --space FILE")
        trial = optuna.Trial(loaded, loaded._storage.create_new_trial(loaded._study_id))
        print(json.dumps({"id": trial.number, "config": suggest_config(trial, declared)}))


def tell(
    study: StudyName,
    trial: Annotated[int, typer.Argument(help="The id that `addtree suggest` printed.")],
    value: Annotated[str | None, typer.Argument(help="The value of the configuration.")] = None,
    storage: StorageUrl = DEFAULT_STORAGE,
    failed: Annotated[bool, typer.Option("--failed", help="The experiment gave no value.")] = False,
) -> None:
    """Report the value of a suggested configuration."""
    if (value is None) != failed:
        raise StudyError(f"tell {study} {trial}: give either a value or --failed")
    number = None if value is None else _parse(value)
    with storage_at(storage) as opened:
        loaded = load_study(opened, study)
        states = {t.number: t.state for t in loaded.get_trials(deepcopy=False)}
        if states.get(trial) != TrialState.RUNNING:
            state = states[trial].name.lower() if trial in states else "unknown"
            raise StudyError(f"trial {trial} of study {study!r} is {state}; tell each suggested trial once")
        if number is None:
            loaded.tell(trial, state=TrialState.FAIL)
        else:
            loaded.tell(trial, number)


def _parse(value: str) -> float:
    """Read a finite number."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise StudyError(f"value {value!r} is not a finite number; give a number, or --failed")
    return number
