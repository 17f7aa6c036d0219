"""Rules between parameters: conditions that a valid configuration satisfies.

A rule is a text such as "min_lr <= max_lr", or a function of the configuration. The text is never executed: `ast`
parses it (`rule_syntax`), and it becomes a tree of our own expressions (`rule_builder`, `rule_expressions`).

A rule that mentions an inactive parameter holds. A rule that has no value, such as 1 / 0 < x, does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from addtree._types import Array, Config, Index, Mask
from addtree.errors import ConfigError, SpaceError
from addtree.space.decoding import DecodedRows
from addtree.space.rule_builder import Builder
from addtree.space.rule_expressions import LEAST_DISTANCE, Columns


class Rule:
    """A condition on the parameters of one space, given as a text.

    >>> from addtree import Categorical, Integer, Real
    >>> rule = Rule("depth < 3 or rate in (0.1, 0.2)", {"depth": Integer(1, 9), "rate": Real(0, 1)})
    >>> rule.holds({"depth": 5, "rate": 0.5}), rule.holds({"depth": 5, "rate": 0.1}), rule.holds({"depth": 5})
    (False, True, True)

    names      the parameters that it mentions
    condition  the expression that must hold if all of them are active
    """

    def __init__(self, text: str, domains: Mapping[str, Any]) -> None:
        built = Builder(text, domains)
        self.text = text.strip()
        self.names = tuple(built.names)
        self.condition, self._key, self._is_exact = built.condition, built.key, built.is_exact

    def holds(self, config: Config) -> bool:
        """Whether a configuration satisfies it."""
        if any(name not in config for name in self.names):
            return True
        try:
            return self.condition.value(config)
        except ArithmeticError:
            return False

    def holds_rows(self, rows: DecodedRows) -> Mask:
        """Whether each of n rows satisfies it."""
        holds = np.ones(rows.n, dtype=bool)
        index, columns = self._active(rows)
        if self._is_exact:
            with np.errstate(all="ignore"):
                true, undefined = self.condition.rows(columns)
            holds[index] = true & ~undefined
            index = index[columns.doubtful]
        for i in index.tolist():
            holds[i] = self.holds(rows.config(i))
        return holds

    def distances(self, rows: DecodedRows) -> Array:
        """How far n rows are from satisfying it: zero where they do, at most 1."""
        far = np.zeros(rows.n)
        bad = np.flatnonzero(~self.holds_rows(rows))
        if len(bad):
            columns = Columns(len(bad), {name: rows.values(name)[bad] for name in self.names})
            with np.errstate(all="ignore"):
                far[bad] = np.maximum(self.condition.distance(columns), LEAST_DISTANCE)
        return far

    def _active(self, rows: DecodedRows) -> tuple[Index, Columns]:
        """The rows in which all parameters that the rule mentions are active, and their values."""
        values = {name: rows.values(name) for name in self.names}
        masks = [mask for name in self.names if (mask := rows.active(name)) is not None]
        if not masks:
            return np.arange(rows.n), Columns(rows.n, values)
        index = np.flatnonzero(np.logical_and.reduce(masks))
        return index, Columns(len(index), {name: found[index] for name, found in values.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rule) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return " ".join(self.text.splitlines())

    def __repr__(self) -> str:
        return f"<rule {str(self)!r}>"


class FunctionRule:
    """A condition on the parameters of one space, given as a function of the active ones among them.

    It holds if the function looks up a parameter that is inactive, and does not hold if it raises an ArithmeticError.

    names  all parameters of the space, since the function may read any
    """

    def __init__(self, function: Callable[[dict[str, Any]], bool], domains: Mapping[str, Any]) -> None:
        self.function = function
        self.text = f"the function {getattr(function, '__qualname__', repr(function))}"
        self.names = tuple(domains)

    def holds(self, config: Config) -> bool:
        """Whether a configuration satisfies it."""
        own = {name: config[name] for name in self.names if name in config}
        try:
            result = self.function(dict(own))
        except ArithmeticError:
            return False
        except KeyError as error:
            if error.args and error.args[0] in self.names and error.args[0] not in own:
                return True
            raise
        if not isinstance(result, (bool, np.bool_)):
            raise SpaceError(f"rule {self}: the function returned {result!r} for {own!r}; return True or False")
        return bool(result)

    def holds_rows(self, rows: DecodedRows) -> Mask:
        """Whether each of n rows satisfies it."""
        return np.array([self.holds(rows.config(i)) for i in range(rows.n)], dtype=bool)

    def distances(self, rows: DecodedRows) -> Array:
        """0 where a row satisfies it, else 1."""
        return np.where(self.holds_rows(rows), 0.0, 1.0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionRule) and self.function is other.function

    def __hash__(self) -> int:
        return hash(id(self.function))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<rule {self.text!r}>"


AnyRule: TypeAlias = Rule | FunctionRule


def violation(rule: AnyRule, config: Config) -> ConfigError:
    """The error for a configuration that does not satisfy a rule."""
    values = ", ".join(f"{name}={config[name]!r}" for name in rule.names if name in config)
    if not values:
        return ConfigError(f"rule {str(rule)!r} mentions no parameter and does not hold; remove it")
    return ConfigError(f"rule {str(rule)!r} does not hold for {values}; change one of them")


def make_rule(rule: str | Callable[[dict[str, Any]], bool], domains: Mapping[str, Any]) -> AnyRule:
    """The rule that a text or a function describes, for the parameters in `domains`."""
    if isinstance(rule, str):
        return Rule(rule, domains)
    if callable(rule):
        return FunctionRule(rule, domains)
    raise SpaceError(f"a rule is a text such as 'a <= b', or a function of the configuration; got {rule!r}")


# ---------------------------------------------------------------------- JSON

_KEY = ""  # Rules are stored under the one name that a parameter cannot have.


def rules_to_dict(rules: Sequence[AnyRule]) -> dict[str, Any]:
    """What the JSON form of a space contains besides its parameters; nothing if it has no rules."""
    for rule in rules:
        if isinstance(rule, FunctionRule):
            raise SpaceError(f"rule {rule} cannot be saved; write it as a text")
    return {_KEY: {"rules": [rule.text for rule in rules]}} if rules else {}


def split_rules(form: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The parameters in the JSON form of a space, and its rules."""
    children = {name: child for name, child in form.items() if name != _KEY}
    if len(children) == len(form):
        return children, []
    stored = form[_KEY]
    rules = stored.get("rules") if isinstance(stored, Mapping) and len(stored) == 1 else None
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise SpaceError(f"the entry {_KEY!r} of a space must be {{'rules': [...]}} with texts, got {stored!r}")
    return children, rules
