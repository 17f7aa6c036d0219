"""The scores of predictions that are known, and a small run of the command."""

import json
from pathlib import Path

import numpy as np
import pytest

from addtree.model.marginal import Mixture
from addtree.problems import synthetic
from benchmarks import prediction
from tests.strategies import sample


def test_the_scores_of_the_true_distribution() -> None:
    y = np.random.default_rng(0).normal(3.0, 2.0, size=20_000)
    found = prediction.score(Mixture(np.full((1, len(y)), 3.0), np.full((1, len(y)), 4.0)), y)
    assert found.log_density == pytest.approx(-0.5 * np.log(2 * np.pi) - 0.5, abs=0.02)  # of a standard normal
    assert found.coverage_90 == pytest.approx(0.9, abs=0.01)
    assert found.coverage_95 == pytest.approx(0.95, abs=0.01)
    assert found.rank_correlation == 0.0
    exact = prediction.score(Mixture(y[None], np.zeros((1, len(y)))), y)
    assert exact.rank_correlation == pytest.approx(1.0)
    assert exact.log_density == pytest.approx(-0.5 * np.log(2 * np.pi) - np.log(prediction.RESOLUTION))


def test_the_flat_form_has_a_column_per_number_and_per_option() -> None:
    space = synthetic().space
    flat = prediction.flat(space, sample(space, 8, 0))
    assert flat.shape == (8, sum(max(k, 1) for k in space.encoding.n_codes))
    assert not np.any(np.isnan(flat))
    options = flat[:, :2] if space.encoding.n_codes[0] else flat[:, 1:3]
    assert np.all((options == 0) | (options == 1))


def test_the_command_measures_every_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    out = tmp_path / "prediction.json"
    options = ["--tasks", "function/synthetic", "--no-noisy", "--sizes", "8", "12", "--seeds", "1", "--jobs", "1"]
    prediction.main([*options, "--out", str(out)])
    printed = capsys.readouterr().out
    assert "1 tasks without noise, 1 seeds, fitted to 8 / 12 configurations" in printed
    assert all(title in printed for title in prediction.TITLES.values())
    found = json.loads(out.read_text())
    assert len(found) == 2 * len(prediction.MODELS)
    assert all(0 <= m["scores"]["coverage_90"] <= m["scores"]["coverage_95"] <= 1 for m in found)
