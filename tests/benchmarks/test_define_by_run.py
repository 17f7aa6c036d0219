"""The comparison of define-by-run code with a declared space."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.define_by_run import DECLARED, DEFINED, median_logs
from benchmarks.support.regret import Runs


def test_the_medians_of_log_regrets() -> None:
    values = np.array([[1.1, 1.01], [1.001, 1.001]])
    runs = {DECLARED: Runs((0, 1), values, values), DEFINED: Runs((0, 1), values[:1], values[:1])}
    declared, defined = median_logs(runs, 1.0)
    assert declared == pytest.approx([-2.0, -2.5])
    assert defined == pytest.approx([-1.0, -2.0])
