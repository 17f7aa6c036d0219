"""The conversion between Optuna's objects and ours: distributions and domains, parameters of trials and configurations.

A *translation* is a space with the conversion of a trial's parameters to a configuration of that space and back. There
are two. `Declared` belongs to a space that the user declared and keeps every value as it is. `Inferred` (in `inferred`)
belongs to the space that trials show.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from addtree.errors import ConfigError, SpaceError
from addtree.space.parameters import Categorical, Integer, Parameter, Real
from addtree.space.restriction import Restriction
from addtree.space.space import Choice, Space
from addtree.support.numbers import MAX_EXACT

NO_RANGES: Mapping[str, BaseDistribution] = {}
"""The ranges of a trial whose code has not asked for any parameter yet."""

Distribution: TypeAlias = CategoricalDistribution | FloatDistribution | IntDistribution
"""The distributions that Optuna has."""


# ---------------------------------------------------------------------- distributions and domains


def narrow_type(distribution: BaseDistribution) -> Distribution:
    """The same distribution with a narrower static type, or a TypeError if its type is unknown to addtree."""
    if isinstance(distribution, (CategoricalDistribution, FloatDistribution, IntDistribution)):
        return distribution
    raise TypeError(f"{distribution!r} is of type {type(distribution).__name__}, which addtree cannot convert")


def to_distribution(domain: Parameter | Choice) -> Distribution:
    """The distribution that holds the values of a domain.

    >>> to_distribution(Integer(1, 9))
    IntDistribution(high=9, log=False, low=1, step=1)
    """
    if isinstance(domain, Real):
        return FloatDistribution(domain.low, domain.high, log=domain.log, step=domain.step)
    if isinstance(domain, Integer):
        return IntDistribution(domain.low, domain.high, log=domain.log, step=domain.step or 1)
    return CategoricalDistribution(domain.labels)


def to_domain(distribution: BaseDistribution) -> Parameter:
    """The domain that holds the values of a distribution, or a SpaceError if a domain cannot hold them.

    >>> to_domain(CategoricalDistribution(["a", "b"]))
    Categorical(['a', 'b'])
    >>> to_domain(FloatDistribution(0, 1, step=0.25))
    Real(0.0, 1.0, step=0.25)
    """
    d = narrow_type(distribution)
    if isinstance(d, CategoricalDistribution):
        return Categorical(tuple(d.choices[k] for k in first_positions(d)))
    if isinstance(d, IntDistribution):
        return Integer(d.low, d.high, log=d.log, step=None if d.step == 1 else d.step)
    return Real(d.low, d.high, log=d.log, step=d.step)


def first_positions(d: CategoricalDistribution) -> Sequence[int]:
    """The positions of the categories that Optuna tells apart. It stores the first of several that are equal.

    >>> first_positions(CategoricalDistribution(["a", True, 1, 1.0, "b"]))
    (0, 1, 4)
    """
    with suppress(TypeError, ValueError):  # Not all choices can be hashed or compared.
        if all(choice == choice for choice in d.choices) and len(set(d.choices)) == len(d.choices):
            return range(len(d.choices))
    return tuple(k for k, choice in enumerate(d.choices) if d.to_internal_repr(choice) == k)


def check_distinct(space: Space) -> None:
    """Raise a SpaceError if Optuna takes two categories of a space for one."""
    for name, domain in space.variables.items():
        known: dict[Any, Any] = {}
        for label in domain.labels if isinstance(domain, Categorical) else ():
            if known.setdefault(label, label) is not label:
                raise SpaceError(
                    f"parameter {name!r}: Optuna takes {known[label]!r} and {label!r} for the same category; "
                    "use strings for them"
                )


def restore(domain: Parameter | Choice, value: Any) -> Any:
    """A value that Optuna stored, or the nearest value of its domain if Optuna rounded it.

    Optuna stores whole numbers as floats, which represent all of them only up to 2^53.
    """
    if not isinstance(domain, Integer) or not isinstance(value, int) or abs(value) <= MAX_EXACT:
        return value
    step = domain.step or 1
    return domain.low + step * min(max((2 * (value - domain.low) + step) // (2 * step), 0), domain.size - 1)


@dataclass(frozen=True)
class Codec:
    """One distribution, and the domain that represents it in an inferred space."""

    distribution: BaseDistribution

    @cached_property
    def _categories(self) -> Sequence[int]:
        """The positions of the categories that Optuna tells apart; empty if the distribution is one of numbers."""
        d = self.distribution
        return first_positions(d) if isinstance(d, CategoricalDistribution) else ()

    @property
    def by_position(self) -> bool:
        """Whether the domain holds the positions of the values rather than the values."""
        d = narrow_type(self.distribution)
        if isinstance(d, FloatDistribution):
            return d.step is not None
        return isinstance(d, CategoricalDistribution) or d.step != 1

    @property
    def n_values(self) -> float:
        """The number of values; infinite for a continuous range."""
        d = narrow_type(self.distribution)
        if isinstance(d, CategoricalDistribution):
            return len(self._categories)
        if isinstance(d, IntDistribution):
            return (d.high - d.low) // d.step + 1
        return math.inf if d.step is None else round((d.high - d.low) / d.step) + 1

    @property
    def domain(self) -> Parameter | None:
        """The domain; None if the distribution has a single value, or a range too wide for a domain."""
        if self.distribution.single() or self.n_values == 1:
            return None
        try:
            if isinstance(self.distribution, CategoricalDistribution):
                return Categorical(tuple(range(len(self._categories))))
            return Integer(0, int(self.n_values) - 1) if self.by_position else to_domain(self.distribution)
        except SpaceError:
            return None

    def position(self, value: Any) -> int:
        """The position of a value among the values, from 0, or a ConfigError if it is of another kind."""
        d = narrow_type(self.distribution)
        try:
            if isinstance(d, CategoricalDistribution):
                return self._categories.index(int(d.to_internal_repr(value)))
            if isinstance(d, IntDistribution):
                return int((2 * (round(value) - d.low) + d.step) // (2 * d.step))
            steps: float = (value - d.low) / (d.step or 1)
            return round(steps)
        except (TypeError, ValueError, OverflowError):
            raise ConfigError(f"{value!r} is not a value of {d}") from None

    def value(self, position: int) -> Any:
        """The value at a position."""
        d = narrow_type(self.distribution)
        if isinstance(d, CategoricalDistribution):
            return d.choices[self._categories[position]]
        if isinstance(d, IntDistribution):
            return d.low + position * d.step
        return min(d.low + position * (d.step or 1), d.high)


# ---------------------------------------------------------------------- translations


class Translation(Protocol):
    """A space, with the conversion between its configurations and the parameters of trials."""

    @property
    def space(self) -> Space:
        """The space."""

    @property
    def dynamic(self) -> frozenset[str]:
        """The names of the parameters that are modelled by their positions in dynamic ranges."""

    @property
    def opened(self) -> Mapping[str, frozenset[str]]:
        """For each parameter with a dynamic range, also if it is modelled by its values: itself and what it opens."""

    @property
    def optional(self) -> frozenset[str]:
        """The names of the parameters that a trial may lack although the space has them for it."""

    @property
    def distributions(self) -> Mapping[str, BaseDistribution]:
        """The ranges of the numbers whose suggestions are values, not positions."""

    def config(
        self, params: Mapping[str, Any], *, complete: bool, ranges: Mapping[str, BaseDistribution] = NO_RANGES
    ) -> dict[str, Any]:
        """The configuration that a trial's parameters describe, or a ConfigError if they describe none.

        complete  whether the trial ran to its end, so that a missing parameter is known to be absent
        ranges    the distributions that the trial asked for
        """

    def params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """A configuration as parameters of a trial."""

    def values(self, params: Mapping[str, Any], ranges: Mapping[str, BaseDistribution] = NO_RANGES) -> dict[str, Any]:
        """Those of a trial's parameters that the space has, as values of the space; others are left out."""

    def restricted(self, restriction: Restriction | None) -> Restriction | None:
        """A restriction that also keeps to what the present code asks for; None if nothing is restricted."""

    def means_the_same(self, other: Translation) -> bool:
        """Whether every configuration means the same under the other translation, and parameters have one order."""


class Declared:
    """The translation of a space that the user declared."""

    dynamic: frozenset[str] = frozenset()
    opened: Mapping[str, frozenset[str]] = MappingProxyType({})
    optional: frozenset[str] = frozenset()

    def __init__(self, space: Space) -> None:
        self.space = space
        numbers = {name: d for name, d in space.variables.items() if isinstance(d, (Real, Integer))}
        self.distributions = {name: to_distribution(domain) for name, domain in numbers.items()}

    def config(
        self, params: Mapping[str, Any], *, complete: bool, ranges: Mapping[str, BaseDistribution] = NO_RANGES
    ) -> dict[str, Any]:
        """The parameters that the space has, as they are."""
        variables = self.space.variables
        config = {name: restore(variables[name], value) for name, value in params.items() if name in variables}
        if any(node.constants for node in self.space.nodes):
            with suppress(KeyError, TypeError, ConfigError):  # `validate` says what is wrong
                for node in self.space.active_nodes(config):
                    for name in node.constants:  # the code need not ask for them
                        config.setdefault(name, self.space.encoding.decode_value(name, 0.0))
        return self.space.validate(config)

    def params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration as it is."""
        return dict(config)

    def values(self, params: Mapping[str, Any], ranges: Mapping[str, BaseDistribution] = NO_RANGES) -> dict[str, Any]:
        """The parameters as they are, or as they were before Optuna rounded them."""
        variables = self.space.variables
        found = {name: restore(variables[name], value) for name, value in params.items() if name in variables}
        return {name: value for name, value in found.items() if has_value(self.space, name, value)}

    def restricted(self, restriction: Restriction | None) -> Restriction | None:
        """The restriction as it is."""
        return restriction

    def means_the_same(self, other: Translation) -> bool:
        """Whether the other translation has the same space."""
        return self.space is other.space or repr(self.space) == repr(other.space)

    def contradictions(self, asked: Mapping[str, BaseDistribution]) -> Iterator[tuple[str, str]]:
        """The parameters in which an objective that asked for these distributions contradicts the space, and how."""
        for name, distribution in asked.items():
            domain = self.space.variables.get(name)
            if domain is None:
                known = ", ".join(map(repr, self.space.variables))
                yield name, f"is not in the declared space, which has {known}; it gets random values"
                continue
            expected, found = to_distribution(domain), distribution
            if not isinstance(domain, (Real, Integer)) and isinstance(found, CategoricalDistribution):
                same = set(map(repr, found.choices)) == set(map(repr, domain.labels))
                if same and list(found.choices) != list(domain.labels):
                    yield name, f"has the categories {found.choices} in another order than the declared space: {domain}"
                    continue
            elif _has_whole_labels(domain) and isinstance(found, IntDistribution):
                expected = IntDistribution(min(domain.labels), max(domain.labels))  # type: ignore[union-attr]
            if found != expected:
                yield name, f"is asked for as {found}, but the declared space has {name!r}: {domain}"


def has_value(space: Space, name: str, value: Any) -> bool:
    """Whether a parameter of a space has this value."""
    try:
        space.encoding.encode_value(name, value)
    except ConfigError:
        return False
    return True


def _has_whole_labels(domain: Parameter | Choice) -> bool:
    if isinstance(domain, (Real, Integer)):
        return False
    return all(isinstance(label, int) and not isinstance(label, bool) for label in domain.labels)
