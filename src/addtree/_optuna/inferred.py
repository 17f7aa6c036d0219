"""The space that the trials of define-by-run code show.

Categories and values on a grid are replaced by their positions, so that a category may have any type. A parameter with
a dynamic range is a number in [0, 1]: the position of its value within the range of its own trial. If other parameters
depend on its value, it keeps its values instead, in a range that covers all of its ranges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.codec import NO_RANGES, Codec, Translation, has_value, restore, to_domain
from addtree._optuna.ranges import as_suggestion, is_dynamic, position_in, suggested_position, union, value_at
from addtree._optuna.structure import MAX_COARSE, ObservedTrial, Structure, infer_structure
from addtree.errors import ConfigError
from addtree.space.assembly import assemble, with_opens
from addtree.space.parameters import Categorical, Integer, Parameter, Real
from addtree.space.space import Choice, Space

_MIN_EDITED = 5
"""A changed range counts as narrowed by the user once this many trials had it. Until then it may turn out dynamic."""


class Inferred:
    """The translation of the space that a set of trials shows.

    A trial may lack a parameter that the space has for it, because no gate explains the absence. The configuration then
    has the middle of the parameter's range. Parameters that the space does not have for a trial are left out. A number
    outside of the present range, which the user has narrowed, counts as the nearest end of the range.

    dynamic   the names of the parameters that are modelled by their positions in dynamic ranges
    narrowed  by name, the number of trials that have a value outside of the parameter's present range
    """

    def __init__(self, trials: Sequence[FrozenTrial]) -> None:
        history: dict[str, list[BaseDistribution]] = {}
        for trial in trials:
            for name, distribution in trial.distributions.items():
                history.setdefault(name, []).append(distribution)
        self._varying = frozenset(name for name, seen in history.items() if is_dynamic(seen))
        self._ranges = {name: union(seen) if name in self._varying else seen[-1] for name, seen in history.items()}
        self._codecs = {name: Codec(distribution) for name, distribution in self._ranges.items()}
        self._removed: dict[str, dict[str, int]] = {}  # The categories that the code does not have any more.
        self.space, self.dynamic, self._unexplained = self._infer_space(trials)
        self.distributions = {name: d for name, d in self._ranges.items() if name not in self.dynamic}
        edited = [name for name, seen in history.items() if seen[-_MIN_EDITED:] == [seen[-1]] * _MIN_EDITED]
        self.narrowed = {name: n for name in edited if (n := self._count_outside(name, trials))}
        self._has_positions = {
            name
            for name, domain in self.space.variables.items()
            if isinstance(domain, Choice) or (self._codecs[name].by_position and name not in self.dynamic)
        }
        self._defaults = {
            name: self.space.encoding.decode_value(name, 0.5) if isinstance(domain, (Real, Integer)) else 0
            for name, domain in self.space.variables.items()
        }

    def _infer_space(self, trials: Sequence[FrozenTrial]) -> tuple[Space, frozenset[str], frozenset[str]]:
        """The space, its parameters with positions in dynamic ranges, and those whose presence nothing explains."""
        domains = {name: domain for name, codec in self._codecs.items() if (domain := codec.domain) is not None}
        gates = {name: domain for name, domain in domains.items() if _can_be_gate(domain)}
        observed = [
            ObservedTrial(
                {
                    name: self._gate_value(name, value) if name in gates else None
                    for name, value in trial.params.items()
                    if name in domains
                },
                complete=trial.state == TrialState.COMPLETE,
            )
            for trial in trials
        ]
        structure = infer_structure(observed, gates)
        dynamic = self._varying & domains.keys() - _opening(structure)
        domains.update({name: Real(0, 1) for name in domains if name in dynamic})
        return assemble(structure.parents, domains), dynamic, structure.unexplained

    def _gate_value(self, name: str, value: Any) -> float | None:
        """The position of a category, or of a value on a grid, or a number; it may be outside of the present range."""
        codec = self._codecs[name]
        try:
            return codec.position(value) if codec.by_position else float(value)
        except (ConfigError, TypeError, ValueError, OverflowError):
            if not isinstance(codec.distribution, CategoricalDistribution):
                return None
            removed = self._removed.setdefault(name, {})  # These get positions beyond the present ones.
            return int(codec.n_values) + removed.setdefault(repr(value), len(removed))

    def _count_outside(self, name: str, trials: Sequence[FrozenTrial]) -> int:
        d = self._ranges[name]
        if name in self._varying or isinstance(d, CategoricalDistribution):
            return 0
        return sum(_clipped(d, t.params[name]) != t.params[name] for t in trials if name in t.params)

    # ------------------------------------------------------------------ conversion

    def config(
        self, params: Mapping[str, Any], *, complete: bool, ranges: Mapping[str, BaseDistribution] = NO_RANGES
    ) -> dict[str, Any]:
        """The parameters as a configuration. A trial that did not run to its end must have every gate."""
        config: dict[str, Any] = {}
        for node in self.space.active_nodes(config):
            for name in node.parameters:
                config[name] = self._to_ours(name, params, ranges)
            for name, _ in node.branches:
                if name not in params and not complete:
                    raise ConfigError(f"parameter {name!r} is missing; the trial ended before it was asked for")
                config[name] = self._to_ours(name, params, ranges)
                if not has_value(self.space, name, config[name]):
                    raise ConfigError(f"parameter {name!r}: {params[name]!r} is not a value of {self._ranges[name]}")
        return self.space.validate(config)

    def _to_ours(self, name: str, params: Mapping[str, Any], ranges: Mapping[str, BaseDistribution]) -> Any:
        """The value of a parameter in our space; the default if it is missing."""
        if name not in params:
            return self._defaults[name]
        if name in self.dynamic:
            return self._to_position(name, params[name], ranges.get(name))
        domain = self.space.variables[name]
        value = params[name] if isinstance(domain, Choice) else _clipped(self._ranges[name], params[name])
        if name not in self._has_positions:
            return restore(domain, value)
        try:
            return self._codecs[name].position(value)
        except ConfigError as error:
            raise ConfigError(f"parameter {name!r}: {error}") from None

    def _to_position(self, name: str, value: Any, d: BaseDistribution | None) -> float:
        position = suggested_position(value)
        if position is None and isinstance(d, (FloatDistribution, IntDistribution)):
            position = position_in(d, value)
        if position is None:
            raise ConfigError(f"parameter {name!r}: the range of {value!r} depends on other parameters")
        return position

    def params(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration in Optuna's values; a parameter with a dynamic range has a position instead."""
        found = {}
        for name, value in config.items():
            if name in self.dynamic:
                found[name] = as_suggestion(value)
            else:
                found[name] = self._codecs[name].value(value) if name in self._has_positions else value
        return found

    def values(self, params: Mapping[str, Any], ranges: Mapping[str, BaseDistribution] = NO_RANGES) -> dict[str, Any]:
        """The parameters in our values."""
        found: dict[str, Any] = {}
        for name in self.space.variables.keys() & params.keys():
            try:
                value = self._to_ours(name, params, ranges)
            except ConfigError:
                continue
            if has_value(self.space, name, value):
                found[name] = value
        return found

    # ------------------------------------------------------------------ comparison

    def means_the_same(self, other: Translation) -> bool:
        """Whether the other translation has the same space, and its positions stand for the same values."""
        return (
            isinstance(other, Inferred)
            and repr(self.space) == repr(other.space)
            and self.dynamic == other.dynamic
            and all(self._ranges[name] == other._ranges[name] for name in self._has_positions)
        )

    def fits(self, trial: FrozenTrial) -> bool:
        """Whether a trial has exactly the parameters and ranges that the space has for it.

        A trial that did not run to its end may have fewer parameters. A parameter that nothing explains may be present
        or not.
        """
        if not all(self._fits_range(name, distribution) for name, distribution in trial.distributions.items()):
            return False
        complete = trial.state == TrialState.COMPLETE
        try:
            config = self.config(trial.params, complete=complete, ranges=trial.distributions)
        except ConfigError:
            return False
        present = (trial.params.keys() & self.space.variables.keys()) - self._unexplained
        expected = config.keys() - self._unexplained
        return present == expected or (not complete and present <= expected)

    def _fits_range(self, name: str, d: BaseDistribution) -> bool:
        known = self._ranges.get(name)
        if name not in self._varying:
            return known == d
        return name in self.dynamic or union([self._ranges[name], d]) == known

    # ------------------------------------------------------------------ for a reader

    @property
    def readable_space(self) -> Space:
        """The space with Optuna's values instead of positions; a dynamic range covers all ranges that were seen."""
        return self._readable(self.space)

    def readable_config(self, trial: FrozenTrial) -> dict[str, Any]:
        """The parameters of a complete trial as a configuration of the readable space, or a ConfigError."""
        config = self.config(trial.params, complete=True, ranges=trial.distributions)
        found = self.params(config)
        for name in self.dynamic & config.keys():
            found[name] = trial.params.get(name, value_at(union([self._ranges[name]]), config[name]))
        return found

    def _readable(self, space: Space) -> Space:
        return Space({name: self._readable_child(name, child) for name, child in space.children.items()})

    def _readable_child(self, name: str, child: Parameter | Choice) -> Parameter | Choice:
        codec = self._codecs[name]
        if isinstance(child, Choice):
            pairs = zip(child.labels, child.spaces, strict=True)
            return Choice({codec.value(int(position)): self._readable(sub) for position, sub in pairs})
        domain = to_domain(self._ranges[name])
        if isinstance(child, Categorical) or isinstance(domain, Categorical) or not child.opens:
            return domain
        intervals = [
            tuple(codec.value(int(end)) for end in ends) if codec.by_position else ends for ends in child.opens
        ]
        return with_opens(domain, dict(zip(intervals, map(self._readable, child.opens.values()), strict=True)))


def _can_be_gate(domain: Parameter) -> bool:
    return not isinstance(domain, Categorical) or len(domain.values) <= MAX_COARSE


def _opening(structure: Structure) -> set[str]:
    """The gates that some parameter depends on."""
    return {parent[0] for parents in structure.parents.values() for parent in parents if parent is not None}


def _clipped(d: BaseDistribution, value: Any) -> Any:
    """A number moved into a range; another value as it is."""
    if isinstance(d, CategoricalDistribution) or isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    low, high = d.low, d.high  # type: ignore[attr-defined]
    return low if value < low else high if value > high else value
