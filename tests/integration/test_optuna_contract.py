"""Optuna's own contract for samplers, inherited whole.

AddTreeSampler is single-objective, so `MultiObjectiveSamplerTestCase` does not apply: `SingleOnlySamplerTestCase`
asserts the clear error instead.
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
    """With the model in use from the first trial on."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: AddTreeSampler(seed=0, n_startup_trials=0)


class TestDuringStartup(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: AddTreeSampler(seed=0)


class TestWithAnUnrelatedSpace(BasicSamplerTestCase, SingleOnlySamplerTestCase):
    """A declared space that knows none of the parameters asked for: everything is sampled at random, nothing fails."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: AddTreeSampler(Space(unrelated=Categorical([1, 2])), seed=0)
