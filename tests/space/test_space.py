import json
import math
import pickle

import numpy as np
import pytest

from addtree import AddTreeGP, Categorical, Choice, Integer, Optimizer, Real, Space, minimize
from addtree.errors import ConfigError, SpaceError
from addtree.space.space import check_space


@pytest.fixture
def space():
    return Space(
        lr=Real(1e-5, 1e-1, log=True),
        model=Choice(
            svm=Space(
                C=Real(1e-3, 1e3, log=True),
                kernel=Choice(linear=Space(), rbf=Space(gamma=Real(1e-4, 10, log=True))),
            ),
            forest=Space(trees=Integer(10, 500, log=True), criterion=Categorical(["gini", "entropy"])),
        ),
    )


def test_the_tree_is_printed_for_a_person(space):
    assert str(space).splitlines() == [
        "lr: real [1e-05, 0.1] log",
        "model",
        "├─ 'svm'",
        "│  ├─ C: real [0.001, 1000] log",
        "│  └─ kernel",
        "│     ├─ 'linear'",
        "│     └─ 'rbf'",
        "│        └─ gamma: real [0.0001, 10] log",
        "└─ 'forest'",
        "   ├─ trees: integer 10..500 log",
        "   └─ criterion: one of 'gini', 'entropy'",
    ]


def test_vertices_paths_and_effective_dimension(space):
    assert [v.names for v in space.vertices] == [("lr",), ("C",), ("trees", "criterion"), ("gamma",)]
    assert space.n_paths == 3
    assert space.n_configs == float("inf")
    rbf = {"lr": 0.01, "model": "svm", "C": 1, "kernel": "rbf", "gamma": 1}
    assert space.effective_dimension(rbf) == 3
    assert list(space.variables) == ["lr", "model", "C", "kernel", "trees", "criterion", "gamma"]


def test_forty_binary_choices_have_two_to_the_forty_paths():
    space = Space({f"c{i}": Choice({0: Space({f"a{i}": Real(0, 1)}), 1: Space()}) for i in range(40)})
    assert space.n_paths == 2**40
    assert isinstance(space.n_paths, int)
    assert len(space.vertices) == 40
    assert (
        space.effective_dimension({f"c{i}": i % 2 for i in range(40)} | {f"a{i}": 0.5 for i in range(0, 40, 2)}) == 20
    )


def test_paths_beyond_any_float_are_counted():
    space = Space({f"c{i}": Choice({0: Space(), 1: Space()}) for i in range(1100)})
    assert space.n_paths == 2**1100
    assert space.n_configs == float("inf")  # more than a float can say
    assert Space({f"i{k}": Integer(1, 1000) for k in range(120)}).n_configs == float("inf")


def test_a_name_shared_by_all_options_belongs_to_the_vertex_above():
    space = Space(
        x=Real(0, 1),
        c=Choice(
            a=Space(y=Real(0, 1)),
            b=Space(y=Real(0, 1), d=Choice({1: Space(z=Real(0, 1)), 2: Space()})),
        ),
    )
    assert [v.names for v in space.vertices] == [("x", "y"), ("z",)]
    assert space.conditions["y"] == ((),)
    assert space.conditions["z"] == ((("c", 1), ("d", 0)),)


def test_a_name_shared_by_some_options_is_one_variable():
    options = {o: Space(gamma=Real(0, 1)) if o < 2 else Space() for o in range(3)}
    space = Space(c=Choice(options))
    assert list(space.variables) == ["c", "gamma"]
    assert space.conditions["gamma"] == ((("c", 0),), (("c", 1),))


def test_validate_returns_plain_values_in_the_order_of_the_tree(space):
    config = {"gamma": np.float64(1), "kernel": np.str_("rbf"), "C": 1, "model": "svm", "lr": np.float32(0.01)}
    out = space.validate(config)
    assert list(out) == ["lr", "model", "C", "kernel", "gamma"]
    assert json.loads(json.dumps(out)) == out


def test_nothing_a_caller_passes_is_changed():
    children = {"x": Real(0, 1)}
    options = {"a": Space(y=Real(0, 1))}
    space = Space(children, c=Choice(options))
    assert children == {"x": Real(0, 1)}
    assert options == {"a": Space(y=Real(0, 1))}
    config = {"x": 0, "c": "a", "y": 1}
    space.validate(config)
    assert config == {"x": 0, "c": "a", "y": 1}
    children["z"] = Real(0, 1)
    assert "z" not in space.variables


def test_every_option_is_drawn_alike(space):
    rng = np.random.default_rng(0)
    models = [space.sample(rng)["model"] for _ in range(400)]
    assert 150 < models.count("svm") < 250


def test_the_linear_representation_of_the_paper():
    """Appendix A: two configurations on different paths have unequal tags below the root."""
    space = Space(
        r=Real(-1, 1), t=Choice({1: Space(a=Real(-1, 1)), 2: Space(b=Real(-1, 1), k=Categorical(["x", "y"]))})
    )
    L = space.linearize([{"r": 0.5, "t": 1, "a": -0.5}, {"r": 0.25, "t": 2, "b": 0.0, "k": "x"}])
    nan = np.nan
    np.testing.assert_array_equal(L, [[0, 0.5, 0, -0.5, nan, nan, nan], [0, 0.25, nan, nan, 1, 0.0, 0.0]])
    assert space.linearize([]).shape == (0, 7)
    for wrong in ({"r": 0.5, "t": 1, "a": -0.5}, None):
        with pytest.raises(ConfigError, match=r"must be a list of configurations, got .*: \[config, \.\.\.\]"):
            space.linearize(wrong)


def test_forms_of_labels_that_are_no_strings():
    space = Space(c=Choice({3: Space(x=Real(0, 1)), None: Space(), True: Space(), "s": Space(), 0.5: Space()}))
    form = json.loads(json.dumps(space.to_dict()))
    assert form["c"]["options"][1] == [None, {}]
    again = Space.from_dict(form)
    assert again == space
    assert again.variables["c"].labels == (3, None, True, "s", 0.5)


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Choice(), ["Choice options", "empty", "at least one"]),
        (lambda: Choice({}), ["empty"]),
        (lambda: Choice(a=3), ["'a'", "must open a Space", "Space()"]),
        (lambda: Choice({"a": Space()}, a=Space()), ["'a'", "twice"]),
        (lambda: Choice(["a", "b"]), ["Choice", "mapping"]),
        (lambda: Space(x=3), ["'x'", "Real, Integer, Categorical or Choice", "3"]),
        (lambda: Space({3: Real(0, 1)}), ["name", "string", "3"]),
        (lambda: Space({"": Real(0, 1)}), ["name", "non-empty"]),
        (lambda: Space({"x": Real(0, 1)}, x=Real(0, 1)), ["'x'", "twice", "remove one"]),
        (lambda: Space([1]), ["Space", "mapping"]),
        (
            lambda: Space(c=Choice(a=Space(x=Real(0, 1)), b=Space(x=Real(0, 2)))),
            ["'x'", "two domains", "[0, 1]", "[0, 2]", "rename"],
        ),
        (lambda: Space(c=Choice(a=Space(x=Real(0, 1)), b=Space(x=Integer(0, 1)))), ["'x'", "two domains"]),
        (
            lambda: Space(c=Choice(a=Space(k=Choice(u=Space(x=Real(0, 1)))), b=Space(k=Choice(u=Space())))),
            ["'k'", "two domains, both a choice of ['u']: one has 'u': x: real [0, 1], the other has 'u': nothing;"],
        ),
        (lambda: Space(c=Choice(a=Space(x=Real(0, 1)), b=Space(x=Real(0, 1 + 1e-9)))), ["'x'", "1.000000001"]),
        (
            lambda: Space(c=Choice(a=Space(x=Categorical([0, 1])), b=Space(x=Categorical([False, True])))),
            ["'x'", "two domains"],
        ),
        (lambda: Space(x=Real(0, 1), c=Choice(a=Space(x=Real(0, 1)))), ["'x'", "twice on one path", "rename"]),
        (
            lambda: Space(c=Choice(a=Space(x=Real(0, 1))), d=Choice(b=Space(x=Real(0, 1)))),
            ["'x'", "twice on one path", "c='a'", "d='b'"],
        ),
    ],
)
def test_a_space_that_cannot_work_says_what_to_do(make, words):
    with pytest.raises(SpaceError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lr": 1.0}, ["'lr'", "1.0", "out of bounds", "1e-05"]),
        ({"lr": "fast"}, ["'lr'", "'fast'", "not a real number"]),
        ({"trees": 10.5}, ["'trees'", "10.5", "whole number"]),
        ({"criterion": "mse"}, ["'criterion'", "'mse'", "'gini'"]),
        ({"model": "tree"}, ["'model'", "'tree'", "'svm', 'forest'"]),
        ({"gamma": 1.0}, ["'gamma'", "inactive", "model='svm' and kernel='rbf'", "leave it out"]),
        ({"tree": 3}, ["'tree'", "unknown", "did you mean 'trees'?"]),
        ({"zzz": 3}, ["'zzz'", "unknown", "'lr'"]),
        ({"trees": None}, ["'trees'", "None"]),
        ({"trees": ...}, ["'trees'", "missing", "model='forest'", "integer 10..500"]),
        ({"model": ...}, ["'model'", "missing", "always", "'svm', 'forest'"]),
    ],
)
def test_a_configuration_that_does_not_belong_says_what_to_do(space, change, words):
    config = {"lr": 0.01, "model": "forest", "trees": 50, "criterion": "gini"} | change
    with pytest.raises(ConfigError) as caught:
        space.validate({name: value for name, value in config.items() if value is not ...})
    for word in words:
        assert word in str(caught.value)


def test_a_configuration_is_a_mapping(space):
    with pytest.raises(ConfigError, match="mapping of parameter names"):
        space.validate([("lr", 0.01)])


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ([], ["mapping"]),
        ({"x": 3}, ["'x'", "'type'"]),
        ({"x": {"type": "complex"}}, ["'x'", "'complex'", "'real', 'integer', 'categorical' or 'choice'"]),
        ({"x": {"type": "real", "low": 0}}, ["'x'", "lacks 'high'; add it"]),
        ({"x": {"type": "categorical"}}, ["'x'", "lacks 'values'"]),
        ({"c": {"type": "choice"}}, ["'c'", "lacks 'options'"]),
        ({"n": {"type": "integer", "low": 0, "high": 1, "opens": 3}}, ["'n'", "does not describe type 'integer'"]),
        ({"": {"rules": ["x < 1"]}}, ["'x' is unknown; known: none"]),
        ({"x": {"type": "real", "low": 1, "high": 0}}, ["'x'", "low must not exceed high"]),
        ({"x": {"type": "real", "low": 0, "high": 1, "step": 2}}, ["'x'", "step"]),
        ({"x": {"type": "categorical", "values": 3}}, ["'x'", "3"]),
        ({"c": {"type": "choice", "options": ["a", "b"]}}, ["'c'", "choice"]),
        ({"c": {"type": "choice", "options": 3}}, ["'c'", "choice"]),
        ({"c": {"type": "choice", "options": [["a", {}], ["a", {}]]}}, ["'c'", "'a'", "twice"]),
        ({"c": {"type": "choice", "options": {}}}, ["'c'", "empty"]),
    ],
)
def test_a_form_that_cannot_be_read_says_where(form, words):
    with pytest.raises(SpaceError) as caught:
        Space.from_dict(form)
    for word in words:
        assert word in str(caught.value)


def test_what_a_space_returns_cannot_change_it():
    space = Space(x=Real(0, 1), c=Choice(a=Space(), b=Space(y=Real(0, 1))))
    for mapping in (space.children, space.variables, space.conditions):
        with pytest.raises(TypeError):
            mapping["x"] = None
    fresh = pickle.dumps(Space(x=Real(0, 1), c=Choice(a=Space(), b=Space(y=Real(0, 1)))))
    assert space.encoding.n_columns == 3
    assert pickle.dumps(space) == fresh  # what is derived is not part of it
    assert pickle.loads(fresh) == space


def test_the_subspace_of_an_option():
    choice = Choice({True: Space(x=Real(0, 1)), 2: Space(y=Real(0, 1))})
    assert list(choice.subspace(2).children) == ["y"]
    with pytest.raises(ConfigError, match="'b' is not one of True, 2"):
        choice.subspace("b")


# ------------------------------------------------------------------ numbers that open parameters, and constants

unit = Real(0, 1)
LAYERS = Space(
    n=Integer(1, 4, opens={(2, 4): Space(u2=unit), (3, 4): Space(u3=unit)}),
    rate=Real(0, 1, opens={(0, 0.2): Space(m=unit), (0.5, 1): Space(m=unit, q=unit)}),
    k=Integer(3, 3),
)


def test_every_interval_that_contains_the_value_is_open():
    rate = {"rate": 0.3, "k": 3}
    assert LAYERS.validate({"n": 1, **rate}) == {"n": 1, **rate}
    assert set(LAYERS.validate({"n": 2, "u2": 0.1, **rate})) == {"n", "u2", "rate", "k"}
    assert set(LAYERS.validate({"n": 3, "u2": 0.1, "u3": 0.2, **rate})) == {"n", "u2", "u3", "rate", "k"}
    for rate_, names in ((0.2, {"m"}), (0.2000001, set()), (0.5, {"m", "q"})):
        config = {"n": 1, "k": 3, "rate": rate_, **dict.fromkeys(names, 0.5)}
        assert LAYERS.validate(config) == config


def test_errors_name_the_interval():
    with pytest.raises(ConfigError, match=r"'u2' is missing; it is active when n in 2\.\.4: add real"):
        LAYERS.validate({"n": 2, "rate": 0.3, "k": 3})
    with pytest.raises(ConfigError, match=r"'u3' = 0.5 is inactive .* it is active when n in 3\.\.4: leave it out"):
        LAYERS.validate({"n": 1, "rate": 0.3, "k": 3, "u3": 0.5})
    with pytest.raises(ConfigError, match=r"when rate in 0\.0\.\.0\.2, or rate in 0\.5\.\.1\.0"):
        LAYERS.validate({"n": 1, "rate": 0.3, "k": 3, "m": 0.5})


def test_paths_are_patterns_of_activity():
    assert LAYERS.n_paths == 9
    assert Space(n=Integer(1, 9, opens={(4, 6): Space(u=unit)})).n_paths == 2  # 1..3 and 7..9 are alike
    assert Space(n=Integer(1, 9, opens={(4, 6): Space()})).n_paths == 1
    assert Space(n=Integer(1, 4, opens={(1, 2): Space(s=unit), (3, 4): Space(s=unit)})).n_paths == 1
    split = {(1, 2): Space(s=unit, u=unit), (3, 4): Space(s=unit), (3, 3): Space(u=unit)}
    assert Space(n=Integer(1, 4, opens=split)).n_paths == 2  # 1..3 open the same parameters, in one space or in two


def test_a_name_in_disjoint_intervals_is_one_variable():
    assert [v.names for v in LAYERS.vertices] == [("n", "rate"), ("u2",), ("u3",), ("m",), ("q",)]
    both = Space(n=Integer(1, 4, opens={(1, 2): Space(s=unit), (3, 4): Space(s=unit)}))
    assert [v.names for v in both.vertices] == [("n", "s")]  # always active


def test_constants_are_in_configurations_only():
    config = {"n": 2, "u2": 0.1, "rate": 0.3, "k": 3}
    assert LAYERS.effective_dimension(config) == 3
    assert "k" not in LAYERS.encoding.names
    assert LAYERS.encoding.decode(LAYERS.encoding.encode([config])[0]) == config
    assert all("k" not in vertex.names for vertex in LAYERS.vertices)
    assert LAYERS.sample(np.random.default_rng(0))["k"] == 3
    with pytest.raises(ConfigError, match="'k': 4 is out of bounds"):
        LAYERS.validate({**config, "k": 4})


def test_an_interval_above_a_threshold_is_drawn_with_the_threshold():
    space = Space(x=Real(0, 1, opens={(math.nextafter(0.1, 1), 1): Space(u=unit)}))
    assert "0.1..1.0" in str(space)
    assert "u" not in space.validate({"x": 0.1})


def test_what_a_constant_opens_is_always_active():
    space = Space(n=Integer(1, 1, opens={(1, 1): Space(u=unit, c=Choice(a=Space(v=unit), b=Space()))}))
    assert space.validate({"n": 1, "u": 0.5, "c": "b"}) == {"n": 1, "u": 0.5, "c": "b"}
    assert space.conditions["u"] == ((),)
    assert space.n_paths == 2


def test_the_tree_shows_intervals():
    assert str(LAYERS).splitlines() == [
        "n: integer 1..4",
        "├─ 2..4",
        "│  └─ u2: real [0, 1]",
        "└─ 3..4",
        "   └─ u3: real [0, 1]",
        "rate: real [0, 1]",
        "├─ 0.0..0.2",
        "│  └─ m: real [0, 1]",
        "└─ 0.5..1.0",
        "   ├─ m: real [0, 1]",
        "   └─ q: real [0, 1]",
        "k: constant 3",
    ]


def test_forms_of_openers():
    assert Space.from_dict(json.loads(json.dumps(LAYERS.to_dict()))) == LAYERS
    assert LAYERS.to_dict()["n"]["opens"][0][:2] == [2, 4]
    assert pickle.loads(pickle.dumps(LAYERS)) == LAYERS
    assert eval(repr(LAYERS)) == LAYERS


def test_equality_ignores_the_order_of_everything_without_order():
    one = Space(x=unit, c=Choice(a=Space(y=unit, k=Categorical([1, 2])), b=Space()))
    other = Space(c=Choice(b=Space(), a=Space(k=Categorical([2, 1]), y=unit)), x=unit)
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) != repr(other)
    assert one != Space(x=unit, c=Choice(a=Space(y=unit), b=Space()))
    opens = {(1, 2): Space(u=unit), (4, 4): Space(v=unit)}
    assert Integer(1, 4, opens=opens) == Integer(1, 4, opens=dict(reversed(opens.items())))
    assert Integer(1, 4, opens=opens) != Integer(1, 4)


def test_a_choice_that_occurs_twice_in_different_order_is_one_choice():
    one, other = Choice(u=Space(x=unit), v=Space()), Choice(v=Space(), u=Space(x=unit))
    space = Space(c=Choice(a=Space(k=one), b=Space(k=other)))
    for config in ({"c": "a", "k": "u", "x": 0.5}, {"c": "b", "k": "u", "x": 0.5}, {"c": "b", "k": "v"}):
        assert space.encoding.decode(space.encoding.encode([config])[0]) == config


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Integer(1, 4, opens={(2, 5): Space()}), ["2..5", "not within 1..4"]),
        (lambda: Integer(1, 4, opens={(3, 2): Space()}), ["3..2", "empty"]),
        (lambda: Integer(1, 4, opens={3: Space()}), ["3 is not an interval", "(low, high)"]),
        (lambda: Integer(1, 4, opens={(1.5, 2): Space()}), ["whole number", "1.5"]),
        (lambda: Integer(0, 9, step=3, opens={(4, 5): Space()}), ["4..5", "no value of the grid"]),
        (lambda: Integer(1, 4, opens={(1, 2): {"x": unit}}), ["1..2", "must open a Space"]),
        (lambda: Integer(1, 4, opens=[(1, 2)]), ["opens=", "mapping of intervals"]),
        (
            lambda: Space(n=Integer(1, 4, opens={(2, 4): Space(u=unit), (4, 4): Space(u=unit)})),
            ["'u' occurs twice on one path", "under n in 2..4", "under n in 4..4"],
        ),
        (lambda: Space(u=unit, n=Integer(1, 4, opens={(2, 4): Space(u=unit)})), ["'u' occurs twice", "n in 2..4"]),
        (lambda: Space(None), ["Space(None)", "mapping of names to parameters"]),
        (lambda: Space(x={"type": "real"}), ["'x' must be a Real", "Space.from_dict"]),
        (lambda: check_space({"x": unit}), ["must be an addtree.Space", "Space({...})"]),
        (lambda: check_space(None), ["must be an addtree.Space", "None"]),
        (lambda: Optimizer({"x": unit}), ["must be an addtree.Space", "Space({...})"]),
        (lambda: minimize(lambda config: 0.0, None, n_trials=1), ["must be an addtree.Space", "None"]),
        (lambda: AddTreeGP(None), ["must be an addtree.Space", "None"]),
        (lambda: Space(x=Categorical([(1,)])).to_dict(), ["'x'", "(1,)", "cannot be saved"]),
        (lambda: Space(c=Choice({"a": Space(d=Choice({(1,): Space()}))})).to_dict(), ["'c'", "'d'", "(1,)"]),
        (lambda: Space.from_dict({"x": {"type": "real", "low": 0, "hihg": 1}}), ["'hihg'", "did you mean 'high'?"]),
    ],
)
def test_bad_openers_spaces_and_labels_say_what_to_do(make, words):
    with pytest.raises(SpaceError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("config", [{"depth": 2, "dpeth": 3}, {"dpeth": 3}])
def test_a_misspelt_name_suggests_the_right_one(config):
    with pytest.raises(ConfigError, match=r"'dpeth' = 3 is unknown; did you mean 'depth'\?"):
        Space(depth=Integer(1, 9)).validate(config)
