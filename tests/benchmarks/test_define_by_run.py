"""The comparison of define-by-run code with a declared space."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.define_by_run import DECLARED, DEFINED, median_logs, ratio
from benchmarks.regret import Runs


def test_the_ratio_of_mean_regrets_has_an_interval_over_paired_seeds() -> None:
    rng = np.random.default_rng(0)
    declared = {task: 1 + rng.random((6, 3)) for task in "ab"}
    curves = {task: {DECLARED: regret, DEFINED: 1.5 * regret} for task, regret in declared.items()}
    means, ends = ratio(curves)
    assert means == pytest.approx([1.5] * 3)
    assert ends == pytest.approx(np.full((2, 3), 1.5))  # Each seed has the same ratio, and seeds are paired.


def test_the_medians_of_log_regrets() -> None:
    values = np.array([[1.1, 1.01], [1.001, 2.0]])
    runs = {DECLARED: Runs((0, 1), values, values), DEFINED: Runs((0, 1), values[:1], values[:1])}
    declared, defined = median_logs(runs, 1.0)
    assert declared == pytest.approx([-2.0, -2.5])
    assert defined == pytest.approx([-1.0, -2.0])
