"""What is found under noise: the tables of `benchmarks.noise`."""

import numpy as np
import pytest

from benchmarks import noise, revision
from benchmarks.noise import EARLIER, FUNCTION, NOW, TPE, Found


def test_the_branches_have_the_least_value_zero():
    space, objective = noise.branches()
    assert objective({"w": 0.4, "branch": "b", "y": 0.7}) == 0.0
    rng = np.random.default_rng(0)
    assert min(objective(space.sample(rng)) for _ in range(500)) > 0.0


def test_regrets_count_from_the_least_known_value_and_need_all_seeds():
    found = {
        (FUNCTION, 0.1, NOW, 0, 10, ""): Found(0.3, 0.2),
        (FUNCTION, 0.1, NOW, 1, 10, ""): Found(0.1, 0.1),
        (FUNCTION, 0.1, TPE, 0, 10, ""): Found(0.4, 0.05),
    }
    ((cell, each),) = noise.regrets(found, seeds=2).items()
    assert cell == (FUNCTION, 0.1)
    assert each.keys() == {NOW}
    assert each[NOW] == pytest.approx([0.25, 0.05])


def test_shares_and_tests_are_printed(capsys):
    found = {}
    for seed in range(10):
        for method, value in ((NOW, 0.2), (TPE, 0.3 + 0.01 * seed), (EARLIER, 0.15)):
            found[FUNCTION, 0.1, method, seed, 10, ""] = Found(value, 0.1)
    noise.print_cells(found, 10)
    printed = capsys.readouterr().out
    assert "| function/synthetic | 0.1 | 0.1 | 0.245 | 0.41 (0.0039) | 0.05 | 2.00 (0.0039) |" in printed
    assert "TPE: geometric mean of 1 shares 0.41 (wanted at most 0.6); significantly above 1: none" in printed
    assert "earlier: geometric mean of 1 shares 2.00" in printed
    assert "significantly above 1: function/synthetic at 0.1" in printed


@pytest.mark.parametrize("method", [NOW, TPE, EARLIER])
def test_a_run_of_each_method(method):
    if method == EARLIER and not revision.exists(noise.COMMIT):
        pytest.skip("this checkout does not have the earlier commit")
    with revision.source(noise.COMMIT if method == EARLIER else None) as source:
        found = noise.run_cell(FUNCTION, 0.05, method, 0, 12, str(source))
    assert 0.1 <= found.least <= found.recommended < 2.0


def test_what_is_missing_is_reported_and_left_out(capsys, monkeypatch):
    monkeypatch.delenv("ADDTREE_DATA", raising=False)
    assert noise.available([FUNCTION, noise.SURROGATES[0]]) == [FUNCTION]
    assert "left out: yahpo/iaml_super" in capsys.readouterr().err


def test_the_best_of_eight_gets_half_of_the_evaluations():
    assert np.median([noise.run_arms(seed, noise.ARMS_SD) for seed in range(3)]) >= 32
