"""Between Optuna's world and ours: distributions and domains, trials and configurations.

A *translation* is a space together with the way from a trial's parameters to a configuration of that space and back.
There are two: of a space the user declared, whose values are used as they stand, and of one inferred from trials, where
categories and steps are positions (so that any value can be a category).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.structure import MAX_OPTIONS, Gate, Seen, assemble, infer
from addtree.errors import ConfigError, SpaceError
from addtree.space.parameters import Categorical, Integer, Parameter, Real
from addtree.space.space import Choice, Space

_CHANGES = 2  # times that a range may change for good; a range that changes more often depends on something


class Translation(Protocol):
    """A space, and what Optuna calls its parts."""

    @property
    def space(self) -> Space:
        """The space."""
        ...

    @property
    def distributions(self) -> Mapping[str, BaseDistribution]:
        """The distribution of each parameter."""
        ...

    def config(self, params: Mapping[str, Any], *, complete: bool) -> dict[str, Any]:
        """A trial's parameters as a configuration, or a ConfigError where they are none."""
        ...

    def params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """A configuration as parameters of a trial."""
        ...


# ---------------------------------------------------------------------- a declared space


def distribution_of(domain: Parameter | Choice) -> BaseDistribution:
    """The distribution that Optuna uses for a domain of ours.

    >>> distribution_of(Integer(1, 9))
    IntDistribution(high=9, log=False, low=1, step=1)
    """
    if isinstance(domain, Real):
        return FloatDistribution(domain.low, domain.high, log=domain.log)
    if isinstance(domain, Integer):
        return IntDistribution(domain.low, domain.high, log=domain.log)
    return CategoricalDistribution(domain.labels if isinstance(domain, Choice) else domain.values)


class Declared:
    """The translation of a space that the user declared."""

    def __init__(self, space: Space, seen: Mapping[str, BaseDistribution]) -> None:
        self.space = space
        # whole numbers as labels may be asked for by suggest_int or by suggest_categorical: the first trial tells
        self.distributions = {
            name: seen.get(name, distribution_of(domain))
            for name, domain in space.variables.items()
            if name in seen or not _whole_labels(domain)
        }

    def config(self, params: Mapping[str, Any], *, complete: bool) -> dict[str, Any]:
        """The parameters that the space knows, as they stand."""
        known = {name: value for name, value in params.items() if name in self.space.variables}
        return self.space.validate(known)

    def params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration as it stands."""
        return dict(config)


def _whole_labels(domain: Parameter | Choice) -> bool:
    labels = domain.labels if isinstance(domain, Choice) else domain.values if isinstance(domain, Categorical) else ()
    return bool(labels) and all(isinstance(label, int) and not isinstance(label, bool) for label in labels)


# ---------------------------------------------------------------------- an inferred one


@dataclass(frozen=True)
class Codec:
    """One distribution as a domain of ours; None where it has a single value or is beyond what a domain can hold."""

    distribution: BaseDistribution

    @property
    def stepped(self) -> bool:
        """Whether the domain counts positions rather than holding the value itself."""
        step = getattr(self.distribution, "step", None)
        return (
            isinstance(self.distribution, CategoricalDistribution)
            or (step is not None and step != 1)
            or (isinstance(self.distribution, FloatDistribution) and step is not None)
        )

    @property
    def n_values(self) -> float:
        """How many values there are."""
        d = self.distribution
        if isinstance(d, CategoricalDistribution):
            return len(d.choices)
        if isinstance(d, (IntDistribution, FloatDistribution)) and d.step is not None:
            return round((d.high - d.low) / d.step) + 1
        return math.inf

    @property
    def domain(self) -> Parameter | None:
        """The domain, unless it has a single value or is too wide."""
        d = self.distribution
        if d.single():
            return None
        try:
            if isinstance(d, CategoricalDistribution):
                return Categorical(tuple(range(len(d.choices))))
            if self.stepped:
                return Integer(0, int(self.n_values) - 1)
            if isinstance(d, IntDistribution):
                return Integer(d.low, d.high, log=d.log)
            assert isinstance(d, FloatDistribution)
            return Real(d.low, d.high, log=d.log)
        except SpaceError:
            return None

    @property
    def gate(self) -> Gate | None:
        """What it is as a possible gate."""
        if not 1 < self.n_values <= MAX_OPTIONS:
            return None
        return Gate(int(self.n_values), ordered=not isinstance(self.distribution, CategoricalDistribution))

    def position(self, value: Any) -> int:
        """The position of a value among the values, from 0."""
        d = self.distribution
        if isinstance(d, CategoricalDistribution):
            return int(d.to_internal_repr(value))
        assert isinstance(d, (IntDistribution, FloatDistribution))
        position: int = round((value - d.low) / (d.step or 1))
        return position

    def value(self, position: int) -> Any:
        """The value at a position."""
        d = self.distribution
        if isinstance(d, CategoricalDistribution):
            return d.choices[position]
        if isinstance(d, IntDistribution):
            return d.low + position * d.step
        assert isinstance(d, FloatDistribution)
        return min(d.low + position * (d.step or 1), d.high)


class Inferred:
    """The translation of the space that a set of trials shows.

    What a trial lacks although the space has it there (no gate explained its absence) is filled in with the middle of
    its range; what it has in excess is left out.
    """

    def __init__(self, trials: Sequence[FrozenTrial]) -> None:
        history: dict[str, list[BaseDistribution]] = {}
        for trial in trials:
            for name, distribution in trial.distributions.items():
                history.setdefault(name, []).append(distribution)
        self.distributions = {name: _current(seen) for name, seen in history.items()}
        self._codecs = {name: Codec(distribution) for name, distribution in self.distributions.items()}
        domains = {name: domain for name, codec in self._codecs.items() if (domain := codec.domain) is not None}
        gates = {n: gate for n, codec in self._codecs.items() if n in domains and (gate := codec.gate) is not None}
        rows = [
            Seen(
                {
                    n: self._codecs[n].position(v) if n in gates else None
                    for n, v in trial.params.items()
                    if n in domains
                },
                trial.state == TrialState.COMPLETE,
            )
            for trial in trials
        ]

        def positions(name: str) -> set[int]:
            return {position for row in rows if (position := row.positions.get(name)) is not None}

        self.space = assemble(infer(rows, gates), domains, gates, positions)

    def config(self, params: Mapping[str, Any], *, complete: bool) -> dict[str, Any]:
        """The parameters as a configuration; of a trial that is not complete every choice must be there."""
        config: dict[str, Any] = {}
        queue = [0]
        for i in queue:
            node = self.space.nodes[i]
            for name in node.parameters:
                domain = self.space.variables[name]
                assert not isinstance(domain, Choice)
                if name in params:
                    config[name] = self._inner(name, params[name])
                else:
                    config[name] = domain.decode(0.5 if isinstance(domain, (Real, Integer)) else 0)
            for name, options in node.choices:
                if name not in params and not complete:
                    raise ConfigError(f"parameter {name!r} is missing; the trial ended before it was asked for")
                config[name] = self._inner(name, params[name]) if name in params else 0
                queue.append(options[int(self.space.variables[name].encode(config[name]))])
        return config

    def fits(self, trial: FrozenTrial) -> bool:
        """Whether a trial has just the parameters, in just the ranges, that the space has for it."""
        if any(self.distributions.get(name) != d for name, d in trial.distributions.items()):
            return False
        try:
            config = self.config(trial.params, complete=trial.state == TrialState.COMPLETE)
        except ConfigError:
            return False
        asked = trial.params.keys() & self.space.variables.keys()
        return asked == config.keys() or (trial.state != TrialState.COMPLETE and asked <= config.keys())

    def _inner(self, name: str, value: Any) -> Any:
        codec, domain = self._codecs[name], self.space.variables[name]
        inner = codec.position(value) if codec.stepped or isinstance(domain, Choice) else value
        return domain.decode(domain.encode(inner)) if isinstance(domain, Choice) else domain.check(inner)

    def params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in Optuna's values, with the parameters that have a single one."""
        out = {}
        for name, inner in config.items():
            codec = self._codecs[name]
            position = codec.stepped or isinstance(self.space.variables[name], Choice)
            out[name] = codec.value(inner) if position else inner
        return out


def _current(seen: Sequence[BaseDistribution]) -> BaseDistribution:
    """The distribution to go by where a name had several, oldest first.

    A range that changed for good is what it is now. One that comes and goes depends on another parameter: take it all.
    """
    runs = [seen[0]]
    for distribution in seen[1:]:
        if distribution != runs[-1]:
            runs.append(distribution)
    last = runs[-1]
    different = [d for i, d in enumerate(runs) if d not in runs[:i]]
    if len(runs) - 1 <= _CHANGES and len(different) == len(runs):
        return last
    low, high = min(d.low for d in different), max(d.high for d in different)  # type: ignore[attr-defined]
    if isinstance(last, IntDistribution):
        return IntDistribution(low, high, log=last.log)
    assert isinstance(last, FloatDistribution)
    return FloatDistribution(low, high, log=last.log)
