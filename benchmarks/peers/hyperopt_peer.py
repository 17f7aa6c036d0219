"""Hyperopt's TPE over nested `hp.choice`."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from hyperopt import JOB_STATE_DONE, STATUS_OK, Domain, Trials, hp, tpe
from hyperopt.base import spec_from_misc

from addtree import Categorical, Choice, Integer, Space
from addtree.space.parameters import Parameter
from benchmarks.peers import Config

logging.getLogger("hyperopt").setLevel(logging.ERROR)


class Hyperopt:
    """Hyperopt has no ask/tell: its suggest function is called, and its trials are filled in, as `fmin` does."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._rng = space, np.random.default_rng(seed)
        self._domain = Domain(_report, _nested(space, ""))
        self._trials = Trials()
        self._document: Any = None

    def ask(self) -> Config:
        ids = self._trials.new_trial_ids(1)
        self._trials.refresh()
        (self._document,) = tpe.suggest(ids, self._domain, self._trials, int(self._rng.integers(2**31 - 1)))
        drawn = self._domain.evaluate(spec_from_misc(self._document["misc"]), None, attach_attachments=False)
        return _flat(self._space, drawn["config"])

    def tell(self, config: Config, value: float) -> None:
        self._document["state"] = JOB_STATE_DONE
        self._document["result"] = {"status": STATUS_OK, "loss": value}
        self._trials.insert_trial_docs([self._document])
        self._trials.refresh()


def _report(drawn: Any) -> dict[str, Any]:
    """Stands in for an objective, to get at what Hyperopt draws."""
    return {"status": STATUS_OK, "loss": 0.0, "config": drawn}


def _nested(space: Space, path: str) -> dict[str, Any]:
    return {name: _draw(child, f"{path}/{name}") for name, child in space.children.items()}


def _draw(domain: Parameter | Choice, path: str) -> Any:
    """A label must be unique in Hyperopt, so a parameter shared by two options is one label a place."""
    if isinstance(domain, Choice):
        options = zip(domain.labels, domain.spaces, strict=True)
        return hp.choice(path, [[i, _nested(sub, f"{path}={label}")] for i, (label, sub) in enumerate(options)])
    if isinstance(domain, Categorical):
        return hp.choice(path, list(range(len(domain.values))))
    if isinstance(domain, Integer):
        if domain.log:
            return hp.qloguniform(path, np.log(domain.low - 0.49), np.log(domain.high + 0.49), 1)
        return hp.quniform(path, domain.low - 0.49, domain.high + 0.49, 1)
    if domain.log:
        return hp.loguniform(path, np.log(domain.low), np.log(domain.high))
    return hp.uniform(path, domain.low, domain.high)


def _flat(space: Space, drawn: Any) -> dict[str, Any]:
    config: dict[str, Any] = {}
    for name, child in space.children.items():
        value = drawn[name]
        if isinstance(child, Choice):
            option, below = value
            config[name] = child.labels[option]
            config.update(_flat(child.spaces[option], below))
        elif isinstance(child, Categorical):
            config[name] = child.values[value]
        else:
            kind = int if isinstance(child, Integer) else float
            config[name] = min(max(kind(value), child.low), child.high)  # a log scale rounds past its ends
    return config
