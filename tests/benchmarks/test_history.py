"""What earlier studies are worth: the histories of a run and the tables. The runs themselves need surrogates."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import history, leave_one_out

RUN = history.Run("rbv2_svm", "b", 3, "addtree+history", 2, tuple("abcdefgh"))
STUDIES: list[history.Pairs] = [[({"x": x}, float(value)) for x, value in enumerate((3, 1, 2, 5, 4))] for _ in range(2)]


def test_a_run_has_five_other_data_sets_and_all_methods_of_a_seed_the_same() -> None:
    names = [name for _, name, _ in history.earlier_keys(RUN)]
    assert len(set(names)) == history.N_HISTORIES
    assert "b" not in names
    for method in history.WITH_HISTORY:
        keys = history.earlier_keys(replace(RUN, method=method))
        assert [name for _, name, _ in keys] == names
        assert all(random == (method == "+random") for _, _, random in keys)
    assert not history.earlier_keys(replace(RUN, method=history.BASELINE))
    assert not history.earlier_keys(replace(RUN, method="random"))


def test_useless_and_hostile_histories() -> None:
    negated, shuffled = replace(RUN, method="+negated"), replace(RUN, method="+shuffled")
    assert history.spoiled(RUN, STUDIES) == STUDIES
    assert history.spoiled(negated, history.spoiled(negated, STUDIES)) == STUDIES != history.spoiled(negated, STUDIES)
    spoiled = history.spoiled(shuffled, STUDIES)
    assert spoiled != STUDIES
    for study, other in zip(STUDIES, spoiled, strict=True):
        assert [config for config, _ in study] == [config for config, _ in other]
        assert Counter(value for _, value in study) == Counter(value for _, value in other)


def test_the_table_has_the_regret_over_that_of_the_baseline() -> None:
    results = {
        replace(RUN, method="random"): np.full(history.UNIT, 2.0),
        replace(RUN, method="addtree"): np.array([3.0, 2.0]),
        RUN: np.array([2.0, 1.0]),
    }
    lines = history.table(results, 2)
    assert lines[-1].split("|")[2:-1] == [" addtree+history ", " 1 ", " 0.50 "]


def test_the_error_above_the_lowest_is_in_percentage_points() -> None:
    curve = np.linspace(0.3, 0.2, leave_one_out.BUDGET)
    curves = {("iris", 0, method): curve - 0.05 * k for k, method in enumerate(leave_one_out.METHODS)}
    lines = leave_one_out.table(curves, {"iris": 0.15})
    assert lines[2].split("|")[2:4] == [" without ", " 20.0 "]
    assert lines[4].split("|")[-2] == " 0.0 "


def test_every_data_set_can_be_evaluated() -> None:
    pytest.importorskip("sklearn")
    config = {"scale": True, "model": "ridge", "alpha": 1.0}
    assert len(leave_one_out.data_sets()) == 8
    assert all(0.0 < leave_one_out.objective(name)(config) < 0.8 for name in leave_one_out.data_sets())
