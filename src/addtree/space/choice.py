"""Choices: categorical variables whose options open subspaces."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from addtree.errors import SpaceError
from addtree.space.labels import LabelKey, check_labels, check_saveable, find_label, label_key

if TYPE_CHECKING:
    from addtree.space.space import Space


class Choice:
    """A categorical variable whose options open subspaces.

    >>> from addtree import Integer, Real, Space
    >>> Choice(linear=Space(), rbf=Space(gamma=Real(1e-4, 10, log=True))).labels
    ('linear', 'rbf')
    >>> Choice({1: Space(), 2: Space(units_2=Integer(8, 512))}).labels
    (1, 2)
    """

    is_numeric = False

    def __init__(self, options: Mapping[Any, Space] | None = None, /, **named: Space) -> None:
        from addtree.space.space import Space  # a space consists of parameters and choices

        if not isinstance(options or {}, Mapping):
            raise SpaceError(f"Choice({options!r}): give a mapping of options to spaces; an option may open Space()")
        for label in set(options or {}) & set(named):
            raise SpaceError(f"option {label!r} is given twice, in the mapping and by keyword; remove one")
        both = {**(options or {}), **named}
        self.labels: tuple[Any, ...] = check_labels(both, "Choice options")
        self._positions: dict[LabelKey, int] = {label_key(label): i for i, label in enumerate(self.labels)}
        for label, space in both.items():
            if not isinstance(space, Space):
                raise SpaceError(
                    f"option {label!r} must open a Space, got {space!r}; an option without parameters opens Space()"
                )
        self.spaces: tuple[Space, ...] = tuple(both.values())

    def subspace(self, label: Any) -> Space:
        """The space that an option opens."""
        return self.spaces[self._cell(label)]

    def opened(self, value: Any) -> list[Space]:
        """The spaces that are open at an option: the one that it opens."""
        return [self.subspace(value)]

    def _check(self, value: Any) -> Any:
        """The label as it stands in the definition, or a ConfigError."""
        return self.labels[self._cell(value)]

    def _cell(self, value: Any) -> int:
        """The position of an option, which is a cell of its own, or a ConfigError."""
        return find_label(self._positions, value)

    def _encode(self, value: Any) -> float:
        """Label to position."""
        return float(self._cell(value))

    def _decode(self, code: float) -> Any:
        """Position to label."""
        return self.labels[int(code)]

    def to_dict(self) -> dict[str, Any]:
        """JSON form. JSON keys must be strings, so other labels are stored as a list of pairs."""
        check_saveable(self.labels)
        pairs = [(label, space.to_dict()) for label, space in zip(self.labels, self.spaces, strict=True)]
        if all(isinstance(label, str) for label in self.labels):
            return {"type": "choice", "options": dict(pairs)}
        return {"type": "choice", "options": [list(pair) for pair in pairs]}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and self._options == other._options

    def __hash__(self) -> int:
        return hash(frozenset(self._options.items()))

    @cached_property
    def _options(self) -> dict[LabelKey, Space]:
        return dict(zip(self._positions, self.spaces, strict=True))

    def __repr__(self) -> str:
        return f"Choice({dict(zip(self.labels, self.spaces, strict=True))!r})"
