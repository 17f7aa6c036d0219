"""Does the report say how far the model can be trusted? python -m benchmarks.trust

On surrogates of real tuning runs, the share of values that lie inside their intervals as the report finds it by
cross-validation on n random trials, against the share of 500 other configurations inside the intervals of the report's
model. Both should agree; they differ by the chance of n values, and because a fold's model has seen fewer trials.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from addtree._types import Array
from addtree.report import Record
from addtree.report.effects import Z_95
from addtree.report.model import DEFAULT_LIMITS, clip, clip_bound, fit_model
from addtree.report.trust import Z_90, cross_validate
from addtree.support.processes import worker_pool
from benchmarks.tasks import load, matching

TASKS = (
    *(f"yahpo/iaml_super-{task}" for task in ("40981-mmce", "1489-auc", "41146-logloss")),
    *(f"yahpo/rbv2_svm-{task}" for task in ("1220-mmce", "31-auc", "41212-logloss")),
    *(f"yahpo/rbv2_xgboost-{task}" for task in ("16-acc", "41143-auc", "12-logloss")),
)
SIZES = (20, 50, 100)
HELD_OUT = 500
TARGET = 0.05  # The mean difference between the two coverages may be this large.


@dataclass(frozen=True)
class Case:
    """One task, one seed, n trials."""

    task: str
    seed: int
    n: int


@dataclass(frozen=True)
class Coverage:
    """Shares (90 %, 95 %) of values inside their intervals: by leave-one-out, by cross-validation, and in truth."""

    case: Case
    leave_one_out: Array
    reported: Array
    truth: Array


def measure(case: Case) -> Coverage:
    """The three coverages of one case."""
    task, rng = load(case.task), np.random.default_rng(case.seed)
    configs = [task.space.sample(rng) for _ in range(case.n + HELD_OUT)]
    values = np.array([task.objective(config) for config in configs])
    bound = clip_bound(values[: case.n], maximize=False)
    values = clip(values, bound, maximize=False)
    known, y = configs[: case.n], values[: case.n]
    trials = [Record(i, config, "done", value) for i, (config, value) in enumerate(zip(known, y, strict=True))]
    gp = fit_model(task.space, trials, y, maximize=False, limits=DEFAULT_LIMITS)
    found = cross_validate(task.space, trials, y)
    return Coverage(
        case,
        leave_one_out=_covered(y, *gp.leave_one_out()),
        reported=np.array([found.coverage_90, found.coverage_95]),
        truth=_covered(values[case.n :], *gp.predict(configs[case.n :], observed=True)),
    )


def _covered(y: Array, mean: Array, std: Array) -> Array:
    """Shares of the values inside their 90 % and 95 % intervals."""
    return np.array([np.mean(np.abs(y - mean) <= z * std) for z in (Z_90, Z_95)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=TASKS, help="names, families or shell patterns of tasks")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    cases = [Case(task, seed, n) for n in SIZES for task in matching(args.tasks) for seed in range(args.seeds)]
    with worker_pool(args.jobs) as pool:
        rows = list(pool.map(measure, cases))
    print("coverage, mean over tasks and seeds; (a) leave-one-out, (b) cross-validation as reported, (c) truth")
    print("           90 % intervals        95 % intervals           b - c          |b - c|")
    print("  n      a     b     c         a     b     c       90 %   95 %     90 %   95 %")
    for n in (*SIZES, None):
        print(_row(n, [row for row in rows if n in (row.case.n, None)]), flush=True)
    print(f"wanted: a mean difference of at most {TARGET}")


def _row(n: int | None, rows: Sequence[Coverage]) -> str:
    kinds = [np.array([getattr(row, kind) for row in rows]) for kind in ("leave_one_out", "reported", "truth")]
    means = "     ".join(" ".join(f"{kind[:, i].mean():5.2f}" for kind in kinds) for i in (0, 1))
    difference = kinds[1] - kinds[2]
    bias, size = difference.mean(axis=0), np.abs(difference).mean(axis=0)
    return f"{n or 'all':>3}  {means}     {bias[0]:+.3f} {bias[1]:+.3f}    {size[0]:.3f}  {size[1]:.3f}"


if __name__ == "__main__":
    main()
