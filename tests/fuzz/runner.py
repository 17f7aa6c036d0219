"""Runs cases under limits of time and memory, and counts the outcomes."""

import logging
import resource
import signal
import time
import warnings
from collections import Counter
from contextlib import contextmanager

from addtree.support.processes import worker_pool
from tests.fuzz.targets import TARGETS, mutated

MAX_SECONDS = 5  # Processor time of one case.
MAX_BYTES = 2**30  # Memory of one case, besides that of the process.
BATCH = 250  # Cases that one process runs before its results are counted.


class TooSlowError(Exception):
    """A case took more than `MAX_SECONDS`."""


def run_case(name, seed, case):
    """The outcome of a case: "refused", "works", or what went wrong."""
    target = TARGETS[name]
    content, document = mutated(target, seed, case)
    try:
        target.use(content, document)
    except target.refusal as error:
        return "refused" if str(error) else "a refusal without a message"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return "works"


def run_batch(name, seed, first, count):
    """Outcomes of cases by number, the slowest case in processor seconds, and the peak memory of the process in MB."""
    logging.getLogger("addtree").addHandler(logging.NullHandler())
    logging.getLogger("addtree").propagate = False
    TARGETS[name].documents()
    outcomes, slowest = {}, 0.0
    with limits(), warnings.catch_warnings():
        warnings.simplefilter("error")
        for case in range(first, first + count):
            start = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
            try:
                outcomes[case] = run_case(name, seed, case)
            except TooSlowError:
                outcomes[case] = "too slow"
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            slowest = max(slowest, time.process_time() - start)
    return outcomes, slowest, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def limits():
    """Inside the block, an allocation beyond the limit raises MemoryError, and a timer raises TooSlowError."""

    def too_slow(*_):
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, too_slow)
    with open("/proc/self/statm") as file:
        present = int(file.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (present + MAX_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, before)


def run(names, *, count, seed, workers):
    """Run `count` cases, shared among the targets; print the counts, and return the cases that went wrong."""
    share = -(-count // len(names))
    jobs = [(name, seed, first, min(BATCH, share - first)) for name in names for first in range(0, share, BATCH)]
    wrong = {}
    counts, slowest, peak = Counter(), Counter(), Counter()
    with worker_pool(workers) as pool:
        for job, (outcomes, seconds, memory) in zip(jobs, pool.map(run_batch, *zip(*jobs, strict=True)), strict=True):
            name = job[0]
            slowest[name], peak[name] = max(slowest[name], seconds), max(peak[name], memory)
            for case, outcome in outcomes.items():
                fine = outcome in ("works", "refused")
                counts[name, outcome if fine else "wrong"] += 1
                if not fine:
                    wrong[name, case] = outcome
                    print(f"{name} {case}: {outcome}", flush=True)
    print("\n| target | cases | refused | works | wrong | slowest, s | peak, MB |\n|---|---|---|---|---|---|---|")
    for name in names:
        refused, working, failing = (counts[name, key] for key in ("refused", "works", "wrong"))
        total = refused + working + failing
        print(f"| {name} | {total} | {refused} | {working} | {failing} | {slowest[name]:.1f} | {peak[name]:.0f} |")
    return wrong
