"""Conditional spaces: parameters, and choices whose options open subspaces."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from addtree._types import Array, Config
from addtree.errors import ConfigError, SpaceError
from addtree.space.encoding import Encoding
from addtree.space.parameters import (
    Categorical,
    Integer,
    Parameter,
    Real,
    Scalar,
    check_labels,
    find_label,
    same_labels,
)
from addtree.space.rules import AnyRule, make_rule
from addtree.space.tree import Condition, Location, Node, Tree, Vertex


class Choice:
    """A categorical variable whose options open subspaces.

    >>> Choice(linear=Space(), rbf=Space(gamma=Real(1e-4, 10, log=True))).labels
    ('linear', 'rbf')
    >>> Choice({1: Space(), 2: Space(units_2=Integer(8, 512))}).labels
    (1, 2)
    """

    def __init__(self, options: Mapping[Any, Space] | None = None, /, **named: Space) -> None:
        if not isinstance(options or {}, Mapping):
            raise SpaceError(f"Choice({options!r}): give a mapping of options to spaces; an option may open Space()")
        for label in set(options or {}) & set(named):
            raise SpaceError(f"option {label!r} is given twice, in the mapping and by keyword; remove one")
        both = {**(options or {}), **named}
        self.labels: tuple[Scalar, ...] = check_labels(both, "Choice options")
        for label, space in both.items():
            if not isinstance(space, Space):
                raise SpaceError(
                    f"option {label!r} must open a Space, got {space!r}; an option without parameters opens Space()"
                )
        self.spaces: tuple[Space, ...] = tuple(both.values())

    def subspace(self, label: Any) -> Space:
        """The space that an option opens."""
        return self.spaces[find_label(self.labels, label)]

    def _check(self, value: Any) -> Scalar:
        """The label as it stands in the definition, or a ConfigError."""
        return self.labels[find_label(self.labels, value)]

    def _encode(self, value: Any) -> float:
        """Label to position."""
        return float(find_label(self.labels, value))

    def _decode(self, code: float) -> Scalar:
        """Position to label."""
        return self.labels[int(code)]

    def to_dict(self) -> dict[str, Any]:
        """JSON form. JSON keys must be strings, so other labels are stored as a list of pairs."""
        pairs = [(label, space.to_dict()) for label, space in zip(self.labels, self.spaces, strict=True)]
        if all(isinstance(label, str) for label in self.labels):
            return {"type": "choice", "options": dict(pairs)}
        return {"type": "choice", "options": [list(pair) for pair in pairs]}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and same_labels(self.labels, other.labels) and self.spaces == other.spaces

    def __hash__(self) -> int:
        return hash((self.labels, self.spaces))

    def __repr__(self) -> str:
        return f"Choice({dict(zip(self.labels, self.spaces, strict=True))!r})"


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
    >>> space.validate({"lr": 0.5, "model": "a"})
    Traceback (most recent call last):
    ...
    addtree.errors.ConfigError: parameter 'lr': 0.5 is out of bounds [1e-05, 0.1]; use a value inside, or widen them
    """

    def __init__(
        self, children: Mapping[str, Parameter | Choice] | None = None, /, **named: Parameter | Choice
    ) -> None:
        if not isinstance(children or {}, Mapping):
            raise SpaceError(f"Space({children!r}): give a mapping of names to parameters")
        for name in set(children or {}) & set(named):
            raise SpaceError(f"parameter {name!r} is given twice, in the mapping and by keyword; remove one")
        both = {**(children or {}), **named}
        for name, child in both.items():
            if not isinstance(name, str) or not name:
                raise SpaceError(f"a parameter's name must be a non-empty string, got {name!r}")
            if not isinstance(child, (Real, Integer, Categorical, Choice)):
                raise SpaceError(f"parameter {name!r} must be a Real, Integer, Categorical or Choice, got {child!r}")
        self._children: dict[str, Parameter | Choice] = both
        self._rules: tuple[AnyRule, ...] = ()
        _check_names(self)

    def where(self, *rules: str | Callable[[dict[str, Any]], bool]) -> Space:
        """The same space with rules between its parameters, which every configuration has to satisfy.

        A rule is a condition in the syntax of Python, or a function of the configuration. It may mention any parameter
        of this space and of the spaces below it. It holds where a parameter that it mentions is inactive.

        >>> space = Space(low=Real(0, 1), high=Real(0, 1)).where("low <= high")
        >>> space.validate({"low": 0.5, "high": 0.2})
        Traceback (most recent call last):
        ...
        addtree.errors.ConfigError: the rule 'low <= high' does not hold for low=0.5, high=0.2; change one of them
        """
        made = [make_rule(rule, self.variables) for rule in rules]
        space = Space(self._children)
        space._rules = tuple(dict.fromkeys([*self._rules, *made]))
        return space

    # ------------------------------------------------------------------ structure

    @property
    def rules(self) -> tuple[AnyRule, ...]:
        """The rules of this space, without those of the spaces below it."""
        return self._rules

    @cached_property
    def node_rules(self) -> tuple[tuple[AnyRule, int], ...]:
        """Every rule of the whole tree, with the number of the node at which it applies."""
        number = {node.location: i for i, node in enumerate(self.nodes)}
        return tuple((rule, number[location]) for location, rule in _rules_below(self, ()))

    @property
    def children(self) -> Mapping[str, Parameter | Choice]:
        """The parameters and choices of this node, by name; read-only."""
        return MappingProxyType(self._children)

    @cached_property
    def tree(self) -> Tree[Parameter | Choice]:
        """The nodes of the tree, and how to traverse them."""
        return Tree.grow(self._children, _opened)

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
        """The conversion of configurations to arrays; one column per variable."""
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
        """The exact number of paths: per choice a sum over options, per node a product over choices."""
        return self.tree.fold(lambda i, below: math.prod(map(sum, below)))[0]

    @cached_property
    def n_configs(self) -> float:
        """The number of configurations; infinite if a path holds a real parameter or the number exceeds a float."""
        sizes = {name: float(d.size) for name, d in self.variables.items() if not isinstance(d, Choice)}

        def count(i: int, below: list[list[float]]) -> float:
            own = math.prod((sizes[name] for name in self.nodes[i].parameters), start=1.0)
            return math.prod(map(sum, below), start=own)

        return self.tree.fold(count)[0]

    def active_nodes(self, config: Config) -> Iterator[Node]:
        """The nodes that a valid configuration activates, parents first."""
        return (node for _, node in self._walk(config))

    def _walk(self, config: Config) -> Iterator[tuple[int, Node]]:
        """The nodes that `config` activates; a choice may be added to it while the node that holds it is visited."""
        return self.tree.walk(lambda name: int(self.tree.domains[name]._encode(config[name])))

    def effective_dimension(self, config: Config) -> int:
        """The number of parameters active in a configuration; choices do not count."""
        config = self.validate(config)
        return sum(len(node.parameters) for node in self.active_nodes(config))

    # ------------------------------------------------------------------ configurations

    def validate(self, config: Config) -> dict[str, Any]:
        """The configuration as plain Python values in the order of the tree, or a ConfigError saying what is wrong."""
        if not isinstance(config, Mapping):
            raise ConfigError(f"a configuration is a mapping of parameter names to values, got {config!r}")
        out: dict[str, Any] = {}
        for _, node in self._walk(out):
            for name in node.names:
                out[name] = self._checked(name, config, node)
        for name, value in config.items():
            if name not in out:
                raise ConfigError(self._why_not(name, value))
        self._check_rules(out)
        return out

    def _check_rules(self, config: Config) -> None:
        """Raise a ConfigError if a configuration violates a rule."""
        if not self.node_rules:
            return
        active = {i for i, _ in self._walk(config)}
        for rule, node in self.node_rules:
            if node in active and not rule.holds(config):
                values = ", ".join(f"{name}={config[name]!r}" for name in rule.names if name in config)
                raise ConfigError(f"the rule {str(rule)!r} does not hold for {values}; change one of them")

    def _checked(self, name: str, config: Config, node: Node) -> Any:
        domain = self.variables[name]
        if name not in config:
            raise ConfigError(
                f"parameter {name!r} is missing; it is active {self._when((node.location,))}: add {_example(domain)}"
            )
        try:
            return domain._check(config[name])
        except ConfigError as error:
            raise ConfigError(f"parameter {name!r}: {error}") from None

    def _why_not(self, name: Any, value: Any) -> str:
        if name in self.variables:
            return (
                f"parameter {name!r} = {value!r} is inactive in this configuration; it is active "
                f"{self._when(self.conditions[name])}: leave it out, or change the choice"
            )
        near = difflib.get_close_matches(str(name), list(self.variables), n=1)
        hint = (
            f"did you mean {near[0]!r}?" if near else f"the space has {', '.join(map(repr, list(self.variables)[:12]))}"
        )
        return f"parameter {name!r} = {value!r} is unknown; {hint}"

    def _when(self, condition: Condition) -> str:
        """A condition in words: when model='svm' and kernel='rbf'."""
        if condition == ((),):
            return "always"
        decode = self.encoding.decode_value
        ways = [" and ".join(f"{c}={decode(c, o)!r}" for c, o in location) for location in condition[:4]]
        return "when " + ", or ".join(ways) + (", or ..." if len(condition) > 4 else "")

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
        out = np.full((len(configs), start[-1]), np.nan)
        for row, config in zip(out, map(self.validate, configs), strict=True):
            for i, node in self._walk(config):
                if node.parameters:
                    row[start[i]] = node.location[-1][1] if node.location else 0
                for j, name in enumerate(node.parameters):
                    domain = self.variables[name]
                    row[start[i] + 1 + j] = (
                        domain._encode(config[name]) if isinstance(domain, Categorical) else config[name]
                    )
        return out

    # ------------------------------------------------------------------ forms

    def to_dict(self) -> dict[str, Any]:
        """The space as dicts, lists and scalars, for JSON or YAML."""
        return {name: child.to_dict() for name, child in self._children.items()}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Space:
        """The space that `to_dict` described.

        >>> Space.from_dict({"x": {"type": "real", "low": 0, "high": 1}})
        Space({'x': Real(low=0.0, high=1.0, log=False)})
        """
        if not isinstance(form, Mapping):
            raise SpaceError(f"a space is a mapping of names to parameters, got {form!r}")
        return cls({name: _child_from_dict(name, child) for name, child in form.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and list(self._children.items()) == list(other._children.items())

    def __hash__(self) -> int:
        return hash(tuple(self._children.items()))

    def __reduce__(self) -> tuple[type[Space], tuple[dict[str, Parameter | Choice]]]:
        return Space, (self._children,)  # without what is derived from them

    def __repr__(self) -> str:
        return f"Space({self._children!r})"

    def __str__(self) -> str:
        lines: list[str] = []
        for name, child in self._children.items():
            lines += [name, *_options(child)] if isinstance(child, Choice) else [f"{name}: {child}"]
        return "\n".join(lines)


def _rules_below(space: Space, location: Location) -> Iterator[tuple[Location, AnyRule]]:
    """The rules at and below a space, each with its location."""
    yield from ((location, rule) for rule in space.rules)
    for name, child in space.children.items():
        if isinstance(child, Choice):
            for o, sub in enumerate(child.spaces):
                yield from _rules_below(sub, (*location, (name, o)))


def _opened(child: Parameter | Choice) -> list[Mapping[str, Parameter | Choice]] | None:
    """What a choice opens, option by option; None for a parameter."""
    return [space.children for space in child.spaces] if isinstance(child, Choice) else None


def _options(choice: Choice) -> Iterator[str]:
    for label, space in zip(choice.labels, choice.spaces, strict=True):
        last = label is choice.labels[-1]
        yield f"{'└─' if last else '├─'} {label!r}"
        inner = str(space).splitlines()
        tops = [i for i, line in enumerate(inner) if line[0] not in "├└│ "]
        for i, line in enumerate(inner):
            after = "   " if tops and i >= tops[-1] else "│  "
            mark = ("└─ " if i == tops[-1] else "├─ ") if i in tops else after
            yield ("   " if last else "│  ") + mark + line


def _example(domain: Parameter | Choice) -> str:
    if isinstance(domain, Choice):
        return "one of " + ", ".join(map(repr, domain.labels[:8]))
    return str(domain)


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
                    f"parameter {name!r} has two domains, {_brief(known)} and {_brief(child)}; a name means one "
                    "variable everywhere: give both the same domain, or rename one"
                )
            _claim(name, "here", mine)
            if isinstance(child, Choice):
                below: dict[str, str] = {}
                for label, sub in zip(child.labels, child.spaces, strict=True):
                    below.update(dict.fromkeys(names_below(sub), f"under {name}={label!r}"))
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


def _brief(domain: Parameter | Choice) -> str:
    return f"a choice of {list(domain.labels)}" if isinstance(domain, Choice) else str(domain)


def _child_from_dict(name: str, form: Any) -> Parameter | Choice:
    kinds = "'real', 'integer', 'categorical' or 'choice'"
    if not isinstance(form, Mapping) or "type" not in form:
        raise SpaceError(f"parameter {name!r}: expected a mapping with a 'type' ({kinds}), got {form!r}")
    rest = {key: value for key, value in form.items() if key != "type"}
    try:
        match form["type"]:
            case "real":
                return Real(rest.pop("low"), rest.pop("high"), **rest)
            case "integer":
                return Integer(rest.pop("low"), rest.pop("high"), **rest)
            case "categorical":
                return Categorical(**rest)
            case "choice":
                pairs = rest.pop("options")
                items = list(pairs.items() if isinstance(pairs, Mapping) else pairs)
                check_labels((label for label, _ in items), "Choice options")
                return Choice({label: Space.from_dict(sub) for label, sub in items}, **rest)
    except SpaceError as error:
        raise SpaceError(f"parameter {name!r}: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise SpaceError(f"parameter {name!r}: {form!r} is not a {form['type']}: {error}") from None
    raise SpaceError(f"parameter {name!r}: type {form['type']!r} is not {kinds}")
