"""Any earlier study can help a run on any space. `ADDTREE_SPACES=1000` tries that many pairs of random spaces."""

import json
import os

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from addtree import Optimizer
from addtree.run.history import EarlierTask, adapt
from tests.strategies import ruled_spaces, seeds, solvable, spaces

N_SPACES = int(os.environ.get("ADDTREE_SPACES", "10"))
ANY_SPACES = st.one_of(spaces(depth=2), spaces(depth=1, finite=True), ruled_spaces())
thorough = settings(max_examples=N_SPACES, suppress_health_check=list(HealthCheck))


def random_task(space, rng, n):
    """Random configurations with random values, some of them wild or missing; some parameters are left out."""
    configs = [space.sample(rng) for _ in range(n)]
    values = [None if rng.random() < 0.1 else float(rng.choice([rng.normal(), 1e300, -1e-300, 3])) for _ in configs]
    if rng.random() < 0.3:
        gone = set(rng.choice(list(space.variables), size=1).tolist())
        configs = [{name: value for name, value in config.items() if name not in gone} for config in configs]
    return list(zip(configs, values, strict=True))


@thorough
@given(ANY_SPACES, st.lists(ANY_SPACES, min_size=1, max_size=2), seeds)
def test_a_history_of_any_space_can_be_given_to_a_run_on_any_space(space, others, seed):
    if not all(map(solvable, [space, *others])):
        return
    rng = np.random.default_rng(seed)
    history = [random_task(other, rng, int(rng.integers(1, 12))) for other in (*others, space)]
    optimizer = Optimizer(space, seed=seed, history=history, n_initial=3)
    for _ in range(6):
        trial = optimizer.ask()
        assert space.validate(trial.config) == trial.config
        optimizer.tell(trial, float(rng.normal()))


@thorough
@given(ANY_SPACES, seeds)
def test_a_history_on_the_same_space_is_used_as_it_is(space, seed):
    if not solvable(space):
        return
    rng = np.random.default_rng(seed)
    configs = [space.sample(rng) for _ in range(5)]
    task = EarlierTask(tuple(configs), ((0.0, 1.0, 2.0, 3.0, 4.0),))
    adapted = adapt([task], space.encoding)
    assert adapted == adapt(adapted, space.encoding) == (task,)
    assert EarlierTask.from_dict(json.loads(json.dumps(task.to_dict()))) == task
