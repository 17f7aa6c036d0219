"""How well models predict configurations that they have not seen: `python -m benchmarks.prediction`.

Each model is fitted to n random configurations of a task and predicts 500 others. Measured are

    log density       mean log predictive density, in units of the standard deviation of the 500 values
    90 %, 95 %        share of the 500 values inside their central 90 % and 95 % intervals
    rank correlation  Spearman's correlation of the predicted means and the values
    CPU seconds       time of the fit and the prediction, on one core

The tasks are nine surrogates of real tuning runs, whose values are exact, and three tasks with noise, of which the
training data and the 500 values are noisy. Prints a table for each kind, and writes every measurement to a JSON file.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtr
from scipy.stats import rankdata

import addtree as at
from addtree._types import Array, Config
from addtree.model.marginal import Mixture
from addtree.support.files import write_text
from addtree.support.processes import worker_pool
from benchmarks import tasks
from benchmarks.run import with_data
from benchmarks.support.files import RESULTS

EXACT = (
    *("yahpo/iaml_super-40981-mmce", "yahpo/iaml_super-41146-logloss", "yahpo/iaml_super-1489-auc"),
    *("yahpo/rbv2_svm-1220-mmce", "yahpo/rbv2_svm-31-auc", "yahpo/rbv2_svm-41212-logloss"),
    *("yahpo/rbv2_xgboost-16-acc", "yahpo/rbv2_xgboost-40984-logloss", "yahpo/rbv2_xgboost-41143-auc"),
)
# Tasks with the standard deviation of their noise; that of the surrogate is a third of the spread of its values.
NOISY = {"yahpo/rbv2_svm-1220-mmce": (0.01,), "function/synthetic": (0.1, 0.3)}
HELD_OUT = 500  # Configurations that are predicted.
RESOLUTION = 0.01  # Every prediction is widened by this share of the spread, so that no single miss decides the mean.
TREES = 200  # Trees of the random forest.
RESTARTS = 2  # Starts of the flat Gaussian process besides the first; with none, it often takes all values for noise.


@dataclass(frozen=True)
class Case:
    """A task with noise of this standard deviation, in the units of its values."""

    task: str
    noise: float = 0.0


@dataclass(frozen=True)
class Scores:
    """How good predictions are (see the top of this file)."""

    log_density: float
    coverage_90: float
    coverage_95: float
    rank_correlation: float


@dataclass(frozen=True)
class Measurement:
    """One model, fitted to n configurations of a case."""

    case: Case
    seed: int
    n: int
    model: str
    scores: Scores
    seconds: float


# ---------------------------------------------------------------------- models


@dataclass(frozen=True)
class Data:
    """Training data, and the configurations to predict; `noisy` if predictions are to include the noise."""

    space: at.Space
    configs: Sequence[Config]
    y: Array
    held_out: Sequence[Config]
    noisy: bool


def addtree_gp(data: Data, **options: Any) -> Mixture:
    """`AddTreeGP`, as the mixture that its intervals come from."""
    gp = at.AddTreeGP(data.space).fit(data.configs, data.y, **options)
    standardised = gp.distribution(data.held_out, observed=data.noisy)
    return Mixture(gp.centre + gp.scale * standardised.mean, gp.scale**2 * standardised.variance)


def forest(data: Data) -> Mixture:
    """A random forest; variance between the trees plus mean variance inside their leaves."""
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(TREES, random_state=0).fit(flat(data.space, data.configs), data.y)
    X = flat(data.space, data.held_out)
    means = np.array([tree.predict(X) for tree in model.estimators_])
    within = np.array([tree.tree_.impurity[tree.apply(X)] for tree in model.estimators_])
    variance = means.var(axis=0) + np.maximum(within, 0.0).mean(axis=0)  # rounding makes some impurities negative
    return Mixture(means.mean(axis=0)[None], variance[None])


def flat_gp(data: Data) -> Mixture:
    """A Gaussian process on the flattened space: Matérn-5/2, a lengthscale per column, learned noise."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    X = flat(data.space, data.configs)
    kernel = ConstantKernel() * Matern(np.ones(X.shape[1]), nu=2.5) + WhiteKernel(0.1, (1e-10, 1.0))
    model = GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=RESTARTS, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # lengthscales of columns that do not matter
        model.fit(X, data.y)
        mean, std = model.predict(flat(data.space, data.held_out), return_std=True)
    noise = 0.0 if data.noisy else float(model.kernel_.k2.noise_level) * float(np.var(data.y))
    return Mixture(mean[None], np.maximum(std**2 - noise, 0.0)[None])


def flat(space: at.Space, configs: Sequence[Config]) -> Array:
    """One column per number, the middle of its range where it is inactive, and one per category or option."""
    X = space.encoding.encode(configs)
    columns = []
    for values, n_codes in zip(X.T, space.encoding.n_codes, strict=True):
        columns += [values == code for code in range(n_codes)] or [np.where(np.isnan(values), 0.5, values)]
    return np.asarray(np.array(columns, dtype=float).T)


MODELS: dict[str, Callable[[Data], Mixture]] = {
    "marginal": addtree_gp,
    "map": lambda data: addtree_gp(data, draws=0),
    "forest": forest,
    "matern": flat_gp,
}
TITLES = {
    "marginal": "AddTreeGP",
    "map": "AddTreeGP, most probable hyperparameters alone",
    "forest": "random forest",
    "matern": "flat Matérn GP",
}


# ---------------------------------------------------------------------- measuring


def measure(case: Case, seed: int, sizes: Sequence[int], models: Sequence[str]) -> list[Measurement]:
    """All models and sizes on one sample of a case; a larger size contains the smaller ones."""
    task, rng = tasks.load(case.task), np.random.default_rng(seed)
    configs = [task.space.sample(rng) for _ in range(max(sizes) + HELD_OUT)]
    y = np.array([task.objective(config) for config in configs]) + case.noise * rng.normal(size=len(configs))
    found = []
    for n in sizes:
        data = Data(task.space, configs[:n], y[:n], configs[-HELD_OUT:], case.noise > 0)
        for model in models:
            begin = time.process_time()
            prediction = MODELS[model](data)
            seconds = time.process_time() - begin
            found.append(Measurement(case, seed, n, model, score(prediction, y[-HELD_OUT:]), seconds))
    return found


def score(prediction: Mixture, y: Array) -> Scores:
    """The scores of predictions for values y."""
    spread = float(np.std(y))
    std = np.sqrt(prediction.variance + (RESOLUTION * spread) ** 2)
    z = (y - prediction.mean) / std
    density = logsumexp(-0.5 * z**2 - np.log(std), axis=0) - np.log(len(z)) - 0.5 * np.log(2.0 * np.pi)
    below = np.mean(ndtr(z), axis=0)  # probability of a smaller value
    mean = np.mean(prediction.mean, axis=0)
    constant = bool(np.all(mean == mean[0]))
    return Scores(
        log_density=float(np.mean(density)) + float(np.log(spread)),
        coverage_90=float(np.mean(np.abs(below - 0.5) <= 0.45)),
        coverage_95=float(np.mean(np.abs(below - 0.5) <= 0.475)),
        rank_correlation=0.0 if constant else float(np.corrcoef(rankdata(mean), rankdata(y))[0, 1]),
    )


def table(found: Sequence[Measurement]) -> str:
    """A row per model; a cell holds the means over tasks and seeds for each n."""
    sizes, models = dict.fromkeys(m.n for m in found), dict.fromkeys(m.model for m in found)
    columns: Mapping[str, Callable[[list[Measurement]], float]] = {
        "log density": lambda own: float(np.mean([m.scores.log_density for m in own])),
        "median over tasks": lambda own: float(np.median(_by_task(own))),
        "90 %": lambda own: float(np.mean([m.scores.coverage_90 for m in own])),
        "95 %": lambda own: float(np.mean([m.scores.coverage_95 for m in own])),
        "rank correlation": lambda own: float(np.mean([m.scores.rank_correlation for m in own])),
        "CPU seconds": lambda own: float(np.mean([m.seconds for m in own])),
    }
    lines = ["| model | " + " | ".join(columns) + " |", "|---" * (1 + len(columns)) + "|"]
    for model in models:
        groups = [[m for m in found if m.model == model and m.n == n] for n in sizes]
        cells = [" / ".join(f"{column(own):.2f}".replace("-", "−") for own in groups) for column in columns.values()]
        lines.append(f"| {TITLES[model]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _by_task(found: Sequence[Measurement]) -> list[float]:
    """The mean log density of each task."""
    cases = dict.fromkeys(m.case for m in found)
    return [float(np.mean([m.scores.log_density for m in found if m.case == case])) for case in cases]


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    given = _parser().parse_args(arguments)
    cases = [Case(task) for task in with_data(tasks.matching(given.tasks))]
    if given.noisy:
        cases += [Case(task, noise) for task in with_data(list(NOISY)) for noise in NOISY[task]]
    with worker_pool(given.jobs) as pool:
        jobs = [
            pool.submit(measure, case, seed, given.sizes, given.models) for seed in range(given.seeds) for case in cases
        ]
        found = [measurement for job in jobs for measurement in job.result()]
    for title, noisy in (("without noise", False), ("with noise", True)):
        own = [m for m in found if (m.case.noise > 0) == noisy]
        if own:
            n_tasks = len({m.case for m in own})
            sizes = " / ".join(map(str, given.sizes))
            print(f"\n{n_tasks} tasks {title}, {given.seeds} seeds, fitted to {sizes} configurations\n\n{table(own)}")
    write_text(given.out, json.dumps([asdict(m) for m in found], indent=1))
    print(f"\nevery measurement: {given.out}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prediction", description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--tasks", nargs="+", default=EXACT, help="tasks without noise: names, families or patterns")
    parser.add_argument("--noisy", action=argparse.BooleanOptionalAction, default=True, help="also the noisy tasks")
    parser.add_argument("--sizes", nargs="+", type=int, default=[20, 50, 100], help="configurations to fit to")
    parser.add_argument("--seeds", type=int, default=4, help="number of seeds, from 0 on (default: 4)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)")
    parser.add_argument("--out", type=Path, default=RESULTS / "prediction.json", help="file for all measurements")
    return parser


if __name__ == "__main__":
    main()
