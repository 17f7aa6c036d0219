"""A flattened space has every variable in one node, and a flat configuration contains one of the space."""

import numpy as np

import addtree as at
from addtree.paper.baselines.flat import active_part, flattened

SPACE = at.Space(
    a=at.Choice(p=at.Space(x=at.Real(-1, 1)), q=at.Space(k=at.Integer(3, 5), c=at.Categorical(["u", "v"]))),
    y=at.Real(0, 2),
)


def test_a_flattened_space_has_the_same_variables_and_one_path():
    flat = flattened(SPACE)
    assert list(flat.variables) == list(SPACE.variables)
    assert flat.n_paths == 1
    assert flat.variables["a"] == at.Categorical(["p", "q"])


def test_the_active_part_is_what_the_choices_activate():
    full = {"a": "q", "x": 0.5, "k": 4, "c": "v", "y": 1.0}
    assert active_part(SPACE, full) == {"a": "q", "k": 4, "c": "v", "y": 1.0}
    assert active_part(SPACE, full | {"a": "p"}) == {"a": "p", "x": 0.5, "y": 1.0}


def test_the_active_part_of_any_flat_configuration_is_valid():
    flat, rng = flattened(SPACE), np.random.default_rng(0)
    for _ in range(20):
        full = flat.sample(rng)
        config = active_part(SPACE, full)
        assert SPACE.validate(config) == config
        assert all(full[name] == value for name, value in config.items())
