"""What holds of the suggestions on every space. `ADDTREE_SPACES=10000` tries that many random spaces."""

import json
import os

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from addtree import Optimizer, Space
from tests.strategies import seeds, spaces

N_SPACES = int(os.environ.get("ADDTREE_SPACES", "20"))
MODES = (
    {},
    {},
    {"covariance": "additive", "acquisition": "additive-ucb", "inference": "mle"},
    {"acquisition": "thompson"},
    {"covariance": "independent", "acquisition": "ucb"},
)


@settings(max_examples=N_SPACES, suppress_health_check=list(HealthCheck))
@given(st.one_of(spaces(depth=2), spaces(depth=2, finite=True)), seeds, st.sampled_from(MODES), st.integers(1, 8))
def test_twenty_asks_are_valid_and_differ(space, seed, mode, n_initial):
    """Values are random, some are huge or missing. A space is asked again only if nothing new is left in it."""
    space = Space.from_dict(json.loads(json.dumps(space.to_dict())))
    optimizer, rng = Optimizer(space, seed=seed, n_initial=n_initial, **mode), np.random.default_rng(seed)
    seen: set[str] = set()
    for _ in range(20):
        trial = optimizer.ask()
        assert space.validate(trial.config) == trial.config
        row = space.encoding.encode([trial.config])[0]
        again = space.encoding.decode(row)
        assert again.keys() == trial.config.keys()
        text = json.dumps(trial.config, sort_keys=True)
        assert text not in seen or len(seen) >= space.n_configs
        seen.add(text)
        kind = rng.random()
        if kind < 0.8:
            optimizer.tell(trial, float(rng.normal() if kind < 0.7 else rng.choice([1e300, -1e-300, 0.0])))
        elif kind < 0.9:
            optimizer.tell(trial, failed=True)  # the others stay pending
