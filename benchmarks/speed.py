"""The cost of a suggestion, against peers and as problems grow.

    OMP_NUM_THREADS=1 python -m benchmarks.speed [--parts start peers ...] [--methods ...] [--seeds 3]

Milliseconds are those of one run on one machine with one BLAS thread, so compare ratios. They are processor time: on an
idle machine that is the time that passes, and on a busy machine it is disturbed less. A suggestion is one ask and one
tell, without the time of the objective. Parts:

    start         seconds to import the package, against what it is built on
    peers         a suggestion at n = 80 of the paper's function and n = 100 of iaml_super, against other optimizers
    run           100 evaluations of the paper's function, all optimizer time
    observations  n = 20 .. 10,000 on iaml_super, with the peak memory of each
    vertices      trees of 7 .. 1023 vertices, 100 observations
    choices       2 .. 40 independent choices, 100 observations; and one choice of 40 options
    objectives    a suggestion at n = 100 of iaml_super with two objectives, against one and against Optuna's GP sampler
    stages        the shares of the stages in the time of a suggestion
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import addtree as at
from addtree.model.fit import fit_theta
from addtree.model.gp import Posterior
from addtree.search.ascent import ascend
from addtree.search.candidates import candidates
from addtree.search.decomposed import maximize_sum
from addtree.support.processes import worker_pool
from benchmarks import peers, tasks
from benchmarks.tasks import several
from benchmarks.tasks.task import MultiTask

IAML = "yahpo/iaml_super-1489-mmce"  # A real problem with four learners and 28 parameters.
PAPER = "function/synthetic"  # The paper's function.
# These methods are timed on the paper's function only. A number limits the suggestions that are timed; the observations
# before them are random.
SLOW = {"botorch-hierarchical": 2, "optuna-gp-flat": None}
TWO = ("iaml_super", "1489", "mmce", "timetrain")  # A surrogate with two objectives.
FEW = 3  # Suggestions of the GP sampler that are timed with two objectives, because they take seconds.
clock = time.process_time
LATE = 20  # The cost "at n" is the mean of this many suggestions before n.
Objective = Callable[[Mapping[str, Any]], float]


def _available(name: str) -> bool:
    try:
        tasks.load(name)
    except tasks.MissingDataError:
        print(f"\n{name}: skipped, because ADDTREE_DATA names no folder with yahpo/ (see benchmarks/README.md)")
        return False
    return True


# ---------------------------------------------------------------------- start


def start_up(repetitions: int = 10) -> None:
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    print("\n| import | seconds, median | least |\n|---|---|---|")
    for module in ("numpy", "numpy, scipy.linalg.lapack, scipy.special", "addtree", "addtree, scipy.optimize"):
        command = [sys.executable, "-c", code.format(module)]
        seconds = [
            float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            for _ in range(repetitions)
        ]
        print(f"| {module} | {np.median(seconds):.2f} | {min(seconds):.2f} |", flush=True)


# ---------------------------------------------------------------------- peers


def timed(method: str, task: tasks.Task, n: int, seed: int, *, told: int = 0) -> list[float]:
    """Milliseconds of the suggestions of a run of n evaluations; the first `told` are random and not asked for."""
    session, rng, out = peers.start(method, task, seed), np.random.default_rng(seed), []
    for _ in range(told):
        sample = task.space.sample(rng)
        session.tell(sample, task.objective(sample))
    for _ in range(n - told):
        start = clock()
        config = session.ask()
        asked = clock() - start
        value = task.objective(config)
        start = clock()
        session.tell(config, value)
        out.append(1e3 * (asked + clock() - start))
    return out


def against_peers(name: str, n: int, methods: list[str], seeds: int) -> None:
    if not _available(name):
        return
    task = tasks.load(name)
    print(f"\n{name}, n = {n}: mean of the last {LATE} suggestions before it, and of all; median of {seeds} seeds")
    print("\n| method | ms | all, ms | addtree / it |\n|---|---|---|---|")
    rows: dict[str, list[tuple[float, float]]] = {}
    for seed in range(seeds):  # the methods take turns, so that another load of the machine disturbs them all
        for method in ["addtree", *methods]:
            few = SLOW.get(method)
            if few is not None and seed > 0:
                continue
            try:
                ms = timed(method, task, n, seed, told=0 if few is None else n - few)
            except ImportError as error:
                print(f"| {method} | not installed: {error} | | |")
                continue
            rows.setdefault(method, []).append((float(np.mean(ms[-LATE:])), float(np.mean(ms))))
    ours = np.median(rows["addtree"], axis=0)[0]
    for method, found in rows.items():
        late, every = np.median(found, axis=0)
        few = SLOW.get(method)
        note, mean = ("", f"{every:.1f}") if few is None else (f" ({few} suggestions, the rest told)", "")
        print(f"| {method}{note} | {late:.1f} | {mean} | {ours / late:.3g} |", flush=True)


def whole_run(seeds: int, n: int = 100) -> None:
    seconds = [1e-3 * sum(timed("addtree", tasks.load(PAPER), n, seed)) for seed in range(seeds)]
    print(f"\n{n} evaluations of the paper's function, all optimizer time: {np.median(seconds):.2f} s")


# ---------------------------------------------------------------------- growth


def bowl(config: Mapping[str, Any]) -> float:
    """A quadratic function of the active numbers."""
    return float(sum((v - 0.3) ** 2 for v in config.values() if isinstance(v, float)))


def tree(depth: int, name: str = "x") -> at.Space:
    """A perfect binary tree with a parameter in every vertex."""
    own: dict[str, Any] = {name: at.Real(0, 1)}
    if depth > 1:
        own[f"{name}?"] = at.Choice({o: tree(depth - 1, f"{name}{o}") for o in (0, 1)})
    return at.Space(own)


def choices(n: int) -> at.Space:
    """n independent binary choices with a parameter under each option: 2n vertices, 2^n paths."""
    return at.Space({f"c{i}": at.Choice({o: at.Space({f"x{i}{o}": at.Real(0, 1)}) for o in (0, 1)}) for i in range(n)})


def options(n: int) -> at.Space:
    """One choice of n options with two parameters in a row under each: 2n vertices, n paths."""

    def option(i: int) -> at.Space:
        return at.Space({f"x{i}": at.Real(0, 1), f"d{i}": at.Choice({0: at.Space({f"y{i}": at.Real(0, 1)})})})

    return at.Space(c=at.Choice({i: option(i) for i in range(n)}))


def problem(kind: str, size: int) -> tuple[at.Space, Objective, int]:
    """A space, an objective and a number of observations, by name, because a process is given names."""
    if kind == "observations":
        task = tasks.load(IAML)
        return task.space, task.objective, size
    build: dict[str, Callable[[int], at.Space]] = {"vertices": tree, "choices": choices, "options": options}
    return build[kind](size), bowl, 100


def peak() -> float:
    """The peak memory of this process in MB. `ru_maxrss` is the second choice: Linux counts the parent's peak in it."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(float(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def loaded(kind: str, size: int, suggestions: int) -> tuple[float, float, float]:
    """After n random observations: ms of the first suggestion, mean ms of the next, and the memory they add in MB."""
    import scipy.optimize  # noqa: F401 - the first fit would load it

    space, objective, n = problem(kind, size)
    rng, optimizer = np.random.default_rng(0), at.Optimizer(space, seed=0)
    for _ in range(n):
        config = space.sample(rng)
        optimizer.tell(config, objective(config))
    out = []
    before = peak()
    for _ in range(1 + suggestions):
        start = clock()
        trial = optimizer.ask()
        out.append(1e3 * (clock() - start))
        optimizer.tell(trial, objective(trial.config))
    return out[0], float(np.mean(out[1:])), peak() - before


def growth(title: str, kind: str, sizes: Mapping[int, int], suggestions: int) -> dict[int, float]:
    """Print a line per size, and return the mean milliseconds by size; `sizes` maps the size shown to the problem's."""
    print(
        f"\n| {title} | first suggestion, ms | mean of the next {suggestions}, ms | exponent | memory, MB |\n"
        + "|---" * 5
        + "|"
    )
    means: dict[int, float] = {}
    for shown, size in sizes.items():
        with worker_pool(1) as pool:  # each size has a process of its own, and so a peak of its own
            first, mean, memory = pool.submit(loaded, kind, size, suggestions).result()
        slope = f"{_exponent(means, shown, mean):.2f}" if means else ""
        print(f"| {shown} | {first:.0f} | {mean:.1f} | {slope} | {memory:.0f} |", flush=True)
        means[shown] = mean
    return means


def _exponent(means: Mapping[int, float], size: int, mean: float, since: int | None = None) -> float:
    """The exponent of a power law through the means at `since` (by default the last size) and at `size`."""
    since = list(means)[-1] if since is None else since
    return float(np.log(mean / means[since]) / np.log(size / since))


def many_observations() -> None:
    if not _available(IAML):
        return
    # 100 suggestions, so that refits have their usual share in the mean at every size
    means = growth("observations", "observations", {n: n for n in (20, 100, 250, 500, 1000, 2000, 10_000)}, 100)
    print(f"\nfrom 250 to 2000 observations: exponent {_exponent(means, 2000, means[2000], since=250):.2f}")


# ---------------------------------------------------------------------- several objectives


def several_objectives(seeds: int, n: int = 100) -> None:
    """Print the cost of a suggestion with one and with two objectives, median of the seeds."""
    scenario, instance, *targets = TWO
    try:
        two = several.surrogate(scenario, instance, targets)
    except tasks.MissingDataError as error:
        print(f"\nleft out: {error}")
        return
    one = replace(two, objectives=two.objectives[:1])
    found: dict[str, list[float]] = {}
    has_gp = several.GP in several.methods([several.GP])
    for seed in range(seeds):
        found.setdefault("one", []).append(_late(several.Native(one, seed), one, n, LATE))
        found.setdefault("two", []).append(_late(several.Native(two, seed), two, n, LATE))
        if has_gp:
            found.setdefault("GP", []).append(_late(several.Peer(several.GP, two, seed), two, n, FEW))
    ms = {key: float(np.median(values)) for key, values in found.items()}
    print(f"\n{'-'.join(TWO)}, n = {n}, median of {seeds} seeds:")
    print(f"one objective {ms['one']:.1f} ms, two {ms['two']:.1f} ms: {ms['two'] / ms['one']:.2f} times (wanted: 4)")
    if "GP" in ms:
        share = ms["two"] / ms["GP"]
        print(f"GPSampler, flattened, {FEW} suggestions: {ms['GP']:.0f} ms; addtree / it {share:.3f} (wanted: 0.2)")


def _late(session: several.Native | several.Peer, task: MultiTask, n: int, timed: int) -> float:
    """Mean milliseconds of the last suggestions before n evaluations; those before them are random and told."""
    for seed in range(n - timed):
        session.add_random(seed)
    seconds = 0.0
    for _ in range(timed):
        start = clock()
        config = session.ask()
        seconds += clock() - start
        values = task.evaluate(config)
        start = clock()
        session.tell(values)
        seconds += clock() - start
    return 1e3 * seconds / timed


# ---------------------------------------------------------------------- stages

STAGES: dict[Callable[..., Any], str] = {
    fit_theta: "fit of the hyperparameters",
    Posterior.from_data: "posterior from scratch",
    Posterior.condition: "posterior extended by new observations",
    candidates: "candidates",
    maximize_sum: "decomposed search",
    Posterior.predict: "scoring candidates",
    ascend: "gradient ascent",
}


def _place(function: Any) -> tuple[str, int, str]:
    """How a profile names a function: file, line, name."""
    code = function.__code__
    return code.co_filename, code.co_firstlineno, code.co_name


def stages(name: str, n: int) -> None:
    if not _available(name):
        return
    task, profile = tasks.load(name), cProfile.Profile(clock)
    optimizer = at.Optimizer(task.space, seed=0)
    for i in range(n):
        if i >= n - LATE:
            profile.enable()
        trial = optimizer.ask()
        profile.disable()
        optimizer.tell(trial, task.objective(trial.config))
    print(f"\n{name}, suggestions {n - LATE + 1} to {n}, under the profiler:\n\n| stage | share |\n|---|---|")
    stats: Any = pstats.Stats(profile)
    cumulative = {place: numbers[3] for place, numbers in stats.stats.items()}
    found = {stage: cumulative.get(_place(function), 0.0) / stats.total_tt for function, stage in STAGES.items()}
    for stage, share in sorted(found.items(), key=lambda item: -item[1]):
        print(f"| {stage} | {100 * share:.0f} % |")
    print(f"| the rest | {100 * (1 - sum(found.values())):.0f} % |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ["start", "peers", "run", "observations", "vertices", "choices", "objectives", "stages"]
    peer = ["optuna-tpe", "optuna-tpe-group", "optuna-gp-flat", "botorch-hierarchical"]
    parser.add_argument("--parts", nargs="+", default=parts, choices=parts)
    parser.add_argument("--methods", nargs="+", default=peer, choices=list(peers.METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        print("OMP_NUM_THREADS is not 1: timings are not comparable")
    if "start" in args.parts:
        start_up()
    if "peers" in args.parts:
        against_peers(PAPER, 80, args.methods, args.seeds)
        against_peers(IAML, 100, [method for method in args.methods if method not in SLOW], args.seeds)
    if "run" in args.parts:
        whole_run(args.seeds)
    if "observations" in args.parts:
        many_observations()
    if "vertices" in args.parts:
        growth("vertices of a binary tree", "vertices", {2**d - 1: d for d in (3, 5, 7, 9, 10)}, LATE)
    if "choices" in args.parts:
        growth("independent choices", "choices", {n: n for n in (2, 5, 10, 20, 40)}, LATE)
        growth("options of one choice, as many vertices", "options", {40: 40}, LATE)
    if "objectives" in args.parts:
        several_objectives(args.seeds)
    if "stages" in args.parts:
        stages(PAPER, 80)
        stages(IAML, 100)


if __name__ == "__main__":
    main()
