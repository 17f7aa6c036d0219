"""The core on the paper's synthetic function: distances, regression errors, and the cost of many independent choices.

    python -m benchmarks.must_show [--seeds 10]

Medians over seeds 0 .. seeds-1; those of the regression errors are over twice as many. The cost is a ratio of two
timings of one run; nothing here is asserted.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import addtree as at
from addtree import problems

PAPER = {"covariance": "additive", "acquisition": "additive-ucb", "inference": "mle"}


def distances(problem: problems.Problem, n_trials: int, seeds: int, **settings: Any) -> np.ndarray[Any, Any]:
    """log10 of (best so far - optimum), seeds x n_trials."""
    rows = []
    for seed in range(seeds):
        result = at.minimize(problem.objective, problem.space, n_trials=n_trials, seed=seed, **settings)
        best = np.minimum.accumulate([np.inf if t.value is None else t.value for t in result.trials])
        rows.append(np.log10(np.maximum(best - problem.optimum, 1e-16)))
    return np.array(rows)


def in_rounds(n_trials: int, q: int, seed: int) -> float:
    """log10 distance after n_trials evaluations asked for q at a time; the q of a round all differ."""
    problem, optimizer = problems.synthetic(), at.Optimizer(problems.synthetic().space, seed=seed)
    for _ in range(n_trials // q):
        trials = optimizer.ask(q)
        assert len({tuple(trial.config.items()) for trial in trials}) == q
        for trial in trials:
            optimizer.tell(trial, problem.objective(trial.config))
    return float(np.log10(max(problem.objective(optimizer.best.config) - problem.optimum, 1e-16)))


def under_noise(n_trials: int, sd: float, seed: int) -> float:
    """The true value of the configuration recommended after n_trials evaluations with noise."""
    problem, optimizer = problems.synthetic(), at.Optimizer(problems.synthetic().space, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(n_trials):
        trial = optimizer.ask()
        optimizer.tell(trial, problem.objective(trial.config) + sd * rng.normal())
    return problem.objective(optimizer.recommend().config)


def regression_error(n: int, seed: int, **settings: Any) -> float:
    """log10 of the mean squared error on 50 random configurations after training on n."""
    problem, rng = problems.synthetic(), np.random.default_rng(seed)
    train = [problem.space.sample(rng) for _ in range(n)]
    test = [problem.space.sample(rng) for _ in range(50)]
    gp = at.AddTreeGP(problem.space, **settings).fit(train, [problem.objective(c) for c in train])
    truth = np.array([problem.objective(c) for c in test])
    return float(np.log10(np.mean((gp.predict(test)[0] - truth) ** 2)))


def independent_choices(n: int) -> at.Space:
    """n binary choices in one node, a parameter under each option: 2n vertices, 2^n paths."""
    return at.Space({f"c{i}": at.Choice({o: at.Space({f"x{i}{o}": at.Real(0, 1)}) for o in (0, 1)}) for i in range(n)})


def strict_tree() -> at.Space:
    """A strict tree with 20 vertices: one choice of four, each opening a choice of four."""

    def half(i: int) -> at.Space:
        leaves = {o: at.Space({f"leaf{i}{o}": at.Real(0, 1)}) for o in range(4)}
        return at.Space({f"r{i}": at.Real(0, 1), f"c{i}": at.Choice(leaves)})

    return at.Space(top=at.Choice({i: half(i) for i in range(4)}))


def seconds_per_ask(space: at.Space, n: int) -> float:
    """The median of five asks with n observations of a random function of the active parameters."""
    rng, optimizer = np.random.default_rng(0), at.Optimizer(space, seed=0)
    for _ in range(n):
        config = space.sample(rng)
        optimizer.tell(config, sum((v - 0.3) ** 2 for v in config.values() if isinstance(v, float)))
    optimizer.ask()  # fits
    seconds = []
    for _ in range(5):
        config = space.sample(rng)
        optimizer.tell(config, sum((v - 0.3) ** 2 for v in config.values() if isinstance(v, float)))
        start = time.perf_counter()
        optimizer.ask()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def _at(rows: np.ndarray[Any, Any], *evaluations: int) -> str:
    return " / ".join(f"{np.median(rows[:, n - 1]):.1f}" for n in evaluations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    paper = distances(problems.synthetic(), 40, seeds, **PAPER)
    print(f"paper's mode, log10 distance at 20 / 40:         {_at(paper, 20, 40)}   (wanted -3.5 / -4.2)", flush=True)
    default = distances(problems.synthetic(), 60, seeds)
    right = int(np.sum(default[:, -1] < -1.0))
    print(
        f"default, log10 distance at 20 / 25 / 40 / 60:    {_at(default, 20, 25, 40, 60)}   (wanted -4 / -6 / -8 / -11)"
    )
    print(f"default, runs that end in the right leaf:        {right} of {seeds}", flush=True)
    variant = distances(problems.interaction(), 40, seeds)
    print(f"default, interaction variant at 40:              {_at(variant, 40)}   (wanted -5)", flush=True)
    sequential = distances(problems.synthetic(), 100, seeds)
    rounds = np.median([in_rounds(100, 4, seed) for seed in range(seeds)])
    print(
        f"100 evaluations, log10 distance: {_at(sequential, 100)} one by one, {rounds:.1f} in rounds of four",
        flush=True,
    )
    noisy = np.median([under_noise(80, 0.05, seed) for seed in range(seeds)])
    print(f"noise of sd 0.05, 80 evaluations: true value recommended {noisy:.3f}   (wanted 0.15)", flush=True)
    for name, wanted, sizes in (
        ("additive+interactions", "-3 / -4 / -6", (20, 24, 30)),
        ("additive", "-", (20, 24, 30)),
        ("independent", "worse than -2.5 at 24", (20, 24, 30)),
    ):
        # Errors of ten seeds vary too much.
        each = [[regression_error(n, seed, covariance=name) for seed in range(2 * seeds)] for n in sizes]
        errors = [np.median(own) for own in each]
        shown = " / ".join(f"{e:.1f}" for e in errors)
        print(f"regression, log10 MSE at 20 / 24 / 30, {name:22s} {shown}   (wanted {wanted})", flush=True)
    ratio = seconds_per_ask(independent_choices(10), 50) / seconds_per_ask(strict_tree(), 50)
    print(f"ask at 50: 1024 paths over a strict tree, both of 20 vertices: {ratio:.2f} times   (wanted at most 3)")
    print(f"ask at 50: 2^40 paths takes {seconds_per_ask(independent_choices(40), 50):.2f} s")


if __name__ == "__main__":
    main()
