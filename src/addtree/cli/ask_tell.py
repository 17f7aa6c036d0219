"""The commands for experiments that addtree does not run itself: `suggest` and `tell`."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path
from typing import Annotated

import optuna
import typer
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.trials import STD
from addtree.cli.options import DEFAULT_STORAGE, Maximize, Noise, StorageUrl, StudyName
from addtree.errors import StudyError
from addtree.study.storage import storage_at
from addtree.study.studies import find_study, load_study, open_study, space_of
from addtree.study.task import load_space, suggest_config
from addtree.study.tickets import live_owner, withdraw
from addtree.trials import checked_std


def suggest(
    study: StudyName,
    storage: StorageUrl = DEFAULT_STORAGE,
    space: Annotated[
        Path | None, typer.Option(help="FILE.py or FILE.json with the space; needed to create the study.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Makes the suggestions reproducible; used together with --space.")
    ] = None,
    noise: Noise = None,
    maximize: Maximize = False,
) -> None:
    """Print a configuration to try and its id, as one line of JSON; report its value with `addtree tell`."""
    file = None if space is None else load_space(space)
    with storage_at(storage) as opened:
        if file is not None:
            noise, initial = file.noise if noise is None else noise, file.initial
            loaded = open_study(opened, study, file.space, seed=seed, maximize=maximize, noise=noise, initial=initial)
        else:
            loaded = load_study(opened, study, noise=noise)
        declared = space_of(loaded)
        if declared is None:
            raise StudyError(f"study {study!r} has no declared space to suggest from; create one with --space FILE")
        trial = optuna.Trial(loaded, opened.create_new_trial(loaded._study_id))
        try:
            print(json.dumps({"id": trial.number, "config": suggest_config(trial, declared)}), flush=True)
        except BaseException:
            with contextlib.suppress(Exception):
                withdraw(loaded, trial._trial_id)  # nobody learned its id
            raise


def tell(
    study: StudyName,
    trial: Annotated[int, typer.Argument(help="The id that `addtree suggest` printed.")],
    value: Annotated[str | None, typer.Argument(help="The value of the configuration.")] = None,
    storage: StorageUrl = DEFAULT_STORAGE,
    std: Annotated[float | None, typer.Option(help="The standard error of the value, if it is known.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="The experiment gave no value.")] = False,
) -> None:
    """Report the value of a suggested configuration."""
    if (value is None) != failed:
        raise StudyError(f"tell {study} {trial}: give either a value or --failed")
    number, std = None if value is None else _parse(value), checked_std(std)
    with storage_at(storage) as opened:
        loaded = find_study(opened, study)
        known = {t.number: t for t in loaded.get_trials(deepcopy=False)}
        _check_can_be_told(loaded, trial, known.get(trial))
        try:
            if number is None:
                loaded.tell(trial, state=TrialState.FAIL)
            else:
                if std is not None:
                    opened.set_trial_user_attr(known[trial]._trial_id, STD, std)
                loaded.tell(trial, number)
        except (optuna.exceptions.UpdateFinishedTrialError, ValueError) as error:  # somebody told it at this moment
            raise StudyError(f"trial {trial} of study {study!r}: {error}; tell each suggested trial once") from None


def _check_can_be_told(study: optuna.Study, number: int, trial: FrozenTrial | None) -> None:
    """Raise a StudyError unless a trial waits for somebody to tell its value."""
    name = f"trial {number} of study {study.study_name!r}"
    if trial is None or trial.state != TrialState.RUNNING:
        state = "unknown" if trial is None else trial.state.name.lower()
        raise StudyError(f"{name} is {state}; tell each suggested trial once")
    owner = live_owner(trial)
    if owner is not None:
        raise StudyError(
            f"{name} is being run by process {owner.pid} on {owner.host}, which will store its value; "
            "tell only what `addtree suggest` printed"
        )


def _parse(value: str) -> float:
    """Read a finite number."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise StudyError(f"value {value!r} is not a finite number; give a number, or --failed")
    return number
