"""Spaces that are built from domains and parents."""

from __future__ import annotations

import pytest

from addtree import Categorical, Choice, Integer, Real, Space
from addtree.errors import SpaceError
from addtree.space.assembly import Gate, Parents, assemble, assemble_strictly

ROOT: Parents = frozenset([None])
BINARY = Gate(2, ordered=False)
DOMAINS = {"a": Categorical((0, 1)), "b": Categorical((0, 1)), "x": Real(0, 1)}


def test_options_share_a_parameter() -> None:
    parents: dict[str, Parents] = {"a": ROOT, "b": frozenset([("a", 0)]), "x": frozenset([("a", 1), ("b", 1)])}
    space = assemble_strictly(parents, DOMAINS, {"a": BINARY, "b": BINARY})
    x = Space(x=Real(0, 1))
    assert space == Space(a=Choice({0: Space(b=Choice({0: Space(), 1: x})), 1: x}))


def test_the_options_have_the_labels_of_the_gate() -> None:
    parents: dict[str, Parents] = {"a": ROOT, "b": ROOT, "x": frozenset([("a", 1)])}
    space = assemble_strictly(parents, DOMAINS, {"a": Gate(2, ordered=False, labels=("no", "yes"))})
    assert space == Space(a=Choice(no=Space(), yes=Space(x=Real(0, 1))), b=Categorical((0, 1)))


def test_an_unobserved_position_of_an_ordered_gate_opens_what_the_nearest_one_opens() -> None:
    parents: dict[str, Parents] = {"n": ROOT, "x": frozenset([("n", 3)])}
    gate = Gate(5, ordered=True, seen=frozenset([0, 3]))
    choice = assemble(parents, {"n": Integer(1, 5), "x": Real(0, 1)}, {"n": gate}).variables["n"]
    assert isinstance(choice, Choice)
    assert [len(option.children) for option in choice.spaces] == [0, 0, 1, 1, 1]


def test_a_parameter_that_would_occur_twice_on_a_path_moves_to_the_root() -> None:
    parents: dict[str, Parents] = {"a": ROOT, "b": ROOT, "x": frozenset([("a", 1), ("b", 1)])}
    gates = {"a": BINARY, "b": BINARY}
    with pytest.raises(SpaceError, match="'x' occurs twice on one path"):
        assemble_strictly(parents, DOMAINS, gates)
    assert assemble(parents, DOMAINS, gates) == Space(DOMAINS)


def test_a_parameter_that_depends_on_itself_is_refused() -> None:
    parents: dict[str, Parents] = {"a": frozenset([None, ("b", 0)]), "b": frozenset([("a", 0)]), "x": ROOT}
    gates = {"a": BINARY, "b": BINARY}
    with pytest.raises(SpaceError, match="'a' depends on itself"):
        assemble_strictly(parents, DOMAINS, gates)
    assert assemble(parents, DOMAINS, gates).variables.keys() == DOMAINS.keys()


def test_only_the_parameter_that_would_occur_twice_moves_to_the_root() -> None:
    """Here x would be below b and beside it. What belongs to two options of a stays there."""
    domains = {**DOMAINS, "y": Real(0, 1)}
    parents: dict[str, Parents] = {
        "a": ROOT,
        "b": frozenset([("a", 1)]),
        "x": frozenset([("a", 1), ("b", 0)]),
        "y": frozenset([("a", 0), ("a", 1)]),
    }
    found = assemble(parents, domains, {"a": BINARY, "b": BINARY})
    assert found.conditions["x"] == ((),)
    assert found.conditions["b"] == ((("a", 1),),)
