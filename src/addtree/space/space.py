"""Conditional spaces: parameters, and choices and numbers that open subspaces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from addtree._types import Array, Config
from addtree.errors import ConfigError, SpaceError
from addtree.space.choice import Choice
from addtree.space.configs import listed
from addtree.space.encoding import Encoding
from addtree.space.forms import child_from_dict, condition_text, contrast, did_you_mean, draw, example, opened_spaces
from addtree.space.limits import check_form
from addtree.space.parameters import Categorical, Integer, Parameter, Real
from addtree.space.rules import AnyRule, make_rule, rules_to_dict, split_rules, violation
from addtree.space.tree import Condition, Location, Node, Opening, Tree, Vertex

__all__ = ["Choice", "Space", "check_space"]

_NOTHING: Mapping[str, Parameter | Choice] = MappingProxyType({})


def check_space(space: Any) -> Space:
    """The space itself, or a SpaceError that says what was expected."""
    if isinstance(space, Space):
        return space
    remedy = "write Space({...}), or Space.from_dict for its JSON form" if isinstance(space, Mapping) else "give one"
    raise SpaceError(f"space must be an addtree.Space, got {space!r}; {remedy}")


class Space:
    """A conditional space. Immutable; `str(space)` draws the tree.

    >>> space = Space(lr=Real(1e-5, 1e-1, log=True), model=Choice(a=Space(), b=Space(depth=Integer(1, 9))))
    >>> print(space)
    lr: real [1e-05, 0.1] log
    model
    ├─ 'a'
    └─ 'b'
       └─ depth: integer 1..9
    >>> space.n_paths
    2
    >>> print(Space(layers=Integer(1, 4, opens={(2, 4): Space(units_2=Integer(8, 512, step=8))})))
    layers: integer 1..4
    └─ 2..4
       └─ units_2: integer 8..512 step 8
    >>> space.validate({"lr": 0.5, "model": "a"})
    Traceback (most recent call last):
    ...
    addtree.errors.ConfigError: parameter 'lr': 0.5 is out of bounds [1e-05, 0.1]; use a value inside, or widen them
    """

    def __init__(self, children: Mapping[str, Parameter | Choice] = _NOTHING, /, **named: Parameter | Choice) -> None:
        if not isinstance(children, Mapping):
            raise SpaceError(
                f"Space({children!r}): give a mapping of names to parameters, or parameters by keyword: "
                "Space(x=Real(0, 1))"
            )
        for name in set(children) & set(named):
            raise SpaceError(f"parameter {name!r} is given twice, in the mapping and by keyword; remove one")
        both = {**children, **named}
        for name, child in both.items():
            if not isinstance(name, str) or not name:
                raise SpaceError(f"a parameter's name must be a non-empty string, got {name!r}")
            if not isinstance(child, (Real, Integer, Categorical, Choice)):
                hint = "; Space.from_dict reads the JSON form of a space" if isinstance(child, Mapping) else ""
                raise SpaceError(
                    f"parameter {name!r} must be a Real, Integer, Categorical or Choice, got {child!r}{hint}"
                )
        self._children: dict[str, Parameter | Choice] = both
        self._rules: tuple[AnyRule, ...] = ()
        _check_names(self)

    def where(self, *rules: str | Callable[[dict[str, Any]], bool]) -> Space:
        """The same space with rules between its parameters; every valid configuration satisfies them.

        A rule is a condition in the syntax of Python, or a function of the configuration. It may mention any parameter
        of this space and of those below it. It holds where a parameter that it mentions is inactive.

        >>> space = Space(low=Real(0, 1), high=Real(0, 1)).where("low <= high")
        >>> space.validate({"low": 0.5, "high": 0.25})
        Traceback (most recent call last):
        ...
        addtree.errors.ConfigError: rule 'low <= high' does not hold for low=0.5, high=0.25; change one of them
        """
        return _with_rules(self._children, [*self._rules, *(make_rule(rule, self.variables) for rule in rules)])

    # ------------------------------------------------------------------ structure

    @property
    def children(self) -> Mapping[str, Parameter | Choice]:
        """The parameters and choices of this node, by name; read-only."""
        return MappingProxyType(self._children)

    @property
    def rules(self) -> tuple[AnyRule, ...]:
        """The rules of this node."""
        return self._rules

    @cached_property
    def node_rules(self) -> tuple[tuple[AnyRule, int], ...]:
        """Every rule of the whole tree, with the number of the node at which it applies."""
        number = {node.location: i for i, node in enumerate(self.nodes)}
        return tuple((rule, number[location]) for location, rule in _rules_below(self, (), self.variables))

    @cached_property
    def tree(self) -> Tree[Parameter | Choice]:
        """The nodes of the tree, and how to traverse them."""
        return Tree.grow(self._children, _describe)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Every node of the tree, breadth-first; the root is node 0."""
        return self.tree.nodes

    @property
    def variables(self) -> Mapping[str, Parameter | Choice]:
        """Every parameter and choice of the whole tree by name, breadth-first; read-only."""
        return MappingProxyType(self.tree.domains)

    @cached_property
    def encoding(self) -> Encoding:
        """The conversion of configurations to arrays; one column per variable that is not constant."""
        return Encoding(self)

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """When each variable is active: at any of these locations, which exclude each other."""
        return MappingProxyType(self.tree.conditions)

    @property
    def vertices(self) -> tuple[Vertex, ...]:
        """The vertices that hold parameters, breadth-first."""
        return self.tree.vertices

    @cached_property
    def n_paths(self) -> int:
        """The exact number of paths, which are the distinct patterns of activity, whatever the rules.

        Per choice it is a sum over options, per number a sum over the different sets of spaces that it opens, per node
        a product over both.
        """
        patterns = {name: _patterns(domain, self.tree.cells[name]) for name, domain in self._branching}

        def count(i: int, below: list[list[int]]) -> int:
            sums = [
                sum(math.prod(values[o] for o in opened) for opened in patterns[name])
                for (name, _), values in zip(self.nodes[i].branches, below, strict=True)
            ]
            return math.prod(sums)

        return self.tree.fold(count)[0]

    @property
    def _branching(self) -> Iterator[tuple[str, Parameter | Choice]]:
        """The choices and the numbers that open spaces."""
        return ((name, domain) for name, domain in self.variables.items() if name in self.tree.cells)

    @cached_property
    def n_configs(self) -> float:
        """The number of configurations, whatever the rules.

        It is infinite if a path holds a real parameter, or if the number exceeds a float.
        """
        sizes = {name: float(d.size) for name, d in self.variables.items() if not isinstance(d, Choice)}
        cells = {
            name: [1.0] * len(d.labels) if isinstance(d, (Choice, Categorical)) else d.cell_sizes
            for name, d in self._branching
        }

        def count(i: int, below: list[list[float]]) -> float:
            node = self.nodes[i]
            total = math.prod(sizes[name] for name in node.parameters if name not in cells)
            for (name, _), values in zip(node.branches, below, strict=True):
                opened = zip(cells[name], self.tree.cells[name], strict=True)
                total *= sum(size * math.prod(values[o] for o in positions) for size, positions in opened)
            return total

        return self.tree.fold(count)[0]

    def active_nodes(self, config: Config) -> Iterator[Node]:
        """The nodes that a valid configuration activates, parents first."""
        return (node for _, node in self._walk(config))

    def _walk(self, config: Config) -> Iterator[tuple[int, Node]]:
        """The nodes that `config` activates; a value may be added to it while the node that holds it is visited."""
        domains: dict[str, Any] = self.tree.domains
        return self.tree.walk(lambda name: domains[name]._cell(config[name]))

    def effective_dimension(self, config: Config) -> int:
        """The number of parameters active in a configuration; choices and constants do not count."""
        config = self.validate(config)
        return sum(len(node.parameters) for node in self.active_nodes(config))

    # ------------------------------------------------------------------ configurations

    def validate(self, config: Config) -> dict[str, Any]:
        """The configuration as plain Python values in the order of the tree, or a ConfigError saying what is wrong."""
        if not isinstance(config, Mapping):
            raise ConfigError(f"a configuration is a mapping of parameter names to values, got {config!r}")
        for name, value in config.items():  # first, because a misspelt name is also a missing one
            if name not in self.variables:
                raise ConfigError(self._why_not(name, value))
        out: dict[str, Any] = {}
        for _, node in self._walk(out):
            for name in node.names:
                if name not in config:
                    raise ConfigError(self._why_needed(name, node))
                out[name] = self._check_value(name, config[name])
        for name, value in config.items():
            if name not in out:
                raise ConfigError(self._why_not(name, value))
        self._check_rules(out)
        return out

    def _check_rules(self, config: Config) -> None:
        """Raise a ConfigError if a configuration violates a rule."""
        active = {i for i, _ in self._walk(config)} if self.node_rules else ()
        for rule, node in self.node_rules:
            if node in active and not rule.holds(config):
                raise violation(rule, config)

    def _check_value(self, name: Any, value: Any) -> Any:
        """One value as a plain Python value, or a ConfigError; whether the parameter is active does not matter."""
        if name not in self.variables:
            raise ConfigError(self._why_not(name, value))
        try:
            return self.variables[name]._check(value)
        except ConfigError as error:
            raise ConfigError(f"parameter {name!r}: {error}") from None

    def _why_needed(self, name: str, node: Node) -> str:
        when = condition_text(tuple(self.tree.in_cells(node.location)), self.variables)
        return f"parameter {name!r} is missing; it is active {when}: add {example(self.variables[name])}"

    def _why_not(self, name: Any, value: Any) -> str:
        if name in self.variables:
            return (
                f"parameter {name!r} = {value!r} is inactive in this configuration; it is active "
                f"{condition_text(self.conditions[name], self.variables)}: leave it out, or change what it depends on"
            )
        return f"parameter {name!r} = {value!r} is unknown; {did_you_mean(name, self.variables)}"

    def sample(self, rng: np.random.Generator) -> dict[str, Any]:
        """A configuration drawn at random: options equally likely, numbers uniform on their scale."""
        return self.encoding.decode(self.encoding.sample(1, rng)[0])

    def linearize(self, configs: Sequence[Config]) -> Array:
        """The paper's linear representation (appendix A), one row per configuration.

        Nodes come breadth-first. Each is a tag, its rank among its siblings, followed by the values of its parameters
        (the position of a category). The tag of an inactive node, or of a node without parameters, must differ from
        every other tag. It is NaN, which equals nothing, and so are the values that follow it.

        >>> space = Space(t=Choice({1: Space(a=Real(-1, 1)), 2: Space(b=Real(-1, 1))}), r=Real(-1, 1))
        >>> space.linearize([{"r": 0.1, "t": 1, "a": 0.3}])
        array([[0. , 0.1, 0. , 0.3, nan, nan]])
        """
        start = np.cumsum([0] + [1 + len(node.parameters) for node in self.nodes])
        valid = [self.validate(config) for config in listed(configs)]
        out = np.full((len(valid), start[-1]), np.nan)
        for row, config in zip(out, valid, strict=True):
            for i, node in self._walk(config):
                if node.parameters:
                    row[start[i]] = node.location[-1][1] if node.location else 0
                for j, name in enumerate(node.parameters):
                    domain, value = self.variables[name], config[name]
                    row[start[i] + 1 + j] = domain.position(value) if isinstance(domain, Categorical) else value
        return out

    # ------------------------------------------------------------------ forms

    def to_dict(self) -> dict[str, Any]:
        """The space as dicts, lists and scalars, for JSON or YAML."""
        form = {}
        for name, child in self._children.items():
            try:
                form[name] = child.to_dict()
            except SpaceError as error:
                raise SpaceError(f"parameter {name!r}: {error}") from None
        return form | rules_to_dict(self._rules)

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Space:
        """The space that `to_dict` described.

        >>> Space.from_dict({"x": {"type": "real", "low": 0, "high": 1}})
        Space({'x': Real(0.0, 1.0)})
        """
        check_form(form)
        if not isinstance(form, Mapping):
            raise SpaceError(f"a space is a mapping of names to parameters, got {form!r}")
        children, rules = split_rules(form)
        space = cls({name: child_from_dict(name, child, cls.from_dict) for name, child in children.items()})
        return space.where(*rules) if rules else space

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Space)
            and self._children == other._children
            and frozenset(self._rules) == frozenset(other._rules)
        )

    def __hash__(self) -> int:
        return hash((frozenset(self._children.items()), frozenset(self._rules)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _with_rules, (self._children, self._rules)  # without what is derived from them

    def __repr__(self) -> str:
        rules = ", ".join(repr(rule.text) for rule in self._rules)
        return f"Space({self._children!r})" + (f".where({rules})" if rules else "")

    def __str__(self) -> str:
        return "\n".join(draw(self))


def _with_rules(children: Mapping[str, Parameter | Choice], rules: Iterable[AnyRule]) -> Space:
    """A space with rules; equal ones count once."""
    space = Space(children)
    space._rules = tuple(dict.fromkeys(rules))
    return space


def _rules_below(
    space: Space, location: Location, domains: Mapping[str, Parameter | Choice]
) -> Iterator[tuple[Location, AnyRule]]:
    """The rules of a space and of those below it, with the locations of their nodes; a constant opens no node."""
    yield from ((location, rule) for rule in space.rules)
    for name in space.children:
        domain = domains[name]
        is_constant = not isinstance(domain, Choice) and domain.is_constant
        for o, (_, below) in enumerate(opened_spaces(domain)):
            yield from _rules_below(below, location if is_constant else (*location, (name, o)), domains)


def _describe(child: Parameter | Choice) -> Opening[Parameter | Choice] | None:
    """What a variable opens."""
    opened = [space.children for _, space in opened_spaces(child)]
    if isinstance(child, Choice):
        return Opening("choice", opened, tuple((o,) for o in range(len(opened))))
    if child.is_constant:
        return Opening("constant", opened, ())
    return Opening("number", opened, child.cells.open) if isinstance(child, (Real, Integer)) and opened else None


def _patterns(domain: Parameter | Choice, cells: tuple[tuple[int, ...], ...]) -> list[tuple[int, ...]]:
    """The cells of a variable, as what they open; those of a number count once for each set of parameters."""
    if isinstance(domain, Choice):
        return list(cells)
    names = [space.children.keys() for _, space in opened_spaces(domain)]
    return list({frozenset[str]().union(*(names[o] for o in opened)): opened for opened in cells}.values())


def _check_names(root: Space) -> None:
    """A name means one variable: one domain everywhere, and at most once on a path."""
    domains: dict[str, Parameter | Choice] = {}

    def names_below(space: Space) -> dict[str, str]:
        """Each name in `space` and below it, with the words for where it stands."""
        mine: dict[str, str] = {}
        for name, child in space._children.items():
            known = domains.setdefault(name, child)
            if known != child:
                raise SpaceError(
                    f"parameter {name!r} has two domains, {contrast(known, child)}; a name means one variable "
                    "everywhere: give both the same domain, or rename one"
                )
            _claim(name, "here", mine)
            opened = [(text, names_below(sub)) for text, sub in opened_spaces(child)]
            cells = child.cells.open if isinstance(child, (Real, Integer)) else [(o,) for o in range(len(opened))]
            link = "=" if isinstance(child, Choice) else " in "
            below: dict[str, str] = {}
            for cell in cells:
                together: dict[str, str] = {}
                for text, names in (opened[o] for o in cell):
                    for other in names:
                        _claim(other, f"under {name}{link}{text}", together)
                below.update(together)
            for other, where in below.items():
                _claim(other, where, mine)
        return mine

    names_below(root)


def _claim(name: str, where: str, taken: dict[str, str]) -> None:
    if name in taken:
        raise SpaceError(
            f"parameter {name!r} occurs twice on one path, {taken[name]} and {where}; rename one of the two"
        )
    taken[name] = where
