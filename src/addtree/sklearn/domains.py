"""What scikit-learn's searches sample from, as domains.

    scikit-learn                 domain                      value of the parameter
    uniform(loc, scale)          Real                        the same, but never a bound, which `uniform` never draws
    loguniform, reciprocal       Real with log=True          the same
    randint(low, high)           Integer(low, high - 1)      the same
    other continuous             Real, a probability         its quantile, by `ppf`
    other discrete               ordered Categorical         one of its quantiles
    a list of numbers            ordered Categorical         an item of the list
    any other list               Categorical                 an item of the list

The values of a Categorical are scalars, so that a search can be saved and reported. An item that is not a scalar, such
as an estimator or an array, is represented by a text; it need not be hashable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from addtree.errors import SpaceError
from addtree.space.choice import Choice
from addtree.space.labels import Scalar, label_key, plain_label
from addtree.space.parameters import Categorical, Integer, Parameter, Real
from addtree.support.numbers import is_finite

_MARGIN = 1e-6  # A parameter drawn from `uniform` keeps this share of the range as its distance from the bounds.
_TAIL = 1e-3  # The quantiles of a distribution are searched from this probability to one minus it.
_N_QUANTILES = 256  # A discrete distribution is searched on its quantiles at this many probabilities.
_MAX_TEXT = 80  # A text that represents an object has at most this many characters.


@dataclass(frozen=True)
class ParameterDomain:
    """The domain of a parameter of an estimator.

    domain  what is searched
    decode  a value of the domain to the value that the estimator gets
    key     equal for two parameters that mean the same
    """

    domain: Parameter
    decode: Callable[[Any], Any]
    key: Hashable


def read_domain(values: Any) -> ParameterDomain:
    """The domain of a list or a distribution, or a SpaceError."""
    if hasattr(values, "rvs"):
        return _read_distribution(values)
    if isinstance(values, (Parameter, Choice)):
        raise SpaceError(f"{values!r} belongs in a Space; give addtree.Space({{name: domain, ...}}) instead of a dict")
    is_array = isinstance(values, np.ndarray) and values.ndim > 0
    if not is_array and (isinstance(values, (str, bytes)) or not isinstance(values, Sequence)):
        raise SpaceError(
            f"{' '.join(repr(values).split())} is neither a list of values nor a distribution of scipy.stats; "
            "put a single value into a list"
        )
    if len(values) == 0:
        raise SpaceError("the list of values is empty; give at least one")
    return _read_list(list(values))


# ---------------------------------------------------------------------- lists


def _read_list(values: list[Any]) -> ParameterDomain:
    items = _distinct(values)
    ordered = len(items) > 1 and all(is_finite(item) for item in items)
    if ordered:
        items = sorted(items)
    domain = Categorical(tuple(labels_for(items)), ordered=ordered)
    return ParameterDomain(domain, lambda label: items[domain.position(label)], domain)


def _distinct(values: list[Any]) -> list[Any]:
    """The values without repetitions. Objects that are not scalars are compared by identity."""
    keys = [label_key(label) if isinstance(label := plain_label(v), Scalar) else (None, id(v)) for v in values]
    first = {key: i for i, key in reversed(list(enumerate(keys)))}
    return [values[i] for i in sorted(first.values())]


def labels_for(values: Sequence[Any]) -> list[Any]:
    """A different scalar for each value: the value itself where it is one, or else a text."""
    labels: list[Any] = []
    taken = set()
    for value in values:
        label = plain = plain_label(value)
        if not isinstance(plain, Scalar) or (isinstance(plain, float) and not math.isfinite(plain)):
            label = _text(value)
        number = 2
        while label_key(label) in taken:
            label = f"{_text(value)} ({number})"
            number += 1
        taken.add(label_key(label))
        labels.append(label)
    return labels


def _text(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."


# ---------------------------------------------------------------------- distributions


def _read_distribution(distribution: Any) -> ParameterDomain:
    family = getattr(distribution, "dist", distribution)  # A frozen distribution refers to its family.
    if isinstance(family, type(stats.uniform)):
        low, high = _support(distribution)
        margin = _MARGIN * (high - low)
        real = Real(low, high)
        return ParameterDomain(real, lambda value: min(max(value, low + margin), high - margin), real)
    if isinstance(family, type(stats.loguniform)):
        low, high = _support(distribution)
        if low > 0 and math.isclose(float(distribution.ppf(0.5)), math.sqrt(low * high)):  # It was not shifted.
            return _unchanged(Real(low, high, log=True))
    if isinstance(family, type(stats.randint)):
        low, high = _support(distribution)
        return _unchanged(Integer(int(low), int(high)))
    if not callable(getattr(distribution, "ppf", None)):
        raise SpaceError(
            f"{distribution!r} has no method ppf; use a distribution of one variable from scipy.stats, or a list"
        )
    if isinstance(family, stats.rv_discrete):
        quantiles = np.unique(distribution.ppf(np.linspace(_TAIL, 1.0 - _TAIL, _N_QUANTILES)))
        return _read_list([int(q) if float(q).is_integer() else float(q) for q in quantiles])
    arguments = [getattr(distribution, name, None) for name in ("args", "kwds")]
    key = (id(distribution),) if family is distribution else (family.name, repr(arguments))
    return ParameterDomain(Real(_TAIL, 1.0 - _TAIL), lambda probability: float(distribution.ppf(probability)), key)


def _unchanged(domain: Real | Integer) -> ParameterDomain:
    return ParameterDomain(domain, lambda value: value, domain)


def _support(distribution: Any) -> tuple[float, float]:
    low, high = map(float, distribution.support())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise SpaceError("the arguments of the distribution are invalid, so that it has no values; correct them")
    return low, high
