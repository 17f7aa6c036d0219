"""The command behind `addtree paper` and `python -m addtree.paper`: run experiments, then write the results page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from addtree.errors import AddTreeError, DataError, OptionError
from addtree.paper import runs
from addtree.paper.experiments import OPTIMIZATION, QUICK_SIZES, TRAIN_SIZES, Job, compressor, network_accuracy
from addtree.paper.methods import METHODS, REGRESSORS
from addtree.paper.runs import to_stderr
from addtree.support.files import write_text

# The experiments by name, with the optimization or regression experiments that each consists of.
EXPERIMENTS = {
    "synthetic": ("synthetic",),
    "regression": ("regression",),
    "compression": ("compression-tree", "compression-choices"),
    "complexity": (),
}
PARTS = EXPERIMENTS["compression"]  # Each of these can be run alone.
ITERATIONS, QUICK_ITERATIONS = 80, 25  # The paper runs 80 iterations; a quick run shows the form of the page.
SEEDS, QUICK_SEEDS = 10, 2  # The paper runs 10 seeds.
PAGE = "paper-results.md"


def run(
    experiment: str,
    *,
    quick: bool = False,
    out: Path = Path("paper-results"),
    data: Path | None = None,
    jobs: int = 1,
    seeds: int | None = None,
    methods: Sequence[str] | None = None,
    docs: Path | None = None,
) -> Path:
    """Run the jobs that are not done yet, write the page from all records, and return the page's path.

    out      the folder that keeps the raw records and the trained network
    docs     the folder for the page and, in paper/, its figures; None means `out`
    data     the folder that contains mnist/; None looks elsewhere (see `mnist.load`)
    jobs     the number of processes
    seeds    the number of runs per method; None means 10, or 2 if `quick`
    methods  the names of the methods; None means all that can run
    """
    if experiment not in (*EXPERIMENTS, *PARTS, "all"):
        known = ", ".join([*EXPERIMENTS, *PARTS, "all"])
        raise OptionError(f"experiment {experiment!r} is unknown; use one of {known}")
    names = list(EXPERIMENTS) if experiment == "all" else [experiment]
    if find_spec("matplotlib") is None:  # the figures come last, but the user should know at the start
        raise AddTreeError("the paper's figures need matplotlib: pip install 'addtree[paper]'")
    out = out.resolve()
    chosen, missing = _available(methods)
    n_seeds = seeds if seeds is not None else (QUICK_SEEDS if quick else SEEDS)
    todo: list[Job] = []
    for name in names:
        if name.startswith("compression") and (reason := _cannot_compress(out, data)):
            missing.append(reason)
            to_stderr(reason)
            continue
        todo += _jobs(EXPERIMENTS.get(name, (name,)), chosen, n_seeds, quick=quick, out=out, data=data)
    failed = runs.run_all(todo, out=out, workers=jobs, report=to_stderr)
    missing += [f"{job.experiment}, {job.method}, seed {job.seed} failed: {why}" for job, why in failed.items()]
    measured = out / "raw" / ("complexity-quick.json" if quick else "complexity.json")
    if "complexity" in names and not measured.exists():
        from addtree.paper.complexity import measure

        runs.save(measured, {"versions": runs.versions(), **measure(quick=quick)})
    return _write(docs or out, out, measured, missing, quick=quick)


def _available(methods: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """The methods to run, and a line for each that cannot run; gpyopt-like stands in where gpyopt is missing."""
    for name in methods or ():
        if name not in METHODS:
            raise OptionError(f"method {name!r} is unknown; use some of {', '.join(METHODS)}")
    wanted = list(methods) if methods else [name for name in METHODS if name != "gpyopt-like"]
    reasons = {name: METHODS[name].missing() for name in wanted}
    if not methods and reasons["gpyopt"]:
        wanted[wanted.index("gpyopt")] = "gpyopt-like"
        reasons["gpyopt"] += "; gpyopt-like stands in"
    for reason in filter(None, reasons.values()):
        to_stderr(reason)
    return [name for name in wanted if not reasons.get(name)], [reason for reason in reasons.values() if reason]


def _cannot_compress(out: Path, data: Path | None) -> str:
    """Why the compression cannot run; empty if it can. Trains the network, so that the workers do not all do it."""
    try:
        network = _network(out)
        if not network.exists():
            runs.save(network, {"versions": runs.versions(), "test accuracy": network_accuracy(out, data)})
        compressor(out, data)
    except DataError as error:
        return str(error)
    return ""


def _network(out: Path) -> Path:
    return out / "raw" / "fc3.json"


def _jobs(
    experiments: Sequence[str], methods: Sequence[str], seeds: int, *, quick: bool, out: Path, data: Path | None
) -> list[Job]:
    """The jobs of some experiments, seed after seed, so that a run stopped early has some of every method."""
    found = []
    for experiment in experiments:
        for seed in range(seeds):
            for method in methods:
                if experiment == "regression" and method not in REGRESSORS:
                    continue
                found.append(Job(experiment, method, seed, _length(experiment, quick=quick), out, data))
    return found


def _length(experiment: str, *, quick: bool) -> int:
    if experiment == "regression":
        return len(QUICK_SIZES if quick else TRAIN_SIZES)
    return QUICK_ITERATIONS if quick else ITERATIONS


def _write(docs: Path, out: Path, measured: Path, missing: Sequence[str], *, quick: bool) -> Path:
    """Write the page from all the records in `out`, and return its path."""
    from addtree.paper.page import Page

    records: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for experiment in (*OPTIMIZATION, "regression"):
        for method in METHODS:
            folder = out / "raw" / experiment / method
            paths = sorted(folder.glob(f"{_length(experiment, quick=quick)}-seed*.json"))
            if paths:
                records.setdefault(experiment, {})[method] = [json.loads(path.read_text()) for path in paths]
    complexity, network = (json.loads(p.read_text()) if p.exists() else None for p in (measured, _network(out)))
    page = docs / PAGE
    docs.mkdir(parents=True, exist_ok=True)
    write_text(page, Page(records, complexity, network, missing, docs / "paper").text())
    to_stderr(f"wrote {page}")
    return page
