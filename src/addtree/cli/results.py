"""The commands that show what a study has found: `status`, `best` and `export`."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from optuna.trial import FrozenTrial, TrialState
from rich.table import Column, Table
from rich.text import Text

from addtree.cli.display import Terminal, print_untold
from addtree.cli.options import DEFAULT_STORAGE, AnyStudyName, StorageUrl
from addtree.errors import OptionError, OutputError, StudyError
from addtree.run.display import new_column
from addtree.run.goals import Goals
from addtree.study.goals import study_goals, trial_values
from addtree.study.manual import untold
from addtree.study.storage import storage_at
from addtree.study.studies import (
    Progress,
    find_study,
    load_study,
    progress,
    progress_of,
    recommended_trial,
    study_names,
)
from addtree.study.tickets import ERROR, is_forgotten, is_lost
from addtree.support.files import open_text

_MIN_TABLE_WIDTH = 40  # The table of `status` is at least this wide, because a narrower column would show nothing.


def status(study: AnyStudyName = None, storage: StorageUrl = DEFAULT_STORAGE) -> None:
    """Show the progress of a study, or of all studies if no name is given, and suggestions without a value so far."""
    titles = ("study", "complete", "pruned", "failed", "running", "best value")
    table = Table(*(Column(title, overflow="fold") for title in titles))  # A narrow terminal shows every letter.
    waiting: dict[str, list[FrozenTrial]] = {}
    with storage_at(storage, "read") as opened:
        names = [study] if study is not None else study_names(opened)
        for name in names:
            loaded = find_study(opened, name)
            trials = loaded.get_trials(deepcopy=False)
            p, waiting[name] = progress_of(trials, loaded.directions), untold(trials)
            best_value = "-" if p.best is None else f"{p.best.value:.6g}"
            if len(loaded.directions) > 1:
                best_value = f"front of {len(p.front)}"
            table.add_row(Text(name), str(p.complete), str(p.pruned), str(p.failed), str(p.running), best_value)
    terminal = Terminal(highlight=False)
    terminal.width = max(terminal.width, _MIN_TABLE_WIDTH)
    terminal.print(table)
    print_untold(waiting)


def best(
    study: AnyStudyName = None,
    storage: StorageUrl = DEFAULT_STORAGE,
    recommended: Annotated[
        bool, typer.Option("--recommended", help="Show the trial with the best mean under the model instead.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Show the trial with the best value so far; if values are noisy, --recommended is safer.

    With several objectives, show the front: the feasible trials that no other dominates.
    """
    with storage_at(storage, "read") as opened:
        loaded = find_study(opened, study)
        goals, p = study_goals(loaded, loaded.get_trials(deepcopy=False)), progress(loaded)
        found = list(p.front) if p.best is None else [p.best]
        if not found:
            raise StudyError(_why_none(loaded.study_name, p))
        if recommended and p.best is None:
            raise OptionError("--recommended needs one objective, and the study has several; leave it out")
        if recommended:
            found = [recommended_trial(load_study(opened, loaded.study_name))]
    if as_json:
        forms = [{"id": t.number, **_value_fields(goals, t), "config": t.params} for t in found]
        print(json.dumps(forms if p.best is None else forms[0]))
        return
    print("\n\n".join(_described(goals, trial) for trial in found))


def _why_none(name: str, p: Progress) -> str:
    if p.complete:
        return f"no trial of study {name!r} keeps the constraints yet; run more trials, or relax the constraints"
    return f"study {name!r} has no value yet; run more trials, or tell the value of a suggested one"


def _described(goals: Goals, trial: FrozenTrial) -> str:
    """The values and the configuration of a trial, one line each."""
    values = trial_values(goals, trial) or {}
    width = max(map(len, [*values, *trial.params]))
    lines = [f"{name:<{width}}  {value:.10g}" for name, value in values.items()]
    lines[0] += f"  (trial {trial.number})"
    return "\n".join([*lines, *(f"{name:<{width}}  {value!r}" for name, value in trial.params.items())])


def _value_fields(goals: Goals, trial: FrozenTrial) -> dict[str, Any]:
    """What is written about the value of a trial, or about its values by name."""
    values = trial_values(goals, trial)
    if goals.is_single and not goals.named:
        return {"value": None if values is None else values[goals.names[0]]}
    return {"values": values or {}}


def export(
    study: AnyStudyName = None,
    storage: StorageUrl = DEFAULT_STORAGE,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="FILE.csv or FILE.json; by default, CSV on stdout.")
    ] = None,
) -> None:
    """Write all trials as CSV or JSON."""
    if output is not None and output.suffix not in (".csv", ".json"):
        raise OptionError(f"--output {output} must end in .csv or .json")
    with storage_at(storage, "read") as opened:
        loaded = find_study(opened, study)
        trials = loaded.get_trials(deepcopy=False)
        goals = study_goals(loaded, trials)
    rows = [_row(goals, trial) for trial in trials if trial.state != TrialState.WAITING]
    if output is None:
        _write_csv(goals.names, rows, sys.stdout)
        return
    try:
        with open_text(output) as file:
            if output.suffix == ".json":
                json.dump([_without_infinity(row) for row in rows], file, indent=1)
            else:
                _write_csv(goals.names, rows, file)
    except OSError as error:
        raise OutputError(f"{output} cannot be written: {error.strerror}; give another path") from None


def _row(goals: Goals, trial: FrozenTrial) -> dict[str, Any]:
    """What `export` writes about a trial."""
    return {
        "id": trial.number,
        "state": _state(trial),
        **_value_fields(goals, trial),
        "error": trial.user_attrs.get(ERROR),
        "config": trial.params,
    }


def _without_infinity(row: dict[str, Any]) -> dict[str, Any]:
    """A row with null for infinite values, which JSON does not have; the model takes them for failures."""
    if "values" in row:
        return {**row, "values": {name: v if math.isfinite(v) else None for name, v in row["values"].items()}}
    return {**row, "value": None if row["value"] is None or not math.isfinite(row["value"]) else row["value"]}


def _state(trial: FrozenTrial) -> str:
    if is_lost(trial):
        return "forgotten" if is_forgotten(trial) else "lost"
    return trial.state.name.lower()


def _write_csv(values: Sequence[str], rows: list[dict[str, Any]], file: TextIO) -> None:
    """Write one line per row.

    Each value has a column, and each parameter, which is empty where the parameter is not active. A parameter with the
    name of another column is called params_NAME. If a value is called "error", the reason of a failure is called
    "failure".
    """
    names = list(dict.fromkeys(name for row in rows for name in row["config"]))
    heads = ["id", "state"]
    for name in values:
        heads.append(new_column(name, "values", heads))
    heads.append(new_column("failure" if "error" in heads else "error", "trial", heads))
    for name in names:
        heads.append(new_column(name, "params", heads))
    writer = csv.writer(file)
    writer.writerow(heads)
    for row in rows:
        told = [row["values"].get(name) for name in values] if "values" in row else [row["value"]]
        writer.writerow([row["id"], row["state"], *told, row["error"], *(row["config"].get(name) for name in names)])
