"""The `tpe` baseline: Hyperopt's tree-structured Parzen estimator over nested `hp.choice`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from addtree.space.parameters import Integer, Parameter, Real
from addtree.space.space import Choice, Config, Space


class Tpe:
    """Hyperopt asked one trial at a time, with its own defaults (20 random trials first)."""

    def __init__(self, space: Space, seed: int) -> None:
        from hyperopt import Trials
        from hyperopt.base import Domain

        self._space = space
        self._rng = np.random.default_rng(seed)
        self._domain = Domain(lambda _: 0.0, _nested(space, {}))
        self._trials = Trials()
        self._document: Any = None

    def ask(self) -> dict[str, Any]:
        """Hyperopt's next suggestion."""
        from hyperopt import tpe

        ids = self._trials.new_trial_ids(1)
        (self._document,) = tpe.suggest(ids, self._domain, self._trials, int(self._rng.integers(2**31)))
        values = {name: found[0] for name, found in self._document["misc"]["vals"].items() if len(found)}
        return self._space.validate(_config(self._space, values))

    def tell(self, config: Config, value: float) -> None:
        """Close the trial that was asked."""
        from hyperopt import STATUS_OK
        from hyperopt.base import JOB_STATE_DONE

        self._document.update(state=JOB_STATE_DONE, result={"loss": value, "status": STATUS_OK})
        self._trials.insert_trial_docs([self._document])
        self._trials.refresh()


def _nested(space: Space, known: dict[str, Any]) -> dict[str, Any]:
    """The space in Hyperopt's terms; a name that occurs twice is one Hyperopt variable."""
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
    from hyperopt import hp

    if isinstance(parameter, Real):
        if parameter.log:
            return hp.loguniform(name, math.log(parameter.low), math.log(parameter.high))
        return hp.uniform(name, parameter.low, parameter.high)
    if isinstance(parameter, Integer):
        if parameter.log:
            return hp.qloguniform(name, math.log(parameter.low), math.log(parameter.high), 1)
        return hp.uniformint(name, parameter.low, parameter.high)
    return hp.choice(name, list(range(len(parameter.values))))


def _config(space: Space, values: dict[str, Any]) -> dict[str, Any]:
    """Hyperopt's flat values (options and categories by position) as a configuration."""
    config: dict[str, Any] = {}
    for name, child in space.children.items():
        if isinstance(child, Choice):
            config[name] = child.decode(values[name])
            config |= _config(child.spaces[int(values[name])], values)
        elif isinstance(child, (Real, Integer)):
            value = min(max(values[name], child.low), child.high)
            config[name] = float(value) if isinstance(child, Real) else int(value)
        else:
            config[name] = child.decode(values[name])
    return config
