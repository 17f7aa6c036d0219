"""Restrictions on random spaces: what agrees is what brute force finds, and every search respects it."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from addtree import Choice, ConfigError, Integer, Optimizer, Real, Space
from addtree.model.gp import Posterior
from addtree.search.candidates import Observed
from addtree.search.design import next_row
from addtree.search.multiobjective import Posteriors
from addtree.search.policy import Policy, suggest
from addtree.space.restriction import Restriction
from tests.strategies import build, data, hyperparameters, sample, seeds, spaces


def some_of(config, rng):
    """A random part of a configuration."""
    return {name: value for name, value in config.items() if rng.random() < 0.4}


def same(one, other):
    """Whether two values are equal and of one type; True is not 1 here."""
    return type(one) is type(other) and one == other


@given(spaces(depth=2, finite=True), seeds, st.booleans())
def test_what_agrees_is_what_brute_force_finds(space, seed, optional):
    assume(space.n_configs <= 1000)
    rng = np.random.default_rng(seed)
    partial = {}
    for config in sample(space, 2, seed):  # parts of two configurations may contradict each other
        partial |= some_of(config, rng)
    encoding = space.encoding
    X = encoding.enumerate()
    expected = [
        all(same(config[name], value) if name in config else optional for name, value in partial.items())
        for config in map(encoding.decode, X)
    ]
    if not any(expected):
        with pytest.raises(ConfigError, match="never active together"):
            Restriction.of(encoding, partial)
        return
    restriction = Restriction.of(encoding, partial, optional=partial if optional else ())
    assert restriction.agrees(X).tolist() == expected
    assert restriction.row is None or sum(expected) == 1
    reached = {i for row in X[expected] for i, _ in encoding.walk(row)}
    assert {i for i in range(len(space.nodes)) if restriction.reaches(i)} == reached


@given(spaces(depth=3), seeds)
def test_a_completion_keeps_what_is_given_and_is_a_configuration(space, seed):
    rng = np.random.default_rng(seed)
    (config,) = sample(space, 1, seed)
    partial, encoding = some_of(config, rng), space.encoding
    restriction = Restriction.of(encoding, partial)
    X = encoding.sample(20, rng)
    before = X.copy()
    rows = [*restriction.conform(X, rng), next_row(encoding, X, rng, restriction)]
    np.testing.assert_array_equal(X, before)
    assert restriction.agrees(np.array(rows)).all()
    for row in rows:
        completed = space.validate(restriction.restore(encoding.decode(row)))
        assert completed.items() >= partial.items()
    np.testing.assert_array_equal(Restriction.of(encoding, config).row, encoding.encode([config])[0])


@given(spaces(depth=2), seeds)
def test_a_row_that_agrees_is_left_as_it_is(space, seed):
    rng = np.random.default_rng(seed)
    configs = sample(space, 5, seed)
    restriction = Restriction.of(space.encoding, some_of(configs[0], rng))
    X = space.encoding.encode(configs)
    agrees = restriction.agrees(X)
    assert agrees[0]
    np.testing.assert_array_equal(restriction.conform(X, rng)[agrees], X[agrees])


PAIRS = [("additive+interactions", "logei"), ("additive", "additive-ucb"), ("additive", "thompson")]


@given(spaces(depth=2), st.sampled_from(PAIRS), st.integers(1, 6), seeds)
def test_suggestions_of_every_turn_agree(space, pair, turn, seed):
    covariance, acquisition = pair
    encoding, k = build(space, covariance)
    rows, z = data(encoding, k, 6, seed)
    posterior = Posterior.from_data(k, hyperparameters(encoding, k), rows, z)
    rng = np.random.default_rng(seed)
    (config,) = sample(space, 1, seed + 1)
    restriction = Restriction.of(encoding, some_of(config, rng))
    X = encoding.encode(sample(space, 6, seed))
    observed = Observed(encoding, X, z, set(encoding.keys(X)), restriction)
    row = suggest(Policy(acquisition), Posteriors((posterior,)), observed, turn=turn, rng=rng)
    if row is not None:
        assert restriction.agrees(row[None])[0]
        np.testing.assert_allclose(encoding.encode([encoding.decode(row)])[0], row, atol=1e-12)
        may_repeat = acquisition == "logei" and Policy().noisy.applies_to(posterior)
        assert may_repeat or encoding.keys(row[None])[0] not in observed.taken


@pytest.mark.parametrize("mode", [{}, {"covariance": "additive", "acquisition": "additive-ucb", "inference": "mle"}])
def test_a_vertex_may_have_openers_in_several_nodes(mode):
    opener = Integer(1, 4, opens={(2, 4): Space(y=Real(0, 1))})  # under both options, so it is always active
    choice = Choice(a=Space(k=opener), b=Space(k=opener, z=Real(0, 1)))
    space = Space(n=Integer(0, 3, opens={(1, 3): Space(x=Real(0, 1))}), c=choice)
    optimizer = Optimizer(space, seed=0, n_initial=4, **mode)
    for i in range(8):
        optimizer.tell(optimizer.ask(), float(i))
    for turn in range(9, 12):
        config = optimizer.suggest(turn, fixed={"x": 0.25, "y": 0.5})
        assert space.validate(config)["k"] >= 2
