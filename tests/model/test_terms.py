import pytest

from addtree import Choice, Real, Space
from addtree.errors import OptionError
from addtree.model.terms import ACTIVE, make_terms
from addtree.space.encoding import Encoding

unit = Real(0, 1)
TREE = Space(x=unit, c=Choice(a=Space(y=unit, d=Choice({1: Space(z=unit), 2: Space()})), b=Space()))
TWO = Space(x=unit, c=Choice(a=Space(y=unit), b=Space()), d=Choice({1: Space(z=unit), 2: Space()}))


def described(space, covariance):
    encoding = Encoding(space)
    return {
        (
            term.kind,
            tuple(sorted(encoding.names[j] for j in term.columns)),
            tuple((encoding.names[j], low) for j, low, high in term.gate if (low, high) != ACTIVE),
            term.smooth,
        )
        for term in make_terms(encoding, covariance)
    }


def test_additive_has_one_smooth_term_per_vertex():
    assert described(TREE, "additive") == {
        ("main", ("x",), (), True),
        ("main", ("y",), (), True),
        ("main", ("z",), (), True),
    }


def test_interactions_read_all_above_and_options_have_offsets():
    a, b = ("c", 0), ("c", 1)
    assert described(TREE, "additive+interactions") - described(TREE, "additive") == {
        *(("trend", (name,), (), True) for name in "xyz"),
        ("offset", (), (a,), True),
        ("offset", (), (b,), True),
        ("offset", (), (("d", 0),), True),
        ("offset", (), (("d", 1),), True),
        ("interaction", ("x",), (), False),
        ("interaction", ("x", "y"), (a,), False),
        ("interaction", ("x", "y", "z"), (("d", 0),), False),  # d occurs only there, so c=0 goes without saying
        ("interaction", ("x", "y"), (("d", 1),), False),
        ("interaction", ("x",), (b,), False),
    }


def test_independent_choices_have_a_term_across_them():
    assert ("interaction", ("c", "d", "x", "y", "z"), (), False) in described(TWO, "additive+interactions")


def test_independent_has_one_term_per_path_with_its_own_lengthscales():
    assert described(TREE, "independent") == {
        ("path", ("x", "y", "z"), (("c", 0), ("d", 0)), True),
        ("path", ("x", "y"), (("c", 0), ("d", 1)), True),
        ("path", ("x",), (("c", 1),), True),
    }
    terms = make_terms(Encoding(TREE), "independent")
    scales = [s for term in terms for s in term.scales]
    assert sorted(scales) == list(range(6))


def test_a_choice_found_in_two_places_is_told_apart_by_the_way_there():
    """k occurs under both options of c, and so whenever c does; what is below it still has two places."""
    k = Choice(u=Space(w=unit), v=Space())
    space = Space(c=Choice(a=Space(y=unit, k=k), b=Space(z=unit, k=k)))
    encoding = Encoding(space)
    found = described(space, "additive+interactions")
    for name, option in (("y", 0), ("z", 1)):
        assert ("interaction", (name, "w") if name < "w" else ("w", name), (("c", option), ("k", 0)), False) in found
    for config in ({"c": "a", "y": 0.5, "k": "u", "w": 0.5}, {"c": "b", "z": 0.5, "k": "v"}):
        x = encoding.encode([config])[0]
        for term in make_terms(encoding, "additive+interactions"):
            gated = [condition for condition in term.gate if condition[1:] != ACTIVE]
            if len(gated) == len(term.gate) and all(low <= x[j] <= high for j, low, high in gated):
                assert not any(x[j] != x[j] for j in term.columns), term.label  # no term reads what is inactive


def test_labels_are_for_people():
    labels = [term.label for term in make_terms(Encoding(TREE), "additive+interactions")]
    assert labels[:3] == ["x", "y", "z"]
    assert "c='a'" in labels
    assert "d=1" in labels
    assert "x × y | c='a'" in labels


def test_unknown_covariance_lists_the_known_ones():
    with pytest.raises(OptionError, match=r"'additiv'.*'additive', 'additive\+interactions', 'independent'"):
        make_terms(Encoding(TREE), "additiv")


def test_independent_models_of_too_many_paths_are_refused():
    space = Space({f"c{i}": Choice({0: Space(), 1: Space()}) for i in range(10)})
    with pytest.raises(OptionError, match=r"1024 paths.*use 'additive'"):
        make_terms(Encoding(space), "independent")
