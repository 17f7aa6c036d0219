"""Random spaces of random shape, data on them, and hyperparameters that depend on names alone."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from hypothesis import strategies as st

from addtree import Categorical, Choice, Integer, Real, Space
from addtree._types import Array
from addtree.errors import SpaceError
from addtree.model.gp import Posterior
from addtree.model.kernel import Hyperparameters, Kernel, Rows
from addtree.model.specification import Specification
from addtree.model.terms import ACTIVE, Term
from addtree.space.encoding import Encoding

COVARIANCES = ("additive", "additive+interactions", "independent")
LABELS = ("a", "x y", 3, 0.5, None, True, "é|=")  # not 1: in a dict it is True
MAX_PATHS = 64  # keeps `independent` and brute force small

seeds = st.integers(0, 2**32 - 1)

REALS = st.sampled_from(
    [
        Real(0, 1),
        Real(-2.5, 4),
        Real(1e-5, 1e-1, log=True),
        Real(1e6, 3e9, log=True),
        Real(-1, 1, step=0.1),
        Real(1e-3, 1e-3 + 3e-6, step=1e-6),
    ]
)
EXTREMES = st.sampled_from(  # few floats, subnormal, huge and tiny ones
    [
        Real(1.0, 1.0 + 2**-50),
        Real(1.0 - 2**-52, 1.0 + 2**-51, log=True),
        Real(0.0, 2e-323),
        Real(-1e-310, 1e-300),
        Real(5e-324, 5e-323, log=True),
        Real(-8e307, 8e307),
        Real(1e-200, 1e100, log=True),
        Integer(2**53, 2**53 + 1),
        Integer(2**62, 2**62 + 5, log=True),
        Integer(10**17, 10**17 + 5),
        Integer(-(10**300), -(10**300) + 40, step=8),
        Integer(0, 2**53),
        Integer(1, 2**40, log=True),
    ]
)
INTEGERS = st.sampled_from([Integer(0, 1), Integer(-3, 9), Integer(1, 500, log=True), Integer(8, 64, step=8)])
CONSTANTS = st.sampled_from([Integer(3, 3), Real(0.5, 0.5), Real(2, 2, log=True), Categorical(["adam"])])
CATEGORICALS = st.sampled_from(
    [Categorical(["u", "v"]), Categorical([0, False, None, "0"]), Categorical(["low", "mid", "high"], ordered=True)]
)
SMALL = st.sampled_from(
    [
        Integer(0, 2),
        Categorical(["u", "v"]),
        Categorical([7, None, True]),
        Integer(2, 6, step=2),
        Categorical([1, 2, 3], ordered=True),
        Integer(4, 4),
    ]
)
# Numbers that open spaces, without the spaces: a domain, and disjoint, nested, overlapping or single-value intervals.
OPENERS = [
    (Integer(1, 4), [(2, 4), (3, 4)]),
    (Integer(1, 4), [(1, 2), (4, 4)]),
    (Integer(10**17, 10**17 + 5), [(10**17 + 1, 10**17 + 1), (10**17 + 1, 10**17 + 4)]),
    (Integer(1, 300, log=True), [(1, 3), (3, 100)]),
    (Integer(0, 30, step=5), [(3, 12), (25, 30)]),
    (Real(0, 1), [(0.25, 0.5), (0.5, 1)]),
    (Real(0, 1), [(0.1, 0.7), (0.7000000000000001, 0.9)]),
    (Real(1e-4, 1, log=True), [(1e-3, 1e-2), (0.1, 0.1)]),
    (Real(1.0, 1.0 + 2**-50), [(1.0, 1.0 + 2**-52), (1.0 + 2**-50, 1.0 + 2**-50)]),
    (Real(0, 1, step=0.1), [(0.3, 0.3), (0.25, 0.75)]),
]
SMALL_OPENERS = [
    (Integer(0, 2), [(1, 2), (2, 2)]),
    (Integer(0, 3), [(0, 1), (3, 3)]),
    (Integer(1, 5, step=2), [(3, 3)]),
]


def opening(domain: Any, opens: dict[Any, Space]) -> Any:
    """The same number, with spaces that it opens."""
    return type(domain)(domain.low, domain.high, log=domain.log, step=domain.step, opens=opens)


@st.composite
def spaces(draw: Any, *, depth: int = 2, strict: bool = False, finite: bool = False) -> Space:
    """A random space.

    strict  the paper's trees: at most one choice in a node, at least two options, no name shared between options, no
            number that opens parameters, no constants and no ordered categories
    finite  integers and categoricals with few values only
    """
    numbers = itertools.count()
    domains = SMALL if finite else st.one_of(REALS, INTEGERS, CATEGORICALS, EXTREMES, CONSTANTS)
    if strict:
        domains = st.one_of(REALS, INTEGERS, CATEGORICALS.filter(lambda c: not c.ordered))

    def labels(n: int) -> list[Any]:
        return list(draw(st.permutations(LABELS)))[:n]

    def node(depth: int, extra: list[tuple[str, Any]], least: int = 0) -> Space:
        """A node; `extra` has to be found somewhere at or below it, at most once on each path."""
        n_choices = draw(st.integers(0, 1 if strict else 2)) if depth else 0
        n_own = draw(st.integers(least if not n_choices else 0, 2))
        children: list[tuple[str, Any]] = [(f"p{next(numbers)}", draw(domains)) for _ in range(n_own)]
        passed: list[list[tuple[str, Any]]] = [[] for _ in range(n_choices)]
        for item in extra:
            down = n_choices and draw(st.booleans())
            (passed[draw(st.integers(0, n_choices - 1))] if down else children).append(item)
        for items in passed:
            children.append((f"c{next(numbers)}", choice(depth, items)))
        if depth and not strict and draw(st.booleans()):
            children.append((f"o{next(numbers)}", opener(depth)))
        return Space(dict(draw(st.permutations(children))))

    def opener(depth: int) -> Any:
        domain, intervals = draw(st.sampled_from(SMALL_OPENERS if finite else OPENERS))
        intervals = intervals[: draw(st.integers(1, len(intervals)))]
        disjoint = all(b < c for (_, b), (c, _) in itertools.pairwise(intervals))
        shared = [(f"s{next(numbers)}", draw(domains))] if disjoint and draw(st.booleans()) else []
        return opening(domain, {interval: node(depth - 1, shared) for interval in intervals})

    def choice(depth: int, extra: list[tuple[str, Any]]) -> Choice:
        shared = []
        if not strict and draw(st.booleans()):
            shared.append((f"s{next(numbers)}", draw(domains)))
        if not strict and depth > 1 and draw(st.integers(0, 3)) == 0:
            name = f"k{next(numbers)}"
            shared.append((name, draw(st.sampled_from([choice, lambda depth, _: opener(depth)]))(depth - 1, [])))
        options = {}
        for label in labels(draw(st.integers(2 if strict else 1, 3))):
            here = [item for item in shared if draw(st.booleans())]
            options[label] = node(depth - 1, extra + here)
        return Choice(options)

    space = node(depth, [], 1)
    if len(list(itertools.islice(paths(space), MAX_PATHS + 1))) > MAX_PATHS:
        space = node(1, [], 1)
    return space


@st.composite
def ruled_spaces(draw: Any, *, finite: bool = False) -> Space:
    """A random space with random rules, at the root and in the spaces that its choices open."""
    space = draw(spaces(depth=2, finite=finite))
    children: dict[str, Any] = {}
    for name, child in space.children.items():
        if isinstance(child, Choice) and draw(st.booleans()):
            opened = [sub.where(*draw(rules(sub, 1))) for sub in child.spaces]
            child = Choice(dict(zip(child.labels, opened, strict=True)))
        children[name] = child
    with suppress(SpaceError):  # a choice that occurs twice has other rules at the other place
        space = Space(children)
    return space.where(*draw(rules(space, 3)))


def rules(space: Space, most: int) -> Any:
    """Lists of at most `most` random rules of a space."""
    domains: dict[str, Any] = dict(space.variables)
    numbers = [name for name, d in domains.items() if isinstance(d, (Real, Integer))]
    labelled = [name for name, d in domains.items() if name not in numbers]
    kinds: list[Any] = []
    if numbers:
        ends = st.sampled_from(numbers).flatmap(
            lambda name: st.sampled_from([f"{name} > {domains[name].low!r}", f"{name} < {domains[name].high!r}"])
        )
        pair = st.tuples(st.sampled_from(numbers), st.sampled_from(["<=", "!=", ">"]), st.sampled_from(numbers))
        kinds += [ends, pair.map(" ".join), pair.map(lambda part: f"{part[0]} + 1 {part[1]} 2 * {part[2]}")]
    if labelled:
        equal = st.sampled_from(labelled).flatmap(
            lambda name: st.sampled_from(domains[name].labels).map(lambda label: f"{name} == {label!r}")
        )
        kinds += [equal, equal.map(lambda text: f"not ({text})")]
        if numbers:
            kinds.append(st.tuples(equal, pair.map(" ".join)).map(" or ".join))
    return st.lists(st.one_of(kinds), max_size=most) if kinds else st.just([])


def solvable(space: Space) -> bool:
    """Whether a space has valid configurations, as far as the search for them can tell."""
    try:
        return bool(len(space.encoding.sample(1, np.random.default_rng(0))))
    except SpaceError as error:
        if "no valid configuration" not in str(error):
            raise
        return False


def sample(space: Space, n: int, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [space.sample(rng) for _ in range(n)]


def build(space: Space, covariance: str) -> tuple[Encoding, Kernel]:
    encoding = Encoding(space)
    return encoding, Specification(covariance).make_kernel(encoding)


def key(encoding: Encoding, term: Term) -> tuple[Any, ...]:
    """A name for a term that does not depend on the order of parameters and options."""
    names = encoding.names
    gate = [
        (names[j], *(repr(encoding.decode_value(names[j], code)) for code in np.clip((low, high), 0, None if k else 1)))
        for j, low, high in term.gate
        for k in (encoding.is_choice[j],)
        if (low, high) != ACTIVE
    ]
    return (term.kind, term.degree, tuple(sorted(names[j] for j in term.columns)), tuple(sorted(gate)))


def hyperparameters(encoding: Encoding, covariance: Kernel, *, noise: float = 1e-2) -> Hyperparameters:
    """Different ones for every term and lengthscale, the same for every order of siblings."""
    amplitudes = np.array([_draw(key(encoding, term)) for term in covariance.terms])
    lengthscales = np.ones(covariance.n_scales)
    own = bool(covariance.of_kind("path"))  # `independent`: a scale per term and column
    for term in covariance.terms:
        for column, scale in term.reads:
            name = encoding.names[column]
            lengthscales[scale] = _draw((key(encoding, term), name) if own else name)
    return Hyperparameters(amplitudes, lengthscales, noise)


def _draw(name: Any) -> float:
    return float(np.exp(0.7 * np.random.default_rng(zlib.crc32(repr(name).encode())).normal() - 0.5))


def data(encoding: Encoding, covariance: Kernel, n: int, seed: int) -> tuple[Rows, Array]:
    """n random rows, ready for the covariance, and as many values."""
    rows = covariance.rows(encoding.encode(sample(encoding.space, n, seed)))
    return rows, np.random.default_rng(seed + 1).normal(size=n)


def reordered(space: Space) -> Space:
    """The same space with parameters and options the other way round, at every level."""
    children: dict[str, Any] = {}
    for name, child in reversed(list(space.children.items())):
        if isinstance(child, Choice):
            pairs = list(zip(child.labels, map(reordered, child.spaces), strict=True))
            children[name] = Choice(dict(reversed(pairs)))
        elif isinstance(child, Categorical):
            children[name] = child if child.ordered else Categorical(tuple(reversed(child.values)))
        else:
            intervals = reversed(list(child.opens.items()))
            children[name] = opening(child, {interval: reordered(sub) for interval, sub in intervals})
    return Space(children)


def differences(function: Callable[[Array], Any], x: Array, *, step: float = 1e-5) -> Array:
    """Central differences of a function of a vector, one row per entry of x."""
    out = []
    for i in range(len(x)):
        e = np.zeros_like(x)
        e[i] = step
        out.append((np.asarray(function(x + e)) - np.asarray(function(x - e))) / (2.0 * step))
    return np.array(out)


def paths(space: Space) -> Iterator[dict[str, Any]]:
    """Every way to decide the choices and openers of a space that leads to other nodes, by recursion over the tree.

    A number takes one value from each of the parts into which its intervals divide it.
    """
    ways = []
    for name, child in space.children.items():
        if isinstance(child, Choice):
            values = list(child.labels)
        elif isinstance(child, Categorical) or not child.opens:
            continue
        else:
            values = representatives(child)
        found = []
        for value in values:
            subs = [list(paths(sub)) for sub in opened(child, value)]
            found += [{name: value, **merged(parts)} for parts in itertools.product(*subs)]
        ways.append(found)
    for combination in itertools.product(*ways):
        yield merged(combination)


def merged(parts: Any) -> dict[str, Any]:
    return {name: value for part in parts for name, value in part.items()}


def opened(child: Any, value: Any) -> list[Space]:
    """The spaces that a value opens, by the definition of choices and intervals."""
    if isinstance(child, Choice):
        return [s for label, s in zip(child.labels, child.spaces, strict=True) if repr(label) == repr(value)]
    if isinstance(child, Categorical):
        return []
    return [sub for (low, high), sub in child.opens.items() if low <= value <= high]


def representatives(child: Any) -> list[Any]:
    """One value from each part of a number's range in which the same intervals are open."""
    if child.size < 100:
        values = list(child.values)
    else:
        ends = [end for interval in child.opens for end in interval]
        near = [f(end) for end in ends for f in (lambda v: np.nextafter(v, -np.inf), lambda v: np.nextafter(v, np.inf))]
        if isinstance(child, Integer):
            near = [end + d for end in ends for d in (-1, 1)]
        values = sorted(v for v in {child.low, child.high, *ends, *near} if child.low <= v <= child.high)
    open_at = [tuple(low <= v <= high for low, high in child.opens) for v in values]
    return [v for i, v in enumerate(values) if i == 0 or open_at[i] != open_at[i - 1]]


def fitted(space: Space, covariance: str, n: int = 12, seed: int = 0) -> tuple[Encoding, Kernel, Posterior]:
    """A posterior of n random observations under plain hyperparameters."""
    encoding, k = build(space, covariance)
    rows, z = data(encoding, k, n, seed)
    hyper = Hyperparameters(np.ones(len(k.terms)), np.full(k.n_scales, 0.3), 1e-4)
    return encoding, k, Posterior.from_data(k, hyper, rows, z)
