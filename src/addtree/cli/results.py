"""The commands that show what a study has found: `status`, `best` and `export`."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from optuna.trial import FrozenTrial, TrialState
from rich.table import Table
from rich.text import Text

from addtree._files import open_text
from addtree.cli.display import Terminal, print_untold
from addtree.cli.options import DEFAULT_STORAGE, AnyStudyName, StorageUrl
from addtree.errors import OptionError, OutputError, StudyError
from addtree.study.manual import untold
from addtree.study.storage import storage_at
from addtree.study.studies import find_study, load_study, progress, progress_of, recommended_trial, study_names
from addtree.study.tickets import ERROR, is_forgotten, is_lost


def status(study: AnyStudyName = None, storage: StorageUrl = DEFAULT_STORAGE) -> None:
    """Show the progress of a study, or of every study if no name is given, and suggestions that nobody told."""
    table = Table("study", "complete", "pruned", "failed", "running", "best value")
    waiting: dict[str, list[FrozenTrial]] = {}
    with storage_at(storage, "read") as opened:
        names = [study] if study is not None else study_names(opened)
        for name in names:
            loaded = find_study(opened, name)
            trials = loaded.get_trials(deepcopy=False)
            p, waiting[name] = progress_of(trials, loaded.direction), untold(trials)
            best_value = "-" if p.best is None else f"{p.best.value:.6g}"
            table.add_row(Text(name), str(p.complete), str(p.pruned), str(p.failed), str(p.running), best_value)
    Terminal(highlight=False).print(table)
    print_untold(waiting)


def best(
    study: AnyStudyName = None,
    storage: StorageUrl = DEFAULT_STORAGE,
    recommended: Annotated[
        bool, typer.Option("--recommended", help="Show the trial with the best mean under the model instead.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Show the trial with the best value so far; a recommended one is safer if values are noisy."""
    with storage_at(storage, "read") as opened:
        loaded = find_study(opened, study)
        trial = progress(loaded).best
        if trial is None:
            raise StudyError(
                f"study {loaded.study_name!r} has no value yet; run more trials, or tell the value of a suggested one"
            )
        if recommended:
            trial = recommended_trial(load_study(opened, loaded.study_name))
    if as_json:
        print(json.dumps({"id": trial.number, "value": trial.value, "config": trial.params}))
        return
    width = max(map(len, ("value", *trial.params)))
    print(f"{'value':<{width}}  {trial.value:.10g}  (trial {trial.number})")
    for name, value in trial.params.items():
        print(f"{name:<{width}}  {value!r}")


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
        trials = find_study(opened, study).get_trials(deepcopy=False)
    rows = [_row(trial) for trial in trials if trial.state != TrialState.WAITING]
    if output is None:
        _write_csv(rows, sys.stdout)
        return
    try:
        with open_text(output) as file:
            if output.suffix == ".json":
                json.dump(rows, file, indent=1)
            else:
                _write_csv(rows, file)
    except OSError as error:
        raise OutputError(f"{output} cannot be written: {error.strerror}; give another path") from None


def _row(trial: FrozenTrial) -> dict[str, Any]:
    """Return what `export` writes about a trial."""
    return {
        "id": trial.number,
        "state": _state(trial),
        "value": trial.value,
        "error": trial.user_attrs.get(ERROR),
        "config": trial.params,
    }


def _state(trial: FrozenTrial) -> str:
    if is_lost(trial):
        return "forgotten" if is_forgotten(trial) else "lost"
    return trial.state.name.lower()


def _write_csv(rows: list[dict[str, Any]], file: TextIO) -> None:
    """Write one line per row; each parameter has a column, which is empty where the parameter is not active."""
    names = list(dict.fromkeys(name for row in rows for name in row["config"]))
    writer = csv.writer(file)
    writer.writerow(["id", "state", "value", "error", *names])
    for row in rows:
        parameters = [row["config"].get(name) for name in names]
        writer.writerow([row["id"], row["state"], row["value"], row["error"], *parameters])
