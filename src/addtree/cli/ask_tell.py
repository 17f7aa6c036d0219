"""The commands for experiments that addtree does not run itself: `suggest`, `tell` and `forget`."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path
from typing import Annotated, Any

import optuna
import typer

from addtree.cli.options import DEFAULT_STORAGE, Maximize, Noise, StorageUrl, StudyName
from addtree.errors import OptionError, StudyError
from addtree.run.goals import checked_std
from addtree.study.goals import with_options
from addtree.study.manual import Result, add_trial, forget_trial, tell_trial
from addtree.study.storage import storage_at
from addtree.study.studies import check_study, find_study, load_study, open_study, space_of, study_names
from addtree.study.task import load_space, suggest_config, warn_of_unread
from addtree.study.tickets import withdraw


def suggest(
    study: StudyName,
    storage: StorageUrl = DEFAULT_STORAGE,
    space: Annotated[
        Path | None, typer.Option(help="FILE.py or FILE.json with the space; needed to create the study.")
    ] = None,
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="How many configurations to suggest.")] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all of them as one JSON list instead of one object per line.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Makes the suggestions reproducible; used together with --space.")
    ] = None,
    noise: Noise = None,
    maximize: Maximize = False,
) -> None:
    """Print a configuration to try and its id as one line of JSON. Report its value with `addtree tell`."""
    if space is None:
        if seed is not None or maximize:
            option = "--maximize" if seed is None else f"--seed {seed}"
            raise OptionError(f"{option} is for a new study; give --space FILE as well, or leave it out")
        with storage_at(storage, "write") as opened:
            if study not in study_names(opened):
                raise StudyError(f"there is no study {study!r}; create it with --space FILE, or see `addtree status`")
            _print_suggestions(load_study(opened, study, noise=noise), number, as_json=as_json)
        return
    file = load_space(space)
    goals = with_options(file.goals, maximize=maximize, noise=noise)
    check_study(study, file.space, seed=seed, goals=goals)  # what is wrong must not create a storage
    warn_of_unread(space, [name for name in file.unread if name != "seed" or seed is None])
    with storage_at(storage, "create") as opened:
        loaded = open_study(
            opened, study, file.space, seed=seed, goals=goals, initial=file.initial, cost_aware=file.cost_aware
        )
        _print_suggestions(loaded, number, as_json=as_json)


def _print_suggestions(study: optuna.Study, number: int, *, as_json: bool) -> None:
    """Ask a study for configurations, and print them with their ids."""
    space = space_of(study)
    if space is None:
        name = study.study_name
        raise StudyError(f"study {name!r} has no declared space to suggest from; create one with --space FILE")
    study.get_trials(deepcopy=False)  # If they cannot be read, Optuna would try for seconds to add one.
    trials: list[optuna.Trial] = []
    suggested: list[dict[str, Any]] = []
    try:
        for _ in range(number):
            trials.append(optuna.Trial(study, study._storage.create_new_trial(study._study_id)))
            suggested.append({"id": trials[-1].number, "config": suggest_config(trials[-1], space)})
        print(json.dumps(suggested) if as_json else "\n".join(map(json.dumps, suggested)), flush=True)
    except BaseException:
        for trial in trials:
            with contextlib.suppress(Exception):
                withdraw(study, trial._trial_id)  # nobody learned its id
        raise


def tell(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STUDY] [TRIAL] [VALUE]",
            help="The study, which may be left out if the storage has only one; the id that `addtree suggest` printed; "
            "the value of its configuration, or NAME=VALUE for each objective and constraint.",
        ),
    ] = None,
    storage: StorageUrl = DEFAULT_STORAGE,
    config: Annotated[
        str | None,
        typer.Option(help="A configuration from elsewhere as a JSON object, instead of a suggested TRIAL."),
    ] = None,
    std: Annotated[float | None, typer.Option(help="The standard error of the value, if it is known.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="The experiment gave no value; VALUE is left out.")] = False,
) -> None:
    """Report the value of a suggested configuration, or of one from elsewhere."""
    words, told = (words or [], None) if failed else _split_values(words or [])
    names = ["TRIAL"] * (config is None) + ["VALUE"] * (not failed and not told)
    study, given = _split(words, names)
    trial = _parse_id(given["TRIAL"], names) if config is None else None
    value = told or (None if failed else _parse_value(given["VALUE"]))
    result = Result(value, checked_std(std))
    params = {} if config is None else _parse_config(config)
    with storage_at(storage, "write") as opened:
        loaded = find_study(opened, study)
        if trial is None:
            add_trial(loaded, params, result)
        else:
            tell_trial(loaded, trial, result)


def forget(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[STUDY] TRIAL",
            help="The study, which may be left out if the storage has only one; the id that `addtree suggest` printed.",
        ),
    ],
    storage: StorageUrl = DEFAULT_STORAGE,
) -> None:
    """Drop a suggestion that nobody will evaluate. Its configuration may be suggested again."""
    study, given = _split(words, ["TRIAL"])
    trial = _parse_id(given["TRIAL"], ["TRIAL"])
    with storage_at(storage, "write") as opened:
        forget_trial(find_study(opened, study), trial)


def _split(words: list[str], names: list[str]) -> tuple[str | None, dict[str, str]]:
    """The study, or None if it was left out, and the other arguments by name; an OptionError if words are missing."""
    n_missing = len(names) - len(words)
    if n_missing not in (0, -1):
        problem = f"{' '.join(names[-n_missing:])} is missing" if n_missing > 0 else f"{words[-1]!r} is too much"
        raise OptionError(f"{problem}; give [STUDY] {' '.join(names)}")
    study, rest = (None, words) if n_missing == 0 else (words[0], words[1:])
    return study, dict(zip(names, rest, strict=True))


def _split_values(words: list[str]) -> tuple[list[str], dict[str, float] | None]:
    """The words before NAME=VALUE, and the values by name, or None if there are none."""
    n = len(words)
    while n and "=" in words[n - 1]:
        n -= 1
    pairs = [word.rpartition("=") for word in words[n:]]
    twice = [name for k, (name, _, _) in enumerate(pairs) if any(name == other for other, _, _ in pairs[:k])]
    if twice:
        raise OptionError(f"{twice[0]!r} has two values; give each name once")
    return words[:n], {name: _parse_value(number) for name, _, number in pairs} or None


def _parse_id(word: str, names: list[str]) -> int:
    """Read the id of a trial, which is one of the arguments of these names."""
    if not word.isdecimal():
        usage = f"[STUDY] {' '.join(names)}"
        raise OptionError(f"trial {word!r} is not an id; give {usage}, with the id that `addtree suggest` printed")
    return int(word)


def _parse_value(word: str) -> float:
    """Read a finite number."""
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise OptionError(f"value {word!r} is not a finite number; give a number, or --failed")
    return number


def _parse_config(text: str) -> dict[str, Any]:
    """Read a configuration."""
    example = """give an object such as '{"x": 0.5}'"""
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise OptionError(f"--config {text!r} is not JSON ({error}); {example}") from None
    if not isinstance(config, dict):
        raise OptionError(f"--config {text!r} is not a configuration; {example}")
    return config
