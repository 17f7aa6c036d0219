"""The design of the first trials."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from addtree import Categorical, Choice, Real, Space
from addtree._optuna.startup import MAX_STARTUP_FACTOR, StartupDesign
from addtree._types import Array
from addtree.space.encoding import Encoding
from addtree.space.space import Config

SPACE = Space(x=Real(0, 1), c=Choice({i: Space() for i in range(5)}))


class CountingEncoding(Encoding):
    """An encoding that counts the configurations it encodes."""

    n_encoded = 0

    def encode(self, configs: Sequence[Config]) -> Array:
        self.n_encoded += len(configs)
        return super().encode(configs)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_each_finished_trial_is_encoded_once() -> None:
    encoding = CountingEncoding(SPACE)
    design = StartupDesign(encoding, 100)
    pending = {"x": 0.5, "c": 0}
    for n in range(50):
        encoding.n_encoded = 0
        config = design.suggest([pending], rng())
        assert encoding.n_encoded == 1  # the pending configuration, however many trials have finished
        assert config is not None
        design.add(config)
        assert encoding.n_encoded == 2, f"after {n} trials"


def test_nothing_is_encoded_after_the_startup() -> None:
    encoding = CountingEncoding(SPACE)
    design = StartupDesign(encoding, 2)
    for n in range(20):
        design.add({"x": n / 20, "c": 0})
    assert encoding.n_encoded == MAX_STARTUP_FACTOR * 2
    assert design.suggest([{"x": 0.5, "c": 0}], rng()) is None
    assert encoding.n_encoded == MAX_STARTUP_FACTOR * 2


def test_the_startup_goes_on_until_every_option_was_seen() -> None:
    design = StartupDesign(Encoding(SPACE), 2)
    for option in range(4):
        design.add({"x": 0.5, "c": option})
    config = design.suggest([], rng())
    assert config is not None
    assert config["c"] == 4
    assert design.suggest([config], rng()) is None


def test_the_startup_ends_even_if_an_option_was_not_seen() -> None:
    design = StartupDesign(Encoding(SPACE), 2)
    for n in range(MAX_STARTUP_FACTOR * 2):
        design.add({"x": n / 10, "c": 0})
    assert design.suggest([], rng()) is None


@pytest.mark.parametrize("pending", [0, 1])
def test_a_design_of_no_trials_is_over_from_the_start(pending: int) -> None:
    assert StartupDesign(Encoding(SPACE), 0).suggest([{"x": 0.5, "c": 0}] * pending, rng()) is None


def test_a_taken_configuration_is_not_suggested() -> None:
    design = StartupDesign(Encoding(Space(c=Categorical(["only"]))), 5)
    assert design.suggest([], rng()) == {"c": "only"}
    assert design.suggest([{"c": "only"}], rng()) is None
