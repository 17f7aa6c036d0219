"""Forms of spaces that are too deep or too large are refused before anything is built."""

import pytest

from addtree.errors import SpaceError
from addtree.space.limits import MAX_DEPTH, MAX_VALUES
from addtree.space.space import Space

REAL = {"type": "real", "low": 0, "high": 1}


def nested(n_choices):
    form = {}
    for i in range(n_choices):
        form = {f"c{i}": {"type": "choice", "options": {"a": form}}}
    return form


def test_choices_may_be_nested_up_to_the_limit():
    assert Space.from_dict(nested(60)).n_paths == 1
    with pytest.raises(SpaceError, match=f"nested deeper than {MAX_DEPTH} levels; nest fewer choices"):
        Space.from_dict(nested(70))


@pytest.mark.parametrize("place", ["space", "parameter", "bound", "values"])
def test_deep_nesting_is_refused_wherever_it_is(place):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    forms = {
        "space": deep,
        "parameter": {"x": deep},
        "bound": {"x": REAL | {"low": deep}},
        "values": {"x": {"type": "categorical", "values": deep}},
    }
    with pytest.raises(SpaceError, match="nested deeper"):
        Space.from_dict(forms[place])


def test_a_form_that_contains_itself_is_refused():
    form = {"c": {"type": "choice", "options": {}}}
    form["c"]["options"]["a"] = form
    with pytest.raises(SpaceError, match="nested deeper"):
        Space.from_dict(form)
    form["c"]["options"]["b"] = form
    with pytest.raises(SpaceError, match=f"more than {MAX_VALUES} values"):
        Space.from_dict(form)


def test_a_form_that_is_too_large_is_refused():
    assert len(Space.from_dict({f"x{i}": REAL for i in range(4000)}).variables) == 4000
    with pytest.raises(SpaceError, match=f"more than {MAX_VALUES} values; describe a smaller space"):
        Space.from_dict({f"x{i}": REAL for i in range(MAX_VALUES // 4)})
