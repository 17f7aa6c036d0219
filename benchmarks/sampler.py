"""What AddTreeSampler finds and costs inside Optuna, compared with the native optimizer.

python benchmarks/sampler.py             everything that docs/optuna.md claims
python benchmarks/sampler.py quality     median log10 distance to the optimum of the paper's function
python benchmarks/sampler.py overhead    time per trial around n = 100
python benchmarks/sampler.py growth      time per trial, and in the encoding of trials, as the study grows
python benchmarks/sampler.py border      distance to the border of a feasible region after 30 trials
python benchmarks/sampler.py fixed       what trials find in which the user fixed some parameters
python benchmarks/sampler.py dynamic     objectives whose ranges depend on other parameters
python benchmarks/sampler.py living      studies whose code is edited after some trials
"""

from __future__ import annotations

import argparse
import cProfile
import logging
import pstats
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler, RandomSampler, TPESampler

from addtree import Optimizer, Space
from addtree.optuna import AddTreeSampler
from addtree.problems import synthetic

PROBLEM = synthetic()
SEEDS, BUDGET, MARKS = 10, 60, (20, 30, 60)
FIRST, LAST = 90, 110  # The cost is averaged over these trials.
SIZES, PROFILED = (100, 300, 1000), 20


def define_by_run(trial: optuna.Trial) -> float:
    """The paper's function as a user of Optuna would write it."""
    config: dict[str, Any] = {"x1": trial.suggest_categorical("x1", [0, 1])}
    choice, shared = ("x3", "r9") if config["x1"] else ("x2", "r8")
    config[shared] = trial.suggest_float(shared, 0, 1)
    config[choice] = trial.suggest_categorical(choice, [0, 1])
    leaf = f"x{4 + 2 * config['x1'] + config[choice]}"
    config[leaf] = trial.suggest_float(leaf, -1, 1)
    return PROBLEM.objective(config)


def values(method: str, seed: int) -> list[float]:
    if method == "native":
        optimizer = Optimizer(PROBLEM.space, seed=seed)
        for _ in range(BUDGET):
            trial = optimizer.ask()
            optimizer.tell(trial, PROBLEM.objective(trial.config))
        return [trial.value for trial in optimizer.trials if trial.value is not None]
    space: Space | None = PROBLEM.space if method == "space=" else None
    study = optuna.create_study(sampler=AddTreeSampler(space, seed=seed))
    study.optimize(define_by_run, n_trials=BUDGET)
    return [trial.value for trial in study.trials if trial.value is not None]


def quality() -> None:
    print(f"log10 distance to the optimum of the paper's function, median of {SEEDS} seeds")
    print("method            " + "".join(f"{mark:>8}" for mark in MARKS) + "   worst at the end")
    for method in ("native", "space=", "define-by-run"):
        best = np.array([np.minimum.accumulate(values(method, seed)) for seed in range(SEEDS)])
        distance = np.log10(np.maximum(best - PROBLEM.optimum, 1e-16))
        row = "".join(f"{np.median(distance[:, mark - 1]):8.2f}" for mark in MARKS)
        print(f"{method:<18}{row}{distance[:, -1].max():11.2f}", flush=True)


def overhead() -> None:
    """The methods take turns in one run, so that the load of the machine affects all of them alike."""
    optimizer = Optimizer(PROBLEM.space, seed=0)
    declared, inferred = (optuna.create_study(sampler=AddTreeSampler(space, seed=0)) for space in (PROBLEM.space, None))
    spent: dict[str, list[float]] = {"native": [], "space=": [], "define-by-run": []}
    for _ in range(LAST):
        start = time.perf_counter()
        trial = optimizer.ask()
        optimizer.tell(trial, PROBLEM.objective(trial.config))
        spent["native"].append(time.perf_counter() - start)
        for name, study in (("space=", declared), ("define-by-run", inferred)):
            start = time.perf_counter()
            study.optimize(define_by_run, n_trials=1)
            spent[name].append(time.perf_counter() - start)
    print(
        f"\nms per trial around n = 100 (mean and median of trials {FIRST} to {LAST}, one process, in-memory storage)"
    )
    base = np.array(spent["native"][FIRST:])
    for name, times in spent.items():
        t = np.array(times[FIRST:])
        ratios = f"{t.mean() / base.mean():6.2f} x {np.median(t) / np.median(base):6.2f} x"
        print(f"{name:<18}{1e3 * t.mean():8.1f}{1e3 * np.median(t):8.1f}   {ratios}")


def growth() -> None:
    """Random trials fill the study; then the sampler suggests a few, under the profiler."""
    print(f"\nms per define-by-run trial after n random ones, under the profiler: {PROFILED} trials each")
    print("n            whole   encoding")
    for n in SIZES:
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        study.optimize(define_by_run, n_trials=n)
        study.sampler = AddTreeSampler(seed=0)
        study.optimize(define_by_run, n_trials=1)  # reads the study and fits
        profile = cProfile.Profile(time.process_time)
        profile.runcall(study.optimize, define_by_run, n_trials=PROFILED)
        stats: Any = pstats.Stats(profile)
        encoding = [found[3] for (_, _, name), found in stats.stats.items() if name == "encode" and found[3] > 0]
        print(
            f"{n:<8}{1e3 * stats.total_tt / PROFILED:10.1f}{1e3 * max(encoding, default=0) / PROFILED:11.2f}",
            flush=True,
        )


def border() -> None:
    """Minimise x on [0, 1] where only x >= 0.5 is feasible: the optimum is at the border."""
    distances = []
    for seed in range(SEEDS):
        sampler = AddTreeSampler(seed=seed, constraints_func=lambda trial: [0.5 - trial.params["x"]])
        study = optuna.create_study(sampler=sampler)
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=30)
        distances.append(min(trial.params["x"] for trial in study.trials if trial.params["x"] >= 0.5) - 0.5)
    print(f"\ndistance to the border of the feasible region after 30 trials, {SEEDS} seeds")
    print(f"median {np.median(distances):.4f}, largest {max(distances):.4f}")


FREE, FIXED_TRIALS = 30, 10  # Free trials, and trials with fixed parameters after them.
FIXED: tuple[dict[str, Any], ...] = ({"x1": 1}, {"x1": 1, "x3": 1}, {"x1": 1, "x3": 0, "x6": 0.5}, {"x1": 0, "r8": 0.9})


def fixed() -> None:
    """Free trials, then trials that a user enqueued with some of their parameters.

    The first three are in branches that are worse than the best one, the last has a bad value of a parameter. All
    options on the way are given, because TPE does not infer them.
    """
    print(f"\nbest of {FIXED_TRIALS} partly fixed trials after {FREE} free ones, mean of {SEEDS} seeds")
    print(f"{'fixed':<30}" + "".join(f"{method:>18}" for method in FIXED_METHODS) + "   seeds won against TPE")
    for given in FIXED:
        best = {
            method: np.array([_best_of_fixed(make(seed), given) for seed in range(SEEDS)])
            for method, make in FIXED_METHODS.items()
        }
        won = [int(np.sum(best[method] < best["TPE"])) for method in ("space=", "define-by-run")]
        means = "".join(f"{np.mean(found):18.4f}" for found in best.values())
        print(f"{given!s:<30}{means}   {won[0]} and {won[1]}", flush=True)


FIXED_METHODS: dict[str, Callable[[int], BaseSampler]] = {
    "TPE": lambda seed: TPESampler(seed=seed),
    "TPE multivariate": lambda seed: TPESampler(seed=seed, multivariate=True, group=True),
    "space=": lambda seed: AddTreeSampler(PROBLEM.space, seed=seed),
    "define-by-run": lambda seed: AddTreeSampler(seed=seed),
}


def _best_of_fixed(sampler: BaseSampler, given: dict[str, Any]) -> float:
    study = optuna.create_study(sampler=sampler)
    study.optimize(define_by_run, n_trials=FREE)
    for _ in range(FIXED_TRIALS):
        study.enqueue_trial(given)
    study.optimize(define_by_run, n_trials=FIXED_TRIALS)
    return min(trial.value for trial in study.trials[FREE:] if trial.value is not None)


def layers(trial: optuna.Trial) -> float:
    """A range from zero to another parameter. The optimum is n = 4, x = 2.6."""
    n = trial.suggest_int("n", 1, 6)
    x = trial.suggest_float("x", 0, n)
    return (n - 4) ** 2 / 10 + (x - 2.6) ** 2


def rates(trial: optuna.Trial) -> float:
    """Learning rates with min_lr <= max_lr. The optimum is 3e-2 and 1e-4."""
    largest = trial.suggest_float("max_lr", 1e-4, 1, log=True)
    least = trial.suggest_float("min_lr", 1e-6, largest, log=True)
    return float(np.log10(largest / 3e-2) ** 2 + np.log10(least / 1e-4) ** 2 / 4)


def leaves(trial: optuna.Trial) -> float:
    """A tree with at most 2**depth leaves. The optimum is a depth of 6, 21 leaves and a share of 0.7."""
    depth = trial.suggest_int("depth", 1, 8)
    n = trial.suggest_int("leaves", 2, 2**depth)
    share = trial.suggest_float("share", 0.1, 1)
    return (depth - 6) ** 2 / 20 + float(np.log2(n / 21) ** 2) / 4 + (share - 0.7) ** 2


def interval(trial: optuna.Trial) -> float:
    """An interval with b >= a. The optimum is 0.3 and 0.35, a narrow one."""
    a = trial.suggest_float("a", 0, 1)
    b = trial.suggest_float("b", a, 1)
    return 10 * (a - 0.3) ** 2 + 20 * (b - a - 0.05) ** 2


def budgets(trial: optuna.Trial) -> float:
    """Shares of a budget that two of three kinds of models split. The optimum is the kind "b" with 0.5 and 0.2."""
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    first = trial.suggest_float("first", 0, 1)
    if kind == "c":
        return 0.3 + (first - 0.4) ** 2
    second = trial.suggest_float("second", 0, 1 - first)
    return 0.2 * (kind == "a") + 3 * (first - 0.5) ** 2 + 3 * (second - 0.2) ** 2


DYNAMIC: tuple[Callable[[optuna.Trial], float], ...] = (layers, rates, leaves, interval, budgets)


def dynamic_values(sampler: BaseSampler, objective: Callable[[optuna.Trial], float]) -> tuple[float, int]:
    """The best value of a study of an objective with dynamic ranges, and the number of its duplicates."""
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=BUDGET)
    distinct = {tuple(sorted(trial.params.items())) for trial in study.trials}
    return study.best_value, BUDGET - len(distinct)


def dynamic() -> None:
    """All optima have the value zero, and none of them is at the end of a range."""
    print(f"\ndynamic ranges: best value after {BUDGET} trials, mean of {SEEDS} seeds, and duplicates in all of them")
    print(f"{'objective':<12}{'AddTreeSampler':>16}{'TPE':>12}{'random':>12}   duplicates   seeds won against TPE")
    for objective in DYNAMIC:
        ours = [dynamic_values(AddTreeSampler(seed=seed), objective) for seed in range(SEEDS)]
        tpe, random = (
            np.array([dynamic_values(make(seed=seed), objective)[0] for seed in range(SEEDS)])
            for make in (TPESampler, RandomSampler)
        )
        best = np.array([value for value, _ in ours])
        row = f"{best.mean():16.2e}{tpe.mean():12.2e}{random.mean():12.2e}"
        repeated, won = sum(n for _, n in ours), int(np.sum(best < tpe))
        print(f"{objective.__name__:<12}{row}{repeated:13d}{won:12d}", flush=True)


BEFORE, AFTER = 30, (5, 10, 20)  # Trials before the edit, and marks after it.


@dataclass(frozen=True)
class Code:
    """Define-by-run code with a rate, a momentum and three models. The optimum is 0, with the rate 0.02 and "mlp"."""

    rate: tuple[float, float, bool] = (1e-4, 1.0, True)  # the lower end, the upper end, and whether the scale is log
    models: tuple[str, ...] = ("svm", "forest", "mlp")
    layers: int = 3
    momentum: bool = True

    def __call__(self, trial: optuna.Trial) -> float:
        low, high, log = self.rate
        rate = trial.suggest_float("rate", low, high, log=log)
        loss = 0.3 * float(np.log10(rate / 0.02)) ** 2
        loss += (trial.suggest_float("momentum", 0, 1) - 0.8) ** 2 if self.momentum else 0.04
        model = trial.suggest_categorical("model", self.models)
        if model == "svm":
            return loss + 0.3 + (trial.suggest_float("C", 0, 1) - 0.4) ** 2
        if model == "forest":
            return loss + 0.2 + 0.02 * abs(trial.suggest_int("depth", 1, 20) - 12)
        n = trial.suggest_int("layers", 1, self.layers)
        widths = [trial.suggest_float(f"width_{i}", 0, 1) for i in range(n)]
        return (
            loss + 0.1 * abs(n - 2) + float(np.mean([(width - 0.3 - 0.2 * i) ** 2 for i, width in enumerate(widths)]))
        )


EDITS: dict[str, tuple[Code, Code]] = {
    "a range is widened": (Code(rate=(0.1, 1.0, True)), Code()),
    "a range is narrowed": (Code(), Code(rate=(1e-3, 0.1, True))),
    "a range moves": (Code(rate=(0.03, 1.0, True)), Code(rate=(1e-3, 0.1, True))),
    "linear becomes log": (Code(rate=(1e-4, 1.0, False)), Code()),
    "an option is added": (Code(models=("svm", "forest")), Code()),
    "an option is removed": (Code(), Code(models=("svm", "mlp"))),
    "more layers": (Code(layers=1), Code()),
    "fewer layers": (Code(layers=5), Code(layers=2)),
    "a parameter is added": (Code(momentum=False), Code()),
    "a parameter is removed": (Code(), Code(momentum=False)),
}


def values_after(before: Code | None, after: Code, seed: int) -> list[float]:
    """The best value of the trials of the code `after` so far, if trials of the code `before` preceded them."""
    study = optuna.create_study(sampler=AddTreeSampler(seed=seed))
    if before is not None:
        earlier = optuna.create_study(sampler=AddTreeSampler(seed=seed))
        earlier.optimize(before, n_trials=BEFORE)
        study.add_trials(earlier.trials)
    first = len(study.trials)
    study.optimize(after, n_trials=max(AFTER))
    found = [trial.value for trial in study.trials[first:] if trial.value is not None]
    return [float(value) for value in np.minimum.accumulate(found)]


def living() -> None:
    """After an edit, a study with earlier trials is compared with a fresh one."""
    logging.getLogger("addtree").setLevel(logging.ERROR)
    print(f"\nedited code: best value of new trials, after {BEFORE} trials of the code before / without them (fresh)")
    marks = "".join(f"{f'after {mark}':>20}" for mark in AFTER)
    print(f"{'edit':<26}{marks}   seeds of {SEEDS} in which it is better at {AFTER[1]}")
    for name, (before, after) in EDITS.items():
        kept, fresh = (np.array([values_after(old, after, seed) for seed in range(SEEDS)]) for old in (before, None))
        cells = [f"{kept[:, mark - 1].mean():.4f} / {fresh[:, mark - 1].mean():.4f}" for mark in AFTER]
        won = int(np.sum(kept[:, AFTER[1] - 1] < fresh[:, AFTER[1] - 1]))
        print(f"{name:<26}" + "".join(f"{cell:>20}" for cell in cells) + f"   {won}", flush=True)


PARTS = {
    "quality": quality,
    "overhead": overhead,
    "growth": growth,
    "border": border,
    "fixed": fixed,
    "dynamic": dynamic,
    "living": living,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=PARTS, help="the part to run; all of them if none is named")
    what = parser.parse_args().what
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    for name in PARTS if what is None else (what,):
        PARTS[name]()
