"""Spaces in words and as JSON: the drawing of a tree, conditions as sentences, and children from their JSON form."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from addtree.errors import SpaceError
from addtree.space.choice import Choice
from addtree.space.labels import check_labels
from addtree.space.parameters import Categorical, Integer, Parameter, Real
from addtree.space.tree import Condition
from addtree.support.numbers import plural

if TYPE_CHECKING:
    from addtree.space.space import Space

_MAX_WAYS = 4  # A condition is given in words by at most this many alternatives.
_MAX_NAMES = 12  # An error message lists at most this many names.
_MAX_LINES = 3  # An error message shows at most this many lines of a space.
_BRANCHES = " │├└─"  # The characters that draw the tree of a space.

Way: TypeAlias = tuple[tuple[str, int, int], ...]
"""One alternative of a condition: per variable on the way, the first and the last of its cells."""

# ---------------------------------------------------------------------- text


def opened_spaces(child: Parameter | Choice) -> list[tuple[str, Space]]:
    """What a variable opens: the text for each option or interval, and its space."""
    if isinstance(child, Choice):
        return [(repr(label), space) for label, space in zip(child.labels, child.spaces, strict=True)]
    if isinstance(child, Categorical):
        return []
    return [(f"{_end_text(low)}..{_end_text(high)}", space) for (low, high), space in child.opens.items()]


def _end_text(value: float) -> str:
    """An end of an interval; 0.1 for the next float after it, which is where an interval above 0.1 begins."""
    return repr(value) if isinstance(value, int) else min(repr(value), str(float(f"{value:.12g}")), key=len)


def draw(space: Space) -> Iterator[str]:
    """The lines of the tree."""
    for name, child in space.children.items():
        yield name if isinstance(child, Choice) else f"{name}: {child}"
        opened = opened_spaces(child)
        for i, (text, below) in enumerate(opened):
            last = i == len(opened) - 1
            yield f"{'└─' if last else '├─'} {text}"
            yield from (("   " if last else "│  ") + line for line in _indented(list(draw(below))))
    yield from (f"where {rule}" for rule in space.rules)


def difference(old: str, new: str) -> tuple[str, str]:
    """What the drawing of each of two spaces has and the other lacks, each shortened to one line."""
    compared = [line for line in difflib.ndiff(old.splitlines(), new.splitlines()) if line[0] in "-+"]
    here, there = ([line[2:].strip(_BRANCHES) for line in compared if line[0] == sign] for sign in "-+")
    return _shortened(here), _shortened(there)


def _shortened(lines: Sequence[str]) -> str:
    """The first lines, joined into one."""
    more = f" and {plural(len(lines) - _MAX_LINES, 'more line')}" if len(lines) > _MAX_LINES else ""
    return (" | ".join(lines[:_MAX_LINES]) or "nothing in their place") + more


def _indented(lines: list[str]) -> Iterator[str]:
    """The lines of a subtree, attached to the line above it."""
    tops = [i for i, line in enumerate(lines) if line[0] not in "├└│ "]
    for i, line in enumerate(lines):
        mark = ("└─ " if i == tops[-1] else "├─ ") if i in tops else "   " if i >= tops[-1] else "│  "
        yield mark + line


def brief(domain: Parameter | Choice) -> str:
    """A domain in a few words."""
    return f"a choice of {list(domain.labels)}" if isinstance(domain, Choice) else str(domain)


def contrast(one: Parameter | Choice, other: Parameter | Choice) -> str:
    """Two different domains in a few words, or with what they open and every digit if these words are the same."""
    texts = brief(one), brief(other)
    if texts[0] != texts[1]:
        return " and ".join(texts)
    below = [
        "\n".join(
            f"{text}: {line}" for text, space in opened_spaces(domain) for line in list(draw(space)) or ["nothing"]
        )
        for domain in (one, other)
    ]
    if below[0] == below[1]:
        return f"{one!r} and {other!r}"
    here, there = difference(*below)
    return f"both {texts[0]}: one has {here}, the other has {there}"


def example(domain: Parameter | Choice) -> str:
    """What a value could be, in a few words."""
    return "one of " + ", ".join(map(repr, domain.labels[:8])) if isinstance(domain, Choice) else str(domain)


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """The known name that is nearest to an unknown one, or some of the known names."""
    known = list(known)
    near = difflib.get_close_matches(str(name), known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(map(repr, known[:_MAX_NAMES])) or 'none'}"


def condition_text(condition: Condition, domains: Mapping[str, Parameter | Choice]) -> str:
    """A condition in words: when model='svm' and n_layers in 2..4."""
    if () in condition:
        return "always"
    ways: list[Way] = []
    for location in condition:
        _add_way(ways, tuple((name, cell, cell) for name, cell in location), domains)
    texts = [" and ".join(_step_text(domains[name], name, first, last) for name, first, last in way) for way in ways]
    return "when " + ", or ".join(texts[:_MAX_WAYS]) + (", or ..." if len(texts) > _MAX_WAYS else "")


def _add_way(ways: list[Way], new: Way, domains: Mapping[str, Parameter | Choice]) -> None:
    """Add an alternative; one that continues the cells of a number in another alternative is joined with it."""
    for i, way in enumerate(ways):
        different = [k for k, (a, b) in enumerate(zip(way, new, strict=False)) if a != b]
        if len(way) == len(new) and len(different) == 1:
            (name, first, last), (other, begins, ends) = way[different[0]], new[different[0]]
            if name == other and begins == last + 1 and not isinstance(domains[name], Choice):
                del ways[i]
                joined = (*way[: different[0]], (name, first, ends), *way[different[0] + 1 :])
                return _add_way(ways, joined, domains)
    ways.append(new)


def _step_text(domain: Parameter | Choice, name: str, first: int, last: int) -> str:
    if isinstance(domain, Choice):
        return f"{name}={domain.labels[first]!r}"
    assert not isinstance(domain, Categorical)
    low, high = domain._value(domain.cells.first[first]), domain._value(domain.cells.last[last])
    return f"{name} in {low!r}..{high!r}"


# ---------------------------------------------------------------------- JSON

_KEYS = {
    "real": ("low", "high", "log", "step", "opens"),
    "integer": ("low", "high", "log", "step", "opens"),
    "categorical": ("values", "ordered"),
    "choice": ("options",),
}


def child_from_dict(name: str, form: Any, make_space: Callable[[Any], Space]) -> Parameter | Choice:
    """The parameter or choice of a JSON form, or a SpaceError; `make_space` makes the spaces in it."""
    kinds = "'real', 'integer', 'categorical' or 'choice'"
    if not isinstance(form, Mapping) or "type" not in form:
        raise SpaceError(f"parameter {name!r}: expected a mapping with a 'type' ({kinds}), got {form!r}")
    kind, rest = form["type"], {key: value for key, value in form.items() if key != "type"}
    if not isinstance(kind, str) or kind not in _KEYS:
        raise SpaceError(f"parameter {name!r}: type {kind!r} is not {kinds}")
    for key in rest:
        if key not in _KEYS[kind]:
            raise SpaceError(
                f"parameter {name!r}: {key!r} is unknown for type {kind!r}; {did_you_mean(key, _KEYS[kind])}"
            )
    try:
        if kind == "categorical":
            return Categorical(rest.pop("values"), **rest)
        if kind == "choice":
            pairs = rest["options"]
            items = list(pairs.items() if isinstance(pairs, Mapping) else pairs)
            check_labels((label for label, _ in items), "Choice options")
            return Choice({label: make_space(sub) for label, sub in items})
        if "opens" in rest:
            rest["opens"] = {(low, high): make_space(sub) for low, high, sub in rest["opens"]}
        return (Real if kind == "real" else Integer)(rest.pop("low"), rest.pop("high"), **rest)
    except SpaceError as error:
        raise SpaceError(f"parameter {name!r}: {error}") from None
    except KeyError as error:
        raise SpaceError(f"parameter {name!r}: {form!r} lacks {error}; add it") from None
    except (TypeError, ValueError) as error:
        raise SpaceError(f"parameter {name!r}: {form!r} does not describe type {kind!r}: {error}") from None
