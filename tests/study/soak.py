"""A soak test: workers are killed, storages fail, disks are full, and an account at the end must balance.

    python -m tests.study.soak --trials 10000

runs a quarter of the trials on each of SQLite, a journal, PostgreSQL, and PostgreSQL behind a gRPC proxy, all four at
the same time. At random moments it kills one worker, or all of them; starts a worker that finds its disk full; stops
the server or the proxy for a while. It ends with an error unless every account balances: each trial finished once, with
the value of its configuration, and every evaluation is accounted for.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.context import ForkProcess
from multiprocessing.synchronize import Lock
from pathlib import Path
from typing import Any

import optuna

from addtree import problems
from addtree.errors import AddTreeError
from addtree.run.goals import VALUE, Goals
from addtree.study.storage import storage_at
from addtree.study.studies import open_study
from addtree.study.task import Task
from addtree.study.worker import work
from benchmarks.support.account import Account
from benchmarks.support.postgres import running_server
from benchmarks.support.proxy import running_proxy

PROBLEM = problems.synthetic()
STUDY = "soak"
ROOM = 3000  # Bytes that a worker can add to a file until it finds its disk full.
EVALUATIONS = (5, 25)  # The number of evaluations between two events lies in this range.
LAST = 0.95  # After this share of the trials, nothing happens any more.
OUTAGE = 2.0  # Seconds for which a server is stopped.
FORK = multiprocessing.get_context("fork")


@dataclass
class Arrangement:
    """A storage that can fail.

    url       where the workers find it
    database  where the trials are; gRPC must not be used in a process that forks
    file      its file, which can become full; None for a server
    outage    makes it unreachable for a while; None for a file
    """

    url: str
    database: str
    file: Path | None = None
    outage: Callable[[], None] | None = None
    events: Counter[str] = field(default_factory=Counter)


@contextlib.contextmanager
def arrangements(name: str, folder: Path) -> Iterator[Arrangement]:
    """Set an arrangement up by its name."""
    if name in ("sqlite", "journal"):
        file = folder / f"study.{'db' if name == 'sqlite' else 'journal'}"
        yield Arrangement(str(file), str(file), file)
        return
    with running_server(folder) as server:
        if name == "postgres":
            yield Arrangement(server.url, server.url, outage=lambda: pause(server.stop, server.start))
            return
        with running_proxy(server.url) as proxy:
            yield Arrangement(proxy.url, server.url, outage=lambda: pause(proxy.stop, proxy.start))


def pause(stop: Callable[[], None], start: Callable[[], None]) -> None:
    stop()
    time.sleep(OUTAGE)
    start()


# ---------------------------------------------------------------------- workers


def run_worker(url: str, trials: int, ledger: Path, limit: int | None) -> None:
    """Run trials until the study has its total; ends with exit code 3 if the storage fails."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    account = Account(ledger)

    def objective(config: Mapping[str, Any]) -> float:
        account.note(config)
        time.sleep(0.02)
        return PROBLEM.objective(config)

    try:
        with storage_at(url) as storage:
            work(open_study(storage, STUDY, PROBLEM.space, seed=0), Task(objective, PROBLEM.space), total=trials)
    except AddTreeError:
        os._exit(3)
    os._exit(0)


@dataclass
class Crew:
    """The workers of one arrangement, and what happens to them."""

    arrangement: Arrangement
    trials: int
    workers: int
    ledger: Path
    rng: random.Random
    alive: list[ForkProcess] = field(default_factory=list)

    def start(self, limit: int | None = None) -> None:
        """Start one more worker."""
        process = FORK.Process(target=run_worker, args=(self.arrangement.url, self.trials, self.ledger, limit))
        process.start()
        self.alive.append(process)

    def trouble(self) -> None:
        """Let something happen that happens to real studies."""
        file, outage = self.arrangement.file, self.arrangement.outage
        event = self.rng.choice(["kill", "kill", "restart", "full disk" if file is not None else "outage"])
        self.arrangement.events[event] += 1
        if event == "kill" and self.alive:
            self.rng.choice(self.alive).kill()
        elif event == "restart":
            for process in self.alive:
                process.kill()
        elif file is not None and file.exists():
            self.start(limit=file.stat().st_size + self.rng.randrange(ROOM))
        elif outage is not None:
            outage()

    def fill_up(self) -> bool:
        """Start workers until there are as many as wanted; returns whether the study has its trials."""
        ended = [process for process in self.alive if not process.is_alive()]
        self.alive = [process for process in self.alive if process.is_alive()]
        if any(process.exitcode == 0 for process in ended):
            return True
        for _ in range(self.workers - len(self.alive)):
            self.start()
        return False


def soak(name: str, trials: int, workers: int, seed: int, printing: Lock) -> None:
    """Run one arrangement in a process of its own, which ends with exit code 1 unless the account balances."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with arrangements(name, folder) as arrangement:
            account = Account(folder / "ledger")
            crew = Crew(arrangement, trials, workers, folder / "ledger", random.Random(seed))
            with storage_at(arrangement.database) as storage:  # the workers inherit what this imports
                # Without noise, no configuration may be evaluated twice.
                open_study(storage, STUDY, PROBLEM.space, seed=0, goals=Goals(noise={VALUE: 0.0}))
            start, due = time.monotonic(), EVALUATIONS[0]
            while not crew.fill_up():
                time.sleep(0.1)
                if due <= account.n_noted() < LAST * trials:
                    crew.trouble()
                    due = account.n_noted() + crew.rng.randrange(*EVALUATIONS)
            for process in crew.alive:
                process.join()
            happened = ", ".join(f"{n} x {event}" for event, n in sorted(arrangement.events.items()))
            with printing, storage_at(arrangement.database) as storage:
                took = time.monotonic() - start
                print(f"{name}: {trials} trials, {workers} workers, {took:.0f} s; {happened}", flush=True)
                study = optuna.load_study(study_name=STUDY, storage=storage)
                balanced = account.balances(study, trials, PROBLEM.objective)
    if not balanced:
        raise SystemExit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ["sqlite", "journal", "postgres", "grpc"]
    parser.add_argument("--trials", type=int, default=10_000, help="of all arrangements together")
    parser.add_argument("--workers", type=int, default=4, help="of each arrangement")
    parser.add_argument("--arrangements", nargs="+", choices=names, default=names)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    each = options.trials // len(options.arrangements)
    printing = FORK.Lock()
    processes = [
        FORK.Process(target=soak, args=(name, each, options.workers, options.seed, printing))
        for name in options.arrangements
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        raise SystemExit("an account does not balance")


if __name__ == "__main__":
    main()
