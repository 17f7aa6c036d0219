"""Many workers on one study: what they read, what they cost, and whether a crowd of them loses anything.

    python -m benchmarks.workers reads   messages, bytes and processor time per trial beside 63 other workers
    python -m benchmarks.workers crowd   200 workers, 2,000 trials of 10 s, 20 of the workers killed
    python -m benchmarks.workers large   a new worker on a study of 10,000 trials, in SQLite and in a journal

The first two use PostgreSQL behind a gRPC proxy on this machine, and need addtree[cli,grpc,postgres].
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna

from addtree import problems
from addtree.run.goals import VALUE, Goals
from addtree.study.storage import open_storage, storage_at
from addtree.study.studies import open_study
from addtree.study.task import Task, suggest_config
from addtree.study.tickets import claim
from addtree.study.worker import work
from benchmarks.support.account import Account
from benchmarks.support.postgres import Server, running_server
from benchmarks.support.proxy import Proxy, running_proxy

_PROBLEM = problems.synthetic()
_STEADY = 10  # Trials of a worker over which the steady state is averaged.
_UNLIMITED = 10**6  # A total that no worker reaches.
_MEMORY_PERIOD = 15.0  # Seconds between two measurements of the memory of all workers, which take processor time.


@contextmanager
def arrangement(folder: Path) -> Iterator[tuple[Server, Proxy]]:
    """PostgreSQL behind a gRPC proxy that is ready."""
    with running_server(folder) as server, running_proxy(server.url) as proxy:
        subprocess.run(
            [sys.executable, "-m", "addtree", "status", "--storage", proxy.url],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        yield server, proxy


def opened(url: str, name: str) -> optuna.Study:
    """The study of this name, through a connection of its own."""
    return open_study(open_storage(url), name, _PROBLEM.space, seed=0)


# ---------------------------------------------------------------------- reads


class CountingStub:
    """Counts the messages that pass between a worker and the proxy, and their bytes."""

    def __init__(self, study: optuna.Study) -> None:
        storage: Any = study._storage
        self._stub = storage._stub
        storage._stub = storage._cache.grpc_client = self
        self.calls: Counter[str] = Counter()
        self.n_bytes = 0

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        method = getattr(self._stub, name)

        def call(request: Any) -> Any:
            reply = method(request)
            self.calls[name] += 1
            self.n_bytes += request.ByteSize() + reply.ByteSize()
            return reply

        return call


def run_with_optuna(study: optuna.Study, n: int) -> None:
    """Run trials as a user's own code does."""
    study.optimize(lambda trial: _PROBLEM.objective(suggest_config(trial, _PROBLEM.space)), n_trials=n)


def run_with_tickets(study: optuna.Study, n: int) -> None:
    """Run trials as `addtree run` does."""
    left = iter(range(n - 1, -1, -1))
    task = Task(_PROBLEM.objective, _PROBLEM.space)
    work(study, task, total=_UNLIMITED, should_stop=lambda study: not next(left))


def _with_sampler(study: optuna.Study, *, tpe: bool) -> optuna.Study:
    """The study with Optuna's sampler if asked for; else with ours, which it has already."""
    if tpe:
        study.sampler = optuna.samplers.TPESampler(seed=0, constant_liar=True)
    return study


def measure(name: str, proxy: Proxy, run: Callable[[optuna.Study, int], None], *, tpe: bool) -> None:
    """Print what one worker costs: its first trial, which reads the whole study, and those that follow."""
    study = _with_sampler(opened(proxy.url, name), tpe=tpe)
    stub = CountingStub(study)
    times = [(time.process_time(), _processor_seconds(proxy.pid))]
    for n in (1, _STEADY):
        stub.calls.clear()
        stub.n_bytes = 0
        run(study, n)
        times.append((time.process_time(), _processor_seconds(proxy.pid)))
    (start, start_proxy), (steady, steady_proxy) = (
        [1000 * (b - a) for a, b in zip(times[i], times[i + 1], strict=True)] for i in (0, 1)
    )
    reads, messages = stub.calls["GetTrials"] / _STEADY, stub.calls.total() / _STEADY
    print(
        f"{name:24s} start {start:5.0f} + {start_proxy:4.0f} ms, steady {steady / _STEADY:4.0f} + "
        f"{steady_proxy / _STEADY:4.0f} ms, {reads:4.1f} reads, {messages:5.1f} messages, "
        f"{stub.n_bytes / _STEADY / 1000:4.0f} kB per trial",
        flush=True,
    )


def _processor_seconds(pid: int) -> float:
    """Processor time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def reads(sizes: list[int], running: int) -> None:
    """Compare the samplers on studies with `running` trials that other workers run."""
    print(f"{running} other trials run; processor time of the worker + of the proxy", flush=True)
    variants: Mapping[str, tuple[Callable[[optuna.Study, int], None], bool]] = {
        "TPE, constant liar": (run_with_optuna, True),
        "AddTreeSampler": (run_with_optuna, False),
        "addtree run": (run_with_tickets, False),
    }
    with tempfile.TemporaryDirectory() as folder, arrangement(Path(folder)) as (server, proxy):
        for size in sizes:
            finished = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
            run_with_optuna(finished, size)
            for label, (run, tpe) in variants.items():
                name = f"{label}, {size}"
                study = opened(server.url, name)
                study.add_trials(finished.trials)
                for _ in range(running):
                    trial = claim(study, _UNLIMITED)
                    assert trial is not None
                    suggest_config(trial, _PROBLEM.space)
                run(_with_sampler(study, tpe=tpe), 1)  # the other workers have fitted the model
                measure(name, proxy, run, tpe=tpe)


# ---------------------------------------------------------------------- large


def join(url: str, started: float) -> None:
    """Join a study as a new worker, and print when it was ready, what a trial costs, and the memory of this process."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = opened(url, "large")
    run_with_tickets(study, 1)
    ready, steady = time.monotonic() - started, time.process_time()
    run_with_tickets(study, _STEADY)
    each = (time.process_time() - steady) / _STEADY
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(
        f"{url.rsplit('.', 1)[1]:8s} first trial after {ready:.1f} s ({steady:.1f} s of processor time, imports "
        f"included), later ones {1000 * each:.0f} ms of processor time each, {megabytes:.0f} MB",
        flush=True,
    )


def large(size: int, files: Sequence[str]) -> None:
    """Let two workers join a study of that size, one after the other; the second one finds a fit of the first."""
    spawn = multiprocessing.get_context("spawn")
    finished = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    run_with_optuna(finished, size)
    print(f"{size} finished trials; the second worker finds what the first one learned", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in files:
            url = str(Path(folder) / name)
            opened(url, "large").add_trials(finished.trials)
            for _ in range(2):
                process = spawn.Process(target=join, args=(url, time.monotonic()))
                process.start()
                process.join()


# ---------------------------------------------------------------------- crowd


def work_as_one_of_many(url: str, trials: int, seconds: float, ledger: Path) -> None:
    """A worker whose objective sleeps, and notes each evaluation outside of the storage."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    account = Account(ledger)

    def objective(config: Mapping[str, Any]) -> float:
        account.note(config)
        time.sleep(seconds)
        return _PROBLEM.objective(config)

    with storage_at(url) as storage:
        goals = Goals(noise={VALUE: 0.0})  # No configuration may be run twice.
        study = open_study(storage, "crowd", _PROBLEM.space, seed=0, goals=goals)
        work(study, Task(objective, _PROBLEM.space), total=trials)


def crowd(workers: int, trials: int, seconds: float, kills: int) -> bool:
    """Run a crowd of workers and kill some of them; returns whether the account balances."""
    fork = multiprocessing.get_context("fork")  # the workers share the pages of what is imported
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as folder, arrangement(Path(folder)) as (server, proxy):
        ledger = Path(folder) / "ledger"
        start = time.monotonic()
        arguments = (proxy.url, trials, seconds, ledger)
        alive = [fork.Process(target=work_as_one_of_many, args=arguments) for _ in range(workers)]
        for process in alive:
            process.start()
        account, peak, measured = Account(ledger), 0.0, start
        due = sorted(rng.randrange(trials // 10, max(trials * 9 // 10, trials // 10 + 1)) for _ in range(kills))
        while alive:
            time.sleep(1)
            if time.monotonic() - measured > _MEMORY_PERIOD:
                peak, measured = max(peak, sum(_megabytes(p.pid) for p in alive)), time.monotonic()
            while due and account.n_noted() >= due[0]:
                due.pop(0)
                rng.choice(alive).kill()
            ended = [process for process in alive if not process.is_alive()]
            alive = [process for process in alive if process.is_alive()]
            for process in ended:
                if process.exitcode:  # killed, or the storage did not answer in time
                    alive.append(fork.Process(target=work_as_one_of_many, args=arguments))
                    alive[-1].start()
        took = time.monotonic() - start
        memory, used = _megabytes(proxy.pid), _processor_seconds(proxy.pid)
        print(
            f"{workers} workers, {trials} trials of {seconds:g} s, {kills - len(due)} killed: {took:.0f} s; at most "
            f"{peak:.0f} MB in all workers, {memory:.0f} MB and {used:.0f} s in the proxy"
        )
        with storage_at(server.url) as storage:
            study = optuna.load_study(study_name="crowd", storage=storage)
            return account.balances(study, trials, _PROBLEM.objective)


def _megabytes(pid: int | None) -> float:
    """Memory of a process, of which each of n processes that share a page has one n-th; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["reads", "crowd", "large"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[400, 2000], help="reads: finished trials")
    parser.add_argument("--workers", type=int, help="reads: 64 by default; crowd: 200")
    parser.add_argument("--trials", type=int, help="crowd: 2,000 by default; large: 10,000")
    parser.add_argument("--files", nargs="+", default=["study.db", "study.journal"], help="large: storages")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if options.part == "reads":
        reads(options.sizes, (options.workers or 64) - 1)
    elif options.part == "large":
        large(options.trials or 10_000, options.files)
    elif not crowd(options.workers or 200, options.trials or 2000, options.seconds, options.kills):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
