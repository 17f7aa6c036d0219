"""The space that the trials of define-by-run code show.

Categories and values on a grid are replaced by their positions, so that a category may have any type. A parameter with
a dynamic range is a number in [0, 1]: the position of its value within the range of its own trial. If other parameters
depend on its value, it keeps its values instead, in a range that covers all of its ranges.

Code may be edited between two trials. The space covers the values of all trials, so that earlier ones keep their
meaning, and suggestions are restricted to what the present code asks for:

- A range that was narrowed or moved is widened to hold earlier values. The present range is an interval of it.
- Options that were removed come after the present ones.
- A parameter that was removed has one value in all suggestions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from addtree._optuna.codec import NO_RANGES, Codec, Translation, has_value, restore, to_domain
from addtree._optuna.ranges import (
    as_suggestion,
    extended,
    is_dynamic,
    position_in,
    suggested_position,
    union,
    value_at,
)
from addtree._optuna.structure import MAX_COARSE, ObservedTrial, Structure, infer_structure
from addtree.errors import ConfigError, SpaceError
from addtree.space.assembly import assemble, with_opens
from addtree.space.parameters import Categorical, Integer, Parameter, Real
from addtree.space.restriction import Restriction
from addtree.space.space import Choice, Space


class Inferred:
    """The translation of the space that a set of trials shows.

    A trial may lack a parameter that the space has for it, because no gate explains the absence. The configuration then
    has the middle of the parameter's range. Parameters that the space does not have for a trial are left out. A number
    far outside of the present range counts as the nearest value that the space has.

    dynamic   the names of the parameters that are modelled by their positions in dynamic ranges
    optional  the names of those that a trial may lack although the space has them for it
    opened    for each parameter with a dynamic range, also if it is modelled by its values: itself and what it opens
    """

    def __init__(self, trials: Sequence[FrozenTrial]) -> None:
        history: dict[str, list[tuple[BaseDistribution, Any]]] = {}
        for trial in trials:
            for name, distribution in trial.distributions.items():
                history.setdefault(name, []).append((distribution, trial.params[name]))
        self._varying = frozenset(name for name, seen in history.items() if is_dynamic([d for d, _ in seen]))
        self._present: dict[str, BaseDistribution] = {
            name: union([d for d, _ in seen]) if name in self._varying else seen[-1][0]
            for name, seen in history.items()
        }
        self._ranges = {
            name: d if name in self._varying else _covering(d, history[name]) for name, d in self._present.items()
        }
        self._codecs = {name: Codec(distribution) for name, distribution in self._ranges.items()}
        self.space, self.dynamic, structure = self._infer_space(trials)
        # A parameter that two gates open at once has no place in a tree but the root.
        moved = {name for name in self.space.children if None not in structure.parents[name]}
        self._unexplained = structure.unexplained | structure.removed | moved
        self._gates = {name: structure.gates(name) for name in self.space.variables}
        self.optional = structure.with_opened(self._unexplained)
        varying = self._varying & self.space.variables.keys()
        self.opened = {name: structure.with_opened(frozenset([name])) for name in varying}
        self.distributions = {name: d for name, d in self._present.items() if name not in self.dynamic}
        self._has_positions = {
            name
            for name, domain in self.space.variables.items()
            if isinstance(domain, Choice) or (self._codecs[name].by_position and name not in self.dynamic)
        }
        self._defaults = {
            name: self.space.encoding.decode_value(name, 0.5) if isinstance(domain, (Real, Integer)) else 0
            for name, domain in self.space.variables.items()
        }
        self._outside = {name: cells for name in self.space.variables if (cells := self._cells_outside(name))}
        self._removed = {name: self._defaults[name] for name in structure.removed & self.space.variables.keys()}

    def _infer_space(self, trials: Sequence[FrozenTrial]) -> tuple[Space, frozenset[str], Structure]:
        """The space, its parameters with positions in dynamic ranges, and where the parameters belong."""
        found = {
            name: domain
            for name, codec in self._codecs.items()
            if name  # A space refuses an empty name.
            if (domain := codec.domain) is not None and Codec(self._present[name]).domain is not None
        }
        gates = {name: domain for name, domain in found.items() if _can_be_gate(domain)}
        observed = [
            ObservedTrial(
                {
                    name: self._gate_value(name, value) if name in gates else None
                    for name, value in trial.params.items()
                    if name in found
                },
                complete=trial.state == TrialState.COMPLETE,
            )
            for trial in trials
        ]
        structure = infer_structure(observed, gates)
        opening = {gate for name in structure.parents for gate in structure.gates(name)}
        dynamic = self._varying & found.keys() - opening
        edited = {name for name in found if self._ranges[name] != self._present[name]}
        domains = {
            name: Real(0, 1) if name in dynamic else self._with_present_part(name, domain) if name in edited else domain
            for name, domain in found.items()
        }
        return assemble(structure.parents, domains), dynamic, structure

    def _gate_value(self, name: str, value: Any) -> float | None:
        """The position of a category, or of a value on a grid, or a number; None if it is of another kind."""
        codec = self._codecs[name]
        try:
            return codec.position(value) if codec.by_position else float(value)
        except (ConfigError, TypeError, ValueError, OverflowError):
            return None

    # ------------------------------------------------------------------ what the present code asks for

    def _with_present_part(self, name: str, domain: Parameter) -> Parameter | Choice:
        """A domain that tells the values of the present code from earlier ones."""
        if isinstance(domain, Categorical):
            return Choice({label: Space() for label in domain.labels})
        return with_opens(domain, {self._present_ends(name): Space()})

    def _present_ends(self, name: str) -> tuple[Any, Any]:
        """The ends of the present range of a number, in our values."""
        d, codec = self._present[name], self._codecs[name]
        ends = (d.low, d.high)  # type: ignore[attr-defined]
        return (codec.position(ends[0]), codec.position(ends[1])) if codec.by_position else ends

    def _cells_outside(self, name: str) -> frozenset[int]:
        """The cells of a variable that hold earlier values only."""
        domain, encoding = self.space.variables[name], self.space.encoding
        if name in self.dynamic or self._ranges[name] == self._present[name]:
            return frozenset()
        if not isinstance(domain, (Real, Integer)):
            return frozenset(range(int(Codec(self._present[name]).n_values), len(domain.labels)))
        cells = encoding.cells[encoding.index[name]]
        first, last = (int(cells.of_codes(encoding.encode_value(name, end))) for end in self._present_ends(name))
        return frozenset(range(len(cells))) - frozenset(range(first, last + 1))

    def restricted(self, restriction: Restriction | None) -> Restriction | None:
        """A restriction that also keeps to what the present code asks for, unless the given one excludes that."""
        if not self._outside and not self._removed:
            return restriction
        base = Restriction.of(self.space.encoding, {}) if restriction is None else restriction
        return base.narrowed(self._outside, self._removed)

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
            and self._outside == other._outside
            and self._removed == other._removed
        )

    def fits(self, trial: FrozenTrial) -> bool:
        """Whether a trial has exactly the parameters and ranges that the space has for it.

        A trial that did not run to its end may have fewer parameters. A parameter that nothing explains may be present
        or not. One that was removed from the code must be missing.
        """
        if self._removed.keys() & trial.params.keys():
            return False
        if not all(self._fits_range(name, distribution) for name, distribution in trial.distributions.items()):
            return False
        complete = trial.state == TrialState.COMPLETE
        try:
            config = self.config(trial.params, complete=complete, ranges=trial.distributions)
        except ConfigError:
            return False
        present = trial.params.keys() & self.space.variables.keys()
        missing = config.keys() - present - self._unexplained
        # A gate that the trial lacks has the middle of its range, which may open parameters.
        are_explained = all(self._gates[name] - present for name in missing)
        return present - config.keys() <= self._unexplained and (not complete or are_explained)

    def _fits_range(self, name: str, d: BaseDistribution) -> bool:
        known = self._present.get(name)
        if name not in self._varying:
            return known == d
        return name in self.dynamic or union([self._ranges[name], d]) == known

    # ------------------------------------------------------------------ for a reader

    @property
    def readable_space(self) -> Space:
        """The space with Optuna's values instead of positions; a range covers the values of all trials."""
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
        try:
            domain = to_domain(self._ranges[name])
        except SpaceError as error:  # Optuna allows categories in memory that a space cannot have, such as lists.
            raise SpaceError(f"parameter {name!r}: {error}") from None
        if isinstance(child, Choice):
            pairs = zip(child.labels, child.spaces, strict=True)
            return Choice({codec.value(int(position)): self._readable(sub) for position, sub in pairs})
        if isinstance(child, Categorical) or isinstance(domain, Categorical) or not child.opens:
            return domain
        opens: dict[Any, Space] = {}
        for ends, below in child.opens.items():
            interval = tuple(codec.value(int(end)) for end in ends) if codec.by_position else ends
            if below.children:  # The present part of an edited range is left out.
                opens[interval] = self._readable(below)
        return with_opens(domain, opens)


def _can_be_gate(domain: Parameter) -> bool:
    return not isinstance(domain, Categorical) or len(domain.values) <= MAX_COARSE


def _covering(present: BaseDistribution, seen: Sequence[tuple[BaseDistribution, Any]]) -> BaseDistribution:
    """The present distribution of a parameter, with the values that it had in earlier trials."""
    before = [(d, value) for d, value in seen if d != present]
    if isinstance(present, (FloatDistribution, IntDistribution)):
        numbers = [value for d, value in before if not isinstance(d, CategoricalDistribution)]
        outside = [value for value in numbers if not present.low <= value <= present.high]
        return extended(present, outside) if outside else present
    categories = {repr(value): value for d, value in before if isinstance(d, CategoricalDistribution)}
    removed = [value for value in categories.values() if not _has_category(present, value)]
    choices = present.choices if isinstance(present, CategoricalDistribution) else ()
    return CategoricalDistribution([*choices, *removed]) if removed else present


def _has_category(d: BaseDistribution, value: Any) -> bool:
    try:
        d.to_internal_repr(value)
    except ValueError:
        return False
    return True


def _clipped(d: BaseDistribution, value: Any) -> Any:
    """A number moved into a range, and to the nearest of its whole numbers; another value as it is."""
    if isinstance(d, CategoricalDistribution) or isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    low, high = d.low, d.high  # type: ignore[attr-defined]
    value = low if value < low else high if value > high else value
    return round(value) if isinstance(d, IntDistribution) and not math.isnan(value) else value
