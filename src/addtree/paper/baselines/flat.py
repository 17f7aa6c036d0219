"""A conditional space flattened, for optimizers that know no conditions."""

from __future__ import annotations

from typing import Any

from addtree._types import Config
from addtree.space.parameters import Categorical
from addtree.space.space import Choice, Space


def flattened(space: Space) -> Space:
    """Every variable of the space in one node; a choice becomes a categorical with the same labels.

    >>> from addtree import Real
    >>> print(flattened(Space(c=Choice(a=Space(x=Real(0, 1)), b=Space()))))
    c: one of 'a', 'b'
    x: real [0, 1]
    """
    return Space(
        {
            name: Categorical(domain.labels) if isinstance(domain, Choice) else domain
            for name, domain in space.variables.items()
        }
    )


def active_part(space: Space, full: Config) -> dict[str, Any]:
    """The configuration inside a flat one, which has a value for every variable: what its choices activate.

    >>> from addtree import Real
    >>> active_part(Space(c=Choice(a=Space(x=Real(0, 1)), b=Space())), {"c": "b", "x": 0.5})
    {'c': 'b'}
    """
    active: dict[str, Any] = {}
    for node in space.active_nodes(full):
        active |= {name: full[name] for name in (*node.parameters, *(name for name, _ in node.choices))}
    return space.validate(active)
