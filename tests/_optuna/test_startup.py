"""The design of the first trials."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from addtree import Categorical, Choice, Integer, Real, Space
from addtree._optuna.startup import StartupDesign
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
    design = StartupDesign(encoding, 100, 300)
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
    design = StartupDesign(encoding, 2, 6)
    for n in range(20):
        design.add({"x": n / 20, "c": 0})
    assert encoding.n_encoded == 6
    assert design.suggest([{"x": 0.5, "c": 0}], rng()) is None
    assert encoding.n_encoded == 6


def test_every_other_suggestion_after_the_design_probes_an_unseen_value() -> None:
    design = StartupDesign(Encoding(SPACE), 2, 6)
    assert design.probe([]) is None  # The design is not complete.
    for option in range(4):
        design.add({"x": 0.5, "c": option})
    restriction = design.probe([])
    assert restriction is not None
    assert restriction.values == {"c": 4}
    assert design.probe([{"x": 0.5, "c": 0}]) is None  # It is the model's turn.
    assert design.probe([{"x": 0.5, "c": 4}, {"x": 0.6, "c": 4}]) is None  # Every option was seen.


def test_what_is_probed_choices_first() -> None:
    space = Space(
        plain=Categorical(["a", "b"]), n=Integer(1, 3), many=Integer(1, 9), c=Choice(a=Space(), b=Space(x=Real(0, 1)))
    )
    design = StartupDesign(Encoding(space), 4, 12)
    config = {"plain": "a", "n": 1, "many": 1, "c": "a"}
    probed = []
    for _ in range(4):
        design.add(config)
    while (restriction := design.probe([])) is not None:
        probed.append(dict(restriction.values))
        for _ in range(2):
            design.add({**config, **probed[-1], **({"x": 0.5} if probed[-1] == {"c": "b"} else {})})
    assert probed == [{"c": "b"}, {"plain": "b"}, {"n": 2}, {"n": 3}]


def test_the_startup_ends_even_if_an_option_was_not_seen() -> None:
    design = StartupDesign(Encoding(SPACE), 2, 6)
    for n in range(6):
        design.add({"x": n / 10, "c": 0})
    assert design.suggest([], rng()) is None
    assert design.probe([]) is None


@pytest.mark.parametrize("pending", [0, 1])
def test_a_design_of_no_trials_is_over_from_the_start(pending: int) -> None:
    assert StartupDesign(Encoding(SPACE), 0, 0).suggest([{"x": 0.5, "c": 0}] * pending, rng()) is None


def test_a_taken_configuration_is_not_suggested() -> None:
    design = StartupDesign(Encoding(Space(c=Categorical(["only"]))), 5, 15)
    assert design.suggest([], rng()) == {"c": "only"}
    assert design.suggest([{"c": "only"}], rng()) is None
