"""Suggestions with 1, 2 and 4 BLAS threads: are they the same, and what processor time do they take?

    python benchmarks/threads.py [N] [REPETITIONS]
    python -m benchmarks.revision COMMIT benchmarks/threads.py [N] [REPETITIONS]

N suggestions (60 by default) on the paper's function, in a process of its own for each number of threads. The numbers
take turns, and the time is the least of the repetitions (5 by default). The last line is the cost of limiting BLAS to
one thread for one suggestion; earlier commits have no such limit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

import addtree as at
from addtree.problems import synthetic

THREADS = (1, 2, 4)


def suggestions(n: int) -> tuple[float, list[dict[str, Any]]]:
    """Processor seconds of n asks and tells, and the configurations."""
    problem, start = synthetic(), time.process_time()
    optimizer = at.Optimizer(problem.space, seed=0)
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, problem.objective(trial.config))
    return time.process_time() - start, [trial.config for trial in optimizer.trials]


def with_threads(threads: int, n: int) -> tuple[float, list[dict[str, Any]]]:
    """The same in a process with that number of BLAS threads."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    command = [sys.executable, __file__, "--child", str(n)]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    seconds, configs = json.loads(out)
    return seconds, configs


def overhead(repetitions: int = 100_000) -> float:
    """Microseconds to enter and leave the limit."""
    from addtree.support.threads import one_blas_thread

    with one_blas_thread():  # finds the libraries
        pass
    start = time.process_time()
    for _ in range(repetitions):
        with one_blas_thread():
            pass
    return 1e6 * (time.process_time() - start) / repetitions


def main(n: int = 60, repetitions: int = 5) -> None:
    seconds: dict[int, list[float]] = {threads: [] for threads in THREADS}
    found: dict[int, list[dict[str, Any]]] = {}
    for _ in range(repetitions):
        for threads in THREADS:
            spent, found[threads] = with_threads(threads, n)
            seconds[threads].append(spent)
    print(f"{n} suggestions\n\n| BLAS threads | processor seconds | ratio | first that differs |\n|---|---|---|---|")
    for threads in THREADS:
        least, one = min(seconds[threads]), min(seconds[1])
        differing = [i for i, pair in enumerate(zip(found[1], found[threads], strict=True), 1) if pair[0] != pair[1]]
        print(f"| {threads} | {least:.2f} | {least / one:.2f} | {differing[0] if differing else 'none'} |")
    try:
        print(f"\nentering and leaving the limit: {overhead():.1f} µs")
    except ImportError:
        print("\nno limit")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        json.dump(suggestions(int(sys.argv[2])), sys.stdout)
    else:
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("n", nargs="?", type=int, default=60)
        parser.add_argument("repetitions", nargs="?", type=int, default=5)
        main(**vars(parser.parse_args()))
