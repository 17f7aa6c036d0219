"""What holds of every space, and of the suggestions on it. `ADDTREE_SPACES=10000` tries that many random spaces."""

import json
import os
import warnings

import ConfigSpace as CS  # noqa: N817
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from addtree import Optimizer, Space, SpaceError
from addtree.configspace import from_configspace, to_configspace
from tests.strategies import ruled_spaces, seeds, solvable, spaces

N_SPACES = int(os.environ.get("ADDTREE_SPACES", "10"))
MODES = (
    {},
    {},
    {"covariance": "additive", "acquisition": "additive-ucb", "inference": "mle"},
    {"acquisition": "thompson"},
    {"covariance": "independent", "acquisition": "ucb"},
)
ANY_SPACES = st.one_of(
    spaces(depth=2), spaces(depth=2, finite=True), ruled_spaces(), ruled_spaces(finite=True)
)  # all constructs
ENUMERABLE = 20_000
thorough = settings(max_examples=N_SPACES, suppress_health_check=list(HealthCheck))


@thorough
@given(ANY_SPACES, seeds, st.sampled_from(MODES), st.integers(1, 8))
def test_twenty_asks_are_valid_and_differ(space, seed, mode, n_initial):
    """Values are random, some are huge or missing. A space is asked again only if nothing new is left in it."""
    if not solvable(space):
        return
    space, rng = Space.from_dict(json.loads(json.dumps(space.to_dict()))), np.random.default_rng(seed)
    given = [space.sample(rng) for _ in range(rng.integers(3))]
    initial = [{name: value for name, value in config.items() if rng.random() < 0.7} for config in given]
    optimizer = Optimizer(space, seed=seed, n_initial=n_initial, initial=initial, noise=0.0, **mode)
    seen: set[str] = set()
    for i in range(20):
        trial = optimizer.ask()
        assert space.validate(trial.config) == trial.config
        if i == 0 and initial:
            assert trial.config.items() >= initial[0].items()
        assert text(trial.config) not in seen or not anything_new(space, seen, rng)
        seen.add(text(trial.config))
        kind = rng.random()
        if kind < 0.8:
            optimizer.tell(trial, float(rng.normal() if kind < 0.7 else rng.choice([1e300, -1e-300, 0.0])))
        elif kind < 0.9:
            optimizer.tell(trial, failed=True)  # the others stay pending


def text(config):
    return json.dumps(config, sort_keys=True)


def anything_new(space, seen, rng):
    """Whether the space contains a configuration that was not seen."""
    if space.n_configs <= ENUMERABLE:
        return len(space.encoding.enumerate()) > len(seen)
    return any(text(space.sample(rng)) not in seen for _ in range(100))


@thorough
@given(ANY_SPACES, seeds)
def test_configurations_survive_every_form(space, seed):
    """Codes, JSON and ConfigSpace; what ConfigSpace cannot express is named by a warning."""
    if not solvable(space):
        return
    rng, encoding = np.random.default_rng(seed), space.encoding
    again = Space.from_dict(json.loads(json.dumps(space.to_dict())))
    assert again == space
    configs = [space.sample(rng) for _ in range(5)]
    for config in configs:
        assert space.validate(config) == config == again.validate(json.loads(json.dumps(config)))
        row = encoding.encode([config])[0]
        decoded = encoding.decode(row)
        assert decoded.keys() == config.keys()
        np.testing.assert_allclose(encoding.encode([decoded])[0], row, atol=1e-12)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            cs = to_configspace(space)
        except SpaceError:  # ConfigSpace refuses a parameter, which the error names
            return
        back = from_configspace(cs)
    assert all(warning.category is UserWarning for warning in caught)
    if not caught:
        for config in configs:
            CS.Configuration(cs, values=config).check_valid_configuration()
            assert back.validate(config) == config
