"""Hyperopt's tree-structured Parzen estimator (TPE) over nested `hp.choice`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from addtree._types import Config
from addtree.space.parameters import Integer, Parameter, Real
from addtree.space.space import Choice, Space

# Each integer needs the interval of numbers that are rounded to it. The ends of the range have the whole interval too;
# it is a little less than a half on the outer side, so that nothing is rounded past an end.
_OUTER_HALF = 0.49


class Hyperopt:
    """Hyperopt asked for one trial at a time, with its own defaults: 20 random trials, then TPE.

    Hyperopt has no ask and tell, so its `suggest` is called and its trials are filled in, as its `fmin` does. A
    parameter that two options share is one Hyperopt variable, which learns from both. Each integer has the probability
    that its scale gives it, at the ends of the range too.

    Results published at earlier commits differ in one of these points: the paper's experiments drew the ends of an
    integer's range half as often, and the benchmark gave each option a variable of its own for a shared parameter.
    """

    def __init__(self, space: Space, seed: int) -> None:
        from hyperopt import Trials
        from hyperopt.base import Domain

        self._space = space
        self._rng = np.random.default_rng(seed)
        self._domain = Domain(_never_called, _nested(space, {}))
        self._trials = Trials()
        self._document: Any = None

    def ask(self) -> dict[str, Any]:
        """Hyperopt's next suggestion."""
        from hyperopt import tpe

        ids = self._trials.new_trial_ids(1)
        seed = int(self._rng.integers(2**31))
        (self._document,) = tpe.suggest(ids, self._domain, self._trials, seed, verbose=False)
        values = {name: found[0] for name, found in self._document["misc"]["vals"].items() if len(found)}
        return self._space.validate(_config(self._space, values))

    def tell(self, config: Config, value: float) -> None:
        """The value of the configuration that was just asked for."""
        from hyperopt import STATUS_OK
        from hyperopt.base import JOB_STATE_DONE

        self._document.update(state=JOB_STATE_DONE, result={"loss": value, "status": STATUS_OK})
        self._trials.insert_trial_docs([self._document])
        self._trials.refresh()


def _never_called(drawn: Any) -> float:
    """Hyperopt's domain wants an objective even where it is only asked for suggestions."""
    raise AssertionError("this objective is never called")


def _nested(space: Space, known: dict[str, Any]) -> dict[str, Any]:
    """The space in Hyperopt's terms. `known` holds the variables so far by name: a name means one variable."""
    from hyperopt import hp

    out = {}
    for name, child in space.children.items():
        if name not in known:
            if isinstance(child, Choice):
                known[name] = hp.choice(name, [_nested(sub, known) for sub in child.spaces])
            else:
                known[name] = _variable(name, child)
        out[name] = known[name]
    return out


def _variable(name: str, parameter: Parameter) -> Any:
    """A parameter in Hyperopt's terms; a categorical is drawn as a position."""
    from hyperopt import hp

    if isinstance(parameter, Real):
        if parameter.log:
            return hp.loguniform(name, math.log(parameter.low), math.log(parameter.high))
        return hp.uniform(name, parameter.low, parameter.high)
    if isinstance(parameter, Integer):
        low, high = parameter.low - _OUTER_HALF, parameter.high + _OUTER_HALF
        if parameter.log:
            return hp.qloguniform(name, math.log(low), math.log(high), 1)
        return hp.quniform(name, low, high, 1)
    return hp.choice(name, list(range(len(parameter.values))))


def _config(space: Space, values: dict[str, Any]) -> dict[str, Any]:
    """Hyperopt's flat values, with options and categories by position, as a configuration."""
    config: dict[str, Any] = {}
    for name, child in space.children.items():
        value = values[name]
        if isinstance(child, Choice):
            config[name] = child.labels[int(value)]
            config |= _config(child.spaces[int(value)], values)
        elif isinstance(child, (Real, Integer)):
            bounded = min(max(value, child.low), child.high)  # exp(log(high)) may lie above high
            config[name] = float(bounded) if isinstance(child, Real) else int(bounded)
        else:
            config[name] = child.values[int(value)]
    return config
