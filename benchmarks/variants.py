"""What each ingredient of the default is worth: the same runs with one setting changed.

    python -m benchmarks.variants [names ...] [--tasks yahpo] [--seeds 4] [--budget 100] [--jobs 2]

Prints, per variant, the median over tasks of its mean regret at 10, 20, 30, 50 and the last evaluation, in units of the
default's regret at the last. `VARIANTS` lists the names. `docs/design-notes.md` says what was learned from it.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace

import numpy as np

import addtree as at
from addtree.model.fit import FitSettings
from addtree.model.priors import Priors, log_prior
from addtree.model.transform import TransformSettings
from addtree.optimizer import Settings
from addtree.search.candidates import CandidateSettings
from addtree.search.design import DesignSettings
from addtree.search.noisy import TopTwo
from addtree.search.policy import Policy
from addtree.support.processes import worker_pool
from benchmarks import tasks

DEFAULT = Settings()


def with_policy(**changes: object) -> Settings:
    return replace(DEFAULT, policy=replace(Policy(), **changes))  # type: ignore[arg-type]


def with_priors(**changes: object) -> Settings:
    return replace(DEFAULT, priors=replace(Priors(), **changes))  # type: ignore[arg-type]


VARIANTS: dict[str, Settings] = {
    "default": DEFAULT,
    "no power transform": replace(DEFAULT, transform=TransformSettings(power_bounds=(1.0, 1.0))),
    "wild values clipped": replace(DEFAULT, transform=TransformSettings(width=1e-9)),
    "wild values kept longer": replace(DEFAULT, transform=TransformSettings(cap=4.0)),
    "never aiming lower": with_policy(lower_turn=None),
    "no local turns": with_policy(local_turn=None),
    "no turns for neglected branches": with_policy(neglected=False),
    "neglected branches only on schedule": with_policy(young=0),
    "neglected branches after 3 trials without progress": with_policy(patience=3),
    "no turns that ignore the model": with_policy(model_free=False),
    "no rows anywhere in options that were hardly seen": with_policy(enough=0),
    "four initial points": replace(DEFAULT, design=DesignSettings(rows=4)),
    "ten initial points": replace(DEFAULT, design=DesignSettings(rows=10)),
    "24 initial points": replace(DEFAULT, design=DesignSettings(rows=24)),
    "fitted at every observation": replace(DEFAULT, fit=FitSettings(growth=10**9)),
    "posterior of 256 rows": replace(DEFAULT, fit=FitSettings(max_rows=256)),
    "posterior of 2000 rows": replace(DEFAULT, fit=FitSettings(max_rows=2000)),
    "fresh starts half as often": replace(DEFAULT, fit=FitSettings(fresh_growth=2)),
    "no trends": with_priors(trend=log_prior(1e-5, 0.1, 0.1)),
    "main terms long and large, no trends": with_priors(
        main=log_prior(30.0, 0.5, 3.0),
        trend=log_prior(1e-5, 0.1, 0.1),
        interaction=log_prior(0.003, 0.5, 3.0),
        lengthscale=log_prior(3.0, 0.8, 2.0),
        noise=log_prior(1e-8, 3.0, 0.0),
    ),
    "shorter lengthscales": with_priors(lengthscale=log_prior(0.5, 0.8, 0.7), main=log_prior(0.5, 1.0, 1.0)),
    "stronger interactions": with_priors(interaction=log_prior(0.2, 1.0, 1.0)),
    "more noise": with_priors(noise=log_prior(1e-4, 2.0, 0.0)),
    "always expected improvement": with_policy(noisy=TopTwo(share=math.inf)),
    "top-two sampling at any noise": with_policy(noisy=TopTwo(share=0.0)),
    "four times the candidates": with_policy(candidates=CandidateSettings(anywhere=512, near=384)),
}


def run(variant: str, task: str, seed: int, budget: int) -> list[float]:
    """The best value so far after each evaluation."""
    loaded = tasks.load(task)
    optimizer = at.Optimizer(loaded.space, seed=seed, settings=VARIANTS[variant])
    values = []
    for _ in range(budget):
        trial = optimizer.ask()
        values.append(loaded.objective(trial.config))
        optimizer.tell(trial, values[-1])
    return [float(v) for v in np.minimum.accumulate(values)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(VARIANTS), help=", ".join(VARIANTS))
    parser.add_argument("--tasks", nargs="+", default=["yahpo"])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    names = list(dict.fromkeys(["default", *args.names]))
    jobs = [(v, t, s) for v in names for t in tasks.matching(args.tasks) for s in range(args.seeds)]
    with worker_pool(args.jobs) as pool:
        pending = {job: pool.submit(run, *job, args.budget) for job in jobs}
        found = {job: future.result() for job, future in pending.items()}
    least = {
        t: min([tasks.reference(t) or np.inf, *(v[-1] for j, v in found.items() if j[1] == t)]) for _, t, _ in jobs
    }
    at_n = [*(n for n in (10, 20, 30, 50) if n < args.budget), args.budget]
    print("| variant | " + " | ".join(f"at {n}" for n in at_n) + " |\n" + "|---" * (1 + len(at_n)) + "|")
    for name in names:
        ratios = []
        for task in least:
            unit = np.mean([found["default", task, s][-1] - least[task] for s in range(args.seeds)])
            regret = [[found[name, task, s][n - 1] - least[task] for n in at_n] for s in range(args.seeds)]
            ratios.append(np.mean(regret, axis=0) / max(unit, 1e-12))
        print(f"| {name} | " + " | ".join(f"{x:.2f}" for x in np.median(ratios, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    main()
