"""Verdicts: what holds is said, and so is what does not."""

import numpy as np
import pytest

from addtree.paper import claims
from addtree.paper.tables import Curves


@pytest.fixture
def curves():
    rng = np.random.default_rng(0)
    base = 0.1 + 1e-3 * (1 + rng.random((10, 1))) * np.ones((10, 80))
    best = {"add-tree": base, "addtree": base + 1e-3, "independent": base[::-1], "smac": base + 1e-2, "tpe": base[::-1]}
    return Curves(best, dict.fromkeys(best, tuple(range(10))))


def test_better_worse_and_neither_are_told_apart(curves):
    text = claims.optimization("synthetic", curves)
    assert (
        "`add-tree` at iteration 40: better than `smac` with p < 0.05; NOT significantly better than `tpe` (p = "
        in text
    )
    assert "`add-tree`: median log10 distance −2.7" in text
    assert "NOT below −3.5" in text
    assert "`addtree` against `add-tree` at iteration 80: WORSE (mean −2.6" in text
    assert "`add-tree` against `independent` at iteration 60: no significant difference" in text


def test_few_runs_give_no_verdict(curves):
    few = Curves({name: best[:3] for name, best in curves.best.items()}, dict.fromkeys(curves.best, (0, 1, 2)))
    text = claims.optimization("compression-tree", few)
    assert "too few runs of `smac`, `tpe` to say" in text
    assert "against" not in text


def test_regression_against_the_paper():
    sizes = (20, 24, 44)
    good, poor = 10.0 ** np.array([[-3.1, -4.2, -6]]), 10.0 ** np.array([[-1.5, -2, -5]])
    text = claims.regression({"add-tree": poor, "addtree": good, "independent": poor}, sizes)
    assert "`add-tree` needs 44 samples for 10⁻⁴, NOT as few as the paper's 24." in text
    assert "`independent` needs 44 samples for 10⁻⁴, as few as the paper's 44." in text
    assert "`add-tree` with 20 samples: log10 MSE −1.5, NOT down to the paper's −3." in text
    assert "`addtree` is at least as good as `add-tree` in the mean: at every size." in text
    swapped = claims.regression({"add-tree": good, "addtree": poor}, sizes)
    assert "in the mean: NOT at 20, 24, 44 samples." in swapped
