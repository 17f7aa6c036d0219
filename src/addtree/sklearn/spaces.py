"""scikit-learn's description of a search, a dict or a list of dicts, as a `Space`.

A list of dicts is a choice between them. A parameter that has the same domain in several dicts is one variable, so that
what is learned about it counts in all of them. With another domain it is another variable, whose name has a number. A
parameter with a single value is not searched.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from addtree._types import Config
from addtree.errors import SpaceError
from addtree.sklearn.domains import ParameterDomain, labels_for, read_domain
from addtree.space.choice import Choice
from addtree.space.parameters import Categorical, Parameter
from addtree.space.space import Space

_ALTERNATIVE = "alternative"  # The name of the choice between dicts.


@dataclass(frozen=True)
class Alternative:
    """One dict of parameters.

    fixed    the parameters with a single value
    domains  the variables of the space
    decoded  per variable, its name as a parameter and the conversion of its values
    """

    fixed: Mapping[str, Any]
    domains: Mapping[str, Parameter]
    decoded: Mapping[str, tuple[str, Callable[[Any], Any]]]

    def params(self, config: Config) -> dict[str, Any]:
        """The parameters of the estimator, by the names that its `set_params` takes."""
        varied = {name: decode(config[variable]) for variable, (name, decode) in self.decoded.items()}
        return {**self.fixed, **varied}


@dataclass(frozen=True)
class SearchSpace:
    """A space, and the parameters of the estimator that its configurations stand for.

    choice        the name of the choice between several dicts
    alternatives  per option of that choice, its dict; empty if configurations are parameters as they are
    """

    space: Space
    choice: str = ""
    alternatives: Mapping[Any, Alternative] | None = None

    def params(self, config: Config) -> dict[str, Any]:
        """The parameters of the estimator, by the names that its `set_params` takes."""
        if self.alternatives is None:
            return dict(config)
        return self.alternatives[config.get(self.choice)].params(config)


def read_space(space: Any) -> SearchSpace:
    """What to search, from a Space, a dict or a list of dicts, or a SpaceError."""
    if isinstance(space, Space):
        return SearchSpace(space)
    dicts = [space] if isinstance(space, Mapping) else space
    if not isinstance(dicts, Sequence) or not dicts or not all(isinstance(entry, Mapping) for entry in dicts):
        raise SpaceError(f"space must be an addtree.Space, a dict, or a list of dicts with at least one, got {space!r}")
    names: dict[tuple[str, Hashable], str] = {}
    alternatives = [_read_dict(entry, names) for entry in dicts]
    if len(alternatives) == 1:
        return SearchSpace(Space(alternatives[0].domains), alternatives={None: alternatives[0]})
    labels = _labels(alternatives)
    choice = _unused(_ALTERNATIVE, set(names.values()))
    options = {label: Space(entry.domains) for label, entry in zip(labels, alternatives, strict=True)}
    return SearchSpace(Space({choice: Choice(options)}), choice, dict(zip(labels, alternatives, strict=True)))


def _read_dict(entry: Mapping[str, Any], names: dict[tuple[str, Hashable], str]) -> Alternative:
    """One dict; `names` holds the variable of each parameter and domain, and gets the new ones."""
    fixed: dict[str, Any] = {}
    domains: dict[str, Parameter] = {}
    decoded: dict[str, tuple[str, Callable[[Any], Any]]] = {}
    for name, values in entry.items():
        read = _read_named(name, values)
        if isinstance(read.domain, Categorical) and read.domain.is_constant:
            fixed[name] = read.decode(read.domain.values[0])
            continue
        variable = names.setdefault((name, read.key), _unused(name, set(names.values())))
        domains[variable], decoded[variable] = read.domain, (name, read.decode)
    return Alternative(fixed, domains, decoded)


def _read_named(name: Any, values: Any) -> ParameterDomain:
    if not isinstance(name, str):
        raise SpaceError(f"a parameter's name must be a string, got {name!r}; give one that set_params takes")
    try:
        return read_domain(values)
    except SpaceError as error:
        raise SpaceError(f"parameter {name!r}: {error}") from None


def _unused(name: str, taken: set[str]) -> str:
    """The name, with a number if it is taken."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name} ({number})", number + 1
    return found


def _labels(alternatives: Sequence[Alternative]) -> list[Any]:
    """Names for the options: what is fixed in each dict, or its number."""
    texts = []
    for number, entry in enumerate(alternatives, 1):
        values = labels_for(list(entry.fixed.values()))
        fixed = ", ".join(f"{name}={value}" for name, value in zip(entry.fixed, values, strict=True))
        texts.append(fixed or f"dict {number}")
    return labels_for(texts)
