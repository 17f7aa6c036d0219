"""The command line: a thin shell over `addtree.study` and `addtree.workers`.

Exit codes: 0 done, 1 no trial succeeded, 2 a wrong argument or file, 3 the storage, 4 the study, 130 interrupted.
"""

from __future__ import annotations

import csv
import json
import logging
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import optuna
import typer
from optuna.trial import FrozenTrial, TrialState
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table

from addtree.errors import AddTreeError, InterruptedRunError, NoSuccessError, StorageError, StudyError
from addtree.report import Report, write_page
from addtree.report.study import build_study
from addtree.report.text import explain as explained
from addtree.study.storage import storage_at
from addtree.study.studies import ERROR, Progress, is_lost, load_study, open_study, progress, space_of
from addtree.study.supervisor import Job, run
from addtree.study.task import Task, ask_config, load_space

_CODES: dict[type[AddTreeError], int] = {NoSuccessError: 1, StorageError: 3, StudyError: 4, InterruptedRunError: 130}
_WRONG = 2

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__, pretty_exceptions_enable=False)
_screen = Console(stderr=True, highlight=False)

Storage = Annotated[str, typer.Option(help="An Optuna storage URL, or the path of an SQLite file.")]
Name = Annotated[str | None, typer.Argument(help="The study; may be left out where the storage has only one.")]
_STORAGE = "sqlite:///addtree.db"


def main() -> None:
    """Run the command line; an error is one line on stderr and an exit code."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    logging.getLogger("addtree").setLevel(logging.ERROR)
    try:
        app(standalone_mode=True)
    except AddTreeError as error:
        print(f"addtree: {error}", file=sys.stderr)
        sys.exit(next((code for kind, code in _CODES.items() if isinstance(error, kind)), _WRONG))


@app.command("run")
def run_command(
    file: Annotated[Path, typer.Argument(help="Python, with `space` and `objective(config)`, or `objective(trial)`.")],
    trials: Annotated[int, typer.Option(min=1, help="Trials in all, those of earlier runs included.")] = 100,
    workers: Annotated[int, typer.Option(min=1, help="Processes that run trials.")] = 1,
    storage: Storage = _STORAGE,
    study: Annotated[str | None, typer.Option(help="The study's name; the file's where it is left out.")] = None,
    timeout: Annotated[float | None, typer.Option(min=0, help="Seconds after which no trial is started.")] = None,
    seed: Annotated[int | None, typer.Option(help="Makes one worker's run reproducible.")] = None,
    maximize: Annotated[bool, typer.Option("--maximize", help="Look for the largest value.")] = False,
) -> None:
    """Run the objective of FILE until the study has its trials. The same command again goes on where it stopped."""
    job = Job(file, storage, study or file.stem, trials, workers, timeout, seed, maximize)
    try:
        with _bar(trials) as watch:
            done = run(job, watch)
    except KeyboardInterrupt:
        raise InterruptedRunError("interrupted; the same command goes on from here") from None
    _summary(job.study, done)


@app.command()
def status(study: Name = None, storage: Storage = _STORAGE) -> None:
    """How far a study is; without a name, all of them."""
    with storage_at(storage) as opened:
        names = [study] if study is not None else sorted(optuna.get_all_study_names(opened))
        table = Table("study", "complete", "pruned", "failed", "running", "best value")
        for name in names:
            p = progress(load_study(opened, name))
            best = "-" if p.best is None else f"{p.best.value:.6g}"
            table.add_row(name, str(p.complete), str(p.pruned), str(p.failed), str(p.running), best)
    Console(highlight=False).print(table)


@app.command()
def best(
    study: Name = None,
    storage: Storage = _STORAGE,
    as_json: Annotated[bool, typer.Option("--json", help="As one line of JSON.")] = False,
) -> None:
    """The best configuration so far."""
    with storage_at(storage) as opened:
        found = load_study(opened, study)
        name, trial = found.study_name, progress(found).best
    if trial is None:
        raise StudyError(f"study {name!r} has no value yet")
    if as_json:
        print(json.dumps({"id": trial.number, "value": trial.value, "config": trial.params}))
        return
    print(f"value  {trial.value:.10g}  (trial {trial.number})")
    width = max((len(name) for name in trial.params), default=0)
    for name, value in trial.params.items():
        print(f"{name:<{width}}  {value!r}")


@app.command()
def export(
    study: Name = None,
    storage: Storage = _STORAGE,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="FILE.csv or FILE.json; else stdout.")] = None,
) -> None:
    """All trials, as CSV or JSON."""
    with storage_at(storage) as opened:
        trials = load_study(opened, study).get_trials(deepcopy=False)
    rows = [_row(trial) for trial in trials if trial.state != TrialState.WAITING]
    if output is None:
        _write_csv(rows, sys.stdout)
        return
    if output.suffix not in (".csv", ".json"):
        raise StudyError(f"--output {output} must end in .csv or .json")
    try:
        with output.open("w", encoding="utf-8", newline="") as file:
            if output.suffix == ".json":
                json.dump(rows, file, indent=1)
            else:
                _write_csv(rows, file)
    except OSError as error:
        raise StorageError(f"{output} cannot be written: {error.strerror}") from error


@app.command()
def suggest(
    study: Annotated[str, typer.Argument(help="The study.")],
    storage: Storage = _STORAGE,
    space: Annotated[Path | None, typer.Option(help="FILE.py or FILE.json with the space, to make the study.")] = None,
    seed: Annotated[int | None, typer.Option(help="Makes the suggestions reproducible.")] = None,
    maximize: Annotated[bool, typer.Option("--maximize", help="Look for the largest value.")] = False,
) -> None:
    """A configuration to try, as one line of JSON with its id; give its value back with `addtree tell`."""
    declared = None if space is None else load_space(space)
    with storage_at(storage) as opened:
        if declared is not None:
            found = open_study(opened, study, Task(_nothing, declared), seed=seed, maximize=maximize)
        else:
            found = load_study(opened, study)
            declared = space_of(found)
        if declared is None:
            raise StudyError(f"study {study!r} has no declared space to suggest from; make one with --space FILE")
        trial = optuna.Trial(found, found._storage.create_new_trial(found._study_id))
        print(json.dumps({"id": trial.number, "config": ask_config(trial, declared)}))


@app.command(context_settings={"ignore_unknown_options": True})  # so that -0.5 is a value
def tell(
    study: Annotated[str, typer.Argument(help="The study.")],
    trial: Annotated[int, typer.Argument(help="The id that `addtree suggest` gave.")],
    value: Annotated[str | None, typer.Argument(help="The value.")] = None,
    storage: Storage = _STORAGE,
    failed: Annotated[bool, typer.Option("--failed", help="The experiment gave no value.")] = False,
) -> None:
    """Give the value of a suggested configuration back."""
    if (value is None) != failed:
        raise StudyError(f"tell {study} {trial}: give either a value or --failed")
    number = _float(value)
    if value is not None and not math.isfinite(number):
        raise StudyError(f"value {value!r} is not a finite number; give a number, or --failed")
    with storage_at(storage) as opened:
        found = load_study(opened, study)
        known = {t.number: t for t in found.get_trials(deepcopy=False)}
        if trial not in known or known[trial].state != TrialState.RUNNING:
            state = known[trial].state.name.lower() if trial in known else "unknown"
            raise StudyError(f"trial {trial} of study {study!r} is {state}; tell one that was suggested, once")
        if failed:
            found.tell(trial, state=TrialState.FAIL)
        else:
            found.tell(trial, number)


@app.command()
def report(
    study: Name = None,
    storage: Storage = _STORAGE,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
) -> None:
    """Write a page that shows what was found and what was learned."""
    write_page(output, _built(study, storage))
    print(output)


@app.command()
def explain(study: Name = None, storage: Storage = _STORAGE) -> None:
    """What was found and what was learned, in short."""
    print(explained(_built(study, storage)))


@app.command()
def paper(
    experiment: Annotated[str, typer.Argument(help="synthetic, regression, compression, complexity or all.")],
    out: Annotated[Path, typer.Option(help="Folder for the raw results, the page and its figures.")] = Path(
        "paper-results"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="2 seeds, 25 iterations.")] = False,
    data: Annotated[Path | None, typer.Option(help="Folder that contains mnist/ (or set ADDTREE_DATA).")] = None,
    jobs: Annotated[int, typer.Option(help="Processes at a time.")] = 1,
) -> None:
    """Run the paper's experiments with its baselines; the same command again goes on where it stopped."""
    from addtree.paper.command import run as run_experiment

    print(run_experiment(experiment, quick=quick, out=out, data=data, jobs=jobs))


def _built(study: str | None, storage: str) -> Report:
    with storage_at(storage) as opened:
        return build_study(load_study(opened, study))


def _float(text: str | None) -> float:
    try:
        return math.nan if text is None else float(text)
    except ValueError:
        return math.nan


def _nothing(config: Any) -> float:
    """The objective of a study whose values are told: it is never called."""
    raise AssertionError("the values of this study are told, not computed")


# ---------------------------------------------------------------------- what people see


@contextmanager
def _bar(total: int) -> Iterator[Any]:
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TaskProgressColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=_screen) as bar:
        task = bar.add_task("", total=total)

        def watch(p: Progress) -> None:
            text = "no value yet" if p.best is None else f"best {p.best.value:.6g}  {path(p.best)}"
            failed = f"  {p.failed} failed" if p.failed else ""
            bar.update(task, completed=p.finished, description=text + failed)

        yield watch


def path(trial: FrozenTrial) -> str:
    """The categories of a trial, in words: what its path is as far as one line can say."""
    return " ".join(f"{name}={value}" for name, value in trial.params.items() if isinstance(value, (str, bool)))


def _summary(name: str, p: Progress) -> None:
    again = f", {p.lost} interrupted and run again" if p.lost else ""
    print(f"{name}: {p.finished} trials finished ({p.failed} failed{again})")
    if p.error is not None:
        print(f"the last failure: {p.error}")
    if p.best is not None:
        print(f"best {p.best.value:.10g}: {json.dumps(p.best.params)}")


def _row(trial: FrozenTrial) -> dict[str, Any]:
    return {
        "id": trial.number,
        "state": "lost" if is_lost(trial) else trial.state.name.lower(),
        "value": trial.value,
        "error": trial.user_attrs.get(ERROR),
        "config": trial.params,
    }


def _write_csv(rows: list[dict[str, Any]], file: Any) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row["config"]))
    writer = csv.writer(file)
    writer.writerow(["id", "state", "value", "error", *names])
    for row in rows:
        writer.writerow([row["id"], row["state"], row["value"], row["error"], *(row["config"].get(n) for n in names)])


if __name__ == "__main__":
    main()
