"""The conversion between Optuna's objects and ours: distributions and domains, parameters of trials and configurations.

A *translation* is a space with the conversion of a trial's parameters to a configuration of that space and back. There
are two. `Declared` belongs to a space that the user declared and keeps every value as it is. `Inferred` belongs to the
space that trials show. It replaces categories and values on a grid by their positions, so that a category may have any
type.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol, TypeAlias

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from addtree._numbers import MAX_EXACT
from addtree._optuna.structure import ObservedTrial, infer_parents
from addtree.errors import ConfigError, SpaceError
from addtree.space.assembly import MAX_OPTIONS, Gate, assemble
from addtree.space.parameters import Categorical, Integer, Parameter, Real
from addtree.space.space import Choice, Space

_MAX_CHANGES = 2
"""A range that changed at most this often, never back to an earlier one, was edited by the user. Any other range that
changes depends on another parameter."""

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
        return Categorical(tuple(d.choices))
    if isinstance(d, IntDistribution):
        return Integer(d.low, d.high, log=d.log, step=None if d.step == 1 else d.step)
    return Real(d.low, d.high, log=d.log, step=d.step)


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
            return len(d.choices)
        if isinstance(d, IntDistribution):
            return (d.high - d.low) // d.step + 1
        return math.inf if d.step is None else round((d.high - d.low) / d.step) + 1

    @property
    def domain(self) -> Parameter | None:
        """The domain; None if the distribution has a single value, or a range too wide for a domain."""
        if self.distribution.single():
            return None
        try:
            if isinstance(self.distribution, CategoricalDistribution):
                return Categorical(tuple(range(len(self.distribution.choices))))
            return Integer(0, int(self.n_values) - 1) if self.by_position else to_domain(self.distribution)
        except SpaceError:
            return None

    @property
    def can_be_gate(self) -> bool:
        """Whether the values are few enough to be options of a choice."""
        return 1 < self.n_values <= MAX_OPTIONS

    def gate(self, seen: frozenset[int]) -> Gate:
        """The distribution as a gate; `seen` are the positions that were observed."""
        ordered = not isinstance(self.distribution, CategoricalDistribution)
        return Gate(int(self.n_values), ordered=ordered, seen=seen)

    def position(self, value: Any) -> int:
        """The position of a value among the values, from 0, or a ConfigError if it is of another kind."""
        d = narrow_type(self.distribution)
        try:
            if isinstance(d, CategoricalDistribution):
                return int(d.to_internal_repr(value))
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
            return d.choices[position]
        if isinstance(d, IntDistribution):
            return d.low + position * d.step
        return min(d.low + position * (d.step or 1), d.high)


# ---------------------------------------------------------------------- translations


class Translation(Protocol):
    """A space, with the conversion between its configurations and the parameters of trials."""

    @property
    def space(self) -> Space:
        """The space."""
        ...

    @property
    def distributions(self) -> Mapping[str, BaseDistribution]:
        """The distribution of each parameter."""
        ...

    def config(self, params: Mapping[str, Any], *, complete: bool) -> dict[str, Any]:
        """The configuration that a trial's parameters describe, or a ConfigError if they describe none.

        complete  whether the trial ran to its end, so that a missing parameter is known to be absent
        """
        ...

    def params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """A configuration as parameters of a trial."""
        ...

    def values(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Those of a trial's parameters that the space has, as values of the space; others are left out."""
        ...


class Declared:
    """The translation of a space that the user declared.

    seen  the latest distribution of each parameter that a trial asked for
    """

    def __init__(self, space: Space, seen: Mapping[str, BaseDistribution]) -> None:
        self.space = space
        # The code may ask for whole-number labels by suggest_int or suggest_categorical. The first trial shows which.
        self.distributions = {
            name: seen.get(name, to_distribution(domain))
            for name, domain in space.variables.items()
            if name in seen or not _has_whole_labels(domain)
        }

    def config(self, params: Mapping[str, Any], *, complete: bool) -> dict[str, Any]:
        """The parameters that the space has, as they are."""
        variables = self.space.variables
        config = {name: restore(variables[name], value) for name, value in params.items() if name in variables}
        with suppress(KeyError, TypeError, ConfigError):  # `validate` says what is wrong
            for node in self.space.active_nodes(config):
                for name in node.constants:  # the code need not ask for them
                    config.setdefault(name, self.space.encoding.decode_value(name, 0.0))
        return self.space.validate(config)

    def params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration as it is."""
        return dict(config)

    def values(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters as they are, or as they were before Optuna rounded them."""
        variables = self.space.variables
        found = {name: restore(variables[name], value) for name, value in params.items() if name in variables}
        return {name: value for name, value in found.items() if _has_value(self.space, name, value)}


def _has_value(space: Space, name: str, value: Any) -> bool:
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


class Inferred:
    """The translation of the space that a set of trials shows.

    A trial may lack a parameter that the space has for it, because no gate explains the absence. The configuration then
    has the middle of the parameter's range. Parameters that the space does not have for a trial are left out.
    """

    def __init__(self, trials: Sequence[FrozenTrial]) -> None:
        history: dict[str, list[BaseDistribution]] = {}
        for trial in trials:
            for name, distribution in trial.distributions.items():
                history.setdefault(name, []).append(distribution)
        self.distributions = {name: _current(seen) for name, seen in history.items()}
        self._codecs = {name: Codec(distribution) for name, distribution in self.distributions.items()}
        self.space = self._infer_space(trials)
        self._has_positions = {
            name
            for name, domain in self.space.variables.items()
            if isinstance(domain, Choice) or self._codecs[name].by_position
        }
        self._defaults = {
            name: self.space.encoding.decode_value(name, 0.5) if isinstance(domain, (Real, Integer)) else 0
            for name, domain in self.space.variables.items()
        }

    def _infer_space(self, trials: Sequence[FrozenTrial]) -> Space:
        domains = {name: domain for name, codec in self._codecs.items() if (domain := codec.domain) is not None}
        possible = {name: codec for name, codec in self._codecs.items() if name in domains and codec.can_be_gate}
        observed = [
            ObservedTrial(
                {
                    name: possible[name].position(value) if name in possible else None
                    for name, value in trial.params.items()
                    if name in domains
                },
                complete=trial.state == TrialState.COMPLETE,
            )
            for trial in trials
        ]
        seen: dict[str, set[int]] = {name: set() for name in possible}
        for trial in observed:
            for name, position in trial.positions.items():
                if position is not None:
                    seen[name].add(position)
        gates = {name: codec.gate(frozenset(seen[name])) for name, codec in possible.items()}
        return assemble(infer_parents(observed, gates), domains, gates)

    def config(self, params: Mapping[str, Any], *, complete: bool) -> dict[str, Any]:
        """The parameters as a configuration. A trial that did not run to its end must have every choice."""
        config: dict[str, Any] = {}
        for _, node in self.space.tree.walk(config.__getitem__):  # the label of an option is its position
            for name in node.parameters:
                config[name] = self._to_ours(name, params)
            for name, options in node.choices:
                if name not in params and not complete:
                    raise ConfigError(f"parameter {name!r} is missing; the trial ended before it was asked for")
                config[name] = self._to_ours(name, params)
                if not 0 <= config[name] < len(options):
                    raise ConfigError(
                        f"parameter {name!r}: {params[name]!r} is not a value of {self.distributions[name]}"
                    )
        return self.space.validate(config)

    def _to_ours(self, name: str, params: Mapping[str, Any]) -> Any:
        """The value of a parameter in our space; the default if it is missing."""
        if name not in params:
            return self._defaults[name]
        if name not in self._has_positions:
            return restore(self.space.variables[name], params[name])
        try:
            return self._codecs[name].position(params[name])
        except ConfigError as error:
            raise ConfigError(f"parameter {name!r}: {error}") from None

    def params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in Optuna's values."""
        return {
            name: self._codecs[name].value(value) if name in self._has_positions else value
            for name, value in config.items()
        }

    def values(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters in our values."""
        found: dict[str, Any] = {}
        for name in self.space.variables.keys() & params.keys():
            try:
                value = self._to_ours(name, params)
            except ConfigError:
                continue
            if _has_value(self.space, name, value):
                found[name] = value
        return found

    def fits(self, trial: FrozenTrial) -> bool:
        """Whether a trial has exactly the parameters and ranges that the space has for it.

        A trial that did not run to its end may have fewer parameters.
        """
        if any(self.distributions.get(name) != distribution for name, distribution in trial.distributions.items()):
            return False
        complete = trial.state == TrialState.COMPLETE
        try:
            config = self.config(trial.params, complete=complete)
        except ConfigError:
            return False
        present = trial.params.keys() & self.space.variables.keys()
        return present == config.keys() or (not complete and present <= config.keys())


def _current(seen: Sequence[BaseDistribution]) -> BaseDistribution:
    """The distribution to use for a name that had several, the oldest first.

    If the user edited the range, it is the latest one. If the range depends on another parameter, it covers all ranges.
    """
    runs = [distribution for distribution, _ in groupby(seen)]
    last = runs[-1]
    repeated = any(distribution in runs[:i] for i, distribution in enumerate(runs))
    if len(runs) - 1 <= _MAX_CHANGES and not repeated:
        return last
    ranges = [d for d in runs if isinstance(d, (FloatDistribution, IntDistribution))]
    low, high = min(d.low for d in ranges), max(d.high for d in ranges)
    if isinstance(last, IntDistribution):
        return IntDistribution(int(low), int(high), log=last.log)
    return FloatDistribution(low, high, log=ranges[-1].log)
