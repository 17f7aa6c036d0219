"""Optuna's own tests for samplers.

AddTreeSampler has one objective, so `MultiObjectiveSamplerTestCase` does not apply. `SingleOnlySamplerTestCase` asserts
that several objectives raise a clear error.
"""

from __future__ import annotations

from collections.abc import Callable

import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase

from addtree import Categorical, Space
from addtree.optuna import AddTreeSampler


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestAfterStartup(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """The model is used from the first trial on."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: AddTreeSampler(seed=0, n_startup_trials=0)


class TestDuringStartup(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """The model is not used yet."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: AddTreeSampler(seed=0)


class TestWithAnUnrelatedSpace(BasicSamplerTestCase, SingleOnlySamplerTestCase):
    """The declared space has none of the suggested parameters. They are drawn at random, and nothing fails."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: AddTreeSampler(Space(unrelated=Categorical([1, 2])), seed=0)
