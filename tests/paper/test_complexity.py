"""The complexity experiment: the naive search finds what dense sampling finds, and the measurement has its form."""

import numpy as np

from addtree.paper import complexity
from addtree.search.acquisition import beta, ucb


def test_every_leaf_beats_random_rows():
    rng = np.random.default_rng(0)
    encoding, posterior = complexity.model(complexity.binary_tree(3), 20, rng)
    row, value = complexity.every_leaf(encoding, posterior, rng)
    assert encoding.decode(row).keys() <= set(encoding.names)
    X = encoding.encode([encoding.space.sample(rng) for _ in range(300)])
    bound = ucb(beta(np.full(300, 3.0), complexity.OBSERVATIONS))
    assert value >= bound(*posterior.predict(posterior.kernel.rows(X)))[0].max() - 1e-6


def test_measurement_has_a_time_per_size():
    found = complexity.measure(quick=True)
    for experiment, axis in (("inference", "sizes"), ("acquisition", "depths")):
        for times in found[experiment].values():
            assert len(times) == len(found[axis])
            assert min(times) > 0
