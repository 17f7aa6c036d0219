"""Optuna's own tests for samplers."""

from __future__ import annotations

from collections.abc import Callable

import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase, MultiObjectiveSamplerTestCase, RelativeSamplerTestCase

from addtree import Categorical, Space
from addtree.optuna import AddTreeSampler


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestAfterStartup(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    """The model is used from the first trial on."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: AddTreeSampler(seed=0, n_startup_trials=0)


class TestDuringStartup(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    """The model is not used yet."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: AddTreeSampler(seed=0)


class TestWithAnUnrelatedSpace(BasicSamplerTestCase, MultiObjectiveSamplerTestCase):
    """The declared space has none of the suggested parameters. They are drawn at random, and nothing fails."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: AddTreeSampler(Space(unrelated=Categorical([1, 2])), seed=0)
