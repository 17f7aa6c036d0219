"""Wilcoxon tests on known numbers, the table around them, and the counting of samples."""

import numpy as np
import pytest

from addtree.paper.tables import Curves, level_table, p_value, samples_needed, wilcoxon_table

# Wilcoxon 1945 as in most textbooks: Darwin's maize, differences whose positive ranks sum to 96 of 120
MAIZE = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48], dtype=float)

SEEDS = dict.fromkeys(("add-tree", "smac", "tpe"), tuple(range(10)))


def exact(differences):
    """P(W+ >= observed) by listing all signs."""
    ranks = np.argsort(np.argsort(np.abs(differences))) + 1
    observed = ranks[differences > 0].sum()
    sums = np.zeros(1, dtype=int)
    for rank in ranks:
        sums = np.concatenate([sums, sums + rank])
    return np.mean(sums >= observed)


def test_p_value_equals_enumeration():
    assert p_value(MAIZE, np.zeros(15)) == pytest.approx(exact(MAIZE))
    assert p_value(MAIZE, np.zeros(15)) == pytest.approx(0.0206, abs=2e-4)


def test_p_value_points_the_right_way():
    rng = np.random.default_rng(0)
    better, worse = rng.random(10), 2 + rng.random(10)
    assert p_value(worse, better) == pytest.approx(1 / 1024)
    assert p_value(better, worse) == pytest.approx(1.0)


def test_table_holds_ours_and_the_papers():
    base = np.tile(np.linspace(1, 0.5, 80), (10, 1)) + 0.01 * np.arange(10)[:, None]
    text = wilcoxon_table("synthetic", Curves({"add-tree": base - 0.2, "smac": base, "tpe": base * 1.01}, SEEDS))
    rows = text.splitlines()
    assert rows[0] == "| iteration | method | `smac` | `tpe` |"
    assert rows[2] == "| 40 | `add-tree` | 0.001 (0.003) | 0.001 (0.030) |"
    assert len(rows) == 5


def test_levels_are_mean_and_median_of_logs():
    best = 0.1 + np.array([[1e-2], [1e-3], [1e-6]]) * np.ones((3, 20))
    row = level_table(Curves({"random": best}, {"random": (0, 1, 2)}), optimum=0.1, iterations=(20,)).splitlines()[2]
    assert row == "| `random` | 3 | −3.67 (−3.00) |"


def test_samples_needed():
    errors = 10.0 ** np.array([[-1, -3, -5], [-1, -3, -4.0]])
    assert samples_needed(errors, (4, 8, 12), 1e-4) == 12
    assert samples_needed(errors, (4, 8, 12), 1e-6) is None


def test_runs_are_paired_by_seed():
    a, b = np.array([[1.0], [2.0], [3.0]]), np.array([[3.5], [1.5], [9.0]])
    curves = Curves({"a": a, "b": b}, {"a": (0, 1, 2), "b": (2, 0, 7)})
    assert curves.p_value("b", "a", 1) == p_value(np.array([1.5, 3.5]), np.array([1.0, 3.0])) == 0.25
    assert np.isnan(Curves({"a": a, "b": b}, {"a": (0, 1, 2), "b": (5, 6, 7)}).p_value("b", "a", 1))
