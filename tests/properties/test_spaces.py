"""What holds of every space."""

import json
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from addtree import Categorical, Choice, Space
from addtree.errors import ConfigError
from addtree.search.design import initial_design, rows_needed
from addtree.space.encoding import Encoding
from tests.strategies import opened, paths, reordered, sample, seeds, spaces


def active(space: Space, config: dict) -> set[str]:
    """The variables of a configuration, by recursion over the tree itself."""
    found = set(space.children)
    for name, child in space.children.items():
        for sub in opened(child, config.get(name)):
            found |= active(sub, config)
    return found


def varies(domain) -> bool:
    return not isinstance(domain, Choice) and domain.size > 1


@given(spaces(depth=3), seeds)
def test_a_sample_is_valid_and_holds_the_active_parameters_only(space, seed):
    for config in sample(space, 5, seed):
        assert space.validate(config) == config
        assert set(config) == active(space, config)
        assert space.effective_dimension(config) == sum(varies(space.variables[name]) for name in config)


@given(spaces(depth=3), seeds)
def test_decode_undoes_encode(space, seed):
    encoding = Encoding(space)
    configs = sample(space, 5, seed)
    X = encoding.encode(configs)
    for row, config in zip(X, configs, strict=True):
        constants = {
            name for name, domain in space.variables.items() if not isinstance(domain, Choice) and domain.size == 1
        }
        assert {name for j, name in enumerate(encoding.names) if not np.isnan(row[j])} == set(config) - constants
        again = encoding.decode(row)
        assert again.keys() == config.keys()
        for name, value in config.items():
            assert type(again[name]) is type(value)
            if isinstance(value, float) and not is_choice(space, name) and space.variables[name].size == math.inf:
                assert again[name] == pytest.approx(value, rel=1e-11, abs=1e-12 * space.variables[name].high)
            else:
                assert again[name] == value
    np.testing.assert_allclose(encoding.encode([encoding.decode(row) for row in X]), X, atol=1e-13)


@given(spaces(depth=3), seeds)
def test_rows_drawn_by_the_encoding_are_valid_and_snapped(space, seed):
    encoding = Encoding(space)
    X = encoding.sample(10, np.random.default_rng(seed))
    configs = [encoding.decode(row) for row in X]
    np.testing.assert_allclose(encoding.encode(configs), X, atol=1e-13)


@given(spaces(depth=3), seeds)
def test_snap_rounds_each_column_to_the_code_of_its_nearest_value(space, seed):
    encoding = Encoding(space)
    rng = np.random.default_rng(seed)
    X = encoding.sample(6, rng)
    moved = np.where(encoding.is_numeric, X + 0.4 * rng.normal(size=X.shape), X)
    before = moved.copy()
    snapped = encoding.snap(moved)
    np.testing.assert_array_equal(moved, before)
    for j, name in enumerate(encoding.names):
        domain = space.variables[name]
        if j in encoding.cells:
            continue  # a number that moved may have left its cell
        for u, v in zip(moved[:, j], snapped[:, j], strict=True):
            if np.isnan(u):
                assert np.isnan(v)
            elif not isinstance(domain, Choice):
                assert v == pytest.approx(encoding.encode_value(name, encoding.decode_value(name, u)), abs=1e-13)


@given(spaces(depth=3))
def test_from_dict_undoes_to_dict_through_json(space):
    assert Space.from_dict(json.loads(json.dumps(space.to_dict()))) == space
    again = Space.from_dict(json.loads(json.dumps(space.to_dict())))
    assert hash(again) == hash(space)
    assert repr(again) == repr(space)  # also where True == 1


@given(spaces(depth=3))
def test_paths_are_counted_exactly(space):
    found = list(paths(space))
    rows = Encoding(space).paths()
    assert len(rows) == len(found)
    assert len({row.tobytes() for row in np.where(np.isnan(rows), -1, rows)}) == len(found)
    patterns = {
        (frozenset(active(space, way)), tuple((n, repr(way[n])) for n in sorted(way) if is_choice(space, n)))
        for way in found
    }
    assert space.n_paths == len(patterns)


def is_choice(space, name):
    return isinstance(space.variables[name], Choice)


@given(spaces(depth=2, finite=True))
def test_a_finite_space_is_listed_whole(space):
    encoding = Encoding(space)

    def count(space: Space) -> int:
        sizes = []
        for child in space.children.values():
            values = child.labels if isinstance(child, Choice) else child.values
            sizes.append(sum(math.prod(count(sub) for sub in opened(child, value)) for value in values))
        return math.prod(sizes)

    assert space.n_configs == count(space)
    if space.n_configs <= 2000:
        X = encoding.enumerate()
        assert len(set(encoding.keys(X))) == len(X) == space.n_configs
        for row in X[:: max(1, len(X) // 50)]:
            space.validate(encoding.decode(row))


@given(spaces(depth=3), seeds)
def test_vertices_are_the_maximal_sets_that_are_active_together(space, seed):
    names = [name for vertex in space.vertices for name in vertex.names]
    parameters = [name for name, domain in space.variables.items() if varies(domain)]
    assert sorted(names) == sorted(parameters)
    when = {name: [] for name in parameters}
    for choices in paths(space):
        on = active(space, choices)
        for name in parameters:
            when[name].append(name in on)
    vertex_of = {name: v for v, vertex in enumerate(space.vertices) for name in vertex.names}
    for one, other in product(parameters, parameters):
        assert (vertex_of[one] == vertex_of[other]) == (when[one] == when[other])


@given(spaces(depth=3), seeds)
def test_a_condition_says_when_a_variable_is_active(space, seed):
    for config in sample(space, 5, seed):
        for name, condition in space.conditions.items():
            holds = [
                all(c in config and space.variables[c]._cell(config[c]) == cell for c, cell in location)
                for location in condition
            ]
            assert sum(holds) == (name in config)


@given(spaces(depth=3))
def test_printing_names_everything_once_per_place(space):
    text = str(space)

    def places(space: Space) -> int:
        below = [
            child.spaces if isinstance(child, Choice) else getattr(child, "opens", {}).values()
            for child in space.children.values()
        ]
        return len(space.children) + sum(1 + places(sub) for subs in below for sub in subs)

    assert len(text.splitlines()) == places(space)
    for name in space.variables:
        assert name in text


@given(spaces(depth=2), seeds)
def test_linear_representation_has_tags_and_values_of_active_nodes(space, seed):
    configs = sample(space, 4, seed)
    L = space.linearize(configs)
    assert L.shape == (4, sum(1 + len(node.parameters) for node in space.nodes))
    for row, config in zip(L, configs, strict=True):
        on = {node.location for node in space.active_nodes(config)}
        at = 0
        for node in space.nodes:
            tag, values = row[at], row[at + 1 : at + 1 + len(node.parameters)]
            at += 1 + len(node.parameters)
            if node.location in on and node.parameters:
                assert tag == (node.location[-1][1] if node.location else 0)
                for name, value in zip(node.parameters, values, strict=True):
                    domain = space.variables[name]
                    is_category = isinstance(domain, Categorical)
                    assert value == (domain.position(config[name]) if is_category else float(config[name]))
            else:
                assert np.isnan(tag)
                assert np.all(np.isnan(values))


@given(spaces(depth=3), seeds)
def test_order_of_siblings_changes_nothing_about_a_configuration(space, seed):
    other = reordered(space)
    assert other == space
    assert hash(other) == hash(space)
    assert other.n_paths == space.n_paths
    assert {frozenset(v.names) for v in other.vertices} == {frozenset(v.names) for v in space.vertices}
    for config in sample(space, 5, seed):
        assert other.validate(config) == config


@given(spaces(depth=3), seeds, st.data())
def test_an_inactive_missing_or_unknown_parameter_is_refused(space, seed, data):
    (config,) = sample(space, 1, seed)
    name = data.draw(st.sampled_from(sorted(config)))
    missing = {k: v for k, v in config.items() if k != name}
    with pytest.raises(ConfigError, match=r"missing|inactive"):
        space.validate(missing)
    inactive = sorted(set(space.variables) - set(config))
    if inactive:
        name = data.draw(st.sampled_from(inactive))
        with pytest.raises(ConfigError, match="inactive"):
            space.validate({**config, name: 0})
    with pytest.raises(ConfigError, match="unknown"):
        space.validate({**config, "nobody": 0})


@given(spaces(depth=2), seeds)
def test_the_initial_design_sees_every_option_and_spreads_every_number(space, seed):
    encoding = Encoding(space)
    n = min(max(8, 2 * rows_needed(encoding)[0]), 24)
    X = initial_design(encoding, n, np.random.default_rng(seed))
    for row in X:
        space.validate(encoding.decode(row))
    visits = n // rows_needed(encoding)[0]
    assert 2 * rows_needed(encoding)[0] > 24 or visits >= 2
    for i, node in enumerate(space.nodes):
        by_choices_only = all(is_choice(space, name) for name, _ in node.location)
        assert encoding.inside(X, i).sum() >= min(visits, 2 if by_choices_only else 1)
    for name in space.nodes[0].parameters:
        if encoding.size(encoding.index[name]) == math.inf and encoding.index[name] not in encoding.cells:
            u = X[:, encoding.index[name]]
            np.testing.assert_array_equal(np.sort(np.floor(u * n)), np.arange(n))
