"""Spaces that are built from domains and parents."""

from __future__ import annotations

import pytest

from addtree import Categorical, Choice, Integer, Real, Space
from addtree.errors import SpaceError
from addtree.space.assembly import Parents, assemble, assemble_strictly, with_opens

ROOT: Parents = frozenset([None])
DOMAINS = {"a": Categorical((0, 1)), "b": Categorical((0, 1)), "x": Real(0, 1)}


def test_options_share_a_parameter() -> None:
    parents: dict[str, Parents] = {"a": ROOT, "b": frozenset([("a", 0)]), "x": frozenset([("a", 1), ("b", 1)])}
    space = assemble_strictly(parents, DOMAINS)
    x = Space(x=Real(0, 1))
    assert space == Space(a=Choice({0: Space(b=Choice({0: Space(), 1: x})), 1: x}))


def test_the_options_have_the_labels_of_the_gate() -> None:
    parents: dict[str, Parents] = {"a": ROOT, "x": frozenset([("a", 1)])}
    space = assemble_strictly(parents, {"a": Categorical(("no", "yes")), "x": Real(0, 1)})
    assert space == Space(a=Choice(no=Space(), yes=Space(x=Real(0, 1))))


def test_a_number_opens_intervals() -> None:
    parents: dict[str, Parents] = {
        "n": ROOT,
        "x": frozenset([("n", (2, 5))]),
        "y": frozenset([("n", (2, 5))]),
        "z": frozenset([("n", (1, 1)), ("n", (4, 5))]),
    }
    x, y, z = (Space({name: Real(0, 1)}) for name in "xyz")
    space = assemble_strictly(parents, {"n": Integer(1, 5), **x.children, **y.children, **z.children})
    both = Space({**x.children, **y.children})
    assert space == Space(n=Integer(1, 5, opens={(1, 1): z, (2, 5): both, (4, 5): z}))


def test_a_number_keeps_what_it_opens_already() -> None:
    number = Integer(1, 5, opens={(1, 2): Space(), (2, 5): Space(x=Real(0, 1))})
    both = Space(x=Real(0, 1), y=Real(0, 1))
    assert with_opens(number, {(2, 5): Space(y=Real(0, 1))}) == Integer(1, 5, opens={(1, 2): Space(), (2, 5): both})


def test_a_parameter_that_belongs_nowhere_is_left_out() -> None:
    parents: dict[str, Parents] = {"a": ROOT, "b": frozenset(), "x": frozenset([("b", 1)])}
    assert assemble_strictly(parents, DOMAINS) == Space(a=Categorical((0, 1)))


def test_a_parameter_that_would_occur_twice_on_a_path_moves_to_the_root() -> None:
    parents: dict[str, Parents] = {"a": ROOT, "b": ROOT, "x": frozenset([("a", 1), ("b", 1)])}
    with pytest.raises(SpaceError, match="'x' occurs twice on one path"):
        assemble_strictly(parents, DOMAINS)
    assert assemble(parents, DOMAINS) == Space(DOMAINS)


def test_a_parameter_that_depends_on_itself_is_refused() -> None:
    parents: dict[str, Parents] = {"a": frozenset([None, ("b", 0)]), "b": frozenset([("a", 0)]), "x": ROOT}
    with pytest.raises(SpaceError, match="'a' depends on itself"):
        assemble_strictly(parents, DOMAINS)
    assert assemble(parents, DOMAINS).variables.keys() == DOMAINS.keys()


def test_only_the_parameter_that_would_occur_twice_moves_to_the_root() -> None:
    """Here x would be below b and beside it. What belongs to two options of a stays there."""
    domains = {**DOMAINS, "y": Real(0, 1)}
    parents: dict[str, Parents] = {
        "a": ROOT,
        "b": frozenset([("a", 1)]),
        "x": frozenset([("a", 1), ("b", 0)]),
        "y": frozenset([("a", 0), ("a", 1)]),
    }
    found = assemble(parents, domains)
    assert found.conditions["x"] == ((),)
    assert found.conditions["b"] == ((("a", 1),),)


def test_a_second_such_parameter_does_not_move_others_to_the_root() -> None:
    domains = {**DOMAINS, "y": Real(0, 1), "z": Real(0, 1), "c": Categorical((0, 1))}
    parents: dict[str, Parents] = {
        "a": ROOT,
        "b": frozenset([("a", 1)]),
        "c": frozenset([("a", 0), ("a", 1)]),
        "x": frozenset([("a", 1), ("b", 0)]),
        "y": frozenset([("a", 1), ("b", 1)]),
        "z": frozenset([("a", 0), ("b", 0)]),
    }
    found = assemble(parents, domains).conditions
    assert found["x"] == found["y"] == ((),)
    assert found["b"] == ((("a", 1),),)
    assert set(found["z"]) == {(("a", 0),), (("a", 1), ("b", 0))}
