"""What each addition to the published method is worth: `python -m benchmarks.additions [--seeds 10] [--jobs 2]`.

A ladder from the paper's method to the default: each step adds one thing to the step before. The runs are files like
those of `benchmarks.run`, and a finished one is not repeated. At the end the table of `docs/what-this-adds.md` is
written.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from addtree.model.priors import Priors, log_prior
from addtree.model.transform import TransformSettings
from addtree.optimizer import Settings
from addtree.paper.baselines.addtree import AS_PUBLISHED, AddTree
from addtree.search.policy import Policy
from addtree.support.files import write_text
from benchmarks import page, peers, report, run, tasks
from benchmarks.support import regret
from benchmarks.support.files import RESULTS

OUT = RESULTS.with_name("results-additions")
TASKS = tuple(name for name in tasks.FIXED if tasks.family(name) == "yahpo")  # Real tuning runs that cost little.
MARKS = (20, 30, 50, 100)
OFF = log_prior(1e-6, 0.1, 0.1)  # An amplitude with this prior is too small to matter.
PLAIN_OUTPUT = TransformSettings(cap=math.inf, power_bounds=(1.0, 1.0))
NO_TURNS = replace(Policy(), lower_turn=None, local_turn=None, neglected=False)
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->"  # The table of the page lies between these lines.


def _step(*, off: Sequence[str] = (), transform: bool = True, turns: bool = True) -> dict[str, Any]:
    """Options of the optimizer: the default without some groups of terms, the output transform or the turns."""
    default = Settings()
    settings = Settings(
        priors=replace(Priors(), **dict.fromkeys(off, OFF)),
        transform=default.transform if transform else PLAIN_OUTPUT,
        policy=default.policy if turns else NO_TURNS,
    )
    return {"settings": settings}


# The steps of the ladder, from the first to the last: options of the optimizer.
STEPS: dict[str, dict[str, Any]] = {
    "the paper as published": AS_PUBLISHED,
    "expected improvement instead of the additive bound": {
        **_step(turns=False),
        "covariance": "additive",
        "inference": "mle",
    },
    "pooled priors instead of maximum likelihood": {**_step(turns=False), "covariance": "additive"},
    "values centred, an offset for each option": _step(off=("trend", "interaction"), transform=False, turns=False),
    "trends": _step(off=("interaction",), transform=False, turns=False),
    "interactions": _step(transform=False, turns=False),
    "output transform": _step(turns=False),
    "turns of the policy: the default": _step(),
}


def begin(method: str, task: tasks.Task, seed: int) -> peers.Method:
    """Begin a run of a step, or of random search."""
    return AddTree(task.space, seed, **STEPS[method]) if method in STEPS else peers.start(method, task, seed)


def work(one: run.Run) -> run.Outcome:
    """Do a run in a worker."""
    return run.work(one, begin)


def table(runs: regret.ByTask) -> str:
    """The table of the page: the regret after each step, and the last mark as a share of the step before."""
    results = regret.Results.from_runs(runs)
    steps = [step for step in STEPS if step in results.complete]
    summary = regret.summarise(results, [*steps, regret.BASELINE], MARKS)
    curves = regret.normalised(results.runs, results.best)
    head = ["step", *(f"at {t}" for t in MARKS), f"share of the step before, at {MARKS[-1]}", "ms", "runs"]
    lines = [head]
    for before, step in zip([None, *steps], steps, strict=False):
        row = summary["methods"][step]
        cells = [report.with_interval(row["regret"][t], row["seeds"][t]) for t in MARKS]
        share = "–"
        if before is not None:
            found = regret.ratio(*([each[name] for each in curves.values()] for name in (step, before)))
            share = report.with_interval(found[0, MARKS[-1] - 1], found[1:, MARKS[-1] - 1])
        title = step if before is None else f"+ {step}"
        lines.append([title, *cells, share, f"{row['milliseconds']:.1f}", str(row["runs"])])
    return "\n\n".join([*page.fewer_runs(results, steps), report.markdown_table(lines)])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns 1 if a run has failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds, from 0 on; 0 only writes the table")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the runs")
    parser.add_argument(
        "--page", type=Path, default=page.DOCS / "what-this-adds.md", help="page to write the table into"
    )
    given = parser.parse_args(arguments)
    names = run.with_data(TASKS)
    todo = run.plan(names, [regret.BASELINE, *STEPS], range(given.seeds), MARKS[-1], given.out)
    failures = 0
    for done, (one, best, seconds, error) in enumerate(run.execute(todo, given.jobs, work), 1):
        failures += error is not None
        print(
            f"[{done}/{len(todo)}] {one.task} {one.method} {one.seed}: {error or best} in {seconds:.1f} s", flush=True
        )
    found = table(regret.read(given.out, MARKS[-1]))
    text = given.page.read_text(encoding="utf-8")
    first, last = text.index(BEGIN) + len(BEGIN), text.index(END)
    write_text(given.page, text[:first] + "\n" + found + "\n\n" + text[last:])
    print(found)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
