import re

import numpy as np
import pytest

from addtree import Categorical, Choice, ConfigError, Integer, OptionError, Real, Space
from addtree.search.design import next_row
from addtree.space.restriction import Restriction, read_initial

gamma = Real(0, 1)
SPACE = Space(
    x=Real(0, 1),
    model=Choice(
        svm=Space(
            C=Real(1e-3, 1e3, log=True), kernel=Choice(linear=Space(), rbf=Space(gamma=gamma), poly=Space(gamma=gamma))
        ),
        gp=Space(gamma=gamma),
        forest=Space(trees=Integer(1, 9), criterion=Categorical(["gini", "entropy"])),
    ),
)


def completions(partial, **options):
    rng = np.random.default_rng(0)
    restriction = Restriction.of(SPACE.encoding, partial, **options)
    X = restriction.conform(SPACE.encoding.sample(300, rng), rng)
    return [restriction.restore(SPACE.encoding.decode(row)) for row in X]


def test_a_given_parameter_implies_the_option_that_activates_it():
    assert {config["model"] for config in completions({"trees": 3})} == {"forest"}
    assert {config["model"] for config in completions({"kernel": "linear"})} == {"svm"}


def test_where_several_options_activate_it_the_choice_is_left_to_the_completion():
    found = {(config["model"], config.get("kernel")) for config in completions({"gamma": 0.5})}
    assert found == {("svm", "rbf"), ("svm", "poly"), ("gp", None)}
    found = {(config["model"], config["kernel"]) for config in completions({"gamma": 0.5, "C": 3})}
    assert found == {("svm", "rbf"), ("svm", "poly")}


def test_an_optional_value_counts_where_the_parameter_is_active():
    found = completions({"gamma": 0.5, "x": 0.25}, optional=["gamma"])
    assert {config["model"] for config in found} == {"svm", "gp", "forest"}
    assert {config.get("gamma") for config in found} == {0.5, None}
    assert {config["x"] for config in found} == {0.25}


def test_given_values_are_kept_to_the_last_digit():
    values = [v for v in (0.1, 0.3, 0.7, 7.7) if _round_trip(v) != v]
    assert values
    for value in values:
        assert {config["C"] for config in completions({"C": value})} == {value}


def _round_trip(value):
    return SPACE.encoding.decode_value("C", SPACE.encoding.encode_value("C", value))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"x": 2}, ["parameter 'x': 2.0 is out of bounds [0.0, 1.0]", "use a value inside"]),
        ({"trees": "many"}, ["parameter 'trees': 'many' is not a whole number"]),
        ({"model": "tree"}, ["parameter 'model': 'tree' is not one of 'svm', 'gp', 'forest'"]),
        ({"tres": 3}, ["parameter 'tres' = 3 is unknown", "did you mean 'trees'?"]),
        (
            {"x": 0.5, "trees": 3, "C": 2},
            ["parameters 'trees' = 3 and 'C' = 2.0 are never active together", "when model='forest'", "leave one"],
        ),
        ({"model": "svm", "trees": 3}, ["'model' = 'svm' and 'trees' = 3", "never active together"]),
        ({"kernel": "linear", "gamma": 0.5}, ["'kernel' = 'linear' and 'gamma' = 0.5"]),
        (["x"], ["a configuration is a mapping"]),
    ],
)
def test_an_invalid_entry_is_named(entry, words):
    with pytest.raises(ConfigError) as caught:
        read_initial(SPACE.encoding, [{"x": 0.5}, entry])
    for word in ["initial[1]: ", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize("initial", [{"x": 0.5}, "x", None, 3])
def test_initial_configurations_are_a_list(initial):
    with pytest.raises(OptionError, match="must be a list of configurations"):
        read_initial(SPACE.encoding, initial)


# ---------------------------------------------------------------------- numbers that open parameters


LAYERS = Space(
    n=Integer(1, 6, opens={(2, 6): Space(u2=Integer(1, 3)), (4, 6): Space(u4=Integer(1, 3), k=Integer(7, 7))}),
    x=Categorical(["a", "b"]),
)


@pytest.mark.parametrize(
    "partial", [{}, {"u2": 3}, {"u4": 1}, {"u4": 1, "u2": 2}, {"n": 3}, {"n": 5, "u4": 2}, {"k": 7}, {"x": "a", "n": 1}]
)
@pytest.mark.parametrize("optional", [False, True])
def test_numbers_that_open_parameters_agree_as_brute_force_says(partial, optional):
    encoding, rng = LAYERS.encoding, np.random.default_rng(0)
    restriction = Restriction.of(encoding, partial, optional=partial if optional else ())
    X = encoding.enumerate()
    configs = [encoding.decode(row) for row in X]
    expected = [all(config.get(n, v if optional else None) == v for n, v in partial.items()) for config in configs]
    assert restriction.agrees(X).tolist() == expected
    rows = [*restriction.conform(encoding.sample(50, rng), rng), next_row(encoding, X[:5], rng, restriction)]
    for row in rows:
        config = restriction.restore(encoding.decode(row))
        assert LAYERS.validate(config) == config
        np.testing.assert_array_equal(encoding.encode([config])[0], row)
    assert restriction.agrees(np.array(rows)).all()


def test_a_parameter_below_an_interval_implies_the_interval():
    rng = np.random.default_rng(0)
    restriction = Restriction.of(LAYERS.encoding, {"u4": 1})
    X = restriction.conform(LAYERS.encoding.sample(200, rng), rng)
    assert {LAYERS.encoding.decode(row)["n"] for row in X} == {4, 5, 6}
    with pytest.raises(ConfigError, match="'n' = 3 and 'u4' = 1 are never active together"):
        Restriction.of(LAYERS.encoding, {"n": 3, "u4": 1})


# ---------------------------------------------------------------------- rules


RULED = Space(
    a=Real(0, 1), b=Real(0, 1), c=Choice(u=Space(k=Integer(0, 50)), v=Space(m=Integer(0, 50), n=Integer(0, 50)))
).where("a <= b", "m + n == 7", "k > 40")


@pytest.mark.parametrize("partial", [{"a": 0.9}, {"m": 3}, {"k": 44}, {"b": 0.01, "c": "v"}, {"a": 0.1, "n": 7}])
def test_completions_satisfy_the_rules(partial):
    encoding, rng = RULED.encoding, np.random.default_rng(0)
    restriction = Restriction.of(encoding, partial)
    X = encoding.sample(40, rng)
    for row in [*restriction.complete(X, rng), next_row(encoding, X, rng, restriction)]:
        config = RULED.validate(restriction.restore(encoding.decode(row)))
        assert config.items() >= partial.items()


@pytest.mark.parametrize("partial", [{"a": 0.9, "b": 0.5}, {"m": 9}, {"k": 3}])
def test_values_that_the_rules_exclude_are_named(partial):
    with pytest.raises(
        ConfigError, match=r"no valid configuration with .* was found; the rules on them are '.*': change"
    ):
        Restriction.of(RULED.encoding, partial)


def test_a_whole_configuration_is_judged_by_its_exact_values():
    """As codes, 0.3 of [0, 1] and of [0.1, 0.7] are not the same number to the last digit."""
    space = Space(a=Real(0, 1), b=Real(0.1, 0.7)).where("a == b")
    values = [v for v in np.linspace(0.15, 0.65, 40).tolist() if not exactly_equal(space, v)]
    assert values
    for value in values:
        config = {"a": value, "b": value}
        restriction = Restriction.of(space.encoding, config)
        assert restriction.restore(space.encoding.decode(restriction.row)) == config
    with pytest.raises(ConfigError, match="a == b"):
        Restriction.of(space.encoding, {"a": 0.3, "b": 0.4})


def exactly_equal(space, value):
    a, b = (space.encoding.decode_value(name, space.encoding.encode_value(name, value)) for name in ("a", "b"))
    return a == b


def test_rules_that_exclude_a_value_together_are_all_named():
    space = Space(a=Real(0, 1), b=Real(0, 1), c=Real(0, 1)).where("a <= b", "b <= 0.5", "c <= 0.5")
    with pytest.raises(ConfigError, match=r"the rules on them are 'a <= b', 'b <= 0.5': change"):
        Restriction.of(space.encoding, {"a": 0.9})


def test_a_rule_that_the_values_violate_by_themselves_is_named_alone():
    below = Space(v=Integer(0, 5)).where("v % 2 == 1")
    space = Space(n=Integer(1, 3, opens={(3, 3): below}), a=Real(0, 1)).where("a < 0.9", "a < v", lambda config: True)
    for given, rule in (({"v": 2}, "'v % 2 == 1'"), ({"a": 0.95}, "'a < 0.9'"), ({"a": 0.95, "v": 1}, "'a < 0.9'")):
        with pytest.raises(ConfigError, match=f"the rules on them are {rule}: change"):
            Restriction.of(space.encoding, given)


def test_an_option_names_the_rules_that_exclude_it_and_no_others():
    unit = Real(0, 1)
    space = Space(
        c=Choice(a=Space(x=unit).where("x > 2"), b=Space(y=unit).where("y < 0.5"), d=Space(n=unit, v=unit)), z=unit
    ).where("z < 0.5", "n <= 0.5 and n >= v + 1")
    for given, rules in (({"c": "a"}, "'x > 2'"), ({"x": 0.5}, "'x > 2'"), ({"c": "d"}, "'n <= 0.5 and n >= v + 1'")):
        with pytest.raises(ConfigError, match=f"the rules on them are {re.escape(rules)}: change"):
            Restriction.of(space.encoding, given)


def test_a_value_on_the_boundary_of_a_rule_stays_valid():
    space = Space(a=Real(0, 1), b=Real(0.1, 0.7)).where("a <= b", "b <= a")
    for value in np.linspace(0.15, 0.65, 20).tolist():
        restriction = Restriction.of(space.encoding, {"a": value, "b": value})
        space.validate(restriction.restore(space.encoding.decode(restriction.row)))


def test_a_restriction_without_some_cells() -> None:
    space = Space(
        x=Real(0, 10, opens={(0, 5): Space()}), c=Choice(a=Space(), b=Space(y=Real(0, 1)), old=Space()), z=Real(0, 1)
    )
    encoding, rng = space.encoding, np.random.default_rng(0)
    free = Restriction.of(encoding, {})
    narrowed = free.narrowed({"x": {1}, "c": {2}}, {"z": 0.25})
    configs = [encoding.decode(row) for row in narrowed.conform(encoding.sample(50, rng), rng)]
    assert all(config["x"] <= 5 and config["c"] != "old" and config["z"] == 0.25 for config in configs)
    assert [narrowed.allows("x", value) for value in (3.0, 7.0)] == [True, False]
    assert [narrowed.allows("c", value) for value in ("a", "old")] == [True, False]
    assert [narrowed.allows("z", value) for value in (0.25, 0.75)] == [True, False]
    assert narrowed.allows("y", 0.5)
    given = Restriction.of(encoding, {"x": 7.0, "c": "old", "z": 0.5}).narrowed({"x": {1}, "c": {2}}, {"z": 0.25})
    assert given.row is not None
    assert encoding.decode(given.row) == {"x": 7.0, "c": "old", "z": 0.5}  # What is given counts more.
