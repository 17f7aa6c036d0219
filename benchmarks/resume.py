"""`minimize(n_jobs=..., resume=...)` that is killed with SIGKILL again and again: what is lost, and what survives it.

    python -m benchmarks.resume                      # 200 trials, 4 processes, 3 kills, 10 uninterrupted runs beside it
    python -m benchmarks.resume --trials 24 --jobs 2 --kills 1 --runs 2

It prints the number of trials, how many are lost or duplicate, the processes that outlived a kill, and the best value
of the killed run beside those of the uninterrupted ones. It reads /proc, so it needs Linux.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import addtree as at
from addtree.problems import synthetic

_MARK = "ADDTREE_RESUME_BENCHMARK"  # An environment variable by which the processes of a run are found.
_PATIENCE = 20.0  # Seconds after which a process that is still there has outlived its parent.
_POLL = 0.02  # Seconds between two looks at the file.


@dataclass(frozen=True)
class Run:
    """A run to kill: n_trials of the synthetic function, each of which takes `seconds`."""

    path: Path
    n_trials: int = 200
    n_jobs: int = 4
    seconds: float = 0.1
    seed: int = 0


@dataclass(frozen=True)
class Survival:
    """What is left after all kills.

    trials     all trials at the end
    lost       trials with a result before a kill that have another or none at the end
    duplicate  ids or configurations that occur twice
    orphans    processes that outlived a kill
    """

    trials: list[at.Trial]
    lost: int
    duplicate: int
    orphans: int


def evaluate(run: Run) -> at.Result:
    """The run itself, which continues if its file exists."""
    problem = synthetic()

    def objective(config: dict[str, Any]) -> float:
        time.sleep(run.seconds)
        return problem.objective(config)

    return at.minimize(objective, problem.space, run.n_trials, seed=run.seed, n_jobs=run.n_jobs, resume=run.path)


def start(run: Run) -> subprocess.Popen[bytes]:
    """The run in a process of its own."""
    arguments = [str(run.path), str(run.n_trials), str(run.n_jobs), str(run.seconds), str(run.seed)]
    environment = {**os.environ, _MARK: str(run.path)}
    return subprocess.Popen([sys.executable, "-m", "benchmarks.resume", "--run", *arguments], env=environment)


def told(path: Path) -> dict[int, Any]:
    """The trials with a result in a file, by id."""
    if not path.exists():
        return {}
    trials = json.loads(path.read_text())["trials"]
    return {i: trial for i, trial in enumerate(trials) if trial["state"] in ("done", "failed")}


def processes(run: Run) -> list[int]:
    """The processes of a run."""
    mark, found = f"{_MARK}={run.path}".encode(), []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:  # it has ended, or belongs to somebody else
            continue
    return found


def survive(run: Run, kills: int) -> Survival:
    """Kill a run at equal distances, and let it end."""
    before: dict[int, Any] = {}
    orphans = 0
    for kill in range(1, kills + 1):
        process = start(run)
        while process.poll() is None and len(told(run.path)) < run.n_trials * kill // (kills + 1):
            time.sleep(_POLL)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before |= told(run.path)
        deadline = time.monotonic() + _PATIENCE
        while processes(run) and time.monotonic() < deadline:
            time.sleep(_POLL)
        orphans += len(processes(run))
    start(run).wait()
    after = told(run.path)
    trials = at.Optimizer.load(run.path).trials
    configs = {json.dumps(trial.config, sort_keys=True) for trial in trials}
    lost = sum(after.get(i) != trial for i, trial in before.items())
    return Survival(trials, lost, 2 * len(trials) - len({t.id for t in trials}) - len(configs), orphans)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--runs", type=int, default=10, help="uninterrupted runs to compare with")
    args = parser.parse_args()
    if args.run is not None:
        path, *numbers = args.run
        evaluate(Run(Path(path), int(numbers[0]), int(numbers[1]), float(numbers[2]), int(numbers[3])))
        return
    with tempfile.TemporaryDirectory() as folder:
        killed = survive(Run(Path(folder) / "killed.json", args.trials, args.jobs), args.kills)
        others = [
            evaluate(Run(Path(folder) / f"{seed}.json", args.trials, args.jobs, seed=seed)).best_value
            for seed in range(1, args.runs + 1)
        ]
    states = [trial.state for trial in killed.trials]
    print(f"{len(states)} trials, {states.count('done')} done, {killed.lost} lost, {killed.duplicate} duplicate")
    print(f"{killed.orphans} processes outlived one of {args.kills} kills")
    optimum = synthetic().optimum
    best = min(trial.value for trial in killed.trials if trial.value is not None) - optimum
    print(f"regret {best:.1e}; uninterrupted {min(others) - optimum:.1e} to {max(others) - optimum:.1e}")


if __name__ == "__main__":
    main()
