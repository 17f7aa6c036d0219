"""Random spaces of random shape, data on them, and hyperparameters that depend on names alone."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from addtree import Categorical, Choice, Integer, Real, Space
from addtree._types import Array
from addtree.model.gp import Posterior
from addtree.model.kernel import Hyperparameters, Kernel, Rows
from addtree.model.specification import Specification
from addtree.model.terms import ACTIVE, Term
from addtree.space.encoding import Encoding

COVARIANCES = ("additive", "additive+interactions", "independent")
LABELS = ("a", "x y", 3, 0.5, None, True, "é|=")  # not 1: in a dict it is True
MAX_PATHS = 64  # keeps `independent` and brute force small

seeds = st.integers(0, 2**32 - 1)

REALS = st.sampled_from([Real(0, 1), Real(-2.5, 4), Real(1e-5, 1e-1, log=True), Real(1e6, 3e9, log=True)])
INTEGERS = st.sampled_from([Integer(0, 1), Integer(-3, 9), Integer(1, 500, log=True)])
CATEGORICALS = st.sampled_from([Categorical(["u", "v"]), Categorical([0, False, None, "0"]), Categorical([1.5])])
SMALL = st.sampled_from([Integer(0, 2), Categorical(["u", "v"]), Categorical([7, None, True])])


@st.composite
def spaces(draw: Any, *, depth: int = 2, strict: bool = False, finite: bool = False) -> Space:
    """A random space.

    strict  the paper's trees: at most one choice in a node, at least two options, no name shared between options
    finite  integers and categoricals with few values only
    """
    numbers = itertools.count()
    domains = SMALL if finite else st.one_of(REALS, INTEGERS, CATEGORICALS)

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
        return Space(dict(draw(st.permutations(children))))

    def choice(depth: int, extra: list[tuple[str, Any]]) -> Choice:
        shared = []
        if not strict and draw(st.booleans()):
            shared.append((f"s{next(numbers)}", draw(domains)))
        if not strict and depth > 1 and draw(st.integers(0, 3)) == 0:
            name = f"k{next(numbers)}"
            shared.append((name, choice(depth - 1, [])))
        options = {}
        for label in labels(draw(st.integers(2 if strict else 1, 3))):
            here = [item for item in shared if draw(st.booleans())]
            options[label] = node(depth - 1, extra + here)
        return Choice(options)

    space = node(depth, [], 1)
    if space.n_paths > MAX_PATHS:
        space = node(1, [], 1)
    return space


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
        (names[j], repr(encoding.decode_value(names[j], o)), repr(encoding.decode_value(names[j], p)))
        for j, o, p in term.gate
        if (o, p) != ACTIVE
    ]
    return (term.kind, tuple(sorted(names[j] for j in term.columns)), tuple(sorted(gate)))


def hyperparameters(encoding: Encoding, covariance: Kernel, *, noise: float = 1e-2) -> Hyperparameters:
    """Different ones for every term and lengthscale, the same for every order of siblings."""
    amplitudes = np.array([_draw(key(encoding, term)) for term in covariance.terms])
    lengthscales = np.ones(covariance.n_scales)
    own = bool(covariance.of_kind("path"))  # `independent`: a scale per term and column
    for term in covariance.terms:
        for column, scale in zip(term.columns, term.scales, strict=True):
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
        else:
            children[name] = child
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
    """Every path of a space as the choices it makes, by recursion over the tree itself."""
    choices = [(name, child) for name, child in space.children.items() if isinstance(child, Choice)]
    ways = [
        [{name: label, **below} for label, sub in zip(child.labels, child.spaces, strict=True) for below in paths(sub)]
        for name, child in choices
    ]
    for combination in itertools.product(*ways):
        yield {name: label for way in combination for name, label in way.items()}


def fitted(space: Space, covariance: str, n: int = 12, seed: int = 0) -> tuple[Encoding, Kernel, Posterior]:
    """A posterior of n random observations under plain hyperparameters."""
    encoding, k = build(space, covariance)
    rows, z = data(encoding, k, n, seed)
    hyper = Hyperparameters(np.ones(len(k.terms)), np.full(k.n_scales, 0.3), 1e-4)
    return encoding, k, Posterior.from_data(k, hyper, rows, z)
